--- Rows of functions between the layers of a network.

local family = require "spec.ops.family"
local sample = require "spec.support.sample"

local real <const>, whole <const> = sample.real, sample.whole

local rows = {}

local function sigmoid(x) return 1 / (1 + math.exp(-x)) end

-- A function of float tensors; `numbers` is a second case's.
local function float(name, value, numbers, wide)
  local function first(shape) return real(shape) * (wide or 1) end
  rows[name] = family.unary(name, value, first)
  table.insert(rows[name].errors, {{whole({2}, 1, 2)},
    name .. ": x must be float32 or float64, got int64 [2]"})
  if numbers then
    table.insert(rows[name].cases,
      {first {2, 3}, table.unpack(numbers, 1, #numbers)})
  end
end

rows.relu = family.unary("relu", function(x) return math.max(x, 0) end, real,
  true)
float("gelu", nil, {"tanh"})
table.insert(rows.gelu.errors, {{real {2}, "fast"},
  "gelu: approximate must be one of none|tanh, got fast"})
float("silu", function(x) return x * sigmoid(x) end)
float("leaky_relu", function(x, slope)
  return x > 0 and x or x * (slope or 0.01)
end, {0.3})
float("elu", function(x, alpha, scale, input_scale)
  scale = scale or 1
  return x > 0 and scale * x or
    scale * (alpha or 1) * (math.exp(x * (input_scale or 1)) - 1)
end, {1.5, 1.1, 0.7})
float("softplus", function(x, beta, threshold)
  beta = beta or 1
  return beta * x > (threshold or 20) and x or
    math.log(1 + math.exp(beta * x)) / beta
end, {1.5, 1.2})
float("logsigmoid", function(x) return math.log(sigmoid(x)) end)
float("hardtanh", function(x, min, max)
  return math.min(math.max(x, min or -1), max or 1)
end, {-0.3, 0.7})
float("hardshrink", function(x, lambd)
  return math.abs(x) > (lambd or 0.5) and x or 0
end, {1.1})
float("softshrink", function(x, lambd)
  lambd = lambd or 0.5
  return x > lambd and x - lambd or x < -lambd and x + lambd or 0
end, {1.1})
float("hardsigmoid", function(x)
  return math.min(math.max(x / 6 + 0.5, 0), 1)
end, nil, 2.3)
float("hardswish", function(x)
  return x * math.min(math.max(x / 6 + 0.5, 0), 1)
end, nil, 2.3)
float("mish", function(x)
  local e = (1 + math.exp(x)) ^ 2
  return x * (e - 1) / (e + 1)
end)

rows.threshold = {
  cases = {
    {real {2, 3}, 0.5, -2}, {real {1}, -1, 3}, {real {0}, 0, 0},
    {real {}, 0, {value = 7}},
  },
  errors = {
    {{real {2}, 0}, "threshold: value is missing"},
    {{real {2}, "x", 0}, 'threshold: threshold must be a number, got "x"'},
  },
}

return rows
