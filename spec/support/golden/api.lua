--- api: looks up what a case needs by its name in heed, such as
-- `nn.Linear` or `functional.softmax`. Cases whose part of heed does not exist
-- yet are told from those that fail.

local heed = require "heed"

local api = {}

-- What is raised for a missing part.
local Missing = {
  __tostring = function(self) return self.name .. " is missing" end,
}

local function find(name)
  local value = heed
  if name:find("^functional%.") then name = "nn." .. name end
  for part in name:gmatch("[^.]+") do
    local ok, child = pcall(function() return value[part] end)
    value = ok and child or nil
    if value == nil then return nil end
  end
  return value
end

--- The part of heed called `name`; raises a value that `api.missing` knows
-- when there is none.
function api.need(name)
  local value = find(name)
  if value == nil then error(setmetatable({name = name}, Missing), 0) end
  return value
end

--- Raises as `need` does, for what has another name.
function api.lack(name) error(setmetatable({name = name}, Missing), 0) end

--- The name of the missing part, when `problem` says that there is one.
function api.missing(problem)
  return getmetatable(problem) == Missing and problem.name or nil
end

--- `api.call("functional.softmax", x, -1)`
function api.call(name, ...) return api.need(name)(...) end

return api
