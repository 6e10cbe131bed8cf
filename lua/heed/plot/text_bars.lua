--- Bars as text: lying, that labels have room, with their values behind them.
-- Read `text_chart.lua` first.
--
--     LSTM        |########## 81.2
--                 |========= 79.5
--     transformer |########### 84
--                 +----+----+--
--                 0    50  100
local style = require "heed.plot.style"
local text_chart = require "heed.plot.text_chart"
local width = require "heed.plot.width"

local text_bars = {}

local eighths <const> = {"▏", "▎", "▍", "▌", "▋", "▊", "▉"}

local function clamped(place) return math.max(0, math.min(1, place)) end

--- Returns the error of bar (i, g), nil if there is none to draw.
function text_bars.error_of(b, i, g)
  local number = b.errors and b.errors[i][g]
  return number and number - number == 0 and number or nil
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

local function value_text(b, i, g, is_utf8)
  local text = ("%.4g"):format(b.rows[i][g])
  if b.rows[i][g] ~= b.rows[i][g] then text = "NaN" end
  local reach = text_bars.error_of(b, i, g)
  if not reach then return text end
  return ("%s %s %.2g"):format(text, is_utf8 and "±" or "+-", reach)
end

-- The line of one bar behind its label. `room` is the columns of the chart,
-- `base` that of 0.
local function bar_line(b, i, g, room, place, base, setting)
  local text = value_text(b, i, g, setting.utf8)
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

--- Returns bars as text.
-- @tparam table setting from `text_chart.setting`
-- @tparam table b `rows` of `columns` values, their `errors` or nil, `labels`,
--   `groups` or nil
-- @tparam table spec `y`, the axis of the values; `texts`; `note`
-- @treturn string lines, each with its end
function text_bars.render(setting, b, spec)
  local labels, widest = text_labels(b, setting)
  local numbers = 0
  for i = 1, #b.rows do
    for g = 1, b.columns do
      numbers = math.max(numbers, width.text(value_text(b, i, g, setting.utf8)))
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

return text_bars
