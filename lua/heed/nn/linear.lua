--- Linear: y = x W^T + b over the last dimension.

local check = require "heed.check"
local core = require "heed.core"
local initialise = require "heed.nn.initialise"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"

local linear <const> = core.ops.linear

local Linear = Module:extend("Linear")

local OPTIONS <const> = {bias = true, generator = check.NONE}

--- Makes a layer; weight [out in] and bias [out] are uniform in
-- +-1 / sqrt(in), as in PyTorch.
-- @function Linear
-- @tparam integer in_features last size of the input
-- @tparam integer out_features last size of the output
-- @tparam[opt] table options `bias`, true by default; `generator`
-- @usage local layer = nn.Linear(20, 8, {bias = false})
-- local y = layer(heed.randn(2, 20)) -- [.. 20]: [.. 8]
function Linear:init(in_features, out_features, options)
  self.in_features = check.integer("Linear", "in_features", in_features, 0)
  self.out_features = check.integer("Linear", "out_features", out_features, 0)
  local o = check.options("Linear", options, OPTIONS)
  self.weight = parameter.zeros(out_features, in_features)
  initialise.kaiming_uniform_(self.weight,
    {a = 5.0 ^ 0.5, generator = o.generator})
  if o.bias then
    self.bias = parameter.zeros(out_features)
    local bound = in_features > 0 and 1 / in_features ^ 0.5 or 0.0
    initialise.uniform_(self.bias, -bound, bound, {generator = o.generator})
  end
end

function Linear:forward(x)
  return linear(x, self.weight, self.bias)
end

function Linear:extra()
  return ("%d, %d"):format(self.in_features, self.out_features)
end

return Linear
