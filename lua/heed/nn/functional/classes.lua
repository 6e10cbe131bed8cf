--- Losses of classes and of probabilities.

local check = require "heed.check"
local core = require "heed.core"
local reduction = require "heed.nn.reduction"

local ops <const> = core.ops

local F = {}

-- -- one class of several ----------------------------------------------------

local ENTROPY <const> = {
  "weight", "ignore_index", "label_smoothing", "reduction",
}

-- The dimension of the classes of scores.
local function class_dim(x) return x.ndim == 1 and 1 or 2 end

-- Class weights [C] as they broadcast with scores.
local function weights_of(func, weight, x)
  local d = class_dim(x)
  check.tensor(func, "weight", weight)
  if weight.ndim ~= 1 or weight:size(1) ~= x:size(d) then
    check.fail("%s: weight %s must have one number for each of the %d " ..
      "classes of x %s", func, check.shape(weight.shape), x:size(d),
      check.shape(x.shape))
  end
  local shape = {}
  for i = d, x.ndim do shape[i - d + 1] = i == d and x:size(d) or 1 end
  return weight:reshape(shape)
end

-- Cross-entropy where the targets are probabilities of all classes.
local function soft_cross_entropy(x, target, weight, smoothing, how)
  local name <const> = "cross_entropy"
  how = reduction.read(name, how)
  reduction.same_shape(name, "x", x, "target", target)
  if x.ndim == 0 then check.fail("cross_entropy: x has no classes") end
  smoothing = check.number(name, "label_smoothing", smoothing or 0, 0, 1)
  local d, classes = class_dim(x), x:size(class_dim(x))
  if smoothing > 0 then
    target = ops.add(ops.mul(target, 1 - smoothing), smoothing / classes)
  end
  if weight ~= nil then
    target = ops.mul(target, weights_of(name, weight, x))
  end
  local losses = ops.neg(ops.sum(ops.mul(ops.log_softmax(x, d), target), d))
  return reduction.apply(name, losses, how)
end

--- The cross-entropy of class scores and labels, -log softmax(x)[label], or,
-- where the targets are probabilities, -sum of target log softmax(x).
--
-- Rows whose label is ignore_index count nothing; when none is left the loss
-- is 0, as are its gradients. With label smoothing s a target is 1 - s of
-- itself and s spread evenly over all classes (Szegedy et al., 2016).
-- @param x float tensor [N C], [C] or [N C d1 ..]: scores, not probabilities
-- @param target int64 tensor without the C: labels from 1 to C; or float
-- tensor like x: probabilities of the classes
-- @tparam[opt] table options (or by position, in this order)
--
-- * `weight`: float tensor [C] to scale each class by; the mean over labels is
--   then a weighted one
-- * `ignore_index`: label that marks rows to leave out, any integer, -100 by
--   default; not for probabilities
-- * `label_smoothing`: from 0 to 1, 0 by default
-- * `reduction`: `"mean"` (default), `"sum"` or `"none"`
-- @return tensor without dimensions, or for `"none"` [N d1 ..]
-- @raise when shapes or dtypes do not fit, or a label is out of range: names
-- its row
-- @usage local F = heed.nn.functional
-- F.cross_entropy(heed.tensor {{2.0, 0.0}}, heed.tensor {1}) --> 0.1269
-- @usage local F = heed.nn.functional
-- F.cross_entropy(heed.tensor {{2.0, 0.0}}, heed.tensor {{0.5, 0.5}})
-- --> 1.1269
function F.cross_entropy(x, target, ...)
  if not check.is_float(target) or not check.is_tensor(x) or
    target.ndim ~= x.ndim then
    return ops.cross_entropy(x, target, ...)
  end
  local weight, ignore, smoothing, how
  if type((...)) ~= "table" or next((...)) ~= nil then -- not just {}
    weight, ignore, smoothing, how = check.arguments("cross_entropy", ENTROPY,
      ...)
  end
  if ignore ~= nil and ignore ~= -100 then
    check.fail("cross_entropy: ignore_index is for labels, not for " ..
      "probabilities as in target %s", check.shape(target.shape))
  end
  return soft_cross_entropy(x, target, weight, smoothing, how)
end

local NLL <const> = {weight = true, ignore_index = true, reduction = true}

-- Raises unless target holds labels for all rows of x.
local function check_labels(name, x, target, d, ignore)
  check.tensor(name, "x", x)
  check.tensor(name, "target", target)
  local want = {}
  for i, n in ipairs(x.shape) do
    if i ~= d then want[#want + 1] = n end
  end
  if x.ndim == 0 or check.shape(want) ~= check.shape(target.shape) then
    check.fail("%s: target %s must be %s, x %s without its classes, " ..
      "dimension %d", name, check.shape(target.shape), check.shape(want),
      check.shape(x.shape), d)
  end
  if target.dtype ~= "int64" then
    check.fail("%s: target must be int64, got %s %s", name, target.dtype,
      check.shape(target.shape))
  end
  local off = ops.logical_or(ops.lt(target, 1), ops.gt(target, x:size(d)))
  reduction.refuse(name, "target", target,
    ops.logical_and(off, ops.ne(target, ignore)),
    ("1..%d (a class of x %s) or ignore_index %d"):format(x:size(d),
      check.shape(x.shape), ignore))
end

--- The negative log-likelihood: -x[label], by row.
-- @param x float tensor [N C], [C] or [N C d1 ..]: log-probabilities, as from
-- `log_softmax`
-- @param target int64 tensor without the C: labels from 1 to C
-- @tparam[opt] table options `weight`, float tensor [C] to scale each class
-- by: the mean is then a weighted one; `ignore_index`, label that marks rows
-- to leave out, -100 by default; `reduction`: `"mean"` (default), `"sum"` or
-- `"none"`
-- @return tensor without dimensions, 0 when no row is left, or for `"none"`
-- like target
-- @raise when shapes do not fit, or a label is out of range: names its row
-- @usage local F = heed.nn.functional
-- F.nll_loss(heed.tensor {{-0.5, -1.5}}, heed.tensor {2}) --> 1.5
function F.nll_loss(x, target, options)
  local name <const> = "nll_loss"
  check.keys(name, options, NLL)
  local o = options or {}
  local how = reduction.read(name, o.reduction)
  local ignore = check.integer(name, "ignore_index", o.ignore_index or -100)
  local d = class_dim(check.tensor(name, "x", x))
  check_labels(name, x, target, d, ignore)
  local weight = o.weight ~= nil and weights_of(name, o.weight, x)
  local counts = ops.ne(target, ignore)
  if target:numel() == 0 then -- there may be no class to choose
    return ops.mul(reduction.apply(name, ops.sum(x, d), how), 0)
  end
  local label = ops.unsqueeze(ops.where(counts, target, 1), d)
  local function of_label(t) return ops.squeeze(ops.gather(t, d, label), d) end
  local share = ops.to(counts, x.dtype)
  if weight then
    share = ops.where(counts, of_label(ops.expand(weight, x.shape)), 0)
  end
  local losses = ops.where(counts, ops.neg(of_label(x)), 0)
  if weight then losses = ops.mul(losses, share) end
  if how ~= "mean" then return reduction.apply(name, losses, how) end
  return reduction.ratio(losses, share)
end

-- -- two classes -------------------------------------------------------------

local BINARY <const> = {weight = true, reduction = true}

--- The cross-entropy of probabilities, each alone:
-- -t log x - (1 - t) log(1 - x), where logarithms are held above -100.
-- From scores, `binary_cross_entropy_with_logits` is more exact.
-- @param x float tensor of probabilities
-- @param target float tensor of the shape of x: probabilities
-- @tparam[opt] table options `weight`, tensor that broadcasts with x;
-- `reduction`: `"mean"` (default), `"sum"` or `"none"`
-- @return tensor without dimensions, or for `"none"` like x
-- @raise when the shapes differ, or x is not within 0 .. 1: names its place
-- @usage local F = heed.nn.functional
-- F.binary_cross_entropy(heed.tensor {0.5}, heed.tensor {1.0}) --> 0.6931
function F.binary_cross_entropy(x, target, options)
  local name <const> = "binary_cross_entropy"
  check.keys(name, options, BINARY)
  reduction.same_shape(name, "x", x, "target", target)
  reduction.refuse(name, "x", x, ops.logical_or(ops.lt(x, 0), ops.gt(x, 1)),
    "a probability from 0 to 1")
  local losses = ops.binary_cross_entropy(x, target)
  local o = options or {}
  if o.weight ~= nil then losses = ops.mul(losses, o.weight) end
  return reduction.apply(name, losses, o.reduction)
end

local LOGITS <const> = {weight = true, pos_weight = true, reduction = true}

--- The cross-entropy of scores, each alone: -p t log s - (1 - t) log(1 - s)
-- with s = sigmoid(x), computed so that no s is rounded to 0 or 1.
-- @param x float tensor of scores
-- @param target float tensor of the shape of x: probabilities
-- @tparam[opt] table options `weight`, tensor that broadcasts with x;
-- `pos_weight`, tensor p that broadcasts with x, such as [C] for each class:
-- the weight of t; `reduction`: `"mean"` (default), `"sum"` or `"none"`
-- @return tensor without dimensions, or for `"none"` like x
-- @raise when the shapes differ
-- @usage local F = heed.nn.functional
-- F.binary_cross_entropy_with_logits(heed.tensor {0.0}, heed.tensor {1.0})
-- --> 0.6931
function F.binary_cross_entropy_with_logits(x, target, options)
  local name <const> = "binary_cross_entropy_with_logits"
  check.keys(name, options, LOGITS)
  reduction.same_shape(name, "x", x, "target", target)
  local o = options or {}
  local log_s = ops.logsigmoid(x)
  if o.pos_weight ~= nil then
    check.tensor(name, "pos_weight", o.pos_weight)
    local more = ops.mul(ops.sub(o.pos_weight, 1), target)
    log_s = ops.mul(ops.add(more, 1), log_s)
  end
  -- log(1 - s) = log s - x
  local losses = ops.sub(ops.mul(ops.sub(1, target), x), log_s)
  if o.weight ~= nil then losses = ops.mul(losses, o.weight) end
  return reduction.apply(name, losses, o.reduction)
end

-- -- distributions -----------------------------------------------------------

local KL <const> = {reduction = true, log_target = true}

--- The divergence of Kullback and Leibler of a distribution from another,
-- number by number: t (log t - x), 0 where t is 0.
-- @param x float tensor: log-probabilities
-- @param target float tensor of the shape of x: probabilities t
-- @tparam[opt] table options `log_target = true`: target holds log t;
-- `reduction`: `"mean"` (default, over all numbers), `"batchmean"` (the sum
-- through the first size, which is what the formula means), `"sum"` or
-- `"none"`
-- @return tensor without dimensions, or for `"none"` like x
-- @raise when the shapes differ
-- @usage local F = heed.nn.functional
-- local t = heed.tensor {{0.5, 0.5}}
-- F.kl_div(heed.tensor {{0.25, 0.75}}:log(), t, {reduction = "batchmean"})
-- --> 0.1438
function F.kl_div(x, target, options)
  local name <const> = "kl_div"
  check.keys(name, options, KL)
  reduction.same_shape(name, "x", x, "target", target)
  local o = options or {}
  local how = reduction.read(name, o.reduction, "batchmean")
  local losses
  if o.log_target then
    losses = ops.mul(ops.exp(target), ops.sub(target, x))
  else
    losses = ops.sub(ops.xlogy(target, target), ops.mul(target, x))
  end
  if how ~= "batchmean" then return reduction.apply(name, losses, how) end
  if x.ndim == 0 then
    check.fail('kl_div: reduction "batchmean" needs a batch, got x []')
  end
  return ops.div(ops.sum(losses), math.max(x:size(1), 1))
end

return F
