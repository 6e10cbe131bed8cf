--- The values of pictures: their range, their channels, their mean.

local heed = require "heed"
local check = require "heed.check"
local picture = require "heed.image.picture"

local channels = {}

--- Returns the picture as floats from 0 to 1: uint8 divided by 255, int32 by
-- 65535; a float stays as it is.
-- @tparam tensor x any shape
-- @tparam[opt] table options `dtype` ("float32")
-- @treturn tensor
-- @usage
-- local x = heed.tensor({{{0, 51, 255}}}, {dtype = "uint8"})
-- return heed.image.to_float(x) --> 0, 0.2, 1
function channels.to_float(x, options)
  check.tensor("image.to_float", "x", x)
  local o <const> = check.options("image.to_float", options,
    {dtype = "float32"})
  local largest <const> = picture.largest("image.to_float", x)
  if not largest then return x end
  return x:to(o.dtype) / largest
end

--- Returns the picture as uint8: floats from 0 to 1 times 255, rounded, and cut
-- to the range; int32 (16 bits) divided by 257, rounded; uint8 as it is.
-- @tparam tensor x any shape
-- @treturn tensor uint8
-- @raise on NaN
-- @usage
-- heed.image.to_uint8(heed.tensor {{{-0.5, 0.2, 1.5}}}) --> 0, 51, 255
function channels.to_uint8(x)
  check.tensor("image.to_uint8", "x", x)
  local largest <const> = picture.largest("image.to_uint8", x)
  if largest == 255 then return x end
  local samples <const> = largest and x:to("float64") / 257 or x:detach() * 255
  if samples:isnan():any():item() then
    check.fail("image.to_uint8: x has a NaN")
  end
  return picture.round(samples, 255):to("uint8")
end

-- The luma of ITU-R BT.601 in steps of 2^-16; they sum to 1.
local RED <const>, GREEN <const>, BLUE <const> = 19595, 38470, 7471

local function to_gray(rgb)
  local r <const> = rgb:slice(-3, 1, 1)
  local g <const>, b <const> = rgb:slice(-3, 2, 2), rgb:slice(-3, 3, 3)
  if check.is_float(rgb) then
    return (r * RED + g * GREEN + b * BLUE) / 65536
  end
  local sum <const> = r:to("int64") * RED + g:to("int64") * GREEN
    + b:to("int64") * BLUE + 32768
  return (sum >> 16):to(rgb.dtype)
end

--- Returns the picture in other channels. Gray is 0.299 R + 0.587 G + 0.114 B
-- (ITU-R BT.601, rounded for integers); alpha that is not wanted is dropped,
-- alpha that is not there is full.
-- @tparam tensor x [C H W] or [B C H W], C from 1 to 4
-- @tparam string mode "gray", "gray_alpha", "rgb" or "rgba"
-- @treturn tensor of the same dtype
-- @usage
-- local red = heed.tensor({{{255}}, {{0}}, {{0}}}, {dtype = "uint8"})
-- return heed.image.convert(red, "gray") --> 76
function channels.convert(x, mode)
  local func <const> = "image.convert"
  picture.check_channels(func, x, {true, true, true, true}, "from 1 to 4")
  local wanted <const> = picture.check_mode(func, mode)
  local largest <const> = picture.largest(func, x) or 1
  local c <const> = x:size(-3)
  if c == wanted then return x end
  local color = x:slice(-3, 1, c < 3 and 1 or 3)
  if wanted < 3 and c >= 3 then color = to_gray(color) end
  if wanted >= 3 and c < 3 then
    color = heed.cat({color, color, color}, -3)
  end
  if wanted % 2 == 1 then return color end
  local alpha <const> = c % 2 == 0 and x:slice(-3, c, c)
    or color:slice(-3, 1, 1):full_like(largest)
  return heed.cat({color, alpha}, -3)
end

-- A list of C numbers as a tensor [C 1 1].
local function of_channels(name, list, x)
  local n <const>, fault = check.list(list, "number")
  if fault then check.fail("image.normalize: %s%s", name, fault) end
  if n ~= x:size(-3) and n ~= 1 then
    check.fail("image.normalize: %s must have 1 or %d numbers for x %s, got %d",
      name, x:size(-3), check.shape(x.shape), n)
  end
  return heed.tensor(list, {dtype = x.dtype}):reshape(n, 1, 1)
end

--- Returns (x - mean) / std, for each channel with numbers of its own.
-- @tparam tensor x float [C H W] or [B C H W]
-- @tparam {number,...} mean one number, or one for each channel
-- @tparam {number,...} std the same, not 0
-- @treturn tensor
-- @raise when x is no float image, a std is 0, or there are not 1 or C numbers
-- @usage
-- local x = heed.tensor {{{0.5}}, {{1}}}
-- return heed.image.normalize(x, {0.5, 0.5}, {0.5, 0.25}) --> 0, 2
function channels.normalize(x, mean, std)
  check.tensor("image.normalize", "x", x)
  if x.ndim < 3 or not check.is_float(x) then
    check.fail("image.normalize: x must be a float [C H W] or [B C H W] "
      .. "(image.to_float makes it one), got %s", check.show(x))
  end
  local center <const> = of_channels("mean", mean, x)
  local scale <const> = of_channels("std", std, x)
  for i, value in ipairs(std) do
    if value == 0 then check.fail("image.normalize: std[%d] is 0", i) end
  end
  return (x - center) / scale
end

return channels
