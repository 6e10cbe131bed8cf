local heed = require "heed"
local message = require "spec.support.message"
local optim = require "heed.optim"
local near = dofile "spec/nn/near.lua"

local function with_grad(values)
  local grad = heed.tensor(values)
  local p = heed.zeros(grad.shape)
  p.requires_grad = true
  p.grad = grad
  return p
end

describe("clip_grad_norm_", function()
  it("scales all gradients together and returns the norm before", function()
    local a, b = with_grad {3., 0}, with_grad {{4.}}
    local none = heed.zeros({2}, {requires_grad = true})
    assert.equal(5, optim.clip_grad_norm_({a, none, b}, 1))
    near(a.grad, {0.6, 0})
    near(b.grad, {{0.8}})
    assert.is_nil(none.grad)
  end)

  it("leaves smaller gradients as they are", function()
    local a = with_grad {3., 4}
    assert.equal(5, optim.clip_grad_norm_(a, 6))
    near(a.grad, {3, 4}, 0)
  end)

  it("takes other norms", function()
    local a = with_grad {3., -4}
    assert.equal(4, optim.clip_grad_norm_(a, 2, math.huge))
    near(a.grad, {1.5, -2})
    assert.is_near(3.5, optim.clip_grad_norm_(a, 7, 1), 1e-5)
  end)

  it("works without any gradient", function()
    assert.equal(0, optim.clip_grad_norm_({}, 1))
  end)

  it("raises for NaN when asked", function()
    local a = with_grad {0 / 0, 1}
    assert.equal("clip_grad_norm_: the norm of the gradients is nan",
      (message(optim.clip_grad_norm_, {a}, 1, 2,
        {error_if_nonfinite = true}):gsub("-nan", "nan")))
    assert.equal("clip_grad_norm_: max_norm must be a number of at least 0, " ..
      "got -1", message(optim.clip_grad_norm_, {a}, -1))
    assert.equal("clip_grad_norm_: norm_type must be above 0, got 0",
      message(optim.clip_grad_norm_, {a}, 1, 0))
  end)
end)

describe("clip_grad_value_", function()
  it("cuts every element", function()
    local a = with_grad {3., -0.5, -2}
    optim.clip_grad_value_({a}, 1)
    near(a.grad, {1, -0.5, -1}, 0)
  end)
end)
