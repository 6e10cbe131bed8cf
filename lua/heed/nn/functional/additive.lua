--- additive: attention whose scores are a small network, taken into
-- `nn.functional`.

local attend = require "heed.nn.attend"
local check = require "heed.check"
local core = require "heed.core"
local masks = require "heed.nn.attention_mask"

local ops <const> = core.ops

local F = {}

local NAME <const> = "additive_attention"
local OPTIONS <const> = {
  causal = true, window = true, valid_lens = true, mask = true,
  key_mask = true, dropout = true, training = true, generator = true,
  need_weights = true,
}

-- The options of a call with heads.
local function with_head(options)
  local o = {}
  for key, value in next, options or {} do o[key] = value end
  if check.is_tensor(o.mask) and o.mask.ndim > 2 then
    o.mask = ops.unsqueeze(o.mask, -3)
  end
  return o
end

-- [.. T size] as one head, [.. 1 T size]
local function head(name, t)
  check.tensor(NAME, name, t)
  if t.ndim < 2 then
    check.fail("%s: %s must have at least 2 dimensions, got %s", NAME, name,
      check.show(t))
  end
  return ops.unsqueeze(t, -3)
end

local function without_columns(t)
  local shape = t.shape
  shape[#shape] = 0
  return ops.zeros(shape, t.dtype)
end

--- Additive attention (Bahdanau et al., 2014): for each query the mean of the
-- values, weighted with the softmax of w_v . tanh(q + k).
--
-- Query and key are those of the paper already multiplied by their matrices.
-- No tensor [.. Tq Tk size] is made, forward or backward; the scores [.. Tq
-- Tk] are. The options mean what they mean to `scaled_dot_product_attention`:
-- a query that may attend to nothing gives zeros.
-- @param q float tensor [.. Tq size]
-- @param k float tensor [.. Tk size]
-- @param v float tensor [.. Tk Dv]
-- @param w_v float tensor [size]
-- @tparam[opt] table options
--
-- * `valid_lens`: int64 tensor or list [..], or [.. Tq]: only the first so many
--   keys are seen
-- * `mask`: bool tensor that broadcasts to [.. Tq Tk], **true = may attend**
-- * `key_mask`: bool tensor that broadcasts to [.. Tk], **true = may attend**
-- * `causal`, `window`
-- * `dropout`: probability with which a weight is set to 0; `training = false`
--   turns it off; `generator` of its seed
-- * `need_weights`: returns the weights too
-- @return float tensor [.. Tq Dv]
-- @return with `need_weights`, the weights [.. Tq Tk] from before dropout
-- @raise for an unknown option, and when dtypes, shapes or values do not fit
-- @usage local x = heed.zeros(1, 2, 4)
-- local out = heed.nn.functional.additive_attention(x, x, heed.ones(1, 2, 3),
--   heed.ones(4)) --> 1 1 1 1 1 1
function F.additive_attention(q, k, v, w_v, options)
  check.keys(NAME, options, OPTIONS)
  check.tensor(NAME, "w_v", w_v)
  q, k, v = head("q", q), head("k", k), head("v", v)
  masks.check(NAME, options or {})
  local o = with_head(options)
  local q0, k0 = without_columns(q), without_columns(k)
  -- the scores are the bias of queries and keys without columns; those of
  -- pairs that are not seen are not computed
  o.bias = ops.additive_scores(q, k, w_v, masks.keep(NAME, o, q0, k0))
  local dropout = o.training ~= false and o.dropout or 0.0
  local out, w = attend(NAME, q0, k0, v, o, dropout, o.generator)
  return ops.squeeze(out, -3), w and ops.squeeze(w, -3)
end

return F
