--- Rows of choices between two values.

local family = require "spec.ops.family"
local heed = require "heed"
local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local whole <const>, bool <const> = sample.whole, sample.bool

local rows = {}

for name, value in pairs {
  maximum = math.max, minimum = math.min,
  copysign = function(a, b) return b < 0 and -math.abs(a) or math.abs(a) end,
  heaviside = function(a, b) return a > 0 and 1 or a < 0 and 0 or b end,
} do
  rows[name] = family.binary(name, value)
end
-- the next number is another one in float32
rows.nextafter = {
  cases = {
    {real {2, 3}, other {3}}, {real {0}, other {0}}, {real {1}, other {}},
  },
  errors = {
    {{real {2}, real {3}},
      "nextafter: a [2] and b [3] cannot be broadcast together"},
    {{real {2}}, "nextafter: b is missing"},
  },
}

rows.clamp = {
  cases = {
    {real {2, 3}, other {3}, 0.9}, {real {2, 3}, 0.9, -0.5},
    {whole({5}, 0, 9):to "uint8", 2, 7},
    {real {2, 3}, -0.7, 0.9}, {real {2, 3}, other {3}},
    {real {2, 3}, nil, 0.3, n = 3}, {real {0, 3}, 0}, {real {1}, 0, 1},
    {whole({5}, -5, 5), -1, 2},
  },
  errors = {
    {{real {2}},
      "clamp: min or max must be given"},
    {{bool {2}, true, true}, "clamp: not defined for x bool [2]"},
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
