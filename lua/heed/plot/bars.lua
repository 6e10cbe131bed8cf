--- Bars: upright in a picture, lying in the terminal, where labels have room.
-- Read `chart.lua` first, and `text_bars.lua` for the terminal.
local axis = require "heed.plot.axis"
local chart = require "heed.plot.chart"
local check = require "heed.check"
local curve = require "heed.plot.curve"
local output = require "heed.plot.output"
local series = require "heed.plot.series"
local style = require "heed.plot.style"
local text_bars = require "heed.plot.text_bars"
local text_chart = require "heed.plot.text_chart"

local bars = {}

local known <const> = {
  labels = "table", groups = "table", errors = "any", ylim = "table",
  title = "string", xlabel = "string", ylabel = "string", file = "any",
  width = "number", color = "boolean", utf8 = "boolean",
}

local pad <const> = 0.05 -- of the span, free beyond the highest bar
local least_bar <const> = 12 -- pixels of a bar, as long as there are few
local least_label <const> = 24 -- pixels of a slanted label
local many <const> = 120 -- bars
local bars_part <const> = 0.8 -- of the room of a label; the rest is free
local hatch_distance <const> = 7 -- pixels

-- The values as rows of equal length, one row for each label.
local function read_rows(op, name, value)
  local is_tensor = check.is_tensor(value)
  local list = is_tensor and value.ndim == 2 and value:totable() or value
  local first = type(list) == "table" and not check.is_tensor(list) and list[1]
  local rows = {}
  if type(first) ~= "table" and not check.is_tensor(first) then
    for i, number in ipairs(series.numbers(op, name, value)) do
      rows[i] = {number}
    end
    return rows, 1
  end
  for i = 1, #list do
    rows[i] = series.numbers(op, ("%s[%d]"):format(name, i), list[i])
    if #rows[i] ~= #rows[1] then
      check.fail("%s: %s[%d] must have %d values as %s[1], got %d", op, name, i,
        #rows[1], name, #rows[i])
    end
  end
  return rows, #rows[1]
end

local function read_texts(op, name, list, count, of)
  if #list ~= count then
    check.fail("%s: %s must have %d entries for %s, got %d", op, name, count,
      of, #list)
  end
  local out = {}
  for i = 1, count do
    local text = list[i]
    if type(text) ~= "string" and type(text) ~= "number" then
      check.fail("%s: %s[%d] must be a string or a number, got %s", op, name, i,
        check.show(text))
    end
    out[i] = tostring(text)
  end
  return out
end

local function read_errors(op, value, rows, columns)
  local errors, wide = read_rows(op, "errors", value)
  if #errors ~= #rows or #rows > 0 and wide ~= columns then
    check.fail("%s: errors must be %s as values, got %s", op,
      check.shape {#rows, columns}, check.shape {#errors, wide})
  end
  for i, row in ipairs(errors) do
    for g, number in ipairs(row) do
      if number < 0 then
        check.fail("%s: errors[%d] must be 0 or more, got %s", op, i,
          check.show(row[g]))
      end
    end
  end
  return errors
end

-- What is drawn: `rows`, `columns`, `errors`, `labels`, `groups`.
local function read(op, value, opts)
  local b = {}
  b.rows, b.columns = read_rows(op, "values", value)
  local numbers = {}
  for i = 1, #b.rows do numbers[i] = i end
  b.labels = read_texts(op, "labels", opts.labels or numbers, #b.rows,
    "values " .. check.shape {#b.rows, b.columns})
  if opts.groups then
    b.groups = read_texts(op, "groups", opts.groups, b.columns,
      "values " .. check.shape {#b.rows, b.columns})
  end
  if opts.errors ~= nil then
    b.errors = read_errors(op, opts.errors, b.rows, b.columns)
  end
  return b
end

-- The axis of the values, which holds 0, and what has no bar.
local function value_axis(op, b, opts)
  local low, high = axis.limits(op, "ylim", opts.ylim, false)
  local least, most, nan, infinite = 0, 0, 0, 0
  for i, row in ipairs(b.rows) do
    for g, number in ipairs(row) do
      if number ~= number then
        nan = nan + 1
      elseif number - number ~= 0 then
        infinite = infinite + 1
      else
        local reach = text_bars.error_of(b, i, g) or 0
        local from, to = number - reach, number + reach
        if from - from == 0 then least = math.min(least, from) end
        if to - to == 0 then most = math.max(most, to) end
      end
    end
  end
  local parts = {}
  if nan > 0 then parts[1] = nan .. " NaN" end
  if infinite > 0 then parts[#parts + 1] = infinite .. " infinite" end
  -- a side without bars ends at 0
  if least == 0 then low = low or (not high or high > 0) and 0 or nil end
  if most == 0 and least < 0 then
    high = high or (not low or low < 0) and 0 or nil
  end
  return axis.new(least, most, {low = low, high = high, pad = pad}),
    #parts > 0 and "not drawn: " .. table.concat(parts, ", ") or ""
end

-- Lines of a hatching inside a rectangle, clear of its edges.
local function hatching(box, directions)
  local lines = {}
  local left, bottom = box.left + 1, box.bottom - 1
  local across, down = box.right - 1 - left, bottom - 1 - box.top
  if across <= 0 or down <= 0 then return lines end
  local reach = across + down
  for _, direction in ipairs(directions) do
    local dx, dy = direction[1], direction[2]
    for k = -reach // hatch_distance, reach // hatch_distance do
      -- a point on line k, counted from the bottom left
      local x = dx == 0 and (k + 0.5) * hatch_distance or 0
      local y = dx == 0 and 0 or (k + 0.5) * hatch_distance
        * (dy == 0 and 1 or 1.414)
      local x0, y0, x1, y1 = curve.clip(x / across, y / down,
        (x + dx * reach) / across, (y + dy * reach) / down)
      if x0 then
        lines[#lines + 1] = {left + x0 * across, bottom - y0 * down,
          left + x1 * across, bottom - y1 * down}
      end
    end
  end
  return lines
end

local function fill_boxes(picture, boxes, g, is_single)
  local pieces, lines = {}, {}
  local hatch = not is_single and style.hatch(g)
  for k, box in ipairs(boxes) do
    pieces[k] = {box.left, box.bottom, box.left, box.top, box.right, box.top,
      box.right, box.bottom}
    for _, line in ipairs(hatch and hatching(box, hatch) or {}) do
      lines[#lines + 1] = line
    end
  end
  picture:areas(pieces, {color = style.fill(g)})
  picture:path(lines, {color = {255, 255, 255}, width = 1.2})
end

local function clamped(place) return math.max(0, math.min(1, place)) end

local function draw_picture(picture, frame, b, place)
  local base, whiskers = place(0), {}
  local cell = frame.width / #b.rows
  local bar = cell * bars_part / b.columns
  for g = 1, b.columns do
    local boxes = {}
    for i, row in ipairs(b.rows) do
      local at = place(row[g])
      if at then
        local left = frame.x(0) + (i - 0.5) * cell
          + (g - 1 - b.columns / 2) * bar
        boxes[#boxes + 1] = {left = left, right = left + bar,
          bottom = frame.y(clamped(math.min(at, base))),
          top = frame.y(clamped(math.max(at, base)))}
        local reach = text_bars.error_of(b, i, g)
        if reach then
          local x, cap = left + bar / 2, math.min(5, bar / 3)
          local from = frame.y(clamped(place(row[g] - reach) or at))
          local to = frame.y(clamped(place(row[g] + reach) or at))
          for _, line in ipairs {{x, from, x, to}, {x - cap, from, x + cap,
            from}, {x - cap, to, x + cap, to}} do
            whiskers[#whiskers + 1] = line
          end
        end
      end
    end
    fill_boxes(picture, boxes, g, b.columns == 1)
  end
  picture:path(whiskers, {color = {0, 0, 0}, width = 1.2})
  if base > 0 and base < 1 then
    local y = frame.y(base)
    picture:path({{frame.x(0), y, frame.x(1), y}}, {color = {64, 64, 64},
      width = 1})
  end
end

local function legend_of(b)
  local legend = {}
  for g, label in ipairs(b.groups or {}) do
    legend[g] = {label = label, sample = function(picture, x, y, across)
      fill_boxes(picture, {{left = x, right = x + across, top = y - 6,
        bottom = y + 6}}, g, b.columns == 1)
    end}
  end
  return legend
end

--- Draws bars; see `plot.bars`.
-- @tparam string op what the user called, for messages
-- @param value the values
-- @tparam ?table opts
function bars.draw(op, value, opts)
  opts = check.types(op, opts, known)
  local kind = output.kind(op, opts.file)
  local b = read(op, value, opts)
  local y, note = value_axis(op, b, opts)
  local spec = {y = y, note = note, texts = {}}
  for _, name in ipairs {"title", "xlabel", "ylabel"} do
    spec.texts[name] = opts[name] or ""
  end
  if not kind then
    return output.write(op, opts.file,
      text_bars.render(text_chart.setting(op, opts), b, spec))
  end
  spec.labels, spec.legend = b.labels, legend_of(b)
  local least = math.max(b.columns * least_bar / bars_part,
    opts.labels and least_label or 0)
  if #b.rows * b.columns <= many then spec.least_width = #b.rows * least end
  local place = y:placer()
  function spec.draw(picture, frame) draw_picture(picture, frame, b, place) end
  chart.write(op, opts.file, kind, spec)
end

return bars
