--- Round numbers for an axis, and their texts.
local matrix = require "heed.plot.matrix"

local ticks = {}

--- Returns numbers at round distances (1, 2 or 5 and zeros) inside a range, as
-- many as allowed, at least one; both ends where no distance is round.
-- @tparam number low
-- @tparam number high at least `low`
-- @tparam[opt=10] integer most how many, at least 3
-- @treturn {number,...} ascending
-- @usage ticks.between(0, 1, 6)  --> {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}
function ticks.between(low, high, most)
  if low == high then return {low} end
  local span = high - low
  local size = math.max(math.abs(low), math.abs(high))
  -- no distance is round where the span overflows or is all rounding error
  if span == math.huge or span <= 1e-9 * size or span < 1e-300 then
    return {low, high}
  end
  local unit = 10.0 ^ math.floor(math.log(span / (most or 10), 10))
  while true do
    for _, factor in ipairs {1, 2, 5} do
      local step = factor * unit
      local first = math.ceil(low / step - 1e-9)
      local last = math.floor(high / step + 1e-9)
      if last - first < (most or 10) then
        local out = {}
        for k = first, last do out[#out + 1] = k * step end
        return out
      end
    end
    unit = unit * 10
  end
end

--- Returns ticks with texts, short but different.
-- @tparam number low
-- @tparam number high
-- @tparam ?integer most as for `between`
-- @treturn {{number=,text=,place=},...} `place` is 0 at `low` and 1 at `high`
function ticks.labelled(low, high, most)
  local numbers = ticks.between(low, high, most)
  local out
  for _, format in ipairs {"%.4g", "%.10g", "%.17g"} do
    out = {}
    for i, number in ipairs(numbers) do
      local text = format:format(number + 0.0)
      if i > 1 and text == out[i - 1].text then break end
      out[i] = {number = number, text = text,
        place = matrix.place(number, low, high)}
    end
    if #out == #numbers then break end
  end
  return out
end

return ticks
