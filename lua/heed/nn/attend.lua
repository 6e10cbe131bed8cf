--- Attention without the check of option names, for modules.

local core = require "heed.core"
local mask = require "heed.nn.attention_mask"
local packed = require "heed.nn.attention_packed"
local product = require "heed.nn.attention_product"

local ops <const> = core.ops

-- Through tensors of all scores: shows the weights, runs the user's function.
local function attend_openly(func, q, k, v, o, dropout, generator)
  local keep = mask.keep(func, o, q, k)
  k = mask.clean(k, keep)
  local w = mask.weights(func, o, q, k, keep)
  if not o.score then return nil, w end
  local dropped = ops.dropout(w, dropout, true, generator)
  return product.values(dropped, mask.clean(v, keep)), w
end

-- The same for packed sequences, one after the other.
local function attend_packed(func, q, k, v, o, dropout, generator)
  local outs, blocks = {}, {}
  for i, one in ipairs(packed.cut(func, o, q, k, v)) do
    outs[i], blocks[i] = attend_openly(func, one[1], one[2], one[3], one[4],
      dropout, generator)
  end
  return o.score and ops.cat(outs, -2), packed.diagonal(blocks)
end

--- `F.scaled_dot_product_attention` of tensors with heads: `func` is the name
-- for messages, `o` the options, whose names the caller has checked; dropout
-- stands beside them.
return function(func, q, k, v, o, dropout, generator)
  local out, w
  if o.need_weights or o.score then
    local openly = (o.cu_seqlens or o.cu_seqlens_k) and attend_packed or
      attend_openly
    out, w = openly(func, q, k, v, o, dropout, generator)
  end
  if not out then
    local mask_, key_mask, bias, lens, alibi, sinks, cu, cu_k, causal, left,
      right, scale, softcap, align = mask.read(func, o, q)
    local seed = dropout > 0 and core.draw(generator) or nil
    out = ops.attention(q, k, v, mask_, key_mask, bias, lens, alibi, sinks,
      cu, cu_k, causal, left, right, scale, softcap, dropout, seed,
      align)
  end
  if o.need_weights then return out, w end
  return out
end
