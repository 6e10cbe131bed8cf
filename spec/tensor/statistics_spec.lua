-- Statistics out of other ops. Values by mathematics or by PyTorch 2.13.

local close = require "spec.support.close"
local heed = require "heed"
local message = require "spec.support.message"

local NAN <const> = 0 / 0

local function real(values) return heed.tensor(values, {dtype = "float64"}) end

describe("statistics:", function()
  it("aminmax is amin and amax", function()
    local x = heed.tensor {{3, 1}, {2, 5}}
    local low, high = x:aminmax({dim = 1, keepdim = true})
    assert.same({{2, 1}}, low:totable())
    assert.same({{3, 5}}, high:totable())
    assert.equal("amin: x [0] has no elements to choose from",
      message(heed.aminmax, heed.zeros {0}))
  end)

  it("nanmean leaves NaN out", function()
    local x = real {{1, NAN, 3}, {NAN, NAN, NAN}}
    local y = x:nanmean(2)
    assert.equal(2, y[1]:item())
    assert.is_true(y[2]:item() ~= y[2]:item())
    assert.same({1, 1}, x:nanmean({keepdim = true}).shape)
    assert.equal(1.5, heed.tensor {1, 2}:nanmean():item())
  end)

  it("histc has its right end in the last bin", function()
    assert.same({1, 1, 2}, heed.tensor {0.0, 1, 2, 3}:histc(3):totable())
    assert.same({0, 0, 2, 0}, heed.tensor {1.0, 1}:histc(4):totable())
    assert.same({0, 1, 0},
      heed.tensor {1, NAN, 7, -2}:histc(3, 0, 2):totable())
    assert.same({0, 0, 0}, heed.zeros {0}:histc(3):totable())
  end)

  it("bincount counts ids from 1, and passes gradients to weights",
    function()
      local ids = heed.tensor {2, 5, 2}
      assert.same({0, 2, 0, 0, 1}, ids:bincount():totable())
      local w = heed.tensor({0.5, 1, 2}, {requires_grad = true})
      local y = ids:bincount(w, 6)
      assert.same({0, 2.5, 0, 0, 1, 0}, y:totable())
      y[2]:backward()
      assert.same({1, 0, 1}, w.grad:totable())
    end)
end)

describe("differences and areas:", function()
  it("diff ends when nothing is left", function()
    assert.same({0}, heed.tensor({1, 2}):diff(1 << 62).shape)
  end)

  it("diff takes differences n times, with what stands around", function()
    local x = heed.tensor {{1, 4, 9}, {0, 2, 7}}
    assert.same({{3, 5}, {2, 5}}, x:diff():totable())
    assert.same({{-1, -2, -2}}, x:diff({dim = 1}):totable())
    assert.same({{2}, {3}}, x:diff(2):totable())
    assert.same({{1, 3, 5}, {0, 2, 5}},
      x:diff({prepend = heed.zeros({2, 1}, {dtype = "int64"})}):totable())
    assert.same({true, false}, heed.tensor {true, false, false}:diff()
      :totable())
    assert.same({2, 0}, x:diff(9).shape)
    assert.equal("diff: n must be an integer of at least 0, got -1",
      message(x.diff, x, -1))
    assert.equal("diff: dim must be 1..2 or -2..-1 for x [2 3], got 3",
      message(x.diff, x, 1, 3))
  end)

  it("trapezoid adds up the areas between places", function()
    local y = real {{1, 2, 3}, {0, 2, 6}}
    assert.same({4, 5}, y:trapezoid():totable())
    assert.same({2, 2.5}, y:trapezoid({dx = 0.5}):totable())
    assert.same({0.5, 2, 4.5}, y:trapezoid({dim = 1}):totable())
    assert.same({6.5, 9}, y:trapezoid(real {0, 1, 3}):totable())
    assert.same({{1.5, 6.5}, {1, 9}},
      y:cumulative_trapezoid(real {0, 1, 3}):totable())
    assert.equal(0, real {5}:trapezoid():item())
    assert.equal("trapezoid: x [2] must have 3 elements along dim 2 of y " ..
      "[2 3]", message(y.trapezoid, y, real {0, 1}))
  end)
end)

describe("cov", function()
  local x = real {{1, 2, 4, 7}, {3, 1, 0, 2}}

  -- numpy.cov(x, ...)
  it("is the mean of the products of deviations", function()
    close.check("cov", x:cov(), {{7, -2 / 3}, {-2 / 3, 5 / 3}},
      {atol = 1e-12})
    close.check("biased", x:cov({correction = 0}),
      {{5.25, -0.5}, {-0.5, 1.25}}, {atol = 1e-12})
    close.check("single", x[1]:cov(), 7, {atol = 1e-12})
  end)

  it("counts observations as often as weights say", function()
    local often = heed.tensor {1, 2, 1, 0}
    local seen = real {{1, 2, 2, 4}, {3, 1, 1, 0}}
    close.check("fweights", x:cov({fweights = often}), seen:cov(),
      {atol = 1e-12})
    -- numpy.cov(x, aweights=[1, 2, 3, 4])
    close.check("aweights", x:cov({aweights = real {1, 2, 3, 4}}),
      {{101 / 14, 9 / 14}, {9 / 14, 101 / 70}}, {atol = 1e-9})
  end)

  it("refuses weights that do not fit", function()
    assert.equal("cov: fweights must have the shape [4], got tensor int64 " ..
      "[2]", message(x.cov, x, {fweights = heed.tensor {1, 2}}))
    assert.equal("cov: x must have at most 2 dimensions, got tensor " ..
      "float32 [1 1 1]", message(heed.cov, heed.zeros(1, 1, 1)))
  end)

  it("corrcoef divides by the deviations", function()
    local r = -2 / 3 / math.sqrt(7 * 5 / 3)
    close.check("corrcoef", x:corrcoef(), {{1, r}, {r, 1}}, {atol = 1e-12})
    assert.equal(1, x[1]:corrcoef():item())
  end)
end)
