-- t:describe(): what a tensor holds.

local heed = require "heed"

describe("describe", function()
  it("counts what is not finite apart from the numbers", function()
    local d = heed.tensor({{1, 2, 6}, {0 / 0, 1 / 0, -1 / 0}}):describe()
    assert.same({2, 3}, d.shape)
    assert.equal("float32", d.dtype)
    assert.equal(6, d.count)
    assert.equal(24, d.bytes)
    assert.same({1, 2}, {d.nan, d.inf})
    assert.same({1, 6, 3}, {d.min, d.max, d.mean})
    assert.is_true(math.abs(d.std - math.sqrt(14 / 3)) < 1e-12)
  end)

  it("reads as two or three lines", function()
    assert.equal("int64 [4], 4 elements, 32 bytes\n" ..
      "min -1  max 3  mean 0.75  std 1.479\n" ..
      "nan 0  inf 0  zero 1",
      tostring(heed.tensor({-1, 0, 1, 3}):describe()))
    assert.equal("float32 [0 2], 0 elements, 0 bytes\nnan 0  inf 0  zero 0",
      tostring(heed.zeros({0, 2}):describe()))
  end)

  it("takes every dtype, views and tensors with a history", function()
    local x = heed.tensor({{1, 2}, {3, 4}}, {requires_grad = true,
      dtype = "float32"})
    local d = (x * 2):transpose():describe()
    assert.same({2, 8, 5}, {d.min, d.max, d.mean})
    d = heed.tensor({1.5, 2.5}, {dtype = "bfloat16"}):describe()
    assert.same({1.5, 2.5, 2.0, 0.5, 4}, {d.min, d.max, d.mean, d.std,
      d.bytes})
    d = heed.tensor({true, false, true, true}):describe()
    assert.same({0, 1, 0.75, 1}, {d.min, d.max, d.mean, d.zero})
  end)

  it("wants a tensor", function()
    assert.has_error(function() heed.zeros(1).describe(3) end)
  end)
end)
