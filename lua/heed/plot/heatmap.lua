--- The heat map as a picture: the layout in pixels, then gnuplot's commands.
-- All places are computed here, since gnuplot makes no room for long labels.
--
--              title
--     y   row |##########|  bar ticks
--         row |##########|
--               / / / /          column labels, at 45 degrees
--              xlabel
local check = require "heed.check"
local gnuplot = require "heed.plot.gnuplot"
local matrix = require "heed.plot.matrix"
local palette = require "heed.plot.palette"
local width = require "heed.plot.width"

local heatmap = {}

local known <const> = {
  row_labels = "table|boolean", col_labels = "table|boolean",
  title = "string", xlabel = "string", ylabel = "string", file = "string",
  cmap = "string", vmin = "number", vmax = "number",
}

-- Sizes in pixels (points in a PDF).
local font <const> = 12
local title_font <const> = 14
local line_height <const> = 1.3 -- of the font size
local pad <const> = 14
local gap <const> = 7
local bar_width <const> = 14
local bar_height <const> = 110 -- at least
local side <const> = 560 -- of the longer side of the map, if cells may shrink
local slant <const> = math.sqrt(0.5) -- sine and cosine of 45 degrees

-- How a cell of the picture becomes a file. The cairo terminals count font
-- sizes at 96 dots an inch, hence 3/4; a PNG has twice the pixels, for screens
-- that show them.
local terminals <const> = {
  svg = {command = "svg size %d,%d", scale = 1, font = 1},
  png = {command = "pngcairo size %d,%d fontscale 1", scale = 2, font = 0.75},
  pdf = {command = "pdfcairo size %d/72.,%d/72. fontscale 1", scale = 1,
    font = 0.75},
}

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
  local columns = width.char(code)
  return columns == 0 and 0 or columns == 2 and 1.1 or 0.8
end

-- The width of a line of text in pixels.
local function text_width(text, size)
  local sum = 0
  for _, code in utf8.codes(text) do sum = sum + char_width(code) end
  return math.ceil(sum * size)
end

local function widest(labels, size)
  local most = 0
  for _, label in ipairs(labels) do
    most = math.max(most, text_width(label, size))
  end
  return most
end

-- The room for a line of text above or below the map, 0 if there is none.
local function line_room(text, size)
  return text == "" and 0 or math.ceil(size * line_height) + gap
end

-- Numbers at round distances inside the range, for the bar: four to ten.
local function ticks(low, high)
  if low == high then return {low} end
  local span = high - low
  local size = math.max(math.abs(low), math.abs(high))
  -- no distance is round where the span overflows or is all rounding error
  if span == math.huge or span <= 1e-9 * size or span < 1e-300 then
    return {low, high}
  end
  local step = 10.0 ^ math.floor(math.log(span / 4, 10))
  for _, factor in ipairs {5, 2} do
    if span / (step * factor) >= 4 then
      step = step * factor
      break
    end
  end
  local out = {}
  for k = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do
    out[#out + 1] = k * step
  end
  return out
end

-- The ticks of the bar: the texts, short but different, and the places 0..1.
local function bar_ticks(low, high)
  local numbers = ticks(low, high)
  local out
  for _, format in ipairs {"%.4g", "%.10g", "%.17g"} do
    out = {}
    for i, number in ipairs(numbers) do
      local text = format:format(number + 0.0)
      if i > 1 and text == out[i - 1].text then break end
      out[i] = {text = text, place = matrix.place(number, low, high)}
    end
    if #out == #numbers then break end
  end
  return out
end

-- The step 1, 2, 5, 10, 20 ... from label to label that keeps `count` of them
-- `need` pixels apart on `length`.
local function label_step(count, length, need)
  local least, unit = need * count / length, 1
  while true do
    for _, factor in ipairs {1, 2, 5} do
      if factor * unit >= least then return factor * unit end
    end
    unit = unit * 10
  end
end

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
  l.row_step = label_step(m.rows, l.map_height, font * line_height)
  l.upright = widest(texts.cols, font) + 4 <= cell
  l.col_step = l.upright and 1
    or label_step(m.cols, l.map_width, font * line_height / slant)

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

-- A line of gnuplot commands is collected by `add`; x and y count pixels from
-- the top left corner.
local function new_script(l)
  local script = {lines = {}, labels = 0, objects = 0}
  function script.add(format, ...)
    script.lines[#script.lines + 1] = string.format(format, ...)
  end
  local function at(x, y)
    return string.format("screen %d/W, screen %d/H", math.floor(x + 0.5),
      l.height - math.floor(y + 0.5))
  end
  function script.text(text, x, y, how, size)
    if text == "" then return end
    script.labels = script.labels + 1
    script.add("set label %d %s at %s %s noenhanced font \",%d\"",
      script.labels, gnuplot.quote(text), at(x, y), how, size or script.font)
  end
  function script.box(x, y, to_x, to_y, style)
    script.objects = script.objects + 1
    script.add("set object %d rectangle from %s to %s %s", script.objects,
      at(x, y), at(to_x, to_y), style)
  end
  return script
end

-- In an SVG `]]>` may not stand in a text, and gnuplot leaves the `>` as it is:
-- a mark without width comes between.
local function for_svg(text)
  return (text:gsub("%]%]>", "]]\u{2060}>"))
end

local function add_labels(script, l, m, texts)
  local cell_height, cell_width = l.map_height / m.rows, l.map_width / m.cols
  for i = 1, m.rows, l.row_step do
    script.text(texts.rows[i], l.left - gap, l.top + (i - 0.5) * cell_height,
      "right")
  end
  local bottom = l.top + l.map_height
  for j = 1, m.cols, l.col_step do
    local x = l.left + (j - 0.5) * cell_width
    if l.upright then
      script.text(texts.cols[j], x, bottom + gap + font / 2, "center")
    else
      -- the anchor is half a line off the text's own axis
      script.text(texts.cols[j], x + 2, bottom + gap + 2, "rotate by 45 right")
    end
  end

  local function centered(text, size)
    local half = text_width(text, size) / 2 + pad
    return math.max(half, math.min(l.width - half, l.left + l.map_width / 2))
  end
  script.text(texts.title, centered(texts.title, title_font),
    pad + title_font * line_height / 2, "center", script.title_font)
  script.text(texts.xlabel, centered(texts.xlabel, font),
    l.xlabel_y + font * line_height / 2, "center")
  script.text(texts.ylabel, l.ylabel_x, l.ylabel_y, "rotate by 90 center")
end

-- The bar is a pile of boxes that all reach its upper end: boxes side by side
-- would show light seams in a PDF.
local function add_bar(script, l, m, bar, cmap)
  local right, bottom = l.bar_left + bar_width, l.top + l.bar_height
  local steps = math.min(128, l.bar_height)
  for k = 0, steps - 1 do
    script.box(l.bar_left, bottom - k * l.bar_height / steps, right, l.top,
      string.format("fc rgb \"#%02x%02x%02x\" fs solid noborder",
        palette.color(cmap, k / (steps - 1))))
  end
  script.box(l.bar_left, bottom, right, l.top,
    "fs empty border lc rgb \"#404040\"")
  for _, tick in ipairs(bar) do
    local y = bottom - tick.place * l.bar_height
    script.box(right, y, right + 3, y, "fs empty border lc rgb \"#404040\"")
    script.text(tick.text, right + gap, y, "left")
  end
  if m.nan > 0 then
    script.box(l.bar_left, bottom + gap, right, bottom + gap + bar_width,
      string.format("fc rgb \"#%02x%02x%02x\" fs solid border "
        .. "lc rgb \"#404040\"", palette.no_number(cmap)))
    script.text("NaN", right + gap, bottom + gap + bar_width / 2, "left")
  end
end

-- The matrix as whole numbers 0 to 65535: gnuplot sees neither huge ranges nor
-- the decimal comma of a locale. A single row or column is written twice, since
-- gnuplot's images have at least two.
local function add_data(script, m, low, high)
  script.add("$matrix << EOD")
  for i = 1, m.rows do
    local row = {}
    for j = 1, m.cols do
      local number = m[i][j]
      row[j] = number ~= number and "NaN"
        or math.floor(matrix.place(number, low, high) * 65535 + 0.5)
    end
    if m.cols == 1 then row[2] = row[1] end
    local line = table.concat(row, " ")
    script.add("%s", line)
    if m.rows == 1 then script.add("%s", line) end
  end
  script.add("EOD")
end

local function add_map(script, l, m, cmap, kind)
  script.box(l.left, l.top, l.left + l.map_width, l.top + l.map_height,
    string.format("behind fc rgb \"#%02x%02x%02x\" fs solid noborder",
      palette.no_number(cmap)))
  script.add("set lmargin at screen %d/W", l.left)
  script.add("set rmargin at screen %d/W", l.left + l.map_width)
  script.add("set tmargin at screen %d/H", l.height - l.top)
  script.add("set bmargin at screen %d/H", l.height - l.top - l.map_height)
  script.add("set xrange [-0.5:%d.5]", math.max(2, m.cols) - 1)
  script.add("set yrange [%d.5:-0.5]", math.max(2, m.rows) - 1)
  local anchors = palette.anchors(cmap)
  for k, color in ipairs(anchors) do
    anchors[k] = string.format("%d \"%s\"", k - 1, color)
  end
  script.add("set palette defined (%s)", table.concat(anchors, ", "))
  script.add("set cbrange [0:65535]")
  -- Viewers smooth a bitmap inside an SVG, so its cells are boxes, unless they
  -- are so many and small that boxes would only make the file long.
  local boxes = kind == "svg" and m.rows * m.cols <= 40000
  script.add("plot $matrix matrix with image%s", boxes and " pixels" or "")
end

local function extension(op, file)
  if not file then
    check.fail("%s: file must be the name of the picture, got nil", op)
  end
  local kind = file:match("%.(%w+)$")
  kind = kind and kind:lower()
  if not terminals[kind] then
    check.fail("%s: file %s must end in .svg, .png or .pdf", op,
      check.show(file))
  end
  return kind
end

--- Writes a heat map of a matrix as a picture.
-- @tparam string op what the user called, for messages
-- @param value the matrix, see `matrix.read`
-- @tparam table opts see `plot.heatmap`
function heatmap.write(op, value, opts)
  opts = check.types(op, opts, known)
  local kind = extension(op, opts.file)
  local cmap = palette.check(op, opts.cmap)
  local m = matrix.read(op, value)
  local texts = {
    rows = matrix.labels(op, "row_labels", opts.row_labels, m),
    cols = matrix.labels(op, "col_labels", opts.col_labels, m),
  }
  for _, name in ipairs {"title", "xlabel", "ylabel"} do
    texts[name] = width.clean(opts[name] or "")
  end
  if kind == "svg" then
    for i, label in ipairs(texts.rows) do texts.rows[i] = for_svg(label) end
    for j, label in ipairs(texts.cols) do texts.cols[j] = for_svg(label) end
    for _, name in ipairs {"title", "xlabel", "ylabel"} do
      texts[name] = for_svg(texts[name])
    end
  end
  local low, high = matrix.range(op, m, opts.vmin, opts.vmax)
  local bar = bar_ticks(low, high)
  local l = layout(m, texts, bar, opts)

  local script = new_script(l)
  local how = terminals[kind]
  script.font = font * how.font * how.scale // 1
  script.title_font = title_font * how.font * how.scale // 1
  script.add("set terminal " .. how.command
    .. " font \"sans-serif,%d\" background rgb \"white\" linewidth %d",
    l.width * how.scale, l.height * how.scale, script.font, how.scale)
  script.add("set encoding utf8")
  script.add("W = %d.; H = %d.", l.width, l.height)
  script.add("unset key; unset tics; unset colorbox")
  script.add("set border 15 lc rgb \"#404040\"")
  add_labels(script, l, m, texts)
  add_bar(script, l, m, bar, cmap)
  add_data(script, m, low, high)
  add_map(script, l, m, cmap, kind)
  gnuplot.draw(op, opts.file, kind, table.concat(script.lines, "\n") .. "\n")
end

return heatmap
