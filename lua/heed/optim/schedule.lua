--- What all schedules share: learning rates that change from step to step.
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
-- its own first rate times the same factor, unless said otherwise. The rates
-- are a function of the step alone, so that a schedule can go on from anywhere.

local check = require "heed.check"

local Schedule = {}
Schedule.__index = Schedule
Schedule.__name = "Schedule"

--- Returns the groups of an optimiser; raises if it is none.
function Schedule.groups_of(name, optimizer)
  local groups = type(optimizer) == "table" and optimizer.groups
  if not groups then
    check.fail("%s: optimizer must be an optimiser, got %s", name,
      check.show(optimizer))
  end
  return groups
end

--- Returns a list of numbers, one a group: that list, or as often the number.
function Schedule.each_group(name, key, value, groups, low)
  local list = {}
  if type(value) == "table" and #value ~= #groups then
    check.fail("%s: %s has %d entries, the optimiser %d groups", name, key,
      #value, #groups)
  end
  for g = 1, #groups do
    local one = value
    if type(value) == "table" then one = value[g] end
    list[g] = check.number(name, key, one, low)
  end
  return list
end

-- The rate of a group before any schedule, which it remembers.
local function first_rate(group)
  group.initial_lr = group.initial_lr or group.lr
  return group.initial_lr
end

-- Sets the rates for step t, counted from 0.
local function set(self, t)
  for g, group in ipairs(self.optimizer.groups) do
    self.base[g] = self.base[g] or first_rate(group)
    group.lr = self.rate(t, self.base[g], group, g)
  end
  self.t = t
end

--- Makes a schedule.
-- @tparam string name
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam function rate of (t, base, group, g): the rate in step t, counted
-- from 0, of group number g, whose first was `base`
function Schedule.new(name, optimizer, rate)
  Schedule.groups_of(name, optimizer)
  local self = setmetatable({optimizer = optimizer, rate = rate, base = {},
    name = name}, Schedule)
  set(self, 0)
  return self
end

--- Sets the rates of the next step.
-- @tparam[opt] number t step to go to instead, counted from 0; need not be
-- whole (`CosineAnnealingWarmRestarts` within an epoch)
-- @usage
-- local schedule = optim.StepLR(optim.SGD({heed.ones(1)}, {lr = 0.8}), 1,
--   {gamma = 0.5})
-- schedule:step() -- behind optimizer:step()
-- return schedule:get_last_lr() --> 0.4
function Schedule:step(t)
  if t ~= nil then check.number(self.name, "t", t, 0) end
  set(self, t or self.t + 1)
end

--- The rates in use, one a group.
-- @treturn table list of numbers
-- @usage
-- local optimizer = optim.SGD({heed.ones(1)}, {lr = 0.8})
-- local schedule = optim.ExponentialLR(optimizer, 0.5)
-- return schedule:get_last_lr() --> 0.8
function Schedule:get_last_lr()
  local rates = {}
  for g, group in ipairs(self.optimizer.groups) do rates[g] = group.lr end
  return rates
end

--- Where the schedule stands, for saving.
-- @treturn table numbers and lists only
-- @usage
-- local schedule = optim.ExponentialLR(optimizer, 0.5)
-- local saved = schedule:state_dict()
function Schedule:state_dict()
  return {t = self.t, base = table.move(self.base, 1, #self.base, 1, {})}
end

--- Goes on from where another one stood, and sets the rates.
-- @tparam table state from `state_dict`
-- @usage
-- local schedule = optim.ExponentialLR(optimizer, 0.5)
-- local saved = schedule:state_dict()
-- schedule:step()
-- schedule:load_state_dict(saved) -- back at the first step
function Schedule:load_state_dict(state)
  check.kind("load_state_dict", "state", state, "table")
  local base = check.kind("load_state_dict", "base", state.base, "table")
  if #base ~= #self.base then
    check.fail("load_state_dict: the state has %d groups, the optimiser %d",
      #base, #self.base)
  end
  for g = 1, #base do
    check.number("load_state_dict", ("base[%d]"):format(g), base[g])
  end
  local t = check.number("load_state_dict", "t", state.t, 0)
  self.base = table.move(base, 1, #base, 1, {})
  set(self, t)
end

return Schedule
