--- Rows of ops that take positions or masks.

local heed = require "heed"
local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local whole <const>, bool <const> = sample.whole, sample.bool

local rows = {}

local at = heed.tensor

rows.index_select = {
  cases = {
    {real {3, 2}, at {3, 1, 3}}, {real {2, 3}, at {2}, 2},
    {real {3}, at {-1, 1}}, {real {3, 2}, at {{1, 3}, {2, 2}}},
    {real {3, 2}, heed.zeros({0}, "int64")},
    {real {1, 0}, at {1}}, {whole({3}, 1, 9), at {2}}, {bool {3}, at {2}},
    {real {3, 2}, at({3, -1}, {dtype = "int32"})},
    {real {3, 2}, at({3, 1}, {dtype = "uint8"})},
    {real({3, 2}):to("bfloat16"), at {3, 1, 1}},
    {real({3, 2}):to("bfloat16"), at {3, 1, 1}},
  },
  errors = {
    {{real {3}, at {4}},
      "index_select: index[1] must be 1..3 or -3..-1 for dim 1 of x [3], " ..
        "got 4"},
      {{real {3}, at {0}},
      "index_select: index[1] must be 1..3 or -3..-1 for dim 1 of x [3], " ..
        "got 0"},
    {{real {3}, real {2}},
      "index_select: index must be int64, int32 or uint8, got float64 [2]"},
    {{real {3}, at {1}, 2},
      "index_select: dim must be 1..1 or -1..-1 for x [3], got 2"},
  },
}

rows.index = {
  cases = {
    {real {3, 2}, {at {3, 1}}, 1},
    {real {3, 4}, {at {3, 1}, at {2, 2}}, {1, 2}},
    -- side by side: in their place
    {real {2, 3, 4}, {at {{3}, {1}}, at {1, 4, 4}}, {2, 3}},
    -- apart: in front
    {real {2, 3, 4}, {at {2, 1, -1}, at {4, 1, 1}}, {1, 3}},
    {real {2, 0, 2}, {at {2}}, 3}, {real {1}, {heed.zeros({0}, "int64")}, 1},
    {whole({3, 2}, 1, 9), {at({2, 3}, {dtype = "int32"})}, 1},
    {bool {2, 2}, {at {2}}, 2},
    {real({2, 3}):to("bfloat16"), {at {1, 2}, at {3, 1}}, {1, 2}},
  },
  errors = {
    {{real {3}, {at {4}}, 1},
      "index: index[1] must be 1..3 or -3..-1 for dim 1 of x [3], got 4"},
    {{real {3, 3}, {at {1}, at {{1, 0}}}, {1, 2}},
      "index: index 2[1][2] must be 1..3 or -3..-1 for dim 2 of x [3 3], " ..
        "got 0"},
    {{real {3, 3}, {at {1, 2}, at {1, 2, 3}}, {1, 2}},
      "index: index 2 [3] cannot be broadcast with [2] of the indices " ..
        "before it"},
    {{real {3, 3}, {at {1, 2}, real {2}}, {1, 2}},
      "index: index 2 must be int64, int32 or uint8, got float64 [2]"},
    {{real {3, 3}, {at {1}}, {2, 1}},
      "index: dims must name one dimension for each index, in rising order"},
    {{real {3, 3}, {}, {}},
      "index: dims must name one dimension for each index, in rising order"},
    {{real {3, 3}, {at {1}}, 3},
      "index: dim must be 1..2 or -2..-1 for x [3 3], got 3"},
    {{real {0, 3}, {at {1}}, 1},
      "index: index[1] is 1, but dim 1 of x [0 3] has no elements"},
  },
}

local function putting(name)
  rows[name] = {
    cases = {
      {real {3, 2}, other {2, 2}, {at {3, 1}}, 1},
      {real {3, 2}, other {2}, {at {2}}, 1},
      {real {3}, 1.5, {at {3, 1}}, 1}, {real {1}, other {1}, {at {1}}, 1},
      {real {3}, other {2}, {at {2, 2}}, 1}, -- twice the same place
      {real {3, 4}, other {2}, {at {3, 1}, at {2, 2}}, {1, 2}},
      {real {2, 3, 4}, other {2, 2, 1}, {at {{3}, {1}}, at {1, 4}}, {2, 3}},
      {real {2, 3, 2}, other {3}, {at {2, 2}, at {1, 1}}, {1, 3}},
      {real {3}, 1, {heed.zeros({0}, "int64")}, 1},
      {whole({3}, 1, 9), 7, {at {2}}, 1},
      {whole({3}, 1, 9):to("int32"), 7, {at {2, -2}}, 1},
      {whole({3}, 1, 9):to("uint8"), 255, {at {2, 3}}, 1},
      {real({3}):to("bfloat16"), 2, {at {3}}, 1},
    },
    errors = {
      {{real {3}, 1, {at {4}}, 1},
        name .. ": index[1] must be 1..3 or -3..-1 for dim 1 of x [3], got 4"},
      {{real {3}, real {3}, {at {1, 2}}, 1},
        name .. ": value [3] cannot be broadcast to the [2] that the index " ..
          "takes from x [3]"},
      {{real {3}, 1, {real {1}}, 1},
        name .. ": index must be int64, int32 or uint8, got float64 [1]"},
      {{real {3, 3}, 1, {at {1}, at {2}}, 1},
        name .. ": dims must name one dimension for each index, in rising " ..
          "order"},
    },
  }
end
putting "index_put"
putting "index_put_add"
table.insert(rows.index_put_add.errors, {{bool {3}, bool {1}, {at {1}}, 1},
  "index_put_add: x must hold numbers, got bool [3]"})

rows.index_add = {
  cases = {
    {real {3, 2}, 1, at {3, 1, 3}, other {3, 2}},
    {real {2, 3}, 2, at {2, 2}, other {2, 2}},
    {real {1}, 1, at {1}, other {1}},
    {real {3}, 1, heed.zeros({0}, "int64"), real {0}},
    {whole({3}, 1, 9), 1, at {2}, whole({1}, 1, 9)},
    {whole({3}, 1, 9):to("uint8"), 1, at({2, 2}, {dtype = "uint8"}),
      whole({2}, 100, 200):to("uint8")},
    {whole({3}, 1, 9):to("int32"), 1, at {2, 2},
      whole({2}, 100, 200):to("int32")},
  },
  errors = {
    {{real {3}, 1, at {4}, real {1}},
      "index_add: index[1] must be 1..3 or -3..-1 for dim 1 of x [3], got 4"},
    {{real {3}, 1, at {1, 2}, real {3}},
      "index_add: source must be [2] for x [3] and index [2], got [3]"},
    {{real {3}, 2, at {1}, real {1}},
      "index_add: dim must be 1..1 or -1..-1 for x [3], got 2"},
  },
}

rows.index_copy = {
  cases = {
    {real {3, 2}, 1, at {3, 1, 3}, other {3, 2}},
    {real {2, 3}, 2, at {2, 2}, other {2, 2}},
    {real {3}, 1, at {{1, 2}}, other {1, 2}},
    {real {1}, 1, at {1}, other {1}},
    {real {3}, 1, heed.zeros({0}, "int64"), real {0}},
    {whole({3}, 1, 9), 1, at({2}, {dtype = "int32"}), real {1}},
    {bool {3}, 1, at {2, -1}, bool {2}},
  },
  errors = {
    {{real {3}, 1, at {4}, real {1}},
      "index_copy: index[1] must be 1..3 or -3..-1 for dim 1 of x [3], got 4"},
    {{real {3}, 1, at {1, 2}, real {3}},
      "index_copy: source must be [2] for x [3] and index [2], got [3]"},
  },
}

rows.index_fill = {
  cases = {
    {real {3, 2}, 1, at {3, 1, 3}, 0.5}, {real {2, 3}, 2, at {2, 2}, other {}},
    {real {1}, 1, at {1}, 2}, {real {3}, 1, heed.zeros({0}, "int64"), 1},
    {whole({3}, 1, 9), 1, at {2}, 7}, {bool {3}, 1, at {2}, true},
    {real({3}):to("bfloat16"), 1, at {2}, 7},
  },
  errors = {
    {{real {3}, 1, at {4}, 1},
      "index_fill: index[1] must be 1..3 or -3..-1 for dim 1 of x [3], got 4"},
    {{real {3}, 1, at {1}, real {1}},
      "index_fill: value must be a number or a tensor without dimensions, " ..
        "got float64 [1]"},
  },
}

rows.gather = {
  cases = {
    {real {2, 3}, 2, at {{3, 1}, {2, 2}}}, {real {3, 2}, 1, at {{3, 1}}},
    {real {3}, 1, at {-1}}, {real {1}, 1, at {1, 1}},
    {real {2, 3}, 2, heed.zeros({2, 0}, "int64")},
    {whole({3}, 1, 9), 1, at {2}},
    {real({3}):to("bfloat16"), 1, at({2, 3}, {dtype = "uint8"})},
  },
  errors = {
    {{real {2, 3}, 2, at {{4}, {1}}},
      "gather: index[1][1] must be 1..3 or -3..-1 for dim 2 of x [2 3], " ..
        "got 4"},
    {{real {2, 3}, 2, at {1}},
      "gather: index [1] must have as many dimensions as x [2 3]"},
    {{real {2, 3}, 3, at {{1}, {1}}},
      "gather: dim must be 1..2 or -2..-1 for x [2 3], got 3"},
    {{real {3}, 1, real {1}},
      "gather: index must be int64, int32 or uint8, got float64 [1]"},
  },
}

local function scattering(name)
  rows[name] = {
    cases = {
      {real {2, 3}, 2, at {{3, 1}, {2, 2}}, other {2, 2}},
      {real {3, 2}, 1, at {{3, 1}}, other {1, 2}},
      {real {3}, 1, at {1, 3}, 0.5}, {real {1}, 1, at {1}, other {1}},
      {real {2, 3}, 2, heed.zeros({2, 0}, "int64"), other {2, 0}},
      {whole({3}, 1, 9), 1, at {2}, 4},
      {whole({3}, 1, 9):to("int32"), 1, at({2, 2}, {dtype = "int32"}),
        whole({2}, 1, 9):to("int32")},
      {whole({3}, 1, 9):to("uint8"), 1, at {2, 2},
        whole({2}, 100, 200):to("uint8")},
      {real({3}):to("bfloat16"), 1, at {2}, 4},
    },
    errors = {
      {{real {2, 3}, 2, at {{4}, {1}}, other {2, 1}},
        name .. ": index[1][1] must be 1..3 or -3..-1 for dim 2 of x [2 " ..
          "3], got 4"},
      {{real {2, 3}, 2, at {{1}, {1}}, other {3}},
        name .. ": index [2 1] must have as many dimensions as source [3]"},
      {{real {2, 3}, 2, at {1}, 0},
        name .. ": index [1] must have as many dimensions as x [2 3]"},
    },
  }
end
scattering "scatter"
scattering "scatter_add"

local reducing = {}
for _, reduce in ipairs {"sum", "prod", "mean", "amax", "amin"} do
  for _, self in ipairs {true, false} do
    for _, case in ipairs {
      {real {2, 3}, 2, at {{3, 1}, {2, 2}}, other {2, 2}},
      {real {3, 2}, 1, at {{3, 1}, {3, 1}}, other {4, 3}},
      {real {3}, -1, at {-1, 3, 1}, other {3}},
      {real {1}, 1, at {1}, other {2}},
      {real {2, 3}, 2, heed.zeros({2, 0}, "int64"), other {2, 3}},
      {whole({3}, 1, 9), 1, at {2, 2}, whole({2}, 1, 9)},
      {whole({3}, 1, 9):to("uint8"), 1, at {2, 2},
        whole({2}, 100, 200):to("uint8")},
    } do
      table.insert(case, reduce)
      table.insert(case, {include_self = self})
      table.insert(reducing, case)
    end
  end
end
-- factors of 0: none, one and two of them at a place
table.insert(reducing, {real {3}, 1, at {1, 2, 2, 3, 3, 3},
  at({2, 0, 3, 0, 0, 4}, {dtype = "float64"}), "prod"})

rows.scatter_reduce = {
  cases = reducing,
  errors = {
    {{real {3}, 1, at {4}, real {1}, "sum"},
      "scatter_reduce: index[1] must be 1..3 or -3..-1 for dim 1 of x [3], " ..
        "got 4"},
    {{real {3}, 1, at {1}, real {1}, "max"},
      "scatter_reduce: reduce must be one of sum|prod|mean|amax|amin, got max"},
    {{real {3}, 1, at {1, 2}, real {1}, "sum"},
      "scatter_reduce: index [2] must not be larger than source [1] in dim 1"},
    {{bool {3}, 1, at {1}, bool {1}, "sum"},
      "scatter_reduce: x and source must be numbers, got bool [3]"},
  },
}

local NAN <const> = 0/0

rows.searchsorted = {
  cases = {
    {at {10, 20, 20, 30}, at {{5, 10}, {20, 35}}},
    {at {10, 20, 20, 30}, at {{5, 10}, {20, 35}}, {right = true}},
    {at {{1, 2}, {3, 4}}, at {{2}, {2}}}, {at {1, 2}, 1.5}, {at {1}, 1},
    {heed.zeros {0}, at {1.0, 2}}, {at {1}, heed.zeros({0}, "int64")},
    {at {1.0, 2, NAN}, at {NAN, 1, 3}},
    {at {1.0, 2, NAN}, at {NAN, 1, 3}, true},
    {at({1, 200}, {dtype = "uint8"}), at({100}, {dtype = "uint8"})},
    {at({1, 2}, {dtype = "int32"}), at({2}, {dtype = "int32"})},
    {at({1, 2}, {dtype = "bfloat16"}), at {1.5}},
  },
  errors = {
    {{at {{1, 2}, {3, 4}}, at {1, 2, 3}},
      "searchsorted: sorted [2 2] must have one dimension, or all sizes but " ..
        "the last of values [3]"},
    {{at {{1, 2}}, 2},
      "searchsorted: sorted [1 2] must have one dimension, or all sizes but " ..
        "the last of values []"},
    {{at(1), at {1}},
      "searchsorted: sorted must have at least 1 dimension, got int64 []"},
  },
}

rows.masked_select = {
  cases = {
    {real {2, 3}, bool {2, 3}}, {real {2, 3}, bool {3}},
    {real {0}, bool {0}}, {real {1}, heed.tensor {true}},
    {whole({4}, 1, 9), bool {4}}, {real({4}):to("bfloat16"), bool {4}},
  },
  errors = {
    {{real {2}, real {2}},
      "masked_select: mask must be bool, got float64 [2]"},
    {{real {2}, bool {3}},
      "masked_select: x [2] and mask [3] cannot be broadcast together"},
  },
}

rows.nonzero = {
  cases = {
    {whole({2, 3}, 0, 1)}, {real {3}}, {bool {2, 2}}, {real {0, 2}},
    {real {}},
  },
  errors = {{{1}, "nonzero: x must be a tensor, got 1"}},
}

local function triangle(name)
  rows[name] = {
    cases = {
      {real {3, 4}}, {real {2, 3, 3}, 1}, {real {3, 3}, -1}, {real {0, 2}},
      {real {1, 1}}, {whole({2, 2}, 1, 9)}, {bool {2, 2}},
    },
    errors = {{{real {3}},
      name .. ": x must have at least 2 dimensions, got float64 [3]"},
    {{real {2, 2}, 0.5},
      name .. ": diagonal must be an integer, got 0.5"}},
  }
end
triangle "tril"
triangle "triu"

return rows
