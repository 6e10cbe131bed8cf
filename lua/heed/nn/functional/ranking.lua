--- Distances of vectors, and losses that compare them.

local check = require "heed.check"
local core = require "heed.core"
local reduction = require "heed.nn.reduction"
local shape = require "heed.tensor.shape".functions

local ops <const> = core.ops

local F = {}

-- -- distances ---------------------------------------------------------------

--- The cosine of the angle of vectors: a . b / (|a| |b|).
-- @param a float tensor
-- @param b float tensor that broadcasts with it
-- @tparam[opt=2] integer dim of the vectors' numbers
-- @tparam[opt=1e-8] number eps least length that is divided by
-- @return tensor of the broadcast shape without dim
-- @raise when shapes do not fit
-- @usage local F = heed.nn.functional
-- F.cosine_similarity(heed.tensor {{3.0, 4.0}}, heed.tensor {{1.0, 0.0}})
-- --> 0.6
function F.cosine_similarity(a, b, ...)
  local name <const> = "cosine_similarity"
  check.tensor(name, "a", a)
  check.tensor(name, "b", b)
  local dim, eps = check.arguments(name, {"dim", "eps"}, ...)
  eps = eps == nil and 1e-8 or check.number(name, "eps", eps, 0)
  a, b = shape.broadcast_tensors(a, b)
  dim = check.dim(name, a, dim == nil and 2 or dim)
  local function unit(x)
    local length = ops.vector_norm(x, 2, dim, true)
    return ops.div(x, ops.clamp(length, eps))
  end
  return ops.sum(ops.mul(unit(a), unit(b)), dim)
end

--- The distance of vectors in the last dimension: (sum of |a - b + eps|^p) to
-- the power 1 / p.
-- @param a float tensor [.. D]
-- @param b float tensor that broadcasts with it
-- @tparam[opt] table options `p`, 2 by default; `eps`, 1e-6; `keepdim`, false
-- @return tensor [..], with `keepdim` [.. 1]
-- @raise when shapes do not fit
-- @usage local F = heed.nn.functional
-- F.pairwise_distance(heed.tensor {{3.0, 4.0}}, heed.zeros(1, 2)) --> 5
function F.pairwise_distance(a, b, options)
  local name <const> = "pairwise_distance"
  local o = check.options(name, options, {p = 2.0, eps = 1e-6, keepdim = false})
  check.tensor(name, "a", a)
  check.tensor(name, "b", b)
  check.number(name, "p", o.p)
  local d = ops.add(ops.sub(a, b), check.number(name, "eps", o.eps))
  return ops.vector_norm(d, o.p, -1, o.keepdim)
end

-- -- losses ------------------------------------------------------------------

local function above_zero(x) return ops.clamp(x, 0) end

-- The options of a loss with a margin and a reduction.
local function margin_options(name, options, margin)
  local o = check.options(name, options, {margin = margin, reduction = "mean"})
  check.number(name, "margin", o.margin)
  return o.margin, o.reduction
end

-- Below the root of a product of squared lengths.
local TINY <const> = 1e-12

--- The mean of 1 - cos(a, b) for pairs with target 1, max(0, cos - margin) for
-- those with target -1.
-- @param a float tensor [N D], or [D]
-- @param b float tensor of the shape of a
-- @param target tensor [N], or []: 1 or -1
-- @tparam[opt] table options `margin`, from -1 to 1, 0 by default;
-- `reduction`: `"mean"` (default), `"sum"` or `"none"`
-- @return tensor without dimensions, or for `"none"` like target
-- @raise when the shapes do not fit
-- @usage local F = heed.nn.functional
-- local y = F.cosine_embedding_loss(heed.tensor {{3.0, 4.0}},
--   heed.tensor {{1.0, 0.0}}, heed.tensor {1}) --> 0.4
function F.cosine_embedding_loss(a, b, target, options)
  local name <const> = "cosine_embedding_loss"
  local margin, how = margin_options(name, options, 0.0)
  reduction.same_shape(name, "a", a, "b", b)
  check.tensor(name, "target", target)
  if a.ndim < 1 or a.ndim > 2 or target.ndim ~= a.ndim - 1 or
    a.ndim == 2 and target:size(1) ~= a:size(1) then
    check.fail("%s: a %s must be [N D] with a target [N], or [D] with one " ..
      "[], got target %s", name, check.shape(a.shape),
      check.shape(target.shape))
  end
  local function dot(x, y) return ops.sum(ops.mul(x, y), -1) end
  local lengths = ops.mul(ops.add(dot(a, a), TINY), ops.add(dot(b, b), TINY))
  local cosine = ops.div(dot(a, b), ops.sqrt(lengths))
  local losses = ops.where(ops.eq(target, 1), ops.sub(1, cosine),
    ops.where(ops.eq(target, -1), above_zero(ops.sub(cosine, margin)), 0))
  return reduction.apply(name, losses, how)
end

local TRIPLET <const> = {
  margin = 1.0, p = 2.0, eps = 1e-6, swap = false, reduction = "mean",
}

--- The mean of max(0, d(anchor, positive) - d(anchor, negative) + margin), with
-- the distance d of `pairwise_distance` (Balntas et al., 2016).
-- @param anchor float tensor [N D], or [D]
-- @param positive float tensor of that shape: like the anchor
-- @param negative float tensor of that shape: unlike it
-- @tparam[opt] table options `margin`, 1 by default; `p` of the distance, 2;
-- `eps`, 1e-6; `swap = true`: of the distances of anchor and positive from the
-- negative the smaller one counts; `reduction`: `"mean"` (default), `"sum"` or
-- `"none"`
-- @return tensor without dimensions, or for `"none"` [N]
-- @raise when the shapes differ
-- @usage local F = heed.nn.functional
-- local a, n = heed.zeros(1, 2), heed.tensor {{0.3, 0.4}}
-- F.triplet_margin_loss(a, a, n) --> 0.5
function F.triplet_margin_loss(anchor, positive, negative, options)
  local name <const> = "triplet_margin_loss"
  local o = check.options(name, options, TRIPLET)
  check.number(name, "margin", o.margin)
  reduction.same_shape(name, "anchor", anchor, "positive", positive,
    "negative", negative)
  if anchor.ndim == 0 then
    check.fail("%s: anchor must have at least 1 dimension", name)
  end
  local how = {p = o.p, eps = o.eps}
  local near = F.pairwise_distance(anchor, positive, how)
  local far = F.pairwise_distance(anchor, negative, how)
  if o.swap then
    far = ops.minimum(far, F.pairwise_distance(positive, negative, how))
  end
  return reduction.apply(name,
    above_zero(ops.add(ops.sub(near, far), o.margin)), o.reduction)
end

--- The mean of max(0, -target (a - b) + margin): a should be above b where
-- target is 1, below it where it is -1.
-- @param a float tensor
-- @param b float tensor of the shape of a
-- @param target tensor of the shape of a: 1 or -1
-- @tparam[opt] table options `margin`, 0 by default; `reduction`: `"mean"`
-- (default), `"sum"` or `"none"`
-- @return tensor without dimensions, or for `"none"` like a
-- @raise when the shapes differ
-- @usage local F = heed.nn.functional
-- local y = F.margin_ranking_loss(heed.tensor {1.0}, heed.tensor {3.0},
--   heed.tensor {1}) --> 2
function F.margin_ranking_loss(a, b, target, options)
  local name <const> = "margin_ranking_loss"
  local margin, how = margin_options(name, options, 0.0)
  reduction.same_shape(name, "a", a, "b", b, "target", target)
  local gap = ops.mul(ops.neg(target), ops.sub(a, b))
  return reduction.apply(name, above_zero(ops.add(gap, margin)), how)
end

--- The mean of x where target is 1, max(0, margin - x) where it is -1.
-- @param x float tensor: distances
-- @param target tensor of the shape of x: 1 or -1
-- @tparam[opt] table options `margin`, 1 by default; `reduction`: `"mean"`
-- (default), `"sum"` or `"none"`
-- @return tensor without dimensions, or for `"none"` like x
-- @raise when the shapes differ
-- @usage local F = heed.nn.functional
-- F.hinge_embedding_loss(heed.tensor {0.25, 0.25}, heed.tensor {1, -1})
-- --> 0.5
function F.hinge_embedding_loss(x, target, options)
  local name <const> = "hinge_embedding_loss"
  local margin, how = margin_options(name, options, 1.0)
  reduction.same_shape(name, "x", x, "target", target)
  local losses = ops.add(
    ops.where(ops.ne(target, 1), above_zero(ops.sub(margin, x)), 0),
    ops.where(ops.ne(target, -1), x, 0))
  return reduction.apply(name, losses, how)
end

--- The mean of log(1 + e^(-target x)).
-- @param x float tensor of scores
-- @param target tensor of the shape of x: 1 or -1
-- @tparam[opt] table options `reduction`: `"mean"` (default), `"sum"` or
-- `"none"`
-- @return tensor without dimensions, or for `"none"` like x
-- @raise when the shapes differ
-- @usage local F = heed.nn.functional
-- F.soft_margin_loss(heed.tensor {0.0}, heed.tensor {1}) --> 0.6931
function F.soft_margin_loss(x, target, options)
  local name <const> = "soft_margin_loss"
  check.keys(name, options, {reduction = true})
  reduction.same_shape(name, "x", x, "target", target)
  return reduction.apply(name, ops.neg(ops.logsigmoid(ops.mul(x, target))),
    options and options.reduction)
end

return F
