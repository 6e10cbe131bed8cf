--- RMSNorm: x / sqrt(mean(x^2) + eps) * weight over the last dimensions
-- (Zhang and Sennrich, 2019).

local check = require "heed.check"
local core = require "heed.core"
local LayerNorm = require "heed.nn.layer_norm"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"

local rms_norm <const> = core.ops.rms_norm

local RMSNorm = Module:extend("RMSNorm")

local OPTIONS <const> = {eps = check.NONE, elementwise_affine = true}

-- The distance from 1 to the next number.
local EPSILON <const> = {float64 = 2.0 ^ -52}

--- Makes a layer with weight 1.
-- @function RMSNorm
-- @param normalized_shape the last size, or a list of the last sizes
-- @tparam[opt] table options `eps`, by default that of the dtype of x, as in
-- PyTorch (2^-23 for float32); `elementwise_affine = false`: no weight
-- @usage local y = nn.RMSNorm(16)(heed.randn(2, 5, 16)) -- [.. 16]
function RMSNorm:init(normalized_shape, options)
  local o = check.options("RMSNorm", options, OPTIONS)
  self.normalized_shape = LayerNorm.read_shape("RMSNorm", normalized_shape)
  if o.eps ~= nil then self.eps = check.number("RMSNorm", "eps", o.eps, 0) end
  if o.elementwise_affine then
    self.weight = parameter.ones(table.unpack(self.normalized_shape))
  end
end

function RMSNorm:forward(x)
  check.tensor("rms_norm", "x", x)
  return rms_norm(x, self.normalized_shape, self.weight,
    self.eps or EPSILON[x.dtype] or 2.0 ^ -23)
end

function RMSNorm:extra()
  return table.concat(self.normalized_shape, ", ")
end

return RMSNorm
