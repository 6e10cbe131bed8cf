--- The canvas: a picture laid out in pixels and drawn by gnuplot.
-- All places are computed by us and count from the top left corner, since
-- gnuplot makes no room for long labels.
local check = require "heed.check"
local fonts = require "heed.plot.fonts"
local gnuplot = require "heed.plot.gnuplot"
local width = require "heed.plot.width"

local canvas = {}
canvas.__index = canvas

-- Sizes in pixels (points in a PDF).
canvas.font = 12
canvas.title_font = 14
canvas.line_height = 1.3 -- of the font size
canvas.pad = 14 -- between the outermost thing and the edge
canvas.gap = 7 -- between two things

-- The colour of frames, axes and ticks.
canvas.ink = "#404040"

-- How a pixel of ours becomes one of the file. The cairo terminals count font
-- sizes at 96 dots an inch, hence 3/4; a PNG has twice the pixels, for screens
-- that show them.
local terminals <const> = {
  svg = {command = "svg size %d,%d", scale = 1, font = 1},
  png = {command = "pngcairo size %d,%d fontscale 1", scale = 2, font = 0.75},
  pdf = {command = "pdfcairo size %d/72.,%d/72. fontscale 1", scale = 1,
    font = 0.75},
}

-- A side of cairo's pictures has at most 32767 pixels.
local most_pixels <const> = 32000

-- Widths of characters in parts of the font size, on the safe side for the
-- usual sans-serif fonts (DejaVu is the widest of them).
local function char_width(code)
  local char = utf8.char(code)
  if code < 0x80 then
    if char:find("[iljI.,:;'|!]") then return 0.36 end
    if char:find("[mMW%%@]") then return 1.0 end
    if char:find("[%u#&<>=+~^wG]") then return 0.84 end
    return 0.64
  end
  if code == 0xFDFD then return 10 end -- a whole sentence in one character
  local columns = width.char(code)
  return columns == 0 and 0 or columns == 2 and 1.1 or 0.8
end

-- Longer texts (in columns of a terminal) would make pictures that cairo cannot
-- draw.
local longest <const> = 300

--- Returns the text as it can be drawn: on one line, with escapes for what
-- would break it and, where our fonts draw it and not those of a viewer, for
-- what none of them has.
-- @tparam string kind of the picture: `svg`, `png` or `pdf`
-- @tparam string text any bytes
-- @treturn string
function canvas.clean(kind, text)
  text = width.clean(text)
  if kind ~= "svg" then text = fonts.only_known(text) end
  return width.cut(text, longest, "…")
end

--- Returns the pixels that a line of text takes at most.
-- @tparam string text a text as `clean` leaves it
-- @tparam number size of the font
-- @treturn integer
function canvas.text_width(text, size)
  local sum = 0
  for _, code in utf8.codes(text) do sum = sum + char_width(code) end
  return math.ceil(sum * size)
end

--- Returns the pixels that the widest of some lines takes, 0 for none.
-- @tparam {string,...} texts
-- @tparam number size of the font
-- @treturn integer
function canvas.widest(texts, size)
  local most = 0
  for _, text in ipairs(texts) do
    most = math.max(most, canvas.text_width(text, size))
  end
  return most
end

--- Returns the room for a line of text above, below or (upright) beside a
-- thing, with a gap; 0 if there is no text.
-- @tparam string text
-- @tparam number size of the font
-- @treturn integer
function canvas.line_room(text, size)
  return text == "" and 0
    or math.ceil(size * canvas.line_height) + canvas.gap
end

--- Returns the step 1, 2, 5, 10, 20 ... from label to label that keeps `count`
-- of them `need` pixels apart on `length`.
-- @tparam integer count
-- @tparam number length in pixels
-- @tparam number need in pixels
-- @treturn integer
function canvas.label_step(count, length, need)
  local least, unit = need * count / length, 1
  while true do
    for _, factor in ipairs {1, 2, 5} do
      if factor * unit >= least then return factor * unit end
    end
    unit = unit * 10
  end
end

--- Returns the format of a picture by the ending of its name.
-- @tparam string op what the user called, for messages
-- @tparam string file
-- @treturn string `svg`, `png` or `pdf`
-- @raise for any other ending
function canvas.kind(op, file)
  local kind = file:match("%.(%w+)$")
  kind = kind and kind:lower()
  if not terminals[kind] then
    check.fail("%s: file %s must end in .svg, .png or .pdf", op,
      check.show(file))
  end
  return kind
end

--- Returns an empty picture.
-- @tparam string kind `svg`, `png` or `pdf`
-- @tparam integer across its width in pixels
-- @tparam integer down its height
-- @treturn table an object with the methods below
function canvas.new(kind, across, down)
  local how = terminals[kind]
  local scale = math.max(across, down) * how.scale <= most_pixels and how.scale
    or 1
  local self = setmetatable({kind = kind, width = across, height = down,
    unit = how.font * scale, lines = {}, labels = 0, objects = 0,
    images = {}}, canvas)
  self:add("set terminal " .. how.command
    .. " font \"sans-serif,%d\" background rgb \"white\" linewidth %d rounded",
    across * scale, down * scale, canvas.font * self.unit // 1, scale)
  self:add("set encoding utf8")
  self:add("W = %d.; H = %d.", across, down)
  self:add("unset key; unset tics; unset border; unset colorbox")
  return self
end

--- Adds a line of gnuplot commands, formatted like `string.format`.
function canvas:add(format, ...)
  self.lines[#self.lines + 1] = string.format(format, ...)
end

-- A place as gnuplot writes it.
function canvas:at(x, y)
  return string.format("screen %d/W, screen %d/H", math.floor(x + 0.5),
    self.height - math.floor(y + 0.5))
end

--- Puts a text, if it is not empty.
-- @tparam string text a text as `clean` leaves it
-- @tparam number x of its anchor
-- @tparam number y of the middle of the line
-- @tparam string how `left`, `center` or `right` of the text is the anchor;
--   `rotate by DEGREES` before it
-- @tparam[opt=canvas.font] number size of the font
function canvas:text(text, x, y, how, size)
  if text == "" then return end
  if self.kind == "svg" then
    -- `]]>` may not stand in a text, and gnuplot leaves the `>` as it is: a
    -- mark without width comes between
    text = text:gsub("%]%]>", "]]\u{2060}>")
  end
  self.labels = self.labels + 1
  self:add("set label %d %s at %s %s noenhanced font \",%d\"", self.labels,
    gnuplot.quote(text), self:at(x, y), how,
    (size or canvas.font) * self.unit // 1)
end

--- Draws a rectangle in a gnuplot style (`fc`, `fs`, `lc` ...).
function canvas:box(x, y, to_x, to_y, style)
  self.objects = self.objects + 1
  self:add("set object %d rectangle from %s to %s %s", self.objects,
    self:at(x, y), self:at(to_x, to_y), style)
end

--- Draws a rectangle of one colour.
function canvas:fill(x, y, to_x, to_y, r, g, b)
  self:box(x, y, to_x, to_y,
    string.format("fc rgb \"#%02x%02x%02x\" fs solid noborder", r, g, b))
end

--- Draws the outline of a rectangle, over the images.
function canvas:frame(x, y, to_x, to_y)
  self:box(x, y, to_x, to_y,
    "front fs empty border lc rgb \"" .. canvas.ink .. "\"")
end

--- Fills a rectangle with a grid of colours.
-- @tparam table place `x`, `y`, `width`, `height` in pixels
-- @tparam integer rows
-- @tparam integer cols
-- @tparam function color gives red, green and blue, 0 to 255, of (row, column)
function canvas:image(place, rows, cols, color)
  local id = #self.images + 1
  self:add("$image%d << EOD", id)
  -- gnuplot's images have at least two rows and columns
  local down, across = math.max(rows, 2), math.max(cols, 2)
  for i = 1, down do
    local row = {}
    for j = 1, across do
      local r, g, b = color(math.min(i, rows), math.min(j, cols))
      row[j] = r << 16 | g << 8 | b
    end
    self:add("%s", table.concat(row, " "))
  end
  self:add("EOD")
  -- Viewers smooth a bitmap inside an SVG, so its cells are boxes, unless they
  -- are so many and small that boxes would only make the file long.
  local boxes = self.kind == "svg" and rows * cols <= 40000
  self.images[id] = string.format("$image%d matrix using "
    .. "(%.6f + %.9f * ($1 + .5)):(%.6f + %.9f * ($2 + .5))"
    .. ":(int($3) >> 16):(int($3) >> 8 & 255):(int($3) & 255) "
    .. "with rgbimage%s", id, place.x, place.width / across, place.y,
    place.height / down, boxes and " pixels" or "")
end

-- What a pixel of ours is to gnuplot: `line`, a width of lines; `marker`, a
-- size of markers; `dash`, a length in a dash, which the cairo terminals scale
-- by the width of the line.
local pens <const> = {
  svg = {line = 1, marker = 1 / 9, dash = function() return 1 end},
  png = {line = 1, marker = 1 / 9, dash = function(size) return 4 / size end},
  pdf = {line = 2, marker = 1 / 6, dash = function(size)
    return 3.64 / size
  end},
}

-- A number that a locale cannot turn into one with a comma.
local function exact(number)
  return string.format("(%d/1000.)", math.floor(number * 1000 + 0.5))
end

local function quoted_color(color)
  return string.format("lc rgb \"#%02x%02x%02x\"", table.unpack(color))
end

-- Adds something that gnuplot plots through places in pixels.
local function add_plot(self, pieces, how)
  self.plots = (self.plots or 0) + 1
  self:add("$plot%d << EOD", self.plots)
  for _, piece in ipairs(pieces) do
    for i = 1, #piece, 2 do
      self:add("%d %d", math.floor(piece[i] * 20 + 0.5),
        math.floor(piece[i + 1] * 20 + 0.5))
    end
    self:add("")
  end
  self:add("EOD")
  self.images[#self.images + 1] = string.format(
    "$plot%d using ($1/20.):($2/20.) with %s", self.plots, how)
end

--- Draws lines through places in pixels, over what was drawn before and under
-- all texts.
-- @tparam {{number,...},...} pieces x1, y1, x2, y2, ... for each line
-- @tparam table pen `color`, {red, green, blue}, 0 to 255; `width`; `dash`, a
--   list of the lengths of strokes and gaps, nil for a line without gaps
function canvas:path(pieces, pen)
  if #pieces == 0 then return end
  local dash = ""
  if pen.dash then
    local lengths = {}
    for i, length in ipairs(pen.dash) do
      lengths[i] = exact(length * pens[self.kind].dash(pen.width))
    end
    dash = "dt (" .. table.concat(lengths, ",") .. ") "
  end
  add_plot(self, pieces, "lines lw " .. exact(pen.width * pens[self.kind].line)
    .. " " .. dash .. quoted_color(pen.color))
end

--- Draws markers at places in pixels.
-- @tparam {number,...} points x1, y1, x2, y2, ...
-- @tparam table pen `color`; `shape`, gnuplot's number; `size` in pixels
function canvas:markers(points, pen)
  if #points == 0 then return end
  local scale = self.unit / terminals[self.kind].font -- file pixels of ours
  add_plot(self, {points}, string.format("points pt %d ps %s %s", pen.shape,
    exact(pen.size * scale * pens[self.kind].marker), quoted_color(pen.color)))
end

--- Fills outlines through places in pixels.
-- @tparam {{number,...},...} pieces x1, y1, x2, y2, ... for each outline
-- @tparam table pen `color`; `opacity`, 0 to 1 (1)
function canvas:areas(pieces, pen)
  if #pieces == 0 then return end
  add_plot(self, pieces, string.format("filledcurves closed %s fs transparent "
    .. "solid %s noborder", quoted_color(pen.color), exact(pen.opacity or 1)))
end

--- Writes the picture to a file.
-- @tparam string op what the user called, for messages
-- @tparam string file its name
-- @raise as `gnuplot.draw`
function canvas:draw(op, file)
  if #self.images > 0 then
    for _, margin in ipairs {"l", "r", "t", "b"} do
      local far = margin == "r" or margin == "t"
      self:add("set %smargin at screen %d", margin, far and 1 or 0)
    end
    self:add("set xrange [0:%d]", self.width)
    self:add("set yrange [%d:0]", self.height)
    self:add("plot %s", table.concat(self.images, ", "))
  end
  gnuplot.draw(op, file, self.kind, table.concat(self.lines, "\n") .. "\n")
end

return canvas
