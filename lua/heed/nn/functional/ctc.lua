--- The loss of sequences of labels whose places are not known.

local check = require "heed.check"
local core = require "heed.core"
local reduction = require "heed.nn.reduction"

local ops <const> = core.ops

local F = {}

local CTC <const> = {blank = 1, reduction = "mean", zero_infinity = false}

-- Numbers as an int64 tensor of one dimension.
local function lengths(name, value)
  if math.type(value) then value = {value} end
  if type(value) == "table" then
    value = check.integers("ctc_loss", name, value)
  end
  check.tensor("ctc_loss", name, value)
  return value.ndim == 0 and ops.unsqueeze(value, 1) or value
end

--- The loss of connectionist temporal classification (Graves et al., 2006):
-- -log of the probability that the steps, with repeated classes and blanks
-- taken out, read as the labels.
--
-- Gradients are those of log_probs as they stand. (PyTorch's hold for
-- log-probabilities that add up to 1 only; through `log_softmax` both are
-- the same.)
-- @param log_probs float tensor [T N C], or [T C]: log-probabilities, as from
-- `log_softmax`
-- @param targets int64 tensor [N S], or [S] of all labels one behind the
-- other: labels from 1 to C
-- @param input_lengths int64 tensor or list [N] (a number for [T C]): how many
-- steps each sequence has
-- @param target_lengths int64 tensor or list [N]: how many labels it has
-- @tparam[opt] table options
--
-- * `blank`: the class that stands for none: the first, 1, by default (as 0 is
--   where classes count from 0)
-- * `reduction`: `"mean"` (default: of losses through their target lengths, at
--   least 1), `"sum"` or `"none"`
-- * `zero_infinity = true`: infinite losses, as of sequences too short for
--   their labels, become 0, with gradients of 0; else these are NaN
-- @return tensor without dimensions, or for `"none"` [N]
-- @raise when shapes do not fit, or a length or label is out of range: names
-- its row
-- @usage local F = heed.nn.functional
-- local p = heed.tensor {{{0.4, 0.6}}, {{0.4, 0.6}}}:log() -- [2 1 2]
-- F.ctc_loss(p, heed.tensor {{2}}, {2}, {1}) --> 0.1744
function F.ctc_loss(log_probs, targets, input_lengths, target_lengths, options)
  local name <const> = "ctc_loss"
  local o = check.options(name, options, CTC)
  local how = reduction.read(name, o.reduction)
  check.tensor(name, "log_probs", log_probs)
  check.tensor(name, "targets", targets)
  local alone = log_probs.ndim == 2
  if alone then log_probs = ops.unsqueeze(log_probs, 2) end
  local steps = lengths("input_lengths", input_lengths)
  local labels = lengths("target_lengths", target_lengths)
  local losses = ops.ctc_loss(log_probs, targets, steps, labels, o.blank,
    o.zero_infinity)
  if how == "mean" then
    losses = ops.div(losses, ops.to(ops.maximum(labels, 1), losses.dtype))
  end
  if alone then losses = ops.squeeze(losses, 1) end
  return reduction.apply(name, losses, how)
end

return F
