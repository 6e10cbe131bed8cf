--- A chart with axes as text for a terminal. Read `dots.lua` first.
--
--     title
--     ylabel
--      1 ┤       ⡠⠊
--        │   ⢀⠔⠁
--      0 ┤b⠊
--        └┬────┬────┬
--         0    5    10
--            xlabel
--     a train  b validation
local dots = require "heed.plot.dots"
local style = require "heed.plot.style"
local terminal = require "heed.plot.terminal"
local width = require "heed.plot.width"

local text_chart = {}

local widest_default <const> = 100 -- columns, however wide the terminal is
local narrowest <const> = 10 -- columns inside the axes
local default_height <const> = 16 -- rows inside the axes

local frames <const> = {
  utf8 = {side = "│", y = "┤", corner = "└", base = "─", x = "┬"},
  ascii = {side = "|", y = "+", corner = "+", base = "-", x = "+"},
}

local function plain(text) return text end

local function painted(text, k)
  if not k then return text end
  local r, g, b = style.terminal(k)
  return string.format("\27[38;2;%d;%d;%dm%s\27[0m", r, g, b, text)
end

--- Returns what the options say of the terminal.
-- @tparam string op what the user called, for messages
-- @tparam table opts `width`, `height`, `color`, `utf8`, `file`
-- @treturn table `columns`, `rows`, `utf8`, `frame` (characters), and
--   `paint(text, k)`, which colours the text as series k
function text_chart.setting(op, opts)
  local out = opts.file or io.stdout
  local is_utf8, colored = opts.utf8, opts.color
  if is_utf8 == nil then is_utf8 = terminal.is_utf8() end
  if colored == nil then colored = terminal.has_color(out) end
  local columns = terminal.columns(op, opts.width, out)
  if not opts.width then columns = math.min(columns, widest_default) end
  local rows = default_height
  if opts.height then rows = terminal.size(op, "height", opts.height) end
  return {columns = columns, rows = rows, utf8 = is_utf8,
    frame = is_utf8 and frames.utf8 or frames.ascii,
    paint = colored and painted or plain}
end

--- Returns a text in the middle of some columns.
function text_chart.centered(text, left, columns)
  local before = left + math.max(0, (columns - width.text(text)) // 2)
  return (" "):rep(before) .. text
end

--- Returns ticks of a horizontal axis that stand beside each other.
-- @param axis see `axis.new`
-- @tparam function column gives the column, from 1, of a place
-- @treturn {table,...} as `axis:ticks` gives them, with their `column`
function text_chart.x_ticks(axis, column)
  for most = 10, 2, -1 do
    local list = axis:ticks(most)
    local fits, right = true, -math.huge
    for _, one in ipairs(list) do
      one.column = column(one.place) // 1 | 0
      local left = one.column - #one.text // 2
      fits = fits and left >= right + 2
      right = left + #one.text
    end
    if fits then return list end
  end
  return {}
end

--- Appends a horizontal axis: its line, and the numbers below.
-- @tparam {string,...} lines
-- @tparam table setting
-- @tparam integer left columns in front of the axis' corner
-- @tparam integer columns behind the corner
-- @tparam {table,...} marks from `x_ticks`
function text_chart.add_x_axis(lines, setting, left, columns, marks)
  local frame, line = setting.frame, {}
  for j = 1, columns do line[j] = frame.base end
  local numbers = ""
  for _, mark in ipairs(marks) do
    line[mark.column] = frame.x
    local at = math.max(0, left + mark.column - #mark.text // 2)
    numbers = numbers .. (" "):rep(at - #numbers) .. mark.text
  end
  lines[#lines + 1] = (" "):rep(left) .. frame.corner .. table.concat(line)
  lines[#lines + 1] = numbers
end

--- Appends a list of marks and labels, several on a line as they fit. A label
-- that is wider than the line is cut.
-- @tparam {string,...} lines
-- @tparam table setting
-- @tparam {string,...} marks one character wide, for each series
-- @tparam {string,...} labels
function text_chart.add_legend(lines, setting, marks, labels)
  local line, used = {}, 0
  local function flush()
    if #line > 0 then lines[#lines + 1] = table.concat(line, "  ") end
    line, used = {}, 0
  end
  for k, label in ipairs(labels) do
    label = width.cut(width.clean(label), math.max(1, setting.columns - 2),
      setting.utf8 and "…" or "...")
    local need = width.text(label) + 2
    if used > 0 and used + 2 + need > setting.columns then flush() end
    used = used + need + (used > 0 and 2 or 0)
    line[#line + 1] = setting.paint(marks[k], k) .. " " .. label
  end
  flush()
end

--- Appends a text, if it is not empty.
function text_chart.add_text(lines, text)
  if text ~= "" then lines[#lines + 1] = width.clean(text) end
end

--- Returns a chart as text.
-- @tparam table setting from `setting`
-- @tparam table spec `x`, `y`: axes; `texts`: `title`, `xlabel`, `ylabel`, ""
--   for none; `note`, a line at the end, or ""; `labels` of the series, nil for
--   none; `draw(field)`, which draws the data on a field of `dots.lua`
-- @treturn string lines, each with its end
function text_chart.render(setting, spec)
  local marks = spec.y:ticks(math.max(3, setting.rows // 3 + 1))
  local gutter = 0
  for _, mark in ipairs(marks) do gutter = math.max(gutter, #mark.text) end
  local columns = math.max(narrowest, setting.columns - gutter - 2)
  local field = dots.new(columns, setting.rows, setting.utf8)
  spec.draw(field)

  local at_row = {}
  for _, mark in ipairs(marks) do at_row[field:row(mark.place) | 0] = mark.text
  end
  local lines, frame = {}, setting.frame
  text_chart.add_text(lines, spec.texts.title)
  text_chart.add_text(lines, spec.texts.ylabel)
  for row, line in ipairs(field:lines(setting.paint)) do
    local text = at_row[row] or ""
    lines[#lines + 1] = (" "):rep(gutter - #text) .. text .. " "
      .. (at_row[row] and frame.y or frame.side) .. line:gsub(" +$", "")
  end
  text_chart.add_x_axis(lines, setting, gutter + 1, columns,
    text_chart.x_ticks(spec.x, function(x) return field:column(x) end))
  if spec.texts.xlabel ~= "" then
    lines[#lines + 1] = text_chart.centered(width.clean(spec.texts.xlabel),
      gutter + 2, columns)
  end
  if spec.labels and #spec.labels == 1 then
    text_chart.add_text(lines, width.cut(width.clean(spec.labels[1]),
      setting.columns, setting.utf8 and "…" or "..."))
  elseif spec.labels then
    local letters = {}
    for k = 1, #spec.labels do letters[k] = style.letter(k) end
    text_chart.add_legend(lines, setting, letters, spec.labels)
  end
  text_chart.add_text(lines, spec.note)
  return table.concat(lines, "\n") .. "\n"
end

return text_chart
