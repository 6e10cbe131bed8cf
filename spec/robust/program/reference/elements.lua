--- elements: ops whose results depend on one place of each operand.
--
-- An op of the reference is {draw =, run =}: `draw(d)` makes an argument list
-- (see draw.lua), `run(...)` takes arrays and plain values and gives arrays.

local array = require "spec.robust.program.array"
local refuse = require "spec.robust.program.refuse"
local rows = require "spec.ops.rows"
local special = require "spec.robust.program.reference.special"

local ops = {}

local INF <const>, NAN <const> = math.huge, 0 / 0

-- -- dtypes ------------------------------------------------------------------

-- The dtype that tensors and plain numbers meet in, see docs/dtypes.md.
local function common(list)
  local dtype, rank
  for _, x in ipairs(list) do
    if array.is(x) then
      local own = x.dtype
      if own == "float16" or own == "bfloat16" then own = "float32" end
      if not rank or array.ranks[own] > rank then
        dtype, rank = own, array.ranks[own]
      end
    end
  end
  for _, x in ipairs(list) do
    if math.type(x) == "float" and not array.is_float(dtype) then
      dtype = "float32"
    elseif math.type(x) == "integer" and dtype == "bool" then
      dtype = "int64"
    end
  end
  return dtype
end

-- Each operand as a function of a place, in a dtype.
local function reader(x, dtype)
  if not array.is(x) then
    x = array.cast(x, dtype)
    return function() return x end
  end
  return function(index) return array.cast(x:get(index), dtype) end
end

local function joint_shape(list)
  local shape = {}
  for _, x in ipairs(list) do
    if array.is(x) then
      shape = array.broadcast(shape, x.shape)
      refuse.unless(shape)
    end
  end
  return shape
end

-- f of the elements of all operands, read in `dtype`, given in `result`.
local function map(list, dtype, result, f)
  local read = {}
  for i, x in ipairs(list) do read[i] = reader(x, dtype) end
  return array.make(result, joint_shape(list), function(index)
    local v = {}
    for i = 1, #read do v[i] = read[i](index) end
    return f(table.unpack(v))
  end)
end

-- -- kinds of ops ------------------------------------------------------------

-- What an op does with the common dtype of its operands.
local kinds <const> = {
  arith = function(dtype)
    refuse.unless(dtype ~= "bool")
    return dtype, dtype
  end,
  all = function(dtype) return dtype, dtype end,
  float = function(dtype)
    if not array.is_float(dtype) then dtype = "float32" end
    return dtype, dtype
  end,
  only_float = function(dtype)
    refuse.unless(array.is_float(dtype))
    return dtype, dtype
  end,
  only_whole = function(dtype)
    refuse.unless(not array.is_float(dtype))
    return dtype, dtype
  end,
  bool = function(dtype) return dtype, "bool" end,
}

local function run_of(kind, count, f, whole)
  return function(...)
    local list, more = {}, {}
    for i = 1, select("#", ...) do
      local into = i <= count and list or more
      into[#into + 1] = (select(i, ...))
    end
    local dtype, result = kinds[kind](common(list))
    local g = whole and not array.is_float(dtype) and whole or f
    return map(list, dtype, result, function(...)
      local v = {...}
      v[#v + 1] = #more > 0 and more[1] or nil
      for i = 2, #more do v[#v + 1] = more[i] end
      return g(table.unpack(v))
    end)
  end
end

-- `tame`: only finite numbers of moderate size; `whole`: f for integers.
local function unary(name, kind, f, options)
  options = options or {}
  ops[name] = {
    draw = function(d)
      local x = d:tensor {tame = options.tame, kind = kind}
      return {x, table.unpack(options.more and options.more(d) or {})}
    end,
    run = run_of(kind, 1, f or rows[name].value, options.whole),
  }
end

local function binary(name, kind, f, options)
  options = options or {}
  ops[name] = {
    draw = function(d)
      return d:operands {tame = options.tame, kind = kind,
        second = options.second}
    end,
    run = run_of(kind, 2, f or rows[name].value, options.whole),
  }
end

local function same(x) return x end

-- -- arithmetic --------------------------------------------------------------

-- Of booleans, add is "or" and mul is "and": a cast to bool makes it so.
binary("add", "all")
binary("sub", "arith")
binary("mul", "all")
binary("div", "float")

local function whole_power(a, b)
  refuse.unless(b >= 0)
  local r = 1
  for _ = 1, b do r = r * a end
  return r
end
binary("pow", "arith", nil, {tame = true, whole = whole_power,
  second = "exponent"})

local function divisor(f)
  return function(a, b)
    refuse.unless(b ~= 0)
    return f(a, b)
  end
end
-- the quotient is rounded before it is cut: see spec/tensor/arithmetic_spec
binary("floor_div", "arith", nil, {tame = true, second = "divisor",
  whole = divisor(function(a, b) return a // b end)})
binary("remainder", "arith", function(a, b) return a % b end, {tame = true,
  second = "divisor", whole = divisor(function(a, b) return a % b end)})
binary("fmod", "arith", math.fmod, {tame = true, second = "divisor",
  whole = divisor(function(a, b) return math.fmod(a, b) end)})

unary("neg", "arith")
unary("abs", "arith", function(x) return x < 0 and -x or x == 0 and x * x or x
end)
unary("sign", "arith", function(x)
  if x ~= x then return x end
  return x > 0 and 1 or x < 0 and -1 or 0
end)
unary("square", "arith")
unary("reciprocal", "float")

binary("bitwise_and", "only_whole")
binary("bitwise_or", "only_whole")
binary("bitwise_xor", "only_whole")

local widths <const> = {uint8 = 8, int32 = 32, int64 = 64}
local function shift(name, f)
  ops[name] = {
    draw = function(d)
      return d:operands {kind = "only_whole", second = "shift"}
    end,
    run = function(a, b)
      local dtype = common {a, b}
      refuse.unless(widths[dtype])
      return map({a, b}, dtype, dtype, function(p, q)
        return f(p, q >= 0 and q < widths[dtype] and q or nil)
      end)
    end,
  }
end
shift("left_shift", function(a, b) return b and a << b or 0 end)
shift("right_shift", function(a, b)
  return b and a // (1 << b) or not b and a < 0 and -1 or 0
end)
unary("bitwise_not", "only_whole")
ops.bitwise_not.run = function(x)
  refuse.unless(not x:is_float())
  return map({x}, x.dtype, x.dtype, x.dtype == "bool" and
    function(v) return 1 - v end or function(v) return ~v end)
end

-- -- comparisons and logic ---------------------------------------------------

for _, name in ipairs {"eq", "ne", "lt", "le", "gt", "ge"} do
  binary(name, "bool")
end
local function truth(x) return x ~= 0 end
binary("logical_and", "bool", function(a, b) return truth(a) and truth(b) end)
binary("logical_or", "bool", function(a, b) return truth(a) or truth(b) end)
binary("logical_xor", "bool", function(a, b) return truth(a) ~= truth(b) end)
unary("logical_not", "bool", function(x) return not truth(x) end)
for _, name in ipairs {"isnan", "isinf", "isposinf", "isneginf"} do
  unary(name, "bool", nil, {whole = function() return false end})
end
unary("isfinite", "bool", nil, {whole = function() return true end})
unary("signbit", "bool", function(x)
  return x < 0 or x == 0 and 1 / x < 0
end, {tame = true, whole = function(x) return x < 0 end})

-- -- functions of reals ------------------------------------------------------

local function log_sum(base)
  return function(a, b)
    local most = math.max(a, b)
    return most + math.log(base ^ (a - most) + base ^ (b - most), base)
  end
end

local E <const> = math.exp(1)
for _, name in ipairs {
  "exp", "exp2", "log", "log2", "log10", "sqrt", "rsqrt", "sin", "cos",
  "tan", "asin", "acos", "atan", "sinh", "cosh", "acosh",
} do unary(name, "float", nil, {tame = true}) end
unary("expm1", "float", function(x)
  if math.abs(x) > 1e-3 then return math.exp(x) - 1 end
  return x + x * x / 2 + x ^ 3 / 6 + x ^ 4 / 24
end, {tame = true})
unary("log1p", "float", function(x)
  if math.abs(x) > 1e-3 then return math.log(1 + x) end
  return x - x * x / 2 + x ^ 3 / 3 - x ^ 4 / 4 + x ^ 5 / 5
end, {tame = true})
unary("logit", "float", nil, {tame = true, more = function(d)
  return d:chance(0.5) and {d:pick {0.1, 0.25, 1e-3}} or {}
end})
binary("logaddexp", "float", log_sum(E), {tame = true})
binary("logaddexp2", "float", log_sum(2), {tame = true})
binary("xlogy", "float", function(a, b)
  if a == 0 and b == b then return 0.0 end
  return a * math.log(b)
end, {tame = true})
unary("sigmoid", "float")
unary("sinc", "float", function(x)
  return x == 0 and 1 or math.sin(math.pi * x) / (math.pi * x)
end, {tame = true})
binary("atan2", "float", math.atan)
binary("hypot", "float", nil, {tame = true})
unary("tanh", "float", function(x)
  if math.abs(x) < 1e-3 then return x - x ^ 3 / 3 + 2 * x ^ 5 / 15 end
  local e = math.exp(-2 * math.abs(x))
  return (x < 0 and -1 or 1) * (1 - e) / (1 + e)
end, {tame = true})
unary("asinh", "float", function(x)
  if math.abs(x) < 1e-3 then return x - x ^ 3 / 6 + 3 * x ^ 5 / 40 end
  local y = math.log(math.abs(x) + math.sqrt(x * x + 1))
  return x < 0 and -y or y
end, {tame = true})
unary("atanh", "float", function(x)
  if math.abs(x) < 1e-3 then return x + x ^ 3 / 3 + x ^ 5 / 5 end
  return math.log((1 + x) / (1 - x)) / 2
end, {tame = true})
unary("erf", "float", special.erf, {tame = true})
unary("erfc", "float", special.erfc, {tame = true})
unary("erfinv", "float", special.erfinv, {tame = true})
unary("lgamma", "float", special.lgamma, {tame = true})
-- near a pole every last digit of x counts
local function above(f)
  return function(x, ...)
    refuse.unless(x == 0 or x >= 0.05)
    return f(x, ...)
  end
end
ops.digamma = {
  draw = function(d) return {d:tensor {kind = "float", positive = true}} end,
  run = run_of("float", 1, above(function(x)
    return special.polygamma(0, x)
  end)),
}
ops.polygamma = {
  draw = function(d)
    return {d:tensor {kind = "float", positive = true}, d:int(0, 4)}
  end,
  run = run_of("float", 1, above(function(x, n)
    return special.polygamma(n, x)
  end)),
}

-- -- rounding ----------------------------------------------------------------

local function cut(f)
  return function(x)
    if x ~= x or x - x ~= 0 or math.abs(x) > 2 ^ 53 then return x end
    return f(x)
  end
end
unary("floor", "arith", cut(math.floor), {whole = same})
unary("ceil", "arith", cut(math.ceil), {whole = same})
unary("trunc", "arith", cut(rows.trunc.value), {whole = same})
unary("frac", "only_float", nil, {tame = true})
unary("round", "arith", nil, {whole = same, tame = true})
unary("nan_to_num", "only_float", function(x, nan, high, low)
  return x ~= x and nan or x == INF and high or x == -INF and low or x
end, {more = function(d) return {d:int(-3, 3), d:int(5, 9), -7} end})

-- -- three operands ----------------------------------------------------------

ops.lerp = {
  draw = function(d)
    local a, b = table.unpack(d:operands {kind = "float", tensors = true,
      tame = true})
    return {a, b, d:chance(0.5) and 0.25 or
      d:tensor {shape = d:under(d:array(a).shape), kind = "float",
        tame = true}}
  end,
  run = run_of("float", 3, rows.lerp.value),
}

local function combined(name, kind, f)
  ops[name] = {
    draw = function(d)
      local a, b = table.unpack(d:operands {kind = kind, tensors = true,
        tame = true})
      local c = d:tensor {shape = d:under(d:array(a).shape), kind = kind,
        tame = true, positive = true}
      return {a, b, c, d:pick {1, 2, -3}}
    end,
    run = run_of(kind, 3, f),
  }
end
combined("addcmul", "arith", function(x, a, b, v) return x + v * a * b end)
combined("addcdiv", "float", function(x, a, b, v) return x + v * a / b end)

-- -- choices -----------------------------------------------------------------

local function extreme(better)
  return function(a, b)
    if a ~= a then return a elseif b ~= b then return b end
    return better(a, b) and a or b
  end
end
local most <const> = extreme(function(a, b) return a > b end)
local least <const> = extreme(function(a, b) return a < b end)
binary("maximum", "all", most)
binary("minimum", "all", least)
binary("copysign", "float", function(a, b)
  local negative = b < 0 or b == 0 and 1 / b < 0
  return negative and -math.abs(a) or math.abs(a)
end, {tame = true})
binary("heaviside", "float", function(a, b)
  if a ~= a then return a end
  return a > 0 and 1 or a < 0 and 0 or b
end, {tame = true})
ops.heaviside.rough = true -- no gradient, but a slope where a is 0

-- The next number: its bits, counted.
local function next_of(format, bits)
  return function(a, b)
    if a ~= a or b ~= b then return NAN end
    if a == b then return b end
    local n = string.unpack(bits, string.pack(format, a))
    if a == 0 then
      n = 1
      if b < 0 then return -(string.unpack(format, string.pack(bits, n))) end
    elseif (b > a) == (a > 0) then
      n = n + 1
    else
      n = n - 1
    end
    return (string.unpack(format, string.pack(bits, n)))
  end
end
local next32 <const>, next64 <const> = next_of("f", "i4"), next_of("d", "i8")
ops.nextafter = {
  rough = true, -- it has no gradient, but a slope
  draw = function(d) return d:operands {kind = "float"} end,
  run = function(a, b)
    local dtype = kinds.float(common {a, b})
    return map({a, b}, dtype, dtype, dtype == "float32" and next32 or next64)
  end,
}

ops.clamp = {
  draw = function(d)
    local x = d:tensor {kind = "arith"}
    local whole = not d:array(x):is_float()
    local function bound(v)
      if d:chance(0.5) then return whole and v or v + 0.5 end
      return d:tensor {shape = d:under(d:array(x).shape), kind = "arith"}
    end
    if d:chance(0.3) then return {x, bound(-2)} end
    return {x, bound(-2), bound(3)}
  end,
  run = function(x, low, high)
    return run_of("arith", high and 3 or 2, function(v, a, b)
      v = most(v, a)
      return b and least(v, b) or v
    end)(x, low, high)
  end,
}

-- One of two, by a condition: halves stay.
local function moved(list)
  local dtype
  for _, x in ipairs(list) do
    if array.is(x) then
      refuse.unless(not dtype or x.dtype == dtype)
      dtype = x.dtype
    end
  end
  return dtype
end
ops.where = {
  draw = function(d)
    local condition = d:tensor {dtype = "bool"}
    local shape = d:array(condition).shape
    local a = d:tensor {shape = d:under(shape)}
    local b = d:tensor {shape = d:under(shape), dtype = d:array(a).dtype}
    return {condition, a, b}
  end,
  run = function(condition, a, b)
    refuse.unless(condition.dtype == "bool")
    local shape = joint_shape {condition, a, b}
    local dtype = moved {a, b}
    local p, q = reader(a, dtype), reader(b, dtype)
    return array.make(dtype, shape, function(index)
      return condition:get(index) ~= 0 and p(index) or q(index)
    end)
  end,
}
ops.masked_fill = {
  draw = function(d)
    local x = d:tensor {}
    local a = d:array(x)
    local value = a.dtype == "bool" or a:is_float() and 1.5 or 7
    if d:chance(0.3) then value = d:tensor {shape = {}, dtype = a.dtype} end
    return {x, d:tensor {shape = d:under(a.shape), dtype = "bool"}, value}
  end,
  run = function(x, mask, value)
    refuse.unless(array.same_shape(array.broadcast(x.shape, mask.shape) or {0},
      x.shape))
    local v = reader(value, x.dtype)
    return array.make(x.dtype, x.shape, function(index)
      return mask:get(index) ~= 0 and v(index) or x:get(index)
    end)
  end,
}

-- -- activations -------------------------------------------------------------

unary("relu", "arith", function(x) return x ~= x and x or x > 0 and x or 0 end)
unary("gelu", "only_float", function(x, how)
  if how == "tanh" then
    local y = math.sqrt(2 / math.pi) * (x + 0.044715 * x ^ 3)
    return x / (1 + math.exp(-2 * y))
  end
  return 0.5 * x * special.erfc(-x / math.sqrt(2))
end, {tame = true, more = function(d) return {d:pick {"none", "tanh"}} end})
unary("silu", "only_float", nil, {tame = true})
unary("leaky_relu", "only_float", nil, {tame = true,
  more = function(d) return d:chance(0.5) and {0.2} or {} end})
unary("elu", "only_float", nil, {tame = true,
  more = function(d) return d:chance(0.5) and {1.5, 1.1, 0.7} or {} end})
unary("softplus", "only_float", nil, {tame = true,
  more = function(d) return d:chance(0.5) and {1.5, 3.0} or {} end})
unary("logsigmoid", "only_float", function(x)
  return math.min(x, 0) - math.log(1 + math.exp(-math.abs(x)))
end, {tame = true})
unary("hardtanh", "only_float", nil, {tame = true,
  more = function(d) return d:chance(0.5) and {-0.3, 0.7} or {} end})
unary("hardshrink", "only_float", nil, {tame = true})
unary("softshrink", "only_float", nil, {tame = true})
unary("threshold", "only_float", function(x, at, value)
  return x > at and x or value
end, {tame = true, more = function() return {0.5, -2} end})
unary("hardsigmoid", "only_float", nil, {tame = true})
unary("hardswish", "only_float", nil, {tame = true})
unary("mish", "only_float", function(x)
  local e = math.exp(-math.abs(x))
  local s = x > 0 and (1 + 2 * e) / (1 + 2 * e + 2 * e * e) or
    e * (e + 2) / (e * (e + 2) + 2)
  return x * s
end, {tame = true})

return {ops = ops, map = map, common = common}
