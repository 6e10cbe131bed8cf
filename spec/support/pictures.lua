--- What a picture holds: the texts of an SVG with their places, the pixels of a
-- PNG.
local image = require "heed.image"

local pictures = {}

pictures.has_gnuplot = os.execute("command -v gnuplot >/dev/null 2>&1") == true

-- What `draw` writes to the file that it is given.
local function drawn(ending, draw)
  local stem = os.tmpname()
  local file = stem .. ending
  draw(file)
  local handle = assert(io.open(file, "rb"))
  local content = handle:read("a")
  handle:close()
  os.remove(stem)
  os.remove(file)
  return content
end

local entities <const> = {lt = "<", gt = ">", amp = "&", quot = '"'}

--- Returns the texts of the SVG that `draw(file)` writes: `text`, `x` and `y`
-- of the anchor, `anchor` (start, middle, end), `angle` (clockwise), `size`;
-- and the `width` and `height` of the picture.
function pictures.texts(draw)
  local svg = drawn(".svg", draw)
  local list = {}
  list.width, list.height = svg:match('viewBox="0 0 (%d+) (%d+)"')
  list.width, list.height = tonumber(list.width), tonumber(list.height)
  for transform, style, body in
    svg:gmatch('<g transform="([^"]*)"([^>]*)>%s*<text>(.-)</text>') do
    local x, y = transform:match("translate%(([%d.-]+),([%d.-]+)%)")
    local text = body:gsub("<[^>]*>", ""):gsub("&(%w+);", entities)
    list[#list + 1] = {
      text = text, x = tonumber(x), y = tonumber(y),
      angle = tonumber(transform:match("rotate%(([%d.-]+)")) or 0,
      anchor = style:match('text%-anchor="(%w+)"'),
      size = tonumber(style:match('font%-size="([%d.]+)"')),
    }
  end
  return list
end

--- Returns the PNG that `draw(file)` writes as a tensor [3 H W], uint8.
function pictures.pixels(draw)
  return image.convert(image.decode(drawn(".png", draw)), "rgb")
end

--- Returns the colour of a pixel as `r g b`. The place counts in the pixels of
-- the layout, of which each is two by two in a PNG.
function pictures.color(pixels, x, y)
  local i, j = math.floor(2 * y) + 1, math.floor(2 * x) + 1
  local rgb = {}
  for c = 1, 3 do rgb[c] = pixels[{c, i, j}]:item() end
  return table.concat(rgb, " ")
end

--- Returns where a colour (`{r, g, b}`, or one close to it) stands in a column
-- of pixels: the middle of its rows in pixels of the layout, and how many there
-- are; nil where it is not. `from` and `to` bound the rows.
function pictures.find(pixels, color, x, from, to)
  local column = pixels[{{}, {}, math.floor(2 * x) + 1}]:totable() -- [3 H]
  local sum, count = 0, 0
  local first = math.max(1, math.floor(2 * (from or 0)) + 1)
  for i = first, math.min(#column[1], math.floor(2 * (to or #column[1]))) do
    local away = 0
    for channel = 1, 3 do
      away = math.max(away, math.abs(column[channel][i] - color[channel]))
    end
    if away <= 40 then sum, count = sum + i / 2 - 0.25, count + 1 end
  end
  if count > 0 then return sum / count, count / 2 end
end

--- Returns a function that gives the text of an SVG with these words.
function pictures.by_text(texts)
  return function(words)
    for _, text in ipairs(texts) do
      if text.text == words then return text end
    end
    error("no text " .. words)
  end
end

return pictures
