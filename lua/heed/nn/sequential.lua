--- Sequential: modules (or functions), each fed with what the one before it
-- gave.

local check = require "heed.check"
local List = require "heed.nn.list"
local tree = require "heed.nn.tree"

local Sequential = List:extend("Sequential")

--- Makes a chain; `chain[i]` is its i-th part, `#chain` their number.
-- `append`, `insert`, `remove` and `slice` change it, as those of `ModuleList`.
-- @function Sequential
-- @param ... modules or functions of one argument, or one list of them
-- @usage local net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
function Sequential:init(...)
  local parts = {...}
  local first = parts[1]
  if type(first) == "table" and getmetatable(first) == nil then
    parts = first
  end
  for i = 1, #parts do self:append(parts[i]) end
end

function Sequential:check_part(part, i) -- luacheck: ignore self
  if type(part) ~= "function" and not tree.is_module(part) then
    check.fail("Sequential: part %d must be a module or a function, got %s",
      i, check.show(part))
  end
  return part
end

function Sequential:forward(x)
  for i = 1, #self do x = self[i](x) end
  return x
end

return Sequential
