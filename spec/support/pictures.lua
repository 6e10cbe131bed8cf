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
  return ("%d %d %d"):format(pixels[{1, i, j}], pixels[{2, i, j}],
    pixels[{3, i, j}])
end

--- Returns whether two colours as `color` gives them are about the same.
function pictures.is_near(one, other)
  local a, b = {}, {}
  for part in one:gmatch("%d+") do a[#a + 1] = tonumber(part) end
  for part in other:gmatch("%d+") do b[#b + 1] = tonumber(part) end
  local most = 0
  for i = 1, 3 do most = math.max(most, math.abs(a[i] - b[i])) end
  return most <= 40
end

--- Returns where a colour stands in a column of pixels: the middle of its rows
-- in pixels of the layout, and how many rows there are; nil where it is not.
function pictures.find(pixels, color, x, from, to)
  local sum, count = 0, 0
  for y = from or 0, (to or pixels.shape[2] / 2) - 0.5, 0.5 do
    if pictures.is_near(pictures.color(pixels, x, y), color) then
      sum, count = sum + y + 0.25, count + 1
    end
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
