--- Round numbers for an axis, and their texts.
local matrix = require "heed.plot.matrix"

local ticks = {}

-- What is too narrow for round distances: only the ends are marked.
local function is_degenerate(low, high)
  local span = high - low
  local size = math.max(math.abs(low), math.abs(high))
  return span == math.huge or span <= 1e-9 * size or span < 1e-300
end

-- `1e+06` as `1e6`.
local function short_exponent(text)
  return (text:gsub("e%+?(%-?)0*(%d)", "e%1%2"))
end

-- A number as short as it stays itself to `digits`.
local function general(number, digits)
  return short_exponent(string.format("%." .. digits .. "g", number + 0.0))
end

-- Texts of numbers: the shortest that keeps neighbours different.
local function distinct(numbers)
  local out
  for _, digits in ipairs {4, 10, 17} do
    out = {}
    for i, number in ipairs(numbers) do
      local text = general(number, digits)
      if i > 1 and text == out[i - 1] then break end
      out[i] = text
    end
    if #out == #numbers then break end
  end
  return out
end

local function longest(texts)
  local most = 0
  for _, text in ipairs(texts) do most = math.max(most, #text) end
  return most
end

-- Texts of multiples of a step: all their digits, with an exponent where that
-- is shorter than a long number without.
local function stepped(numbers, step)
  local place = math.floor(math.log(step, 10) + 1e-9)
  local fixed, exponent = {}, {}
  for i, number in ipairs(numbers) do
    fixed[i] = string.format("%." .. math.max(0, -place) .. "f", number)
    if place < 0 then fixed[i] = fixed[i]:gsub("%.?0+$", "") end
    local digits = number == 0 and 1
      or math.floor(math.log(math.abs(number), 10) + 1e-9) - place + 1
    exponent[i] = general(number, math.max(1, digits))
  end
  if longest(fixed) > 6 and longest(exponent) < longest(fixed) then
    return exponent
  end
  return fixed
end

-- The multiples of factor * 10^exponent from low to high. Quotients of whole
-- numbers are the numbers that their texts stand for, and sums of steps not.
local function multiples(low, high, factor, exponent)
  local unit = 10.0 ^ math.abs(exponent)
  local step = exponent >= 0 and factor * unit or factor / unit
  local out = {}
  for k = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do
    out[#out + 1] = exponent >= 0 and k * step or k * factor / unit
  end
  return out, step
end

--- Returns at most `most` numbers from low to high whose distances are 1, 2 or
-- 5 times a power of ten, as P. Heckbert chooses them ("Nice Numbers for Graph
-- Labels", Graphics Gems, 1990); a few more if it would be one only; both ends
-- where no distance is round.
-- @tparam number low
-- @tparam number high
-- @tparam integer most at least 2
-- @tparam[opt=false] boolean whole whether only whole numbers, where there are
--   two of them
-- @treturn {number,...} ascending
-- @treturn {string,...} how they are written
-- @usage
-- local numbers, texts = ticks.linear(0, 1, 4)
-- return texts[2] --> 0.5
function ticks.linear(low, high, most, whole)
  if low == high then return {low}, {general(low, 4)} end
  local ends = {low, high}
  if is_degenerate(low, high) then return ends, distinct(ends) end
  local power = math.floor(math.log((high - low) / most, 10))
  if whole and math.floor(high) - math.ceil(low) >= 1 then
    power = math.max(power, 0)
  end
  local finer, finer_step
  for k = 0, 6 do
    local factor = ({1, 2, 5})[k % 3 + 1]
    local numbers, step = multiples(low, high, factor, power + k // 3)
    if #numbers >= 2 then finer, finer_step = numbers, step end
    if #numbers <= most then break end
  end
  if not finer then return ends, distinct(ends) end
  return finer, stepped(finer, finer_step)
end

-- The numbers factor * 10^k from low to high.
local function decades(low, high, factors, by)
  local out = {}
  local first = math.floor(math.log(low, 10) + 1e-9)
  local last = math.ceil(math.log(high, 10) - 1e-9)
  for k = first, last do
    for _, factor in ipairs(factors) do
      local number = k >= 0 and factor * 10.0 ^ k or factor / 10.0 ^ -k
      if k % by == 0 and number >= low * (1 - 1e-9)
        and number <= high * (1 + 1e-9) then
        out[#out + 1] = number
      end
    end
  end
  return out
end

local function log_texts(numbers)
  local out = {}
  for i, number in ipairs(numbers) do
    local plain = number >= 1e-3 and number < 1e5
    out[i] = plain and general(number, 10) or general(number, 3)
  end
  return out
end

--- Returns at most `most` numbers from low to high for a logarithmic axis:
-- powers of ten, with 2 and 5 times these where there is room; as `linear`
-- where the range holds fewer than two of them.
-- @tparam number low above 0
-- @tparam number high
-- @tparam integer most at least 2
-- @treturn {number,...} ascending
-- @treturn {string,...} how they are written
-- @usage
-- local numbers, texts = ticks.log(1, 1000, 5)
-- return texts[4] --> 1000
function ticks.log(low, high, most)
  local fine = decades(low, high, {1, 2, 5}, 1)
  if #fine < 2 then return ticks.linear(low, high, most) end
  if #fine <= math.min(most, 8) then return fine, log_texts(fine) end
  for _, by in ipairs {1, 2, 5, 10, 20, 50, 100, 200} do
    local numbers = decades(low, high, {1}, by)
    if #numbers <= most then
      if #numbers < 2 then break end
      return numbers, log_texts(numbers)
    end
  end
  local ends = {low, high}
  return ends, distinct(ends)
end

--- Returns 2 to 9 times the powers of ten between low and high: the lines
-- without a number of a logarithmic axis; none where they would be too many.
-- @tparam number low above 0
-- @tparam number high
-- @treturn {number,...}
function ticks.minor(low, high)
  if math.log(high, 10) - math.log(low, 10) > 8 then return {} end
  return decades(low, high, {2, 3, 4, 5, 6, 7, 8, 9}, 1)
end

--- Returns ticks with texts, short but different.
-- @tparam number low
-- @tparam number high
-- @tparam[opt=8] integer most
-- @treturn {{number=,text=,place=},...} `place` is 0 at `low` and 1 at `high`
function ticks.labelled(low, high, most)
  local numbers, texts = ticks.linear(low, high, most or 8)
  local out = {}
  for i, number in ipairs(numbers) do
    out[i] = {number = number, text = texts[i],
      place = matrix.place(number, low, high)}
  end
  return out
end

return ticks
