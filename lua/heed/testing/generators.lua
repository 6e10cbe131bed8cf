--- Generators of numbers, choices and lists; read `choices.lua` first.
local check = require "heed.check"
local choices = require "heed.testing.choices"
local values = require "heed.testing.values"

local generators = {}

local Generator <const> = choices.Generator

--- Checks that a value is a generator.
function generators.check(func, name, value)
  if not choices.is_generator(value) then
    check.fail("%s: %s must be a generator, such as testing.integer(1, 9), "
      .. "got %s", func, name, check.show(value))
  end
  return value
end

local function clamp(v, low, high) return math.max(low, math.min(high, v)) end

-- -- integers ----------------------------------------------------------------

-- Integers between v and its origin, the boldest first.
local function nearer(v, origin, list)
  list = list or {}
  local gap = v - origin
  local step = gap
  while step ~= 0 do
    list[#list + 1] = v - step
    step = step > 0 and step // 2 or -(-step // 2)
  end
  return list
end

--- A choice of an integer of a range, simplest near 0, `sample` if given
-- instead of the usual mixture.
function generators.integer_spec(low, high, sample)
  local origin = clamp(0, low, high)
  local small_low, small_high = clamp(-9, low, high), clamp(9, low, high)
  return {
    simplest = origin,
    fit = function(v)
      return math.type(v) == "integer" and clamp(v, low, high) or nil
    end,
    sample = sample or function(source)
      local kind = source:unit()
      if kind < 0.1 then return source:integer(0, 1) == 0 and low or high end
      if kind < 0.4 then return source:integer(small_low, small_high) end
      return source:integer(low, high)
    end,
    simpler = function(v)
      local list = nearer(v, origin)
      -- 5 is simpler than -5
      if v < 0 and v > math.mininteger and -v <= high then
        table.insert(list, 2, -v)
      end
      return list
    end,
  }
end

--- Returns a generator of integers, both ends included; small numbers and the
-- ends are drawn more often. They shrink towards 0, or the end next to it.
-- @tparam[opt=-100] integer low
-- @tparam[opt=100] integer high
-- @treturn table generator
-- @raise when an end is no integer, or high is below low
-- @usage heed.testing.integer(1, 6):example() --> 1
function generators.integer(low, high)
  low = check.integer("integer", "low", low or -100)
  high = check.integer("integer", "high", high or 100)
  if high < low then
    check.fail("integer: high must be at least low, %d, got %d", low, high)
  end
  local spec = generators.integer_spec(low, high)
  return choices.generator(function(draw) return draw:leaf(spec) end)
end

-- -- numbers -----------------------------------------------------------------

-- How simple a number is, as a list to compare: whole ones, then those of few
-- digits, infinities, NaN; among them the small ones, then the positive ones.
local function complexity(v)
  local class = v ~= v and 3 or v - v ~= 0 and 2 or v % 1 ~= 0 and 1 or 0
  local digits = class == 1 and #values.number(math.abs(v)) or 0
  local negative = (v < 0 or v == 0 and 1 / v < 0) and 1 or 0
  return {class, digits, class == 3 and 0 or math.abs(v), negative}
end

local function is_simpler(a, b)
  local x, y = complexity(a), complexity(b)
  for i = 1, #x do
    if x[i] ~= y[i] then return x[i] < y[i] end
  end
  return false
end

local function simpler_numbers(v, origin, fit)
  local tries = {origin, 0.0, 1.0, -1.0, -v}
  if v - v == 0 then
    local whole = math.abs(v) < 2.0 ^ 53 and math.tointeger(v // 1)
    if whole then
      for _, n in ipairs(nearer(whole, math.tointeger(origin // 1) or 0)) do
        tries[#tries + 1] = n + 0.0
      end
      tries[#tries + 1] = whole + 0.0
      tries[#tries + 1] = whole + 1.0
    else
      tries[#tries + 1] = v / 2
    end
    for digits = 1, 3 do
      tries[#tries + 1] = tonumber(("%." .. digits .. "g"):format(v)) + 0.0
    end
  end
  local list = {}
  for _, try in ipairs(tries) do
    if fit(try) == try and is_simpler(try, v) then
      list[#list + 1] = try
    end
  end
  return list
end

local SPECIAL <const> = {
  0.0, -0.0, 0 / 0, math.huge, -math.huge, 1e-40, -1e-40, 1e30, -1e30, 1e-8,
}

local function number_spec(low, high, special)
  local origin = clamp(0.0, low, high)
  local whole_low, whole_high = math.ceil(clamp(-9, low, high)),
    math.floor(clamp(9, low, high))
  local function fit(v)
    if math.type(v) ~= "float" then return nil end
    if special and (v ~= v or v - v ~= 0) then return v end
    return v == v and clamp(v, low, high) or nil
  end
  return {
    simplest = origin, fit = fit,
    sample = function(source)
      local kind = source:unit()
      if special and kind < 0.25 then return source:pick(SPECIAL) end
      if kind < 0.3 then return source:integer(0, 1) == 0 and low or high end
      if kind < 0.45 and whole_low <= whole_high then
        return source:integer(whole_low, whole_high) + 0.0
      end
      return low + source:unit() * (high - low)
    end,
    simpler = function(v)
      return simpler_numbers(v, origin, fit)
    end,
  }
end

--- Returns a generator of floats, both ends included; whole numbers and the
-- ends are drawn more often. They shrink towards 0, whole numbers and those of
-- few digits.
-- @tparam[opt=-10] number low
-- @tparam[opt=10] number high
-- @tparam[opt] table options `special`: a quarter of them are NaN, infinities,
-- -0, very small and very large, whatever the ends (false)
-- @treturn table generator
-- @raise when an end is not finite, or high is below low
-- @usage heed.testing.number(0.5, 2):example() --> 0.5
function generators.number(low, high, options)
  local o = check.options("number", options, {special = false})
  low = check.number("number", "low", low or -10, -1e308, 1e308) + 0.0
  high = check.number("number", "high", high or 10, low, 1e308) + 0.0
  local spec = number_spec(low, high, o.special)
  return choices.generator(function(draw) return draw:leaf(spec) end)
end

-- -- choices and lists -------------------------------------------------------

--- Returns a generator of booleans. They shrink towards false.
-- @treturn table generator
-- @usage heed.testing.boolean():example() --> false
function generators.boolean()
  return generators.choice {false, true}
end

--- Returns a generator of the items of a list, or of what those of them give
-- that are generators. They shrink towards the first.
-- @tparam table items
-- @treturn table generator
-- @raise when items is no list, or empty
-- @usage heed.testing.choice {"relu", "gelu"}:example() --> relu
function generators.choice(items)
  if type(items) ~= "table" or #items == 0 then
    check.fail("choice: items must be a list with an item or more, got %s",
      type(items) == "table" and "an empty one" or check.show(items))
  end
  local spec = generators.integer_spec(1, #items,
    function(source) return source:integer(1, #items) end)
  return choices.generator(function(draw)
    local item = items[draw:leaf(spec)]
    return choices.is_generator(item) and draw(item) or item
  end)
end

--- Returns a generator of lists of what another one gives. They shrink by
-- leaving out items, then in the items.
-- @tparam table item generator
-- @tparam[opt] table options `min` (0) and `max` (10), how many
-- @treturn table generator
-- @raise when item is no generator, or max is below min
-- @usage heed.testing.list(heed.testing.integer(1, 9), {min = 2}):example()
-- --> 1 1
function generators.list(item, options)
  generators.check("list", "item", item)
  local o = check.options("list", options, {min = 0, max = 10})
  local low = check.integer("list", "min", o.min, 0)
  local high = check.integer("list", "max", o.max, low)
  local spec = generators.integer_spec(low, high,
    function(source) return source:integer(low, high) end)
  return choices.generator(function(draw)
    local list = {}
    draw:node().list = true
    for i = 1, draw:leaf(spec) do list[i] = draw(item) end
    return list
  end)
end

--- Returns a generator of what a function makes of others: `f(draw)` calls
-- `draw(generator)` as often as it likes, and may use what came for the next
-- one, such as the size that two tensors share. What it makes shrinks with what
-- it drew.
-- @tparam function f
-- @treturn table generator
-- @raise when f is no function
-- @usage local testing = heed.testing
-- local product = testing.custom(function(draw)
--   local n = draw(testing.integer(1, 5))
--   return {draw(testing.tensor {shape = {3, n}}),
--     draw(testing.tensor {shape = {n, 2}})}
-- end)
-- return product:example()[1] --> shape (3, 1)
function generators.custom(f)
  check.callable("custom", "f", f)
  return choices.generator(function(draw)
    return f(function(generator)
      return draw(generators.check("draw", "generator", generator))
    end)
  end)
end

--- Returns a generator of f(value) for the values of this one.
-- @tparam function f
-- @treturn table generator
-- @usage heed.testing.integer(1, 4):map(function(n) return 2 ^ n end)
--   :example() --> 2
function Generator:map(f)
  check.callable("map", "f", f)
  return choices.generator(function(draw) return f(draw(self)) end)
end

--- Returns a value: the simplest, or the one of a seed.
-- @tparam[opt] integer seed
-- @return the value
-- @usage heed.testing.integer(-5, 5):example() --> 0
function Generator:example(seed)
  if seed == nil then return (choices.replay(self, {})) end
  check.integer("example", "seed", seed)
  return (choices.sample(self, choices.source(seed, 1)))
end

return generators
