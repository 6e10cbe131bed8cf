--- Rows of additive and of linear attention.

local heed = require "heed"
local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local positive <const>, bool <const> = sample.positive, sample.bool
local whole <const> = sample.whole

local rows = {}

rows.additive_scores = {
  cases = {
    {real {2, 3, 4}, other {2, 2, 4}, positive {4}},
    {real {3, 9}, other {5, 9}, other {9}},
    {real {2, 2, 3, 2}, other {2, 2, 4, 2}, other {2}, bool {2, 1, 3, 4}},
    {real {2, 5, 3}, other {2, 3, 3}, other {3}, bool {2, 1, 3}},
    {real {5, 3}, other {3, 3}, other {3}, bool {5, 1}},
    -- beyond what e^2x can hold
    {real {2, 3, 4} * 30, other {2, 2, 4} * 30, positive {4}},
    {real {1, 1}, other {1, 1}, other {1}},
    {real {0, 3, 2}, other {0, 4, 2}, other {2}},
    {real {2, 0, 2}, other {2, 4, 2}, other {2}},
    {real {2, 3, 2}, other {2, 0, 2}, other {2}},
    {real {2, 3, 0}, other {2, 4, 0}, other {0}},
  },
  errors = {
    {{real {2, 3, 4}, real {2, 3, 5}, real {4}},
      "additive_scores: q [2 3 4] and k [2 3 5] must agree in all sizes " ..
        "but the last but one, time"},
    {{real {2, 3, 4}, real {3, 3, 4}, real {4}},
      "additive_scores: q [2 3 4] and k [3 3 4] must agree in all sizes " ..
        "but the last but one, time"},
    {{real {4}, real {3, 4}, real {4}},
      "additive_scores: q must have at least 2 dimensions, got float64 [4]"},
    {{real {3, 4}, real {2, 4}, real {3}},
      "additive_scores: w must be [4], one number a column of q [3 4], got " ..
        "[3]"},
    {{real {3, 4}, real {2, 4}, heed.ones(4)},
      "additive_scores: q, k and w must have one dtype, got float64, " ..
        "float64 and float32"},
    {{real {3, 4}, real {2, 4}, real {4}, real {3, 2}},
      "additive_scores: mask must be bool, got float64 [3 2]"},
    {{real {3, 4}, real {2, 4}, real {4}, bool {3, 3}},
      "additive_scores: mask [3 3] does not broadcast to [3 2]"},
    {{whole({3, 4}, 1, 3), whole({2, 4}, 1, 3), whole({4}, 1, 3)},
      "additive_scores: q must be float32 or float64, got int64 [3 4]"},
  },
}

rows.linear_attention = {
  cases = {
    {real {2, 3, 4}, other {2, 5, 4}, positive {2, 5, 2}},
    {real {2, 3, 4}, other {2, 3, 4}, positive {2, 3, 2}, 0, true},
    {real {3, 4} - 3, other {3, 4} * 5, real {3, 2}, {eps = 0.5}},
    -- more than a chunk, more than a block
    {real {70, 1}, other {70, 1}, positive {70, 2}, {causal = true}},
    {real {3, 1}, other {130, 1}, positive {130, 2}},
    -- enough entries for uncut sums
    {real {2, 4, 3, 1}, other {2, 4, 3, 1}, positive {2, 4, 3, 1}},
    {real {2, 4, 3, 1}, other {2, 4, 3, 1}, positive {2, 4, 3, 1}, 0, true},
    {real {1, 1}, other {1, 1}, other {1, 1}},
    {real {0, 3, 2}, other {0, 3, 2}, other {0, 3, 2}},
    {real {2, 0, 2}, other {2, 0, 2}, other {2, 0, 2}},
    {real {2, 0, 2}, other {2, 0, 2}, other {2, 0, 2}, {causal = true}},
    {real {2, 3, 2}, other {2, 0, 2}, other {2, 0, 2}},
    {real {2, 0, 2}, other {2, 3, 2}, other {2, 3, 2}},
    {real {2, 3, 0}, other {2, 3, 0}, other {2, 3, 2}},
    {real {2, 3, 2}, other {2, 3, 2}, other {2, 3, 0}},
    {real {2, 3, 2}, other {2, 3, 2}, other {2, 3, 0}, {causal = true}},
  },
  errors = {
    {{real {2, 3, 4}, real {2, 3, 5}, real {2, 3, 4}},
      "linear_attention: q [2 3 4], k [2 3 5] and v [2 3 4] must be " ..
        "[.. Tq D], [.. Tk D] and [.. Tk Dv]"},
    {{real {2, 3, 4}, real {2, 3, 4}, real {2, 2, 4}},
      "linear_attention: q [2 3 4], k [2 3 4] and v [2 2 4] must be " ..
        "[.. Tq D], [.. Tk D] and [.. Tk Dv]"},
    {{real {3, 4}, real {2, 4}, real {2, 4}, {causal = true}},
      "linear_attention: causal needs as many queries as keys, got 3 and 2"},
    {{real {4}, real {3, 4}, real {4}},
      "linear_attention: q must have at least 2 dimensions, got float64 [4]"},
    {{whole({3, 4}, 1, 3), whole({3, 4}, 1, 3), whole({3, 4}, 1, 3)},
      "linear_attention: q must be float32 or float64, got int64 [3 4]"},
  },
}

rows.causal_product = {
  cases = {
    {real {2, 3, 4}, other {2, 3, 4}, positive {2, 3, 2}},
    {real {2, 3, 4}, other {2, 3, 4}, positive {2, 3, 2}, true},
    -- more than a chunk
    {real {70, 1}, other {70, 1}, positive {70, 2}},
    {real {70, 1}, other {70, 1}, positive {70, 2}, {reverse = true}},
    {real {2, 2, 3, 1}, other {2, 2, 3, 1}, positive {2, 2, 3, 1}},
    {real {1, 1}, other {1, 1}, other {1, 1}},
    {real {0, 3, 2}, other {0, 3, 2}, other {0, 3, 2}},
    {real {2, 0, 2}, other {2, 0, 2}, other {2, 0, 2}},
    {real {2, 3, 0}, other {2, 3, 0}, other {2, 3, 2}},
    {real {2, 3, 2}, other {2, 3, 2}, other {2, 3, 0}},
  },
  errors = {
    {{real {2, 3, 4}, real {2, 3, 5}, real {2, 3, 4}},
      "causal_product: q [2 3 4], k [2 3 5] and v [2 3 4] must be " ..
        "[.. T D], [.. T D] and [.. T Dv]"},
    {{real {2, 3, 4}, real {2, 3, 4}, real {2, 2, 4}},
      "causal_product: q [2 3 4], k [2 3 4] and v [2 2 4] must be " ..
        "[.. T D], [.. T D] and [.. T Dv]"},
    {{real {4}, real {4}, real {4}},
      "causal_product: q must have at least 2 dimensions, got float64 [4]"},
    {{real {3, 4}, real {3, 4}, heed.ones(3, 4)},
      "causal_product: q, k and v must have one dtype, got float64, " ..
        "float64 and float32"},
    {{whole({3, 4}, 1, 3), whole({3, 4}, 1, 3), whole({3, 4}, 1, 3)},
      "causal_product: q must be float32 or float64, got int64 [3 4]"},
  },
}

return rows
