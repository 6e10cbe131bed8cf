--- close: compares numbers with a tolerance and names the worst place.
--
--     close.check("y", y, {{1, 2}, {3, 4}}, {atol = 1e-5, rtol = 1e-5})

local close = {}

local function is_tensor(value) return type(value) == "userdata" end

local function shape_text(shape)
  return "[" .. table.concat(shape, " ") .. "]"
end

-- Appends the numbers of nested tables to `flat`; booleans count as 1 and 0.
local function flatten(value, flat)
  if type(value) == "table" then
    for _, v in ipairs(value) do flatten(v, flat) end
  elseif type(value) == "boolean" then
    flat[#flat + 1] = value and 1 or 0
  else
    flat[#flat + 1] = value
  end
  return flat
end

local function shape_of(value)
  if is_tensor(value) then return value.shape end
  local shape = {}
  while type(value) == "table" do
    shape[#shape + 1] = #value
    value = value[1]
  end
  return shape
end

--- The numbers of a tensor, a nested table or a number, row-major.
function close.flat(value)
  if is_tensor(value) then value = value:totable() end
  return flatten(value, {})
end

-- Where number n (from 1) of a row-major tensor stands: "[2 3]", from 1.
local function place(shape, n)
  local at = {}
  n = n - 1
  for d = #shape, 1, -1 do
    at[d] = n % shape[d] + 1
    n = n // shape[d]
  end
  return shape_text(at)
end

-- By how much a number is beyond its tolerance; 0 or less is fine.
local function excess(got, want, atol, rtol)
  if got == want then return 0 end -- also infinities
  local off = math.abs(got - want)
  if off ~= off or off == math.huge then return math.huge end
  return off - (atol + rtol * math.abs(want))
end

--- Compares two lists of numbers.
-- @tparam table got
-- @tparam table want
-- @tparam table tolerance `atol` and `rtol`, 0 by default
-- @tparam[opt] table shape of what they come from, for the message
-- @return nil when all are close, else a message with the worst place
function close.difference(got, want, tolerance, shape)
  if #got ~= #want then
    return ("%d numbers instead of %d"):format(#got, #want)
  end
  local atol, rtol = tolerance.atol or 0, tolerance.rtol or 0
  local worst, at, count = 0, nil, 0
  for i = 1, #want do
    local e = excess(got[i], want[i], atol, rtol)
    if e > 0 then count = count + 1 end
    if e > worst then worst, at = e, i end
  end
  if not at then return nil end
  return ("%d of %d numbers are off, most at %s: got %.9g, want %.9g " ..
    "(atol %g, rtol %g)"):format(count, #want, place(shape or {#want}, at),
    got[at], want[at], atol, rtol)
end

--- Raises unless `got` and `want` (tensors, nested tables or numbers) have one
-- shape and close numbers.
-- @tparam string name of what is compared
-- @param got
-- @param want
-- @tparam[opt] table tolerance `atol` and `rtol`: 1e-6 and 1e-5 by default
function close.check(name, got, want, tolerance)
  local a, b = shape_of(got), shape_of(want)
  if shape_text(a) ~= shape_text(b) then
    error(("%s: got shape %s, want %s"):format(name, shape_text(a),
      shape_text(b)), 2)
  end
  local text = close.difference(close.flat(got), close.flat(want),
    tolerance or {atol = 1e-6, rtol = 1e-5}, b)
  if text then error(name .. ": " .. text, 2) end
end

return close
