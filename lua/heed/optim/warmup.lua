--- Schedules that warm up first; t counts steps from 0.

local check = require "heed.check"
local Schedule = require "heed.optim.schedule"

local schedules = {}

--- Up to the first rate in `warmup` steps, then down with the inverse square
-- root of the step (Vaswani et al., 2017):
-- base * min(s / warmup, sqrt(warmup / s)) in step s, counted from 1.
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam integer warmup
-- @treturn Schedule whose `step` follows that of the optimiser
-- @usage optim.WarmupInverseSqrtLR(optimizer, 400)
function schedules.WarmupInverseSqrtLR(optimizer, warmup)
  check.integer("WarmupInverseSqrtLR", "warmup", warmup, 1)
  return Schedule.new("WarmupInverseSqrtLR", optimizer, function(t, base)
    local s = t + 1
    return base * math.min(s / warmup, (warmup / s) ^ 0.5)
  end)
end

--- Up to the first rate in `warmup` steps, then straight down to 0, which is
-- reached behind step `total`.
-- @param optimizer the optimiser whose learning rates it sets
-- @tparam integer warmup
-- @tparam integer total
-- @treturn Schedule whose `step` follows that of the optimiser
-- @usage optim.WarmupLinearLR(optimizer, 100, 1000)
function schedules.WarmupLinearLR(optimizer, warmup, total)
  check.integer("WarmupLinearLR", "warmup", warmup, 0)
  check.integer("WarmupLinearLR", "total", total, warmup + 1)
  return Schedule.new("WarmupLinearLR", optimizer, function(t, base)
    if t < warmup then return base * (t + 1) / warmup end
    return base * math.max(0.0, (total - t) / (total - warmup))
  end)
end

return schedules
