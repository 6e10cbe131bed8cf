--- Rows of sorting and running sums.

local sample = require "spec.support.sample"

local real <const>, whole <const> = sample.real, sample.whole

local rows = {}

rows.sort = {
  cases = {
    {real {2, 4}}, {real {3, 2}, 1}, {real {5}, {descending = true}},
    {real {2, 0}}, {real {1}}, {whole({6}, 1, 3)},
  },
  errors = {{{real {2}, 2},
    "sort: dim must be 1..1 or -1..-1 for x [2], got 2"},
  {{1},
    "sort: x must be a tensor, got 1"}},
}

rows.topk = {
  cases = {
    {real {2, 4}, 2}, {real {3, 2}, 1, 1}, {real {5}, 3, {largest = false}},
    {real {2, 3}, 0}, {real {1}, 1}, {whole({6}, 1, 30), 2},
  },
  errors = {
    {{real {3}, 4},
      "topk: k must be 0..3 for dim 1 of x [3], got 4"},
    {{real {3}, -1},
      "topk: k must be 0..3 for dim 1 of x [3], got -1"},
    {{real {3}, 1, 2},
      "topk: dim must be 1..1 or -1..-1 for x [3], got 2"},
    {{real {3}},
      "topk: k is missing"},
  },
}

rows.cumsum = {
  cases = {
    {real {2, 3}, 1}, {real {2, 3}, -1}, {real {0, 2}, 1}, {real {1}, 1},
    {whole({4}, 1, 9), 1},
  },
  errors = {{{real {2}, 2},
    "cumsum: dim must be 1..1 or -1..-1 for x [2], got 2"},
  {{real {2}},
    "cumsum: dim is missing"}},
}

return rows
