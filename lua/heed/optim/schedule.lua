--- Schedules: learning rates that change from step to step.
--
--     local schedule = optim.WarmupInverseSqrtLR(optimizer, 400)
--     for _, batch in ipairs(batches) do
--       ...
--       optimizer:step()
--       schedule:step()
--     end
--
-- A schedule sets the rates of its optimiser's groups: when it is made those of
-- the first step, with every `step` those of the next one. Each group's rate is
-- its own first rate times the same factor, unless said otherwise.

local check = require "heed.check"

local Schedule = {}
Schedule.__index = Schedule
Schedule.__name = "Schedule"

-- Sets the rates for step t, counted from 0.
local function set(self, t)
  self.t = t
  for g, group in ipairs(self.optimizer.groups) do
    group.lr = self.rate(t, self.base[g], group)
  end
end

-- rate(t, base, group): the rate in step t of a group whose first was `base`.
local function make(name, optimizer, rate)
  local groups = type(optimizer) == "table" and optimizer.groups
  if not groups then
    check.fail("%s: optimizer must be an optimiser, got %s", name,
      check.show(optimizer))
  end
  local self = setmetatable({optimizer = optimizer, rate = rate, base = {}},
    Schedule)
  for g, group in ipairs(groups) do self.base[g] = group.lr end
  set(self, 0)
  return self
end

--- Sets the rates of the next step.
function Schedule:step() set(self, self.t + 1) end

--- The rates in use, one a group.
-- @treturn table list of numbers
function Schedule:get_last_lr()
  local rates = {}
  for g, group in ipairs(self.optimizer.groups) do rates[g] = group.lr end
  return rates
end

--- Where the schedule stands, for saving.
-- @treturn table numbers and lists only
function Schedule:state_dict()
  return {t = self.t, base = table.move(self.base, 1, #self.base, 1, {})}
end

--- Goes on from where another one stood, and sets the rates.
-- @tparam table state from `state_dict`
function Schedule:load_state_dict(state)
  check.kind("load_state_dict", "state", state, "table")
  local base = check.kind("load_state_dict", "base", state.base, "table")
  if #base ~= #self.base then
    check.fail("load_state_dict: the state has %d groups, the optimiser %d",
      #base, #self.base)
  end
  local t = check.integer("load_state_dict", "t", state.t, 0)
  self.base = table.move(base, 1, #base, 1, {})
  set(self, t)
end

local schedule = {}

--- A factor from a function of the step.
-- @param optimizer
-- @tparam function factor of the step, counted from 0
-- @usage optim.LambdaLR(optimizer, function(t) return 0.95 ^ t end)
function schedule.LambdaLR(optimizer, factor)
  check.kind("LambdaLR", "factor", factor, "function")
  return make("LambdaLR", optimizer, function(t, base)
    return base * factor(t)
  end)
end

--- Times gamma after every `step_size` steps.
-- @param optimizer
-- @tparam integer step_size
-- @tparam[opt] table options `gamma`, 0.1 by default
function schedule.StepLR(optimizer, step_size, options)
  check.integer("StepLR", "step_size", step_size, 1)
  local o = check.options("StepLR", options, {gamma = 0.1})
  check.number("StepLR", "gamma", o.gamma)
  return make("StepLR", optimizer, function(t, base)
    return base * o.gamma ^ (t // step_size)
  end)
end

--- Half a cosine from the first rate down to `eta_min` in `T_max` steps, and
-- up again (Loshchilov and Hutter, 2017).
-- @param optimizer
-- @tparam integer T_max
-- @tparam[opt] table options `eta_min`, 0 by default
function schedule.CosineAnnealingLR(optimizer, T_max, options)
  check.integer("CosineAnnealingLR", "T_max", T_max, 1)
  local o = check.options("CosineAnnealingLR", options, {eta_min = 0.0})
  check.number("CosineAnnealingLR", "eta_min", o.eta_min)
  return make("CosineAnnealingLR", optimizer, function(t, base)
    local part = (1 + math.cos(math.pi * t / T_max)) / 2
    return o.eta_min + (base - o.eta_min) * part
  end)
end

--- Up to the first rate in `warmup` steps, then down with the inverse square
-- root of the step (Vaswani et al., 2017):
-- base * min(s / warmup, sqrt(warmup / s)) in step s, counted from 1.
-- @param optimizer
-- @tparam integer warmup
function schedule.WarmupInverseSqrtLR(optimizer, warmup)
  check.integer("WarmupInverseSqrtLR", "warmup", warmup, 1)
  return make("WarmupInverseSqrtLR", optimizer, function(t, base)
    local s = t + 1
    return base * math.min(s / warmup, (warmup / s) ^ 0.5)
  end)
end

--- Up to the first rate in `warmup` steps, then straight down to 0, which is
-- reached behind step `total`.
-- @param optimizer
-- @tparam integer warmup
-- @tparam integer total
function schedule.WarmupLinearLR(optimizer, warmup, total)
  check.integer("WarmupLinearLR", "warmup", warmup, 0)
  check.integer("WarmupLinearLR", "total", total, warmup + 1)
  return make("WarmupLinearLR", optimizer, function(t, base)
    if t < warmup then return base * (t + 1) / warmup end
    return base * math.max(0.0, (total - t) / (total - warmup))
  end)
end

local ONE_CYCLE <const> = {
  max_lr = check.NONE, total_steps = check.NONE, pct_start = 0.3,
  anneal_strategy = "cos", cycle_momentum = true, base_momentum = 0.85,
  max_momentum = 0.95, div_factor = 25.0, final_div_factor = 1e4,
}

local anneal <const> = {
  cos = function(from, to, part)
    return to + (from - to) * (1 + math.cos(math.pi * part)) / 2
  end,
  linear = function(from, to, part) return from + (to - from) * part end,
}

local function read_one_cycle(options)
  local name <const> = "OneCycleLR"
  local o = check.options(name, options, ONE_CYCLE)
  check.number(name, "max_lr", o.max_lr, 0)
  check.integer(name, "total_steps", o.total_steps, 1)
  check.number(name, "pct_start", o.pct_start, 0, 1)
  if not anneal[o.anneal_strategy] then
    check.fail('%s: anneal_strategy must be "cos" or "linear", got %s', name,
      check.show(o.anneal_strategy))
  end
  return o
end

-- Moves the momentum of a group: that of SGD, the first beta of Adam.
local function set_momentum(group, momentum)
  if group.betas then
    group.betas[1] = momentum
  elseif group.momentum then
    group.momentum = momentum
  end
end

--- Up to `max_lr`, then down to nearly 0, the momentum the other way round
-- (Smith and Topin, 2019). The first rates of the groups do not matter.
-- @param optimizer
-- @tparam table options `max_lr` and `total_steps`; `pct_start`: part of the
-- steps that go up, 0.3 by default; `anneal_strategy`, `"cos"` (default) or
-- `"linear"`; `div_factor`, 25: the first rate is max_lr over it;
-- `final_div_factor`, 1e4: the last rate is the first one over it;
-- `cycle_momentum`, true; `base_momentum`, 0.85; `max_momentum`, 0.95
-- @raise behind `total_steps` steps
function schedule.OneCycleLR(optimizer, options)
  local o = read_one_cycle(options)
  local first = o.max_lr / o.div_factor
  local top, last = o.pct_start * o.total_steps - 1, o.total_steps - 1
  local between = anneal[o.anneal_strategy]
  local function at(t, low, high, final)
    if t <= top then return between(low, high, top > 0 and t / top or 1) end
    return between(high, final, (t - top) / (last - top))
  end
  return make("OneCycleLR", optimizer, function(t, _, group)
    if t > last then
      check.fail("OneCycleLR: step %d is behind total_steps %d", t + 1,
        o.total_steps)
    end
    if o.cycle_momentum then
      set_momentum(group, at(t, o.max_momentum, o.base_momentum,
        o.max_momentum))
    end
    return at(t, first, o.max_lr, first / o.final_div_factor)
  end)
end

return schedule
