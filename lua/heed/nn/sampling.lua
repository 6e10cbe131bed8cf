--- How the next id is drawn from the scores of all.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local sampling = {}

--- The options of those who draw, with their defaults.
sampling.OPTIONS = {
  temperature = 1.0, top_k = check.NONE, top_p = check.NONE,
  generator = check.NONE,
}

--- Raises unless the options have sensible values; messages name `func`.
function sampling.check(func, o)
  check.number(func, "temperature", o.temperature, 0)
  if o.top_k ~= nil then check.integer(func, "top_k", o.top_k, 1) end
  if o.top_p ~= nil then check.number(func, "top_p", o.top_p, 0, 1) end
end

-- Scores [B V] with -inf for those that top_k and top_p leave out.
local function keep_best(scores, o)
  local k <const> = o.top_k and math.min(o.top_k, scores:size(-1))
  if k then
    local best = ops.topk(scores, k, -1)
    scores = ops.where(ops.lt(scores, ops.slice(best, -1, k, k)), -math.huge,
      scores)
  end
  if not o.top_p then return scores end
  local sorted, place = ops.sort(scores, -1, true)
  local p = ops.softmax(sorted, -1)
  -- the sum before an id, so that the first one always stays
  local before = ops.sub(ops.cumsum(p, -1), p)
  local out = ops.logical_and(ops.ge(before, o.top_p), ops.gt(before, 0))
  sorted = ops.where(out, -math.huge, sorted)
  return ops.scatter(scores, -1, place, sorted)
end

--- The next id of each row: of softmax(scores / temperature), from the `top_k`
-- highest scores and the most probable ids that together have the probability
-- `top_p` (Holtzman et al., 2020); with a temperature of 0 the id of the
-- highest score.
-- @param scores tensor [B V]
-- @tparam table o options, all of which have been checked
-- @return int64 tensor [B 1]
function sampling.choose(scores, o)
  if o.temperature == 0 then return ops.argmax(scores, -1, true) end
  scores = keep_best(ops.div(scores, o.temperature), o)
  return ops.multinomial(ops.softmax(scores, -1), 1, false, o.generator)
end

return sampling
