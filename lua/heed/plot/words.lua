--- Words of a text, each shaded by a weight, for a terminal.
--
--     a dull and   lifeless film     each word on its colour, or
--     . #### :     @@@@@@@@ -        on a line of shades below it
local blocks = require "heed.plot.blocks"
local check = require "heed.check"
local matrix = require "heed.plot.matrix"
local output = require "heed.plot.output"
local palette = require "heed.plot.palette"
local terminal = require "heed.plot.terminal"
local width = require "heed.plot.width"

local words = {}

local known <const> = {
  width = "number", color = "boolean", utf8 = "boolean", file = "any",
  cmap = "string", vmin = "number", vmax = "number",
}

-- The words as they print, none wider than a line.
local function read_words(op, list, columns)
  local n <const>, fault = check.list(list, "string")
  if not n then check.fail("%s: words%s", op, fault) end
  if n == 0 then check.fail("%s: words is empty", op) end
  local out = {}
  for i = 1, n do out[i] = width.cut(width.clean(list[i]), columns, "~") end
  return out
end

-- The weights as a matrix of one row.
local function read_weights(op, weights, n)
  local row = weights
  if check.is_tensor(weights) and weights.ndim == 1 then
    row = weights:totable()
  end
  local m <const>, fault = check.list(row, "number")
  if not m then check.fail("%s: weights%s", op, fault) end
  if m ~= n then
    check.fail("%s: weights must be %d, one for each word, got %d", op, n, m)
  end
  return matrix.read(op, {row})
end

-- Two ways to draw a word: on its colour, or as it is and a shade below it.
-- `place` is 0 to 1, nil for what is not a number.
local function colored(word, place, cmap)
  local r, g, b = palette.no_number(cmap)
  if place then r, g, b = palette.color(cmap, place) end
  local dark <const> = 0.299 * r + 0.587 * g + 0.114 * b < 128
  local ink <const> = dark and 255 or 0
  return ("\27[38;2;%d;%d;%d;48;2;%d;%d;%dm%s\27[0m"):format(ink, ink, ink,
    r, g, b, word)
end

local function shade(word, place, is_utf8)
  local shades <const> = is_utf8 and blocks.shades_utf8
    or blocks.shades_ascii
  local k = place and math.min(math.floor(place * #shades) + 1, #shades)
  local mark <const> = k and shades[k] or is_utf8 and "×" or "x"
  return mark:rep(width.text(word))
end

-- First and last of the words of each line.
local function break_lines(list, columns)
  local lines, first, used = {}, 1, 0
  for i, word in ipairs(list) do
    local need <const> = width.text(word)
    if i > first and used + 1 + need > columns then
      lines[#lines + 1] = {first, i - 1}
      first, used = i, need
    else
      used = used + (i > first and 1 or 0) + need
    end
  end
  lines[#lines + 1] = {first, #list}
  return lines
end

-- The lines of words from `line[1]` to `line[2]`.
local function draw_line(shown, places, line, how)
  local above, below = {}, {}
  for i = line[1], line[2] do
    local place <const> = places[i] or nil
    above[#above + 1] = how.color and colored(shown[i], place, how.cmap)
      or shown[i]
    below[#below + 1] = shade(shown[i], place, how.utf8)
  end
  local text <const> = table.concat(above, " ") .. "\n"
  if how.color then return text end
  return text .. table.concat(below, " "):gsub(" +$", "") .. "\n"
end

--- Shows words shaded by weights.
-- @tparam string op what the user called, for messages
-- @tparam {string,...} list the words
-- @param weights as many numbers: a list or a tensor `[T]`
-- @tparam ?table opts see `plot.words`
function words.draw(op, list, weights, opts)
  local o <const> = check.types(op, opts, known)
  if output.kind(op, o.file) then
    check.fail("%s: file must have a write method (words are text, no "
      .. "picture), got %s", op, check.show(o.file))
  end
  local file <const> = o.file or io.stdout
  local columns <const> = terminal.columns(op, o.width, file)
  local how <const> = {
    cmap = palette.check(op, o.cmap or "Reds"), utf8 = o.utf8, color = o.color,
  }
  if how.utf8 == nil then how.utf8 = terminal.is_utf8() end
  if how.color == nil then how.color = terminal.has_color(file) end

  local shown <const> = read_words(op, list, columns)
  local m <const> = read_weights(op, weights, #shown)
  local low <const>, high <const> = matrix.range(op, {m}, o.vmin or 0, o.vmax)
  local places, lines = {}, {}
  for i, weight in ipairs(m[1]) do
    -- false stands for what is not a number
    places[i] = weight == weight and matrix.place(weight, low, high)
  end
  for _, line in ipairs(break_lines(shown, columns)) do
    lines[#lines + 1] = draw_line(shown, places, line, how)
  end
  output.write(op, o.file, table.concat(lines))
end

return words
