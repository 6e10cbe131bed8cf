--- pair: joins two operands of einsum, as one matrix product where there is
-- something to sum over.
--
-- Labels of a pair are
--
--     batch   in both and still needed     left    in the first only
--     inner   in both and not needed       right   in the second only
--
-- so that the product is [batch.. left inner] x [batch.. inner right].

local core = require "heed.core"
local label = require "heed.einsum.labels"

local ops <const> = core.ops

local MATMUL_BATCH <const> = 6

local FLOAT <const> = {
  float16 = true, bfloat16 = true, float32 = true, float64 = true,
}

local pair = {}

-- Where the labels `to` stand in `from`; nil when they stand there so already.
local function order(from, to)
  local place, list, same = {}, {}, #from == #to
  for d, l in ipairs(from) do place[l] = d end
  for d, l in ipairs(to) do
    list[d] = place[l]
    same = same and list[d] == d
  end
  return not same and list or nil
end

--- A function that puts a tensor's dimensions in an order, if need be.
function pair.arranger(from, to)
  local dims = order(from, to)
  if not dims then return nil end
  if #dims == 2 then return ops.transpose end
  return function(t) return ops.permute(t, dims) end
end

--- Sums over the labels that are not needed: the rest, and a function or nil.
function pair.summer(labels, needed)
  local dims = {}
  for d, l in ipairs(labels) do
    if not needed[l] then dims[#dims + 1] = d end
  end
  if #dims == 0 then return labels, nil end
  return label.select(labels, function(l) return needed[l] end),
    function(t) return ops.sum(t, dims) end
end

-- Makes one dimension of each group of labels; nil when they are single.
local function grouper(batch, first, second)
  if #first == 1 and #second == 1 and #batch <= MATMUL_BATCH then
    return nil
  end
  return function(t, size)
    local shape = {}
    if #batch > MATMUL_BATCH then
      shape[1] = label.count(batch, size)
    else
      for d, l in ipairs(batch) do shape[d] = size[l] end
    end
    shape[#shape + 1] = label.count(first, size)
    shape[#shape + 1] = label.count(second, size)
    return ops.reshape(t, shape)
  end
end

-- A function that gives a tensor with `from` the dimensions `to`, of size 1
-- where it has none.
local function spreader(from, to)
  local has = label.set(from)
  local own = label.select(to, function(l) return has[l] end)
  local arrange, missing, seen = pair.arranger(from, own), {}, false
  for d, l in ipairs(to) do
    if has[l] then
      seen = true
    elseif seen then
      missing[#missing + 1] = d - #to - 1 -- those in front are implied
    end
  end
  return function(t)
    if arrange then t = arrange(t) end
    for k = #missing, 1, -1 do t = ops.unsqueeze(t, missing[k]) end
    return t
  end
end

-- a * b, summed over the last `inner` of `labels`.
local function by_product(a, b, labels, inner)
  local left, right, dims = spreader(a, labels), spreader(b, labels), {}
  for k = 1, inner do dims[k] = -k end
  return function(t, u)
    local y = ops.mul(left(t), right(u))
    return inner > 0 and ops.sum(y, dims) or y
  end
end

-- A product of matrices; also returns whether it looks at sizes.
local function by_matmul(a, b, batch, left, inner, right)
  local arrange_a = pair.arranger(a, label.join(batch, left, inner))
  local arrange_b = pair.arranger(b, label.join(batch, inner, right))
  local group_a = grouper(batch, left, inner)
  local group_b = grouper(batch, inner, right)
  -- what was grouped comes apart again
  local labels = label.join(batch, left, right)
  local ungroup = #left ~= 1 or #right ~= 1 or #batch > MATMUL_BATCH
  local plain = by_product(a, b, label.join(labels, inner), #inner)
  return function(t, u, size)
    if not (FLOAT[t.dtype] or FLOAT[u.dtype]) then return plain(t, u) end
    if arrange_a then t = arrange_a(t) end
    if arrange_b then u = arrange_b(u) end
    if group_a then t = group_a(t, size) end
    if group_b then u = group_b(u, size) end
    local y = ops.matmul(t, u)
    if not ungroup then return y end
    local shape = {}
    for d, l in ipairs(labels) do shape[d] = size[l] end
    return ops.reshape(y, shape)
  end, group_a or group_b or ungroup
end

-- Do labels of `right` come before those of `left` in the output?
local function comes_first(right, left, output)
  for _, l in ipairs(output) do
    for _, m in ipairs(left) do if m == l then return false end end
    for _, m in ipairs(right) do if m == l then return true end end
  end
  return false
end

--- The step that joins operands with labels a and b, of which `needed` are
-- needed later: a function of both tensors and the sizes, the labels of its
-- result, and whether it looks at the sizes.
function pair.join(a, b, needed, output)
  local in_a, in_b = label.set(a), label.set(b)
  local wanted = setmetatable({}, {__index = needed})
  for l in pairs(in_a) do
    if in_b[l] then wanted[l] = true end
  end
  local sum_a, sum_b
  a, sum_a = pair.summer(a, wanted)
  b, sum_b = pair.summer(b, wanted)
  local batch = label.select(a, function(l) return in_b[l] and needed[l] end)
  local inner = label.select(a, function(l)
    return in_b[l] and not needed[l]
  end)
  local left = label.select(a, function(l) return not in_b[l] end)
  local right = label.select(b, function(l) return not in_a[l] end)
  local run, labels, sized
  if #inner == 0 or #left + #right == 0 then
    local all = label.set(batch, left, right)
    labels = label.join(batch, left, right)
    local ordered = label.select(output, function(l) return all[l] end)
    if #ordered == #labels then labels = ordered end
    run = by_product(a, b, label.join(labels, inner), #inner)
  elseif comes_first(right, left, output) then
    labels = label.join(batch, right, left)
    local swapped
    swapped, sized = by_matmul(b, a, batch, right, inner, left)
    run = function(t, u, size) return swapped(u, t, size) end
  else
    labels = label.join(batch, left, right)
    run, sized = by_matmul(a, b, batch, left, inner, right)
  end
  if not (sum_a or sum_b) then return run, labels, sized end
  return function(t, u, size)
    if sum_a then t = sum_a(t) end
    if sum_b then u = sum_b(u) end
    return run(t, u, size)
  end, labels, sized
end

return pair
