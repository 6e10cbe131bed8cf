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

--- x where it is positive, else 0. Without settings too: `ReLU6`, `SiLU`,
-- `Mish`, `SELU`, `Tanh`, `Tanhshrink`, `Sigmoid`, `LogSigmoid`, `Hardsigmoid`,
-- `Hardswish`, `Softsign`, see the functions of their names, and `Identity`.
-- @function ReLU
-- @usage local y = nn.ReLU()(heed.tensor {-1.0, 2.0}) --> 0 2
-- @usage local y = nn.ReLU6()(heed.tensor {-1.0, 2.0}) --> 0 2
-- @usage local y = nn.SiLU()(heed.tensor {-1.0, 2.0}) --> -0.2689 1.7616
-- @usage local y = nn.Mish()(heed.tensor {-1.0, 2.0}) --> -0.3034 1.9440
-- @usage local y = nn.SELU()(heed.tensor {-1.0, 2.0}) --> -1.1113 2.1014
-- @usage local y = nn.Tanh()(heed.tensor {-1.0, 2.0}) --> -0.7616 0.9640
-- @usage local y = nn.Tanhshrink()(heed.tensor {-1.0, 2.0}) --> -0.2384 1.0360
-- @usage local y = nn.Sigmoid()(heed.tensor {-1.0, 2.0}) --> 0.2689 0.8808
-- @usage local y = nn.LogSigmoid()(heed.tensor {-1.0, 2.0}) --> -1.3133 -0.1269
-- @usage local y = nn.Hardsigmoid()(heed.tensor {-1.0, 2.0}) --> 0.3333 0.8333
-- @usage local y = nn.Hardswish()(heed.tensor {-1.0, 2.0}) --> -0.3333 1.6667
-- @usage local y = nn.Softsign()(heed.tensor {-1.0, 2.0}) --> -0.5 0.6667
-- @usage local y = nn.Identity()(heed.tensor {-1.0, 2.0}) --> -1 2
plain("ReLU", ops.relu)
plain("ReLU6", F.relu6)
plain("SiLU", ops.silu)
plain("Mish", ops.mish)
plain("SELU", F.selu)
plain("Tanh", ops.tanh)
plain("Tanhshrink", F.tanhshrink)
plain("Sigmoid", ops.sigmoid)
plain("LogSigmoid", ops.logsigmoid)
plain("Hardsigmoid", ops.hardsigmoid)
plain("Hardswish", ops.hardswish)
plain("Softsign", F.softsign)
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

--- x where it is positive, else x times a slope. With settings too, by position
-- or in a table: `ELU` and `CELU` (`alpha`, 1), `Softplus` (`beta`, 1,
-- `threshold`, 20), `Hardtanh` (`min_val`, -1, `max_val`, 1), `Hardshrink` and
-- `Softshrink` (`lambd`, 0.5), `Threshold` (`threshold` and `value`, which must
-- be given); see the functions of their names.
-- @function LeakyReLU
-- @tparam[opt=0.01] number negative_slope
-- @usage local y = nn.LeakyReLU(0.5)(heed.tensor {-1.0, 2.0}) --> -0.5 2
-- @usage local y = nn.ELU(0.5)(heed.tensor {-1.0, 2.0}) --> -0.3161 2
-- @usage local y = nn.CELU(2)(heed.tensor {-1.0, 2.0}) --> -0.7869 2
-- @usage local y = nn.Softplus()(heed.tensor {-1.0, 2.0}) --> 0.3133 2.1269
-- @usage local y = nn.Hardtanh(-3, 1)(heed.tensor {-1.0, 2.0}) --> -1 1
-- @usage local y = nn.Hardshrink(1.5)(heed.tensor {-1.0, 2.0}) --> 0 2
-- @usage local y = nn.Softshrink()(heed.tensor {-1.0, 2.0}) --> -0.5 1.5
-- @usage local y = nn.Threshold(0, -3)(heed.tensor {-1.0, 2.0}) --> -3 2
tuned("LeakyReLU", ops.leaky_relu, {"negative_slope", 0.01})
tuned("ELU", ops.elu, {"alpha", 1.0})
tuned("CELU", F.celu, {"alpha", 1.0})
tuned("Softplus", ops.softplus, {"beta", 1.0}, {"threshold", 20.0})
tuned("Hardtanh", ops.hardtanh, {"min_val", -1.0}, {"max_val", 1.0})
tuned("Hardshrink", ops.hardshrink, {"lambd", 0.5})
tuned("Softshrink", ops.softshrink, {"lambd", 0.5})
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

--- The softmax along a dimension; `Softmin`, `LogSoftmax` and `GLU` likewise.
-- @function Softmax
-- @tparam[opt=-1] integer dim
-- @usage local y = nn.Softmax()(heed.zeros(4)) --> 0.25 0.25 0.25 0.25
-- @usage local y = nn.Softmin()(heed.tensor {0.0, 1.0}) --> 0.7311 0.2689
-- @usage local y = nn.LogSoftmax()(heed.zeros(2)) --> -0.6931 -0.6931
-- @usage local y = nn.GLU()(heed.tensor {2.0, 0.0}) --> 1
along("Softmax", ops.softmax)
along("Softmin", F.softmin)
along("LogSoftmax", ops.log_softmax)
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
