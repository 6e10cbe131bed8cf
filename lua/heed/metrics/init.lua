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

  accuracy = function_of(Accuracy),
  confusion_matrix = function_of(classes.ConfusionMatrix),
  precision = function_of(classes.Precision),
  recall = function_of(classes.Recall),
  f1 = function_of(classes.F1),
  perplexity = function_of(Perplexity),
}
