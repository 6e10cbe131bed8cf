--- Rows of comparisons and logic, whose results are booleans.

local heed = require "heed"
local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local whole <const>, bool <const> = sample.whole, sample.bool

local rows = {}

local function comparison(name, value)
  rows[name] = {
    cases = {
      {real {2, 3}, other {3}}, {real {2, 1}, other {1, 3}},
      {real {0, 3}, other {3}}, {real {1}, other {}}, {real {2, 3}, 0.5},
      {whole({9}, 1, 3), whole({9}, 1, 3)}, {whole({9}, 1, 3), 2},
    },
    errors = {{{real {2, 3}, real {2}},
      name .. ": a [2 3] and b [2] cannot be broadcast together"},
    {{real {2}},
      name .. ": b is missing"}},
    value = value,
  }
end

comparison("eq", function(a, b) return a == b end)
comparison("ne", function(a, b) return a ~= b end)
comparison("lt", function(a, b) return a < b end)
comparison("le", function(a, b) return a <= b end)
comparison("gt", function(a, b) return a > b end)
comparison("ge", function(a, b) return a >= b end)

local function logic(name, value)
  rows[name] = {
    cases = {
      {bool {2, 3}, bool {3}}, {bool {2, 1}, bool {1, 3}},
      {bool {0}, bool {0}}, {bool {1}, bool {}},
    },
    errors = {{{bool {2, 3}, bool {2}},
      name .. ": a [2 3] and b [2] cannot be broadcast together"},
    {{bool {2}},
      name .. ": b is missing"}},
    value = value,
  }
end

logic("logical_and", function(a, b) return a * b == 1 end)
logic("logical_or", function(a, b) return a + b > 0 end)

logic("logical_xor", function(a, b) return a ~= b end)

rows.logical_not = {
  cases = {{bool {2, 3}}, {bool {0}}, {bool {1}}, {bool {}}},
  errors = {{{1}, "logical_not: x must be a tensor, got 1"}},
  value = function(a) return a == 0 end,
}

local function of_numbers(name, value)
  local odd = heed.tensor({1, 0 / 0, math.huge, -math.huge},
    {dtype = "float64"})
  rows[name] = {
    cases = {{odd}, {real {2, 3}}, {real {0}}, {real {1}}, {real {}}},
    errors = {{{1}, name .. ": x must be a tensor, got 1"}},
    value = value,
  }
end

of_numbers("isnan", function(x) return x ~= x end)
of_numbers("isfinite", function(x) return x - x == 0 end)
of_numbers("isinf", function(x) return x == math.huge or x == -math.huge end)
of_numbers("isposinf", function(x) return x == math.huge end)
of_numbers("isneginf", function(x) return x == -math.huge end)
-- a NaN made by 0 / 0 may have either sign
rows.signbit = {
  cases = {
    {heed.tensor({1, -1, -0.0, 0, math.huge, -math.huge},
      {dtype = "float64"})},
    {real {2, 3}}, {real {0}}, {real {1}}, {whole({4}, -3, 3)}, {bool {2}},
  },
  errors = {{{1}, "signbit: x must be a tensor, got 1"}},
}

return rows
