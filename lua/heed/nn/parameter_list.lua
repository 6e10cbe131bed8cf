--- ParameterList: a list of parameters, to be used as its owner likes.

local check = require "heed.check"
local List = require "heed.nn.list"
local parameter = require "heed.nn.parameter"

local ParameterList = List:extend("ParameterList")

--- Makes a list; `list[i]` is its i-th parameter, `#list` their number.
-- `append`, `insert`, `remove` and `slice` change it, as those of `ModuleList`.
-- @function ParameterList
-- @tparam[opt] table tensors floats; one that is no parameter yet becomes one,
-- as by `nn.Parameter`
-- @usage self.scales = nn.ParameterList {heed.ones(4), heed.ones(8)}
function ParameterList:init(tensors)
  if tensors == nil then return end
  check.kind("ParameterList", "tensors", tensors, "table")
  for i = 1, #tensors do self:append(tensors[i]) end
end

function ParameterList:check_part(t, i) -- luacheck: ignore self
  if not check.is_float(t) then
    check.fail("ParameterList: entry %d must be a float tensor, got %s", i,
      check.show(t))
  end
  if t.requires_grad and t.is_leaf then return t end
  return parameter.of(t)
end

return ParameterList
