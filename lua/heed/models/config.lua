--- The config.json of a model: its sizes and settings, by the names that the
-- hub's models have.

local check = require "heed.check"

local config = {}

-- Longest file that is read: a config is small.
local MAX_BYTES <const> = 10000000

--- Returns the object of a JSON file, or nil when there is no such file.
-- @tparam string func the function that messages name
-- @tparam string path
-- @treturn ?table
-- @raise when the file is no JSON object
function config.read_json(func, path)
  local file <const> = io.open(path, "rb")
  if not file then return nil end
  local text <const> = file:read(MAX_BYTES + 1) -- nil of a folder
  file:close()
  if not text or #text > MAX_BYTES then
    check.fail("%s: %s: must be a JSON file of at most %d bytes", func, path,
      MAX_BYTES)
  end
  local value <const>, reason = require "cjson.safe".decode(text)
  if type(value) ~= "table" then
    check.fail("%s: %s: must be a JSON object, got %s", func, path,
      value == nil and reason or check.show(value))
  end
  return value
end

--- Stands in the settings of `config.read` for an integer that must be there.
config.INTEGER = setmetatable({}, {__name = "an integer"})

local function check_value(name, key, value, default)
  if default == config.INTEGER or math.type(default) == "integer" then
    return check.integer(name, key, value, 0)
  elseif math.type(default) == "float" then
    return check.number(name, key, value) + 0.0
  elseif default == check.NONE then
    return value
  end
  return check.kind(name, key, value, type(default))
end

--- Returns those settings that a family of models knows.
-- @tparam string name of the family, for messages
-- @tparam table given what config.json holds; null is as good as absent
-- @tparam table settings of each key the default, whose type is that of the
-- value; `config.INTEGER`, or `check.NONE` for any value
-- @treturn table
-- @raise when a setting is missing or of the wrong type
function config.read(name, given, settings)
  check.kind(name, "config", given, "table")
  local result = {}
  for key, default in pairs(settings) do
    local value = given[key]
    if value == nil or type(value) == "userdata" then -- null
      if default == config.INTEGER then
        check.fail("%s: config has no %s", name, key)
      end
      value = default
      if value == check.NONE then value = nil end
    else
      value = check_value(name .. ": config", key, value, default)
    end
    result[key] = value
  end
  return result
end

--- Raises unless a setting has one of the values that are known.
function config.check_one_of(name, c, key, known)
  if known[c[key]] == nil then
    local names <const> = {} -- of values that may be booleans
    for value in pairs(known) do names[tostring(value)] = true end
    check.fail("%s: config: %s must be one of %s, got %s", name, key,
      check.names(names), check.show(c[key]))
  end
  return known[c[key]]
end

--- Raises unless one size is a multiple of another.
function config.check_multiple(name, c, key, of)
  if c[of] == 0 or c[key] % c[of] ~= 0 then
    check.fail("%s: config: %s must be a multiple of %s, got %d and %d", name,
      key, of, c[key], c[of])
  end
  return c[key] // c[of]
end

return config
