--- F: the functions of networks, without parameters of their own.
--
-- Further ones are in `functional/`, a file a family.
-- All ops of the group `functional` are here, with `relu`, `tanh`, `sigmoid`,
-- `softmax` and `log_softmax`, which are also methods of tensors.

local attend = require "heed.nn.attend"
local check = require "heed.check"
local core = require "heed.core"
local mask = require "heed.nn.attention_mask"

local ops <const> = core.ops

local F = {}

for _, op in ipairs(core.op_table) do
  if op.group == "functional" then F[op.name] = ops[op.name] end
end
for _, name in ipairs {
  "relu", "relu_", "tanh", "sigmoid", "softmax", "log_softmax",
} do
  F[name] = ops[name]
end

-- -- attention ---------------------------------------------------------------

local OPTIONS <const> = {
  dropout = true, training = true, generator = true, need_weights = true,
}
for key in pairs(mask.KEYS) do OPTIONS[key] = true end

local NONE <const> = {}
local SDPA <const> = "scaled_dot_product_attention"

--- Attention: for each query the mean of the values, weighted with the softmax
-- of the scaled products of query and keys.
--
-- What a query may attend to is what all descriptions allow. One that may
-- attend to nothing gives zeros, zero weights and zero gradients.
-- @param q float tensor [.. H Tq D], or [Tq D]
-- @param k float tensor [.. Hk Tk D]; query head h uses key/value head
-- floor(h / (H / Hk)), counted from 0
-- @param v float tensor [.. Hk Tk Dv]
-- @tparam[opt] table options
--
-- * `causal`: `true` (or `"bottom-right"`): the last query stands beside the
--   last key, and no query sees a key behind its place; `"top-left"`: the
--   first query stands beside the first key
-- * `window`: how many keys a query sees, its own place counted, before and
--   (when not causal) as many behind it; or `{before, behind}`
-- * `valid_lens`: int64 tensor or list [..], or [.. Tq]: only the first so many
--   keys are seen
-- * `align = "valid"`: the last query stands beside the last key of those that
--   `valid_lens` [..] leaves, so that sequences of different lengths share a
--   cache
-- * `mask`: bool tensor that broadcasts to [.. H Tq Tk], **true = may attend**
-- * `key_mask`: bool tensor that broadcasts to [.. Tk], **true = may attend**
-- * `bias`: float tensor that broadcasts to [.. H Tq Tk], added to the scores
-- * `alibi`: `true`, or slopes [H]: takes slope * distance from the scores
-- * `softcap`: bounds the scores by softcap * tanh(score / softcap)
-- * `sinks`: tensor [H]: scores of keys without a value
-- * `scale` of the products, 1 / sqrt(D) by default
-- * `cu_seqlens`: int64 tensor or list [N + 1], for N sequences that lie one
--   behind the other in q, k and v, none of which sees another: 0, then how
--   many queries there are up to the end of each (`F.cu_seqlens` makes it from
--   lengths); `cu_seqlens_k`: the same of keys, where these are others. Each
--   sequence is an attention by itself: `causal`, `window`, `alibi` and
--   `valid_lens` ([N], one a sequence, or [.. Tq]; where both fit, one a
--   sequence) count from its own first key; of `mask`, `key_mask` and `bias`
--   its own part is taken
-- * `score`: function of all scores [.. H Tq Tk], before the mask, called for
--   each of packed sequences; a slow path for experiments
-- * `dropout`: probability with which a weight is set to 0; `training = false`
--   turns it off; `generator` of its seed
-- * `need_weights`: returns the weights too
-- @return float tensor [.. H Tq Dv]
-- @return with `need_weights`, the weights [.. H Tq Tk] from before dropout
-- @raise for an unknown option, and when dtypes, shapes or values do not fit
-- @usage local q = heed.randn(2, 4, 5, 8) -- [B H T D]
-- local out = F.scaled_dot_product_attention(q, q, q, {causal = true})
function F.scaled_dot_product_attention(q, k, v, options)
  check.keys(SDPA, options, OPTIONS)
  local o = options or NONE
  check.tensor(SDPA, "q", q)
  local dropout = o.training ~= false and o.dropout or 0.0
  check.number(SDPA, "dropout", dropout)
  if q.ndim ~= 2 then
    return attend(SDPA, q, k, v, o, dropout, o.generator)
  end
  local one = function(t) return ops.unsqueeze(t, 1) end
  local out, w = attend(SDPA, one(q), one(k), one(v), o, dropout, o.generator)
  return ops.squeeze(out, 1), w and ops.squeeze(w, 1)
end

-- -- activations -------------------------------------------------------------

--- x held within 0 .. 6, without a gradient at the ends.
-- @param x float tensor
-- @return tensor like x
-- @usage F.relu6(heed.tensor {-1.0, 7.0}) --> 0 6
function F.relu6(x) return ops.hardtanh(x, 0, 6) end

--- scale x where x is positive, else scale alpha (e^x - 1), with the two
-- numbers that keep mean and variance (Klambauer et al., 2017).
-- @param x float tensor
-- @return tensor like x
-- @usage F.selu(heed.tensor {-1.0, 1.0}) --> -1.1113 1.0507
function F.selu(x)
  return ops.elu(x, 1.6732632423543772, 1.0507009873554805)
end

--- x where it is positive, else alpha (e^(x / alpha) - 1) (Barron, 2017).
-- @param x float tensor
-- @tparam[opt] number alpha not 0, 1 by default
-- @return tensor like x
-- @raise when alpha is 0
-- @usage F.celu(heed.tensor {-1.0, 1.0}) --> -0.6321 1
function F.celu(x, alpha)
  alpha = alpha == nil and 1.0 or check.number("celu", "alpha", alpha)
  if alpha == 0 then check.fail("celu: alpha must not be 0") end
  return ops.elu(x, alpha, 1.0, 1 / alpha)
end

--- x / (1 + |x|).
-- @param x tensor; integers are taken as float32
-- @return float tensor of the shape of x
-- @usage F.softsign(heed.tensor {-1.0, 3.0}) --> -0.5 0.75
function F.softsign(x)
  return ops.div(check.tensor("softsign", "x", x), ops.add(ops.abs(x), 1))
end

--- The softmax of -x.
-- @param x float tensor
-- @tparam[opt] integer dim the last by default
-- @return tensor like x
-- @usage F.softmin(heed.tensor {1.0, 1.0}) --> 0.5 0.5
function F.softmin(x, dim)
  return ops.softmax(ops.neg(check.tensor("softmin", "x", x)), dim)
end

--- x - tanh(x).
-- @param x float tensor
-- @return tensor like x
-- @usage F.tanhshrink(heed.tensor {0.0, 1.0}) --> 0 0.2384
function F.tanhshrink(x)
  return ops.sub(check.tensor("tanhshrink", "x", x), ops.tanh(x))
end

--- x where it is positive, else x times a learned weight (He et al., 2015).
-- @param x float tensor [N C ..], or [C]
-- @param weight float tensor [C], or [1] for all
-- @return tensor like x
-- @raise when the sizes do not fit
-- @usage F.prelu(heed.tensor {-2.0, 3.0}, heed.tensor {0.25}) --> -0.5 3
function F.prelu(x, weight)
  check.tensor("prelu", "x", x)
  check.tensor("prelu", "weight", weight)
  local n <const> = weight:numel()
  local channels <const> = x.ndim > 1 and x:size(2) or x:numel()
  if weight.ndim > 1 or n ~= 1 and n ~= channels then
    check.fail("prelu: weight %s must be [1] or [%d], a number for each " ..
      "channel of x %s", check.shape(weight.shape), channels,
      check.shape(x.shape))
  end
  if n > 1 and x.ndim > 2 then
    local shape = {n}
    for d = 2, x.ndim - 1 do shape[d] = 1 end
    weight = weight:reshape(shape)
  end
  return ops.where(ops.gt(x, 0), x, ops.mul(x, weight))
end

--- The first half of x along a dimension times the sigmoid of the second
-- (Dauphin et al., 2017).
-- @param x float tensor
-- @tparam[opt] integer dim the last by default
-- @return tensor with half of that dimension
-- @raise when its size is odd
-- @usage F.glu(heed.tensor {1.0, 0.0}) --> 0.5
function F.glu(x, dim)
  check.tensor("glu", "x", x)
  dim = dim == nil and -1 or check.integer("glu", "dim", dim)
  if x.ndim == 0 then check.fail("glu: x has no dimensions to halve") end
  if dim == 0 or dim > x.ndim or dim < -x.ndim then
    check.fail("glu: dim must be 1..%d or -%d..-1 for x %s, got %d", x.ndim,
      x.ndim, check.shape(x.shape), dim)
  end
  local n <const> = x:size(dim)
  if n % 2 ~= 0 then
    check.fail("glu: dim %d of x %s must have an even size", dim,
      check.shape(x.shape))
  end
  if n == 0 then return ops.mul(x, 1.0) end
  return ops.mul(ops.slice(x, dim, 1, n // 2),
    ops.sigmoid(ops.slice(x, dim, n // 2 + 1, n)))
end

for _, family in ipairs {
  "masked", "additive", "linear_attention", "pattern", "convolution",
  "classes", "ctc", "regression", "ranking",
  "pooling", "padding", "norm", "dropout", "bilinear",
} do
  for name, f in pairs(require("heed.nn.functional." .. family)) do
    F[name] = f
  end
end

return F
