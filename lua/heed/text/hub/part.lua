--- Components of a tokenizer.json: tables with a `type`, which makers by type
-- turn into functions.

local check = require "heed.check"

local part = {}

local DEEPEST <const> = 8 -- Sequence in Sequence

--- Returns what a component does.
-- @tparam string kind such as "normalizer", for messages
-- @tparam table makers by type: `make(component, name, depth)`
-- @param component table; nil or null: none
-- @return what the maker gives, or nil for none
-- @raise for a type that there is no maker for
function part.make(kind, makers, component, depth)
  depth = depth or 0
  if component == nil or type(component) == "userdata" then return nil end
  local type_ <const> = type(component) == "table" and component.type
  if not makers[type_] then
    check.fail("tokenizer: %s must be one of %s, got %s", kind,
      check.names(makers), check.show(type_ or component))
  end
  if depth > DEEPEST then
    check.fail("tokenizer: %s: a Sequence in more than %d others", kind,
      DEEPEST)
  end
  return makers[type_](component, ("tokenizer: %s %s"):format(kind, type_),
    depth)
end

--- Returns a maker of a Sequence: of the functions one after the other.
-- @tparam string kind
-- @tparam table makers
-- @tparam string key where the components of a Sequence stand
function part.sequence(kind, makers, key)
  return function(component, name, depth)
    local list <const> = component[key]
    check.kind(name, key, list, "table")
    local functions = {}
    for i = 1, #list do
      functions[#functions + 1] = part.make(kind, makers, list[i], depth + 1)
    end
    return function(...)
      local value, rest = ...
      for _, f in ipairs(functions) do value = f(value, rest) end
      return value
    end
  end
end

--- Returns a string of a component; raises unless it is one.
function part.string(name, component, key, default)
  local value = component[key]
  if value == nil or type(value) == "userdata" then value = default end
  return check.kind(name, key, value, "string")
end

--- Returns a boolean of a component; raises unless it is one.
function part.boolean(name, component, key, default)
  local value = component[key]
  if value == nil or type(value) == "userdata" then value = default end
  return check.kind(name, key, value, "boolean")
end

return part
