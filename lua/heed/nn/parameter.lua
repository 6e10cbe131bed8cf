--- Parameters: tensors that want gradients.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops
local GRAD <const> = {requires_grad = true}

local parameter = {}

--- A parameter of zeros.
-- @param ... sizes
function parameter.zeros(...) return ops.zeros({...}, GRAD) end

--- A parameter of ones.
-- @param ... sizes
function parameter.ones(...) return ops.ones({...}, GRAD) end

--- Makes a parameter of a tensor: it shares the memory, is cut off from what
-- made it, and wants gradients.
-- @param t float tensor
-- @return tensor
-- @usage self.scale = nn.Parameter(heed.ones(8))
function parameter.of(t)
  local p = check.tensor("Parameter", "t", t):detach()
  p.requires_grad = true
  return p
end

return parameter
