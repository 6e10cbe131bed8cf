--- What may attend to what: the options that describe it, read in one place.
--
-- `read` turns them into the arguments of the fused op, `keep` and `scores`
-- into tensors for the paths that show or change the weights. Query i stands
-- beside key i + (Tk - Tq), with causal = "top-left" beside key i; distances
-- are counted from there. For packed sequences see attention_packed.lua.

local check = require "heed.check"
local core = require "heed.core"
local product = require "heed.nn.attention_product"

local ops <const> = core.ops
local fail <const> = check.fail
local is_tensor <const> = check.is_tensor

local mask = {}

-- The normal numbers of float32 lie between these.
local SMALLEST <const>, LARGEST <const> = 0x1p-126, 0x1.fffffep127

--- The options that describe what may attend to what, and the scores.
mask.KEYS = {
  causal = true, window = true, valid_lens = true, mask = true,
  key_mask = true, bias = true, alibi = true, softcap = true, sinks = true,
  scale = true, score = true, cu_seqlens = true, cu_seqlens_k = true,
  align = true,
}

-- -- single options ----------------------------------------------------------

local alignment <const> = {
  [true] = "bottom-right", ["bottom-right"] = "bottom-right",
  ["top-left"] = "top-left", [false] = "none",
}

local function read_causal(func, causal)
  if causal == nil then return nil end
  return alignment[causal] or fail('%s: causal must be true, false, ' ..
    '"bottom-right" or "top-left", got %s', func, check.show(causal))
end

local function read_align(func, align)
  if align == nil or align == "keys" or align == "valid" then return align end
  fail('%s: align must be "keys" or "valid", got %s', func, check.show(align))
end

-- How many keys before and behind its place a query sees; nil: all.
local function read_window(func, window, causal)
  if window == nil then return nil, nil end
  if type(window) == "table" then
    check.keys(func .. ": window", window, {true, true})
    return check.integer(func, "window[1]", window[1], 0),
      check.integer(func, "window[2]", window[2], 0)
  end
  if math.type(window) ~= "integer" or window < 1 then
    fail("%s: window must be a number of keys, the query's own counted, or " ..
      "{before, behind}, got %s", func, check.show(window))
  end
  return window - 1, causal and causal ~= "none" and 0 or window - 1
end

-- A tensor, or a list of numbers made one.
local function read_list(func, name, value, dtype)
  if value == nil or is_tensor(value) then return value end
  if type(value) ~= "table" then
    fail("%s: %s must be a tensor or a list, got %s", func, name,
      check.show(value))
  end
  if dtype == "int64" then return check.integers(func, name, value) end
  return core.tensor(value, {dtype = dtype})
end

-- Powers of one ratio for a power of two heads; else those of the next lower
-- power, and of twice as many heads every second one.
local function slopes_of(heads)
  local list = {}
  if heads == 0 then return list end
  local power = 1 << math.floor(math.log(heads, 2) + 1e-9)
  for h = 1, power do list[h] = 2.0 ^ (-8 * h / power) end
  for h = 1, heads - power do
    list[power + h] = 2.0 ^ (-4 * (2 * h - 1) / power)
  end
  return list
end

local slopes <const> = {float32 = {}, float64 = {}}

--- The slopes of ALiBi (Press et al., 2022) for a number of heads.
-- @tparam integer heads
-- @tparam string dtype
-- @return tensor [H]
function mask.alibi_slopes(heads, dtype)
  local made = slopes[dtype]
  made[heads] = made[heads] or
    core.tensor(slopes_of(heads), {dtype = dtype})
  return made[heads]
end

-- The dtype that attention computes in: halves are only stored.
local function computed(q)
  return q.dtype == "float64" and "float64" or "float32"
end

local function read_alibi(func, alibi, q)
  if not alibi then return nil end
  if alibi == true then return mask.alibi_slopes(q:size(-3), computed(q)) end
  return read_list(func, "alibi", alibi, computed(q))
end

-- -- all of them -------------------------------------------------------------

--- Raises for options whose kind the op would name less well.
function mask.check(func, o)
  for _, name in ipairs {"mask", "key_mask"} do
    local value = o[name]
    if value ~= nil and not (is_tensor(value) and value.dtype == "bool") then
      fail("%s: %s must be a bool tensor, true where attending is allowed, " ..
        "got %s; numbers to add to the scores are a bias", func, name,
        check.show(value))
    end
  end
  if o.bias ~= nil then
    if not is_tensor(o.bias) or not o.bias.dtype:find "float" then
      fail("%s: bias must be a float tensor, added to the scores, got %s; " ..
        "where attending is allowed is a mask", func, check.show(o.bias))
    end
  end
end

--- The arguments of `ops.attention` behind q, k and v, but for the dropout.
-- @tparam string func the function that the user called
-- @tparam table o options
-- @param q tensor [.. H Tq D]
function mask.read(func, o, q)
  local causal = read_causal(func, o.causal)
  local left, right = read_window(func, o.window, causal)
  if o.mask ~= nil or o.key_mask ~= nil or o.bias ~= nil then
    mask.check(func, o)
  end
  return o.mask, o.key_mask, o.bias,
    read_list(func, "valid_lens", o.valid_lens, "int64"),
    read_alibi(func, o.alibi, q),
    read_list(func, "sinks", o.sinks, computed(q)),
    read_list(func, "cu_seqlens", o.cu_seqlens, "int64"),
    read_list(func, "cu_seqlens_k", o.cu_seqlens_k, "int64"),
    causal, left, right, o.scale, o.softcap, read_align(func, o.align)
end

-- The place of each key relative to its query, negative before it: [Tq Tk], or
-- [.. 1 Tq Tk] where queries stand by the lengths [..].
local function distances(tq, tk, causal, align, lens)
  local key, query = ops.arange(1, tk), ops.arange(1, tq)
  if align == "valid" then
    query = ops.add(ops.unsqueeze(ops.sub(lens, tq), -1), query)
    return ops.unsqueeze(ops.sub(key, ops.unsqueeze(query, -1)), -3)
  end
  local shift = causal == "top-left" and 0 or tk - tq
  return ops.sub(key, ops.unsqueeze(ops.add(query, shift), -1))
end

local function join(a, b)
  return a and ops.logical_and(a, b) or b
end

-- Adds the dimension of heads (and of queries) before the last one.
local function over_heads(t, count)
  for _ = 1, count do t = ops.unsqueeze(t, -2) end
  return t
end

--- All that rules keys out, as one mask.
-- @tparam string func the function that the user called
-- @tparam table o options
-- @param q tensor [.. H Tq D]
-- @param k tensor [.. Hk Tk D]
-- @return bool tensor that broadcasts to [.. H Tq Tk], true where attending
-- is allowed, or nil when all of it is
function mask.keep(func, o, q, k)
  local _, _, _, lens, _, _, _, _, causal, left, right, _, _, align =
    mask.read(func, o, q)
  local tq, tk = q:size(-2), k:size(-2)
  local keep = nil
  if align == "valid" then
    -- over no heads: the op checks lengths, and does nothing
    local none = k:narrow(-3, 1, 0)
    ops.attention(q:narrow(-3, 1, 0), none, none, nil, nil, nil, lens, nil,
      nil, nil, nil, causal, left, right, nil, nil, nil, nil, align)
  end
  if causal and causal ~= "none" then right = 0 end
  if left or right then
    local at = distances(tq, tk, causal, align, lens)
    if left then keep = join(keep, ops.ge(at, -left)) end
    if right then keep = join(keep, ops.le(at, right)) end
  end
  if lens then
    local seen = ops.le(ops.arange(1, tk), ops.unsqueeze(lens, -1))
    -- one length a query: [.. Tq Tk], else one a batch entry: [.. Tk]
    local per_query = lens.ndim == q.ndim - 2
    seen = per_query and ops.unsqueeze(seen, -3) or over_heads(seen, 2)
    keep = join(keep, seen)
  end
  if o.key_mask then keep = join(keep, over_heads(o.key_mask, 2)) end
  if o.mask then keep = join(keep, o.mask) end
  -- so that not even a NaN of the key comes through
  if o.bias then keep = join(keep, ops.ne(o.bias, -math.huge)) end
  return keep
end

--- The scores before the mask.
-- @param keep what `mask.keep` gave
-- @return tensor [.. H Tq Tk]
function mask.scores(func, o, q, k, keep)
  local _, _, bias, lens, alibi, _, _, _, causal, _, _, _, _, align =
    mask.read(func, o, q)
  local scale = o.scale or q:size(-1) > 0 and q:size(-1) ^ -0.5 or 1.0
  local finite = product.finite(k)
  local s = product.scores(ops.mul(q, scale), k, finite)
  -- the slope of the NaN of a hidden key is NaN too
  if keep and not finite then s = ops.where(keep, s, 0) end
  local cap = o.softcap or 0
  if cap > 0 then
    -- a bound outside of the dtype does the same as one at its end
    if s.dtype == "float32" then
      cap = math.max(math.min(cap, LARGEST), SMALLEST)
    end
    s = ops.mul(ops.tanh(ops.div(s, cap)), cap)
  end
  if alibi then
    local far = ops.abs(distances(q:size(-2), k:size(-2), causal, align, lens))
    local slope = ops.reshape(alibi, {-1, 1, 1})
    s = ops.sub(s, ops.mul(slope, ops.to(far, computed(q))))
  end
  if bias then s = ops.add(s, bias) end
  if o.score then s = o.score(s) end
  return s
end

-- Puts the score of a sink behind the last key of every row.
local function add_sinks(s, keep, sinks)
  local shape = s.shape
  shape[#shape] = 1
  local column = ops.expand(ops.reshape(sinks, {-1, 1, 1}), shape)
  if keep then
    local own = ops.expand(keep, s.shape)
    keep = ops.cat({own, ops.ones(shape, "bool")}, -1)
  end
  return ops.cat({s, column}, -1), keep
end

--- The weights, as the fused op would use them before dropout.
-- @param keep what `mask.keep` gave
-- @return tensor [.. H Tq Tk]
function mask.weights(func, o, q, k, keep)
  local s, n = mask.scores(func, o, q, k, keep), k:size(-2)
  if n == 0 then return s end
  local sinks = read_list(func, "sinks", o.sinks, computed(q))
  if sinks then s, keep = add_sinks(s, keep, sinks) end
  -- a row of -inf only has no softmax: the masked one gives zeros
  keep = keep or ops.ones({1}, "bool")
  local w = ops.masked_softmax(s, keep)
  return sinks and w:narrow(-1, 1, n) or w
end

--- k or v with zeros for the keys that no query may see: what stands there
-- must not reach a result, not even as 0 * NaN.
function mask.clean(t, keep)
  if not keep then return t end
  while keep.ndim < 3 do keep = ops.unsqueeze(keep, 1) end
  local seen = ops.any(keep, {-3, -2}, true)
  return ops.where(ops.transpose(seen, -1, -2), t, 0)
end

return mask
