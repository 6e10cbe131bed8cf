--- optim: the cases of optimisers, schedules and clipping.

local api = require "spec.support.golden.api"
local heed = require "heed"

local optim = {}

-- The settings of an optimiser, as PyTorch and heed both call them.
local function settings(params)
  local options = {}
  for key, value in pairs(params) do
    if key ~= "algorithm" then options[key] = value end
  end
  return options
end

-- Steps with given gradients: row s of the result is the parameter after step
-- s.
local function steps(name)
  return function(c)
    local names, params = {}, {}
    for n, t in pairs(c.weight) do
      names[#names + 1] = n
      t.requires_grad = true
      params[#params + 1] = t
    end
    local optimizer = api.call("optim." .. name, params, settings(c.params))
    local after = {}
    for s = 1, #c.input["grads_" .. names[1]] do
      for i, p in ipairs(params) do
        p.grad = c.input["grads_" .. names[i]][s]:clone()
      end
      optimizer:step()
      for i, p in ipairs(params) do
        after[i] = after[i] or {}
        after[i][s] = p:detach():clone()
      end
    end
    local results = {}
    for i, n in ipairs(names) do
      results["after_" .. n] = heed.stack(after[i], 1)
    end
    return results
  end
end

optim.optim_sgd = steps "SGD"
optim.optim_adam = steps "Adam"
optim.optim_adamw = steps "AdamW"
optim.optim_adagrad = steps "Adagrad"
optim.optim_rmsprop = steps "RMSprop"
optim.optim_adamax = steps "Adamax"
optim.optim_adafactor = steps "Adafactor"

function optim.clip_grad_norm(c)
  local p = c.params
  local names, params = {}, {}
  for name, t in pairs(c.input) do
    names[#names + 1] = name:match("^grad_(.*)$")
    local leaf = heed.zeros(t.shape, {dtype = c.dtype, requires_grad = true})
    leaf.grad = t:clone()
    params[#params + 1] = leaf
  end
  local kind = p.norm_type == "inf" and math.huge or p.norm_type
  local norm = api.call("optim.clip_grad_norm_", params, p.max_norm, kind)
  local results = {total_norm = norm}
  for i, name in ipairs(names) do
    results["clipped_" .. name] = params[i].grad
  end
  return results
end

-- Rates in use in each step.
local function rates(make)
  return function(c)
    local p = c.params
    local parameter = heed.zeros({1}, {dtype = c.dtype, requires_grad = true})
    local optimizer = api.call("optim.SGD", {parameter},
      {lr = p.base_lr, momentum = p.max_momentum})
    local schedule = make(p, optimizer)
    local lr, momenta = {}, {}
    for t = 1, p.steps do
      lr[t] = optimizer.groups[1].lr
      momenta[t] = optimizer.groups[1].momentum
      optimizer:step()
      if t < p.steps then schedule:step(p.metrics and p.metrics[t]) end
    end
    return {rates = lr, momenta = momenta}
  end
end

optim.sched_step = rates(function(p, optimizer)
  return api.call("optim.StepLR", optimizer, p.step_size, {gamma = p.gamma})
end)

optim.sched_cosine = rates(function(p, optimizer)
  return api.call("optim.CosineAnnealingLR", optimizer, p.T_max,
    {eta_min = p.eta_min})
end)

optim.sched_warmup_invsqrt = rates(function(p, optimizer)
  return api.call("optim.WarmupInverseSqrtLR", optimizer, p.warmup)
end)

optim.sched_onecycle = rates(function(p, optimizer)
  return api.call("optim.OneCycleLR", optimizer, {
    max_lr = p.max_lr, total_steps = p.total_steps, pct_start = p.pct_start,
    anneal_strategy = p.anneal, div_factor = p.div_factor,
    final_div_factor = p.final_div_factor, base_momentum = p.base_momentum,
    max_momentum = p.max_momentum,
  })
end)

-- Schedules whose settings are called the same here: some come by position.
local positions <const> = {
  StepLR = "step_size", MultiStepLR = "milestones", ExponentialLR = "gamma",
  CosineAnnealingLR = "T_max", CosineAnnealingWarmRestarts = "T_0",
}

for _, name in ipairs {
  "StepLR", "MultiStepLR", "ExponentialLR", "ConstantLR", "LinearLR",
  "PolynomialLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
  "OneCycleLR",
} do
  optim["sched_options_" .. name] = rates(function(p, optimizer)
    local options, first = {}, positions[name]
    for key, value in pairs(p.options) do
      if key ~= first then options[key] = value end
    end
    if not first then return api.call("optim." .. name, optimizer, options) end
    return api.call("optim." .. name, optimizer, p.options[first],
      next(options) and options)
  end)
end

optim.sched_plateau = rates(function(p, optimizer)
  return api.call("optim.ReduceLROnPlateau", optimizer, p.options)
end)

optim.sched_lambda = rates(function(_, optimizer)
  return api.call("optim.LambdaLR", optimizer, function(t) return 0.9 ^ t end)
end)

optim.sched_sequential = rates(function(_, optimizer)
  local warmup = api.call("optim.LinearLR", optimizer,
    {start_factor = 0.1, total_iters = 4})
  local cosine = api.call("optim.CosineAnnealingLR", optimizer, 6)
  local last = api.call("optim.ExponentialLR", optimizer, 0.8)
  return api.call("optim.SequentialLR", optimizer, {warmup, cosine, last},
    {4, 10})
end)

optim.sched_chained = rates(function(_, optimizer)
  return api.call("optim.ChainedScheduler", {
    api.call("optim.ConstantLR", optimizer,
      {factor = 0.25, total_iters = 4}),
    api.call("optim.ExponentialLR", optimizer, 0.9),
    api.call("optim.StepLR", optimizer, 3, {gamma = 0.5}),
  })
end)

function optim.average(c)
  local weights, decay = c.input.weights, c.params.decay
  local p = heed.zeros(weights[1].shape, c.dtype)
  local average = decay and
    api.call("optim.ExponentialMovingAverage", {p}, {decay = decay}) or
    api.call("optim.StochasticWeightAverage", {p})
  local after = {}
  for s = 1, #weights do
    p:copy_(weights[s])
    average:update()
    after[s] = average.averages[1]:clone()
  end
  return {after = heed.stack(after, 1)}
end

return optim
