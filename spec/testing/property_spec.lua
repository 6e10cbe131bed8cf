-- testing.property: finds failing examples, makes them simple, repeats them.
local command = require "spec.host.command"
local heed = require "heed"
local message_of = require "spec.support.message"
local testing = require "heed.testing"

local holds <const> = testing.holds

local function said(...)
  local ok, text = holds(...)
  assert.is_false(ok)
  return text
end

-- The example that a message has, as code, behind `local x = `.
local function example(text)
  return text:match("\n  local [%w_]+ = (.-)\nthe function returned false")
end

-- What is left of an example that fails unless `f` returns true.
local function simplest(f, generator, seed)
  return example(said(f, {generator}, {seed = seed or 1, examples = 500}))
end

describe("a property", function()
  it("holds when it does for all examples", function()
    local calls = 0
    assert.is_true(holds(function(a, b)
      calls = calls + 1
      return a + b == b + a
    end, {testing.integer(), testing.integer()}, {examples = 30}))
    assert.equal(30, calls)
  end)

  it("fails by false, by false and a message, and by an error", function()
    local zero = {testing.choice {0}}
    local head <const> = "property: example 1 of 100 fails; to repeat: "
      .. "HEED_SEED=1\n  local x = 0\n"
    local function run(f) return said(f, zero, {seed = 1}) end
    assert.equal(head .. "the function returned false",
      run(function(x) return x ~= 0 end))
    assert.equal(head .. "too small",
      run(function(x) return x > 0, "too small" end))
    assert.equal(head .. "broken", run(function(x) error("broken", x) end))
    assert.equal(head .. "has_shape: got [], want [2]: 0 dimensions instead "
      .. "of 1", run(function(x) return testing.has_shape(x, {2}) end))
    assert.is_true(holds(function(x) return x and nil end, zero))
  end)

  it("names the arguments as the function does, so that code can be pasted",
    function()
      local text = said(function(first, second) return first == second end,
        {testing.choice {"a\n"}, testing.choice {{2.5, {k = true}}}},
        {seed = 3})
      assert.matches('\n  local first = "a\\n"\n'
        .. "  local second = {2.5, {k = true}}\n", text, 1, true)
      text = said(function(...) return ... == 1 end, {testing.integer()},
        {seed = 3})
      assert.matches("\n  local argument_1 = 0\n", text, 1, true)
    end)

  it("gives generators with names as a table", function()
    local text = said(function(t) return t.a > 0 or t.b end,
      {b = testing.boolean(), a = testing.integer(0, 3)}, {seed = 1})
    assert.matches("\n  local t = {a = 0, b = false}\n", text, 1, true)
  end)

  it("comes out the same for the same seed", function()
    local function run(seed)
      local seen = {}
      holds(function(x, u) seen[#seen + 1] = x .. " " .. u:numel() end,
        {testing.integer(), testing.tensor()}, {seed = seed, examples = 20})
      return table.concat(seen, ",")
    end
    assert.equal(run(7), run(7))
    assert.not_equal(run(7), run(8))
  end)

  it("seeds the default generator for each example, and restores it", function()
    local drawn = {}
    heed.manual_seed(9)
    local want = heed.rand(1):item()
    heed.manual_seed(9)
    holds(function() drawn[#drawn + 1] = heed.rand(1):item() end,
      {testing.integer()}, {examples = 2, seed = 4})
    assert.equal(drawn[1], drawn[2])
    assert.equal(want, heed.rand(1):item())
  end)

  it("leaves out what assume does not hold for", function()
    local taken = 0
    assert.is_true(holds(function(n)
      testing.assume(n % 2 == 0)
      taken = taken + 1
      return n % 2 == 0
    end, {testing.integer()}, {examples = 40, seed = 1}))
    assert.equal(40, taken)
    assert.equal("property: assume left out 50 of 50 examples; make a "
      .. "generator that gives what the property is about",
      said(function(n) testing.assume(n > 100) end, {testing.integer()},
        {examples = 5}))
    assert.equal("assume: used outside of a property",
      tostring(select(2, pcall(testing.assume, false))))
  end)

  it("knows a function that does not fail twice", function()
    local calls = 0
    local text = said(function()
      calls = calls + 1
      return calls ~= 3
    end, {testing.integer()}, {seed = 1})
    assert.matches("^property: example 3 failed, but not when it was run "
      .. "again: fn gives another result for the same arguments", text)
  end)

  it("ends at once when it is interrupted", function()
    local calls = 0
    local ok, e = pcall(holds, function()
      calls = calls + 1
      error("interrupted!")
    end, {testing.integer()})
    assert.is_false(ok)
    assert.matches("interrupted!$", e)
    assert.equal(1, calls)
  end)

  it("does not take another failure for the same one", function()
    local text = said(function(n)
      if n > 20 then error("too large") end
      if n == 0 or n == 7 then return end
      if n > 5 then error("odd") end
    end, {testing.integer(0, 90)}, {seed = 2})
    local large = text:find("local n = 21\n", 1, true)
      and text:find("too large", 1, true)
    local odd = text:find("local n = 6\n", 1, true)
      and text:find("odd", 1, true)
    assert.is_truthy(large or odd, text)
  end)

  it("raises the message at the caller's line", function()
    local line <const> = debug.getinfo(1, "l").currentline + 1
    local ok, e = pcall(testing.property, function(n) return n == 1 end,
      {testing.choice {2}}, {seed = 6})
    assert.is_false(ok)
    assert.matches("^[^\n]*property_spec.lua:" .. line .. ": property: "
      .. "example 1 of 100 fails; to repeat: HEED_SEED=6\n", tostring(e))
  end)

  it("refuses what is no generator, and wrong options", function()
    local function f() end
    assert.equal("property: fn must be a function, got nil",
      message_of(testing.property))
    assert.equal("property: generators must be a list of generators, got nil",
      message_of(testing.property, f))
    assert.equal("property: generators must be a list of generators, got an "
      .. "empty one", message_of(testing.property, f, {}))
    assert.equal("property: generators must be a list or a table with names, "
      .. "got one with both", message_of(testing.property, f,
        {testing.integer(), n = testing.integer()}))
    assert.equal("property: generator [2] must be a generator, such as "
      .. "testing.integer(1, 9), got 3",
      message_of(testing.property, f, {testing.integer(), 3}))
    assert.equal('property: unknown option "runs"; known: examples, seed, '
      .. "shrinks", message_of(holds, f, {testing.integer()}, {runs = 3}))
    assert.equal("property: seed must be an integer, got 1.5",
      message_of(holds, f, {testing.integer()}, {seed = 1.5}))
  end)
end)

describe("shrinking", function()
  it("finds the least integer, from either side", function()
    for seed = 1, 5 do
      local function fails(n) return n < 37 end
      assert.equal("37", simplest(fails, testing.integer(-1000, 1000), seed))
      assert.equal("-37", simplest(function(n) return n > -37 end,
        testing.integer(-1000, 1000), seed))
    end
    assert.equal("12", simplest(function() return false end,
      testing.integer(12, 40)))
  end)

  it("prefers whole numbers, few digits and a plain sign", function()
    assert.equal("3.0", simplest(function(v) return v < 2.3 end,
      testing.number()))
    assert.equal("2.5", simplest(function(v)
      return v < 2.45 or v > 2.55
    end, testing.number(2.4, 2.6)))
    assert.equal("5.0", simplest(function(v) return math.abs(v) < 5 end,
      testing.number()))
    assert.equal("math.huge", simplest(function(v) return v - v == 0 end,
      testing.number(0, 1, {special = true})))
  end)

  it("leaves out items of lists, wherever they are", function()
    assert.equal("{13}", simplest(function(list)
      for _, n in ipairs(list) do if n >= 13 then return false end end
      return true
    end, testing.list(testing.integer(0, 99))))
    assert.equal("{1, 1, 1}", simplest(function(list) return #list < 3 end,
      testing.list(testing.integer(1, 99), {max = 30})))
  end)

  it("takes the first of choices, also of generators", function()
    assert.equal('"b"', simplest(function(c) return c == "a" end,
      testing.choice {"a", "b", "c"}))
    assert.equal("{false, false}", simplest(function(v)
      return type(v) ~= "table" or #v < 2
    end, testing.choice {testing.integer(),
      testing.list(testing.boolean())}))
  end)

  it("leaves out rows, columns and slices of tensors", function()
    local function small(x)
      return x:numel() == 0 or x:max():item() < 3
    end
    for seed = 1, 5 do
      assert.equal('heed.tensor(3.0, {dtype = "float32"})',
        simplest(small, testing.tensor(), seed))
      assert.equal('heed.tensor({{3.0}}, {dtype = "float32"})',
        simplest(small, testing.tensor {shape = testing.shapes {ndim = 2}},
          seed))
    end
  end)

  it("zeroes what need not be there, and moves the rest to the front",
    function()
      assert.equal('heed.tensor({{4, 0}, {0, 0}}, {dtype = "int64"})',
        simplest(function(x) return x:max():item() < 4 end,
          testing.tensor {dtype = "int64", shape = {2, 2}}))
    end)

  it("goes through map and custom generators", function()
    assert.equal("16", simplest(function(n) return n < 10 end,
      testing.integer(0, 9):map(function(k) return 1 << k end)))
    local pair = testing.custom(function(draw)
      local n = draw(testing.integer(1, 8))
      return {draw(testing.tensor {shape = {1, n}}),
        draw(testing.tensor {shape = {n, 1}})}
    end)
    local left = simplest(function(ab)
      return ab[1]:matmul(ab[2]):item() < 4
    end, pair)
    -- one inner element is left; which factors make 4 depends on the way there
    assert.matches('^{\n?%s*heed%.tensor%({{%-?[%d.]+}}, {dtype = "float32"}%)',
      left)
  end)

  it("keeps a view when only a view fails", function()
    assert.equal('heed.testing.laid_out(heed.zeros({2, 2}, '
      .. '{dtype = "float32"}), "transposed")', simplest(function(x)
        return x:is_contiguous()
      end, testing.tensor {shape = {2, 2}, views = true}, 2)
        :gsub("heed.full%({2, 2}, 0.0,", "heed.zeros({2, 2},"))
  end)

  it("tries nothing twice", function()
    local seen = {}
    local text = said(function(list)
      local key = table.concat(list, " ")
      seen[key] = (seen[key] or 0) + 1
      return key == "1 1" or key == "1 1 1"
    end, {testing.list(testing.integer(1, 3), {min = 2, max = 4})},
      {seed = 3, examples = 50})
    local steps = tonumber(text:match "made simpler in (%d+) step")
    assert.is_true(steps < 20, text)
    -- the first time, once more in the report
    for key, count in pairs(seen) do
      if key:find "[23]" then assert.is_true(count <= 3, key) end
    end
  end)

  it("stops after so many tries", function()
    local calls = 0
    said(function(n)
      calls = calls + 1
      return n < 5
    end, {testing.integer(0, 1 << 40)}, {shrinks = 0, seed = 1})
    assert.is_true(calls < 10, calls)
  end)

  it("gives examples that fail as it says, in code that runs", function()
    local text = said(function(x, dim)
      return dim > x.ndim or x:sum(dim):abs():lt(7):all():item()
    end, {testing.tensor {dtype = {"float64", "int32", "bfloat16"}},
      testing.integer(1, 3)}, {seed = 11, examples = 400})
    local code = text:match("\n(  local x.-)\nthe function")
    local x, dim = assert(load("local heed = ...\n" .. code
      .. "\nreturn x, dim"))(heed)
    assert.is_false(x:sum(dim):abs():lt(7):all():item())
    assert.equal(1, x:numel())
  end)
end)

describe("HEED_SEED", function()
  local program <const> = [[
local testing = require "heed.testing"
local _, text = testing.holds(function() return false end,
  {testing.integer()}, {seed = 5})
io.write(text:match "HEED_SEED=(%%d+)")]]

  local function run(seed)
    local name = os.tmpname()
    local file <close> = assert(io.open(name, "w"))
    file:write((program:gsub("%%%%", "%%")))
    file:close()
    local pipe = assert(io.popen(("HEED_SEED=%s %s %s 2>&1"):format(seed,
      command.program, name)))
    local said_text = pipe:read "a"
    pipe:close()
    os.remove(name)
    return said_text
  end

  it("goes before the seed of the options", function()
    assert.equal("42", run "42")
    assert.equal("5", run "''")
    assert.matches('property: HEED_SEED must be an integer, got "x"', run "x",
      1, true)
  end)
end)
