-- t[key] and t[key] = value. Values are those of PyTorch for the same key,
-- counted from 0 there.

local gradient = require "spec.support.gradient"
local heed = require "heed"
local message = require "spec.support.message"
local sample = require "spec.support.sample"
local twice = require "spec.support.twice"

local at <const> = heed.tensor

-- 1 .. n in a shape
local function count(...)
  local shape, n = {...}, 1
  for _, size in ipairs(shape) do n = n * size end
  return heed.arange(1, n):reshape(shape)
end

local function get(t, key) return t[key] end
local function set(t, key, value) t[key] = value end

describe("reading by a key", function()
  local x = count(2, 3, 4)

  it("takes positions from both ends, as views", function()
    assert.same({21, 22, 23, 24}, x[{2, 3}]:totable())
    assert.same({21, 22, 23, 24}, x[-1][-1]:totable())
    assert.equal(12, x[{1, -1, -1}]:item())
    assert.is_true(x[{1, -1}]:shares(x))
    assert.same({2}, x[{1, -1, {1, 2}}].shape)
  end)

  it("takes ranges with both ends, steps and empty ones, as views", function()
    assert.same({{5, 7}, {17, 19}}, x[{{}, 2, {1, -1, 2}}]:totable())
    assert.same({{4, 3, 2, 1}, {12, 11, 10, 9}},
      x[{1, {1, 3, 2}, {4, 1, -1}}]:totable())
    assert.same({4, 2}, x[{1, 1, {-1, 1, -2}}]:totable())
    assert.same({2, 0, 4}, x[{{}, {4, 3}}].shape)
    assert.same({2, 0, 4}, x[{{}, {2, 1}}].shape)
    assert.same({0}, heed.zeros(0)[{{}}].shape)
    assert.is_true(x[{{}, {1, 3, 2}}]:shares(x))
  end)

  it("takes index tensors in any position", function()
    assert.same({3, 1}, count(3)[at {3, 1}]:totable())
    assert.same({{9, 11}, {21, 23}}, x[{{}, 3, at {1, 3}}]:totable())
    assert.same({{1, 2}, {1, 2}}, count(2, 2)[{at {1, -2}}]:totable())
  end)

  it("broadcasts them together", function()
    assert.same({{1, 4}, {13, 16}},
      x[{at {{1}, {2}}, 1, at {1, 4}}]:totable())
    -- side by side their dimensions stay in place, else they come first
    assert.same({2, 5}, heed.zeros(2, 3, 4)[
      {{}, heed.ones({5}, "int64"), heed.ones({5}, "int64")}].shape)
    assert.same({5, 3}, heed.zeros(2, 3, 4)[
      {heed.ones({5}, "int64"), {}, heed.ones({5}, "int64")}].shape)
    assert.same({{1, 5, 9}, {16, 20, 24}},
      x[{at {1, 2}, {}, at {1, 4}}]:totable())
  end)

  it("takes integers of any dtype, and those without dimensions as positions",
    function()
      for _, dtype in ipairs {"uint8", "int32", "int64"} do
        local i = at({3, 1}, {dtype = dtype})
        assert.same({3, 1}, count(3)[i]:totable())
        assert.same({9, 10, 11, 12}, x[{1, at(3, {dtype = dtype})}]:totable())
      end
      assert.is_true(x[at(2)]:shares(x))
    end)

  it("takes masks for as many dimensions as they have", function()
    local m = count(2, 3)
    assert.same({4, 5, 6}, m[m:gt(3)]:totable())
    assert.same({{4, 5, 6}}, m[at {false, true}]:totable())
    assert.same({{1, 3}, {4, 6}}, m[{{}, at {true, false, true}}]:totable())
    -- beside an index tensor a mask stands for the positions of what is true
    assert.same({2, 6}, m[{at {true, true}, at {2, 3}}]:totable())
    assert.same({{1, 2, 3, 4}, {17, 18, 19, 20}},
      x[at {{true, false, false}, {false, true, false}}]:totable())
    assert.same({0, 3}, m[at {false, false}].shape)
  end)

  it('takes "..." for what is not named, and new dimensions', function()
    assert.same({{4, 8, 12}, {16, 20, 24}}, x[{"...", 4}]:totable())
    assert.same({12, 24}, x[{"...", -1, -1}]:totable())
    assert.same({2, 1, 3, 4, 1}, x[{{}, heed.newaxis, "...",
      heed.newaxis}].shape)
    assert.same({1, 2}, count(2)[{heed.newaxis}].shape)
    assert.is_true(x[{heed.newaxis, "..."}]:shares(x))
    assert.same({2, 3, 4}, x[{"..."}].shape)
  end)

  it("takes an empty list of indices", function()
    assert.same({2, 0, 4}, x[{{}, heed.zeros({0}, "int64")}].shape)
  end)
end)

describe("writing by a key", function()
  it("writes numbers and what broadcasts, through views", function()
    local x = heed.zeros({2, 3}, "int64")
    x[1] = 7
    x[{2, {2, 3}}] = at {8, 9}
    assert.same({{7, 7, 7}, {0, 8, 9}}, x:totable())
    x[{{}, {3, 1, -2}}] = at {{1}, {2}}
    assert.same({{1, 7, 1}, {2, 8, 2}}, x:totable())
    x:t()[2] = 0
    assert.same({{1, 0, 1}, {2, 0, 2}}, x:totable())
  end)

  it("writes by index tensors and masks in any position", function()
    local x = heed.zeros({3, 4}, "int64")
    x[{at {1, 3}, at {4, 1}}] = at {5, 6}
    x[{{}, at {false, true, false, false}}] = 1
    assert.same({{0, 1, 0, 5}, {0, 1, 0, 0}, {6, 1, 0, 0}}, x:totable())
    x[{2, at {1, 1, 3}}] = at {7, 8, 9} -- the last one stays
    assert.same({8, 1, 9, 0}, x[2]:totable())
    x[{{3, 1, -2}, at {4, 3}}] = at {{1, 2}, {3, 4}}
    assert.same({{0, 1, 4, 3}, {8, 1, 9, 0}, {6, 1, 2, 1}}, x:totable())
    x[x:gt(5)] = 0
    x[x:eq(1)] = heed.arange(-1, -4, -1)
    assert.same({{0, -1, 4, 3}, {0, -2, 0, 0}, {0, -3, 2, -4}}, x:totable())
    x[at {true, false, true}] = at {1, 2, 3, 4}
    assert.same({{1, 2, 3, 4}, {0, -2, 0, 0}, {1, 2, 3, 4}}, x:totable())
  end)

  it("casts values to the dtype, halves too", function()
    for _, dtype in ipairs {"float16", "bfloat16", "int32", "uint8"} do
      local x = heed.zeros({3}, dtype)
      x[at {3}] = at({2.5}, {dtype = "float64"})
      x[x:eq(0)] = 1
      x[{{1, 1}}] = 4
      assert.equal(dtype, x.dtype)
      local half = dtype:find("float")
      assert.same({4, 1, half and 2.5 or 2}, x:totable())
    end
  end)

  it("reads an overlapping value before it is overwritten", function()
    local x = heed.arange(1, 4)
    x[at {2, 3, 4}] = x[{{1, 3}}]
    assert.same({1, 1, 2, 3}, x:totable())
  end)
end)

describe("keys", function()
  local x = heed.zeros(2, 3)

  local function refuses(key, text)
    it("refuse: " .. text, function()
      assert.equal("index: " .. text, message(get, x, key))
      assert.equal("index: " .. text, message(set, x, key, 0))
    end)
  end

  refuses(0, "key must be 1..2 or -2..-1 for dim 1 of [2 3], got 0")
  refuses(3, "key must be 1..2 or -2..-1 for dim 1 of [2 3], got 3")
  refuses({1, -4},
    "entry 2 must be 1..3 or -3..-1 for dim 2 of [2 3], got -4")
  refuses(1.5, "key must be an integer, {first, last, step}, {}, a tensor, " ..
    '"..." or heed.newaxis, got 1.5')
  refuses({true}, "entry 1 must be an integer, {first, last, step}, {}, a " ..
    'tensor, "..." or heed.newaxis, got true')
  refuses({{1, 3}},
    "entry 1 must be 1..2 or -2..-1 for dim 1 of [2 3], got 3")
  refuses({{1, 2, 0}}, "entry 1: the step of a range must not be 0")
  refuses({{1}}, "entry 1: a range {first, last, step} needs first and " ..
    "last, counted from 1 or from -1")
  refuses({{1, 2, 1, 1}},
    "entry 1: a range is {first, last, step}, got 4 entries")
  refuses({{1, 2.5}},
    "entry 1: a range {first, last, step} holds integers, got 2.5")
  refuses({1, 1, 1}, "too many entries for a tensor [2 3]")
  refuses({"...", "..."}, '"..." can stand only once in a list')
  refuses({1, 1, "...", 1}, "too many entries for a tensor [2 3]")
  refuses(at {1.5}, "key must be a tensor of int64, int32, uint8 or bool, " ..
    "got float32 [1]")
  refuses(at {true, false, true},
    "key: mask [3] must have the sizes [2], which [2 3] has there")

  it("refuse a NaN and positions of index tensors that are out of range",
    function()
      assert.matches("^index: key must be an integer.*got %-?nan$",
        message(get, x, 0/0))
      assert.equal("index: index[2] must be 1..2 or -2..-1 for dim 1 of x " ..
        "[2 3], got 3", message(get, x, at {1, 3}))
      assert.equal("index: index 2[1] must be 1..3 or -3..-1 for dim 2 of x " ..
        "[2 3], got 0", message(get, x, {at {1}, at {0}}))
      assert.equal("index: index 2 [3] cannot be broadcast with [2] of the " ..
        "indices before it", message(get, x, {at {1, 2}, at {1, 2, 3}}))
      assert.equal("index_put_: value [4] cannot be broadcast to the [2 3] " ..
        "that the index takes from x [2 3]",
        message(set, x, at {1, 2}, heed.zeros(4)))
      assert.equal("copy_: source [4] does not broadcast to x [3]",
        message(set, x, 1, heed.zeros(4)))
      assert.equal("index: a value must be a tensor or a number, got a table",
        message(set, x, 1, {1, 2, 3}))
    end)

  it("refuse closed tensors, and lose no memory over it", function()
    local closed = heed.zeros(2)
    do local _ <close> = closed end
    local function fail()
      assert.equal("index: entry 2 must be an integer, " ..
        "{first, last, step}, {}, a tensor, \"...\" or heed.newaxis, got " ..
        "a closed tensor", message(get, x, {1, closed}))
      assert.equal("index: key must be an integer, " ..
        "{first, last, step}, {}, a tensor, \"...\" or heed.newaxis, got " ..
        "a closed tensor", message(set, x, closed, 1.5))
      assert.equal("add: b must be a tensor or a number, got " ..
        "a closed tensor", message(heed.add, 1.5, closed))
    end
    fail()
    collectgarbage()
    collectgarbage()
    local before = heed.memory_stats().used
    for _ = 1, 100 do fail() end
    collectgarbage()
    collectgarbage()
    assert.equal(before, heed.memory_stats().used)
  end)

  it("refuse numbers that the dtype cannot hold", function()
    local bytes = heed.zeros({2}, "uint8")
    assert.equal("index: value must be 0..255 for uint8 [2], got 256",
      message(set, bytes, 1, 256))
    assert.equal("index: value must be 0..255 for uint8 [2], got -1",
      message(set, bytes, bytes:eq(0), -1))
  end)
end)

-- Keys on [3 4 2], and values that fit to what they name
local KEYS <const> = {
  {"a position", 2, {4, 2}},
  {"a range", {{}, {4, 1, -2}, 1}, {3, 2}},
  {"rows", at {3, 1, 3}, {3, 1, 2}},
  {"an index in the middle", {{}, at {2, 2, 4}}, {3, 1}},
  {"indices apart", {at {3, 1}, {2, 3}, at {1, 2}}, {2, 2}},
  {"indices side by side", {{1, 2}, at {{1}, {3}}, at {2, 1}}, {2, 2, 2}},
  {"a mask in a list", {{}, at {true, false, true, false}, 2}, {2}},
  {"a mask", sample.bool {3, 4, 2}, {}},
  {"new dimensions", {heed.newaxis, 1, "...", at {2}}, {1, 4, 1}},
}

describe("gradients through keys", function()
  for _, case in ipairs(KEYS) do
    local name, key, shape = table.unpack(case)

    it("are right for reading by " .. name, function()
      local function read(args) return args[1][key] end
      gradient.check(read, {sample.real {3, 4, 2}})
      gradient.check(twice(read), {sample.real {3, 4, 2}})
    end)

    it("are right for writing by " .. name, function()
      local function write(args)
        local y = args[1] * 1
        y[key] = args[2]
        return y
      end
      local args = {sample.real {3, 4, 2}, sample.other(shape)}
      gradient.check(write, args)
      gradient.check(twice(write), args)
    end)

    it("are right for the value written by " .. name, function()
      local function write(args)
        local y = heed.zeros({3, 4, 2}, "float64")
        y[key] = args[1]
        return y
      end
      gradient.check(write, {sample.other(shape)})
      gradient.check(twice(write), {sample.other(shape)})
    end)
  end
end)
