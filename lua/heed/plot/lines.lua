--- Series of numbers as lines and points. Read `series.lua`, `axis.lua` and
-- `curve.lua` first, then `chart.lua` (pictures) and `text_chart.lua`.
local axis = require "heed.plot.axis"
local chart = require "heed.plot.chart"
local check = require "heed.check"
local curve = require "heed.plot.curve"
local output = require "heed.plot.output"
local series = require "heed.plot.series"
local style = require "heed.plot.style"
local text_chart = require "heed.plot.text_chart"

local lines = {}

local known <const> = {
  title = "string", xlabel = "string", ylabel = "string", file = "any",
  xlog = "boolean", ylog = "boolean", xlim = "table", ylim = "table",
  keys = "table", width = "number", height = "number", color = "boolean",
  utf8 = "boolean",
}

local pad <const> = 0.05 -- of the span, free beyond the data
local marker_distance <const> = 70 -- pixels between markers on a line
local point_grid <const> = 2 -- pixels between points that are told apart

-- Whether a number has a place on an axis; otherwise why not.
local function fault(number, is_log)
  if number ~= number then return "nan" end
  if number - number ~= 0 then return "infinite" end
  if is_log and number <= 0 then return "negative" end
end

-- The least and greatest x and y of what can be drawn, and counts of the rest.
local function survey(list, opts, low, high)
  local s = {nan = 0, infinite = 0, negative = 0, drawn = 0,
    x_low = math.huge, x_high = -math.huge,
    y_low = math.huge, y_high = -math.huge, whole = true}
  for _, one in ipairs(list) do
    local xs, ys = one.x, one.y
    for i = 1, #ys do
      local x, y = xs[i], ys[i]
      local why = fault(x, opts.xlog) or fault(y, opts.ylog)
      if why then
        s[why] = s[why] + 1
      else
        s.drawn = s.drawn + 1
        s.whole = s.whole and x % 1 == 0
        if x < s.x_low then s.x_low = x end
        if x > s.x_high then s.x_high = x end
        -- y spans what xlim leaves in sight
        if not (low and x < low or high and x > high) then
          if y < s.y_low then s.y_low = y end
          if y > s.y_high then s.y_high = y end
        end
      end
    end
  end
  return s
end

-- The line that says what is missing, "" if nothing is.
local function note_of(s)
  local parts = {}
  if s.nan > 0 then parts[1] = s.nan .. " NaN" end
  if s.infinite > 0 then parts[#parts + 1] = s.infinite .. " infinite" end
  if s.negative > 0 then
    parts[#parts + 1] = s.negative .. " not above 0 on a logarithmic axis"
  end
  return #parts > 0 and "not drawn: " .. table.concat(parts, ", ") or ""
end

local function axes_of(op, list, opts)
  local x_low, x_high = axis.limits(op, "xlim", opts.xlim, opts.xlog)
  local y_low, y_high = axis.limits(op, "ylim", opts.ylim, opts.ylog)
  local s = survey(list, opts, x_low, x_high)
  if s.negative > 0 and s.drawn == 0 then
    check.fail("%s: %s needs numbers above 0, and there is none", op,
      opts.ylog and opts.xlog and "xlog or ylog"
      or opts.ylog and "ylog" or "xlog")
  end
  local has_points = false
  for _, one in ipairs(list) do has_points = has_points or one.points end
  local x = axis.new(s.x_low, s.x_high,
    {log = opts.xlog, low = x_low, high = x_high, whole = s.whole,
      pad = has_points and pad or 0})
  local y = axis.new(s.y_low, s.y_high,
    {log = opts.ylog, low = y_low, high = y_high, pad = pad})
  return x, y, note_of(s)
end

local function marked(picture, points, k, shape, size)
  picture:markers(points, {color = style.color(k), shape = shape, size = size})
end

local function stroked(picture, pieces, k)
  picture:path(pieces, {color = style.color(k), width = 1.8,
    dash = style.dash(k)})
end

-- Some of the points of the lines, apart from each other.
local function sparse(pieces, k)
  local out, last = {}, nil
  for _, piece in ipairs(pieces) do
    -- each line has its own phase, that markers do not stand above each other
    last = last or piece[1] - k * 23 % marker_distance
    for i = 1, #piece, 2 do
      if math.abs(piece[i] - last) >= marker_distance then
        last = piece[i]
        out[#out + 1], out[#out + 2] = piece[i], piece[i + 1]
      end
    end
  end
  return out
end

local function draw_one(picture, frame, one, k, x_place, y_place)
  local function to_pixels(places)
    local out = {}
    for i = 1, #places, 2 do
      out[i], out[i + 1] = frame.x(places[i]), frame.y(places[i + 1])
    end
    return out
  end
  if one.points then
    local points = curve.points(one.x, one.y, x_place, y_place,
      frame.width // point_grid, frame.height // point_grid)
    return marked(picture, to_pixels(points), k, style.marker(k), 6)
  end
  local pieces, single = {}, {}
  for _, piece in ipairs(curve.pieces(one.x, one.y, x_place, y_place,
    frame.width)) do
    piece = to_pixels(piece)
    pieces[#pieces + 1] = piece
    if #piece == 2 then table.move(piece, 1, 2, #single + 1, single) end
  end
  stroked(picture, pieces, k)
  if #single > 0 then marked(picture, single, k, 7, 5) end
  local marker = style.line_marker(k)
  if marker then marked(picture, sparse(pieces, k), k, marker, 8) end
end

-- What stands in front of a label of the legend.
local function sample(one, k)
  return function(picture, x, y, across)
    local middle = {x + across / 2, y}
    if one.points then
      return marked(picture, middle, k, style.marker(k), 7)
    end
    stroked(picture, {{x, y, x + across, y}}, k)
    local marker = style.line_marker(k)
    if marker then marked(picture, middle, k, marker, 8) end
  end
end

local function is_labelled(list)
  for _, one in ipairs(list) do
    if one.label ~= "" then return true end
  end
  return false
end

local function legend_of(list)
  local legend = {}
  for k, one in ipairs(is_labelled(list) and list or {}) do
    legend[k] = {label = one.label, sample = sample(one, k)}
  end
  return legend
end

-- The series on a field of characters.
local function draw_text(field, list, x_place, y_place)
  local across = field.columns * field.across
  for k, one in ipairs(list) do
    if one.points then
      local points = curve.points(one.x, one.y, x_place, y_place, across,
        field.rows * field.down)
      for i = 1, #points, 2 do
        field:point(points[i], points[i + 1], k,
          #list > 1 and style.letter(k) or nil)
      end
    else
      for _, piece in ipairs(curve.pieces(one.x, one.y, x_place, y_place,
        across)) do
        if #piece == 2 then
          field:point(piece[1], piece[2], k, #list > 1 and style.letter(k)
            or field.utf8 and "•" or "*")
        else
          field:line(piece, k)
        end
      end
    end
  end
  if #list > 1 then field:letters(#list) end
end

local function labels_of(list)
  if #list < 2 then
    return is_labelled(list) and {list[1].label} or nil
  end
  local labels = {}
  for k, one in ipairs(list) do
    labels[k] = one.label ~= "" and one.label or "series " .. k
  end
  return labels
end

--- Draws lines; see `plot.lines`.
-- @tparam string op what the user called, for messages
-- @param value the series
-- @tparam ?table opts
function lines.draw(op, value, opts)
  opts = check.types(op, opts, known)
  local kind = output.kind(op, opts.file)
  local list, defaults = series.read(op, value, opts.keys)
  local x, y, note = axes_of(op, list, opts)
  local x_place, y_place = x:placer(), y:placer()
  local spec = {x = x, y = y, note = note, texts = {}}
  for _, name in ipairs {"title", "xlabel", "ylabel"} do
    spec.texts[name] = opts[name] or defaults[name] or ""
  end
  if kind then
    spec.legend = legend_of(list)
    function spec.draw(picture, frame)
      for k, one in ipairs(list) do
        draw_one(picture, frame, one, k, x_place, y_place)
      end
    end
    return chart.write(op, opts.file, kind, spec)
  end
  spec.labels = labels_of(list)
  function spec.draw(field) draw_text(field, list, x_place, y_place) end
  output.write(op, opts.file,
    text_chart.render(text_chart.setting(op, opts), spec))
end

return lines
