--- Schedules made of others. The parts are made first, of the same optimiser;
-- only the joined one is stepped and saved.

local check = require "heed.check"
local Schedule = require "heed.optim.schedule"

local joined = {}

-- Raises unless these are schedules of that optimiser.
local function check_parts(name, optimizer, schedules)
  check.kind(name, "schedules", schedules, "table")
  if #schedules == 0 then check.fail("%s: schedules is empty", name) end
  for i, part in ipairs(schedules) do
    if getmetatable(part) ~= Schedule then
      check.fail("%s: schedules[%d] must be a schedule of steps, got %s", name,
        i, check.show(part))
    end
    if part.optimizer ~= optimizer then
      check.fail("%s: schedules[%d] is of another optimiser", name, i)
    end
  end
end

--- One schedule after the other; each begins with its own first step.
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam table schedules list, all of this optimiser
-- @tparam table milestones steps at which the second one begins, the third ...
-- @treturn Schedule whose `step` follows that of the optimiser
-- @raise when a schedule is of another optimiser, or milestones do not stand
-- between the schedules in growing order
-- @usage
-- local warmup = optim.LinearLR(optimizer, {start_factor = 0.1})
-- local cosine = optim.CosineAnnealingLR(optimizer, 100)
-- optim.SequentialLR(optimizer, {warmup, cosine}, {5})
function joined.SequentialLR(optimizer, schedules, milestones)
  local name <const> = "SequentialLR"
  Schedule.groups_of(name, optimizer)
  check_parts(name, optimizer, schedules)
  check.kind(name, "milestones", milestones, "table")
  if #milestones ~= #schedules - 1 then
    check.fail("SequentialLR: milestones must have %d entries for %d " ..
      "schedules, got %d", #schedules - 1, #schedules, #milestones)
  end
  local begin = {[0] = 0}
  for i, step in ipairs(milestones) do
    begin[i] = check.integer(name, ("milestones[%d]"):format(i), step,
      begin[i - 1] + 1)
  end
  return Schedule.new(name, optimizer, function(t, base, group, g)
    local i = #begin
    while t < begin[i] do i = i - 1 end
    return schedules[i + 1].rate(t - begin[i], base, group, g)
  end)
end

--- All schedules at once: each takes the rate that the one before it gives as
-- its first rate, so that factors multiply.
-- @tparam table schedules list, all of one optimiser
-- @treturn Schedule whose `step` follows that of the optimiser
-- @usage
-- local warmup = optim.ConstantLR(optimizer, {factor = 0.1})
-- optim.ChainedScheduler {warmup, optim.ExponentialLR(optimizer, 0.9)}
function joined.ChainedScheduler(schedules)
  local name <const> = "ChainedScheduler"
  check.kind(name, "schedules", schedules, "table")
  local first = schedules[1]
  local optimizer = type(first) == "table" and first.optimizer or nil
  check_parts(name, optimizer, schedules)
  return Schedule.new(name, optimizer, function(t, base, group, g)
    local rate = base
    for _, part in ipairs(schedules) do
      rate = part.rate(t, rate, group, g)
    end
    return rate
  end)
end

return joined
