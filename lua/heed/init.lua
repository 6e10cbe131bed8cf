--- heed: tensors, gradients and attention for Lua.
--
--     local heed = require "heed"
--     local x = heed.randn({2, 3}, {requires_grad = true})
--     local y = (x:matmul(x:transpose()) * 0.5):softmax(-1):sum()
--     y:backward()
--     print(x.grad)
--
-- The functions of this table are the ops of the op table (`heed.core`) and
-- what is written here; the parts `nn`, `optim`, `data`, `text`, `image`,
-- `plot`, `models`, `progress`, `train`, `metrics`, `script`, `help`,
-- `testing`, `autograd`, `linalg` and the function `einsum` load when they are
-- first used.

require "heed.room"
local core = require "heed.core"

-- Errors point at the first line outside of this folder.
local home <const> = debug.getinfo(1, "S").source:match("^(.*[/\\])init%.lua$")
if home then core.set_home(home) end

local heed = {core = core, version = core.version}

for _, name in ipairs {
  "tensor", "no_grad", "enable_grad", "is_grad_enabled", "grad",
  "manual_seed", "Generator", "get_generator_state", "set_generator_state",
  "set_num_threads", "get_num_threads", "config", "memory_stats",
  "memory_trim", "memory_reset_peak", "set_printoptions",
} do
  heed[name] = core[name]
end

-- The names of the dtypes, for those who write heed.float64.
for _, name in ipairs {
  "bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32",
  "float64",
} do
  heed[name] = name
end

local methods <const> = core.methods
methods.backward = core.backward
methods.register_hook = core.register_hook
methods.retain_grad = core.retain_grad
function methods.describe(x) return require "heed.describe"(x) end
for _, op in ipairs(core.op_table) do
  if op.group == "tensor" then
    methods[op.name] = core.ops[op.name]
    heed[op.name] = core.ops[op.name]
  elseif op.group == "make" then
    heed[op.name] = core.ops[op.name]
  end
end

for _, name in ipairs {
  "make", "shape", "index", "statistics", "unique", "random", "algebra",
  "maths",
} do
  local part = require("heed.tensor." .. name)
  for key, f in pairs(part.methods) do methods[key] = f end
  for key, f in pairs(part.functions) do heed[key] = f end
end

for key, f in pairs(require "heed.files") do heed[key] = f end

--- Stands in a key for a new dimension of size 1: `t[{heed.newaxis, {}}]`.
heed.newaxis = "newaxis"

-- Operators take a tensor on either side and a number on the other.
local meta <const> = core.metatable
for event, name in pairs {
  __add = "add", __sub = "sub", __mul = "mul", __div = "div", __mod =
  "remainder", __pow = "pow", __idiv = "floor_div",
  __band = "bitwise_and", __bor = "bitwise_or", __bxor = "bitwise_xor",
  __shl = "left_shift", __shr = "right_shift",
} do
  meta[event] = core.ops[name]
end
meta.__unm = core.unary("neg")
meta.__bnot = core.unary("bitwise_not")
meta.__name = "heed.tensor"

--- Returns the value's kind: "tensor" for a tensor, else Lua's `type`.
-- @param value any value
-- @treturn string
-- @usage heed.type(heed.zeros(2)) --> tensor
function heed.type(value)
  return heed.is_tensor(value) and "tensor" or type(value)
end

--- Is the value a tensor? One that was closed is none.
-- @function is_tensor
-- @param value any value
-- @treturn boolean
-- @usage heed.is_tensor(heed.zeros(2)) --> true
heed.is_tensor = core.is_tensor

local parts <const> = {
  autograd = true, linalg = true, einsum = true, nn = true, optim = true,
  data = true, text = true, image = true, plot = true, models = true,
  progress = true, train = true, metrics = true, script = true, help = true,
  testing = true,
}

return setmetatable(heed, {
  parts = parts, -- for completion
  __index = function(self, key)
    if not parts[key] then return nil end
    local part = require("heed." .. key)
    rawset(self, key, part)
    return part
  end,
})
