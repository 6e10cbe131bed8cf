--- Random tensors that are made from others.

local check = require "heed.check"
local core = require "heed.core"

local random = {}

local make <const> = core.ops

-- The shape of two operands together.
local function broadcast_shape(mean, std)
  return core.no_grad(function()
    return make.add(mean:detach() * 0, std * 0).shape
  end)
end

--- Returns normal random numbers of a given mean and deviation. With numbers
-- for both, those that `t:normal_(mean, std)` gives; with a tensor, numbers of
-- `heed.randn` times std plus mean, through which gradients pass.
-- @param mean number, or tensor that broadcasts with std
-- @param std number of at least 0, or tensor
-- @tparam[opt] table shape sizes, wanted when both are numbers, else that of
-- the tensors
-- @tparam[opt] table options `dtype` ("float32"), `requires_grad` (false),
-- `generator` (the default one)
-- @treturn tensor
-- @raise when std is negative or sizes are missing
-- @usage heed.normal(5, 0.1, {2, 3})
function random.normal(mean, std, shape, options)
  check.types("normal", options, {
    dtype = "string", requires_grad = "boolean", generator = "userdata",
  })
  options = options or {}
  if not check.is_tensor(mean) and not check.is_tensor(std) then
    check.kind("normal", "shape", shape, "table")
    local x = make.zeros(shape, {dtype = options.dtype or "float32"})
    make.normal_(x, check.number("normal", "mean", mean),
      check.number("normal", "std", std, 0), {generator = options.generator})
    x.requires_grad = options.requires_grad or false
    return x
  end
  if not check.is_tensor(mean) then
    mean = std * 0 + check.number("normal", "mean", mean)
  elseif not check.is_tensor(std) then
    check.number("normal", "std", std, 0)
  end
  return make.randn(shape or broadcast_shape(mean, std), options) * std + mean
end

return {functions = random, methods = {}}
