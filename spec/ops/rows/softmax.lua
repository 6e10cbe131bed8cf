--- Rows of the softmax family.

local heed = require "heed"
local sample = require "spec.support.sample"

local real <const>, whole <const> = sample.real, sample.whole
local bool <const> = sample.bool

local rows = {}

for _, name in ipairs {"softmax", "log_softmax"} do
  rows[name] = {
    cases = {
      {real {2, 3}}, {real {2, 3, 2}, 2}, {real {2, 3}, 1}, {real {0, 3}},
      {real {2, 0}}, {real {1}},
    },
    errors = {
      {{real {2, 3}, 3},
        name .. ": dim must be 1..2 or -2..-1 for x [2 3], got 3"},
      {{real {2, 3}, 0},
        name .. ": dim must not be 0, counting starts at 1"},
      {{whole({2}, 1, 3)},
        name .. ": x must be float32 or float64, got int64 [2]"},
      {{1},
        name .. ": x must be a tensor, got 1"},
    },
  }
end

rows.logsumexp = {
  cases = {
    {real {2, 3}}, {real {2, 3}, 2}, {real {2, 3, 2}, {1, 3}, true},
    {real {1}}, {real {}}, {real {0, 3}, 2},
  },
  errors = {
    {{real {2, 3}, 3},
      "logsumexp: dim must be 1..2 or -2..-1 for x [2 3], got 3"},
    {{whole({2}, 1, 3)},
      "logsumexp: x must be float32 or float64, got int64 [2]"},
  },
}

rows.masked_softmax = {
  cases = {
    {real {2, 3}, bool {2, 3}}, {real {2, 2, 3}, bool {1, 3}},
    {real {2, 3}, heed.tensor {{true, true, true}, {false, false, false}}},
    {real {3, 2}, bool {3, 2}, 1}, {real {0, 3}, bool {3}},
    {real {1}, bool {1}},
  },
  errors = {
    {{real {2, 3}, real {2, 3}},
      "masked_softmax: mask must be bool, got float64 [2 3]"},
    {{real {2, 3}, bool {2}},
      "masked_softmax: mask [2] does not broadcast to x [2 3]"},
    {{whole({2}, 1, 3), bool {2}},
      "masked_softmax: x must be float32 or float64, got int64 [2]"},
    {{real {2}, bool {2}, 2},
      "masked_softmax: dim must be 1..1 or -1..-1 for x [2], got 2"},
  },
}

return rows
