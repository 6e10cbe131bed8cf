-- What holds for tensors of any shape, dtype and layout.
local heed = require "heed"
local testing = require "heed.testing"

local RUN <const> = {examples = 150, seed = 1}

-- Any tensor with a dimension or more, and one of its dimensions.
local with_dim <const> = testing.custom(function(draw)
  local shape = draw(testing.shapes {ndim = {1, 4}})
  return {
    x = draw(testing.tensor {shape = shape, views = true,
      dtype = {"float32", "float64", "int64", "int32", "uint8", "bool",
        "bfloat16", "float16"}}),
    dim = draw(testing.integer(1, #shape)),
    n = draw(testing.integer(-9, 9)),
  }
end)

-- Two float tensors that broadcast with each other.
local pair <const> = testing.custom(function(draw)
  local shapes = draw(testing.broadcast_shapes(2))
  local list = {}
  for i, shape in ipairs(shapes) do
    list[i] = draw(testing.tensor {shape = shape, views = true,
      dtype = {"float32", "float64"},
      values = testing.number(-9, 9, {special = true})})
  end
  return list
end)

local EXACT <const> = {atol = 0, equal_nan = true}

local function holds(f, generator) testing.property(f, {generator}, RUN) end

describe("a tensor of any shape, dtype and layout", function()
  it("is itself after flipping twice and rolling back", function()
    holds(function(t)
      assert.tensors_close(t.x:flip(t.dim):flip(t.dim), t.x, EXACT)
      assert.tensors_close(t.x:roll(t.n, t.dim):roll(-t.n, t.dim), t.x, EXACT)
    end, with_dim)
  end)

  it("is itself in pieces that are put together again", function()
    holds(function(t)
      local size = t.x:size(t.dim)
      local k = math.max(1, math.abs(t.n))
      if size > 0 then
        assert.tensors_close(heed.cat(t.x:split(k, t.dim), t.dim), t.x, EXACT)
        assert.tensors_close(heed.stack(t.x:unbind(t.dim), t.dim), t.x, EXACT)
      end
      assert.tensors_close(t.x:transpose(1, t.dim):contiguous()
        :transpose(1, t.dim), t.x, EXACT)
    end, with_dim)
  end)

  it("comes back from nested lists, and from its elements in a row", function()
    holds(function(t)
      assert.tensors_close(t.x:reshape(-1):reshape(t.x.shape), t.x, EXACT)
      if t.x:numel() > 0 then
        assert.tensors_close(heed.tensor(t.x:totable(), {dtype = t.x.dtype}),
          t.x, EXACT)
      end
    end, with_dim)
  end)

  it("is sorted in order, and argsort and gather say the same", function()
    holds(function(t)
      testing.assume(t.x.dtype ~= "bool")
      local sorted, at = t.x:sort(t.dim)
      -- of 16 bits, sorting gives float32
      assert.tensors_close(t.x:gather(t.dim, at), sorted,
        {atol = 0, check_dtype = false})
      local size = sorted:size(t.dim)
      if size > 1 then
        local low = sorted:narrow(t.dim, 1, size - 1)
        local high = sorted:narrow(t.dim, 2, size - 1)
        assert.is_true(low:le(high):all():item())
      end
    end, with_dim)
  end)

  it("has the sum of its running sums' last row", function()
    holds(function(t)
      testing.assume(t.x.dtype:find "^int" and t.x:size(t.dim) > 0)
      assert.tensors_close(t.x:cumsum(t.dim):select(t.dim, -1),
        t.x:sum(t.dim), EXACT)
    end, with_dim)
  end)
end)

describe("two tensors that broadcast", function()
  it("give what they give when they are expanded first", function()
    holds(function(ab)
      local a, b = ab[1], ab[2]
      local shape = (a + b).shape
      local wide_a = a:expand(shape):contiguous()
      local wide_b = b:expand(shape):contiguous()
      for _, op in ipairs {"add", "sub", "mul", "div", "maximum", "atan2",
        "lt", "eq"} do
        assert.message(op).tensors_close(a[op](a, b),
          wide_a[op](wide_a, wide_b), EXACT)
      end
    end, pair)
  end)

  it("may change places in what is symmetric", function()
    holds(function(ab)
      local a, b = ab[1], ab[2]
      assert.tensors_close(a + b, b + a, EXACT)
      assert.tensors_close(a * b, b * a, EXACT)
      assert.tensors_close(heed.minimum(a, b), heed.minimum(b, a), EXACT)
      assert.tensors_close(a - b, -(b - a), EXACT)
    end, pair)
  end)
end)
