--- Colours as half blocks for a terminal: each character shows two of them, one
-- above the other, which makes them square. Without colours, shades.
local blocks = {}

-- From dark to light.
blocks.shades_utf8 = {" ", "░", "▒", "▓", "█"}
blocks.shades_ascii = {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"}

-- The mean colour of what lies under column x and row y of w times h; whether
-- some of it is not a number.
local function mean(panel, x, y, w, h)
  local r, g, b, count, some_nan = 0, 0, 0, 0, false
  local top, left = (y - 1) * panel.rows // h, (x - 1) * panel.cols // w
  local bottom = math.max(top + 1, math.ceil(y * panel.rows / h))
  local right = math.max(left + 1, math.ceil(x * panel.cols / w))
  for i = top + 1, bottom do
    for j = left + 1, right do
      local red, green, blue, is_nan = panel.color(i, j)
      some_nan = some_nan or is_nan
      r, g, b, count = r + red, g + green, b + blue, count + 1
    end
  end
  local function whole(sum) return math.floor(sum / count + 0.5) end
  return whole(r), whole(g), whole(b), some_nan
end

-- The code that sets a colour, empty if it is set already.
local function set(state, part, r, g, b)
  local code = ("%d;2;%d;%d;%d"):format(part, r, g, b)
  if state[part] == code then return "" end
  state[part] = code
  return "\27[" .. code .. "m"
end

local function colored_line(panel, y, w, h)
  local out, state = {}, {}
  for x = 1, w do
    out[#out + 1] = set(state, 38, mean(panel, x, y, w, h))
    if y < h then
      out[#out + 1] = set(state, 48, mean(panel, x, y + 1, w, h))
    end
    out[#out + 1] = "▀"
  end
  return table.concat(out) .. "\27[0m"
end

-- The weights of the colours in what the eye takes for brightness (ITU-R
-- BT.601); 0 to 1, nil for what is not a number.
local function brightness(r, g, b, is_nan)
  return not is_nan and (0.299 * r + 0.587 * g + 0.114 * b) / 255 or nil
end

local function shaded_line(panel, y, w, h, shades, cross)
  local out = {}
  for x = 1, w do
    local upper = brightness(mean(panel, x, y, w, h))
    local lower = y < h and brightness(mean(panel, x, y + 1, w, h))
    if lower == false then lower = upper end
    local light = upper and lower and (upper + lower) / 2
    out[x] = light
      and shades[math.min(math.floor(light * #shades) + 1, #shades)] or cross
  end
  return table.concat(out)
end

--- Returns a grid of colours as lines that are `w` columns wide.
-- @tparam table panel `rows`, `cols` and `color`, which gives red, green and
--   blue, 0 to 255, of (row, column), then true for what is not a number
-- @tparam integer w columns
-- @tparam integer h half lines
-- @tparam table how `colored` and `utf8`, what the terminal can
-- @treturn {string,...}
function blocks.lines(panel, w, h, how)
  local lines = {}
  for y = 1, h, 2 do
    if how.colored and how.utf8 then
      lines[#lines + 1] = colored_line(panel, y, w, h)
    else
      lines[#lines + 1] = shaded_line(panel, y, w, h,
        how.utf8 and blocks.shades_utf8 or blocks.shades_ascii,
        how.utf8 and "×" or "x")
    end
  end
  return lines
end

return blocks
