--- Packed sequences on the paths that show or change the weights: each is cut
-- out and attends by itself, so that nothing of one reaches another.

local core = require "heed.core"
local mask = require "heed.nn.attention_mask"

local ops <const> = core.ops

local packed = {}

-- How long the sequences are that lie between offsets.
local function lengths_of(offsets)
  local list, at = {}, offsets:totable()
  for i = 1, #at - 1 do list[i] = at[i + 1] - at[i] end
  if #list == 0 then list[1] = 0 end
  return list
end

-- The parts of an option, which may be missing; a size of 1 serves them all.
local function split_option(t, lengths, dim)
  if t and t.ndim >= -dim and t:size(dim) > 1 then
    return t:split(lengths, dim)
  end
  local list = {}
  for i = 1, #lengths do list[i] = t end
  return list
end

-- Lengths [N] as those of each sequence, [..]; of queries, those of its own.
local function split_lens(lens, count, queries, q)
  if not lens or lens.ndim > 1 or lens:size(1) ~= count then
    return split_option(lens, queries, -1)
  end
  local batch, list = q.shape, {}
  for _ = 1, 3 do batch[#batch] = nil end
  for i = 1, count do
    list[i] = ops.expand(ops.select(lens, 1, i), batch)
  end
  return list
end

-- Part i of a mask or bias.
local function block(t, i, queries, keys)
  return split_option(split_option(t, queries, -2)[i], keys, -1)[i]
end

--- The sequences of a call, each with its own part of everything.
-- @tparam string func the function that the user called
-- @tparam table o options, with `cu_seqlens`
-- @param q tensor [.. H Tq D]
-- @param k tensor [.. Hk Tk D]
-- @param v tensor [.. Hk Tk Dv]
-- @treturn table a list of {q, k, v, o}
function packed.cut(func, o, q, k, v)
  local _, _, _, lens, _, _, cu, cu_k = mask.read(func, o, q)
  -- over no heads: the op checks offsets and lengths, and does nothing
  local none = k:narrow(-3, 1, 0)
  ops.attention(q:narrow(-3, 1, 0), none, none, nil, nil, nil, lens, nil, nil,
    cu, cu_k)
  local queries, keys = lengths_of(cu), lengths_of(cu_k or cu)
  local qs, ks, vs = q:split(queries, -2), k:split(keys, -2), v:split(keys, -2)
  local valid = split_lens(lens, cu:size(1) - 1, queries, q)
  local seen, list = split_option(o.key_mask, keys, -1), {}
  for i = 1, #queries do
    local one = {}
    for name, value in pairs(o) do one[name] = value end
    one.cu_seqlens, one.cu_seqlens_k = nil, nil
    one.valid_lens, one.key_mask = valid[i], seen[i]
    one.mask = block(o.mask, i, queries, keys)
    one.bias = block(o.bias, i, queries, keys)
    list[i] = {qs[i], ks[i], vs[i], one}
  end
  return list
end

--- Blocks [.. M N] along the diagonal, zeros elsewhere.
function packed.diagonal(blocks)
  local width, before, rows = 0, 0, {}
  for _, own in ipairs(blocks) do width = width + own:size(-1) end
  for i, own in ipairs(blocks) do
    local function zeros(n)
      local shape = own.shape
      shape[#shape] = n
      return ops.zeros(shape, own.dtype)
    end
    local n = own:size(-1)
    rows[i] = ops.cat({zeros(before), own, zeros(width - before - n)}, -1)
    before = before + n
  end
  return ops.cat(rows, -2)
end

--- `mask.keep` over all sequences, false between them: [.. Tq Tk].
function packed.keep(func, o, q, k)
  local blocks = {}
  for i, one in ipairs(packed.cut(func, o, q, k, k)) do
    local keep = mask.keep(func, one[4], one[1], one[2]) or
      ops.ones({1, 1}, "bool")
    local shape = keep.shape
    local n = math.max(#shape, 2)
    shape[n - 1], shape[n] = one[1]:size(-2), one[2]:size(-2)
    blocks[i] = ops.expand(keep, shape)
  end
  return packed.diagonal(blocks)
end

return packed
