--- Activations as modules: functions of each number, or along a dimension.

local check = require "heed.check"
local core = require "heed.core"
local Module = require "heed.nn.module"

local ops <const> = core.ops

local activation = {}

-- A module for an op of one tensor.
local function plain(name, op)
  local class = Module:extend(name)
  function class:forward(x) return op(x) end -- luacheck: ignore self
  activation[name] = class
end

plain("ReLU", ops.relu)
plain("SiLU", ops.silu)
plain("Tanh", ops.tanh)
plain("Sigmoid", ops.sigmoid)
plain("Identity", function(x) return x end)

--- x times the part of the normal distribution below x.
-- @function GELU
-- @tparam[opt] table options `approximate`, `"none"` (default) or `"tanh"`
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

along("Softmax", ops.softmax)
along("LogSoftmax", ops.log_softmax)

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
