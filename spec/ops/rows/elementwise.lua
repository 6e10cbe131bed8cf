--- Rows of arithmetic and of functions of single elements.

local heed = require "heed"
local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local positive <const>, whole <const> = sample.positive, sample.whole
local bool <const> = sample.bool

local rows = {}

-- Two operands that broadcast, sizes of 0 and 1, a plain number on either
-- side, integers.
local function pairs_of(first, second, number)
  return {
    {first {2, 3}, second {3}}, {first {2, 1}, second {1, 3}},
    {first {0, 3}, second {3}}, {first {1}, second {}},
    {first {2, 3}, number}, {number, second {2, 3}},
    {whole({2, 3}, 1, 9), whole({3}, 1, 4)}, {whole({4}, 1, 9), 2},
  }
end

local function shapes_error(name)
  return {
    {{real {2, 3}, real {2}},
      name .. ": a [2 3] and b [2] cannot be broadcast together"},
    {{real {2}, "x"}, name .. ': b must be a tensor or a number, got "x"'},
    {{real {2}}, name .. ": b is missing"},
  }
end

local function binary(name, value, second, number)
  rows[name] = {
    cases = pairs_of(second or real, second or other, number or 1.5),
    errors = shapes_error(name), value = value,
  }
end

binary("add", function(a, b) return a + b end)
binary("sub", function(a, b) return a - b end)
binary("mul", function(a, b) return a * b end)
binary("div", function(a, b) return a / b end)
binary("maximum", function(a, b) return math.max(a, b) end)
binary("minimum", function(a, b) return math.min(a, b) end)
binary("pow", function(a, b) return a ^ b end, positive)
binary("floor_div", function(a, b) return a // b end)
binary("remainder", function(a, b) return a % b end)

table.insert(rows.pow.cases, {real {3}, 2})
table.insert(rows.pow.cases, {real {3}, 3})
table.insert(rows.pow.cases, {whole({3}, -3, 3), whole({3}, 0, 3)})
table.insert(rows.floor_div.cases, {whole({2, 3}, -9, 9), -4})
table.insert(rows.remainder.cases, {whole({2, 3}, -9, 9), -4})
table.insert(rows.floor_div.errors, {{whole({2}, 1, 3), 0},
  "floor_div: b int64 [] holds a 0, and integers cannot be divided by it"})
table.insert(rows.remainder.errors, {{whole({2}, 1, 3), 0},
  "remainder: b int64 [] holds a 0, and integers cannot be divided by it"})
table.insert(rows.pow.errors, {{whole({2}, 1, 3), whole({2}, -3, -1)},
  "pow: an integer cannot be raised to a negative power; convert a to " ..
    "float32 first"})

local function unary(name, value, first, whole_too)
  first = first or real
  local cases = {
    {first {2, 3}}, {first {1}}, {first {}}, {first {0, 3}},
    {first {2, 1, 4}},
  }
  if whole_too then cases[#cases + 1] = {whole({2, 3}, -3, 3)} end
  rows[name] = {
    cases = cases, value = value,
    errors = {{{1}, name .. ": x must be a tensor, got 1"}},
  }
end

local function sigmoid(x) return 1 / (1 + math.exp(-x)) end

unary("neg", function(x) return -x end, real, true)
unary("abs", math.abs, real, true)
unary("sign", function(x) return x > 0 and 1 or x < 0 and -1 or 0 end, real,
  true)
unary("exp", math.exp)
unary("log", math.log, positive)
unary("sqrt", math.sqrt, positive)
unary("rsqrt", function(x) return 1 / math.sqrt(x) end, positive)
unary("sin", math.sin)
unary("cos", math.cos)
unary("tanh", function(x)
  local e = math.exp(2 * x)
  return (e - 1) / (e + 1)
end)
unary("sigmoid", sigmoid)
unary("erf")
unary("floor", math.floor)
unary("ceil", math.ceil)
unary("round", function(x)
  local low = math.floor(x)
  local rest = x - low
  -- halves go to the even neighbour
  return rest > 0.5 and low + 1 or rest < 0.5 and low or low + low % 2
end)
unary("relu", function(x) return math.max(x, 0) end, real, true)
unary("gelu")
table.insert(rows.gelu.cases, {real {2, 3}, "tanh"})
table.insert(rows.gelu.errors, {{real {2}, "fast"},
  "gelu: approximate must be one of none|tanh, got fast"})
unary("silu", function(x) return x * sigmoid(x) end)

rows.clamp = {
  cases = {
    {real {2, 3}, -0.7, 0.9}, {real {2, 3}, other {3}},
    {real {2, 3}, nil, 0.3, n = 3}, {real {0, 3}, 0}, {real {1}, 0, 1},
    {whole({5}, -5, 5), -1, 2},
  },
  errors = {
    {{real {2}},
      "clamp: min or max must be given"},
    {{real {2}, real {3}},
      "clamp: x [2] and min [3] cannot be broadcast together"},
  },
}

rows.where = {
  cases = {
    {bool {2, 3}, real {2, 3}, other {3}}, {bool {3}, real {2, 1}, 0.5},
    {bool {0}, real {0}, other {0}}, {bool {1}, 1.5, real {1}},
    {bool {4}, whole({4}, 1, 5), 0},
  },
  errors = {
    {{real {2}, real {2}, real {2}},
      "where: condition must be bool, got float64 [2]"},
    {{bool {2}, real {3}, real {3}},
      "where: condition [2], a [3] and b [3] cannot be broadcast together"},
  },
}

rows.masked_fill = {
  cases = {
    {real {2, 3}, bool {2, 3}, -1.5}, {real {2, 3}, bool {3}, 0},
    {real {0}, bool {0}, 1}, {real {1, 1}, bool {1}, other {}},
    {whole({4}, 1, 5), bool {4}, 0},
  },
  errors = {
    {{real {2}, real {2}, 0},
      "masked_fill: mask must be bool, got float64 [2]"},
    {{real {2}, bool {3}, 0},
      "masked_fill: mask [3], x [2] and value [] cannot be broadcast " ..
        "together"},
  },
}

rows.copy_ = {
  cases = {
    {real {2, 3}, other {2, 3}}, {real {2, 3}, other {3}},
    {real {2, 3}, 1.5}, {real {0, 3}, other {3}}, {real {1}, other {}},
    {whole({4}, 1, 5), whole({4}, 1, 5)},
  },
  errors = {
    {{real {3}, other {2, 3}},
      "copy_: source [2 3] does not broadcast to x [3]"},
    {{heed.zeros({2}, {requires_grad = true}), 1},
      "copy_: x is a leaf that wants gradients; write to it inside " ..
        "heed.no_grad"},
    {{real {3}}, "copy_: source is missing"},
  },
}

return rows
