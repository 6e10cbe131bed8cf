--- Rows of functions of real numbers.

local family = require "spec.ops.family"
local sample = require "spec.support.sample"

local real <const>, positive <const> = sample.real, sample.positive

local rows = {}

local function binary(name, ...) rows[name] = family.binary(name, ...) end
local function unary(name, ...) rows[name] = family.unary(name, ...) end

local function within(shape) return real(shape) / 2.2 end -- -1 .. 1
local function above(shape) return positive(shape) + 1 end -- 1.2 .. 3.2
local function part(shape) return positive(shape) / 2.5 end -- 0 .. 1

unary("exp", math.exp)
unary("exp2", function(x) return 2 ^ x end)
unary("expm1", function(x) return math.exp(x) - 1 end)
unary("log", math.log, positive)
unary("log2", function(x) return math.log(x, 2) end, positive)
unary("log10", function(x) return math.log(x, 10) end, positive)
unary("log1p", function(x) return math.log(1 + x) end, positive)
unary("logit", function(x, eps)
  if eps then x = math.min(math.max(x, eps), 1 - eps) end
  return math.log(x / (1 - x))
end, part)
table.insert(rows.logit.cases, {part {2, 3}, 0.2})
table.insert(rows.logit.errors, {{part {2}, 0.7},
  "logit: eps must be within 0 .. 0.5, got 0.7"})
binary("logaddexp", function(a, b)
  return math.log(math.exp(a) + math.exp(b))
end)
binary("logaddexp2", function(a, b) return math.log(2 ^ a + 2 ^ b, 2) end)
binary("xlogy", function(a, b) return a * math.log(b) end, positive)
unary("sqrt", math.sqrt, positive)
unary("rsqrt", function(x) return 1 / math.sqrt(x) end, positive)
unary("sigmoid", function(x) return 1 / (1 + math.exp(-x)) end)

local function sinh(x) return (math.exp(x) - math.exp(-x)) / 2 end
local function cosh(x) return (math.exp(x) + math.exp(-x)) / 2 end

unary("sin", math.sin)
unary("cos", math.cos)
unary("tan", math.tan, within)
unary("sinc", function(x) return math.sin(math.pi * x) / (math.pi * x) end)
unary("asin", math.asin, within)
unary("acos", math.acos, within)
unary("atan", math.atan)
binary("atan2", math.atan)
binary("hypot", function(a, b) return math.sqrt(a * a + b * b) end)
unary("sinh", sinh)
unary("cosh", cosh)
unary("tanh", function(x) return sinh(x) / cosh(x) end)
unary("asinh", function(x)
  return x < 0 and -math.log(-x + math.sqrt(x * x + 1)) or
    math.log(x + math.sqrt(x * x + 1))
end)
unary("acosh", function(x) return math.log(x + math.sqrt(x * x - 1)) end,
  above)
unary("atanh", function(x) return math.log((1 + x) / (1 - x)) / 2 end, within)

-- values of these stand in spec/tensor/maths_spec.lua
unary("erf")
unary("erfc")
unary("erfinv", nil, within)
unary("lgamma")
unary("digamma", nil, positive)
rows.digamma.atol32 = 1e-4 -- near the pole at 0
rows.polygamma = {
  cases = {
    {positive {2, 3}, 0}, {above {2, 3}, 1}, {above {1}, 2}, {above {0}, 3},
    {above {}, 4}, {real {2, 2}, 1},
  },
  errors = {
    {{positive {2}, -1}, "polygamma: n must be within 0 .. 170, got -1"},
    {{positive {2}}, "polygamma: n is missing"},
  },
  atol = 1e-5, atol32 = 1e-3,
}

return rows
