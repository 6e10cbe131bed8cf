--- Bars: upright in a picture, lying in the terminal, where labels have room.
-- Read `chart.lua` and `text_chart.lua` first.
local axis = require "heed.plot.axis"
local chart = require "heed.plot.chart"
local check = require "heed.check"
local curve = require "heed.plot.curve"
local output = require "heed.plot.output"
local series = require "heed.plot.series"
local style = require "heed.plot.style"
local text_chart = require "heed.plot.text_chart"
local width = require "heed.plot.width"

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
local eighths <const> = {"▏", "▎", "▍", "▌", "▋", "▊", "▉"}

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

-- The error of a bar, nil if there is none to draw.
local function error_of(b, i, g)
  local number = b.errors and b.errors[i][g]
  return number and number - number == 0 and number or nil
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
        local reach = error_of(b, i, g) or 0
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
        local reach = error_of(b, i, g)
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

-- The bar of a value as text, from the column of 0 to that of the value.
local function bar_text(from, to, char, is_utf8)
  local whole = math.floor(to - from)
  local text = char:rep(whole)
  local rest = math.floor((to - from - whole) * 8)
  if is_utf8 and char == "█" and rest > 0 then
    return text .. eighths[rest]
  elseif not (is_utf8 and char == "█") and rest >= 4 then
    return text .. char
  end
  return text
end

local function value_text(b, i, g)
  local text = ("%.4g"):format(b.rows[i][g])
  if b.rows[i][g] ~= b.rows[i][g] then text = "NaN" end
  local reach = error_of(b, i, g)
  return text .. (reach and (" ± %.2g"):format(reach) or "")
end

-- The line of one bar behind its label. `room` is the columns of the chart,
-- `base` that of 0.
local function bar_line(b, i, g, room, place, base, setting)
  local text = value_text(b, i, g)
  if not setting.utf8 then text = text:gsub("±", "+-") end
  local at = place(b.rows[i][g])
  local side = setting.frame.side
  if not at then return (" "):rep(base) .. side .. " " .. text end
  local to = math.max(0, math.min(room, base + (at - place(0)) * room))
  if clamped(place(0)) ~= place(0) then to = clamped(at) * room end
  local char = style.fill_char(g, setting.utf8)
  if to >= base then
    local bar = bar_text(base, to, char, setting.utf8)
    return (" "):rep(base) .. side .. setting.paint(bar, g) .. " " .. text
  end
  local cells = math.floor(base - to + 0.5)
  return (" "):rep(base - cells) .. setting.paint(char:rep(cells), g) .. side
    .. " " .. text
end

-- The labels in front of the bars, cut where they would take half of the line.
local function text_labels(b, setting)
  local labels, widest = {}, 0
  for i, label in ipairs(b.labels) do
    labels[i] = width.cut(width.clean(label), setting.columns // 2,
      setting.utf8 and "…" or "...")
    widest = math.max(widest, width.text(labels[i]))
  end
  return labels, widest
end

local function render(setting, b, spec)
  local labels, widest = text_labels(b, setting)
  local numbers = 0
  for i = 1, #b.rows do
    for g = 1, b.columns do
      numbers = math.max(numbers, width.text(value_text(b, i, g)))
    end
  end
  local room = math.max(8, setting.columns - widest - numbers - 4)
  local place = spec.y:placer()
  local base = math.floor(clamped(place(0)) * room + 0.5)

  local lines = {}
  text_chart.add_text(lines, spec.texts.title)
  text_chart.add_text(lines, spec.texts.xlabel)
  for i = 1, #b.rows do
    for g = 1, b.columns do
      local label = g == 1 and labels[i] or ""
      lines[#lines + 1] = (" "):rep(widest - width.text(label)) .. label .. " "
        .. bar_line(b, i, g, room, place, base, setting)
    end
  end
  text_chart.add_x_axis(lines, setting, widest + 1, room,
    text_chart.x_ticks(spec.y, function(at) return at * room + 0.5 end))
  if spec.texts.ylabel ~= "" then
    lines[#lines + 1] = text_chart.centered(width.clean(spec.texts.ylabel),
      widest + 2, room)
  end
  local marks = {}
  for g = 1, b.columns do marks[g] = style.fill_char(g, setting.utf8) end
  text_chart.add_legend(lines, setting, marks, b.groups or {})
  text_chart.add_text(lines, spec.note)
  return table.concat(lines, "\n") .. "\n"
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
      render(text_chart.setting(op, opts), b, spec))
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
