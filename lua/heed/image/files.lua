--- Pictures from files and into files.

local core = require "heed.core"
local check = require "heed.check"
local channels = require "heed.image.channels"
local picture = require "heed.image.picture"
local read_file = require "heed.read_file"

local files = {}

-- A picture of more pixels is taken for a mistake, or an attack.
local MAX_PIXELS <const> = 100000000

-- The file formats, by the end of a name.
local FORMATS <const> = {
  png = "png", jpg = "jpeg", jpeg = "jpeg", ppm = "ppm", pgm = "ppm",
  pnm = "ppm",
}

local function read_options(func, options)
  local o <const> = check.options(func, options,
    {mode = check.NONE, max_pixels = MAX_PIXELS})
  check.integer(func, "max_pixels", o.max_pixels, 1)
  if o.mode ~= nil then picture.check_mode(func, o.mode) end
  return o
end

-- The picture [C H W], or nil and what is wrong with the bytes.
local function decode(bytes, o)
  local x, fault = core.image_decode(bytes, o.max_pixels) -- [H W C]
  if not x then return nil, fault end
  x = x:permute({3, 1, 2}):contiguous()
  return o.mode and channels.convert(x, o.mode) or x
end

--- Returns the picture in the bytes of a PNG, JPEG or PPM file; the format is
-- told by its first bytes. As `read`.
-- @tparam string bytes
-- @tparam[opt] table options as those of `read`
-- @treturn tensor or nil and a message: the bytes are no whole picture
-- @usage
-- heed.image.decode("P2 3 1 255\n1 2 3") --> 1, 2, 3
function files.decode(bytes, options)
  check.kind("image.decode", "bytes", bytes, "string")
  local x <const>, fault = decode(bytes, read_options("image.decode", options))
  if not x then return nil, "image.decode: " .. fault end
  return x
end

--- Returns the picture in a PNG, JPEG or PPM file, which need not be trusted.
--
-- PNG: all kinds; palettes become RGB, fewer than 8 bits 8, a transparent
-- colour alpha, and 16 bits int32 from 0 to 65535. JPEG: gray and colour; CMYK
-- becomes RGB. PPM: P2, P3, P5, P6. Values are those of the file: gamma,
-- colour profiles and the orientation in EXIF are not applied.
-- @tparam string path
-- @tparam[opt] table options `mode`: "gray", "gray_alpha", "rgb" or "rgba", as
-- `convert` has it (default: as the file); `max_pixels` (10^8): a picture of
-- more is refused
-- @treturn tensor uint8 or int32 [C H W], or nil and a message: the file cannot
-- be read, or is no whole picture
-- @usage
-- local name = os.tmpname()
-- heed.image.write(name, heed.tensor {{{0.0, 1.0}}}, {format = "png"})
-- local x = assert(heed.image.read(name, {mode = "rgb"})); x.shape --> 3, 1, 2
function files.read(path, options)
  check.kind("image.read", "path", path, "string")
  local o <const> = read_options("image.read", options)
  local bytes <const>, fault = read_file("image.read", path)
  if not bytes then return nil, fault end
  local x, wrong = decode(bytes, o)
  if not x then return nil, ("image.read: %s: %s"):format(path, wrong) end
  return x
end

-- The picture as an encoder takes it: bytes [H W C] in a row. Floats from 0 to
-- 1 become uint8.
local function pack(func, x, format)
  local alpha <const> = format == "png"
  picture.check_channels(func, x, {true, alpha, true, alpha},
    alpha and "from 1 to 4" or "1 or 3 for " .. format)
  if x.ndim ~= 3 or x:numel() == 0 then
    check.fail("%s: x must be one picture [C H W] with pixels, got %s", func,
      check.show(x))
  end
  local largest <const> = picture.largest(func, x)
  if not largest then
    x = channels.to_uint8(x)
  elseif x.dtype == "int32" then
    if format == "jpeg" then
      check.fail("%s: jpeg has no 16 bits: x must be uint8 or a float, got %s",
        func, check.show(x))
    end
    local low <const>, high <const> = x:min():item(), x:max():item()
    if low < 0 or high > largest then
      check.fail("%s: x must hold numbers from 0 to 65535, got %d", func,
        low < 0 and low or high)
    end
  end
  return x:detach():permute({2, 3, 1}):contiguous()
end

local SETTINGS <const> = {
  png = {name = "compression", default = 6, low = 0, high = 9},
  jpeg = {name = "quality", default = 75, low = 1, high = 100},
}

-- The setting of the format; raises on one that it does not have.
local function setting_of(func, format, options)
  local found
  for key in pairs(options) do
    local setting <const> = SETTINGS[format]
    if not setting or setting.name ~= key then
      check.fail("%s: %s has no option %s", func, format, check.show(key))
    end
    local value <const> = check.integer(func, key, options[key])
    found = check.number(func, key, value, setting.low, setting.high)
  end
  return found or (SETTINGS[format] or {}).default
end

local KNOWN <const> = {compression = "number", quality = "number"}

--- Returns a picture as the bytes of a file.
-- @tparam tensor x [C H W]: uint8, int32 from 0 to 65535 (16 bits), or floats
-- from 0 to 1, which become uint8; alpha goes into PNG only
-- @tparam string format "png", "jpeg" or "ppm"
-- @tparam[opt] table options `compression` of PNG, from 0 (fast) to 9 (small)
-- (6); `quality` of JPEG, from 1 to 100 (75)
-- @treturn string
-- @raise for what the format cannot hold
-- @usage
-- local x = heed.tensor({{{1, 2}}}, {dtype = "uint8"})
-- assert(heed.image.encode(x, "ppm") == "P5\n2 1\n255\n\1\2")
function files.encode(x, format, options)
  local func <const> = "image.encode"
  if not format or FORMATS[format] ~= format then
    check.fail('%s: format must be "png", "jpeg" or "ppm", got %s', func,
      check.show(format))
  end
  local setting <const> = setting_of(func, format,
    check.types(func, options, KNOWN))
  local bytes <const>, fault = core.image_encode(pack(func, x, format), format,
    setting)
  if not bytes then check.fail("%s: %s", func, fault) end
  return bytes
end

--- Writes a picture into a file, whole or not at all: the old one is replaced
-- once everything is written and synced.
-- @tparam string path
-- @tparam tensor x as `encode` takes it
-- @tparam[opt] table options as those of `encode`; `format`: "png", "jpeg" or
-- "ppm" (by the end of the path: .png, .jpg, .jpeg, .ppm, .pgm, .pnm)
-- @raise for what the format cannot hold, and when the file cannot be written
-- @usage
-- local x = heed.rand({3, 8, 8})
-- heed.image.write(os.tmpname(), x, {format = "jpeg", quality = 90})
function files.write(path, x, options)
  local func <const> = "image.write"
  check.kind(func, "path", path, "string")
  local o <const> = check.types(func, options,
    {compression = "number", quality = "number", format = "string"})
  local ending <const> = path:match("%.(%w+)$")
  local format <const> = o.format or ending and FORMATS[ending:lower()]
  if not format or FORMATS[format] ~= format then
    check.fail(o.format
      and '%s: format must be "png", "jpeg" or "ppm", got %s'
      or "%s: path must end in .png, .jpg, .jpeg, .ppm, .pgm or .pnm, or "
        .. "format be given, got %s", func, check.show(o.format or path))
  end
  local setting <const> = setting_of(func, format,
    {compression = o.compression, quality = o.quality})
  local bytes <const>, fault = core.image_encode(pack(func, x, format), format,
    setting)
  if not bytes then check.fail("%s: %s", func, fault) end
  core.write_file_atomic(path, bytes, func)
end

return files
