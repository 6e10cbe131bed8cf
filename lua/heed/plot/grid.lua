--- Maps side by side and one below the other as a picture: the layout in
-- pixels, then the drawing. Read `canvas.lua` first. One map is a grid of one.
--
--                      title
--                 title      title
--     row  y row |#####|    |#####|  bar ticks
--     title  row |#####|    |#####|
--                   xlabel
--
--     row  y row |#####|    |#####|
--     title  row |#####|    |#####|
--                / / /      / / /         column labels, at 45 degrees
--                xlabel     xlabel
--
-- Every text has a room of its own: the canvas grows until all of them fit.
local canvas = require "heed.plot.canvas"
local palette = require "heed.plot.palette"
local ticks = require "heed.plot.ticks"

local grid = {}

-- Sizes in pixels.
local font <const> = canvas.font
local title_font <const> = canvas.title_font
local line_height <const> = canvas.line_height
local pad <const> = canvas.pad
local gap <const> = canvas.gap
local bar_width <const> = 14
local bar_height <const> = 110 -- at least
local side <const> = 560 -- of the longer side of one map, if cells may shrink
local total <const> = 960 -- of the longer side of all maps together
local cell_most <const> = 44
local slant <const> = math.sqrt(0.5) -- sine and cosine of 45 degrees

local text_width <const> = canvas.text_width
local widest <const> = canvas.widest
local line_room <const> = canvas.line_room

-- The sizes of a map. Cells are square, as far as neither side gets thinner
-- than a cell of the most; they grow until every label given has room, up to a
-- thousand of them.
local function map_size(g, panel)
  local most = math.min(side, math.max(120, total / math.max(#g.rows,
    g.columns)))
  local down, across = panel.down or panel.rows, panel.across or panel.cols
  local cell = math.min(cell_most, most / math.max(down, across))
  if cell > 1 then cell = math.floor(cell * 2) / 2 end -- whole in a PNG
  if panel.all_rows and panel.rows <= 1000 then cell = math.max(cell, 16) end
  if panel.all_cols and panel.cols <= 1000 then cell = math.max(cell, 23) end
  local function length(count)
    return math.floor(math.max(cell * count, math.min(cell_most,
      cell_most * count)) + 0.5)
  end
  return length(across), length(down)
end

-- The room that the column labels of a panel take: below it, and to the left,
-- where the first ones reach out under the row labels.
local function col_label_room(panel)
  if widest(panel.col_labels, font) == 0 then return 0, 0 end
  if panel.upright then return gap + math.ceil(font * line_height), 0 end
  local cell = panel.width / panel.cols
  local below, left = 0, 0
  for j = 1, panel.cols, panel.col_step do
    local label = panel.col_labels[j]
    if label ~= "" then
      local reach = (text_width(label, font) + font) * slant
      below = math.max(below, reach)
      left = math.max(left, reach - (j - 0.5) * cell)
    end
  end
  return gap + math.ceil(below), math.ceil(left)
end

local function measure(g, panel, has_rows, has_cols)
  panel.width, panel.height = map_size(g, panel)
  panel.has_rows = has_rows and #panel.row_labels > 0
  panel.has_cols = has_cols and #panel.col_labels > 0
  panel.row_step = canvas.label_step(panel.rows, panel.height,
    font * line_height)
  panel.upright = not g.slanted
    and widest(panel.col_labels, font) + 4 <= panel.width / panel.cols
  panel.col_step = panel.upright and 1
    or canvas.label_step(panel.cols, panel.width, font * line_height / slant)
  panel.below, panel.reach = 0, 0
  if has_cols then panel.below, panel.reach = col_label_room(panel) end
  local labels = has_rows and widest(panel.row_labels, font) or 0
  panel.before = labels > 0 and labels + gap or 0
end

-- Calls f(panel, r, c, is_bottom) for every map.
local function each(g, f)
  for r, row in ipairs(g.rows) do
    for c, panel in ipairs(row) do
      f(panel, r, c, not (g.rows[r + 1] and g.rows[r + 1][c]))
    end
  end
end

-- A table of `count` zeros, one for each row or column.
local function zeros(count)
  local list = {}
  for i = 1, count do list[i] = 0 end
  return list
end

-- The places from left to right: `x` of the panels, `row_title_x`, `ylabel_x`;
-- returns where the last column ends.
local function lay_columns(g)
  local before, wide = zeros(g.columns), zeros(g.columns)
  local is_long = false
  for r, row in ipairs(g.rows) do
    local upright = math.max(text_width(g.ylabel, font),
      text_width(g.row_titles[r] or "", font))
    is_long = is_long or upright > row[1].height
  end
  local ylabel = line_room(g.ylabel, font)
  local row_title = widest(g.row_titles, font) > 0
    and line_room("-", font) + gap or 0
  local heads = ylabel + row_title
  each(g, function(panel, _, c, is_bottom)
    local reach = panel.reach
    if c > 1 and g.shared then reach = 0 end -- parallel to those of the left
    -- the first ones may reach out under the upright texts, if these end above
    if c == 1 and not is_long then reach = reach - heads end
    before[c] = math.max(before[c], panel.before, reach)
    wide[c] = math.max(wide[c], panel.width, text_width(panel.title, font),
      is_bottom and text_width(g.xlabel, font) or 0)
  end)

  local x, first = pad + heads, nil
  for c = 1, g.columns do
    x = x + before[c]
    for _, row in ipairs(g.rows) do
      local panel = row[c]
      if panel then
        panel.middle = x + wide[c] / 2
        panel.x = math.floor(panel.middle - panel.width / 2)
      end
    end
    first = first or x
    x = x + wide[c] + 3 * gap
  end
  local labels = is_long and before[1] or 0
  for _, row in ipairs(g.rows) do labels = math.max(labels, row[1].before) end
  g.ylabel_x = first - labels - gap - font // 2
  g.row_title_x = first - labels - ylabel - 2 * gap - font // 2
  g.left, g.right = first, x - 3 * gap
end

-- The places from top to bottom: `y` of the panels, `middle` of each row;
-- returns where the last row ends.
local function lay_rows(g)
  local y = pad + line_room(g.title, title_font)
  for r, row in ipairs(g.rows) do
    local above, below = 0, 0
    local tall = math.max(text_width(g.ylabel, font),
      text_width(g.row_titles[r] or "", font))
    for _, panel in ipairs(row) do tall = math.max(tall, panel.height) end
    for c, panel in ipairs(row) do
      above = math.max(above, line_room(panel.title, font))
      panel.xlabel = not (g.rows[r + 1] and g.rows[r + 1][c]) and g.xlabel or ""
      -- what hangs below a map that is less tall than the row
      local spare = (tall - panel.height) // 2
      below = math.max(below,
        panel.below + line_room(panel.xlabel, font) - spare)
    end
    y = y + above
    row.middle = y + tall / 2
    for _, panel in ipairs(row) do
      panel.y = math.floor(row.middle - panel.height / 2)
    end
    y = y + tall + below + 3 * gap
  end
  return y - 3 * gap
end

-- The bar right of the maps, as tall as they; returns where it ends.
local function lay_bar(g)
  local bar = {x = g.right + 2 * gap, y = math.huge}
  g.bar = bar
  local bottom = 0
  each(g, function(panel)
    bar.y = math.min(bar.y, panel.y)
    bottom = math.max(bottom, panel.y + panel.height)
  end)
  local nan_height = g.nan and bar_width + gap or 0
  local notes = g.nan and text_width("NaN", font) or 0
  bar.height = 0
  if g.scale then
    bar.height = math.max(bottom - bar.y - nan_height, bar_height)
    bar.ticks = ticks.labelled(g.scale.low, g.scale.high,
      math.min(10, bar.height // (font * line_height)))
    for _, tick in ipairs(bar.ticks) do
      notes = math.max(notes, text_width(tick.text, font))
    end
  end
  bar.bottom = bar.y + bar.height
  return bar.x + bar_width + gap + notes, bar.bottom + nan_height
end

local function layout(g)
  each(g, function(panel, _, c, is_bottom)
    measure(g, panel, not g.shared or c == 1, not g.shared or is_bottom)
  end)
  lay_columns(g)
  local right, bottom = g.right, lay_rows(g)
  if g.scale or g.nan then
    local bar_right, bar_bottom = lay_bar(g)
    right, bottom = bar_right, math.max(bottom, bar_bottom)
  end
  -- a title wider than all the rest moves it to the middle
  local need = text_width(g.title, title_font) + 2 * pad
  g.across = math.max(right + pad, need)
  g.shift = (g.across - right - pad) // 2
  g.down = math.ceil(bottom) + pad
  g.title_x = math.max(need / 2, math.min(g.across - need / 2,
    g.shift + (g.left + g.right) / 2))
end

local function add_labels(picture, g, panel)
  local x, bottom = g.shift + panel.x, panel.y + panel.height
  if panel.has_rows then
    local cell = panel.height / panel.rows
    for i = 1, panel.rows, panel.row_step do
      picture:text(panel.row_labels[i], x - gap, panel.y + (i - 0.5) * cell,
        "right")
    end
  end
  if panel.has_cols then
    local cell = panel.width / panel.cols
    for j = 1, panel.cols, panel.col_step do
      local label, middle = panel.col_labels[j], x + (j - 0.5) * cell
      if panel.upright then
        picture:text(label, middle, bottom + gap + font / 2, "center")
      else
        -- the anchor is half a line off the text's own axis
        picture:text(label, middle + 2, bottom + gap + 2, "rotate by 45 right")
      end
    end
  end
  local middle = g.shift + panel.middle
  picture:text(panel.title, middle, panel.y - gap - font * line_height / 2,
    "center")
  picture:text(panel.xlabel, middle,
    bottom + panel.below + gap + font * line_height / 2, "center")
end

-- The bar is a pile of boxes that all reach its upper end: boxes side by side
-- would show light seams in a PDF.
local function add_scale(picture, x, bar, cmap)
  local right, bottom = x + bar_width, bar.bottom
  local steps = math.min(128, bar.height)
  for k = 0, steps - 1 do
    picture:fill(x, bottom - k * bar.height / steps, right, bar.y,
      palette.color(cmap, k / (steps - 1)))
  end
  picture:frame(x, bottom, right, bar.y)
  for _, tick in ipairs(bar.ticks) do
    local y = bottom - tick.place * bar.height
    picture:frame(right, y, right + 3, y)
    picture:text(tick.text, right + gap, y, "left")
  end
end

local function add_nan(picture, x, bar, cmap)
  local y = bar.bottom + (bar.height > 0 and gap or 0)
  picture:fill(x, y, x + bar_width, y + bar_width, palette.no_number(cmap))
  picture:frame(x, y, x + bar_width, y + bar_width)
  picture:text("NaN", x + bar_width + gap, y + bar_width / 2, "left")
end

--- Writes maps as a picture.
-- All texts are as `canvas.clean` leaves them; empty ones take no room.
-- @tparam string op what the user called, for messages
-- @tparam string file the picture
-- @tparam table g what it shows:
--
-- - `rows`: rows of panels, the last of which may be shorter; a panel has
--   `rows`, `cols`, `color` (as for `canvas:image`), `title`, `row_labels` and
--   `col_labels` (a text each), `all_rows` and `all_cols` (true if none of the
--   labels may be left out), `down` and `across` (cells that give its size, if
--   they are others than `rows` and `cols`)
-- - `columns`: how many panels the longest row has
-- - `shared`: labels stand at the outer panels only
-- - `slanted`: column labels are never upright
-- - `title`, `xlabel`, `ylabel`; `row_titles`, a list that may be empty
-- - `scale`: `low`, `high` and `cmap` of the bar, or nil for none
-- - `nan`: the colour map whose colour for "not a number" has an entry, or nil
function grid.draw(op, file, g)
  layout(g)
  local picture = canvas.new(canvas.kind(op, file), g.across, g.down)
  each(g, function(panel)
    add_labels(picture, g, panel)
    local x, y = g.shift + panel.x, panel.y
    picture:image({x = x, y = y, width = panel.width, height = panel.height},
      panel.rows, panel.cols, panel.color)
    picture:frame(x, y, x + panel.width, y + panel.height)
  end)
  for r, row in ipairs(g.rows) do
    picture:text(g.row_titles[r] or "", g.shift + g.row_title_x, row.middle,
      "rotate by 90 center")
    picture:text(g.ylabel, g.shift + g.ylabel_x, row.middle,
      "rotate by 90 center")
  end
  picture:text(g.title, g.title_x, pad + title_font * line_height / 2,
    "center", title_font)
  if g.scale then
    add_scale(picture, g.shift + g.bar.x, g.bar, g.scale.cmap)
  end
  if g.nan then add_nan(picture, g.shift + g.bar.x, g.bar, g.nan) end
  picture:draw(op, file)
end

return grid
