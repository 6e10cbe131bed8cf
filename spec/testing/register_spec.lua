-- The assertions in luassert: modifiers, messages, the caller's line.
local command = require "spec.host.command"
local heed = require "heed"
local testing = require "heed.testing"

-- The place and the message of what `f` raises.
local function said(f)
  local ok, e = pcall(f)
  assert.is_false(ok)
  local line, text = tostring(e):match("register_spec.lua:(%d+): (.*)$")
  assert.is_truthy(line, tostring(e))
  return text, tonumber(line) - debug.getinfo(f, "S").linedefined
end

describe("the assertions", function()
  local x <const> = heed.ones({2, 3})

  it("pass", function()
    assert.tensors_close(x, {{1, 1, 1}, {1, 1, 1}})
    assert.has_shape(x, {"rows", 3})
    assert.has_dtype(x, "float32")
    assert.finite(x)
    assert.is_finite(x)
    assert.gradients_ok(function(t) return t:exp() end, x)
    assert.is_deterministic(function() return heed.rand(3) end)
    assert.holds(function(n) return n == n end, {testing.integer()})
  end)

  it("go with luassert's words", function()
    assert.are.tensors_close(x, x)
    assert.are_not.tensors_close(x, x + 1)
    assert.is_not.finite(x / 0)
    assert.has.shape(x, {2, 3})
    assert.has_no.shape(x, {3, 2})
    assert.does_not.have_dtype(x, "float64")
    assert.is_not.deterministic(function() return heed.rand(3) end,
      {seed = false})
    assert.does_not.match_golden("nothing", x)
  end)

  it("fail at the line of the caller", function()
    local text, line = said(function()
      assert.has_shape(x, {2, 4})
    end)
    assert.equal("has_shape: got [2 3], want [2 4]: dimension 2 is 3 instead "
      .. "of 4", text)
    assert.equal(1, line)
    text, line = said(function()
      local _ = 1
      assert.is_not.finite(x)
    end)
    assert.equal("finite: all numbers are finite, and should not be", text)
    assert.equal(2, line)
  end)

  it("say what is wrong with a call at the line of the caller", function()
    local text, line = said(function()
      local _ = 1
      assert.tensors_close(x, x, {tol = 1})
    end)
    assert.matches('^tensors_close: unknown option "tol"; known: ', text)
    assert.equal(2, line)
    assert.equal("finite: too many arguments, got 2 of at most 1",
      (said(function() assert.finite(x, x) end)))
    assert.equal("has_dtype: dtype must be a string, got nil",
      (said(function() assert.has_dtype(x) end)))
    assert.equal("matches_golden: name must be a string, got nil",
      (said(function() assert.matches_golden() end)))
  end)

  it("put a message of one's own in front", function()
    assert.matches("^after step 3\nfinite: float32 %[2 3%]: 6 of 6 ",
      (said(function() assert.message("after step 3").finite(x / 0) end)))
    assert.matches("^step 4\nhas_dtype: got float32 ", (said(function()
      assert.has_dtype(x, "float64", "step 4")
    end)))
    assert.matches("^step 5\ntensors_close: 6 of 6 ", (said(function()
      assert.tensors_close(x, x + 1, "step 5")
    end)))
    assert.matches("^step 6\ntensors_close: 6 of 6 ", (said(function()
      assert.tensors_close(x, x + 1, {rtol = 0.1}, "step 6")
    end)))
  end)

  it("are failures of a test, not errors, for busted", function()
    for _, f in ipairs {
      function() assert.finite(x / 0) end,
      function() testing.property(function() return false end,
        {testing.integer()}) end,
    } do
      local _, e = pcall(f)
      assert.equal("failure", getmetatable(e).__type)
    end
  end)

  it("leave pending tests within a property to busted", function()
    local _, e = pcall(testing.property, function() pending("later") end,
      {testing.integer()})
    assert.equal("pending", getmetatable(e).__type)
  end)
end)

describe("without luassert", function()
  it("the functions return what assertions say", function()
    local name = os.tmpname()
    local file <close> = assert(io.open(name, "w"))
    file:write [[
package.preload.luassert = function() error("there is none") end
local testing = require "heed.testing"
print(testing.has_shape({1, 2}, {3}))
print(pcall(testing.property, function() return false end,
  {testing.integer(4, 5)}, {seed = 2}))
assert(not package.loaded.luassert)]]
    file:close()
    local pipe = assert(io.popen(command.program .. " "
      .. name .. " 2>&1"))
    local out = pipe:read "a"
    pipe:close()
    os.remove(name)
    assert.equal("false\thas_shape: got [2], want [3]: dimension 1 is 2 "
      .. "instead of 3\nfalse\t" .. name .. ":4: property: example 1 of 100 "
      .. "fails; to repeat: HEED_SEED=2\n  local argument_1 = 4\n"
      .. "the function returned false\n",
      (out:gsub("lua: ", "")))
  end)
end)
