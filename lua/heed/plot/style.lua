--- How the series of a chart are told apart: by colour, and without it by dash,
-- marker or hatching.
-- The colours are those of M. Okabe and K. Ito ("Color Universal Design",
-- 2008), which people with any kind of colour blindness tell apart. Yellow
-- stands last: a thin line of it is hard to see on white.
local style = {}

local colors <const> = {
  {0, 114, 178}, -- blue
  {213, 94, 0}, -- vermillion
  {0, 158, 115}, -- bluish green
  {230, 159, 0}, -- orange
  {204, 121, 167}, -- reddish purple
  {86, 180, 233}, -- sky blue
  {0, 0, 0},
}

-- Areas lie side by side, so that light ones alternate with dark ones.
local fills <const> = {
  {0, 114, 178}, {230, 159, 0}, {0, 158, 115}, {204, 121, 167}, {213, 94, 0},
  {86, 180, 233}, {240, 228, 66},
}

-- On a terminal, whose background may be light or dark: neither black nor the
-- dark blue.
local bright <const> = {
  {86, 180, 233}, {230, 159, 0}, {0, 158, 115}, {204, 121, 167}, {213, 94, 0},
}

-- gnuplot's numbers: circle, square, triangle, diamond, triangle down,
-- pentagon, filled, then the same open, then plus and cross.
local markers <const> = {7, 5, 9, 13, 11, 15, 6, 4, 8, 12, 10, 14, 1, 2}

-- Lengths of strokes and gaps in pixels; round ends add the width of the line
-- to a stroke.
local dashes <const> = {false, {5, 5}, {0.5, 4}, {8, 4, 0.5, 4}, {14, 5}}

local hatches <const> = {
  false, {{1, 1}}, {{1, -1}}, {{1, 1}, {1, -1}}, {{1, 0}}, {{0, 1}},
}

local fill_chars_utf8 <const> = {"█", "░", "▓", "▒"}
local fill_chars_ascii <const> = {"#", "=", "+", "-", "*", "~", "o", ":"}

local function cycle(list, k) return list[(k - 1) % #list + 1] end

--- Returns the colour of line k: {red, green, blue}, 0 to 255.
function style.color(k) return cycle(colors, k) end

--- Returns the colour of area k.
function style.fill(k) return cycle(fills, k) end

--- Returns the colour of series k in a terminal as red, green, blue.
function style.terminal(k) return table.unpack(cycle(bright, k)) end

--- Returns the dash of line k, see `canvas:path`.
function style.dash(k) return cycle(dashes, k) or nil end

--- Returns the marker on line k, as gnuplot numbers them; nil for the first
-- lines, whose dashes are enough. Dash and marker together differ for 75 lines.
function style.line_marker(k)
  local round = (k - 1) // #dashes
  return round > 0 and cycle(markers, round) or nil
end

--- Returns the marker of points k, as gnuplot numbers them.
function style.marker(k) return cycle(markers, k) end

--- Returns the hatching of area k: directions of its lines, as (1, 1) upwards
-- and (1, 0) along; nil for none. Colour and hatching together differ for 42.
function style.hatch(k) return cycle(hatches, k) or nil end

--- Returns the character of bar k in a terminal.
function style.fill_char(k, is_utf8)
  local list = is_utf8 and fill_chars_utf8 or fill_chars_ascii
  return list[k] or style.letter(k - #list)
end

--- Returns the letter of series k in a terminal, a to z, A to Z, and again.
function style.letter(k)
  local at = (k - 1) % 52
  return string.char(at < 26 and 97 + at or 65 + at - 26)
end

return style
