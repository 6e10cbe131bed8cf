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
  end)

  it("lets a loop of total_steps steps call step after each", function()
    local optimizer = sgd(1)
    local schedule = optim.OneCycleLR(optimizer, {max_lr = 1, total_steps = 5,
      div_factor = 4, final_div_factor = 2})
    for _ = 1, 5 do schedule:step() end
    assert.is_near(0.125, optimizer.groups[1].lr, 1e-12)
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
    assert.equal('load_state_dict: base[1] must be a number, got "x"',
      message(other.load_state_dict, other, {t = 1, base = {"x"}}))
    assert.equal("load_state_dict: the state has 1 groups, the optimiser 2",
      message(other.load_state_dict, optim.StepLR(sgd(1, 2), 1),
        one:state_dict()))
  end)

  it("takes functions for each group", function()
    local optimizer = sgd(1, 10)
    local schedule = optim.LambdaLR(optimizer, {
      function(t) return 0.5 ^ t end, function() return 2 end,
    })
    schedule:step()
    assert.same({0.5, 20.0}, schedule:get_last_lr())
    assert.equal("LambdaLR: factor has 1 entries, the optimiser 2 groups",
      message(optim.LambdaLR, optimizer, {math.sin}))
    assert.equal("LambdaLR: factor must be a function, got 3",
      message(optim.LambdaLR, optimizer, 3))
  end)

  it("starts from the first rate of a group, not the one in use", function()
    local optimizer = sgd(1)
    local warmup = optim.ConstantLR(optimizer, {factor = 0.1})
    assert.same({0.1}, warmup:get_last_lr())
    local cosine = optim.CosineAnnealingLR(optimizer, 10)
    assert.same({1.0}, cosine:get_last_lr())
  end)

  it("takes in groups that are added later", function()
    local optimizer = sgd(1)
    local schedule = optim.ExponentialLR(optimizer, 0.5)
    optimizer:add_group {params = {heed.zeros({1}, {requires_grad = true})},
      lr = 8}
    schedule:step()
    assert.same({0.5, 4.0}, schedule:get_last_lr())
  end)

  it("restarts at any time of an epoch", function()
    local schedule = optim.CosineAnnealingWarmRestarts(sgd(1), 2, {T_mult = 2})
    schedule:step(1)
    near({0.5}, schedule:get_last_lr())
    schedule:step(2 + 1 / 3) -- a twelfth of the second round
    near({(1 + math.cos(math.pi / 12)) / 2}, schedule:get_last_lr())
    schedule:step(6)
    near({1}, schedule:get_last_lr())
    assert.equal("CosineAnnealingWarmRestarts: t must be a number of at " ..
      "least 0, got -1", message(schedule.step, schedule, -1))
  end)

  it("goes on exactly from a saved state, whatever it is", function()
    local makers = {
      function(o) return optim.LambdaLR(o, function(t) return 0.7 ^ t end) end,
      function(o) return optim.StepLR(o, 3) end,
      function(o) return optim.MultiStepLR(o, {2, 7}) end,
      function(o) return optim.ExponentialLR(o, 0.9) end,
      function(o) return optim.ConstantLR(o) end,
      function(o) return optim.LinearLR(o, {total_iters = 9}) end,
      function(o) return optim.PolynomialLR(o, {total_iters = 9}) end,
      function(o) return optim.CosineAnnealingLR(o, 6) end,
      function(o) return optim.CosineAnnealingWarmRestarts(o, 3) end,
      function(o) return optim.WarmupInverseSqrtLR(o, 4) end,
      function(o) return optim.WarmupLinearLR(o, 2, 20) end,
      function(o)
        return optim.OneCycleLR(o, {max_lr = 1, total_steps = 20})
      end,
      function(o)
        local first = optim.LinearLR(o, {total_iters = 3})
        return optim.SequentialLR(o, {first, optim.StepLR(o, 2)}, {4})
      end,
      function(o)
        return optim.ChainedScheduler {optim.ConstantLR(o),
          optim.ExponentialLR(o, 0.9)}
      end,
    }
    for _, make in ipairs(makers) do
      local optimizer = sgd(0.3, 2)
      local whole = make(optimizer)
      for _ = 1, 5 do whole:step() end
      local state, saved = whole:state_dict(), optimizer:state_dict()
      local resumed = sgd(9, 9)
      resumed:load_state_dict(saved)
      local other = make(resumed)
      other:load_state_dict(state)
      for _ = 1, 5 do
        assert.same(whole:get_last_lr(), other:get_last_lr())
        for g, group in ipairs(optimizer.groups) do
          assert.equal(group.momentum, resumed.groups[g].momentum)
        end
        whole:step()
        other:step()
      end
    end
  end)

  it("joins others of the same optimiser only", function()
    local optimizer = sgd(1)
    local part = optim.StepLR(optimizer, 2)
    local plateau = optim.ReduceLROnPlateau(optimizer)
    assert.equal("SequentialLR: schedules is empty",
      message(optim.SequentialLR, optimizer, {}, {}))
    assert.equal("SequentialLR: milestones must have 1 entries for 2 " ..
      "schedules, got 0", message(optim.SequentialLR, optimizer, {part, part},
        {}))
    assert.equal("SequentialLR: milestones[2] must be an integer of at " ..
      "least 4, got 3", message(optim.SequentialLR, optimizer,
        {part, part, part}, {3, 3}))
    assert.equal("SequentialLR: schedules[2] must be a schedule of steps, " ..
      "got a ReduceLROnPlateau", message(optim.SequentialLR, optimizer,
        {part, plateau}, {3}))
    assert.equal("SequentialLR: schedules[1] is of another optimiser",
      message(optim.SequentialLR, sgd(1), {part}, {}))
    assert.equal("ChainedScheduler: schedules must be a table, got 3",
      message(optim.ChainedScheduler, 3))
    assert.equal("ChainedScheduler: schedules is empty",
      message(optim.ChainedScheduler, {}))
    assert.equal("ChainedScheduler: schedules[2] is of another optimiser",
      message(optim.ChainedScheduler, {part, optim.StepLR(sgd(1), 1)}))
    assert.equal("ChainedScheduler: schedules[1] must be a schedule of " ..
      "steps, got 1", message(optim.ChainedScheduler, {1}))
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
    local o = sgd(1)
    local function refused(name, ...) return message(optim[name], o, ...) end
    assert.equal("MultiStepLR: milestones[1] must be an integer of at least " ..
      "0, got 0.5", refused("MultiStepLR", {0.5}))
    assert.equal("MultiStepLR: milestones must grow, got 2 behind 5",
      refused("MultiStepLR", {5, 2}))
    assert.equal("ExponentialLR: gamma must be a number, got nil",
      refused("ExponentialLR"))
    assert.equal("ConstantLR: factor must be a number from 0 to 1, got 2",
      refused("ConstantLR", {factor = 2}))
    assert.equal("LinearLR: start_factor must be above 0, got 0",
      refused("LinearLR", {start_factor = 0}))
    assert.equal("LinearLR: end_factor must be a number from 0 to 1, got -1",
      refused("LinearLR", {end_factor = -1}))
    assert.equal("PolynomialLR: total_iters must be an integer of at least " ..
      "1, got 0", refused("PolynomialLR", {total_iters = 0}))
    assert.equal("CosineAnnealingWarmRestarts: T_mult must be an integer of " ..
      "at least 1, got 1.5",
      refused("CosineAnnealingWarmRestarts", 2, {T_mult = 1.5}))
    assert.equal("OneCycleLR: total_steps is missing, or epochs and " ..
      "steps_per_epoch", refused("OneCycleLR", {max_lr = 1}))
    assert.equal("OneCycleLR: max_lr has 2 entries, the optimiser 1 groups",
      refused("OneCycleLR", {max_lr = {1, 2}, total_steps = 3}))
    assert.equal("OneCycleLR: div_factor must be above 0, got 0",
      refused("OneCycleLR", {max_lr = 1, total_steps = 3, div_factor = 0}))
  end)
end)

describe("ReduceLROnPlateau", function()
  local function feed(schedule, ...)
    for _, value in ipairs {...} do schedule:step(value) end
    return schedule:get_last_lr()[1]
  end

  it("bears `patience` steps without a better value", function()
    local schedule = optim.ReduceLROnPlateau(sgd(1), {patience = 1})
    assert.equal(1, feed(schedule, 5, 4, 4))
    assert.is_near(0.1, feed(schedule, 4), 1e-12)
  end)

  it("takes tensors, and NaN as no better value", function()
    local schedule = optim.ReduceLROnPlateau(sgd(1), {patience = 0,
      factor = 0.5})
    assert.equal(1, feed(schedule, heed.tensor(3.0)))
    assert.equal(0.5, feed(schedule, 0 / 0))
    assert.equal(3, schedule.best)
    local first = optim.ReduceLROnPlateau(sgd(1), {patience = 5})
    feed(first, 0 / 0, 2)
    assert.equal(2, first.best)
  end)

  it("has least rates for each group", function()
    local optimizer = sgd(1, 1)
    local schedule = optim.ReduceLROnPlateau(optimizer, {patience = 0,
      min_lr = {0.5, 0.01}})
    feed(schedule, 1, 1)
    assert.same({0.5, 0.1}, schedule:get_last_lr())
  end)

  it("goes on from a saved state", function()
    local values = {3, 2, 2, 2, 1, 2, 2, 2, 2, 2}
    local function make(optimizer)
      return optim.ReduceLROnPlateau(optimizer, {patience = 1, cooldown = 1})
    end
    local optimizer = sgd(1)
    local whole = make(optimizer)
    feed(whole, table.unpack(values, 1, 4))
    local resumed = sgd(7)
    resumed:load_state_dict(optimizer:state_dict())
    local other = make(resumed)
    other:load_state_dict(whole:state_dict())
    for i = 5, #values do
      assert.equal(feed(whole, values[i]), feed(other, values[i]))
    end
    assert.same({num_bad_epochs = 0, cooldown_counter = 0},
      make(sgd(1)):state_dict())
  end)

  it("refuses what makes no sense", function()
    local function refused(options)
      return message(optim.ReduceLROnPlateau, sgd(1), options)
    end
    assert.equal('ReduceLROnPlateau: mode must be "min" or "max", got "x"',
      refused {mode = "x"})
    assert.equal("ReduceLROnPlateau: threshold_mode must be \"rel\" or " ..
      "\"abs\", got 3", refused {threshold_mode = 3})
    assert.equal("ReduceLROnPlateau: factor must be below 1, got 1",
      refused {factor = 1})
    assert.equal("ReduceLROnPlateau: min_lr has 2 entries, the optimiser 1 " ..
      "groups", refused {min_lr = {1, 2}})
    local schedule = optim.ReduceLROnPlateau(sgd(1))
    assert.equal("ReduceLROnPlateau: metric must be a number, got nil",
      message(schedule.step, schedule))
  end)
end)
