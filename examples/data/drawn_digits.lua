--- Drawn digits: a small set of digits to learn from, drawn by this file and
-- by nobody's hand.
--
-- Each digit is a few strokes through points on a unit square (x to the right,
-- y down), in two or three ways of writing it. For every picture the points
-- tremble, a smooth curve goes through them, the whole is turned, slanted,
-- stretched and moved, and a pen of some width follows it over the pixels:
--
--     ink(pixel) = clamp(0.5 + (width - distance to the stroke) / pixel, 0, 1)
--
-- They are easier than what people write: what a net gets right here says
-- little of real digits.

local heed = require "heed"

local SIDE <const> = 16 -- pixels of a picture
local STEPS <const> = 6 -- straight pieces between two points of a stroke

-- For each digit the ways to write it; each is a list of strokes, and a stroke
-- a list x, y, x, y ... A stroke that ends where it begins is closed smoothly.
local WAYS <const> = {
  [0] = {
    {{.5, .08, .24, .28, .22, .7, .5, .92, .78, .7, .76, .28, .5, .08}},
    {{.5, .1, .32, .3, .32, .7, .5, .9, .68, .7, .68, .3, .5, .1}},
    {{.6, .1, .34, .16, .22, .5, .34, .86, .6, .88, .78, .6, .72, .2, .44, .1}},
  },
  {
    {{.5, .08, .5, .92}},
    {{.3, .3, .52, .08}, {.52, .08, .52, .92}},
    {{.34, .24, .52, .08}, {.52, .08, .52, .92}, {.32, .92, .74, .92}},
  },
  {
    {{.24, .28, .36, .1, .62, .1, .74, .28, .6, .52, .24, .9},
      {.24, .9, .78, .9}},
    {{.24, .26, .48, .08, .74, .28, .52, .64, .28, .86, .22, .76, .38, .74,
      .58, .86, .82, .86}},
    {{.28, .16, .6, .1, .7, .3, .52, .54, .26, .88}, {.26, .88, .76, .82}},
  },
  {
    {{.26, .18, .5, .08, .72, .24, .62, .42, .44, .48},
      {.44, .48, .68, .54, .76, .72, .54, .92, .24, .82}},
    {{.26, .1, .72, .1}, {.72, .1, .46, .42},
      {.46, .42, .7, .5, .76, .72, .52, .92, .24, .82}},
    {{.24, .12, .56, .1, .7, .26, .46, .46}, {.46, .46, .74, .62, .6, .88,
      .22, .9}},
  },
  {
    {{.3, .08, .24, .54}, {.24, .54, .8, .54}, {.66, .1, .66, .92}},
    {{.62, .08, .2, .62}, {.2, .62, .82, .62}, {.62, .08, .62, .92}},
    {{.4, .1, .22, .5}, {.22, .5, .76, .48}, {.62, .26, .5, .92}},
  },
  {
    {{.72, .1, .32, .1}, {.32, .1, .28, .44},
      {.28, .44, .52, .38, .74, .54, .7, .8, .46, .92, .24, .82}},
    {{.74, .12, .44, .1, .3, .26, .42, .44, .66, .54, .7, .76, .48, .92, .24,
      .84}},
    {{.7, .08, .36, .12}, {.36, .12, .26, .46},
      {.26, .46, .62, .42, .7, .66, .5, .86, .26, .92}},
  },
  {
    {{.64, .08, .36, .3, .24, .62, .36, .88, .62, .9, .74, .7, .6, .52, .38,
      .54, .26, .7}},
    {{.58, .08, .3, .56}, {.5, .5, .74, .64, .66, .88, .4, .92, .26, .74, .32,
      .56, .5, .5}},
  },
  {
    {{.24, .1, .76, .1}, {.76, .1, .56, .5, .44, .92}},
    {{.24, .1, .78, .1}, {.78, .1, .42, .92}, {.36, .5, .7, .5}},
    {{.24, .26, .28, .12}, {.28, .12, .72, .1}, {.72, .1, .52, .5, .5, .92}},
  },
  {
    {{.5, .48, .7, .3, .5, .08, .3, .3, .5, .48, .76, .7, .5, .92, .24, .7, .5,
      .48}},
    {{.5, .08, .32, .26, .5, .46, .68, .26, .5, .08},
      {.5, .46, .26, .7, .5, .92, .74, .7, .5, .46}},
    {{.7, .16, .44, .08, .34, .26, .66, .6, .62, .86, .38, .88, .32, .66, .66,
      .32, .7, .16}},
  },
  {
    {{.72, .26, .54, .08, .3, .2, .32, .44, .54, .5, .72, .3},
      {.72, .26, .7, .6, .56, .92}},
    {{.7, .24, .48, .08, .28, .28, .46, .5, .7, .3}, {.7, .16, .7, .92}},
    {{.68, .14, .4, .1, .28, .34, .5, .48, .7, .22, .68, .6, .5, .88, .3, .84}},
  },
}

-- Random numbers of a generator, one after another.
local function numbers(generator)
  local list, at = {}, 0
  local function normal()
    at = at + 1
    if at > #list then
      list, at = heed.randn({256}, {generator = generator}):totable(), 1
    end
    return list[at]
  end
  return normal
end

-- The points of a stroke on a smooth curve (Catmull and Rom, 1974), x and y by
-- themselves: between b and c, with a before and d behind, at t in 0 .. 1.
local function curve(a, b, c, d, t)
  return 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t * t
    + (3 * b - a - 3 * c + d) * t * t * t)
end

-- Appends the pieces of a stroke: {x1, y1, x2, y2}, moved by `place`.
local function add_pieces(pieces, stroke, normal, tremble, place)
  local xs, ys = {}, {}
  local n <const> = #stroke // 2
  for i = 1, n do
    xs[i] = stroke[2 * i - 1] + tremble * normal()
    ys[i] = stroke[2 * i] + tremble * normal()
  end
  local closed <const> = n > 2 and stroke[1] == stroke[2 * n - 1]
    and stroke[2] == stroke[2 * n]
  if closed then xs[n], ys[n] = xs[1], ys[1] end
  local function at(list, i) -- beyond an end: the other one, or the end
    if i < 1 then return closed and list[n - 1] or list[1] end
    if i > n then return closed and list[2] or list[n] end
    return list[i]
  end
  for i = 1, n - 1 do
    local x1, y1 = place(xs[i], ys[i])
    for k = 1, STEPS do
      local t <const> = k / STEPS
      local x2 <const>, y2 <const> = place(
        curve(at(xs, i - 1), xs[i], xs[i + 1], at(xs, i + 2), t),
        curve(at(ys, i - 1), ys[i], ys[i + 1], at(ys, i + 2), t))
      pieces[#pieces + 1] = {x1, y1, x2, y2}
      x1, y1 = x2, y2
    end
  end
end

-- A map of the square that turns, slants, stretches and moves by chance.
local function random_place(normal)
  local angle <const>, slant <const> = 0.12 * normal(), 0.15 * normal()
  local wide <const>, high <const> = 0.8 + 0.08 * normal(),
    0.85 + 0.06 * normal()
  local right <const>, down <const> = 0.5 + 0.04 * normal(),
    0.5 + 0.04 * normal()
  local c <const>, s <const> = math.cos(angle), math.sin(angle)
  return function(x, y)
    y = high * (y - 0.5)
    x = wide * (x - 0.5) - slant * y
    return right + c * x - s * y, down + s * x + c * y
  end
end

-- Down and across, where the middles of the pixels are: [SIDE*SIDE 1] each.
local function middles()
  local at <const> = (heed.arange(1, SIDE) - 0.5) / SIDE
  local square <const> = at:unsqueeze(2):expand(SIDE, SIDE)
  return square:reshape(SIDE * SIDE, 1), square:t():reshape(SIDE * SIDE, 1)
end

-- The ink of straight pieces on each pixel, [SIDE SIDE].
local function ink(pieces, width, ys, xs)
  local ends <const> = heed.tensor(pieces) -- [S 4]
  local x1 <const>, y1 <const> = ends:select(2, 1), ends:select(2, 2)
  local dx <const>, dy <const> = ends:select(2, 3) - x1, ends:select(2, 4) - y1
  -- the nearest point of each piece is at part t of its length: [pixels S]
  local t <const> = (((xs - x1) * dx + (ys - y1) * dy)
    / (dx * dx + dy * dy + 1e-9)):clamp(0, 1)
  local distance <const> = ((xs - x1 - t * dx):pow(2)
    + (ys - y1 - t * dy):pow(2)):sqrt():amin(2)
  return (0.5 + (width - distance) * SIDE):clamp(0, 1):reshape(SIDE, SIDE)
end

--- Returns drawn digits, the digits 0 to 9 in turn.
-- @tparam integer n how many
-- @tparam integer seed another seed draws other pictures
-- @treturn table `images`, float32 [n 1 16 16] from 0 (paper) to 1 (ink), and
-- `labels`, int64 [n]: the digit plus 1
local function draw(n, seed)
  local normal <const> = numbers(heed.Generator(seed))
  local ys <const>, xs <const> = middles()
  local images, labels = {}, {}
  for i = 1, n do
    local digit <const> = (i - 1) % 10
    local ways <const> = WAYS[digit]
    local way <const> = ways[math.floor(math.abs(normal()) * 997) % #ways + 1]
    local place <const> = random_place(normal)
    local pieces = {}
    for _, stroke in ipairs(way) do
      add_pieces(pieces, stroke, normal, 0.035, place)
    end
    local width <const> = math.max(0.045 + 0.012 * normal(), 0.025)
    images[i] = ink(pieces, width, ys, xs)
    labels[i] = digit + 1
  end
  return {images = heed.stack(images, 1):unsqueeze(2),
    labels = heed.tensor(labels, {dtype = "int64"})}
end

return {draw = draw}
