--- Parameters: tensors that want gradients.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops
local GRAD <const> = {requires_grad = true}

local parameter = {}

-- While a network is made whose weights come from a file: see `hollow`.
local hollow = false

-- A parameter of these sizes that holds one number, of no use but its shape.
local function shell(sizes)
  local p <const> = ops.expand(ops.zeros({1}), sizes):detach()
  p.requires_grad = true
  return p
end

--- A parameter of zeros.
-- @param ... sizes
function parameter.zeros(...)
  if hollow then return shell {...} end
  return ops.zeros({...}, GRAD)
end

--- A parameter of ones.
-- @param ... sizes
function parameter.ones(...)
  if hollow then return shell {...} end
  return ops.ones({...}, GRAD)
end

--- Calls a function that makes a network, without memory for its parameters and
-- without first values: each has to be replaced before it is used.
-- @return what the function returns
function parameter.hollow(f, ...)
  local was <const> = hollow
  local _ <close> = setmetatable({}, {__close = function() hollow = was end})
  hollow = true
  return f(...)
end

--- Are parameters made without memory just now?
function parameter.is_hollow() return hollow end

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
