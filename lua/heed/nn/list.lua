--- List: what Sequential, ModuleList and ParameterList share. Its parts are
-- fields with the keys 1 .. n; a negative key counts from the end.

local check = require "heed.check"
local Module = require "heed.nn.module"

local List = Module:extend("List")

-- The `__index` of a class of lists.
function List.make_index(class)
  return function(self, key)
    if math.type(key) == "integer" and key < 0 then
      return rawget(self, #self + 1 + key)
    end
    return class[key]
  end
end
List.__index = List.make_index(List)

--- Goes through positions and parts, as `ipairs`.
function List.__pairs(self) return ipairs(self) end

-- Returns a part as it is to be kept, or raises. Every class has its own.
-- @param part what is put into the list
-- @tparam integer i its position
function List:check_part(part, i) -- luacheck: ignore self i
  return part
end

--- Adds a part at the end.
-- @param part a module (a parameter, in a list of these)
-- @return the list
-- @usage local net = nn.Sequential(nn.Linear(2, 2)):append(nn.ReLU())
function List:append(part)
  local i = #self + 1
  self[i] = self:check_part(part, i)
  return self
end

-- A position of a list of n, which may count from its end.
local function position(self, func, i, n)
  local at = math.type(i) and math.tointeger(i)
  if at and at < 0 then at = n + 1 + at end
  if not at or at < 1 or at > n then
    if n == 0 then check.fail("%s: the %s is empty", func, self.__name) end
    check.fail("%s: i must be 1..%d or -%d..-1, got %s", func, n, n,
      check.show(i))
  end
  return at
end

--- Puts a part in front of the one at a position; at `#list + 1`, or -1, at the
-- end.
-- @tparam integer i position
-- @param part a module (a parameter, in a list of these)
-- @return the list
-- @raise when there is no such position
-- @usage local net = nn.Sequential(nn.Linear(2, 2)):insert(1, nn.ReLU())
function List:insert(i, part)
  local at = position(self, "insert", i, #self + 1)
  table.insert(self, at, self:check_part(part, at))
  return self
end

--- Takes a part out; those behind it move up.
-- @tparam[opt=-1] integer i position
-- @return the part
-- @raise when there is no such position
-- @usage local last = nn.Sequential(nn.Linear(2, 2), nn.ReLU()):remove()
function List:remove(i)
  if i == nil then i = -1 end
  return table.remove(self, position(self, "remove", i, #self))
end

--- The parts from one position to another in a list of their own; the parts
-- are the same.
-- @tparam integer first position
-- @tparam[opt=-1] integer last position
-- @return list of the same class
-- @usage local head = nn.Sequential(nn.Linear(2, 2), nn.ReLU()):slice(1, 1)
function List:slice(first, last)
  local n = #self
  local from = position(self, "slice", first, n)
  local to = position(self, "slice", last == nil and -1 or last, n)
  return getmetatable(self)({table.unpack(self, from, to)})
end

return List
