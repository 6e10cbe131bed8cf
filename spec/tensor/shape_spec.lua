-- Shapes that are put together from other ops (lua/heed/tensor/shape.lua).
-- Values are those of PyTorch 2.13 for the same call, counted from 0 there.

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

local function tables(list)
  local values = {}
  for i, t in ipairs(list) do values[i] = t:totable() end
  return values
end

describe("cutting", function()
  it("splits by a length and by lengths", function()
    assert.same({{1, 2}, {3, 4}, {5}}, tables(count(5):split(2)))
    assert.same({{1}, {}, {2, 3}}, tables(count(3):split {1, 0, 2}))
    assert.same({{{1, 2}, {4, 5}}, {{3}, {6}}},
      tables(count(2, 3):split(2, -1)))
    assert.same({{}}, tables(heed.zeros(0):split(3)))
  end)

  it("makes at most n chunks, or exactly n parts", function()
    assert.same({{1, 2}, {3, 4}, {5}}, tables(count(5):chunk(3)))
    assert.same({{1, 2}, {3, 4}, {5, 6}}, tables(count(6):chunk(4)))
    assert.same({{1, 2}, {3, 4}, {5}}, tables(count(5):tensor_split(3)))
    assert.same({{1}, {2}, {}}, tables(count(2):tensor_split(3)))
    assert.same({{1, 2}, {3}, {4, 5}}, tables(count(5):tensor_split {3, 4}))
    assert.same({{1, 2, 3, 4}, {5}}, tables(count(5):tensor_split {-1}))
    -- each part ends where the next one begins
    assert.same({{1, 2}, {}, {2, 3}}, tables(count(3):tensor_split {3, 2}))
  end)

  it("unbinds and narrows", function()
    assert.same({{1, 3}, {2, 4}}, tables(count(2, 2):unbind(2)))
    assert.same({2, 3}, count(4):narrow(1, 2, 2):totable())
    assert.same({3, 4}, count(4):narrow(1, -2, 2):totable())
    assert.same({0}, count(4):narrow(1, 5, 0).shape)
  end)

  it("gives views", function()
    local x = count(4, 2)
    for _, list in ipairs {
      x:split(3), x:chunk(2), x:tensor_split(3), x:unbind(2),
      {x:narrow(1, 2, 2)},
    } do
      for _, part in ipairs(list) do assert.is_true(part:shares(x)) end
    end
    x:split(3)[2]:fill_(0)
    assert.same({0, 0}, x[4]:totable())
  end)

  it("refuses what does not fit", function()
    local x = count(2, 3)
    assert.equal("split: the lengths must add up to 3, the size of dim 2 of " ..
      "x [2 3], got 4", message(x.split, x, {2, 2}, 2))
    assert.equal("split: size must be an integer of at least 1, got 0",
      message(x.split, x, 0))
    assert.equal("split: size[2] must be an integer of at least 0, got -1",
      message(x.split, x, {3, -1}))
    assert.equal("split: dim must be 1..2 or -2..-1 for x [2 3], got 3",
      message(x.split, x, 1, 3))
    assert.equal("split: x must be a tensor, got 1",
      message(heed.split, 1, 1))
    assert.equal("chunk: n must be an integer of at least 1, got 0",
      message(x.chunk, x, 0))
    assert.equal("tensor_split: n must be a list, got \"a\"",
      message(x.tensor_split, x, "a"))
    assert.equal("unbind: x has no dimensions, so dim 1 is out of range",
      message(heed.unbind, at(1)))
    assert.equal("narrow: 3 positions from 2 on do not lie in dim 2 of x " ..
      "[2 3]", message(x.narrow, x, 2, 2, 3))
  end)
end)

describe("joining", function()
  it("puts tensors beside and below each other", function()
    assert.same({1, 2, 1}, heed.hstack {count(2), count(1)}:totable())
    assert.same({{1, 1, 2}, {2, 3, 4}},
      heed.hstack {count(2, 1), count(2, 2)}:totable())
    assert.same({{1, 2}, {1, 2}, {3, 4}},
      heed.vstack {count(2), count(2, 2)}:totable())
    assert.same({{1}, {2}}, heed.vstack {at(1), at(2)}:totable())
  end)

  it("refuses what is no list of tensors", function()
    assert.equal("hstack: tensors must be a list, got 1",
      message(heed.hstack, 1))
    assert.equal("vstack: tensors[2] must be a tensor, got 2",
      message(heed.vstack, {count(2), 2}))
  end)
end)

describe("other orders", function()
  it("exchange and move dimensions, as views", function()
    local x = count(2, 3, 4)
    assert.same({3, 4, 2}, x:movedim(1, -1).shape)
    assert.same({4, 3, 2}, x:movedim({1, 2}, {3, 2}).shape)
    assert.same({4, 3, 2}, x:swapaxes(1, -1).shape)
    assert.same({{1, 3}, {2, 4}}, count(2, 2):t():totable())
    assert.same({1, 2}, count(2):t():totable())
    for _, view in ipairs {x:movedim(1, 3), x:swapaxes(1, 2), x[1]:t()} do
      assert.is_true(view:shares(x))
    end
  end)

  it("turn over and around", function()
    local x = count(2, 3)
    assert.same({{3, 2, 1}, {6, 5, 4}}, x:fliplr():totable())
    assert.same({{4, 5, 6}, {1, 2, 3}}, x:flipud():totable())
    assert.same({{3, 6}, {2, 5}, {1, 4}}, x:rot90():totable())
    assert.same({{4, 1}, {5, 2}, {6, 3}}, x:rot90(-1):totable())
    assert.same({{6, 5, 4}, {3, 2, 1}}, x:rot90(2):totable())
    assert.same({{4, 1}, {5, 2}, {6, 3}}, x:rot90(1, {2, 1}):totable())
    assert.is_false(x:rot90(4):shares(x))
  end)

  it("roll along one, several and no dimensions", function()
    assert.same({4, 5, 1, 2, 3}, count(5):roll(2):totable())
    assert.same({3, 4, 5, 1, 2}, count(5):roll(-7):totable())
    assert.same({{6, 1, 2}, {3, 4, 5}}, count(2, 3):roll(1):totable())
    assert.same({{6, 4, 5}, {3, 1, 2}},
      count(2, 3):roll({1, 1}, {1, 2}):totable())
    local x = count(2)
    assert.is_false(x:roll(0):shares(x))
  end)

  it("refuse what does not fit", function()
    local x = count(2, 3)
    assert.equal("movedim: dim 1 is given twice",
      message(x.movedim, x, {1, -2}, {1, 2}))
    assert.equal("movedim: source and target must name as many dimensions, " ..
      "got 1 and 2", message(x.movedim, x, 1, {1, 2}))
    assert.equal("swapaxes: dim must be 1..2 or -2..-1 for x [2 3], got nil",
      message(x.swapaxes, x, 1))
    assert.equal("t: x must have at most 2 dimensions, got tensor int64 " ..
      "[1 1 1]; use transpose", message(heed.t, count(1, 1, 1)))
    assert.equal("fliplr: dim must be 1..1 or -1..-1 for x [2], got 2",
      message(heed.fliplr, count(2)))
    assert.equal("roll: shifts and dims must be as many, got 2 and 1",
      message(x.roll, x, {1, 2}, 1))
    assert.equal("rot90: dims must be two dimensions, got 1",
      message(x.rot90, x, 1, 1))
    assert.equal("rot90: dim 1 is given twice",
      message(x.rot90, x, 1, {1, 1}))
  end)
end)

describe("repeating", function()
  it("lays a tensor out several times", function()
    assert.same({1, 2, 1, 2}, count(2):tile(2):totable())
    assert.same({{1, 2, 1, 2}, {3, 4, 3, 4}}, count(2, 2):tile(2):totable())
    assert.same({{1, 2}, {1, 2}}, count(2):tile(2, 1):totable())
    assert.same({2, 0}, count(2):tile({2, 0}).shape)
    assert.same({2, 1, 1, 1, 1, 1, 2, 3},
      heed.zeros(1, 1, 1, 1, 1, 1, 2, 1):tile(2, 1, 1, 1, 1, 1, 1, 3).shape)
  end)

  it("repeats entries", function()
    local x = count(2, 2)
    assert.same({1, 1, 2, 2, 3, 3, 4, 4}, x:repeat_interleave(2):totable())
    assert.same({{1, 1, 2, 2}, {3, 3, 4, 4}},
      x:repeat_interleave(2, 2):totable())
    assert.same({{1, 2}, {1, 2}, {3, 4}},
      x:repeat_interleave(at {2, 1}, 1):totable())
    assert.same({2, 2, 2},
      count(3):repeat_interleave(at {0, 3, 0}):totable())
    assert.same({0, 2}, x:repeat_interleave(at {0}, 1).shape)
  end)

  it("gives copies", function()
    local x = count(2)
    for _, copy in ipairs {
      x:tile(1), x:tile(1, 1), x:repeat_interleave(1), x:tile(2),
    } do
      assert.is_false(copy:shares(x))
    end
  end)

  it("refuses what does not fit", function()
    local x = count(2)
    assert.equal("tile: times[1] must be an integer of at least 0, got -1",
      message(x.tile, x, -1))
    assert.equal("repeat_interleave: repeats must have 2 numbers for dim 1 " ..
      "of x [2], got 3", message(x.repeat_interleave, x, at {1, 1, 1}))
    assert.equal("repeat_interleave: repeats must be at least 0, got -2",
      message(x.repeat_interleave, x, at {1, -2}))
    assert.equal("repeat_interleave: repeats must be an integer or a tensor " ..
      "of integers with one dimension, got tensor float32 [1]",
      message(x.repeat_interleave, x, at {1.5}))
  end)
end)

describe("sizes of others", function()
  it("are taken over, as views", function()
    local x, other = count(4), heed.zeros(2, 2)
    assert.same({{1, 2}, {3, 4}}, x:reshape_as(other):totable())
    assert.is_true(x:view_as(other):shares(x))
    assert.same({{1, 1}, {1, 1}}, count(1):expand_as(other):totable())
    assert.same({{1, 1}, {1, 1}}, count(1):broadcast_to(2, 2):totable())
    local a, b = heed.broadcast_tensors(count(2, 1), count(3))
    assert.same({{1, 1, 1}, {2, 2, 2}}, a:totable())
    assert.same({{1, 2, 3}, {1, 2, 3}}, b:totable())
    assert.same({2, 2, 1}, count(4):unflatten(1, {2, -1, 1}).shape)
    assert.same({3, 2, 1}, count(3, 2):unflatten(-1, {2, 1}).shape)
    assert.same({0, 3}, heed.zeros(0):unflatten(1, {-1, 3}).shape)
  end)

  it("must fit", function()
    assert.equal("broadcast_tensors: tensor 2 [3] does not fit to [2] of " ..
      "those before it",
      message(heed.broadcast_tensors, count(2), count(3)))
    assert.equal("unflatten: dim 1 of x [4] cannot become [3 -1]",
      message(heed.unflatten, count(4), 1, {3, -1}))
    assert.equal("unflatten: dim 1 of x [4] cannot become [-1 -1]",
      message(heed.unflatten, count(4), 1, {-1, -1}))
    assert.equal("view_as: other must be a tensor, got nil",
      message(heed.view_as, count(4)))
  end)
end)

describe("strides", function()
  it("say how a view lies in its storage", function()
    local x = count(3, 4)
    assert.same({4, 1}, {x:stride()})
    assert.equal(0, x:storage_offset())
    local view = x:t()[{{2, 4, 2}, 3}]
    assert.same({2}, {view:stride()})
    assert.equal(9, view:storage_offset())
    assert.equal(-1, x[{1, {4, 1, -1}}]:stride(1))
    assert.equal("stride: dim must be 1..2 or -2..-1 for x [3 4], got 3",
      message(x.stride, x, 3))
  end)
end)

local CALLS <const> = {
  split = function(x) return x:split(2, 2)[2] end,
  tensor_split = function(x) return x:tensor_split(2, 2)[1] end,
  unbind = function(x) return x:unbind(2)[3] end,
  hstack = function(x) return heed.hstack {x, x} end,
  vstack = function(x) return heed.vstack {x, x} end,
  movedim = function(x) return x:movedim(1, 2) end,
  rot90 = function(x) return x:rot90() end,
  roll = function(x) return x:roll({1, 2}, {1, 2}) end,
  tile = function(x) return x:tile(2, 1, 2) end,
  repeat_interleave = function(x) return x:repeat_interleave(2, 2) end,
  ["repeat_interleave by a tensor"] = function(x)
    return x:repeat_interleave(at {2, 0, 3}, 2)
  end,
  unfold = function(x) return x:unfold(2, 2, 1) end,
  unflatten = function(x) return x:unflatten(2, {3, 1}) end,
  broadcast_tensors = function(x)
    return (heed.broadcast_tensors(x, heed.zeros(2, 1, 1)))
  end,
}

describe("gradients", function()
  for name, f in pairs(CALLS) do
    it("are right through " .. name, function()
      local function call(args) return f(args[1]) end
      gradient.check(call, {sample.real {2, 3}})
      gradient.check(twice(call), {sample.real {2, 3}})
    end)
  end
end)
