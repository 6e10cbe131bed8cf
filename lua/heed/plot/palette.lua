--- Colour maps: from a number in 0..1 to a colour.
local check = require "heed.check"

local floor <const> = math.floor

local palette = {}

-- Evenly spaced anchors; colours between two of them are mixed linearly.
-- viridis and magma follow the maps of that name closely enough for the eye.
local maps <const> = {
  viridis = {
    {68, 1, 84}, {72, 40, 120}, {62, 74, 137}, {49, 104, 142}, {38, 130, 142},
    {31, 158, 137}, {53, 183, 121}, {110, 206, 88}, {181, 222, 43},
    {253, 231, 37},
  },
  magma = {
    {0, 0, 4}, {24, 15, 61}, {68, 15, 118}, {114, 31, 129}, {158, 47, 127},
    {205, 64, 113}, {241, 96, 93}, {253, 150, 104}, {254, 202, 141},
    {252, 253, 191},
  },
  Reds = {
    {255, 246, 242}, {253, 190, 165}, {250, 120, 90}, {225, 55, 45},
    {170, 18, 25}, {95, 0, 15},
  },
  gray = {{0, 0, 0}, {255, 255, 255}},
}

-- What is not a number gets a colour that the map does not have.
local no_number <const> = {
  viridis = {170, 170, 170}, magma = {170, 170, 170}, Reds = {170, 170, 170},
  gray = {230, 100, 80},
  image = {0, 190, 255}, -- in none of the maps, as one may lie over an image
}

--- Returns the name of the colour map, `viridis` for nil.
-- @tparam string op what the user called
-- @tparam ?string name `viridis`, `magma`, `Reds` or `gray`
-- @treturn string
-- @raise for any other name
function palette.check(op, name)
  name = name or "viridis"
  if not maps[name] then
    check.fail("%s: cmap must be one of %s, got %s", op, check.names(maps),
      check.show(name))
  end
  return name
end

--- Returns the colour at a place of the map.
-- @tparam string name a colour map
-- @tparam number place 0 to 1
-- @treturn integer red, 0 to 255
-- @treturn integer green
-- @treturn integer blue
-- @usage palette.color("gray", 0.5)  --> 128, 128, 128
function palette.color(name, place)
  local map = maps[name]
  local at = place * (#map - 1)
  local k = math.min(floor(at), #map - 2)
  local from, to, part = map[k + 1], map[k + 2], at - k
  return floor(from[1] + part * (to[1] - from[1]) + 0.5),
    floor(from[2] + part * (to[2] - from[2]) + 0.5),
    floor(from[3] + part * (to[3] - from[3]) + 0.5)
end

--- Returns the colour that stands for "not a number" beside a map.
-- @tparam string name a colour map, or `image`
-- @treturn integer red, 0 to 255
-- @treturn integer green
-- @treturn integer blue
function palette.no_number(name)
  return table.unpack(no_number[name])
end

--- Returns the map's anchors as `#rrggbb`, from low to high.
-- @tparam string name a colour map
-- @treturn {string,...}
function palette.anchors(name)
  local out = {}
  for i, color in ipairs(maps[name]) do
    out[i] = string.format("#%02x%02x%02x", table.unpack(color))
  end
  return out
end

return palette
