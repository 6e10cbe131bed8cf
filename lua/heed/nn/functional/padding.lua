--- Padding, and the sizes of images changed.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local PAD <const> = {mode = "constant", value = 0}

local F = {}

-- -- padding -----------------------------------------------------------------

-- x without what negative padding cuts off a dimension of size n.
local function cut(x, d, n, before, after)
  local first, last = 1 + math.max(-before, 0), n - math.max(-after, 0)
  if first == 1 and last == n then return x end
  if first > last then
    check.fail("pad: x %s has fewer than %d elements in dim %d to cut off",
      check.shape(x.shape), first - 1 + n - last, d)
  end
  return ops.slice(x, d, first, last)
end

local function constant(x, d, before, after, value)
  x = cut(x, d, x:size(d), before, after)
  local parts = {x}
  local shape <const> = x.shape
  local function add(at, n)
    if n <= 0 then return end
    shape[d] = n
    table.insert(parts, at, ops.full(shape, value, x.dtype))
  end
  add(1, before)
  add(#parts + 1, after)
  return #parts == 1 and x or ops.cat(parts, d)
end

-- Which element stands at place i, which lies outside of 1 .. n.
local from <const> = {
  reflect = function(i, n) return i < 1 and 2 - i or 2 * n - i end,
  replicate = function(i, n) return i < 1 and 1 or n end,
  circular = function(i, n) return (i - 1) % n + 1 end,
}

-- The most padding that a mode can fill on a side of n elements.
local most <const> = {
  reflect = function(n) return n - 1 end,
  replicate = function(n) return n > 0 and math.huge or 0 end,
  circular = function(n) return n end,
}

local function repeated(x, d, before, after, mode)
  local n <const> = x:size(d)
  if math.max(before, after) > most[mode](n) then
    check.fail('pad: mode "%s" takes at most %d of dim %d of x %s, got %d',
      mode, most[mode](n), d, check.shape(x.shape), math.max(before, after))
  end
  local index = {}
  for i = 1 - before, n + after do
    index[#index + 1] = i >= 1 and i <= n and i or from[mode](i, n)
  end
  if #index == 0 then return cut(x, d, n, before, after) end
  return ops.index_select(x, core.tensor(index, {dtype = "int64"}), d)
end

--- x with more around it.
-- @tparam tensor x
-- @tparam table pad how much before and behind, of the last dimension first:
-- {left, right, above, below, ..}; negative numbers cut off
-- @tparam[opt] table options `mode`: `"constant"` (default), filled with
-- `value` (0); `"reflect"`: mirrored at the first and the last element;
-- `"replicate"`: these again; `"circular"`: from the other end
-- @treturn tensor
-- @raise when there are more pairs than dimensions, or a mode has not as much
-- to give
-- @usage heed.nn.functional.pad(heed.tensor {1, 2, 3}, {2, 1},
--   {mode = "reflect"}) --> 3 2 1 2 3 2
function F.pad(x, pad, options)
  check.tensor("pad", "x", x)
  local o = check.options("pad", options, PAD)
  check.kind("pad", "pad", pad, "table")
  if #pad % 2 ~= 0 or #pad > 2 * x.ndim then
    check.fail("pad: pad must hold 2 numbers for each of at most %d " ..
      "dimensions, got %d", x.ndim, #pad)
  end
  if o.mode ~= "constant" and not from[o.mode] then
    check.fail('pad: mode must be "constant", "reflect", "replicate" or ' ..
      '"circular", got %s', check.show(o.mode))
  end
  for k = 1, #pad, 2 do
    local d = x.ndim - k // 2
    local before = check.integer("pad", "pad", pad[k])
    local after = check.integer("pad", "pad", pad[k + 1])
    if o.mode == "constant" then
      x = constant(x, d, before, after, o.value)
    elseif before ~= 0 or after ~= 0 then
      x = repeated(x, d, before, after, o.mode)
    end
  end
  return x
end

-- -- interpolation -----------------------------------------------------------

local SCALE <const> = {
  size = check.NONE, scale_factor = check.NONE, mode = "nearest",
  align_corners = false,
}

-- The sizes of the result, and how far a place of it goes in x.
local function scales(x, o)
  local n <const> = x.ndim - 2
  local given <const> = o.size or o.scale_factor
  if (o.size == nil) == (o.scale_factor == nil) then
    check.fail("interpolate: either size or scale_factor must be given")
  end
  local list <const> = type(given) == "table" and given or nil
  if list and #list ~= n then
    check.fail("interpolate: %s must be a number or %d numbers, got %d",
      o.size and "size" or "scale_factor", n, #list)
  end
  local sizes, steps = {}, {}
  for d = 1, n do
    local value, old = list and list[d] or given, x:size(2 + d)
    if o.size then
      sizes[d] = check.integer("interpolate", "size", value, 1)
      steps[d] = old / sizes[d]
    else
      check.number("interpolate", "scale_factor", value, 0)
      sizes[d] = math.floor(old * value)
      steps[d] = 1 / value
    end
    if sizes[d] < 1 or old < 1 then
      check.fail("interpolate: x %s has no elements, or its result has none",
        check.shape(x.shape))
    end
  end
  return sizes, steps
end

local function nearest(x, d, size, step, exact)
  local n <const>, index = x:size(d), {}
  for i = 1, size do
    local at = math.floor((i - 1 + (exact and 0.5 or 0)) * step)
    index[i] = math.min(at, n - 1) + 1
  end
  return ops.index_select(x, core.tensor(index, {dtype = "int64"}), d)
end

local function linear(x, d, size, step, align)
  local n <const> = x:size(d)
  local low, high, part = {}, {}, {}
  if align then step = size > 1 and (n - 1) / (size - 1) or 0 end
  for i = 1, size do
    local at = align and (i - 1) * step or math.max((i - 0.5) * step - 0.5, 0)
    local whole = math.min(math.floor(at), n - 1)
    low[i], high[i] = whole + 1, math.min(whole + 2, n)
    part[i] = at - whole
  end
  local weight = core.tensor(part, {dtype = x.dtype})
  for _ = d + 1, x.ndim do weight = ops.unsqueeze(weight, -1) end
  local function at(index)
    return ops.index_select(x, core.tensor(index, {dtype = "int64"}), d)
  end
  return ops.lerp(at(low), at(high), weight)
end

local linear_of <const> = {linear = 1, bilinear = 2}

--- x in another size, all dimensions behind batch and channels.
-- @tparam tensor x float, [B C L] or [B C H W]
-- @tparam table options `size`: that of the result, or `scale_factor`: its
-- multiple, each a number or a list with one a dimension; `mode`: `"nearest"`
-- (default), `"nearest-exact"`, `"linear"` for lines, `"bilinear"` for images;
-- `align_corners` (false): of linear ones, the outer elements stay where they
-- are, else the outer edges
-- @treturn tensor
-- @raise when sizes or mode do not fit
-- @usage heed.nn.functional.interpolate(heed.tensor {{{1.0, 2}}},
--   {scale_factor = 2}) --> 1 1 2 2
function F.interpolate(x, options)
  check.tensor("interpolate", "x", x)
  local o = check.options("interpolate", options, SCALE)
  if x.ndim ~= 3 and x.ndim ~= 4 then
    check.fail("interpolate: x must be [B C L] or [B C H W], got %s",
      check.show(x))
  end
  local sizes, steps = scales(x, o)
  local plain <const> = o.mode == "nearest" or o.mode == "nearest-exact"
  if not plain and linear_of[o.mode] ~= #sizes then
    check.fail('interpolate: mode must be "nearest", "nearest-exact" or ' ..
      '"%s" for x %s, got %s', #sizes == 1 and "linear" or "bilinear",
      check.shape(x.shape), check.show(o.mode))
  end
  for d, size in ipairs(sizes) do
    if plain then
      x = nearest(x, 2 + d, size, steps[d], o.mode == "nearest-exact")
    else
      x = linear(x, 2 + d, size, steps[d], o.align_corners)
    end
  end
  return x
end

-- -- pixels from channels ----------------------------------------------------

local function split_shape(func, x, factor)
  check.tensor(func, "x", x)
  check.integer(func, "factor", factor, 1)
  if x.ndim < 3 then
    check.fail("%s: x must be [.. C H W], got %s", func, check.show(x))
  end
  local lead = {}
  for d = 1, x.ndim - 3 do lead[d] = x:size(d) end
  return lead, x:size(-3), x:size(-2), x:size(-1)
end

local function with(lead, ...)
  local shape = table.move(lead, 1, #lead, 1, {})
  for _, n in ipairs {...} do shape[#shape + 1] = n end
  return shape
end

-- The permutation that puts the last `#order` dimensions into an order.
local function turn(x, order)
  local dims, n = {}, x.ndim - #order
  for d = 1, n do dims[d] = d end
  for d, k in ipairs(order) do dims[n + d] = n + k end
  return ops.permute(x, dims)
end

--- Images with more pixels out of channels: each factor^2 of them become a
-- square of pixels (Shi et al., 2016).
-- @tparam tensor x [.. C H W]
-- @tparam integer factor whose square divides C
-- @treturn tensor [.. C/factor^2 H*factor W*factor]
-- @raise when the channels cannot be divided
-- @usage heed.nn.functional.pixel_shuffle(
--   heed.tensor {{{1.0}}, {{2}}, {{3}}, {{4}}}, 2) --> 1 2 3 4
function F.pixel_shuffle(x, factor)
  local lead, c, h, w = split_shape("pixel_shuffle", x, factor)
  if c % (factor * factor) ~= 0 then
    check.fail("pixel_shuffle: %d channels of x %s cannot be divided by %d",
      c, check.shape(x.shape), factor * factor)
  end
  c = c // (factor * factor)
  x = ops.reshape(x, with(lead, c, factor, factor, h, w))
  x = turn(x, {1, 4, 2, 5, 3}) -- [.. c h factor w factor]
  return ops.reshape(x, with(lead, c, h * factor, w * factor))
end

--- Channels out of the pixels of images, the inverse of `F.pixel_shuffle`.
-- @tparam tensor x [.. C H W]
-- @tparam integer factor that divides H and W
-- @treturn tensor [.. C*factor^2 H/factor W/factor]
-- @raise when the sizes cannot be divided
-- @usage heed.nn.functional.pixel_unshuffle(
--   heed.tensor {{{1.0, 2}, {3, 4}}}, 2) --> shape (4, 1, 1)
function F.pixel_unshuffle(x, factor)
  local lead, c, h, w = split_shape("pixel_unshuffle", x, factor)
  if h % factor ~= 0 or w % factor ~= 0 then
    check.fail("pixel_unshuffle: images of %d x %d in x %s cannot be " ..
      "divided by %d", h, w, check.shape(x.shape), factor)
  end
  h, w = h // factor, w // factor
  x = ops.reshape(x, with(lead, c, h, factor, w, factor))
  x = turn(x, {1, 3, 5, 2, 4}) -- [.. c factor factor h w]
  return ops.reshape(x, with(lead, c * factor * factor, h, w))
end

return F
