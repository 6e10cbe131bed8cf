--- Pictures in other sizes.
--
-- Rows and columns are resampled one after the other, each by a matrix of
-- weights: y = R x C', where row i of R holds the weights of all rows of x in
-- row i of y. With s = H / H', the centre of row i (from 0) lies at
-- c = (i + 1/2) s in x, and the weight of row j is f((j + 1/2 - c) / max(s, 1))
-- divided by the sum of all; f is the triangle, or Keys' cubic with a = -1/2
-- (Keys 1981). These are the weights of PIL, and of torch.nn.functional
-- .interpolate with antialias = true.
--
-- Without antialias the filter is not widened for smaller pictures, and x is
-- continued beyond its edges by its outermost pixels; the cubic then has
-- a = -3/4. These are interpolate's weights with antialias = false.

local heed = require "heed"
local check = require "heed.check"
local picture = require "heed.image.picture"

local function triangle(t)
  return math.max(1 - math.abs(t), 0)
end

local function cubic(a)
  return function(t)
    t = math.abs(t)
    if t < 1 then return ((a + 2) * t - (a + 3)) * t * t + 1 end
    if t < 2 then return ((t - 5) * t + 8) * t * a - 4 * a end
    return 0
  end
end

-- How far a filter reaches, and its form with and without antialias.
local FILTERS <const> = {
  bilinear = {1, triangle, triangle},
  bicubic = {2, cubic(-0.5), cubic(-0.75)},
}

-- The matrix [m n] that turns n pixels into m.
local function weights(n, m, filter, antialias, dtype)
  local scale <const> = n / m
  local wide <const> = antialias and math.max(scale, 1) or 1
  local reach <const> = filter[1] * wide
  local f <const> = antialias and filter[2] or filter[3]
  local taps <const> = math.ceil(reach) * 2 + 1
  local places, values = {}, {} -- [m taps]
  for i = 0, m - 1 do
    local center <const> = (i + 0.5) * scale
    local first <const> = math.floor(center - reach + 0.5)
    local row, sum = {}, 0
    for k = 1, taps do
      local j <const> = first + k - 1
      local w = f((j + 0.5 - center) / wide)
      if antialias and (j < 0 or j >= n) then w = 0 end
      places[#places + 1] = math.max(math.min(j, n - 1), 0) + 1
      row[k], sum = w, sum + w
    end
    for k = 1, taps do values[#values + 1] = row[k] / sum end
  end
  local at <const> = heed.tensor(places, {dtype = "int64"}):reshape(m, taps)
  local w <const> = heed.tensor(values, {dtype = dtype}):reshape(m, taps)
  return heed.zeros({m, n}, {dtype = dtype}):scatter_add(2, at, w)
end

-- The pixel whose centre is nearest, as PIL and interpolate's "nearest-exact".
local function nearest(x, dim, m)
  local n <const> = x:size(dim)
  if n == m then return x end
  local places = {}
  for i = 1, m do places[i] = math.floor((i - 0.5) * n / m) + 1 end
  return x:index_select(heed.tensor(places, {dtype = "int64"}), dim)
end

local function rows(x, height, filter, antialias)
  local h <const> = x:size(-2)
  if h == height then return x end
  return weights(h, height, filter, antialias, x.dtype):matmul(x)
end

local function columns(x, width, filter, antialias)
  local w <const> = x:size(-1)
  if w == width then return x end
  return x:matmul(weights(w, width, filter, antialias, x.dtype):transpose())
end

-- Floats, in the order that costs less.
local function resample(x, height, width, filter, antialias)
  local h <const>, w <const> = x:size(-2), x:size(-1)
  if w * width * h + h * height * width < h * height * w + w * width * height
  then
    x = columns(x, width, filter, antialias)
    return rows(x, height, filter, antialias)
  end
  x = rows(x, height, filter, antialias)
  return columns(x, width, filter, antialias)
end

-- Bytes, rounded after the columns and after the rows, as PIL does.
local function resample_bytes(x, height, width, filter, antialias, largest)
  local y = columns(x:to("float32"), width, filter, antialias)
  y = rows(picture.round(y, largest), height, filter, antialias)
  return picture.round(y, largest):to(x.dtype)
end

-- Longest side: each of its pixels has a row of weights.
local LONGEST <const> = 65535

local MODES <const> = {nearest = true, bilinear = true, bicubic = true}

-- Height and width of the result; of one number, the shorter side's.
local function target(func, x, size)
  local h <const>, w <const> = x:size(-2), x:size(-1)
  if h == 0 or w == 0 then
    check.fail("%s: x %s has no pixels", func, check.shape(x.shape))
  end
  if not math.type(size) then return picture.size(func, size) end
  size = check.integer(func, "size", size, 1)
  if h <= w then return size, math.max(size * w // h, 1) end
  return math.max(size * h // w, 1), size
end

--- Returns the picture in another size. Bytes stay bytes, rounded and cut to
-- their range; gradients pass through floats.
--
-- Values are those of torch.nn.functional.interpolate for floats; for bytes,
-- which are rounded between columns and rows, within 1 of those of PIL.
-- @tparam tensor x [... H W], uint8, int32 (16 bits) or a float
-- @param size `{height, width}`, or one integer for the shorter side
-- @tparam[opt] table options `mode`: "bilinear" (default), "bicubic" or
-- "nearest"; `antialias` (true): a smaller picture is made of all pixels, not
-- of those next to its own
-- @treturn tensor [... height width] of the same dtype
-- @raise when a side is longer than 65535
-- @usage
-- local x = heed.tensor {{1.0, 2, 3, 4}}
-- return heed.image.resize(x, {1, 2}) --> 1.7143, 3.2857
local function resize(x, size, options)
  local func <const> = "image.resize"
  picture.check(func, x)
  local o <const> = check.options(func, options,
    {mode = "bilinear", antialias = true})
  if not MODES[o.mode] then
    check.fail('%s: mode must be "bilinear", "bicubic" or "nearest", got %s',
      func, check.show(o.mode))
  end
  local largest <const> = picture.largest(func, x)
  local height <const>, width <const> = target(func, x, size)
  if math.max(height, width) > LONGEST then
    check.fail("%s: the result's sides must be at most %d, got %d x %d", func,
      LONGEST, height, width)
  end
  if o.mode == "nearest" then
    return nearest(nearest(x, -2, height), -1, width)
  end
  local filter <const> = FILTERS[o.mode]
  if largest then
    return resample_bytes(x, height, width, filter, o.antialias, largest)
  end
  return resample(x, height, width, filter, o.antialias)
end

return {resize = resize}
