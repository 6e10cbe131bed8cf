local heed = require "heed"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local ops <const> = heed.core.ops

-- What the ops do, by reshape and transpose: part i of n.
local function part(x, heads, n, i)
  local b, t, width = x:size()
  return x:reshape(b, t, n, heads, width // (n * heads)):select(3, i)
    :transpose(2, 3)
end

describe("split_qkv, split_kv and split_heads", function()
  local all = {[3] = ops.split_qkv, [2] = ops.split_kv, [1] = ops.split_heads}

  it("see the heads of every part, without a copy", function()
    for n, split in pairs(all) do
      local x = heed.randn(2, 5, n * 12)
      for i, y in ipairs {split(x, 4)} do
        near(y, part(x, 4, n, i), 0)
        assert.is_true(y:shares(x))
      end
    end
  end)

  it("take views, no batch and sizes of 0", function()
    local x = heed.randn(12, 5, 2):transpose(1, 3)
    for i, y in ipairs {ops.split_qkv(x, 2)} do
      near(y, part(x, 2, 3, i), 0)
    end
    near(ops.split_heads(x[1], 2), part(x, 2, 1, 1)[1], 0)
    assert.same({0, 2, 5, 2}, ops.split_heads(heed.zeros(0, 5, 4), 2).shape)
    assert.same({2, 5, 0}, ops.split_kv(heed.zeros(5, 0), 2).shape)
  end)

  it("gather the gradients of all parts", function()
    for n, split in pairs(all) do
      local x = heed.randn({2, 5, n * 12}, {requires_grad = true})
      local function loss(parts)
        local total = 0
        for i, y in ipairs(parts) do
          if i ~= 2 then total = total + (y * y * i):sum() end
        end
        return total
      end
      loss({split(x, 4)}):backward()
      local got = x.grad
      x.grad = nil
      local parts = {}
      for i = 1, n do parts[i] = part(x, 4, n, i) end
      loss(parts):backward()
      near(got, x.grad, 1e-5)
    end
  end)

  it("can be differentiated twice", function()
    local x = heed.randn({3, 6}, {requires_grad = true, dtype = "float64"})
    local q, k, v = ops.split_qkv(x, 2)
    local y = (q * q * q + k * k * k + v * v * v):sum()
    local g = heed.grad(y, x, {create_graph = true})
    near(heed.grad(g:sum(), x), x * 6, 1e-9)
  end)

  it("refuse widths that do not fit", function()
    assert.equal("split_qkv: x [5 16] must end in a multiple of 12, the 4 " ..
      "heads of 3 parts", message(ops.split_qkv, heed.zeros(5, 16), 4))
    assert.equal(("split_kv: heads must be at most %d, got %d"):format(
      math.maxinteger // 2, math.maxinteger),
      message(ops.split_kv, heed.zeros(5, 16), math.maxinteger))
    assert.equal("split_heads: x must have at least 2 dimensions, got " ..
      "float32 [4]", message(ops.split_heads, heed.zeros(4), 4))
    assert.equal("split_kv: x [1 1 1 1 1 1 1 4] has no room for one " ..
      "dimension more",
      message(ops.split_kv, heed.zeros(1, 1, 1, 1, 1, 1, 1, 4), 2))
  end)
end)
