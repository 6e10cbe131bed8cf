--- linear_attention: attention in a time linear in the length, taken into
-- `nn.functional`.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local F = {}

local NAME <const> = "linear_attention"
local OPTIONS <const> = {
  causal = true, feature = true, eps = true, key_mask = true,
  valid_lens = true,
}

-- A function, or nothing where the fused op does it.
local function read_feature(feature)
  if feature == nil or feature == "elu" then return end
  if type(feature) == "function" then return feature end
  check.fail('%s: feature must be "elu" or a function of a tensor, got %s',
    NAME, check.show(feature))
end

local function check_inputs(q, k, v)
  check.tensor(NAME, "q", q)
  check.tensor(NAME, "k", k)
  check.tensor(NAME, "v", v)
  local n, a, b, c = q.ndim, q.shape, k.shape, v.shape
  local same = n >= 2 and k.ndim == n and v.ndim == n
  for d = 1, same and n or 0 do
    same = same and (d == n or b[d] == c[d]) and (d == n - 1 or d == n or
      a[d] == b[d]) and (d ~= n or a[d] == b[d])
  end
  if not same then
    check.fail("%s: q %s, k %s and v %s must be [.. Tq D], [.. Tk D] and " ..
      "[.. Tk Dv]", NAME, check.shape(a), check.shape(b), check.shape(c))
  end
end

local function check_mask(key_mask)
  if check.is_tensor(key_mask) and key_mask.dtype == "bool" then return end
  check.fail("%s: key_mask must be a bool tensor, true where attending is " ..
    "allowed, got %s", NAME, check.show(key_mask))
end

-- Lengths [..] of k [.. H Tk D] as a mask [.. Tk].
local function lens_mask(lens, k)
  if type(lens) == "table" then
    lens = check.integers(NAME, "valid_lens", lens)
  end
  check.tensor(NAME, "valid_lens", lens)
  local tk <const>, want <const> = k:size(-2), {}
  for d = 1, k.ndim - 3 do want[d] = k:size(d) end
  if lens.dtype ~= "int64" or
     check.shape(lens.shape) ~= check.shape(want) then
    check.fail("%s: valid_lens must be int64 %s, one number a sequence, got " ..
      "%s %s", NAME, check.shape(want), lens.dtype, check.shape(lens.shape))
  end
  for _, n in ipairs(lens:numel() > 0 and
    {ops.amin(lens):item(), ops.amax(lens):item()} or {}) do
    if n < 0 or n > tk then
      check.fail("%s: valid_lens must lie in 0..%d, the number of keys, got %d",
        NAME, tk, n)
    end
  end
  return ops.le(ops.arange(1, tk), ops.unsqueeze(lens, -1))
end

-- What key_mask and valid_lens allow together, or nil.
local function read_masks(o, k)
  if o.key_mask ~= nil then check_mask(o.key_mask) end
  if o.valid_lens == nil then return o.key_mask end
  local seen <const> = lens_mask(o.valid_lens, k)
  return o.key_mask == nil and seen or ops.logical_and(o.key_mask, seen)
end

-- Each key's row of a [.. Tk D], or `fill` where the mask leaves it out.
local function keep(a, key_mask, fill)
  local rows = ops.unsqueeze(key_mask, -1)
  if a.ndim > 2 then rows = ops.unsqueeze(rows, -3) end
  return ops.where(rows, a, fill)
end

-- phi(q) (phi(k)^T v)
local function everywhere(q, k, v)
  return ops.matmul(q, ops.matmul(ops.transpose(k, -1, -2), v))
end

-- The formula for q and k that phi has been taken of.
local function weigh(q, k, v, eps, causal)
  local product = causal and ops.causal_product or everywhere
  local seen = causal and ops.cumsum(k, -2) or ops.sum(k, -2, true)
  local below = ops.add(ops.sum(ops.mul(q, seen), -1, true), eps)
  return ops.div(product(q, k, v), below)
end

--- Linear attention (Katharopoulos et al., 2020): for each query the mean of
-- the values, weighted with phi(q) . phi(k) in place of e^(q . k).
--
--     phi(q) (phi(k)^T v) / (phi(q) . sum of phi(k) + eps)
--
-- The products in brackets are made first, so that time and memory are linear
-- in Tq and Tk, forward and backward. With the default phi it is one op, which
-- reads its tensors once; else it is made of ops. Either can be differentiated
-- again; a gradient that is recorded for that (`create_graph`) is made of ops,
-- and differs from one that is not by rounding.
-- @param q float tensor [.. Tq D]
-- @param k float tensor [.. Tk D]
-- @param v float tensor [.. Tk Dv]
-- @tparam[opt] table options
--
-- * `causal`: query i sees keys 1 .. i; there must be as many
-- * `feature`: phi: `"elu"`, the default, is elu(x) + 1; or a function of a
--   tensor [.. T D] that gives one [.. T F], not negative
-- * `key_mask`: bool tensor that broadcasts to [.. Tk], the dimensions before
--   the last three of k (its heads left out); **true = may attend**
-- * `valid_lens`: int64 tensor or list [..]: only the first so many keys are
--   seen
-- * `eps`: added to the sums that are divided by, 1e-6 by default
-- @return float tensor [.. Tq Dv]
-- @raise for an unknown option, and when shapes do not fit
-- @usage local x = heed.ones(1, 3, 2)
-- local out = heed.nn.functional.linear_attention(x, x, x, {causal = true})
--   --> 1 1 1 1 1 1
function F.linear_attention(q, k, v, options)
  check.keys(NAME, options, OPTIONS)
  local o = options or {}
  check_inputs(q, k, v)
  if o.causal and q:size(-2) ~= k:size(-2) then
    check.fail("%s: causal needs as many queries as keys, got %d and %d",
      NAME, q:size(-2), k:size(-2))
  end
  local phi = read_feature(o.feature)
  local eps = check.number(NAME, "eps", o.eps or 1e-6, 0)
  local mask <const> = read_masks(o, k)
  if mask ~= nil then v = keep(v, mask, 0) end
  if phi then
    q, k = phi(q), phi(k)
    return weigh(q, mask and keep(k, mask, 0) or k, v, eps, o.causal)
  end
  -- phi(-inf) = 0
  k = mask and keep(k, mask, -math.huge) or k
  return ops.linear_attention(q, k, v, eps, o.causal and true or false)
end

return F
