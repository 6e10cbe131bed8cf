--- Perplexity: between how many tokens a model hesitates.
--
--     perplexity = exp(sum of -log p(target) / number of targets)

local check = require "heed.check"
local core = require "heed.core"
local metric = require "heed.metrics.metric"

local ops <const> = core.ops

local Perplexity = metric.class("Perplexity")

--- Makes a perplexity. That of a mean cross-entropy is `math.exp(loss)`.
-- The function of all at once is `metrics.perplexity`.
-- @function Perplexity
-- @tparam[opt] table options `ignore_index`: targets that do not count (-100)
-- @usage
-- local perplexity = heed.metrics.Perplexity()
-- perplexity:update(heed.zeros(2, 5, 8), heed.ones({2, 5}, "int64"))
-- return perplexity:compute() --> 8
function Perplexity:init(options)
  local o = check.options("Perplexity", options, {ignore_index = -100})
  self.ignore_index = check.integer("Perplexity", "ignore_index",
    o.ignore_index)
end

--- Forgets all batches.
-- @usage
-- local perplexity = heed.metrics.Perplexity()
-- perplexity:update(heed.zeros(5, 8), heed.ones({5}, "int64"))
-- perplexity:reset()
-- perplexity:update(heed.zeros(5, 2), heed.ones({5}, "int64"))
-- return perplexity:compute() --> 2
function Perplexity:reset() self.sum, self.count = 0.0, 0 end

--- Adds a batch.
-- @param output scores [.. C], as for `F.cross_entropy`
-- @param target labels [..]
-- @raise when output holds predictions instead of scores, or does not fit
-- @usage
-- local perplexity = heed.metrics.Perplexity()
-- for _ = 1, 3 do -- batches
--   perplexity:update(heed.zeros(2, 5, 8), heed.ones({2, 5}, "int64"))
-- end
-- return perplexity:compute() --> 8
function Perplexity:update(output, target)
  local scores, _, labels = metric.read("Perplexity", output, target,
    self.ignore_index)
  if not scores then
    check.fail("Perplexity: output must be scores, got %s",
      check.show(output))
  end
  if #labels == 0 then return end
  local sum = core.no_grad(ops.cross_entropy, scores, labels, nil,
    self.ignore_index, 0.0, "sum")
  self.sum, self.count = self.sum + sum:item(), self.count + #labels
end

--- The perplexity of all batches so far.
-- @treturn number 1 or more
-- @raise when no target was counted
-- @usage
-- local perplexity = heed.metrics.Perplexity()
-- perplexity:update(heed.zeros(4, 10), heed.tensor {1, 4, 10, -100})
-- return perplexity:compute() --> 10
function Perplexity:compute()
  metric.check_counted("Perplexity", self.count)
  return math.exp(self.sum / self.count)
end

return Perplexity
