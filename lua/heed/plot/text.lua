--- Maps and images as text. Read `matrix.lua` and `blocks.lua` first.
--
--            t
--            h  c
--            e  a      column labels, upright if they fit, else downwards
--               t
--     le   |▓▓▓     |
--     chat |   █████|
--      0 | ░▒▓█| 0.9   the legend
--
-- A map without labels of its own is drawn in half blocks where the terminal
-- has colours, with numbers beside it.
local blocks = require "heed.plot.blocks"
local canvas = require "heed.plot.canvas"
local matrix = require "heed.plot.matrix"
local palette = require "heed.plot.palette"
local terminal = require "heed.plot.terminal"
local width = require "heed.plot.width"

local text = {}

local image_side <const> = 32 -- small images grow to these columns
local map_side <const> = 48 -- and small maps to these
local least_side <const> = 24 -- large ones get no smaller to stand in a row

-- Two ways to draw a cell that is `columns` wide. `place` is 0 to 1, nil for
-- what is not a number, which is drawn as a row of crosses.
local function shade_painter(is_utf8)
  local shades = is_utf8 and blocks.shades_utf8 or blocks.shades_ascii
  local cross = is_utf8 and "×" or "x"
  return function(place, columns)
    if not place then return cross:rep(columns) end
    local k = math.min(math.floor(place * #shades) + 1, #shades)
    return shades[k]:rep(columns)
  end
end

local function color_painter(cmap, nan, cross)
  return function(place, columns)
    local inside = place and " " or cross
    local r, g, b = palette.no_number(nan)
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

-- The columns of a line with its colours.
local function visible(line)
  return width.text((line:gsub("\27%[[%d;]*m", "")))
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
local function add_rows(lines, t, m, labels, first, last, map)
  for i = 1, m.rows do
    local label = map.label > 0 and labels[i] or ""
    local out = {(" "):rep(map.label - width.text(label)), label,
      map.label > 0 and " " or "", t.edge}
    for j = first, last do
      local number = m[i][j]
      out[#out + 1] = t.paint(number == number
        and matrix.place(number, t.low, t.high) or nil, map.cell)
    end
    out[#out + 1] = t.edge
    lines[#lines + 1] = table.concat(out)
  end
end

-- A map in cells with labels, as lines. One wider than the terminal, or the
-- room for its cells, is split: some columns first, the others below.
local function cell_lines(t, panel, has_rows, room)
  local m = panel.m
  local map = {label = has_rows and widest(panel.row_labels) or 0}
  local edge = width.text(t.edge)
  map.left = map.label + (map.label > 0 and 1 or 0) + edge
  room = room or t.columns - map.left - edge
  map.cell, map.downwards = cell_size(panel.col_labels, room)
  local band = math.max(1, room // map.cell)
  local lines = {}
  for first = 1, m.cols, band do
    local last = math.min(first + band - 1, m.cols)
    if band < m.cols then
      lines[#lines + 1] = string.format("columns %d to %d of %d", first, last,
        m.cols)
    end
    add_header(lines, panel.col_labels, first, last, map)
    add_rows(lines, t, m, panel.row_labels, first, last, map)
  end
  return lines
end

-- The columns and half lines that a panel takes in blocks, at most `room` wide.
local function block_size(panel, room)
  local most = math.min(room, panel.m and map_side or image_side)
  local down, across = panel.down or panel.rows, panel.across or panel.cols
  local scale = most // math.max(down, across)
  if panel.m and scale > 1 then -- whole lines, since they have numbers
    scale = math.min(4, scale - scale % 2)
  end
  scale = math.max(1, scale)
  if across * scale <= room then return across * scale, down * scale end
  return room, math.max(1, math.floor(down * room / across + 0.5))
end

-- The numbers of the columns, each above the first column of its cell.
local function number_line(count, w, left)
  local digits = #tostring(count)
  local step = canvas.label_step(count, w, digits + 1)
  local line = (" "):rep(left)
  for j = 1, count, step do
    local at = left + (j - 1) * w // count
    line = line .. (" "):rep(at - #line) .. j
  end
  return line
end

-- The columns that the numbers beside a panel in blocks take at the left, and
-- those of the last column at the right.
local function number_room(panel)
  if not panel.has_numbers then return 0, 0 end
  return #tostring(panel.rows) + 1, #tostring(panel.cols) - 1
end

-- The columns that each of a row of panels in blocks may take, so that they
-- stand beside each other if none gets too small.
local function block_room(t, row)
  local need = 0
  for _, panel in ipairs(row) do
    local left, right = number_room(panel)
    need = math.max(need, math.min(least_side,
      (panel.across or panel.cols) + left + right))
  end
  local per = math.max(1, math.min(#row, (t.columns + 2) // (need + 2)))
  return (t.columns - 2 * (per - 1)) // per
end

-- A panel in half blocks, as lines: an image, or a map without labels of its
-- own.
local function block_lines(t, panel, room)
  local left, right = number_room(panel)
  local w, h = block_size(panel, math.max(1, room - left - right))
  local lines = blocks.lines(panel, w, h, t)
  if not panel.has_numbers then return lines end
  local scale = h / panel.rows
  local step = canvas.label_step(panel.rows, #lines, scale >= 2 and 1 or 2)
  local numbers = {}
  for i = 1, panel.rows, step do
    local line = (i - 1) * h // panel.rows // 2 + 1
    numbers[line] = numbers[line] or i
  end
  for k, line in ipairs(lines) do
    lines[k] = ("%" .. left - 1 .. "s %s"):format(numbers[k] or "", line)
  end
  table.insert(lines, 1, number_line(panel.cols, w, left))
  return lines
end

-- The lines of panels side by side, each under its title.
local function beside(list)
  local height, lines = 0, {}
  for _, block in ipairs(list) do height = math.max(height, #block) end
  for k = 1, height do
    local out, at, used = {}, 0, 0
    for _, block in ipairs(list) do
      local line = block[k] or ""
      out[#out + 1] = (" "):rep(at - used) .. line
      used = at + visible(line)
      at = at + block.width + 2
    end
    lines[k] = table.concat(out):gsub(" +$", "")
  end
  return lines
end

local function make_block(panel, lines)
  if panel.title ~= "" then table.insert(lines, 1, panel.title) end
  lines.width = 0
  for _, line in ipairs(lines) do
    lines.width = math.max(lines.width, visible(line))
  end
  return lines
end

-- How many maps in cells stand beside each other, as many as are not split, and
-- the columns that the cells of each may take.
local function cells_beside(t, g, row)
  local label = 0
  for _, panel in ipairs(row) do
    label = math.max(label, widest(panel.row_labels))
  end
  label = label > 0 and label + 1 or 0
  for per = #row, 2, -1 do
    local labels = g.shared and label or per * label
    local room = (t.columns - 2 * (per - 1) - labels) // per
      - 2 * width.text(t.edge)
    local fits = true
    for _, panel in ipairs(row) do
      local cell = cell_size(panel.col_labels, 0) -- written downwards
      fits = fits and cell * panel.cols <= room
        and width.text(panel.title) <= room
    end
    if fits then return per, room end
  end
  return 1
end

-- Appends a row of panels: as many beside each other as fit, then those below.
local function add_row(lines, t, g, row)
  local per, room
  if t.in_blocks then
    per, room = #row, block_room(t, row)
  else
    per, room = cells_beside(t, g, row)
  end
  local line = {}
  local function flush()
    local joined = beside(line)
    table.move(joined, 1, #joined, #lines + 1, lines)
    line = {}
  end
  local used = 0
  for _, panel in ipairs(row) do
    local block
    if t.in_blocks then
      block = make_block(panel, block_lines(t, panel, room))
    else
      local has_rows = not g.shared or #line % per == 0
      block = make_block(panel, cell_lines(t, panel, has_rows, room))
    end
    if #line == per or used + 2 + block.width > t.columns then flush() end
    used = (#line > 0 and used + 2 or 0) + block.width
    line[#line + 1] = block
  end
  flush()
end

-- The scale: the range between its ends, one column a step where two are too
-- many for the line.
local function scale(t, room)
  local low, high = matrix.numbers(t.low, t.high)
  if t.low == t.high then
    return t.edge .. t.paint(0.5, 2) .. t.edge .. " " .. low
  end
  local ends = #low + #high + 2 + 2 * width.text(t.edge)
  local columns = ends + 20 <= room and 2 or 1
  local out = {low, " ", t.edge}
  for k = 0, 9 do out[#out + 1] = t.paint(k / 9, columns) end
  out[#out + 1] = t.edge .. " " .. high
  return table.concat(out)
end

-- Appends the legend: the scale, then what its colours do not say, on lines of
-- its own if the scale's has no room.
local function add_legend(lines, t, g, indent)
  local parts = {}
  if g.scale and g.nan_count < g.count then
    parts[1] = scale(t, t.columns - indent)
  end
  if g.below > 0 then parts[#parts + 1] = g.below .. " below the range" end
  if g.above > 0 then parts[#parts + 1] = g.above .. " above the range" end
  if g.nan_count > 0 then
    parts[#parts + 1] = t.paint(nil, 2) .. " not a number (" .. g.nan_count
      .. ")"
  end
  if #parts == 0 then return end
  local line = (" "):rep(indent) .. parts[1]
  for k = 2, #parts do
    if visible(line) + 2 + visible(parts[k]) > t.columns then
      lines[#lines + 1] = line
      line = (" "):rep(indent) .. parts[k]
    else
      line = line .. "  " .. parts[k]
    end
  end
  lines[#lines + 1] = line
end

-- What the axes mean.
local function axes(t, g)
  local parts = {}
  if g.ylabel ~= "" then
    parts[1] = t.utf8 and g.ylabel .. " ↓" or "down: " .. g.ylabel
  end
  if g.xlabel ~= "" then
    parts[#parts + 1] = t.utf8 and g.xlabel .. " →" or "across: " .. g.xlabel
  end
  return table.concat(parts, "  ")
end

-- What all lines share: the terminal, its painter, the range.
local function new_terminal(op, g, opts)
  local t = {utf8 = opts.utf8, colored = opts.color}
  if t.utf8 == nil then t.utf8 = terminal.is_utf8() end
  local file = opts.file or io.stdout
  t.columns = terminal.columns(op, opts.width, file)
  if t.colored == nil then t.colored = terminal.has_color(file) end
  t.edge = t.colored and "" or t.utf8 and "│" or "|"
  t.in_blocks = g.is_image or g.in_blocks and t.colored and t.utf8
  t.paint = shade_painter(t.utf8)
  if t.colored then
    local cmap = g.scale and g.scale.cmap
    local cross = t.in_blocks and " " or t.utf8 and "×" or "x"
    t.paint = color_painter(cmap, g.nan or cmap, cross)
  end
  if g.scale then t.low, t.high = g.scale.low, g.scale.high end
  return t
end

-- A row label may take what a narrow map leaves, and half a line at least.
local function cut_labels(t, panel)
  local most = math.max(t.columns // 2, t.columns - 2 * panel.cols - 3)
  for i, label in ipairs(panel.row_labels) do
    panel.row_labels[i] = width.cut(label, most, t.utf8 and "…" or "...")
  end
end

--- Returns maps or images as text for a terminal.
-- @tparam string op what the user called, for messages
-- @tparam table g what it shows, as for `grid.draw`, and: `m` of each panel,
--   unless they are images (`is_image`); `has_numbers` of a panel: blocks have
--   them beside; `in_blocks`: half blocks where the terminal has colours;
--   `count` of all elements, `nan_count`, `below` and `above` the range
-- @tparam table opts `width`, `color`, `utf8`, `file`, see `plot.render`
-- @treturn string lines, each with its end
function text.draw(op, g, opts)
  local t = new_terminal(op, g, opts)
  local lines = {}
  if g.title ~= "" then lines[1] = g.title end
  local names = axes(t, g)
  if names ~= "" then lines[#lines + 1] = names end
  for r, row in ipairs(g.rows) do
    if not t.in_blocks then
      for _, panel in ipairs(row) do cut_labels(t, panel) end
    end
    if g.row_titles[r] then lines[#lines + 1] = g.row_titles[r] end
    add_row(lines, t, g, row)
  end
  local indent = 0
  if not t.in_blocks then
    local label = widest(g.rows[1][1].row_labels)
    indent = label > 0 and label + 1 + width.text(t.edge) or 0
  end
  add_legend(lines, t, g, indent)
  return table.concat(lines, "\n") .. "\n"
end

return text
