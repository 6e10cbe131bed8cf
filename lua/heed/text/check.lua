--- Checks of arguments, with one form of message: function, argument, what was
-- wanted, what came. Each raises at the line that called the checked function.

local check = {}

--- Stands for "no default" in the defaults of `check.options`.
check.NONE = setmetatable({}, {__name = "none"})

-- 1 is fail, 2 the check, 3 the checked function, 4 its caller.
local CALLER <const> = 4

local function fail(format, ...)
  error(format:format(...), CALLER)
end

-- Longest text in a message, in bytes.
local SHOWN <const> = 60

local function escape(char)
  return ("\\x%02X"):format(char:byte())
end

--- How a value reads in a message: text in quotes, cut when long and with what
-- does not print escaped; whole numbers as such; of other values the type.
function check.show(value)
  local kind = type(value)
  if kind == "string" then
    if #value > SHOWN then
      value = value:sub(1, (utf8.offset(value, 0, SHOWN + 1)) - 1) .. "..."
    end
    local odd = utf8.len(value) and "[\0-\31\127]" or "[^\32-\126]"
    return '"' .. value:gsub(odd, escape) .. '"'
  end
  if kind == "number" then return tostring(math.tointeger(value) or value) end
  if kind == "boolean" then return tostring(value) end
  return kind == "nil" and "nil" or "a " .. kind
end

--- Raises unless `value` is of a type, such as "string" or "table".
function check.kind(func, name, value, kind)
  if type(value) ~= kind then
    fail("%s: %s must be a %s, got %s", func, name, kind, check.show(value))
  end
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

--- Returns the options with what they leave out taken from `defaults`, whose
-- keys are all that there are (`check.NONE`: nil). Raises on an unknown key.
function check.options(func, options, defaults)
  local result = {}
  for key, value in pairs(defaults) do
    if value ~= check.NONE then result[key] = value end
  end
  if options == nil then return result end
  if type(options) ~= "table" then
    fail("%s: options must be a table, got %s", func, check.show(options))
  end
  for key, value in pairs(options) do
    if defaults[key] == nil then
      local known = {}
      for name in pairs(defaults) do known[#known + 1] = name end
      table.sort(known)
      fail("%s: unknown option %s; known: %s", func, check.show(key),
        table.concat(known, ", "))
    end
    result[key] = value
  end
  return result
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

--- Returns the length of a list whose items are all of type `kind`, or nil and
-- what is wrong with it (not a list, a key that is no position, an item), to
-- stand right behind its name: ` must be a list, got 3`, `[2] must be ...`.
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
    if type(value[i]) ~= kind then
      return nil, ("[%d] must be a %s, got %s"):format(i, kind,
        check.show(value[i]))
    end
  end
  return n
end

return check
