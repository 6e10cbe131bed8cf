--- Checks that the functions on pictures share.

local check = require "heed.check"

local picture = {}

--- Raises unless x is a tensor of at least two dimensions, the last two of
-- them rows and columns.
function picture.check(func, x)
  check.tensor(func, "x", x)
  if x.ndim < 2 then
    check.fail("%s: x must be a picture [C H W], or a batch [B C H W], got %s",
      func, check.show(x))
  end
  return x
end

--- Raises unless x is a tensor [C H W] or [B C H W] with C in `channels`.
function picture.check_channels(func, x, channels, wanted)
  check.tensor(func, "x", x)
  if x.ndim < 3 or not channels[x:size(-3)] then
    check.fail("%s: x must be a picture [C H W] or a batch [B C H W], C %s, "
      .. "got %s", func, wanted, check.show(x))
  end
  return x
end

local MODES <const> = {gray = 1, gray_alpha = 2, rgb = 3, rgba = 4}

--- Returns the number of channels of a mode; raises unless it is one.
function picture.check_mode(func, mode)
  if not MODES[mode] then
    check.fail('%s: mode must be "gray", "gray_alpha", "rgb" or "rgba", '
      .. "got %s", func, check.show(mode))
  end
  return MODES[mode]
end

--- The largest sample of the bytes of a picture: 255 for uint8, 65535 for
-- int32, nil for floats; raises on other dtypes.
function picture.largest(func, x)
  if x.dtype == "uint8" then return 255 end
  if x.dtype == "int32" then return 65535 end
  if check.is_float(x) then return nil end
  check.fail("%s: x must be uint8, int32 (16 bits) or a float, got %s", func,
    check.show(x))
end

--- Floats as whole samples from 0 to `largest`, rounded (halves up) and cut.
function picture.round(x, largest)
  return (x + 0.5):floor():clamp(0, largest)
end

--- Height and width from `{height, width}` or one number for both.
function picture.size(func, size)
  if math.type(size) then size = {size, size} end
  if type(size) ~= "table" or #size ~= 2 then
    check.fail("%s: size must be an integer or {height, width}, got %s", func,
      check.show(size))
  end
  return check.integer(func, "size[1]", size[1], 1),
    check.integer(func, "size[2]", size[2], 1)
end

return picture
