--- arithmetic: sums and products, bits, comparisons, rounding.

local elementwise = require "spec.robust.program.reference.elementwise"
local refuse = require "spec.robust.program.refuse"
local rows = require "spec.ops.rows"

local ops = {}

local INF <const> = math.huge
local common <const>, map <const> = elementwise.common, elementwise.map

local function unary(...) elementwise.unary(ops, ...) end
local function binary(...) elementwise.binary(ops, ...) end

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

return {ops = ops}
