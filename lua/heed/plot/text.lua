--- The heat map as text. Read `matrix.lua` first.
--
--            t
--            h  c
--            e  a      column labels, upright if they fit, else downwards
--               t
--     le   |▓▓▓     |
--     chat |   █████|
--      0 | ░▒▓█| 0.9   the legend
local check = require "heed.check"
local matrix = require "heed.plot.matrix"
local palette = require "heed.plot.palette"
local terminal = require "heed.plot.terminal"
local width = require "heed.plot.width"

local text = {}

local known <const> = {
  row_labels = "table|boolean", col_labels = "table|boolean",
  title = "string", width = "number", color = "boolean", file = "any",
  cmap = "string", vmin = "number", vmax = "number", utf8 = "boolean",
}

-- From low to high; the bars at the sides show where an empty cell ends.
local shades_utf8 <const> = {" ", "░", "▒", "▓", "█"}
local shades_ascii <const> = {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"}

--- Returns the characters that stand for shades, from low to high.
-- @tparam boolean is_utf8 whether the terminal shows more than ASCII
-- @treturn {string,...}
function text.shades(is_utf8)
  return is_utf8 and shades_utf8 or shades_ascii
end

-- Two ways to draw a cell that is `columns` wide. `place` is 0 to 1, nil for
-- what is not a number, which is drawn as a row of crosses.
local function shade_painter(is_utf8)
  local shades = text.shades(is_utf8)
  local cross = is_utf8 and "×" or "x"
  return function(place, columns)
    if not place then return cross:rep(columns) end
    local k = math.min(math.floor(place * #shades) + 1, #shades)
    return shades[k]:rep(columns)
  end
end

local function color_painter(cmap, is_utf8)
  local cross = is_utf8 and "×" or "x"
  return function(place, columns)
    local inside = place and " " or cross
    local r, g, b = palette.no_number(cmap)
    if place then r, g, b = palette.color(cmap, place) end
    return string.format("\27[38;2;0;0;0;48;2;%d;%d;%dm%s\27[0m", r, g, b,
      inside:rep(columns))
  end
end

local function widest(labels)
  local most = 0
  for _, label in ipairs(labels) do most = math.max(most, width.text(label)) end
  return most
end

-- The columns of a cell, and whether the labels above are written downwards:
-- only if upright ones would make the whole map wider than `room`.
local function cell_size(labels, room)
  local upright = math.max(2, widest(labels) + 1)
  if upright * #labels <= room then return upright, false end
  local most = 1
  for _, label in ipairs(labels) do
    most = math.max(most, widest(width.cells(label)))
  end
  return most + 1, true
end

-- Appends the lines of the column labels `first` to `last`.
local function add_header(lines, labels, first, last, map)
  local stacks, height = {}, 0
  for j = first, last do
    local cells = map.downwards and width.cells(labels[j]) or {labels[j]}
    if labels[j] == "" then cells = {} end
    stacks[#stacks + 1] = cells
    height = math.max(height, #cells)
  end
  for line = 1, height do
    local out = {(" "):rep(map.left)}
    for _, cells in ipairs(stacks) do
      -- stacks stand on the map: short ones begin lower
      local cell = cells[line - height + #cells] or ""
      local rest = map.cell - width.text(cell)
      local before = map.downwards and 0 or rest // 2
      out[#out + 1] = (" "):rep(before) .. cell .. (" "):rep(rest - before)
    end
    lines[#lines + 1] = table.concat(out):gsub(" +$", "")
  end
end

-- Appends the rows of the matrix, columns `first` to `last`.
local function add_rows(lines, m, labels, first, last, map)
  for i = 1, m.rows do
    local label = labels[i]
    local out = {(" "):rep(map.label - width.text(label)), label, map.open}
    for j = first, last do
      local number = m[i][j]
      out[#out + 1] = map.paint(number == number
        and matrix.place(number, map.low, map.high) or nil, map.cell)
    end
    out[#out + 1] = map.close
    lines[#lines + 1] = table.concat(out)
  end
end

-- The scale: the range between its ends, one column a step where two are too
-- many for the line.
local function scale(map, room)
  local low, high = matrix.numbers(map.low, map.high)
  if map.low == map.high then
    return map.edge .. map.paint(0.5, 2) .. map.edge .. " " .. low
  end
  local ends = #low + #high + 2 + 2 * width.text(map.edge)
  local columns = ends + 20 <= room and 2 or 1
  local out = {low, " ", map.edge}
  for k = 0, 9 do out[#out + 1] = map.paint(k / 9, columns) end
  out[#out + 1] = map.edge .. " " .. high
  return table.concat(out), ends + 10 * columns
end

-- Appends the legend: the scale, then what its colours do not say, on lines of
-- its own if the scale's has no room.
local function add_legend(lines, m, map)
  local indent = map.label > 0 and map.left or 0
  local parts, columns = {}, {}
  if m.nan < m.rows * m.cols then
    local bar, bar_columns = scale(map, map.columns - indent)
    parts[1], columns[1] = bar, bar_columns or width.text(bar)
  end
  local function note(painted, plain)
    parts[#parts + 1] = painted .. plain
    columns[#parts] = #plain + (painted == "" and 0 or 2)
  end
  if map.below > 0 then note("", map.below .. " below the range") end
  if map.above > 0 then note("", map.above .. " above the range") end
  if m.nan > 0 then
    note(map.paint(nil, 2), " not a number (" .. m.nan .. ")")
  end
  local line, used = (" "):rep(indent) .. parts[1], indent + columns[1]
  for k = 2, #parts do
    if used + 2 + columns[k] > map.columns then
      lines[#lines + 1] = line
      line, used = (" "):rep(indent) .. parts[k], indent + columns[k]
    else
      line, used = line .. "  " .. parts[k], used + 2 + columns[k]
    end
  end
  lines[#lines + 1] = line
end

-- What all lines share: sizes in columns, the painter, the range.
local function new_map(op, m, row_labels, col_labels, opts)
  local is_utf8 = opts.utf8
  if is_utf8 == nil then is_utf8 = terminal.is_utf8() end
  local file = opts.file or io.stdout
  local columns = terminal.columns(op, opts.width, file)
  local cmap = palette.check(op, opts.cmap)
  local colored = opts.color
  if colored == nil then colored = terminal.has_color(file) end

  local map = {columns = columns}
  map.edge = colored and "" or is_utf8 and "│" or "|"
  map.paint = colored and color_painter(cmap, is_utf8) or shade_painter(is_utf8)
  map.low, map.high, map.below, map.above =
    matrix.range(op, m, opts.vmin, opts.vmax)

  -- A row label may take what a narrow map leaves, and half a line at least.
  local most = math.max(columns // 2, columns - 2 * m.cols - 3)
  for i, label in ipairs(row_labels) do
    row_labels[i] = width.cut(label, most, is_utf8 and "…" or "...")
  end
  map.label = widest(row_labels)
  map.open = (map.label > 0 and " " or "") .. map.edge
  map.close = map.edge
  local edge = colored and 0 or 1
  map.left = map.label + (map.label > 0 and 1 or 0) + edge
  local room = columns - map.left - edge
  map.cell, map.downwards = cell_size(col_labels, room)
  map.band = math.max(1, room // map.cell)
  return map
end

--- Returns a heat map of a matrix as text for a terminal.
-- Column labels are written downwards where they would not fit beside each
-- other. A map wider than `width` is split: some columns first, the others
-- below. A row label is cut if it takes more than half of the width.
-- @tparam string op what the user called, for messages
-- @param value the matrix, see `matrix.read`
-- @tparam ?table opts see `plot.render`
-- @treturn string lines, each with its end
function text.render(op, value, opts)
  opts = check.types(op, opts, known)
  local m = matrix.read(op, value)
  local row_labels = matrix.labels(op, "row_labels", opts.row_labels, m)
  local col_labels = matrix.labels(op, "col_labels", opts.col_labels, m)
  local map = new_map(op, m, row_labels, col_labels, opts)

  local lines = {}
  if opts.title then lines[1] = width.clean(opts.title) end
  for first = 1, m.cols, map.band do
    local last = math.min(first + map.band - 1, m.cols)
    if map.band < m.cols then
      lines[#lines + 1] = string.format("columns %d to %d of %d", first, last,
        m.cols)
    end
    add_header(lines, col_labels, first, last, map)
    add_rows(lines, m, row_labels, first, last, map)
  end
  add_legend(lines, m, map)
  return table.concat(lines, "\n") .. "\n"
end

return text
