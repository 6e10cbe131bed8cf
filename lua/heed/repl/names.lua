--- What names stand for, without running any code of the user's: fields are
-- read as they lie in tables, through `__index` tables, and through functions
-- only where these are heed's own and the key is a name.

local check = require "heed.check"
local core = require "heed.core"

local names = {}

local DEEP <const> = 20     -- tables behind tables
local MANY <const> = 20000  -- keys of a table that are looked at

local FIELDS <const> = {"shape", "dtype", "ndim", "requires_grad", "is_leaf",
  "grad", "grad_fn"}

local function meta_index(value)
  local meta <const> = debug.getmetatable(value)
  if type(meta) ~= "table" then return nil end
  return rawget(meta, "__index"), meta
end

local function is_own(f)
  local info <const> = debug.getinfo(f, "S")
  return info.what ~= "C" and check.is_own(info.source)
end

--- Returns a field of a value, or nil.
function names.field(value, key)
  for _ = 1, DEEP do
    if type(value) == "table" then
      local found <const> = rawget(value, key)
      if found ~= nil then return found end
    end
    local index <const>, meta <const> = meta_index(value)
    -- a number may be the place of something that is yet to be computed
    if type(key) == "string" and (meta == core.metatable
        or type(index) == "function" and is_own(index)) then
      local ok, found = pcall(function() return value[key] end)
      return ok and found or nil
    end
    if type(index) ~= "table" then return nil end
    value = index
  end
  return nil
end

--- Can the value be called?
function names.is_callable(value)
  if type(value) == "function" then return true end
  local meta <const> = debug.getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__call") ~= nil
end

-- Adds the names of fields that lie in a table.
local function add_keys(found, t)
  local count = 0
  for key, value in next, t do
    count = count + 1
    if count > MANY then break end
    if type(key) == "string" and found[key] == nil then found[key] = value end
  end
end

--- Returns the fields of a value that have names, by name. Of a tensor, its
-- methods if `wants_methods`, else its fields; of anything else both.
function names.fields(value, wants_methods)
  local found = {}
  if check.is_tensor(value) then
    if wants_methods then return core.methods end
    for _, name in ipairs(FIELDS) do found[name] = true end
    return found
  end
  for _ = 1, DEEP do
    if type(value) == "table" then add_keys(found, value) end
    local index <const>, meta <const> = meta_index(value)
    if type(index) == "table" then
      value = index
    elseif type(index) == "function" and is_own(index) then
      if meta.parts then -- of heed, which load when they are first used
        add_keys(found, meta.parts)
        break
      end
      value = meta -- a class of heed's, which looks beyond its table
    else
      break
    end
  end
  return found
end

return names
