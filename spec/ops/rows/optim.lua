--- Rows of the steps of optimisers.

local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local positive <const>, whole <const> = sample.positive, sample.whole

local rows = {}

local function adam(shape, ...)
  return {
    real(shape), other(shape), other(shape), positive(shape), ...,
  }
end

rows.adam_ = {
  cases = {
    adam({2, 3}, nil, 2, 1e-2, 0.9, 0.99, 1e-8, 0.1),
    adam({5}, positive {5}, 1, 1e-2, 0.9, 0.99, 1e-8, 0.1, true, true),
    adam({0}, nil, 1, 1e-2, 0.9, 0.99, 1e-8, 0),
    adam({1}, nil, 1, 1e-2, 0.9, 0.99, 1e-8, 0),
  },
  errors = {
    {{real {2}, real {3}, real {2}, real {2}, nil, 1, 1e-2, 0.9, 0.99, 1e-8,
      0},
        "adam_: grad must be float64 [2] like x, got float64 [3]"},
    {adam({2}, real {3}, 1, 1e-2, 0.9, 0.99, 1e-8, 0),
      "adam_: vmax must be float64 [2] like x, got float64 [3]"},
    {adam({2}, nil, 0, 1e-2, 0.9, 0.99, 1e-8, 0),
      "adam_: step must be at least 1, got 0"},
    {{whole({2}, 1, 2), real {2}, real {2}, real {2}, nil, 1, 1e-2, 0.9,
      0.99, 1e-8, 0},
        "adam_: x must be float32 or float64, got int64 [2]"},
  },
}

rows.sgd_ = {
  cases = {
    {real {2, 3}, other {2, 3}, nil, 0.1, 0, 0, 0.1, false},
    {real {2, 3}, other {2, 3}, positive {2, 3}, 0.1, 0.9, 0.2, 0, false},
    {real {4}, other {4}, positive {4}, 0.1, 0.9, 0, 0, true, true, true},
    {real {0}, other {0}, nil, 0.1, 0, 0, 0, false},
    {real {1}, other {1}, nil, 0.1, 0, 0, 0, false},
  },
  errors = {
    {{real {2}, real {3}, nil, 0.1, 0, 0, 0, false},
      "sgd_: grad must be float64 [2] like x, got float64 [3]"},
    {{real {2}, real {2}, real {3}, 0.1, 0.9, 0, 0, false},
      "sgd_: m must be float64 [2] like x, got float64 [3]"},
    {{whole({2}, 1, 2), real {2}, nil, 0.1, 0, 0, 0, false},
      "sgd_: x must be float32 or float64, got int64 [2]"},
  },
}

rows.joint_norm = {
  cases = {
    {{real {2, 3}, other {4}}}, {{real {2, 3}, other {4}}, 1},
    {{real {3}}, 3}, {{real {3}, other {2}}, math.huge}, {{real {0}}},
    {{real {1}}}, {{}},
  },
  errors = {
    {{{real {2}}, 0},
      "joint_norm: p must be above 0, got 0"},
    {{{real {2}}, -1},
      "joint_norm: p must be above 0, got -1"},
    {{{whole({2}, 1, 2)}},
      "joint_norm: tensors[1] must be float32 or float64, got int64 [2]"},
    {{1},
      "joint_norm: tensors must be a list of tensors, got 1"},
  },
}

return rows
