--- Further dropouts: whole channels, and one that keeps mean and variance.
-- `F.dropout` is an op.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local OPTIONS <const> = {p = 0.5, training = true, generator = check.NONE}

local F = {}

-- Channels of x [N C ..] or, without batch, [C ..].
local function channels(func, x, options, ndim)
  check.tensor(func, "x", x)
  local o = check.options(func, options, OPTIONS)
  check.number(func, "p", o.p, 0, 1)
  if x.ndim ~= ndim + 1 and x.ndim ~= ndim + 2 then
    check.fail("%s: x must be %s, got %s", func, ndim == 1 and
      "[N C L] or [C L]" or "[N C H W] or [C H W]", check.show(x))
  end
  if not o.training or o.p == 0 then return x end
  if o.p == 1 then return ops.dropout(x, 1, true, o.generator) end
  local shape <const> = x.shape
  for d = 0, ndim - 1 do shape[x.ndim - d] = 1 end
  local scale = ops.dropout(ops.ones(shape, x.dtype), o.p, true, o.generator)
  return x * scale
end

--- x with whole channels of lines set to 0 with probability p and the others
-- divided by 1 - p, while training (Tompson et al., 2015).
-- @tparam tensor x float [N C L], or [C L]
-- @tparam[opt] table options `p` (0.5), `training` (true), `generator`
-- @treturn tensor like x
-- @raise when p lies outside of 0 .. 1
-- @usage heed.nn.functional.dropout1d(heed.ones(1, 2, 3), {p = 1})
--   --> 0 0 0 0 0 0
function F.dropout1d(x, options) return channels("dropout1d", x, options, 1) end

--- x with whole channels of images set to 0 with probability p and the others
-- divided by 1 - p, while training.
-- @tparam tensor x float [N C H W], or [C H W]
-- @tparam[opt] table options `p` (0.5), `training` (true), `generator`
-- @treturn tensor like x
-- @raise when p lies outside of 0 .. 1
-- @usage heed.nn.functional.dropout2d(heed.ones(2, 1, 2), {p = 0}) --> 1 1 1 1
function F.dropout2d(x, options) return channels("dropout2d", x, options, 2) end

-- selu(-inf): what a dropped element becomes, before the scale.
local LEAST <const> = -1.7580993408473766

--- x with elements set to the least value of `F.selu` with probability p, then
-- scaled and shifted so that mean 0 and variance 1 stay, while training
-- (Klambauer et al., 2017).
-- @tparam tensor x float
-- @tparam[opt] table options `p` (0.5), `training` (true), `generator`
-- @treturn tensor like x
-- @raise when p lies outside of 0 .. 1
-- @usage heed.nn.functional.alpha_dropout(heed.ones(2), {training = false})
--   --> 1 1
function F.alpha_dropout(x, options)
  check.tensor("alpha_dropout", "x", x)
  local o = check.options("alpha_dropout", options, OPTIONS)
  local p <const> = check.number("alpha_dropout", "p", o.p, 0, 1)
  if not o.training or p == 0 then return x end
  if p == 1 then return ops.dropout(x, 1, true, o.generator) end
  local a <const> = 1 / ((LEAST * LEAST * p + 1) * (1 - p)) ^ 0.5
  local keep = ops.bernoulli_(ops.empty(x.shape, x.dtype), 1 - p,
    o.generator)
  local shift = (keep - 1) * (-LEAST * a) - LEAST * a * p
  return x * (keep * a) + shift
end

return F
