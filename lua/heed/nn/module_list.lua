--- ModuleList: a list of modules, to be used as its owner likes.

local check = require "heed.check"
local List = require "heed.nn.list"
local tree = require "heed.nn.tree"

local ModuleList = List:extend("ModuleList")

--- Makes a list; `list[i]` is its i-th module, `#list` their number.
-- `append`, `insert`, `remove` and `slice` change it.
-- @function ModuleList
-- @tparam[opt] table modules
-- @usage self.layers = nn.ModuleList {nn.Linear(4, 4), nn.Linear(4, 4)}
function ModuleList:init(modules)
  if modules == nil then return end
  check.kind("ModuleList", "modules", modules, "table")
  for i = 1, #modules do self:append(modules[i]) end
end

function ModuleList:check_part(module, i) -- luacheck: ignore self
  if not tree.is_module(module) then
    check.fail("ModuleList: entry %d must be a module, got %s", i,
      check.show(module))
  end
  return module
end

return ModuleList
