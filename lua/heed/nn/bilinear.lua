--- Bilinear: y_o = a W_o b + bias_o.

local check = require "heed.check"
local functional = require "heed.nn.functional.bilinear"
local initialise = require "heed.nn.initialise"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"

local Bilinear = Module:extend("Bilinear")

local OPTIONS <const> = {bias = true, generator = check.NONE}

--- Makes a layer; weight [out in1 in2] and bias [out] are uniform in
-- +-1 / sqrt(in1), as in PyTorch.
-- @function Bilinear
-- @tparam integer in1_features last size of the first input
-- @tparam integer in2_features last size of the second input
-- @tparam integer out_features last size of the output
-- @tparam[opt] table options `bias`, true by default; `generator`
-- @usage local a, b = heed.randn(2, 4), heed.randn(2, 5)
-- local y = nn.Bilinear(4, 5, 3)(a, b) -- [2 3]
function Bilinear:init(in1_features, in2_features, out_features, options)
  self.in1_features = check.integer("Bilinear", "in1_features", in1_features,
    1)
  self.in2_features = check.integer("Bilinear", "in2_features", in2_features,
    0)
  self.out_features = check.integer("Bilinear", "out_features", out_features,
    0)
  local o = check.options("Bilinear", options, OPTIONS)
  local bound = 1 / in1_features ^ 0.5
  self.weight = parameter.zeros(out_features, in1_features, in2_features)
  initialise.uniform_(self.weight, -bound, bound, {generator = o.generator})
  if o.bias then
    self.bias = parameter.zeros(out_features)
    initialise.uniform_(self.bias, -bound, bound, {generator = o.generator})
  end
end

function Bilinear:forward(a, b)
  return functional.bilinear(a, b, self.weight, self.bias)
end

function Bilinear:extra()
  return ("%d, %d, %d"):format(self.in1_features, self.in2_features,
    self.out_features)
end

return Bilinear
