--- Checks of arguments, with one form of message: function, argument, what was
-- wanted, what came. Errors point at the first line outside of heed's own Lua
-- files, as those of the ops do.

local core = require "heed.core"

local check = {}

--- Stands for "no default" in the defaults of `check.options`.
check.NONE = setmetatable({}, {__name = "none"})

local home <const> = debug.getinfo(1, "S").source:match("^(.*)check%.lua$")

-- What stands between heed and those who use it: sources that begin so.
local between <const> = {}

--- Lets errors point past the files whose sources begin with `prefix`, as those
-- of a library that calls heed for the user.
function check.pass_over(prefix) between[prefix] = true end

--- Is the source of a function (`debug.getinfo`) one of heed's Lua files, or
-- one to be passed over?
function check.is_own(source)
  if home ~= nil and source:sub(1, #home) == home then return true end
  for prefix in next, between do
    if source:sub(1, #prefix) == prefix then return true end
  end
  return false
end

--- Returns the first line outside of heed's Lua files that is being run, as
-- `debug.getinfo` has it; nil when there is none.
function check.caller()
  local level = 2
  local info = debug.getinfo(level, "Sl")
  while info and (info.currentline <= 0 or check.is_own(info.source)) do
    level = level + 1
    info = debug.getinfo(level, "Sl")
  end
  return info
end

--- Raises a message, formatted like `string.format`.
function check.fail(format, ...)
  local info = check.caller()
  local where = info and ("%s:%d: "):format(info.short_src, info.currentline)
  error((where or "") .. format:format(...), 0)
end

local fail <const> = check.fail

--- Is the value a tensor (and not closed)?
check.is_tensor = core.is_tensor

--- Is the value a tensor of floats, of any size?
function check.is_float(value)
  return core.is_tensor(value) and value.dtype:find("float", 1, true) ~= nil
end

--- A list of sizes as messages write it: `[2 3]`.
function check.shape(sizes)
  return "[" .. table.concat(sizes, " ") .. "]"
end

-- Longest text in a message, in bytes.
local SHOWN <const> = 60

local function escape(char)
  return ("\\x%02X"):format(char:byte())
end

--- How a value reads in a message: text in quotes, cut when long and with what
-- does not print escaped; whole numbers as such; tensors with dtype and shape;
-- of objects the class, of other values the type.
function check.show(value)
  if check.is_tensor(value) then
    return ("tensor %s %s"):format(value.dtype, check.shape(value.shape))
  end
  local kind = type(value)
  if kind == "userdata" and debug.getmetatable(value) == core.metatable then
    return "a closed tensor"
  end
  if kind == "string" then
    if #value > SHOWN then
      value = value:sub(1, (utf8.offset(value, 0, SHOWN + 1)) - 1) .. "..."
    end
    local odd = utf8.len(value) and "[\0-\31\127]" or "[^\32-\126]"
    return '"' .. value:gsub(odd, escape) .. '"'
  end
  if value ~= value then return "nan" end -- of either sign
  if kind == "number" then return tostring(math.tointeger(value) or value) end
  if kind == "nil" or kind == "boolean" then return tostring(value) end
  local meta = kind == "table" and debug.getmetatable(value)
  local name = type(meta) == "table" and rawget(meta, "__name") or kind
  local own <const> = meta and rawget(value, "__name")
  if type(own) == "string" and type(meta) == "table" and meta.__call then
    return ("the class %s, which must be called: %s(...)"):format(own, own)
  end
  return (name:find("^[AEIOUaeiou]") and "an " or "a ") .. name
end

--- Returns `value` when it is of a Lua type, such as "string"; raises if not.
function check.kind(func, name, value, kind)
  if type(value) ~= kind then
    fail("%s: %s must be a %s, got %s", func, name, kind, check.show(value))
  end
  return value
end

--- Returns `value` when it can be called; raises if not.
function check.callable(func, name, value)
  local meta = type(value) ~= "function" and debug.getmetatable(value)
  if meta == nil or meta and not rawget(meta, "__call") then
    fail("%s: %s must be a function, got %s", func, name, check.show(value))
  end
  return value
end

--- Returns `value` when it is a tensor; raises if not.
function check.tensor(func, name, value)
  if not check.is_tensor(value) then
    fail("%s: %s must be a tensor, got %s", func, name, check.show(value))
  end
  return value
end

--- Is the value a heed.Generator?
function check.is_generator(value)
  return type(value) == "userdata" and not check.is_tensor(value) and
    type(value.get_state) == "function"
end

--- Returns `value` as an integer; raises unless it is one, and at least `low`
-- where that is given.
function check.integer(func, name, value, low)
  local n = math.type(value) and math.tointeger(value)
  if not n or low and n < low then
    fail("%s: %s must be an integer%s, got %s", func, name,
      low and " of at least " .. low or "", check.show(value))
  end
  return n
end

local function check_whole(func, name, list)
  for i = 1, #list do
    local n = list[i]
    if type(n) == "table" then
      check_whole(func, name, n)
    elseif math.type(n) == "float" and not math.tointeger(n) then
      fail("%s: %s must be integers, got %s", func, name, check.show(n))
    end
  end
end

--- Returns a list of integers, also a nested one, as an int64 tensor; raises
-- when one of the numbers is none.
function check.integers(func, name, list)
  check_whole(func, name, list)
  return core.tensor(list, {dtype = "int64"})
end

--- Returns `value` when it is a number within bounds (nil: none); raises if
-- not, also for NaN.
function check.number(func, name, value, low, high)
  local ok = type(value) == "number" and value == value
  if ok and (not low or value >= low) and (not high or value <= high) then
    return value
  end
  local range = low and high and (" from %g to %g"):format(low, high) or
    low and (" of at least %g"):format(low) or ""
  fail("%s: %s must be a number%s, got %s", func, name, range,
    check.show(value))
end

--- Returns a dimension of a tensor from 1 on, given so or from the end; raises
-- unless it is one.
function check.dim(func, x, dim)
  local n = math.type(dim) and math.tointeger(dim)
  local ndim = x.ndim
  if n and n ~= 0 and n <= ndim and n >= -ndim then
    return n > 0 and n or n + ndim + 1
  end
  if ndim == 0 then
    fail("%s: x has no dimensions, so dim %s is out of range", func,
      check.show(dim))
  end
  fail("%s: dim must be 1..%d or -%d..-1 for x %s, got %s", func, ndim, ndim,
    check.shape(x.shape), check.show(dim))
end

--- The string keys of a table, sorted and joined by commas.
function check.names(keys)
  local names = {}
  for name in pairs(keys) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, ", ")
end

--- Raises unless `options` is nil or a table without other keys than those of
-- the table `keys`.
function check.keys(func, options, keys)
  if options == nil then return end
  if type(options) ~= "table" then
    fail("%s: options must be a table, got %s", func, check.show(options))
  end
  for key in next, options do
    if keys[key] == nil then
      fail("%s: unknown option %s; known: %s", func, check.show(key),
        check.names(keys))
    end
  end
end

--- Returns the options with what they leave out taken from `defaults`, whose
-- keys are all that there are (`check.NONE`: nil). Raises on an unknown key,
-- and where the default is a boolean and the value none.
function check.options(func, options, defaults)
  check.keys(func, options, defaults)
  local result = {}
  for key, value in pairs(defaults) do
    if value ~= check.NONE then result[key] = value end
  end
  for key, value in next, options or {} do
    if type(result[key]) == "boolean" then
      check.kind(func, key, value, "boolean")
    end
    result[key] = value
  end
  return result
end

--- Raises unless `options` is nil or a table whose keys are in `types`, with
-- values of the Lua types that it gives, joined by `|` (`any`: all). Returns
-- the options, or an empty table.
function check.types(func, options, types)
  check.keys(func, options, types)
  for key, value in next, options or {} do
    local kinds = types[key]
    local found = kinds == "any"
    for kind in kinds:gmatch("[^|]+") do
      found = found or type(value) == kind
    end
    if not found then
      fail("%s: %s must be a %s, got %s", func, key,
        (kinds:gsub("|", " or a ")), check.show(value))
    end
  end
  return options or {}
end

--- Returns the values of the parameters `names`, which are given by position
-- or, from any position on, in one table of options.
function check.arguments(func, names, ...)
  local n = select("#", ...)
  local options = n > 0 and select(n, ...)
  if type(options) ~= "table" or type(next(options)) ~= "string" then
    if n > #names then
      fail("%s: too many arguments, got %s behind the last one", func,
        check.show((select(#names + 1, ...))))
    end
    return ...
  end
  local values, known = {...}, {}
  values[n] = nil
  for i, name in ipairs(names) do known[name] = i end
  check.keys(func, options, known)
  for name, value in next, options do
    if values[known[name]] ~= nil then
      fail("%s: %s is given twice", func, name)
    end
    values[known[name]] = value
  end
  return table.unpack(values, 1, #names)
end

--- Returns a function that gives the items of `source`: a list, or itself such
-- a function (nil at the end).
function check.iterator(func, name, source)
  if type(source) == "function" then return source end
  if type(source) ~= "table" then
    fail("%s: %s must be a list or an iterator, got %s", func, name,
      check.show(source))
  end
  local i = 0
  return function()
    i = i + 1
    return source[i]
  end
end

--- Returns the length of a list whose items are all of a Lua type (`kind`; or
-- "tensor"), or nil and what is wrong with it (not a list, a key that is no
-- position, an item), to stand right behind its name: ` must be a list, got 3`,
-- `[2] must be ...`.
function check.list(value, kind)
  if type(value) ~= "table" then
    return nil, (" must be a list, got %s"):format(check.show(value))
  end
  local n = #value
  for key in pairs(value) do
    if math.type(key) ~= "integer" or key < 1 or key > n then
      return nil, (" must be a list, got the key %s"):format(check.show(key))
    end
  end
  for i = 1, n do
    local ok = type(value[i]) == kind
    if kind == "tensor" then ok = check.is_tensor(value[i]) end
    if not ok then
      return nil, ("[%d] must be a %s, got %s"):format(i, kind,
        check.show(value[i]))
    end
  end
  return n
end

return check
