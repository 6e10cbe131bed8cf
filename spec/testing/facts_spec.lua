-- testing.has_shape, has_dtype and finite.
local heed = require "heed"
local message_of = require "spec.support.message"
local testing = require "heed.testing"

local function said(ok, text)
  assert.is_false(ok)
  return text
end

describe("has_shape", function()
  local has_shape <const> = testing.has_shape

  it("compares sizes; -1 is any, a name the same everywhere", function()
    local x = heed.zeros({2, 5, 5})
    assert.is_true(has_shape(x, {2, 5, 5}))
    assert.is_true(has_shape(x, {-1, "T", "T"}))
    assert.is_true(has_shape({{1, 2}}, {1, 2}))
    assert.is_true(has_shape(3, {}))
  end)

  it("says which dimension is another", function()
    local x = heed.zeros({2, 3})
    assert.equal("has_shape: got [2 3], want [2 4]: dimension 2 is 3 instead "
      .. "of 4", said(has_shape(x, {2, 4})))
    assert.equal("has_shape: got [2 3], want [B B]: dimension 2 is 3 instead "
      .. "of 2, which is B", said(has_shape(x, {"B", "B"})))
    assert.equal("has_shape: got [2 3], want [6]: 2 dimensions instead of 1",
      said(has_shape(x, {6})))
  end)

  it("refuses what is no shape", function()
    assert.equal("has_shape: shape must be a list of sizes, got 3",
      message_of(has_shape, heed.zeros(3), 3))
    assert.equal("has_shape: shape[2] must be a size, -1 or a name, got -2",
      message_of(has_shape, heed.zeros(3), {3, -2}))
  end)
end)

describe("has_dtype", function()
  it("compares names", function()
    local x = heed.zeros({2}, {dtype = "int32"})
    assert.is_true(testing.has_dtype(x, heed.int32))
    assert.equal("has_dtype: got int32 [2], want int64",
      said(testing.has_dtype(x, "int64")))
    assert.equal("has_dtype: x must be a tensor, got a table",
      message_of(testing.has_dtype, {1}, "int64"))
    assert.equal("has_dtype: dtype must be a string, got nil",
      message_of(testing.has_dtype, x))
  end)
end)

describe("finite", function()
  local finite <const> = testing.finite

  it("takes finite numbers, and integers", function()
    assert.is_true(finite(heed.ones({2, 2})))
    assert.is_true(finite({1, 2.5}))
    assert.is_true(finite(heed.tensor {1, 2}))
    assert.is_true(finite(heed.zeros(0)))
    assert.is_true(finite(heed.nn.Linear(2, 3):state_dict()))
  end)

  it("counts what is not, and names the first", function()
    local x = heed.ones({2, 3})
    x[{2, 1}], x[{2, 3}] = -math.huge, 0 / 0
    assert.equal("finite: float32 [2 3]: 2 of 6 are not finite (1 nan, 0 inf, "
      .. "1 -inf), first -inf at [2 1]", said(finite(x)))
    assert.equal("finite: float64 []: 1 of 1 are not finite (0 nan, 1 inf, "
      .. "0 -inf), first inf at []", said(finite(math.huge)))
  end)

  it("names the tensors of a table", function()
    local bad = heed.tensor {0 / 0}
    assert.equal("finite: 2 tensors are not\n"
      .. "  [1].w: float32 [1]: 1 of 1 are not finite (1 nan, 0 inf, 0 -inf), "
      .. "first nan at [1]\n"
      .. "  bias: float32 [1]: 1 of 1 are not finite (1 nan, 0 inf, 0 -inf), "
      .. "first nan at [1]", said(finite {{w = bad}, bias = bad}))
  end)

  it("refuses what is no value", function()
    assert.equal('finite: x must be a tensor, a nested list or a number, '
      .. 'got "x"', message_of(finite, "x"))
  end)
end)
