-- testing.matches_golden: files beside the spec, made and updated on demand.
-- Runs with environments of their own are programs in a folder of their own.
local command = require "spec.host.command"
local heed = require "heed"
local lfs = require "lfs"
local message_of = require "spec.support.message"
local testing = require "heed.testing"

local folder

-- Runs Lua code as FOLDER/a_spec.lua; returns what it wrote.
local function run(code, environment)
  local path = folder .. "/a_spec.lua"
  local file = assert(io.open(path, "w"))
  file:write([[
local heed = require "heed"
local testing = require "heed.testing"
local golden = testing.matches_golden
]] .. code)
  file:close()
  local pipe = assert(io.popen(("%s %s %s 2>&1"):format(environment or "",
    command.program, path)))
  local out = pipe:read "a"
  pipe:close()
  return (out:gsub(folder:gsub("%p", "%%%0"), "DIR"))
end

local function modified(name)
  return lfs.attributes(folder .. "/golden/" .. name .. ".safetensors",
    "modification")
end

local UPDATE <const> = "HEED_UPDATE_GOLDEN=1"

describe("matches_golden", function()
  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(lfs.mkdir(folder))
  end)

  after_each(function() os.execute("rm -r '" .. folder .. "'") end)

  it("compares with the file beside this spec", function()
    local x = heed.tensor {{1.0, 2.5}, {-3.0, 0.0}}
    assert.matches_golden("matrix", x)
    assert.matches_golden("parts", {x = x, list = {heed.tensor {7, 8}}})
    assert.does_not.match_golden("matrix", x + 1e-3)
    assert.matches_golden("matrix", x + 1e-3, {atol = 1e-2})
    assert.does_not.match_golden("matrix", x:to("float64"))
  end)

  it("fails without a file, and says how to make it", function()
    assert.equal("false\tmatches_golden: DIR/golden/a/b.safetensors is "
      .. "missing; HEED_UPDATE_GOLDEN=1 makes it from this result, once that "
      .. "is known to be right\n", run [[print(golden("a/b", {1}))]])
    assert.is_nil(lfs.attributes(folder .. "/golden"))
  end)

  it("makes the file when told so, which then matches", function()
    local code <const> = [[print(golden("a/b", heed.arange(3)))]]
    assert.equal("golden: wrote DIR/golden/a/b.safetensors\ntrue\n",
      run(code .. " io.stdout:flush()", UPDATE):gsub("^(true\n)(.*)$", "%2%1"))
    assert.equal("true\n", run(code))
    assert.equal("true\n", run(code, UPDATE)) -- nothing to do
    local left = {}
    for name in lfs.dir(folder .. "/golden/a") do left[#left + 1] = name end
    table.sort(left)
    assert.same({".", "..", "b.safetensors"}, left)
  end)

  it("keeps every dtype, and several tensors by name", function()
    local code <const> = [[
local all = {}
for _, dtype in ipairs {"bool", "uint8", "int32", "int64", "float16",
  "bfloat16", "float32", "float64"} do
  all[dtype] = heed.ones({2}, {dtype = dtype})
end
all.layers = {{w = heed.tensor {0.5}}, {w = heed.tensor {0 / 0}}}
print(golden("all", all, {equal_nan = true}))]]
    run(code, UPDATE)
    assert.equal("true\n", run(code))
    assert.equal("false\tmatches_golden: DIR/golden/all.safetensors: "
      .. "layers[2].w: only in the file\n"
      .. "  HEED_UPDATE_GOLDEN=1 takes the new values\n",
      run((code:gsub(", {w = heed.tensor {0 / 0}}",
        ""))))
    assert.matches("layers[1].w: 1 of 1 element differs",
      run((code:gsub("0%.5", "0.25"))), 1, true)
  end)

  it("shows where values differ as a map", function()
    local code <const> = [[
local x = heed.zeros({2, 3, 4})
if arg[0]:find "a_spec" and os.getenv "CHANGE" then
  x[{2, 3, 2}], x[{2, 1, 4}] = 0.5, 0 / 0
end
print(golden("x", x))]]
    run(code, UPDATE)
    local text = run(code, "CHANGE=1 LC_ALL=C LANG=C")
    assert.equal([[
false	matches_golden: DIR/golden/x.safetensors: 2 of 24 elements differ
  got float32 [2 3 4], want float32 [2 3 4]
  worst at [2 1 4]: got nan, want 0
  tolerance 1e-05 + 1.3e-06 * |want|
  NaN only in got: 1 place, first at [2 1 4]
  place    got  want  off by
  [2 1 4]  nan  0     nan
  [2 3 2]  0.5  0     0.5
|got - want| at [2 . .]
   1 2 3 4
1 |      xx|
2 |        |
3 |  @@    |
]], (text:gsub("\n   0 |.*", "\n")))
    assert.matches("\n  HEED_UPDATE_GOLDEN=1 takes the new values\n$", text)
  end)

  it("makes the map of a large matrix smaller, by the largest", function()
    local code <const> = [[
local x = heed.zeros({100, 70})
if os.getenv "CHANGE" then x[{99, 69}] = 1 end
print(golden("x", x))]]
    run(code, UPDATE)
    local text = run(code, "CHANGE=1 LC_ALL=C LANG=C")
    assert.matches("|got - want|, the largest of each 7 by 3\n", text, 1, true)
    assert.matches("\n99 | +@@@ *|\n", text)
    for line in text:gmatch "[^\n]+" do assert.is_true(#line <= 100) end
  end)

  it("takes new values only when told so, and only of what differs", function()
    local code <const> = [[
local v = tonumber(os.getenv "VALUE")
print(golden("moves", {v}), golden("stays", {1}))]]
    run(code, UPDATE .. " VALUE=1")
    local before = modified "stays"
    lfs.touch(folder .. "/golden/stays.safetensors", before - 10)
    assert.matches("^false", run(code, "VALUE=2"))
    assert.matches("^false", run(code, "VALUE=2 HEED_UPDATE_GOLDEN=other"))
    assert.matches("^false", run(code, "VALUE=2 HEED_UPDATE_GOLDEN=0"))
    assert.matches("wrote", run(code, "VALUE=2 HEED_UPDATE_GOLDEN=mov"))
    assert.equal("true\ttrue\n", run(code, "VALUE=2"))
    assert.equal(before - 10, modified "stays")
  end)

  it("finds two tests that share a name", function()
    assert.matches("DIR/a_spec.lua:4 wrote the file in this run: two tests "
      .. "share the name", run([[golden("x", {1})
print(golden("x", {2}))]], UPDATE), 1, true)
  end)

  it("lists the files that nothing used", function()
    local code <const> = [[
golden("used", {1})
if os.getenv "BOTH" then golden("more/old", {1}) end
golden("more/new", {1})
print(table.concat(testing.stale_golden(), " "))
print(#testing.stale_golden(arg[0]:match("^.*/") .. "none"))]]
    run(code, UPDATE .. " BOTH=1")
    assert.equal("DIR/golden/more/old.safetensors\n0\n", run(code))
    assert.equal("\n0\n", run(code, "BOTH=1"))
  end)

  it("has busted list them at its end when told so", function()
    run([[golden("used", {1}) golden("old", {1})]], UPDATE)
    run [[it("x", function() assert(golden("used", {1})) end)]]
    local function busted(environment)
      local pipe = assert(io.popen(("%s %s tools/busted.lua %s 2>&1"):format(
        environment, command.program, folder)))
      local out = pipe:read "a"
      pipe:close()
      return out
    end
    local line <const> = "golden: no test used " .. folder
      .. "/golden/old.safetensors\n"
    assert.matches("1 success", busted "", 1, true)
    assert.is_nil(busted "HEED_STALE_GOLDEN=0":find("golden:", 1, true))
    local out = busted "HEED_STALE_GOLDEN=1"
    assert.matches(line, out, 1, true)
    assert.is_nil(out:find("used.safetensors", 1, true))
  end)

  it("writes no file when it should not match", function()
    assert.equal("nil\n", run([[
local assert = require "luassert"
assert.does_not.match_golden("x", {1})
print(io.open(arg[0]:match("^.*/") .. "golden/x.safetensors"))]], UPDATE)
      :gsub("nil\t.*", "nil\n"))
  end)

  it("takes another folder", function()
    run([[golden("x", {1}, {folder = arg[0]:match("^.*/") .. "kept"})]], UPDATE)
    assert.is_truthy(lfs.attributes(folder .. "/kept/x.safetensors"))
  end)

  it("says when the file is none, or cannot be made", function()
    assert(lfs.mkdir(folder .. "/golden"))
    local file = assert(io.open(folder .. "/golden/x.safetensors", "w"))
    file:write "no such file"
    file:close()
    assert.matches("x.safetensors", run [[print(pcall(golden, "x", {1}))]], 1,
      true)
    file = assert(io.open(folder .. "/flat", "w"))
    file:close()
    assert.matches("matches_golden: cannot make DIR/flat/", run([[
print(pcall(golden, "x", {1},
  {folder = arg[0]:match("^.*/") .. "flat/golden"}))]], UPDATE), 1, true)
  end)

  it("refuses names that are none, and wrong options", function()
    local golden <const> = testing.matches_golden
    for _, name in ipairs {"../x", "a/../b", ".hidden", "a*b", ""} do
      assert.equal("matches_golden: name must be a file name of letters, "
        .. 'digits, spaces and _ . - /, got "' .. name .. '"',
        message_of(golden, name, {1}))
    end
    assert.equal('matches_golden: unknown option "tol"; known: atol, '
      .. "equal_nan, folder, rtol, shown", message_of(golden, "x", {1},
        {tol = 1}))
    assert.equal("matches_golden: folder must be a string, got 3",
      message_of(golden, "x", {1}, {folder = 3}))
    assert.equal("matches_golden: value must be a tensor, a nested list or a "
      .. "number, got nil", message_of(golden, "x"))
    assert.equal("stale_golden: folder must be a string, got 3",
      message_of(testing.stale_golden, 3))
  end)
end)
