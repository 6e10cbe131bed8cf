--- Metrics: how good predictions are.
--
-- Each has two forms: an object that takes batches (`update`, `compute`,
-- `reset`), and a function of all at once:
--
--     local f1 = metrics.F1({average = "binary"})
--     f1:update(output, target)
--     print(f1:compute())
--
--     print(metrics.f1(output, target, {average = "binary"}))
--
-- Read metric.lua for what outputs and targets are. The functions for
-- translations are `text.bleu` and `text.chrf`.

require "heed" -- tensors have their methods and operators from there

local classes = require "heed.metrics.classes"
local function_of <const> = require "heed.metrics.metric".function_of

local Accuracy <const> = require "heed.metrics.accuracy"
local Perplexity <const> = require "heed.metrics.perplexity"

return {
  Accuracy = Accuracy,
  ConfusionMatrix = classes.ConfusionMatrix,
  Precision = classes.Precision,
  Recall = classes.Recall,
  F1 = classes.F1,
  Perplexity = Perplexity,
  BLEU = require "heed.text.bleu".BLEU,
  CHRF = require "heed.text.chrf".CHRF,

  --- The part of the targets that are predicted.
  -- @param output scores [.. C], or predictions [..]
  -- @param target labels [..], or booleans
  -- @tparam[opt] table options those of `Accuracy`
  -- @treturn number 0 to 1
  -- @raise when the shapes do not fit, or no target counts
  -- @usage
  -- return heed.metrics.accuracy(heed.tensor {1, 2, 2},
  --   heed.tensor {1, 2, 3}) --> 0.6667
  accuracy = function_of(Accuracy),
  --- How often each class was taken for each.
  -- @param output scores [.. C], or predictions [..]
  -- @param target labels [..], or booleans
  -- @tparam[opt] table options those of `ConfusionMatrix`
  -- @treturn tensor int64 [C C]: row i holds what the targets of class i were
  -- predicted as
  -- @raise when the shapes do not fit, or a label is above `num_classes`
  -- @usage
  -- return heed.metrics.confusion_matrix(heed.tensor {1, 2},
  --   heed.tensor {1, 1}) --> 1 1 0 0
  confusion_matrix = function_of(classes.ConfusionMatrix),
  --- The part of what was predicted as a class that is of it.
  -- @param output scores [.. C], or predictions [..]
  -- @param target labels [..], or booleans
  -- @tparam[opt] table options those of `Precision`
  -- @treturn number 0 to 1; with `average = "none"` a list of them
  -- @raise when the shapes do not fit, or no target counts
  -- @usage
  -- return heed.metrics.precision(heed.tensor {1, 2, 2},
  --   heed.tensor {1, 2, 1}, {average = "binary"}) --> 0.5
  precision = function_of(classes.Precision),
  --- The part of a class that was predicted as it.
  -- @param output scores [.. C], or predictions [..]
  -- @param target labels [..], or booleans
  -- @tparam[opt] table options those of `Recall`
  -- @treturn number 0 to 1; with `average = "none"` a list of them
  -- @raise when the shapes do not fit, or no target counts
  -- @usage
  -- return heed.metrics.recall(heed.tensor {1, 2, 2},
  --   heed.tensor {1, 2, 1}, {average = "binary"}) --> 1
  recall = function_of(classes.Recall),
  --- The harmonic mean of precision and recall.
  -- @param output scores [.. C], or predictions [..]
  -- @param target labels [..], or booleans
  -- @tparam[opt] table options those of `F1`
  -- @treturn number 0 to 1; with `average = "none"` a list of them
  -- @raise when the shapes do not fit, or no target counts
  -- @usage
  -- return heed.metrics.f1(heed.tensor {1, 2, 2},
  --   heed.tensor {1, 2, 1}, {average = "binary"}) --> 0.6667
  f1 = function_of(classes.F1),
  --- Between how many tokens a model hesitates: the exponential of the mean
  -- cross-entropy.
  -- @param output scores [.. C], as for `F.cross_entropy`
  -- @param target labels [..], or booleans
  -- @tparam[opt] table options those of `Perplexity`
  -- @treturn number 1 or more
  -- @raise when the shapes do not fit, or no target counts
  -- @usage
  -- return heed.metrics.perplexity(heed.zeros(3, 4),
  --   heed.tensor {1, 4, 2}) --> 4
  perplexity = function_of(Perplexity),
}
