--- train: a small training loop, checkpoints and exact resume. All of it is
-- optional: a loop of one's own needs `save` and `load` at most.
--
-- `fit` trains a model; `save` and `load` keep what a run goes on from.
-- docs/training.md shows both ways.

require "heed" -- tensors have their methods and operators from there

local checkpoint = require "heed.train.checkpoint"

return {
  fit = require "heed.train.fit",
  save = checkpoint.save,
  load = checkpoint.load,
}
