--- Rows of arithmetic, of bits and of rounding.

local family = require "spec.ops.family"
local heed = require "heed"
local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local positive <const>, whole <const> = sample.positive, sample.whole
local bool <const> = sample.bool

local rows = {}

local function binary(name, ...) rows[name] = family.binary(name, ...) end
local function unary(name, ...) rows[name] = family.unary(name, ...) end
local function bits(name, ...) rows[name] = family.whole_binary(name, ...) end

binary("add", function(a, b) return a + b end)
binary("sub", function(a, b) return a - b end)
binary("mul", function(a, b) return a * b end)
binary("div", function(a, b) return a / b end)
binary("pow", function(a, b) return a ^ b end, positive)
binary("floor_div", function(a, b) return a // b end)
binary("remainder", function(a, b) return a % b end)
binary("fmod", math.fmod)

table.insert(rows.pow.cases, {real {3}, 2})
table.insert(rows.pow.cases, {real {3}, 3})
table.insert(rows.pow.cases, {whole({3}, -3, 3), whole({3}, 0, 3)})
for _, name in ipairs {"floor_div", "remainder", "fmod"} do
  table.insert(rows[name].cases, {whole({2, 3}, -9, 9), -4})
  table.insert(rows[name].cases,
    {whole({2, 3}, 0, 99):to "uint8", heed.tensor({7}, {dtype = "uint8"})})
  table.insert(rows[name].errors, {{whole({2}, 1, 3), 0},
    name .. ": b int64 [] holds a 0, and integers cannot be divided by it"})
  table.insert(rows[name].errors,
    {{whole({2}, 1, 3):to "int32", heed.tensor({5, 0}, {dtype = "int32"})},
      name .. ": b int32 [2] holds a 0, and integers cannot be divided by it"})
end
table.insert(rows.pow.errors, {{whole({2}, 1, 3), whole({2}, -3, -1)},
  "pow: an integer cannot be raised to a negative power; convert a to " ..
    "float32 first"})

unary("neg", function(x) return -x end, real, true)
unary("abs", math.abs, real, true)
unary("sign", function(x) return x > 0 and 1 or x < 0 and -1 or 0 end, real,
  true)
unary("square", function(x) return x * x end, real, true)
unary("reciprocal", function(x) return 1 / x end)

bits("bitwise_and", function(a, b) return a & b end)
bits("bitwise_or", function(a, b) return a | b end)
bits("bitwise_xor", function(a, b) return a ~ b end)
bits("left_shift")
bits("right_shift", function(a, b)
  return a // (1 << b)
end)
for _, name in ipairs {"bitwise_and", "bitwise_or", "bitwise_xor"} do
  table.insert(rows[name].cases, {bool {2, 3}, bool {3}})
end
for _, name in ipairs {"left_shift", "right_shift"} do
  table.insert(rows[name].errors, {{bool {2}, bool {2}},
    name .. ": not defined for a bool [2]"})
end
-- of bools, & | ~ are logical
for name, f in pairs {
  bitwise_and = function(a, b) return a & b end,
  bitwise_or = function(a, b) return a | b end,
  bitwise_xor = function(a, b) return a ~ b end,
} do
  rows[name].value = function(a, b)
    local function number(x)
      return x == true and 1 or x == false and 0 or x
    end
    return f(number(a), number(b))
  end
end
rows.bitwise_not = {
  cases = {
    {whole({2, 3}, -9, 9)}, {whole({4}, 0, 255):to "uint8"},
    {whole({1}, -9, 9):to "int32"}, {whole({0}, 1, 2)}, {bool {5}},
  },
  errors = {
    {{real {2}}, "bitwise_not: not defined for x float64 [2]"},
    {{1}, "bitwise_not: x must be a tensor, got 1"},
  },
}

unary("floor", math.floor, real, true)
unary("ceil", math.ceil, real, true)
unary("trunc", function(x) return x - math.fmod(x, 1) end, real, true)
unary("frac", function(x) return math.fmod(x, 1) end)
table.insert(rows.frac.errors, {{whole({2}, 1, 2)},
  "frac: not defined for x int64 [2]"})
unary("round", function(x, places)
  local scale = 10 ^ (places or 0)
  x = x * scale
  local low = math.floor(x)
  local rest = x - low
  -- halves go to the even neighbour
  return (rest > 0.5 and low + 1 or rest < 0.5 and low or low + low % 2) /
    scale
end, real, true)
table.insert(rows.round.cases, {real {2, 3}, 1})
table.insert(rows.round.cases, {real {3} * 100, -1})
table.insert(rows.round.errors, {{real {1}, 500},
  "round: decimals must be within -400 .. 400, got 500"})
table.insert(rows.round.errors, {{whole({1}, 1, 2), 1},
  "round: not defined for x int64 [1]"})

local odd <const> = heed.tensor({0.5, 0 / 0, math.huge, -math.huge},
  {dtype = "float64"})
rows.nan_to_num = {
  -- no numbers of different size: float32 ends elsewhere
  cases = {{odd, 1, 7, -7}, {real {2, 3}}, {real {0}}, {real {}, 2}},
  errors = {
    {{1}, "nan_to_num: x must be a tensor, got 1"},
    {{whole({2}, 1, 2)},
      "nan_to_num: x must be float32 or float64, got int64 [2]"},
  },
  skip = {[1] = true},
}

rows.lerp = {
  cases = {
    {real {2, 3}, other {3}, positive {2, 1}}, {real {2}, other {2}, 0.25},
    {real {0}, other {0}, 0.5}, {real {1}, other {1}, positive {}},
    {whole({3}, 0, 9), whole({3}, 0, 9), 0.5},
  },
  errors = {
    {{real {2}, real {3}, 1},
      "lerp: a [2], b [3] and weight [] cannot be broadcast together"},
    {{real {2}, real {2}}, "lerp: weight is missing"},
  },
  value = function(a, b, w) return a + w * (b - a) end,
}

local function combined(name, value)
  rows[name] = {
    cases = {
      {real {2, 3}, other {3}, positive {2, 1}},
      {real {2, 3}, other {2, 3}, positive {3}, -1.5},
      {real {0}, other {0}, positive {0}},
      {real {1}, other {}, positive {1}, {value = 2}},
    },
    errors = {
      {{real {2}, real {3}, real {2}}, name ..
        ": x [2], tensor1 [3] and tensor2 [2] cannot be broadcast together"},
      {{real {2}, real {2}}, name .. ": tensor2 is missing"},
    },
    value = value,
  }
end
combined("addcmul")
combined("addcdiv")
table.insert(rows.addcmul.cases,
  {whole({3}, 1, 9), whole({3}, 1, 9), whole({3}, 1, 9), -2})
table.insert(rows.addcmul.errors,
  {{whole({3}, 1, 9), whole({3}, 1, 9), whole({3}, 1, 9), 0.5},
    "addcmul: value must be an integer for x int64 [3], got 0.5"})

return rows
