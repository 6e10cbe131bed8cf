--- ModuleDict: modules by name, in the order in which they were set.

local check = require "heed.check"
local Module = require "heed.nn.module"
local tree = require "heed.nn.tree"

local ModuleDict = Module:extend("ModuleDict")

local function check_entry(self, key, module)
  if type(key) ~= "string" then
    check.fail("ModuleDict: a key must be a string, got %s", check.show(key))
  end
  if not tree.is_module(module) then
    check.fail("ModuleDict: %s must be a module, got %s", key,
      check.show(module))
  end
  if key == "" or key:find(".", 1, true) then
    check.fail("ModuleDict: a key must hold a letter and no dot, got %s",
      check.show(key))
  end
  if key == "training" or getmetatable(self)[key] ~= nil then
    check.fail("ModuleDict: the key %s is taken by the dict itself",
      check.show(key))
  end
end

-- {{name, module}, ...} as it is, {name = module, ...} by name.
local function in_order(modules)
  if #modules > 0 then return modules end
  local list = {}
  for key, module in pairs(modules) do list[#list + 1] = {key, module} end
  table.sort(list, function(a, b) return tostring(a[1]) < tostring(b[1]) end)
  return list
end

--- Makes a dict. `dict[name]` is a module, `dict[name] = module` sets it, nil
-- takes it out; `pairs(dict)` goes through names and modules in the order in
-- which the names were first set, `#dict` is their number.
-- @function ModuleDict
-- @tparam[opt] table modules by name, taken in the order of the names; or a
-- list of `{name, module}`, taken in its order
-- @raise for a name that is empty, has a dot or is a method's
-- @usage self.heads = nn.ModuleDict {mask = nn.Linear(8, 4)}
-- local y = self.heads.mask(heed.randn(2, 8))
function ModuleDict:init(modules)
  if modules == nil then return end
  check.kind("ModuleDict", "modules", modules, "table")
  for i, entry in ipairs(in_order(modules)) do
    check.kind("ModuleDict", ("modules[%d]"):format(i), entry, "table")
    local key, module = entry[1], entry[2]
    check_entry(self, key, module)
    self[key] = module
  end
end

function ModuleDict.__newindex(self, key, module)
  if module == nil then return end -- it was not there
  check_entry(self, key, module)
  tree.set(self, key, module)
end

function ModuleDict.__pairs(self) return self:named_children() end

function ModuleDict.__len(self) return #tree.children(self) end

return ModuleDict
