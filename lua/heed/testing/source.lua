--- Values as Lua code that makes them again.
local check = require "heed.check"
local layout = require "heed.testing.layout"
local values = require "heed.testing.values"

local source = {}

local WIDTH <const> = 78

local function number(v, dtype)
  if v ~= v then return "0 / 0" end
  if v == math.huge then return "math.huge" end
  if v == -math.huge then return "-math.huge" end
  if v == math.mininteger then return "math.mininteger" end
  if type(v) == "boolean" or math.type(v) == "integer" then
    return tostring(v)
  end
  if v == 0 and 1 / v < 0 then return "-0.0" end
  local text = values.number(v, dtype)
  return text:find("[.en]") and text or text .. ".0"
end

-- The items of a list on one line where they fit, with `beside` columns for
-- what stands there too; else indented.
local function braces(items, indent, beside)
  local line = "{" .. table.concat(items, ", ") .. "}"
  if #line + #indent + beside <= WIDTH and not line:find("\n") then
    return line
  end
  local inner, lines, at = indent .. "  ", {}, ""
  for i, item in ipairs(items) do
    item = item .. (i < #items and "," or "")
    if at ~= "" and #inner + #at + #item + 1 > WIDTH or item:find("\n") then
      if at ~= "" then lines[#lines + 1] = inner .. at end
      at = item
    else
      at = at == "" and item or at .. " " .. item
    end
  end
  lines[#lines + 1] = inner .. at
  return "{\n" .. table.concat(lines, "\n") .. "\n" .. indent .. "}"
end

local function nested(list, dtype, indent, beside)
  if type(list) ~= "table" then return number(list, dtype) end
  local items = {}
  for i, item in ipairs(list) do
    items[i] = nested(item, dtype, indent .. "  ", 1)
  end
  return braces(items, indent, beside)
end

-- The one value that all elements have, or nil.
local function constant(t)
  local flat = t:detach():reshape(-1)
  local first = flat[1]:item()
  if first ~= first or first == 0 and 1 / first < 0 then return nil end
  return flat:eq(first):all():item() and first or nil
end

local function shape_text(shape)
  return "{" .. table.concat(shape, ", ") .. "}"
end

local function tensor(t, indent)
  local options = (", {dtype = %q}"):format(t.dtype)
  if t:numel() == 0 then
    return "heed.zeros(" .. shape_text(t.shape) .. options .. ")"
  end
  local value
  if t:numel() > 1 then value = constant(t) end
  if value ~= nil then
    return ("heed.full(%s, %s%s)"):format(shape_text(t.shape),
      number(value, t.dtype), options)
  end
  return "heed.tensor(" .. nested(t:detach():totable(), t.dtype, indent,
    #"local x = heed.tensor()" + #options) .. options .. ")"
end

local function key_text(key)
  if type(key) == "string" and key:find("^[%a_][%w_]*$") then return key end
  return "[" .. source.of(key) .. "]"
end

local function table_text(t, indent)
  local items, n = {}, #t
  for i = 1, n do items[i] = source.of(t[i], indent .. "  ") end
  for _, key in ipairs(values.keys(t)) do
    if math.type(key) ~= "integer" or key < 1 or key > n then
      items[#items + 1] = key_text(key) .. " = "
        .. source.of(t[key], indent .. "  ")
    end
  end
  return braces(items, indent, 1)
end

--- Returns Lua code that makes a value: a tensor, number, string, boolean, nil
-- or a table of them. Of others it is their type, in angle brackets.
-- @param value
-- @tparam[opt=""] string indent of the line it stands on
function source.of(value, indent)
  indent = indent or ""
  if check.is_tensor(value) then
    local how = layout.of(value)
    if not how then return tensor(value, indent) end
    return ("heed.testing.laid_out(%s, %q)"):format(tensor(value, indent), how)
  end
  local kind = type(value)
  if kind == "number" then return number(value, "float64") end
  if kind == "string" then return ("%q"):format(value):gsub("\\\n", "\\n") end
  if kind == "boolean" or kind == "nil" then return tostring(value) end
  if kind == "table" then return table_text(value, indent) end
  return "<" .. kind .. ">"
end

return source
