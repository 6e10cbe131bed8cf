--- Images, with heat maps over them: from tensors and options to what `grid`
-- draws as a picture and `text` in a terminal.
local check = require "heed.check"
local heatmap = require "heed.plot.heatmap"
local matrix = require "heed.plot.matrix"
local output = require "heed.plot.output"
local palette = require "heed.plot.palette"

local image = {}

--- The options of one image; those of a list have `overlays` for `overlay`.
image.known = {
  title = "string", xlabel = "string", ylabel = "string", file = "any",
  overlay = "any", alpha = "number", cmap = "string", vmin = "number",
  vmax = "number", width = "number", color = "boolean", utf8 = "boolean",
}

image.known_list = {titles = "table", row_titles = "table",
  columns = "number", overlays = "table"}
for name, kinds in pairs(image.known) do
  if name ~= "overlay" then image.known_list[name] = kinds end
end

-- More pixels than this on a side are no use in a picture.
local most_pixels <const> = 1120

-- What a dtype has for full brightness; 16 bits come as int32.
local full <const> = {uint8 = 255, int32 = 65535}

-- A tensor [... H W] with fewer pixels, if it has too many.
local function shrink(x)
  local h, w = x:size(-2), x:size(-1)
  local factor = most_pixels / math.max(h, w, 1)
  if factor >= 1 or not (full[x.dtype] or check.is_float(x)) then return x end
  local resize = require "heed.image.resize".resize
  return resize(x, {math.max(1, h * factor // 1 | 0),
    math.max(1, w * factor // 1 | 0)})
end

--- Returns a checked copy of an image: `rows`, `cols`, `full` (the value of
-- full brightness) and one or three matrices of them, see `matrix.read`.
-- @tparam string op what the user called, for messages
-- @param value `[H W]`, `[1 H W]` or `[3 H W]`: a tensor or nested tables
-- @tparam[opt="image"] string name what the user calls it
-- @treturn table
-- @raise if this is no image
function image.read(op, value, name)
  name = name or "image"
  local dims = matrix.depth(value)
  local channels = dims == 3 and #value or dims == 2 and 1
  if channels ~= 1 and channels ~= 3 then
    check.fail("%s: %s must be [H W], [1 H W] or [3 H W], got %s", op, name,
      check.show(value))
  end
  local x = {full = 1}
  if check.is_tensor(value) then
    x.full = full[value.dtype] or 1
    value = shrink(value)
  end
  for c = 1, channels do
    local place = channels == 3 and ("%s[%d]"):format(name, c) or name
    x[c] = matrix.read(op, dims == 3 and value[c] or value, place)
    if x[c].rows ~= x[1].rows or x[c].cols ~= x[1].cols then
      check.fail("%s: %s must be [%d %d] as %s[1], got [%d %d]", op, place,
        x[1].rows, x[1].cols, name, x[c].rows, x[c].cols)
    end
  end
  x.rows, x.cols = x[1].rows, x[1].cols
  return x
end

-- Divides all images by their full brightness, unless it is that of all.
local function one_unit(list)
  for _, x in ipairs(list) do
    if x.full ~= list[1].full then
      for _, each in ipairs(list) do
        for _, m in ipairs(each) do
          for i = 1, m.rows do
            for j = 1, m.cols do m[i][j] = m[i][j] / each.full end
          end
        end
        each.full = 1
      end
      return
    end
  end
end

-- What the gray images of a list span: 0 to full brightness if none leaves it,
-- otherwise their range.
local function gray_range(op, list, vmin, vmax)
  local grays, top = {}, list[1].full
  for _, x in ipairs(list) do
    if #x == 1 then grays[#grays + 1] = x[1] end
  end
  local least, greatest = matrix.range(op, grays)
  local fits = least >= 0 and greatest <= top
  return matrix.range(op, grays, vmin or fits and not vmax and 0 or nil,
    vmax or fits and not vmin and top or nil)
end

-- A number that is none has a colour that is in no map.
local function no_number()
  local r, g, b = palette.no_number("image")
  return r, g, b, true
end

-- The colour of pixel (i, j), and true if it is not a number.
local function pixel(x, i, j, scale)
  if #x == 1 then
    local v = x[1][i][j]
    if v ~= v then return no_number() end
    return palette.color(scale.cmap, matrix.place(v, scale.low, scale.high))
  end
  local out = {}
  for c = 1, 3 do
    local v = x[c][i][j]
    if v ~= v then return no_number() end
    out[c] = math.floor(matrix.place(v, 0, x.full) * 255 + 0.5)
  end
  return out[1], out[2], out[3]
end

-- The sub-pixels that a pixel or a cell gets at most, on a side: edges are then
-- off by a sixteenth at most, and many images stay quick to draw.
local most_growth <const> = 8

-- By how much an image must grow for the edges of an overlay's cells to lie
-- between its pixels, or nearly so.
local function growth(x, m)
  local least = math.ceil(math.max(m.rows / x.rows, m.cols / x.cols, 1))
  local most = math.max(1, math.min(most_growth * least,
    most_pixels // math.max(x.rows, x.cols)))
  for factor = 1, most do
    if x.rows * factor % m.rows == 0 and x.cols * factor % m.cols == 0 then
      return factor
    end
  end
  return most
end

local function plain_panel(x, scale)
  return {rows = x.rows, cols = x.cols, color = function(i, j)
    return pixel(x, i, j, scale)
  end}
end

-- An image under a matrix of any size.
local function blended_panel(x, m, scale, over, alpha)
  local factor = growth(x, m)
  local rows, cols = x.rows * factor, x.cols * factor
  local panel = {rows = rows, cols = cols, down = x.rows, across = x.cols}
  function panel.color(i, j)
    local v = m[(i - 1) * m.rows // rows + 1][(j - 1) * m.cols // cols + 1]
    if v ~= v then return no_number() end
    local r, g, b, is_nan = pixel(x, (i - 1) // factor + 1,
      (j - 1) // factor + 1, scale)
    if is_nan then return r, g, b, true end
    local red, green, blue = palette.color(over.cmap,
      matrix.place(v, over.low, over.high))
    local function mix(from, to)
      return math.floor(from + alpha * (to - from) + 0.5)
    end
    return mix(r, red), mix(g, green), mix(b, blue)
  end
  return panel
end

-- The matrices over the images; `count` of them, false for none.
local function read_overlays(op, list, count, name)
  local out, some = {}, {}
  for k = 1, count do
    out[k] = list and list[k] or false
    if out[k] then
      out[k] = matrix.read(op, out[k], name or ("overlays[%d]"):format(k))
      some[#some + 1] = out[k]
    end
  end
  return out, some
end

-- The scales of gray images and of the matrices over images. cmap, vmin and
-- vmax speak of the latter where there are some.
local function add_scales(op, g, list, overlays, opts)
  local cmap = opts.cmap and palette.check(op, opts.cmap)
  local gray, over = {cmap = cmap or "gray"}, nil
  g.below, g.above = 0, 0
  if #overlays > 0 then
    gray = {cmap = "gray"}
    gray.low, gray.high = gray_range(op, list)
    over = {cmap = cmap or "viridis"}
    over.low, over.high, g.below, g.above = matrix.range(op, overlays,
      opts.vmin, opts.vmax)
    g.scale = over
  else
    gray.low, gray.high, g.below, g.above = gray_range(op, list, opts.vmin,
      opts.vmax)
    if cmap then g.scale = gray end
  end
  return gray, over
end

-- How many elements are not a number, of images and what lies over them.
local function count_nan(list, overlays)
  local count = 0
  for _, x in ipairs(list) do
    for _, m in ipairs(x) do count = count + m.nan end
  end
  for _, m in ipairs(overlays) do count = count + m.nan end
  return count
end

-- Draws images `list`, as `read` gives them, in rows of `columns`.
local function draw(op, list, columns, overlays, some, opts)
  local alpha = check.number(op, "alpha", opts.alpha or 0.5, 0, 1)
  local kind = output.kind(op, opts.file)
  local clean = output.cleaner(kind)
  one_unit(list)
  local g = {noun = "image", rows = {}, columns = math.min(columns, #list),
    is_image = true, count = math.huge}
  local gray, over = add_scales(op, g, list, some, opts)
  g.nan_count = count_nan(list, some)
  g.nan = g.nan_count > 0 and "image" or nil
  for k, x in ipairs(list) do
    local panel = overlays[k]
      and blended_panel(x, overlays[k], gray, over, alpha)
      or plain_panel(x, gray)
    panel.row_labels, panel.col_labels = {}, {}
    local r = (k - 1) // columns + 1
    g.rows[r] = g.rows[r] or {}
    table.insert(g.rows[r], panel)
  end
  for _, name in ipairs {"title", "xlabel", "ylabel"} do
    g[name] = clean(opts[name] or "")
  end
  heatmap.add_titles(op, g, opts, clean)
  output.draw(op, g, opts, kind)
end

--- Draws one image into a file or the terminal, see `plot.image`.
function image.draw(op, value, opts)
  opts = check.types(op, opts, image.known)
  local overlays, some = read_overlays(op, {opts.overlay or false}, 1,
    "overlay")
  draw(op, {image.read(op, value)}, 1, overlays, some, opts)
end

--- Draws images into a file or the terminal, see `plot.images`.
function image.draw_list(op, values, opts)
  opts = check.types(op, opts, image.known_list)
  local dims = matrix.depth(values)
  local count = dims > 0 and #values
  if dims < 3 and count ~= 0 then
    check.fail("%s: list must be a list of images or a tensor [N H W] or "
      .. "[N C H W], got %s", op, check.show(values))
  end
  if count == 0 then check.fail("%s: list has no image", op) end
  local list = {}
  for k = 1, count do
    list[k] = image.read(op, values[k], ("list[%d]"):format(k))
  end
  local columns = opts.columns and check.integer(op, "columns", opts.columns, 1)
    or math.ceil(count / math.ceil(count / 8))
  local overlays, some = read_overlays(op, opts.overlays, count)
  draw(op, list, columns, overlays, some, opts)
end

return image
