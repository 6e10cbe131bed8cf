--- A chart with axes as a picture. Read `canvas.lua` first.
--
--              title
--          |          |
--     y  1 |   /\   / |  -- label of a series
--        0 |__/__\_/__|  .. another
--          0    5    10
--             xlabel
--     what is not drawn
local canvas = require "heed.plot.canvas"

local chart = {}

-- Sizes in pixels.
local font <const> = canvas.font
local title_font <const> = canvas.title_font
local line_height <const> = canvas.line_height
local pad <const> = canvas.pad
local gap <const> = canvas.gap
local plot_width <const> = 520
local plot_height <const> = 330
local sample_width <const> = 34 -- of the line or box in front of a label
local entry_height <const> = 19 -- of the legend
local tick <const> = 4
local slant <const> = math.sqrt(0.5) -- sine and cosine of 45 degrees
local quiet <const> = {221, 221, 221} -- colour of the grid
local ink <const> = {64, 64, 64} -- of axes: `canvas.ink`
local small_font <const> = 11 -- of notes

local text_width <const> = canvas.text_width
local line_room <const> = canvas.line_room

-- As many ticks as stand beside each other.
local function x_ticks(axis, across)
  for most = 10, 2, -1 do
    local list = axis:ticks(most)
    local fits, right = true, -math.huge
    for _, one in ipairs(list) do
      local half = text_width(one.text, font) / 2
      local x = one.place * across
      fits = fits and x - half >= right
      right = x + half + 2 * gap
    end
    if fits then return list end
  end
  return {}
end

-- The labels below an axis of things instead of numbers.
local function thing_ticks(l, labels)
  local cell = l.across / #labels
  l.slanted = canvas.widest(labels, font) + gap > cell
  local need = l.slanted and font * line_height / slant or 1
  local list = {}
  for j = 1, #labels, canvas.label_step(#labels, l.across, need) do
    list[#list + 1] = {text = labels[j], place = (j - 0.5) / #labels}
  end
  return list
end

local function texts_of(list)
  local texts = {}
  for i, one in ipairs(list) do texts[i] = one.text or one.label end
  return texts
end

-- The pixels that the labels of the x axis take below it, and to the left and
-- the right of the chart.
local function label_room(l)
  local below, left, right = 0, 0, 0
  for _, one in ipairs(l.x_ticks) do
    local size = text_width(one.text, font)
    local x = one.place * l.across
    if l.slanted then
      local reach = (size + font) * slant
      below, left = math.max(below, reach), math.max(left, reach - x)
    else
      below = font * line_height
      left = math.max(left, size / 2 - x)
      right = math.max(right, x + size / 2 - l.across)
    end
  end
  return math.ceil(below), math.ceil(left), math.ceil(right)
end

-- All places of the picture: `left` and `top` of the chart, its size `across`
-- and `down`, the size of the canvas.
local function layout(spec)
  local l, texts = {}, spec.texts
  local entries = #spec.legend
  l.across = math.ceil(math.max(plot_width, spec.least_width or 0))
  l.down = math.max(plot_height, entries * entry_height)
  l.y_ticks = spec.y:ticks(math.min(8, l.down // 30))
  l.x_ticks = spec.labels and thing_ticks(l, spec.labels)
    or x_ticks(spec.x, l.across)

  local below, reach_left, reach_right = label_room(l)
  local numbers = canvas.widest(texts_of(l.y_ticks), font)
  l.left = pad + math.max(reach_left,
    line_room(texts.ylabel, font) + numbers + tick + gap)
  l.top = pad + line_room(texts.title, title_font)
  l.ylabel_x = pad + font // 2
  l.legend_x = l.left + l.across + math.max(2 * gap, reach_right + gap)
  local legend = canvas.widest(texts_of(spec.legend), font)
  l.width = pad + (entries > 0 and l.legend_x + sample_width + gap + legend
    or l.left + l.across + reach_right)
  local bottom = l.top + l.down + tick + gap + below + gap // 2
  l.xlabel_y = bottom + font * line_height / 2
  l.note_y = bottom + line_room(texts.xlabel, font) + gap
    + small_font * line_height / 2
  bottom = bottom + line_room(texts.xlabel, font)
    + line_room(spec.note, small_font)
  l.height = math.ceil(bottom) + pad

  -- longer texts widen the canvas; the chart stays in its middle
  local function widen(size, need, moved)
    local more = math.max(0, need + 2 * pad - l[size])
    l[size] = l[size] + more
    for _, place in ipairs(moved) do l[place] = l[place] + more // 2 end
  end
  widen("width", math.max(text_width(texts.title, title_font),
    text_width(texts.xlabel, font)), {"left", "legend_x", "ylabel_x"})
  l.width = math.max(l.width,
    l.left + text_width(spec.note, small_font) + pad)
  local title = line_room(texts.title, title_font)
  local ylabel = text_width(texts.ylabel, font)
  widen("height", title + ylabel, {"top", "xlabel_y", "note_y"})
  local half = ylabel / 2 + pad
  l.ylabel_y = math.max(title + half,
    math.min(l.height - half, l.top + l.down / 2))
  return l
end

-- The spec with its texts as they can be drawn.
local function cleaned(kind, spec)
  local function clean(text) return canvas.clean(kind, text) end
  local out = {texts = {}, legend = {}}
  for name, value in pairs(spec) do out[name] = out[name] or value end
  for name, text in pairs(spec.texts) do out.texts[name] = clean(text) end
  for k, entry in ipairs(spec.legend) do
    out.legend[k] = {label = clean(entry.label), sample = entry.sample}
  end
  if spec.labels then
    out.labels = {}
    for j, label in ipairs(spec.labels) do out.labels[j] = clean(label) end
  end
  return out
end

local function add_axes(picture, l, spec)
  local right, bottom = l.left + l.across, l.top + l.down
  local grid, marks = {}, {}
  for _, one in ipairs(l.y_ticks) do
    local y = bottom - one.place * l.down
    grid[#grid + 1] = {l.left, y, right, y}
    marks[#marks + 1] = {l.left - tick, y, l.left, y}
    picture:text(one.text, l.left - tick - gap // 2, y, "right")
  end
  for _, one in ipairs(l.x_ticks) do
    local x = l.left + one.place * l.across
    if not spec.labels then grid[#grid + 1] = {x, l.top, x, bottom} end
    marks[#marks + 1] = {x, bottom, x, bottom + tick}
    if l.slanted then
      -- the anchor is half a line off the text's own axis
      picture:text(one.text, x + 2, bottom + gap + 2, "rotate by 45 right")
    else
      picture:text(one.text, x, bottom + tick + gap // 2 + font / 2, "center")
    end
  end
  for _, place in ipairs(spec.y:minor()) do
    local y = bottom - place * l.down
    marks[#marks + 1] = {l.left - tick / 2, y, l.left, y}
  end
  for _, place in ipairs(spec.x and spec.x:minor() or {}) do
    local x = l.left + place * l.across
    marks[#marks + 1] = {x, bottom, x, bottom + tick / 2}
  end
  picture:path(grid, {width = 0.7, color = quiet})
  picture:path(marks, {width = 1, color = ink})
end

local function add_texts(picture, l, spec)
  local texts = spec.texts
  local function centered(text, size)
    local half = text_width(text, size) / 2 + pad
    return math.max(half, math.min(l.width - half, l.left + l.across / 2))
  end
  picture:text(texts.title, centered(texts.title, title_font),
    pad + title_font * line_height / 2, "center", title_font)
  picture:text(texts.xlabel, centered(texts.xlabel, font), l.xlabel_y, "center")
  picture:text(texts.ylabel, l.ylabel_x, l.ylabel_y, "rotate by 90 center")
  picture:text(spec.note, l.left, l.note_y, "left", small_font)
end

--- Writes a chart as a picture.
-- @tparam string op what the user called, for messages
-- @tparam string file its name
-- @tparam string kind `svg`, `png` or `pdf`
-- @tparam table spec `x`, an axis, or `labels`, a list of texts; `y`, an axis;
--   `texts`: `title`, `xlabel`, `ylabel`, "" for none; `note`, a line at the
--   bottom, or ""; `legend`, a list of `{label=, sample=}`, where
--   `sample(picture, x, y, width)` draws what stands in front of the label;
--   `draw(picture, frame)`, which draws the data: `frame.x(place)` and
--   `frame.y(place)` give pixels, `frame.width` and `frame.height` the size;
--   `least_width` of the chart in pixels
function chart.write(op, file, kind, spec)
  spec = cleaned(kind, spec)
  local l = layout(spec)
  local picture = canvas.new(kind, l.width, l.height)
  local right, bottom = l.left + l.across, l.top + l.down
  add_axes(picture, l, spec)
  spec.draw(picture, {
    width = l.across, height = l.down,
    x = function(place) return l.left + place * l.across end,
    y = function(place) return bottom - place * l.down end,
  })
  picture:path({{l.left, l.top, l.left, bottom, right, bottom}},
    {width = 1, color = ink})
  for k, entry in ipairs(spec.legend) do
    local y = l.top + (k - 0.5) * entry_height
    entry.sample(picture, l.legend_x, y, sample_width)
    picture:text(entry.label, l.legend_x + sample_width + gap, y, "left")
  end
  add_texts(picture, l, spec)
  picture:draw(op, file)
end

return chart
