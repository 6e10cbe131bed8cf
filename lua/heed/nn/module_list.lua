--- ModuleList: a list of modules, to be used as its owner likes.

local check = require "heed.check"
local Module = require "heed.nn.module"
local tree = require "heed.nn.tree"

local ModuleList = Module:extend("ModuleList")

--- Makes a list; `list[i]` is its i-th module, `#list` their number.
-- @function ModuleList
-- @tparam[opt] table modules
-- @usage self.layers = nn.ModuleList {nn.Linear(4, 4), nn.Linear(4, 4)}
function ModuleList:init(modules)
  if modules == nil then return end
  check.kind("ModuleList", "modules", modules, "table")
  for i = 1, #modules do self:append(modules[i]) end
end

--- Adds a module at the end.
-- @param module
-- @return the list
function ModuleList:append(module)
  if not tree.is_module(module) then
    check.fail("ModuleList: entry %d must be a module, got %s", #self + 1,
      check.show(module))
  end
  self[#self + 1] = module
  return self
end

return ModuleList
