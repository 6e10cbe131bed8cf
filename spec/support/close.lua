--- close: testing.tensors_close for specs that compare values of any dtype.
--
--     close.check("y", y, {{1, 2}, {3, 4}}, {atol = 1e-5, rtol = 1e-5})

local heed = require "heed"
local testing = require "heed.testing"

local close = {}

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

--- The numbers of a tensor, a nested table or a number, row-major.
function close.flat(value)
  if heed.is_tensor(value) then value = value:totable() end
  return flatten(value, {})
end

--- Compares tensors, nested tables or numbers of one shape.
-- @param got
-- @param want
-- @tparam[opt] table tolerance `atol` and `rtol`: 1e-6 and 1e-5 by default
-- @return nil when all are close, else a message with the places
function close.difference(got, want, tolerance)
  local t = tolerance or {atol = 1e-6, rtol = 1e-5}
  local ok, text = testing.tensors_close(got, want,
    {atol = t.atol or 0, rtol = t.rtol or 0, check_dtype = false})
  return not ok and text or nil
end

--- Raises unless `got` and `want` are close.
-- @tparam string name of what is compared
-- @param got
-- @param want
-- @tparam[opt] table tolerance as for `difference`
function close.check(name, got, want, tolerance)
  local text = close.difference(got, want, tolerance)
  if text then error(name .. ": " .. text, 2) end
end

return close
