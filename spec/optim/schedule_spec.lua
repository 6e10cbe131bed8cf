local heed = require "heed"
local message = require "spec.support.message"
local optim = require "heed.optim"

local function sgd(...)
  local groups = {}
  for i, lr in ipairs {...} do
    groups[i] = {params = {heed.zeros({1}, {requires_grad = true})}, lr = lr}
  end
  return optim.SGD(groups, {momentum = 0.9})
end

-- The rates of the first steps.
local function rates(schedule, n)
  local list = {}
  for i = 1, n do
    list[i] = schedule:get_last_lr()[1]
    if i < n then schedule:step() end
  end
  return list
end

local function near(want, got)
  assert.equal(#want, #got)
  for i = 1, #want do assert.is_near(want[i], got[i], 1e-12) end
end

describe("a schedule", function()
  it("multiplies by a function's value", function()
    near({2, 1, 0.5}, rates(optim.LambdaLR(sgd(2), function(t)
      return 0.5 ^ t
    end), 3))
  end)

  it("falls in steps", function()
    near({1, 1, 0.5, 0.5, 0.25},
      rates(optim.StepLR(sgd(1), 2, {gamma = 0.5}), 5))
  end)

  it("falls along a cosine and rises again", function()
    near({1, 0.75, 0.5, 0.75, 1},
      rates(optim.CosineAnnealingLR(sgd(1), 2, {eta_min = 0.5}), 5))
  end)

  it("warms up, then falls with the root of the step", function()
    near({0.25, 0.5, 0.75, 1, 0.8 ^ 0.5},
      rates(optim.WarmupInverseSqrtLR(sgd(1), 4), 5))
  end)

  it("warms up, then falls straight to zero", function()
    near({0.5, 1, 1, 0.75, 0.5, 0.25, 0, 0},
      rates(optim.WarmupLinearLR(sgd(1), 2, 6), 8))
  end)

  it("makes one cycle of rate and momentum", function()
    local optimizer = sgd(1)
    local schedule = optim.OneCycleLR(optimizer, {max_lr = 1, total_steps = 5,
      pct_start = 0.6, anneal_strategy = "linear", div_factor = 4,
      final_div_factor = 2})
    assert.is_near(0.95, optimizer.groups[1].momentum, 1e-12)
    near({0.25, 0.625, 1, 0.5625, 0.125}, rates(schedule, 5))
    assert.is_near(0.95, optimizer.groups[1].momentum, 1e-12)
    assert.equal("OneCycleLR: step 6 is behind total_steps 5",
      message(schedule.step, schedule))
  end)

  it("moves the first beta of Adam", function()
    local adam = optim.Adam({heed.zeros({1}, {requires_grad = true})})
    optim.OneCycleLR(adam, {max_lr = 1, total_steps = 10})
    assert.same({0.95, 0.999}, adam.groups[1].betas)
  end)

  it("scales each group by its own first rate", function()
    local optimizer = sgd(1, 10)
    local schedule = optim.StepLR(optimizer, 1)
    schedule:step()
    assert.is_near(0.1, optimizer.groups[1].lr, 1e-12)
    assert.is_near(1, optimizer.groups[2].lr, 1e-12)
  end)

  it("goes on from a saved state", function()
    local one = optim.WarmupInverseSqrtLR(sgd(1), 4)
    for _ = 1, 6 do one:step() end
    local optimizer = sgd(5)
    local other = optim.WarmupInverseSqrtLR(optimizer, 4)
    other:load_state_dict(one:state_dict())
    assert.same(one:get_last_lr(), other:get_last_lr())
    one:step()
    other:step()
    assert.same(one:get_last_lr(), other:get_last_lr())
    assert.equal("load_state_dict: the state has 1 groups, the optimiser 2",
      message(other.load_state_dict, optim.StepLR(sgd(1, 2), 1),
        one:state_dict()))
  end)

  it("refuses what makes no sense", function()
    assert.equal("StepLR: step_size must be an integer of at least 1, got 0",
      message(optim.StepLR, sgd(1), 0))
    assert.equal("StepLR: optimizer must be an optimiser, got 3",
      message(optim.StepLR, 3, 1))
    assert.equal('OneCycleLR: anneal_strategy must be "cos" or "linear", ' ..
      'got "x"', message(optim.OneCycleLR, sgd(1), {max_lr = 1,
        total_steps = 2, anneal_strategy = "x"}))
    assert.equal("WarmupLinearLR: total must be an integer of at least 5, " ..
      "got 4", message(optim.WarmupLinearLR, sgd(1), 4, 4))
  end)
end)
