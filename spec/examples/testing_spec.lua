-- examples/testing: passes as it is, and each of its tests finds a mistake.
local command = require "spec.host.command"
local lfs = require "lfs"

local HOME <const> = "examples/testing/"

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
end

-- Runs the spec on the layer with `from` replaced by `to`; returns a set of the
-- tests that do not pass, by the first word that sets them apart, and the
-- output.
local function failing(from, to)
  local folder <const> = os.tmpname()
  os.remove(folder)
  assert(lfs.mkdir(folder) and lfs.mkdir(folder .. "/golden"))
  local code, count = read(HOME .. "attention.lua"), 1
  if from then
    local first, last = code:find(from, 1, true)
    count = first and 1 or 0
    code = code:sub(1, (first or 1) - 1) .. to .. code:sub((last or 0) + 1)
  end
  assert(count == 1, "no such code: " .. tostring(from))
  write(folder .. "/attention.lua", code)
  for _, name in ipairs {"attention_spec.lua",
    "golden/attention.safetensors"} do
    write(folder .. "/" .. name, read(HOME .. name))
  end
  local _, out = command.heed {"tools/busted.lua", "-o", "TAP", folder}
  os.execute("rm -r '" .. folder .. "'")
  local found = {}
  for name in out:gmatch "not ok %d+ %- Attention ([^\n]*)" do
    found[#found + 1] = name:match "^[^,]*"
  end
  table.sort(found)
  return found, out
end

local BEFORE <const> = "gives what it gave before"
local AGREES <const> = "agrees with heed's own attention"

describe("examples/testing", function()
  it("passes", function()
    local found, out = failing()
    assert.same({}, found)
    assert.matches("ok 7 - Attention gives what it gave before", out, 1, true)
  end)

  it("finds a scale that was forgotten", function()
    assert.same({AGREES, BEFORE}, (failing(" / math.sqrt(self.d)", "")))
  end)

  it("finds weights that sum to 1 along the wrong dimension", function()
    local found, out = failing("softmax(-1)", "softmax(-2)")
    assert.matches("gives weights that sum to 1", table.concat(found, "\n"))
    assert.matches("finite: 2 tensors are not", out) -- whole columns are -inf
  end)

  it("finds keys beyond the length, with the least example", function()
    local found, out = failing("lengths:reshape", "(lengths + 1):reshape")
    assert.same({AGREES, "does not look beyond the length",
      "gives weights that sum to 1", BEFORE}, found)
    assert.matches('lengths = heed.tensor({1}, {dtype = "int64"})', out, 1,
      true)
    assert.matches("got float32 [1 2 6], want float32 [1 2 6]", out, 1, true)
  end)

  it("finds a gradient that is cut off", function()
    local found, out = failing("weights:matmul(v)",
      "weights:detach():matmul(v)")
    assert.same({"has right gradients"}, found)
    assert.matches("gradients_ok: input 1 [2 5 6]: ", out, 1, true)
  end)

  it("finds a result of another shape", function()
    assert.matches("keeps shape and dtype", table.concat(failing(
      "return weights:matmul(v), weights",
      "return weights:matmul(v), weights:unsqueeze(2)"), "\n"))
  end)

  it("finds what is another every time", function()
    assert.matches("gives the same bits in every run", table.concat(failing(
      "return weights:matmul(v)",
      "return weights:matmul(v) + os.clock()"), "\n"))
  end)
end)

describe("docs/testing.md", function()
  it("shows the example as it is", function()
    local page, shown = read "docs/testing.md", 0
    for path, code in page:gmatch "\n```lua (%S+)\n(.-)\n```\n" do
      assert.equal(read(path), code .. "\n")
      shown = shown + 1
    end
    assert.equal(2, shown)
  end)
end)
