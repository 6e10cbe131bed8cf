--- Accuracy: the part of the targets that are predicted.

local check = require "heed.check"
local metric = require "heed.metrics.metric"

local Accuracy = metric.class("Accuracy")

local OPTIONS <const> = {top_k = 1, ignore_index = -100}

--- Makes an accuracy.
-- The function of all at once is `metrics.accuracy`.
-- @function Accuracy
-- @tparam[opt] table options `top_k`: a target counts when it is among the k
-- greatest scores (1); `ignore_index`: targets that do not count (-100)
-- @usage
-- local accuracy = heed.metrics.Accuracy()
-- accuracy:update(heed.tensor {1, 2, 2}, heed.tensor {1, 2, 3})
-- return accuracy:compute() --> 0.6667
function Accuracy:init(options)
  local o = check.options("Accuracy", options, OPTIONS)
  self.top_k = check.integer("Accuracy", "top_k", o.top_k, 1)
  self.ignore_index = check.integer("Accuracy", "ignore_index",
    o.ignore_index)
end

--- Forgets all batches.
-- @usage
-- local accuracy = heed.metrics.Accuracy()
-- accuracy:update(heed.tensor {1}, heed.tensor {2})
-- accuracy:reset()
-- accuracy:update(heed.tensor {1, 1}, heed.tensor {1, 2})
-- return accuracy:compute() --> 0.5
function Accuracy:reset() self.right, self.count = 0, 0 end

--- Adds a batch.
-- @param output scores [.. C], or predictions [..]
-- @param target labels [..]
-- @raise when the shapes do not fit, or there are fewer scores than `top_k`
-- @usage
-- local accuracy = heed.metrics.Accuracy()
-- accuracy:update(heed.tensor {{0.1, 2.0}, {3.0, 0.2}}, heed.tensor {2, 2})
-- return accuracy:compute() --> 0.5
function Accuracy:update(output, target)
  local scores, predictions, labels = metric.read("Accuracy", output, target,
    self.ignore_index)
  local k = self.top_k
  if k > 1 and (not scores or k > scores:size(2)) then
    check.fail("Accuracy: top_k %d needs as many scores, got %s", k,
      check.show(output))
  end
  if #labels == 0 then return end
  local hits
  if k > 1 then
    local _, best = scores:topk(k) -- [N k]
    hits = best:eq(labels:unsqueeze(2)):any(2)
  else
    hits = (predictions or scores:argmax(-1)):eq(labels)
  end
  self.right = self.right + hits:sum():item()
  self.count = self.count + #labels
end

--- The accuracy of all batches so far.
-- @treturn number 0 to 1
-- @raise when no target was counted
-- @usage
-- local accuracy = heed.metrics.Accuracy()
-- accuracy:update(heed.tensor {1, 2, 2, 1}, heed.tensor {1, 2, 3, 3})
-- return accuracy:compute() --> 0.5
function Accuracy:compute()
  metric.check_counted("Accuracy", self.count)
  return self.right / self.count
end

return Accuracy
