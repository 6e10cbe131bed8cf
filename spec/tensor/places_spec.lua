-- Functions of positions and masks (lua/heed/tensor/index.lua), and values of
-- the ops that they rest on. Values are those of PyTorch 2.13 for the same
-- call, counted from 0 there.

local gradient = require "spec.support.gradient"
local heed = require "heed"
local message = require "spec.support.message"
local sample = require "spec.support.sample"
local twice = require "spec.support.twice"

local at <const> = heed.tensor

describe("index_put", function()
  it("puts, and adds with accumulate", function()
    local x = heed.zeros({2, 3}, "int64")
    local i, j = at {1, 1, 2}, at {2, 2, 3}
    assert.same({{0, 2, 0}, {0, 0, 3}},
      x:index_put({i, j}, at {1, 2, 3}):totable())
    assert.same({{0, 3, 0}, {0, 0, 3}},
      x:index_put({i, j}, at {1, 2, 3}, {accumulate = true}):totable())
    assert.same({{0, 0, 0}, {0, 0, 0}}, x:totable())
    assert.is_true(rawequal(x, x:index_put_({at {true, false}}, 5)))
    assert.same({{5, 5, 5}, {0, 0, 0}}, x:totable())
    x:index_put_({at {{false, true, true}, {false, false, false}}}, 1,
      {accumulate = true})
    assert.same({{5, 6, 6}, {0, 0, 0}}, x:totable())
  end)

  it("refuses what does not fit", function()
    local x = heed.zeros(2, 3)
    assert.equal("index_put: indices must be a list, got 1",
      message(x.index_put, x, 1, 1))
    assert.equal("index_put: indices[1] is a mask [3] that does not fit to " ..
      "x [2 3]", message(x.index_put, x, {at {true, false, true}}, 1))
    assert.equal('index_put: unknown option "add"; known: accumulate',
      message(x.index_put, x, {at {1}}, 1, {add = true}))
  end)
end)

describe("index_copy and index_fill", function()
  it("write entries of a dimension, also in place", function()
    local x = heed.arange(1, 6):reshape(2, 3)
    assert.same({{9, 2, 8}, {7, 5, 6}},
      x:index_copy(2, at {3, 1}, at {{8, 9}, {6, 7}}):totable())
    x:index_fill_(2, at {-1}, 0)
    assert.same({{1, 2, 0}, {4, 5, 0}}, x:totable())
    x:t():index_copy_(1, at {1}, at {{7, 8}})
    assert.same({{7, 2, 0}, {8, 5, 0}}, x:totable())
  end)
end)

describe("take and its kin", function()
  local x = at {{4, 1, 3}, {2, 6, 5}}

  it("take from all elements", function()
    assert.same({{5, 4}}, x:take(at {{-1, 1}}):totable())
  end)

  it("take along a dimension, with broadcasting", function()
    local _, order = x:sort(2)
    assert.same({{1, 3, 4}, {2, 5, 6}}, x:take_along_dim(order, 2):totable())
    assert.same({{4}, {6}}, x:take_along_dim(x:argmax(2, true), 2):totable())
    assert.same({{2, 1, 5}}, x:take_along_dim(at {{2, 1, 2}}, 1):totable())
    assert.same({{1, 4}, {6, 2}}, x:take_along_dim(at {{2, 1}}, 2):totable())
    assert.same({5, 4}, x:take_along_dim(at {{6, 1}}):totable())
  end)

  it("put along a dimension", function()
    assert.same({{0, 1, 3}, {0, 6, 5}},
      x:put_along_dim(at {{1}}, 0, 2):totable())
    assert.same({{7, 1, 3}, {2, 6, 8}},
      x:put_along_dim(at {{1}, {3}}, at {{7}, {8}}, 2):totable())
  end)

  it("refuse what does not fit", function()
    assert.equal("take_along_dim: index [2] must have as many dimensions as " ..
      "x [2 3]", message(x.take_along_dim, x, at {1, 2}, 1))
    assert.equal("take_along_dim: index [1 2] and x [2 3] do not fit in dim 2",
      message(x.take_along_dim, x, at {{1, 2}}, 1))
    assert.equal("gather: index[1][1] must be 1..2 or -2..-1 for dim 1 of x " ..
      "[2 3], got 3", message(x.take_along_dim, x, at {{3}}, 1))
  end)
end)

describe("scatter_reduce", function()
  -- torch.tensor([1., 2, 3, 4]).scatter_reduce(0, [0, 1, 0, 1, 2], source,
  -- reduce, include_self) with source [5, 6, 7, 8, 9]
  local x = at {1.0, 2, 3, 4}
  local index, source = at {1, 2, 1, 2, 3}, at {5.0, 6, 7, 8, 9}
  local WANT <const> = {
    sum = {{13, 16, 12, 4}, {12, 14, 9, 4}},
    prod = {{35, 96, 27, 4}, {35, 48, 9, 4}},
    mean = {{13 / 3, 16 / 3, 6, 4}, {6, 7, 9, 4}},
    amax = {{7, 8, 9, 4}, {7, 8, 9, 4}},
    amin = {{1, 2, 3, 4}, {5, 6, 9, 4}},
  }
  for reduce, want in pairs(WANT) do
    it("gives the " .. reduce, function()
      for k, self in ipairs {true, false} do
        local y = x:double():scatter_reduce(1, index, source:double(), reduce,
          {include_self = self})
        assert.same(want[k], y:totable())
      end
      assert.same(want[2], x:double():scatter_reduce_(1, index,
        source:double(), reduce, false):totable())
    end)
  end

  it("rounds means of integers down, and keeps NaN", function()
    assert.same({-2, 1}, at({-4, 1}):scatter_reduce(1, at {1}, at {1}, "mean")
      :totable())
    local y = x:scatter_reduce(1, at {1, 1}, at {0/0, 9.0}, "amax")
    assert.is_true(y[1]:item() ~= y[1]:item())
  end)

  it("shares gradients between equal ones", function()
    local leaf = at({2, 5}, {dtype = "float64", requires_grad = true})
    local from = at({2, 2, 1}, {dtype = "float64", requires_grad = true})
    leaf:scatter_reduce(1, at {1, 1, 2}, from, "amax"):sum():backward()
    assert.same({1 / 3, 1}, leaf.grad:totable())
    assert.same({1 / 3, 1 / 3, 0}, from.grad:totable())
  end)
end)

describe("masks and conditions", function()
  it("where alone gives positions that serve as a key", function()
    local x = at {{0, 5}, {6, 0}}
    local found = heed.where(x)
    assert.same({1, 2}, found[1]:totable())
    assert.same({2, 1}, found[2]:totable())
    assert.same({5, 6}, x[found]:totable())
    assert.same({{1, 2}, {2, 1}}, x:argwhere():totable())
    assert.same({1, 0}, heed.where(at {true, false}, 1, 0):totable())
    assert.equal("where: b is missing", message(heed.where, at {true}, 1))
  end)

  it("masked_scatter fills in order", function()
    local mask = at {{true, false}, {true, true}}
    local y = heed.zeros({2, 2}, "int64"):masked_scatter(mask,
      at {{1, 2}, {3, 4}})
    assert.same({{1, 0}, {2, 3}}, y:totable())
    y:masked_scatter_(at {false, true}, at {8, 9})
    assert.same({{1, 8}, {2, 9}}, y:totable())
    assert.same({0, 0}, heed.zeros(2):masked_scatter(at {false, false},
      heed.zeros(0)):totable())
    assert.equal(7, heed.zeros({}):masked_scatter(at(true), at {7.0}):item())
    assert.equal("masked_scatter: source [1] has 1 elements, but mask has 2 " ..
      "true", message(y.masked_scatter, y, at {true, false}, at {1}))
    assert.equal("masked_scatter: mask must be bool and source int64, got " ..
      "tensor int64 [1] and tensor int64 [1]",
      message(y.masked_scatter, y, at {1}, at {1}))
  end)

  it("masked_fill and where move halves as they are", function()
    local x = at({1.5, 2.5}, {dtype = "bfloat16"})
    local mask = at {true, false}
    assert.same({0, 2.5}, x:masked_fill(mask, 0):totable())
    assert.same({1.5, -2}, heed.where(mask, x, -2):totable())
    assert.equal("bfloat16", heed.where(mask, x, -2).dtype)
  end)
end)

describe("searching", function()
  it("finds places on the left and the right of equal numbers", function()
    local sorted = at {10, 20, 20, 30}
    assert.same({1, 1, 2, 4, 5},
      sorted:searchsorted(at {5, 10, 20, 30, 40}):totable())
    assert.same({1, 2, 4, 5, 5},
      sorted:searchsorted(at {5, 10, 20, 30, 40}, {right = true}):totable())
    assert.same({{1, 3}, {2, 1}},
      at({{1, 3}, {2, 4}}):searchsorted(at {{0, 4}, {3, 1}}):totable())
    assert.equal(2, sorted:searchsorted(19.5):item())
  end)

  it("takes NaN for the largest number", function()
    local sorted = at {1.0, 2, 0/0}
    assert.same({3, 3}, sorted:searchsorted(at {0/0, 5}):totable())
    assert.same({4, 3},
      sorted:searchsorted(at {0/0, 5}, {right = true}):totable())
  end)

  it("counts buckets", function()
    local edges = at {1, 3, 5}
    assert.same({{1, 2}, {2, 4}},
      at({{1, 2}, {3, 9}}):bucketize(edges):totable())
    assert.same({2, 3}, at({1, 3}):bucketize(edges, {right = true}):totable())
    assert.equal("bucketize: boundaries must have one dimension, got tensor " ..
      "int64 [1 1]", message(heed.bucketize, at {1}, at {{1}}))
  end)
end)

local mask <const> = sample.bool {2, 3}

local CALLS <const> = {
  ["index_put with accumulate"] = function(x, y)
    return x:index_put({at {1, 1, 2}, at {1, 1, 3}}, y[{{1, 3}}],
      {accumulate = true})
  end,
  ["index_put by a mask"] = function(x, y)
    return x:index_put({mask}, y[{{1, mask:sum():item()}}])
  end,
  index_copy = function(x, y)
    return x:index_copy(2, at {1, 1}, y[{{1, 4}}]:reshape(2, 2))
  end,
  index_fill = function(x, y) return x:index_fill(2, at {1, 3}, y[1]) end,
  take = function(x) return x:take(at {6, 1, 1}) end,
  take_along_dim = function(x) return x:take_along_dim(at {{2, 3}}, 2) end,
  put_along_dim = function(x, y)
    return x:put_along_dim(at {{3}, {1}}, y[{{1, 2}}]:reshape(2, 1), 2)
  end,
  masked_scatter = function(x, y) return x:masked_scatter(mask, y) end,
  where = function(x) return x[heed.where(mask)] end,
}
for _, reduce in ipairs {"sum", "prod", "mean", "amax", "amin"} do
  for _, self in ipairs {true, false} do
    CALLS[("scatter_reduce %s, %s"):format(reduce, self)] = function(x, y)
      return x:scatter_reduce(2, at {{1, 1, 3}, {2, 2, 2}},
        y:reshape(2, 3), reduce, {include_self = self})
    end
  end
end

describe("gradients", function()
  for name, f in pairs(CALLS) do
    it("are right through " .. name, function()
      local function call(args) return f(args[1], args[2]) end
      local function other(args) return f(args[2], args[1]) end
      gradient.check(call, {sample.real {2, 3}, sample.other {6}})
      gradient.check(twice(call), {sample.real {2, 3}, sample.other {6}})
      if name ~= "take" and name ~= "take_along_dim" and name ~= "where" then
        gradient.check(twice(other), {sample.other {6}, sample.real {2, 3}})
      end
    end)
  end
end)
