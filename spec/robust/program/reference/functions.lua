--- functions: those of real numbers, and those between layers.

local elementwise = require "spec.robust.program.reference.elementwise"
local refuse = require "spec.robust.program.refuse"
local special = require "spec.robust.program.reference.special"

local ops = {}

local run_of <const> = elementwise.run_of

local function unary(...) elementwise.unary(ops, ...) end
local function binary(...) elementwise.binary(ops, ...) end

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

return {ops = ops}
