--- Parts and mirror images of pictures: views where they can be.

local heed = require "heed"
local check = require "heed.check"
local picture = require "heed.image.picture"

local geometry = {}

-- Rows top .. and columns left .. of x, which has been checked.
local function part(x, top, left, height, width)
  return x:slice(-2, top, top + height - 1):slice(-1, left, left + width - 1)
end

-- Raises unless a part of x fits in it.
local function check_fits(func, x, height, width)
  if height > x:size(-2) or width > x:size(-1) then
    check.fail("%s: a part of %d x %d does not fit into x %s", func, height,
      width, check.shape(x.shape))
  end
end

--- Returns a part of the picture, a view.
-- @tparam tensor x [... H W]
-- @tparam integer top its first row, from 1
-- @tparam integer left its first column, from 1
-- @tparam integer height
-- @tparam integer width
-- @treturn tensor [... height width]
-- @raise when the part reaches out of the picture
-- @usage
-- local x = heed.arange(1, 12):reshape(1, 3, 4)
-- return heed.image.crop(x, 2, 3, 2, 1) --> 7, 11
function geometry.crop(x, top, left, height, width)
  local func <const> = "image.crop"
  picture.check(func, x)
  top = check.integer(func, "top", top, 1)
  left = check.integer(func, "left", left, 1)
  height = check.integer(func, "height", height, 1)
  width = check.integer(func, "width", width, 1)
  local h <const>, w <const> = x:size(-2), x:size(-1)
  -- subtracted, since a sum could overflow
  if height > h or width > w or top > h - height + 1
    or left > w - width + 1
  then
    check.fail("%s: %d x %d from row %d, column %d reaches out of x %s", func,
      height, width, top, left, check.shape(x.shape))
  end
  return part(x, top, left, height, width)
end

--- Returns the middle of the picture, a view. Of an odd rest the smaller half
-- lies above and on the left.
-- @tparam tensor x [... H W]
-- @param size `{height, width}` or one integer for both
-- @treturn tensor [... height width]
-- @usage
-- local x = heed.arange(1, 12):reshape(1, 3, 4)
-- return heed.image.center_crop(x, {1, 2}) --> 6, 7
function geometry.center_crop(x, size)
  local func <const> = "image.center_crop"
  picture.check(func, x)
  local height <const>, width <const> = picture.size(func, size)
  check_fits(func, x, height, width)
  return part(x, (x:size(-2) - height) // 2 + 1, (x:size(-1) - width) // 2 + 1,
    height, width)
end

-- A position from 1 to n.
local function draw(n, generator)
  return heed.randint(1, n, {1}, {generator = generator}):item()
end

--- Returns a part of the picture by chance, a view; every place is as likely.
-- @tparam tensor x [... H W]
-- @param size `{height, width}` or one integer for both
-- @tparam[opt] table options `generator` (the default one)
-- @treturn tensor [... height width]
-- @usage
-- local x = heed.arange(1, 12):reshape(1, 3, 4)
-- return heed.image.random_crop(x, 2).shape --> 1, 2, 2
function geometry.random_crop(x, size, options)
  local func <const> = "image.random_crop"
  picture.check(func, x)
  local height <const>, width <const> = picture.size(func, size)
  local o <const> = check.types(func, options, {generator = "userdata"})
  check_fits(func, x, height, width)
  local top <const> = draw(x:size(-2) - height + 1, o.generator)
  local left <const> = draw(x:size(-1) - width + 1, o.generator)
  return part(x, top, left, height, width)
end

--- Returns the picture with left and right exchanged.
-- @tparam tensor x [... H W]
-- @treturn tensor
-- @usage heed.image.hflip(heed.tensor {{1, 2, 3}}) --> 3, 2, 1
function geometry.hflip(x)
  return picture.check("image.hflip", x):flip(-1)
end

--- Returns the picture upside down.
-- @tparam tensor x [... H W]
-- @treturn tensor
-- @usage heed.image.vflip(heed.tensor {{1, 2}, {3, 4}}) --> 3, 4, 1, 2
function geometry.vflip(x)
  return picture.check("image.vflip", x):flip(-2)
end

--- Returns the picture, mirrored with probability p.
-- @tparam tensor x [... H W]
-- @tparam[opt=0.5] number p
-- @tparam[opt] table options `generator` (the default one)
-- @treturn tensor
-- @usage heed.image.random_hflip(heed.tensor {{1, 2, 3}}, 1) --> 3, 2, 1
function geometry.random_hflip(x, p, options)
  local func <const> = "image.random_hflip"
  picture.check(func, x)
  p = check.number(func, "p", p or 0.5, 0, 1)
  local o <const> = check.types(func, options, {generator = "userdata"})
  local u <const> = heed.rand({1}, {generator = o.generator}):item()
  return u < p and x:flip(-1) or x
end

return geometry
