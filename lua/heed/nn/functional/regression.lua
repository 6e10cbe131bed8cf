--- Losses of numbers: how far they are from what they should be.

local check = require "heed.check"
local core = require "heed.core"
local reduction = require "heed.nn.reduction"

local ops <const> = core.ops

local F = {}

local REDUCTION <const> = {reduction = true}

-- x - target, for tensors of one shape.
local function difference(name, x, target)
  reduction.same_shape(name, "x", x, "target", target)
  return ops.sub(x, target)
end

--- The mean of (x - target)^2.
-- @param x float tensor
-- @param target tensor of the shape of x
-- @tparam[opt] table options `reduction`: `"mean"` (default), `"sum"` or
-- `"none"`
-- @return tensor without dimensions, or for `"none"` like x
-- @raise when the shapes differ
-- @usage local F = heed.nn.functional
-- F.mse_loss(heed.tensor {1.0, 2.0}, heed.tensor {1.0, 4.0}) --> 2
function F.mse_loss(x, target, options)
  check.keys("mse_loss", options, REDUCTION)
  return reduction.apply("mse_loss",
    ops.square(difference("mse_loss", x, target)),
    options and options.reduction)
end

--- The mean of |x - target|.
-- @param x float tensor
-- @param target tensor of the shape of x
-- @tparam[opt] table options `reduction`: `"mean"` (default), `"sum"` or
-- `"none"`
-- @return tensor without dimensions, or for `"none"` like x
-- @raise when the shapes differ
-- @usage local F = heed.nn.functional
-- F.l1_loss(heed.tensor {1.0, 2.0}, heed.tensor {1.0, 4.0}) --> 1
function F.l1_loss(x, target, options)
  check.keys("l1_loss", options, REDUCTION)
  return reduction.apply("l1_loss", ops.abs(difference("l1_loss", x, target)),
    options and options.reduction)
end

-- 1/2 d^2 up to |d| = delta, then the line that goes on with this slope.
local function huber(d, delta)
  local near = ops.clamp(d, -delta, delta)
  return ops.mul(near, ops.sub(d, ops.mul(near, 0.5)))
end

--- The mean of a loss that is 1/2 d^2 for |d| up to delta, else
-- delta (|d| - delta / 2), with d = x - target (Huber, 1964).
-- @param x float tensor
-- @param target tensor of the shape of x
-- @tparam[opt] table options `delta`, above 0, 1 by default; `reduction`:
-- `"mean"` (default), `"sum"` or `"none"`
-- @return tensor without dimensions, or for `"none"` like x
-- @raise when the shapes differ
-- @usage local F = heed.nn.functional
-- F.huber_loss(heed.tensor {1.0, 4.0}, heed.tensor {1.5, 1.0}) --> 1.3125
function F.huber_loss(x, target, options)
  local o = check.options("huber_loss", options,
    {delta = 1.0, reduction = "mean"})
  if check.number("huber_loss", "delta", o.delta) <= 0 then
    check.fail("huber_loss: delta must be above 0, got %g", o.delta)
  end
  local d = difference("huber_loss", x, target)
  return reduction.apply("huber_loss", huber(d, o.delta), o.reduction)
end

--- The mean of a loss that is 1/2 d^2 / beta for |d| below beta, else
-- |d| - beta / 2, with d = x - target (Girshick, 2015).
-- @param x float tensor
-- @param target tensor of the shape of x
-- @tparam[opt] table options `beta`, at least 0, 1 by default; `reduction`:
-- `"mean"` (default), `"sum"` or `"none"`
-- @return tensor without dimensions, or for `"none"` like x
-- @raise when the shapes differ
-- @usage local F = heed.nn.functional
-- F.smooth_l1_loss(heed.tensor {1.0, 4.0}, heed.tensor {1.5, 1.0}) --> 1.3125
function F.smooth_l1_loss(x, target, options)
  local name <const> = "smooth_l1_loss"
  local o = check.options(name, options, {beta = 1.0, reduction = "mean"})
  check.number(name, "beta", o.beta, 0)
  local d = difference(name, x, target)
  local losses = o.beta == 0 and ops.abs(d) or
    ops.div(huber(d, o.beta), o.beta)
  return reduction.apply(name, losses, o.reduction)
end

local POISSON <const> = {
  log_input = true, full = false, eps = 1e-8, reduction = "mean",
}

--- The negative log-likelihood of counts of a Poisson distribution, but for
-- what does not depend on x: r - t log r, where x is log r.
-- @param x float tensor
-- @param target tensor of the shape of x: counts t
-- @tparam[opt] table options `log_input = false`: x is r; `eps`, added to such
-- an r in the logarithm, 1e-8 by default; `full = true` adds Stirling's
-- formula for log t!, where t is above 1; `reduction`: `"mean"` (default),
-- `"sum"` or `"none"`
-- @return tensor without dimensions, or for `"none"` like x
-- @raise when the shapes differ
-- @usage local F = heed.nn.functional
-- F.poisson_nll_loss(heed.tensor {0.0}, heed.tensor {2.0}) --> 1
function F.poisson_nll_loss(x, target, options)
  local name <const> = "poisson_nll_loss"
  local o = check.options(name, options, POISSON)
  reduction.same_shape(name, "x", x, "target", target)
  local rate = o.log_input and ops.exp(x) or x
  local log_rate = o.log_input and x or
    ops.log(ops.add(x, check.number(name, "eps", o.eps)))
  local losses = ops.sub(rate, ops.mul(target, log_rate))
  if o.full then
    local t = ops.clamp(target, 1)
    local stirling = ops.add(ops.sub(ops.mul(t, ops.log(t)), t),
      ops.mul(ops.log(ops.mul(t, 2 * math.pi)), 0.5))
    losses = ops.add(losses, ops.where(ops.gt(target, 1), stirling, 0))
  end
  return reduction.apply(name, losses, o.reduction)
end

local GAUSSIAN <const> = {full = false, eps = 1e-6, reduction = "mean"}

-- The variances of x as they broadcast with it: like x, without its last
-- dimension, with a last size of 1, or one number for all.
local function variances(name, x, var)
  if math.type(var) then return core.tensor(var, {dtype = x.dtype}) end
  local a, b = x.shape, check.tensor(name, "var", var).shape
  local given = check.shape(b)
  if #b == #a - 1 and #b > 0 then
    var = ops.unsqueeze(var, -1)
    b = var.shape
  end
  local ok = #b == 0 or #a == #b
  for i = 1, ok and #b or 0 do
    ok = ok and (a[i] == b[i] or i == #a and b[i] == 1)
  end
  if ok then return var end
  check.fail("%s: var %s must be like x %s, or without its last dimension",
    name, given, check.shape(a))
end

--- The negative log-likelihood of numbers of normal distributions with the
-- means x, but for a constant: (log v + (x - target)^2 / v) / 2.
-- @param x float tensor
-- @param target tensor of the shape of x
-- @param var float tensor of variances v like x, without its last dimension,
-- or with a last size of 1; or one number
-- @tparam[opt] table options `eps`: v is taken as at least this, which its
-- gradient does not see, 1e-6 by default; `full = true` adds log(2 pi) / 2;
-- `reduction`: `"mean"` (default), `"sum"` or `"none"`
-- @return tensor without dimensions, or for `"none"` like x
-- @raise when the shapes do not fit, or a variance is negative
-- @usage local F = heed.nn.functional
-- F.gaussian_nll_loss(heed.tensor {1.0}, heed.tensor {3.0}, 1.0) --> 2
function F.gaussian_nll_loss(x, target, var, options)
  local name <const> = "gaussian_nll_loss"
  local o = check.options(name, options, GAUSSIAN)
  local d = difference(name, x, target)
  var = variances(name, x, var)
  reduction.refuse(name, "var", var, ops.lt(var, 0), "at least 0")
  local least = check.number(name, "eps", o.eps, 0)
  local raised = ops.sub(ops.clamp(ops.detach(var), least), ops.detach(var))
  local v = ops.add(var, raised)
  local losses = ops.mul(ops.add(ops.log(v), ops.div(ops.square(d), v)), 0.5)
  if o.full then losses = ops.add(losses, math.log(2 * math.pi) / 2) end
  return reduction.apply(name, losses, o.reduction)
end

return F
