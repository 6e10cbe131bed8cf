--- LayerNorm: (x - mean) / sqrt(var + eps) * weight + bias over the last
-- dimensions (Ba, Kiros and Hinton, 2016).

local check = require "heed.check"
local core = require "heed.core"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"

local layer_norm <const> = core.ops.layer_norm

local LayerNorm = Module:extend("LayerNorm")

local OPTIONS <const> = {eps = 1e-5, elementwise_affine = true, bias = true}

-- The sizes of a normalized shape, given as a number or a list; `name` is
-- that of the class, for messages.
function LayerNorm.read_shape(name, shape)
  if type(shape) ~= "table" then
    return {check.integer(name, "normalized_shape", shape, 0)}
  end
  local sizes = {}
  for i = 1, #shape do
    sizes[i] = check.integer(name, "normalized_shape", shape[i], 0)
  end
  if #sizes == 0 then
    check.fail("%s: normalized_shape must have at least one size", name)
  end
  return sizes
end

--- Makes a layer with weight 1 and bias 0.
-- @function LayerNorm
-- @param normalized_shape the last size, or a list of the last sizes
-- @tparam[opt] table options `eps`, 1e-5 by default; `elementwise_affine =
-- false`: no weight and no bias; `bias = false`: no bias
-- @usage local y = nn.LayerNorm(16)(heed.randn(2, 5, 16)) -- [.. 16]
function LayerNorm:init(normalized_shape, options)
  local o = check.options("LayerNorm", options, OPTIONS)
  self.normalized_shape = LayerNorm.read_shape("LayerNorm", normalized_shape)
  self.eps = check.number("LayerNorm", "eps", o.eps, 0)
  if not o.elementwise_affine then return end
  self.weight = parameter.ones(table.unpack(self.normalized_shape))
  if o.bias then
    self.bias = parameter.zeros(table.unpack(self.normalized_shape))
  end
end

function LayerNorm:forward(x)
  return layer_norm(x, self.normalized_shape, self.weight, self.bias,
    self.eps)
end

function LayerNorm:extra()
  return table.concat(self.normalized_shape, ", ")
end

return LayerNorm
