--- A schedule by what is measured: the rate falls when it no longer improves.

local check = require "heed.check"
local Schedule = require "heed.optim.schedule"

local NAME <const> = "ReduceLROnPlateau"
local DEFAULTS <const> = {
  mode = "min", factor = 0.1, patience = 10, threshold = 1e-4,
  threshold_mode = "rel", cooldown = 0, min_lr = 0.0, eps = 1e-8,
}

local Plateau = {get_last_lr = Schedule.get_last_lr}
Plateau.__index = Plateau
Plateau.__name = NAME

local function check_word(o, key, first, second)
  if o[key] ~= first and o[key] ~= second then
    check.fail('%s: %s must be "%s" or "%s", got %s', NAME, key, first,
      second, check.show(o[key]))
  end
end

-- Is the value better than the best one by more than the threshold?
local function is_better(o, value, best)
  if not best then
    return value == value and value ~= (o.mode == "min" and 1 or -1) / 0
  end
  local sign = o.mode == "min" and -1 or 1
  local bound = o.threshold_mode == "rel" and best * (1 + sign * o.threshold) or
    best + sign * o.threshold
  if o.mode == "min" then return value < bound end
  return value > bound
end

local function reduce(self)
  local o = self.options
  for g, group in ipairs(self.optimizer.groups) do
    local least = self.min_lr[g] or self.min_lr[#self.min_lr]
    local lr = math.max(group.lr * o.factor, least)
    if group.lr - lr > o.eps then group.lr = lr end
  end
end

--- Takes a value, and lowers the rates when there was no better one for longer
-- than `patience` steps.
-- @param metric number, or tensor of one element; NaN is not better
-- @raise when metric is no number
-- @usage
-- local schedule = optim.ReduceLROnPlateau(optimizer, {patience = 0})
-- schedule:step(0.5) -- once an epoch, with the loss of the validation
-- schedule:step(0.6) -- worse: the rates fall to a tenth
function Plateau:step(metric)
  if check.is_tensor(metric) then metric = metric:item() end
  if type(metric) ~= "number" then
    check.fail("%s: metric must be a number, got %s", NAME,
      check.show(metric))
  end
  local o = self.options
  if is_better(o, metric, self.best) then
    self.best, self.num_bad_epochs = metric, 0
  else
    self.num_bad_epochs = self.num_bad_epochs + 1
  end
  if self.cooldown_counter > 0 then
    self.cooldown_counter = self.cooldown_counter - 1
    self.num_bad_epochs = 0
  end
  if self.num_bad_epochs > o.patience then
    reduce(self)
    self.cooldown_counter, self.num_bad_epochs = o.cooldown, 0
  end
end

local STATE <const> = {"best", "num_bad_epochs", "cooldown_counter"}

--- Where the schedule stands, for saving; the rates are the optimiser's.
-- @treturn table numbers only; `best` is nil before the first step
-- @usage
-- local schedule = optim.ReduceLROnPlateau(optimizer)
-- schedule:step(0.5)
-- return schedule:state_dict().best --> 0.5
function Plateau:state_dict()
  local state = {}
  for _, key in ipairs(STATE) do state[key] = self[key] end
  return state
end

--- Goes on from where another one stood.
-- @tparam table state from `state_dict`
-- @usage
-- local schedule = optim.ReduceLROnPlateau(optimizer)
-- schedule:step(0.5)
-- schedule:load_state_dict(schedule:state_dict())
function Plateau:load_state_dict(state)
  local name <const> = "load_state_dict"
  check.kind(name, "state", state, "table")
  check.integer(name, "num_bad_epochs", state.num_bad_epochs, 0)
  check.integer(name, "cooldown_counter", state.cooldown_counter, 0)
  if state.best ~= nil then check.number(name, "best", state.best) end
  for _, key in ipairs(STATE) do self[key] = state[key] end
end

local plateau = {}

--- Times `factor` when a value has not become better for a while; its `step`
-- takes that value.
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam[opt] table options `mode`, `"min"` by default: lower is better, or
-- `"max"`; `factor`, 0.1; `patience`, 10: how many steps without a better value
-- are borne; `threshold`, 1e-4: by how much it must be better, of the best one
-- with `threshold_mode` `"rel"` (default) or as such with `"abs"`; `cooldown`,
-- 0: steps after a fall that do not count; `min_lr`, 0: a number or a list, one
-- a group; `eps`, 1e-8: smaller changes of a rate are not made
-- @treturn Schedule whose `step` follows that of the optimiser
-- @raise when factor is not below 1, or a word is none of these
-- @usage
-- local schedule = optim.ReduceLROnPlateau(optimizer, {patience = 2})
-- schedule:step(0.7)
function plateau.ReduceLROnPlateau(optimizer, options)
  local groups = Schedule.groups_of(NAME, optimizer)
  local o = check.options(NAME, options, DEFAULTS)
  check_word(o, "mode", "min", "max")
  check_word(o, "threshold_mode", "rel", "abs")
  if check.number(NAME, "factor", o.factor, 0) >= 1 then
    check.fail("%s: factor must be below 1, got %g", NAME, o.factor)
  end
  check.integer(NAME, "patience", o.patience, 0)
  check.integer(NAME, "cooldown", o.cooldown, 0)
  check.number(NAME, "threshold", o.threshold, 0)
  check.number(NAME, "eps", o.eps, 0)
  return setmetatable({
    optimizer = optimizer, options = o, num_bad_epochs = 0,
    cooldown_counter = 0,
    min_lr = Schedule.each_group(NAME, "min_lr", o.min_lr, groups, 0),
  }, Plateau)
end

return plateau
