--- The series of a chart: read from lists, tensors and histories of training.
local check = require "heed.check"
local matrix = require "heed.plot.matrix"

local series = {}

local known <const> = {
  x = "any", y = "any", label = "string|number", points = "boolean",
}

--- Returns a list of floats.
-- @tparam string op what the user called, for messages
-- @tparam string name of the argument
-- @param value a list of numbers or booleans, or a tensor `[n]`
-- @treturn {number,...} a copy; NaN stays NaN
-- @raise for anything else
function series.numbers(op, name, value)
  local list = matrix.plain(value)
  if type(list) ~= "table" or check.is_tensor(value) and value.ndim ~= 1 then
    check.fail("%s: %s must be a list of numbers or a tensor [n], got %s", op,
      name, check.show(value))
  end
  local out = {}
  for i = 1, #list do
    local number = list[i]
    if number == true then number = 1.0 end
    if number == false then number = 0.0 end
    if type(number) ~= "number" then
      check.fail("%s: %s[%d] must be a number, got %s", op, name, i,
        check.show(number))
    end
    out[i] = number + 0.0
  end
  return out
end

-- One series: `x`, `y` (lists of one length), `label`, `points`.
local function read_one(op, name, value)
  local is_table = type(value) == "table" and not check.is_tensor(value)
  local fields = is_table and type(next(value)) == "string"
  if not fields then value = {y = value} end
  for key, field in next, value do
    local kinds = known[key]
    if not kinds then
      check.fail("%s: %s has the unknown key %s; known: %s", op, name,
        check.show(key), check.names(known))
    end
    if kinds ~= "any" and not kinds:find(type(field), 1, true) then
      check.fail("%s: %s.%s must be a %s, got %s", op, name, key,
        (kinds:gsub("|", " or a ")), check.show(field))
    end
  end
  local one = {points = value.points or false,
    label = value.label ~= nil and tostring(value.label) or ""}
  one.y = series.numbers(op, fields and name .. ".y" or name, value.y)
  if value.x ~= nil then
    one.x = series.numbers(op, name .. ".x", value.x)
    if #one.x ~= #one.y then
      check.fail("%s: %s.x must have %d values as y, got %d", op, name,
        #one.y, #one.x)
    end
  else
    one.x = {}
    for i = 1, #one.y do one.x[i] = i + 0.0 end
  end
  return one
end

-- Whether this is a list of the records that training keeps, one an epoch.
local function is_history(value)
  local first = type(value) == "table" and not check.is_tensor(value)
    and value[1]
  return type(first) == "table" and type(first.epoch) == "number"
    and first.y == nil
end

-- The number of a record at a key as `loss` or `valid.loss`.
local function at(record, key)
  local inner = key:match("^valid%.(.+)$")
  local from = record
  if inner then from = record.valid or {} end
  return from[inner or key]
end

-- Raises unless all records are what the first one is.
local function check_history(op, history)
  for i, record in ipairs(history) do
    if type(record) ~= "table" then
      check.fail("%s: series[%d] of the history must be a table, got %s", op,
        i, check.show(record))
    end
    if type(record.epoch) ~= "number" then
      check.fail("%s: series[%d].epoch of the history must be a number, got %s",
        op, i, check.show(record.epoch))
    end
    local valid = record.valid
    if valid ~= nil and type(valid) ~= "table" then
      check.fail("%s: series[%d].valid of the history must be a table, got %s",
        op, i, check.show(valid))
    end
  end
end

local function known_keys(history)
  local names = {}
  for _, record in ipairs(history) do
    for name, value in pairs(record) do
      if type(value) == "number" then names[name] = true end
    end
    for name, value in pairs(record.valid or {}) do
      if type(value) == "number" then names["valid." .. name] = true end
    end
  end
  return names
end

-- The series of a history: one for each key, `epoch` along x.
local function read_history(op, history, keys, defaults)
  check_history(op, history)
  local names = known_keys(history)
  if keys == nil then
    keys = {"loss", names["valid.loss"] and "valid.loss"}
  end
  local list = {}
  for k, key in ipairs(keys) do
    if not names[key] then
      check.fail("%s: keys[%d] %s is in no record of the history; known: %s",
        op, k, check.show(key), check.names(names))
    end
    local one = {x = {}, y = {}, label = key:gsub("%.", " ", 1)}
    for i, record in ipairs(history) do
      local number = at(record, key)
      one.x[i] = record.epoch + 0.0
      one.y[i] = type(number) == "number" and number + 0.0 or 0 / 0
    end
    list[k] = one
  end
  defaults.xlabel = "epoch"
  if #list == 1 then
    defaults.ylabel, list[1].label = list[1].label, ""
  end
  return list
end

--- Returns the series of a chart: `x`, `y`, `label` ("" for none), `points`.
-- @tparam string op what the user called, for messages
-- @param value see `plot.lines`
-- @tparam ?{string,...} keys of a history
-- @treturn {table,...}
-- @treturn table what a history says of the axes: `xlabel`, `ylabel`
-- @raise for what is no series
function series.read(op, value, keys)
  local defaults = {}
  if is_history(value) then
    return read_history(op, value, keys, defaults), defaults
  end
  if keys ~= nil then
    check.fail("%s: keys needs the history of a training", op)
  end
  local list = check.is_tensor(value) and value.ndim == 2
    and value:totable() or value
  local is_list = type(list) == "table" and not check.is_tensor(list)
    and (type(list[1]) == "table" or check.is_tensor(list[1]))
  if not is_list then return {read_one(op, "series", value)}, defaults end
  local out = {}
  for i = 1, #list do
    out[i] = read_one(op, ("series[%d]"):format(i), list[i])
  end
  return out, defaults
end

return series
