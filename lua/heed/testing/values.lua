--- What assertions compare: tensors, nested lists and numbers, as tensors; and
-- how numbers, places and tables of them are written.
local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local values = {}

--- Is a dtype one of floats?
function values.is_float(dtype) return dtype:find("float", 1, true) ~= nil end

-- Does a nested list hold a number that is no integer?
local function has_fraction(list)
  if type(list) ~= "table" then return math.type(list) == "float" end
  for _, item in ipairs(list) do
    if has_fraction(item) then return true end
  end
  return false
end

--- Returns a tensor, a nested list, a number or a boolean as a tensor without
-- history; of lists also that they were none: they have no dtype of their own
-- and are read without loss, as float64 or int64.
-- @tparam string func who asks, for messages
-- @tparam string name of the argument
-- @param value
-- @treturn tensor
-- @treturn boolean whether it was a tensor
function values.read(func, name, value)
  if check.is_tensor(value) then return value:detach(), true end
  local kind = type(value)
  if kind ~= "table" and kind ~= "number" and kind ~= "boolean" then
    check.fail("%s: %s must be a tensor, a nested list or a number, got %s",
      func, name, check.show(value))
  end
  local ok, t = pcall(core.tensor, value,
    {dtype = has_fraction(value) and "float64" or nil})
  if not ok then
    check.fail("%s: %s: %s", func, name, tostring(t):gsub("^.-tensor: ", ""))
  end
  return t, false
end

--- Runs over the tensors of a value: itself, or those in tables, by name:
-- `f(tensor, name)`, where the name is "" for the value itself. Keys are taken
-- in order, integers first.
function values.each(value, f, name)
  name = name or ""
  if check.is_tensor(value) then return f(value, name) end
  if type(value) ~= "table" then return end
  for _, key in ipairs(values.keys(value)) do
    local part = values.key(key)
    if name ~= "" and part:sub(1, 1) ~= "[" then part = "." .. part end
    values.each(value[key], f, name .. part)
  end
end

--- Returns a key of a table as a name: `[1]`, `weight`.
function values.key(key)
  return math.type(key) == "integer" and ("[%d]"):format(key) or tostring(key)
end

--- Is there a tensor in a value?
function values.has_tensor(value)
  local found = false
  values.each(value, function() found = true end)
  return found
end

--- Returns the keys of a table in order: integers, then names.
function values.keys(t)
  local keys = {}
  for key in next, t do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    local is_a, is_b = math.type(a) == "integer", math.type(b) == "integer"
    if is_a ~= is_b then return is_a end
    if is_a then return a < b end
    return tostring(a) < tostring(b)
  end)
  return keys
end

--- Returns where element `n` (from 1, row-major) of a shape stands: a list of
-- positions from 1.
function values.place(shape, n)
  local at = {}
  n = n - 1
  for d = #shape, 1, -1 do
    at[d] = n % shape[d] + 1
    n = n // shape[d]
  end
  return at
end

--- The positions (from 1, row-major) of the first true elements of a mask, at
-- most so many, as a list of integers; and how many there are.
function values.positions(mask, most)
  local all = mask:reshape(-1):nonzero():reshape(-1)
  local count = all:numel()
  return all:narrow(1, 1, math.min(most, count)):totable(), count
end

--- Returns the element `n` (from 1, row-major) of a tensor as a number, or a
-- boolean.
function values.at(t, n) return t:reshape(-1)[n]:item() end

-- The text of the fewest digits that reads back as this number of the dtype.
local function shortest(v, dtype)
  local first, last = 1, 17
  if dtype ~= "float64" then last = 9 end
  for digits = first, last do
    local text = ("%." .. digits .. "g"):format(v)
    local back = tonumber(text)
    if dtype ~= "float64" then
      back = string.unpack("f", string.pack("f", back))
    end
    if back == v then return text end
  end
  return ("%.17g"):format(v)
end

--- Returns a number as a person reads it, with as many digits as its dtype has.
function values.number(v, dtype)
  if v ~= v then return "nan" end
  if type(v) == "boolean" or math.type(v) == "integer" then
    return tostring(v)
  end
  if v == math.huge then return "inf" end
  if v == -math.huge then return "-inf" end
  return shortest(v, dtype or "float64")
end

--- Returns a number with four digits, for what only its size matters of.
function values.short(v)
  if v ~= v then return "nan" end
  return math.type(v) == "integer" and tostring(v) or ("%.4g"):format(v)
end

--- Returns rows of texts as aligned lines, two spaces between columns.
function values.columns(rows, indent)
  local widths, lines = {}, {}
  for _, row in ipairs(rows) do
    for j, text in ipairs(row) do
      widths[j] = math.max(widths[j] or 0, #text)
    end
  end
  for i, row in ipairs(rows) do
    local cells = {}
    for j, text in ipairs(row) do
      cells[j] = text .. (" "):rep(widths[j] - #text)
    end
    lines[i] = (indent .. table.concat(cells, "  ")):gsub(" +$", "")
  end
  return lines
end

--- "1 element", "3 elements".
function values.count(n, word)
  return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

--- Is element by element the same, bit for bit? Any NaN is as any other; zeros
-- keep their sign. Returns nil when it is, else a mask of what differs.
function values.changed(a, b)
  local differs = a:ne(b)
  if values.is_float(a.dtype) then
    local numbers = ops.logical_not(
      ops.logical_and(a:isnan(), b:isnan()))
    differs = ops.logical_and(differs, numbers)
    local signs = a:signbit():ne(b:signbit())
    differs = ops.logical_or(differs, ops.logical_and(signs, numbers))
  end
  if not differs:any():item() then return nil end
  return differs
end

return values
