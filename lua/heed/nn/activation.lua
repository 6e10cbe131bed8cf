--- Activations as modules: functions of each number, or along a dimension.

local check = require "heed.check"
local core = require "heed.core"
local F = require "heed.nn.functional"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"

local ops <const> = core.ops

local activation = {}

-- A module for an op of one tensor.
local function plain(name, op)
  local class = Module:extend(name)
  function class:forward(x) return op(x) end -- luacheck: ignore self
  activation[name] = class
end

--- x where it is positive, else 0.
-- @function ReLU
-- @usage local y = nn.ReLU()(heed.tensor {-1.0, 2.0}) --> 0 2
plain("ReLU", ops.relu)

--- x held within 0 .. 6; see `F.relu6`.
-- @function ReLU6
-- @usage local y = nn.ReLU6()(heed.tensor {-1.0, 2.0}) --> 0 2
plain("ReLU6", F.relu6)

--- x sigmoid(x), also called swish; see `F.silu`.
-- @function SiLU
-- @usage local y = nn.SiLU()(heed.tensor {-1.0, 2.0}) --> -0.2689 1.7616
plain("SiLU", ops.silu)

--- x tanh(softplus(x)) (Misra, 2019); see `F.mish`.
-- @function Mish
-- @usage local y = nn.Mish()(heed.tensor {-1.0, 2.0}) --> -0.3034 1.9440
plain("Mish", ops.mish)

--- scale x where x is positive, else scale alpha (e^x - 1), so that mean and
-- variance stay (Klambauer et al., 2017); see `F.selu`.
-- @function SELU
-- @usage local y = nn.SELU()(heed.tensor {-1.0, 2.0}) --> -1.1113 2.1014
plain("SELU", F.selu)

--- The hyperbolic tangent.
-- @function Tanh
-- @usage local y = nn.Tanh()(heed.tensor {-1.0, 2.0}) --> -0.7616 0.9640
plain("Tanh", ops.tanh)

--- x - tanh(x).
-- @function Tanhshrink
-- @usage local y = nn.Tanhshrink()(heed.tensor {-1.0, 2.0}) --> -0.2384 1.0360
plain("Tanhshrink", F.tanhshrink)

--- The logistic function 1 / (1 + e^-x).
-- @function Sigmoid
-- @usage local y = nn.Sigmoid()(heed.tensor {-1.0, 2.0}) --> 0.2689 0.8808
plain("Sigmoid", ops.sigmoid)

--- log(sigmoid(x)) = -log(1 + e^-x); see `F.logsigmoid`.
-- @function LogSigmoid
-- @usage local y = nn.LogSigmoid()(heed.tensor {-1.0, 2.0}) --> -1.3133 -0.1269
plain("LogSigmoid", ops.logsigmoid)

--- (x + 3) / 6 held within 0 .. 1: sigmoid in straight pieces.
-- @function Hardsigmoid
-- @usage local y = nn.Hardsigmoid()(heed.tensor {-1.0, 2.0}) --> 0.3333 0.8333
plain("Hardsigmoid", ops.hardsigmoid)

--- x hardsigmoid(x): silu in straight pieces (Howard et al., 2019).
-- @function Hardswish
-- @usage local y = nn.Hardswish()(heed.tensor {-1.0, 2.0}) --> -0.3333 1.6667
plain("Hardswish", ops.hardswish)

--- x / (1 + |x|).
-- @function Softsign
-- @usage local y = nn.Softsign()(heed.tensor {-1.0, 2.0}) --> -0.5 0.6667
plain("Softsign", F.softsign)

--- x itself: what to put where a layer is wanted and none needed.
-- @function Identity
-- @usage local y = nn.Identity()(heed.tensor {-1.0, 2.0}) --> -1 2
plain("Identity", function(x) return x end)

-- A module for an op of one tensor and numbers: {name, default}, in order, as
-- it is called with them by position or in one table. A default of nil: must
-- be given.
local function tuned(name, op, ...)
  local class <const>, settings <const> = Module:extend(name), {...}
  local names <const> = {}
  for i, setting in ipairs(settings) do names[i] = setting[1] end

  function class:init(...)
    local given = table.pack(check.arguments(name, names, ...))
    for i, setting in ipairs(settings) do
      local value = given[i]
      if value == nil then value = setting[2] end
      self[setting[1]] = check.number(name, setting[1], value)
    end
  end

  local a <const>, b <const> = names[1], names[2]
  function class:forward(x)
    if b then return op(x, self[a], self[b]) end
    return op(x, self[a])
  end

  function class:extra()
    local parts = {}
    for i, key in ipairs(names) do parts[i] = ("%.14g"):format(self[key]) end
    return table.concat(parts, ", ")
  end

  activation[name] = class
end

--- x where it is positive, else x times a slope. As the other activations with
-- settings, it takes them by position or by name in a table.
-- @function LeakyReLU
-- @tparam[opt=0.01] number negative_slope
-- @usage local y = nn.LeakyReLU(0.5)(heed.tensor {-1.0, 2.0}) --> -0.5 2
tuned("LeakyReLU", ops.leaky_relu, {"negative_slope", 0.01})

--- x where it is positive, else alpha (e^x - 1) (Clevert et al., 2015).
-- @function ELU
-- @tparam[opt=1] number alpha
-- @usage local y = nn.ELU(0.5)(heed.tensor {-1.0, 2.0}) --> -0.3161 2
tuned("ELU", ops.elu, {"alpha", 1.0})

--- x where it is positive, else alpha (e^(x / alpha) - 1) (Barron, 2017).
-- @function CELU
-- @tparam[opt=1] number alpha not 0
-- @usage local y = nn.CELU(2)(heed.tensor {-1.0, 2.0}) --> -0.7869 2
tuned("CELU", F.celu, {"alpha", 1.0})

--- log(1 + e^(beta x)) / beta, a smooth relu; x itself where beta x is above
-- the threshold.
-- @function Softplus
-- @tparam[opt=1] number beta
-- @tparam[opt=20] number threshold
-- @usage local y = nn.Softplus()(heed.tensor {-1.0, 2.0}) --> 0.3133 2.1269
tuned("Softplus", ops.softplus, {"beta", 1.0}, {"threshold", 20.0})

--- x held within min_val .. max_val.
-- @function Hardtanh
-- @tparam[opt=-1] number min_val
-- @tparam[opt=1] number max_val
-- @usage local y = nn.Hardtanh(-3, 1)(heed.tensor {-1.0, 2.0}) --> -1 1
tuned("Hardtanh", ops.hardtanh, {"min_val", -1.0}, {"max_val", 1.0})

--- x where |x| > lambd, else 0.
-- @function Hardshrink
-- @tparam[opt=0.5] number lambd
-- @usage local y = nn.Hardshrink(1.5)(heed.tensor {-1.0, 2.0}) --> 0 2
tuned("Hardshrink", ops.hardshrink, {"lambd", 0.5})

--- x moved towards 0 by lambd, and 0 where |x| <= lambd.
-- @function Softshrink
-- @tparam[opt=0.5] number lambd
-- @usage local y = nn.Softshrink()(heed.tensor {-1.0, 2.0}) --> -0.5 1.5
tuned("Softshrink", ops.softshrink, {"lambd", 0.5})

--- x where it is above the threshold, else the value.
-- @function Threshold
-- @tparam number threshold
-- @tparam number value
-- @usage local y = nn.Threshold(0, -3)(heed.tensor {-1.0, 2.0}) --> -3 2
tuned("Threshold", ops.threshold, {"threshold"}, {"value"})

--- x times the part of the normal distribution below x.
-- @function GELU
-- @tparam[opt] table options `approximate`, `"none"` (default) or `"tanh"`
-- @raise when `approximate` is neither of the two
-- @usage local y = nn.GELU {approximate = "tanh"}(heed.tensor {1.0}) --> 0.8412
local GELU = Module:extend("GELU")
activation.GELU = GELU

function GELU:init(options)
  local o = check.options("GELU", options, {approximate = "none"})
  if o.approximate ~= "none" and o.approximate ~= "tanh" then
    check.fail('GELU: approximate must be "none" or "tanh", got %s',
      check.show(o.approximate))
  end
  self.approximate = o.approximate
end

function GELU:forward(x) return ops.gelu(x, self.approximate) end

-- A module for an op along a dimension, the last by default.
local function along(name, op)
  local class = Module:extend(name)
  function class:init(dim)
    if dim == nil then dim = -1 end
    self.dim = check.integer(name, "dim", dim)
  end
  function class:forward(x) return op(x, self.dim) end
  function class:extra() return ("%d"):format(self.dim) end
  activation[name] = class
end

--- The softmax along a dimension.
-- @function Softmax
-- @tparam[opt=-1] integer dim
-- @usage local y = nn.Softmax()(heed.zeros(4)) --> 0.25 0.25 0.25 0.25
along("Softmax", ops.softmax)

--- The softmax of -x along a dimension.
-- @function Softmin
-- @tparam[opt=-1] integer dim
-- @usage local y = nn.Softmin()(heed.tensor {0.0, 1.0}) --> 0.7311 0.2689
along("Softmin", F.softmin)

--- The logarithm of the softmax along a dimension.
-- @function LogSoftmax
-- @tparam[opt=-1] integer dim
-- @usage local y = nn.LogSoftmax()(heed.zeros(2)) --> -0.6931 -0.6931
along("LogSoftmax", ops.log_softmax)

--- The first half of x along a dimension times the sigmoid of the second half
-- (Dauphin et al., 2017).
-- @function GLU
-- @tparam[opt=-1] integer dim
-- @usage local y = nn.GLU()(heed.tensor {2.0, 0.0}) --> 1
along("GLU", F.glu)

--- The softmax over the channels of images.
-- @function Softmax2d
-- @usage local y = nn.Softmax2d()(heed.randn(2, 3, 4, 4)) -- [B C H W]
plain("Softmax2d", function(x)
  check.tensor("Softmax2d", "x", x)
  if x.ndim ~= 3 and x.ndim ~= 4 then
    check.fail("Softmax2d: x must be [B C H W] or [C H W], got %s",
      check.show(x))
  end
  return ops.softmax(x, -3)
end)

--- x where it is positive, else x times a learned weight.
-- @function PReLU
-- @tparam[opt=1] integer num_parameters 1, or one weight for each channel
-- @tparam[opt] table options `init`: first value of the weight, 0.25
-- @usage local y = nn.PReLU(8)(heed.randn(2, 8, 5)) -- [N 8 ..]
local PReLU = Module:extend("PReLU")
activation.PReLU = PReLU

function PReLU:init(num_parameters, options)
  local n = check.integer("PReLU", "num_parameters",
    num_parameters == nil and 1 or num_parameters, 1)
  local o = check.options("PReLU", options, {init = 0.25})
  self.num_parameters = n
  self.weight = parameter.of(ops.full({n},
    check.number("PReLU", "init", o.init), "float32"))
end

function PReLU:forward(x) return F.prelu(x, self.weight) end

function PReLU:extra() return ("%d"):format(self.num_parameters) end

local by_name <const> = {
  relu = ops.relu, gelu = ops.gelu, silu = ops.silu, tanh = ops.tanh,
  sigmoid = ops.sigmoid,
}

--- Returns the function of an option `activation`: a name, a function or a
-- module.
function activation.read(func, value)
  local f = by_name[value] or value
  local meta = type(f) == "table" and getmetatable(f)
  if type(f) ~= "function" and not (meta and meta.__call) then
    local names = {}
    for name in pairs(by_name) do names[#names + 1] = name end
    table.sort(names)
    check.fail("%s: activation must be a function or one of %s, got %s", func,
      table.concat(names, ", "), check.show(value))
  end
  return f
end

return activation
