--- Schedules that go down, or up, from the first rate; t counts steps from 0.

local check = require "heed.check"
local Schedule = require "heed.optim.schedule"

local decay = {}

--- A factor from a function of the step.
-- @param optimizer the optimiser whose learning rates it sets
-- @param factor function of the step, counted from 0, or a list of them, one a
-- group
-- @treturn Schedule whose `step` follows that of the optimiser
-- @raise when a list has not one function for each group
-- @usage optim.LambdaLR(optimizer, function(t) return 0.95 ^ t end)
function decay.LambdaLR(optimizer, factor)
  local n = #Schedule.groups_of("LambdaLR", optimizer)
  local list = type(factor) == "table" and factor
  if list and #list ~= n then
    check.fail("LambdaLR: factor has %d entries, the optimiser %d groups",
      #list, n)
  end
  for _, f in ipairs(list or {factor}) do
    check.callable("LambdaLR", "factor", f)
  end
  return Schedule.new("LambdaLR", optimizer, function(t, base, _, g)
    return base * (list and list[g] or factor)(t)
  end)
end

--- Times gamma after every `step_size` steps.
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam integer step_size
-- @tparam[opt] table options `gamma`, 0.1 by default
-- @treturn Schedule whose `step` follows that of the optimiser
-- @usage optim.StepLR(optimizer, 30, {gamma = 0.5})
function decay.StepLR(optimizer, step_size, options)
  check.integer("StepLR", "step_size", step_size, 1)
  local o = check.options("StepLR", options, {gamma = 0.1})
  check.number("StepLR", "gamma", o.gamma)
  return Schedule.new("StepLR", optimizer, function(t, base)
    return base * o.gamma ^ (t // step_size)
  end)
end

-- Raises unless `milestones` are steps in growing order.
local function check_milestones(name, milestones)
  check.kind(name, "milestones", milestones, "table")
  for i, step in ipairs(milestones) do
    check.integer(name, ("milestones[%d]"):format(i), step, 0)
    if i > 1 and step < milestones[i - 1] then
      check.fail("%s: milestones must grow, got %d behind %d", name, step,
        milestones[i - 1])
    end
  end
end

--- Times gamma at every milestone.
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam table milestones steps in growing order; one that is there twice
-- counts twice
-- @tparam[opt] table options `gamma`, 0.1 by default
-- @treturn Schedule whose `step` follows that of the optimiser
-- @usage optim.MultiStepLR(optimizer, {30, 80}, {gamma = 0.5})
function decay.MultiStepLR(optimizer, milestones, options)
  check_milestones("MultiStepLR", milestones)
  local o = check.options("MultiStepLR", options, {gamma = 0.1})
  check.number("MultiStepLR", "gamma", o.gamma)
  return Schedule.new("MultiStepLR", optimizer, function(t, base)
    local passed = 0
    for _, step in ipairs(milestones) do
      if step <= t then passed = passed + 1 end
    end
    return base * o.gamma ^ passed
  end)
end

--- Times gamma after every step.
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam number gamma
-- @treturn Schedule whose `step` follows that of the optimiser
-- @usage optim.ExponentialLR(optimizer, 0.95)
function decay.ExponentialLR(optimizer, gamma)
  check.number("ExponentialLR", "gamma", gamma)
  return Schedule.new("ExponentialLR", optimizer, function(t, base)
    return base * gamma ^ t
  end)
end

--- A part of the first rate for `total_iters` steps, then all of it.
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam[opt] table options `factor`, 1/3 by default; `total_iters`, 5
-- @treturn Schedule whose `step` follows that of the optimiser
-- @usage optim.ConstantLR(optimizer, {factor = 0.5, total_iters = 4})
function decay.ConstantLR(optimizer, options)
  local name <const> = "ConstantLR"
  local o = check.options(name, options, {factor = 1 / 3, total_iters = 5})
  check.number(name, "factor", o.factor, 0, 1)
  check.integer(name, "total_iters", o.total_iters, 0)
  return Schedule.new(name, optimizer, function(t, base)
    return t < o.total_iters and base * o.factor or base
  end)
end

--- A factor that goes straight from one number to another in `total_iters`
-- steps, and stays there.
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam[opt] table options `start_factor`, 1/3 by default; `end_factor`, 1;
-- `total_iters`, 5
-- @treturn Schedule whose `step` follows that of the optimiser
-- @raise when start_factor is 0, or a factor is not within 0 .. 1
-- @usage optim.LinearLR(optimizer, {start_factor = 0.1, total_iters = 100})
function decay.LinearLR(optimizer, options)
  local name <const> = "LinearLR"
  local o = check.options(name, options, {start_factor = 1 / 3,
    end_factor = 1.0, total_iters = 5})
  check.number(name, "start_factor", o.start_factor, 0, 1)
  if o.start_factor == 0 then
    check.fail("LinearLR: start_factor must be above 0, got 0")
  end
  check.number(name, "end_factor", o.end_factor, 0, 1)
  check.integer(name, "total_iters", o.total_iters, 1)
  return Schedule.new(name, optimizer, function(t, base)
    local part = math.min(t, o.total_iters) / o.total_iters
    return base * (o.start_factor + (o.end_factor - o.start_factor) * part)
  end)
end

--- base * (1 - t / total_iters)^power, then 0.
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam[opt] table options `total_iters`, 5 by default; `power`, 1
-- @treturn Schedule whose `step` follows that of the optimiser
-- @usage optim.PolynomialLR(optimizer, {total_iters = 1000, power = 2})
function decay.PolynomialLR(optimizer, options)
  local name <const> = "PolynomialLR"
  local o = check.options(name, options, {total_iters = 5, power = 1.0})
  check.integer(name, "total_iters", o.total_iters, 1)
  check.number(name, "power", o.power, 0)
  return Schedule.new(name, optimizer, function(t, base)
    local rest = 1 - math.min(t, o.total_iters) / o.total_iters
    return base * rest ^ o.power
  end)
end

--- Half a cosine from the first rate down to `eta_min` in `T_max` steps, and
-- up again (Loshchilov and Hutter, 2017).
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam integer T_max
-- @tparam[opt] table options `eta_min`, 0 by default
-- @treturn Schedule whose `step` follows that of the optimiser
-- @usage optim.CosineAnnealingLR(optimizer, 100, {eta_min = 1e-5})
function decay.CosineAnnealingLR(optimizer, T_max, options)
  check.integer("CosineAnnealingLR", "T_max", T_max, 1)
  local o = check.options("CosineAnnealingLR", options, {eta_min = 0.0})
  check.number("CosineAnnealingLR", "eta_min", o.eta_min)
  return Schedule.new("CosineAnnealingLR", optimizer, function(t, base)
    local part = (1 + math.cos(math.pi * t / T_max)) / 2
    return o.eta_min + (base - o.eta_min) * part
  end)
end

-- Where step t is in its round, and how long the round is: rounds of T_0,
-- T_0 T_mult, T_0 T_mult^2 ... steps.
local function find_round(t, T_0, T_mult)
  if T_mult == 1 then return t % T_0, T_0 end
  local length = T_0
  while t >= length do
    t = t - length
    length = length * T_mult
  end
  return t, length
end

--- Half a cosine down to `eta_min`, over and over from the first rate (SGDR,
-- Loshchilov and Hutter, 2017). `schedule:step(epoch + i / n)` goes on within
-- an epoch.
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam integer T_0 steps of the first round
-- @tparam[opt] table options `T_mult`, 1 by default: how many times longer each
-- round is than the one before, an integer; `eta_min`, 0
-- @treturn Schedule whose `step` follows that of the optimiser
-- @usage optim.CosineAnnealingWarmRestarts(optimizer, 10, {T_mult = 2})
function decay.CosineAnnealingWarmRestarts(optimizer, T_0, options)
  local name <const> = "CosineAnnealingWarmRestarts"
  check.integer(name, "T_0", T_0, 1)
  local o = check.options(name, options, {T_mult = 1, eta_min = 0.0})
  check.integer(name, "T_mult", o.T_mult, 1)
  check.number(name, "eta_min", o.eta_min)
  return Schedule.new(name, optimizer, function(t, base)
    local at, length = find_round(t, T_0, o.T_mult)
    local part = (1 + math.cos(math.pi * at / length)) / 2
    return o.eta_min + (base - o.eta_min) * part
  end)
end

return decay
