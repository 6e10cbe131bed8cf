--- pattern: what attends to what, as tensors for the options of
-- `scaled_dot_product_attention`; taken into `nn.functional`. The option
-- `window` makes a local pattern without a tensor.

local check = require "heed.check"
local core = require "heed.core"
local mask = require "heed.nn.attention_mask"

local ops <const> = core.ops

local F = {}

--- The bias of an adaptive span (Sukhbaatar et al., 2019): the logarithm of
-- the soft mask m = clamp((ramp + span - distance) / ramp, 0, 1).
--
-- With it as `bias`, attention weighs a key by m e^score: in full up to a
-- distance of `span`, less and less along the ramp, and not at all beyond.
-- The last query stands beside the last key. The span can be learnt: it has a
-- gradient on the ramp. `window`, set to the largest span + ramp, leaves out
-- what is beyond them all.
-- @param span float tensor [..], not negative; [H 1 1] for heads, say
-- @tparam integer tq number of queries
-- @tparam[opt] integer tk number of keys, `tq` by default
-- @tparam[opt] table options `ramp`: its length, 32 by default
-- @return float tensor: span broadcast with [Tq Tk]
-- @raise when span is no float tensor or a number is out of range
-- @usage local bias = heed.nn.functional.span_bias(heed.tensor {0.0}, 1, 3,
--   {ramp = 2})
-- return bias:exp() --> 0 0.5 1
function F.span_bias(span, tq, tk, options)
  local func <const> = "span_bias"
  check.tensor(func, "span", span)
  check.integer(func, "tq", tq, 0)
  if type(tk) == "table" then tk, options = nil, tk end
  tk = check.integer(func, "tk", tk or tq, 0)
  check.keys(func, options, {ramp = true})
  local ramp = options and options.ramp or 32
  if check.number(func, "ramp", ramp, 0) == 0 then
    check.fail("%s: ramp must be positive, got 0", func)
  end
  local key, query = ops.arange(1, tk), ops.arange(1 + tk - tq, tk)
  local far = ops.abs(ops.sub(key, ops.unsqueeze(query, -1)))
  local m = ops.div(ops.sub(ops.add(span, ramp), far), ramp)
  -- the logarithm of 0 has no gradient: 1 stands in for it
  local seen = ops.gt(m, 0)
  return ops.where(seen,
    ops.log(ops.where(seen, ops.clamp(m, nil, 1), 1)), -math.huge)
end

-- A dimension of a layout made one of `wanted` places, `block` for each of its
-- own.
local function spread(name, layout, dim, block, wanted)
  local blocks <const> = layout:size(dim)
  wanted = check.integer("block_mask", name, wanted or blocks * block, 0)
  local needed <const> = (wanted + block - 1) // block
  if needed ~= blocks then
    check.fail("block_mask: %s %d takes %d blocks of %d, layout has %d", name,
      wanted, needed, block, blocks)
  end
  layout = layout:repeat_interleave(block, dim)
  return wanted == blocks * block and layout or
    ops.slice(layout, dim, 1, wanted)
end

--- The slopes of ALiBi (Press et al., 2022), by which a key's distance lowers
-- its score: 2^(-8 h / H) for head h of H from 1, where H is a power of two;
-- for others those of the power below, and of twice as many heads every second
-- one.
-- @tparam integer heads their number H
-- @tparam[opt="float32"] string dtype
-- @return tensor [H], what the option `alibi = true` of attention takes
-- @raise when heads is no integer of at least 0
-- @usage heed.nn.functional.alibi_slopes(4) --> 0.25 0.0625 0.0156 0.0039
function F.alibi_slopes(heads, dtype)
  check.integer("alibi_slopes", "heads", heads, 0)
  if dtype ~= nil and dtype ~= "float32" and dtype ~= "float64" then
    check.fail('alibi_slopes: dtype must be "float32" or "float64", got %s',
      check.show(dtype))
  end
  return mask.alibi_slopes(heads, dtype or "float32"):clone()
end

--- A block-sparse mask: each element of a layout made a square of `block` x
-- `block` pairs of query and key.
-- @param layout bool tensor [.. Nq Nk], **true = may attend**
-- @tparam integer block size of a block
-- @tparam[opt] integer tq number of queries, Nq * block by default; the last
-- block is cut to it
-- @tparam[opt] integer tk number of keys, likewise
-- @return bool tensor [.. Tq Tk]
-- @raise when layout is not bool, or its blocks are not as many as it takes
-- @usage heed.nn.functional.block_mask(heed.eye(2):gt(0), 2, 3, 3)
--   --> true true false true true false false false true
function F.block_mask(layout, block, tq, tk)
  local func <const> = "block_mask"
  check.tensor(func, "layout", layout)
  if layout.dtype ~= "bool" or layout.ndim < 2 then
    check.fail("%s: layout must be a bool tensor [.. Nq Nk], got %s", func,
      check.show(layout))
  end
  check.integer(func, "block", block, 1)
  layout = spread("tq", layout, -2, block, tq)
  return spread("tk", layout, -1, block, tk)
end

return F
