--- The heat map as a picture: the layout in pixels, then the drawing.
-- Read `canvas.lua` first.
--
--              title
--     y   row |##########|  bar ticks
--         row |##########|
--               / / / /          column labels, at 45 degrees
--              xlabel
local check = require "heed.check"
local canvas = require "heed.plot.canvas"
local matrix = require "heed.plot.matrix"
local palette = require "heed.plot.palette"
local ticks = require "heed.plot.ticks"
local width = require "heed.plot.width"

local heatmap = {}

local known <const> = {
  row_labels = "table|boolean", col_labels = "table|boolean",
  title = "string", xlabel = "string", ylabel = "string", file = "string",
  cmap = "string", vmin = "number", vmax = "number",
}

-- Sizes in pixels.
local font <const> = canvas.font
local title_font <const> = canvas.title_font
local line_height <const> = canvas.line_height
local pad <const> = canvas.pad
local gap <const> = canvas.gap
local bar_width <const> = 14
local bar_height <const> = 110 -- at least
local side <const> = 560 -- of the longer side of the map, if cells may shrink
local slant <const> = math.sqrt(0.5) -- sine and cosine of 45 degrees

local text_width <const> = canvas.text_width
local widest <const> = canvas.widest
local line_room <const> = canvas.line_room

-- The sizes of the map. Cells are square, as far as neither side gets thinner
-- than a few cells; they grow until every label given has room, up to a
-- thousand of them.
local function map_size(m, labelled_rows, labelled_cols)
  local cell = math.min(44, side / math.max(m.rows, m.cols))
  if cell > 1 then cell = math.floor(cell) end
  if labelled_rows and m.rows <= 1000 then cell = math.max(cell, 16) end
  if labelled_cols and m.cols <= 1000 then cell = math.max(cell, 23) end
  local function length(count)
    return math.floor(math.max(cell * count, math.min(44, 44 * count)) + 0.5)
  end
  return length(m.cols), length(m.rows)
end

-- The room that the column labels take: below the map, and to the left of it,
-- where the first ones reach out under the row labels.
local function col_label_room(labels, map_width, step)
  local cell = map_width / #labels
  local below, left = 0, 0
  for j = 1, #labels, step do
    local reach = text_width(labels[j], font) * slant + font * slant
    if labels[j] ~= "" then
      below = math.max(below, reach)
      left = math.max(left, reach - (j - 0.5) * cell)
    end
  end
  return math.ceil(below), math.ceil(left)
end

-- All places of the picture: `left`, `top` of the map, sizes, the canvas.
local function layout(m, texts, bar, opts)
  local l = {}
  l.map_width, l.map_height = map_size(m, opts.row_labels, opts.col_labels)
  local cell = l.map_width / m.cols
  l.row_step = canvas.label_step(m.rows, l.map_height, font * line_height)
  l.upright = widest(texts.cols, font) + 4 <= cell
  l.col_step = l.upright and 1
    or canvas.label_step(m.cols, l.map_width, font * line_height / slant)

  local below, reach = col_label_room(texts.cols, l.map_width, l.col_step)
  if l.upright then below, reach = math.ceil(font * line_height), 0 end
  if widest(texts.cols, font) == 0 then below = 0 end
  local rows = widest(texts.rows, font)
  local ylabel = line_room(texts.ylabel, font) -- it stands upright
  l.left = pad + math.max(ylabel + rows + (rows > 0 and gap or 0), reach)
  l.ylabel_x = pad + font // 2
  l.top = pad + line_room(texts.title, title_font)

  -- the bar, with the entry for NaN under it
  l.bar_left = l.left + l.map_width + 2 * gap
  l.nan_height = m.nan > 0 and bar_width + gap or 0
  l.bar_height = math.max(l.map_height - l.nan_height, bar_height)
  local notes = math.max(0, m.nan > 0 and text_width("NaN", font) or 0)
  for _, tick in ipairs(bar) do
    notes = math.max(notes, text_width(tick.text, font))
  end
  l.width = l.bar_left + bar_width + gap + notes + pad
  l.xlabel_y = l.top + l.map_height + gap + below + gap
  local bottom = math.max(l.top + l.map_height + gap + below
    + line_room(texts.xlabel, font), l.top + l.bar_height + l.nan_height)
  l.height = math.ceil(bottom) + pad

  -- longer texts widen the canvas; the map stays in its middle
  local function widen(size, need, moved)
    local more = math.max(0, need + 2 * pad - l[size])
    l[size] = l[size] + more
    for _, place in ipairs(moved) do l[place] = l[place] + more // 2 end
  end
  widen("width", math.max(text_width(texts.title, title_font),
    text_width(texts.xlabel, font)), {"left", "bar_left", "ylabel_x"})
  local title = line_room(texts.title, title_font)
  local ylabel_length = text_width(texts.ylabel, font)
  widen("height", title + ylabel_length, {"top", "xlabel_y"})
  local half = ylabel_length / 2 + pad
  l.ylabel_y = math.max(title + half,
    math.min(l.height - half, l.top + l.map_height / 2))
  return l
end

local function add_labels(picture, l, m, texts)
  local cell_height, cell_width = l.map_height / m.rows, l.map_width / m.cols
  for i = 1, m.rows, l.row_step do
    picture:text(texts.rows[i], l.left - gap, l.top + (i - 0.5) * cell_height,
      "right")
  end
  local bottom = l.top + l.map_height
  for j = 1, m.cols, l.col_step do
    local x = l.left + (j - 0.5) * cell_width
    if l.upright then
      picture:text(texts.cols[j], x, bottom + gap + font / 2, "center")
    else
      -- the anchor is half a line off the text's own axis
      picture:text(texts.cols[j], x + 2, bottom + gap + 2, "rotate by 45 right")
    end
  end

  local function centered(text, size)
    local half = text_width(text, size) / 2 + pad
    return math.max(half, math.min(l.width - half, l.left + l.map_width / 2))
  end
  picture:text(texts.title, centered(texts.title, title_font),
    pad + title_font * line_height / 2, "center", title_font)
  picture:text(texts.xlabel, centered(texts.xlabel, font),
    l.xlabel_y + font * line_height / 2, "center")
  picture:text(texts.ylabel, l.ylabel_x, l.ylabel_y, "rotate by 90 center")
end

-- The bar is a pile of boxes that all reach its upper end: boxes side by side
-- would show light seams in a PDF.
local function add_bar(picture, l, m, bar, cmap)
  local right, bottom = l.bar_left + bar_width, l.top + l.bar_height
  local steps = math.min(128, l.bar_height)
  for k = 0, steps - 1 do
    picture:fill(l.bar_left, bottom - k * l.bar_height / steps, right, l.top,
      palette.color(cmap, k / (steps - 1)))
  end
  picture:frame(l.bar_left, bottom, right, l.top)
  for _, tick in ipairs(bar) do
    local y = bottom - tick.place * l.bar_height
    picture:frame(right, y, right + 3, y)
    picture:text(tick.text, right + gap, y, "left")
  end
  if m.nan > 0 then
    local top = bottom + gap
    picture:fill(l.bar_left, top, right, top + bar_width,
      palette.no_number(cmap))
    picture:frame(l.bar_left, top, right, top + bar_width)
    picture:text("NaN", right + gap, top + bar_width / 2, "left")
  end
end

local function add_map(picture, l, m, cmap, low, high)
  local place = {x = l.left, y = l.top, width = l.map_width,
    height = l.map_height}
  picture:image(place, m.rows, m.cols, function(i, j)
    local number = m[i][j]
    if number ~= number then return palette.no_number(cmap) end
    return palette.color(cmap, matrix.place(number, low, high))
  end)
  picture:frame(l.left, l.top, l.left + l.map_width, l.top + l.map_height)
end

--- Writes a heat map of a matrix as a picture.
-- @tparam string op what the user called, for messages
-- @param value the matrix, see `matrix.read`
-- @tparam table opts see `plot.heatmap`
function heatmap.write(op, value, opts)
  opts = check.types(op, opts, known)
  if not opts.file then
    check.fail("%s: file must be the name of the picture, got nil", op)
  end
  local kind = canvas.kind(op, opts.file)
  local cmap = palette.check(op, opts.cmap)
  local m = matrix.read(op, value)
  local texts = {
    rows = matrix.labels(op, "row_labels", opts.row_labels, m),
    cols = matrix.labels(op, "col_labels", opts.col_labels, m),
  }
  for _, name in ipairs {"title", "xlabel", "ylabel"} do
    texts[name] = width.clean(opts[name] or "")
  end
  local low, high = matrix.range(op, m, opts.vmin, opts.vmax)
  local bar = ticks.labelled(low, high)
  local l = layout(m, texts, bar, opts)

  local picture = canvas.new(kind, l.width, l.height)
  add_labels(picture, l, m, texts)
  add_bar(picture, l, m, bar, cmap)
  add_map(picture, l, m, cmap, low, high)
  picture:draw(op, opts.file)
end

return heatmap
