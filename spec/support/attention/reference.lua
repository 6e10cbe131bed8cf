--- reference: attention as its formula stands, with all scores in one tensor.
--
--     local plain = reference.attend(q, k, v, options, seed)
--     plain.out, plain.weights
--
-- Takes the options of F.scaled_dot_product_attention and shares nothing with
-- how that reads them.

local heed = require "heed"
local philox = require "spec.support.attention.philox"

local reference = {}

local INF <const> = math.huge

-- shape with the sizes of the dimensions before its last `n`, then those given
local function shape_with(shape, n, ...)
  local list = table.move(shape, 1, #shape - n, 1, {})
  for _, size in ipairs {...} do list[#list + 1] = size end
  return list
end

local function tensor_of(list, dtype)
  return heed.is_tensor(list) and list or heed.tensor(list, {dtype = dtype})
end

-- -- what may be seen --------------------------------------------------------

-- By how much key j is ahead of the place of query i: [Tq Tk].
local function places_ahead(tq, tk, causal)
  local shift = causal == "top-left" and 0 or tk - tq
  return heed.arange(1, tk) - (heed.arange(1, tq) + shift):reshape(tq, 1)
end

local function inside(ahead, window, causal)
  if type(window) == "table" then
    return ahead:ge(-window[1]) & ahead:le(window[2])
  end
  local near = ahead:gt(-window)
  return causal and near or near & ahead:lt(window)
end

-- bool [.. H Tq Tk]
local function keep_of(o, shape)
  local n = #shape
  local tq, tk = shape[n - 1], shape[n]
  local keep = heed.ones(shape, {dtype = "bool"})
  local ahead = places_ahead(tq, tk, o.causal)
  if o.causal then keep = keep & ahead:le(0) end
  if o.window then keep = keep & inside(ahead, o.window, o.causal) end
  if o.valid_lens then
    local lens = tensor_of(o.valid_lens, "int64")
    local rows = lens.ndim == n - 2 and tq or 1
    lens = lens:reshape(shape_with(shape, 3, 1, rows, 1))
    keep = keep & heed.arange(1, tk):le(lens)
  end
  if o.key_mask then
    keep = keep & o.key_mask:unsqueeze(-2):unsqueeze(-2)
  end
  if o.mask then keep = keep & o.mask end
  if o.bias then keep = keep & o.bias:ne(-INF) end
  return keep, ahead
end

-- -- scores ------------------------------------------------------------------

-- Those of the paper: for n heads, a power of two, 2^(-8/n), its square and so
-- on; for others those of the power below, then each second of twice as many.
local function slopes_of(n)
  local power = 1
  while 2 * power <= n do power = 2 * power end
  local list, more = {}, power < n and slopes_of(2 * power) or {}
  for h = 1, power do list[h] = (2 ^ (-8 / power)) ^ h end
  for h = power + 1, n do list[h] = more[2 * (h - power) - 1] end
  return list
end

-- One number a head, against [.. H Tq Tk].
local function by_head(list, like)
  return tensor_of(list, like.dtype):reshape(-1, 1, 1)
end

local function distance_cost(o, ahead, q)
  local slopes = o.alibi == true and slopes_of(q:size(-3)) or o.alibi
  return by_head(slopes, q) * ahead:abs():to(q.dtype)
end

-- The factor of the products.
local function scale_of(o, d) return o.scale or d > 0 and d ^ -0.5 or 1 end

-- [.. H Tq Tk], and how large they could be, had no term a sign
local function scores(t)
  local q, k, o = t.q, t.k, t.o
  local scale = scale_of(o, q:size(-1))
  local s = q:matmul(k:transpose(-1, -2)) * scale
  local size = q:abs():matmul(k:abs():transpose(-1, -2)) * math.abs(scale)
  if o.softcap then
    s = (s / o.softcap):tanh() * o.softcap
    size = size + o.softcap
  end
  if o.alibi then
    local cost = distance_cost(o, t.ahead, q)
    s, size = s - cost, size + cost:abs()
  end
  if o.bias then
    t.bias = heed.where(o.bias:eq(-INF), 0, o.bias)
    s, size = s + t.bias, size + t.bias:abs()
  end
  return s, size:detach()
end

-- -- weights -----------------------------------------------------------------

-- e^s of what is kept over their sum, that of the sink with them; 0 where
-- nothing is kept.
local function weigh(t, s)
  if s:size(-1) == 0 then return s end
  local held = heed.where(t.keep, s, -INF)
  local top = held:amax(-1, true):detach()
  top = heed.where(top:eq(-INF), 0, top)
  local sink = t.o.sinks and by_head(t.o.sinks, s)
  if sink then top = top:maximum(sink:detach()) end
  local e = heed.where(t.keep, s - top, -INF):exp()
  local sum = e:sum(-1, true)
  if sink then
    local own = (sink - top):exp()
    sum = sum + own
    t.sink, t.sink_weight = sink, (own / sum):detach()
  end
  return e / heed.where(sum:eq(0), 1, sum)
end

-- 0 .. n - 1 along a dimension of its own, with `after` more behind it.
local function count_along(n, after)
  local shape = {n}
  for i = 1, after do shape[i + 1] = 1 end
  return (heed.arange(1, n) - 1):reshape(shape)
end

--- The factors of dropout: 0, or 1 / (1 - p). A key is dropped when its word
-- is below p 2^32; four keys share the counter (key / 4, query, head), where
-- heads count over the batch.
-- @return tensor float64 [.. H Tq Tk]
function reference.drop_factors(shape, p, seed)
  local n, heads = #shape, 1
  local rows, keys = shape[n - 1], shape[n]
  for d = 1, n - 2 do heads = heads * shape[d] end
  if heads * rows * keys == 0 then
    return heed.zeros(shape, {dtype = "float64"})
  end
  local words = heed.stack({philox(seed, count_along((keys + 3) // 4, 0),
    count_along(rows, 1), count_along(heads, 2), 0)}, -1) -- [heads Tq Tk/4 4]
  local kept = words:flatten(-2, -1):slice(-1, 1, keys)
    :ge(math.floor(p * 2 ^ 32))
  local factor = p < 1 and 1 / (1 - p) or 0
  return (kept:to("float64") * factor):reshape(shape)
end

--- Attention of float64 tensors [.. H Tq D], [.. Hk Tk D], [.. Hk Tk Dv].
-- @tparam table o options of F.scaled_dot_product_attention
-- @tparam[opt] integer seed of the dropout: what its generator draws
-- @treturn table `out` and `weights`, those from before dropout; the rest is
-- for `reference.rounding`
function reference.attend(q, k, v, o, seed)
  local heads, tk = q:size(-3), k:size(-2)
  local t = {o = o, q = q}
  local of = {} -- the key/value head of each query head
  for h = 1, heads do of[h] = (h - 1) // (heads // k:size(-3)) + 1 end
  of = heads > 0 and heed.tensor(of, {dtype = "int64"})
  t.k = of and k:index_select(of, -3) or k
  t.v = of and v:index_select(of, -3) or v
  t.shape = shape_with(q.shape, 1, tk)
  t.keep, t.ahead = keep_of(o, t.shape)
  local s
  s, t.size = scores(t)
  t.weights = weigh(t, s)
  local p = o.training ~= false and o.dropout or 0
  t.drop = p > 0 and reference.drop_factors(t.shape, p, seed) or
    heed.ones(t.shape, {dtype = "float64"})
  t.out = (t.weights * t.drop):matmul(t.v)
  return t
end

-- -- rounding ----------------------------------------------------------------

-- Rounding errors of a sum of n terms, in units of u times the sum of their
-- sizes: they are independent and of either sign, so that they grow with the
-- square root of n (Higham and Mary, 2019). The constants leave room for
-- exponentials and tanh that are off by a few u.
local function grown(n) return 4 + n ^ 0.5 end

-- The same for each number of t: `out`, `weights`, and the gradients of the
-- parts that go into the scores and the result.
local function sizes(t, up)
  local _ <close> = heed.no_grad()
  local o, p, drop = t.o, t.weights, t.drop
  local q, k, v = t.q:abs(), t.k:abs(), t.v:abs()
  local rows = p:numel() // math.max(p:size(-1), 1)
  local rho = heed.where(t.keep, t.size * grown(q:size(-1)), 0)
  rho = p:size(-1) > 0 and rho:amax(-1, true) or rho:sum(-1, true)
  if o.sinks then rho = rho + by_head(o.sinks, q):abs() end
  rho = 2 * rho + grown(p:size(-1)) + grown(v:size(-1)) + grown(rows)
  local dp = drop * up.out:abs():matmul(v:transpose(-1, -2))
  if up.weights then dp = dp + up.weights:abs() end
  local mean = (p * dp):sum(-1, true)
  local ds = p * (dp + mean) * rho
  local scale = math.abs(scale_of(o, q:size(-1)))
  return {
    weights = p * rho, out = (p * drop):matmul(v) * rho,
    q = ds:matmul(k) * scale, k = ds:transpose(-1, -2):matmul(q) * scale,
    v = (p * drop * rho):transpose(-1, -2):matmul(up.out:abs()),
    bias = ds, sink = t.sink and t.sink_weight * mean * rho,
  }
end

--- To first order, by how many units of roundoff rounding can move each number
-- of the results, and of the gradients of sum(out * up.out) + sum(weights *
-- up.weights).
--
-- A score is off by at most E, so a weight by rho = 2 max E times itself. What
-- is made of weights is off by rho times what it is made of, without signs:
-- with D = drop * (up . v), ds by rho P (D + sum of P D), and so on.
-- @tparam table t of `reference.attend`
-- @tparam table up `out` and, when they go into the sum, `weights`
-- @tparam table leaves tensors that `t` was made of
-- @treturn table `out` and `weights`
-- @treturn table a tensor, or nil, for each leaf
function reference.rounding(t, up, leaves)
  local b, total = sizes(t, up), 0
  -- each use of a leaf adds to what its gradient is off by
  for _, name in ipairs {"q", "k", "v", "bias", "sink"} do
    if t[name] then total = total + (t[name] * b[name]):sum() end
  end
  if not total.requires_grad then return b, {} end
  return b, {heed.grad(total, leaves, {retain_graph = true})}
end

return reference
