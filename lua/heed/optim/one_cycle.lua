--- One cycle (Smith and Topin, 2019): the rate up and far down, the momentum
-- the other way round.

local check = require "heed.check"
local Schedule = require "heed.optim.schedule"

local DEFAULTS <const> = {
  max_lr = check.NONE, total_steps = check.NONE, epochs = check.NONE,
  steps_per_epoch = check.NONE, pct_start = 0.3, anneal_strategy = "cos",
  cycle_momentum = true, base_momentum = 0.85, max_momentum = 0.95,
  div_factor = 25.0, final_div_factor = 1e4, three_phase = false,
}
local NAME <const> = "OneCycleLR"

local anneal <const> = {
  cos = function(from, to, part)
    return to + (from - to) * (1 + math.cos(math.pi * part)) / 2
  end,
  linear = function(from, to, part) return from + (to - from) * part end,
}

local function count_steps(o)
  if o.total_steps then
    return check.integer(NAME, "total_steps", o.total_steps, 1)
  end
  if o.epochs == nil and o.steps_per_epoch == nil then
    check.fail("OneCycleLR: total_steps is missing, or epochs and " ..
      "steps_per_epoch")
  end
  return check.integer(NAME, "epochs", o.epochs, 1) *
    check.integer(NAME, "steps_per_epoch", o.steps_per_epoch, 1)
end

local function read(options, groups)
  local o = check.options(NAME, options, DEFAULTS)
  o.max_lr = Schedule.each_group(NAME, "max_lr", o.max_lr, groups, 0)
  o.total_steps = count_steps(o)
  check.number(NAME, "pct_start", o.pct_start, 0, 1)
  if not anneal[o.anneal_strategy] then
    check.fail('%s: anneal_strategy must be "cos" or "linear", got %s', NAME,
      check.show(o.anneal_strategy))
  end
  for _, key in ipairs {"base_momentum", "max_momentum"} do
    o[key] = Schedule.each_group(NAME, key, o[key], groups, 0)
  end
  for _, key in ipairs {"div_factor", "final_div_factor"} do
    if check.number(NAME, key, o[key], 0) == 0 then
      check.fail("%s: %s must be above 0, got 0", NAME, key)
    end
  end
  return o
end

-- The parts of the cycle: where each ends, and which of the levels it goes
-- from and to, for the rate and for the momentum.
local function make_phases(o)
  local up, last = o.pct_start * o.total_steps - 1, o.total_steps - 1
  local phases = {{up, "first", "high"}}
  if o.three_phase then
    local down = 2 * o.pct_start * o.total_steps - 2
    phases[2], phases[3] = {down, "high", "first"}, {last, "first", "final"}
  else
    phases[2] = {last, "high", "final"}
  end
  return phases
end

-- A function of the step and of three levels.
local function make_curve(o)
  local phases, between = make_phases(o), anneal[o.anneal_strategy]
  return function(t, level)
    local begin = 0
    for i, phase in ipairs(phases) do
      local finish <const> = phase[1]
      if t <= finish or i == #phases then
        local part = finish > begin and (t - begin) / (finish - begin) or 1
        return between(level[phase[2]], level[phase[3]], part)
      end
      begin = finish
    end
  end
end

-- Moves the momentum of a group: that of SGD, the first beta of Adam.
local function set_momentum(group, momentum)
  if group.betas then
    group.betas[1] = momentum
  elseif group.momentum then
    group.momentum = momentum
  end
end

local one_cycle = {}

--- Up to `max_lr`, then down to nearly 0, the momentum the other way round, as
-- PyTorch has it. The first rates of the groups do not matter.
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam table options `max_lr`, a number or a list, one a group;
-- `total_steps`, or `epochs` and `steps_per_epoch`; `pct_start`: part of the
-- steps that go up, 0.3 by default; `anneal_strategy`, `"cos"` (default) or
-- `"linear"`; `div_factor`, 25: the first rate is max_lr over it;
-- `final_div_factor`, 1e4: the last rate is the first one over it;
-- `cycle_momentum`, true: the momentum, or the first beta, where the optimiser
-- has one, goes from `max_momentum`, 0.95, down to `base_momentum`, 0.85, and
-- back (numbers or lists); `three_phase`, false: goes down to the first rate as
-- it went up, and then to the last
-- @treturn Schedule whose `step` follows that of the optimiser
-- @raise when `step()` is called more than `total_steps` times; the last of
-- these, for which there is no step any more, leaves the last rate
-- @usage optim.OneCycleLR(optimizer, {max_lr = 0.1, total_steps = 1000})
function one_cycle.OneCycleLR(optimizer, options)
  local groups = Schedule.groups_of(NAME, optimizer)
  local o = read(options, groups)
  local curve = make_curve(o)
  return Schedule.new(NAME, optimizer, function(t, _, group, g)
    if t > o.total_steps then
      check.fail("OneCycleLR: step %d is behind total_steps %d", t,
        o.total_steps)
    end
    t = math.min(t, o.total_steps - 1) -- the step() behind the last step
    if o.cycle_momentum then
      local most = o.max_momentum[g]
      set_momentum(group, curve(t, {first = most, high = o.base_momentum[g],
        final = most}))
    end
    local first = o.max_lr[g] / o.div_factor
    return curve(t, {first = first, high = o.max_lr[g],
      final = first / o.final_div_factor})
  end)
end

return one_cycle
