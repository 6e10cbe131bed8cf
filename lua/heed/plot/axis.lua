--- An axis: what it spans, where a number lies on it, and its ticks.
local check = require "heed.check"
local matrix = require "heed.plot.matrix"
local ticks = require "heed.plot.ticks"

local axis = {}
axis.__index = axis

local greatest <const> = 0x1.fffffffffffffp1023

--- Returns the limits that an option gives, nil where it gives none.
-- @tparam string op what the user called, for messages
-- @tparam string name the option: `xlim` or `ylim`
-- @tparam ?table limits `{low, high}`, either may be nil
-- @tparam boolean is_log whether the axis is logarithmic
-- @treturn ?number low
-- @treturn ?number high
-- @raise unless both are finite, in order, and above 0 on a logarithmic axis
function axis.limits(op, name, limits, is_log)
  if limits == nil then return nil, nil end
  for key in pairs(limits) do
    if key ~= 1 and key ~= 2 then
      check.fail("%s: %s must be {low, high}, got the key %s", op, name,
        check.show(key))
    end
  end
  local low, high = limits[1], limits[2]
  for i = 1, 2 do
    local limit = limits[i]
    if limit ~= nil then
      if type(limit) ~= "number" or limit - limit ~= 0 then
        check.fail("%s: %s[%d] must be a finite number, got %s", op, name, i,
          check.show(limit))
      end
      if is_log and limit <= 0 then
        check.fail("%s: %s[%d] must be above 0 on a logarithmic axis, got %s",
          op, name, i, check.show(limit))
      end
    end
  end
  if low and high and low >= high then
    check.fail("%s: %s must have its low end below its high one, got %s and %s",
      op, name, check.show(low), check.show(high))
  end
  return low, high
end

-- Ends for a single value, with the value between them.
local function around(value, is_log, is_whole)
  if is_log then
    return math.max(value / 10, 5e-324), math.min(value * 10, greatest)
  end
  local reach = math.abs(value) / 10
  if value == 0 or is_whole then reach = math.max(1, reach // 1) end
  return math.max(value - reach, -greatest), math.min(value + reach, greatest)
end

-- The ends moved outward by a part of the span.
local function padded(low, high, part, is_log)
  if part == 0 then return low, high end
  if is_log then
    local more = part * (math.log(high, 10) - math.log(low, 10))
    return math.max(low / 10 ^ more, 5e-324), math.min(high * 10 ^ more,
      greatest)
  end
  local more = part * (high - low)
  if more == math.huge then return low, high end
  return math.max(low - more, -greatest), math.min(high + more, greatest)
end

--- Returns an axis.
-- @tparam number least of the data; with `greatest` below it there is none
-- @tparam number most of the data
-- @tparam table opts `log`; `low`, `high`: ends that are given; `pad`: the part
--   of the span that is left free at ends that are not (0); `whole`: the data
--   are whole numbers, and so are the ticks
-- @treturn table with `low`, `high`, `log` and the methods below
function axis.new(least, most, opts)
  local self = setmetatable({log = opts.log or false,
    whole = opts.whole or false}, axis)
  local low, high = opts.low, opts.high
  if least > most then
    -- no data: something round
    least = low or high and (self.log and high / 10 or high - 1)
      or self.log and 1 or 0
    most = high or self.log and least * 10 or least + 1
  end
  least, most = low or least, high or most
  if least >= most then
    -- one value only, or all data beyond the end that is given
    local before, behind = around(low or high or least, self.log, opts.whole)
    if not low then least = before end
    if not high then most = behind end
  end
  local from, to = padded(least, most, opts.pad or 0, self.log)
  self.low, self.high = low or from, high or to
  return self
end

--- Returns a function that gives the place of a number: 0 at the low end, 1 at
-- the high one, beyond these outside; nil for what has no place: NaN,
-- infinities, and on a logarithmic axis what is not above 0.
-- @treturn function
function axis:placer()
  local low, high = self.low, self.high
  -- far outside is far enough, and stays finite
  local far <const> = 1e9
  local function near(place)
    if place > far then return far end
    return place < -far and -far or place
  end
  if self.log then
    local log <const> = math.log
    local from = log(low, 10)
    local span = log(high, 10) - from
    return function(number)
      if not (number > 0 and number < math.huge) then return nil end
      return near((log(number, 10) - from) / span)
    end
  end
  -- halves do not overflow
  local from, span = low / 2, high / 2 - low / 2
  if span < 1e-300 then
    return function(number)
      if number - number ~= 0 then return nil end
      return matrix.place(number, low, high)
    end
  end
  return function(number)
    if number - number ~= 0 then return nil end
    return near((number / 2 - from) / span)
  end
end

--- Returns the ticks inside the axis.
-- @tparam integer most how many at most
-- @treturn {{number=,text=,place=},...}
function axis:ticks(most)
  local numbers, texts
  if self.log then
    numbers, texts = ticks.log(self.low, self.high, most)
  else
    numbers, texts = ticks.linear(self.low, self.high, most, self.whole)
  end
  local place, out = self:placer(), {}
  for i, number in ipairs(numbers) do
    out[i] = {number = number, text = texts[i], place = place(number)}
  end
  return out
end

--- Returns the places of the lines without a number, none on a linear axis.
-- @treturn {number,...}
function axis:minor()
  local out, place = {}, self:placer()
  for i, number in ipairs(self.log and ticks.minor(self.low, self.high) or {})
  do
    out[i] = place(number)
  end
  return out
end

return axis
