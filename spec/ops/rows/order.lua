--- Rows of sorting and running sums.

local heed = require "heed"
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

for _, dtype in ipairs {"bool", "uint8", "int32", "int64"} do
  for dim = 1, 2 do
    local x = whole({30, 50}, 0, 200):to(dtype)
    table.insert(rows.sort.cases, {x, dim})
    table.insert(rows.sort.cases, {x, dim, true})
    table.insert(rows.topk.cases, {x, 3, dim})
    table.insert(rows.topk.cases, {x, 25, dim, false})
  end
end

-- One element of each line, or of all.
for _, name in ipairs {"median", "nanmedian"} do
  rows[name] = {
    cases = {
      {real {2, 5}}, {real {4}}, {real {}}, {real {2, 5}, 2},
      {real {4, 3, 2}, 1}, {real {4, 3}, -2, true}, {real {0, 3}, 2},
      {real {60}, 1}, {real {60, 2}, 1}, {whole({3, 50}, -4, 9), 2},
      {whole({3, 50}, 0, 9):to("uint8"), 2},
      {whole({3, 50}, -4, 9):to("int32"), 2}, {whole({7}, 0, 1):to("bool")},
    },
    errors = {
      {{real {2, 3}, 3},
        name .. ": dim must be 1..2 or -2..-1 for x [2 3], got 3"},
      {{real {2, 3}, {1, 2}},
        name .. ": dim must be one dimension, got 2"},
      {{real {0, 3}, 1},
        name .. ": x [0 3] has no elements to choose from"},
      {{real {0}},
        name .. ": x [0] has no elements to choose from"},
    },
  }
end

rows.kthvalue = {
  cases = {
    {real {2, 5}, 2}, {real {4, 3}, 4, 1}, {real {4, 3}, 1, -2, true},
    {real {1}, 1}, {real {0, 3}, 1}, {real {60, 2}, 33, 1},
    {whole({2, 60}, -4, 9), 33},
    {whole({2, 60}, -4, 9):to("int32"), 33, {keepdim = true}},
  },
  errors = {
    {{real {2, 3}, 4},
      "kthvalue: k must be 1..3 for dim 2 of x [2 3], got 4"},
    {{real {2, 3}, 0},
      "kthvalue: k must be 1..3 for dim 2 of x [2 3], got 0"},
    {{real {2, 0}, 1},
      "kthvalue: x [2 0] has no elements to choose from"},
    {{real {2, 3}, 1, 3},
      "kthvalue: dim must be 1..2 or -2..-1 for x [2 3], got 3"},
  },
}

rows.mode = {
  cases = {
    {whole({3, 50}, -4, 9)}, {whole({50, 3}, -4, 9):to("int32"), 1},
    {whole({5}, 0, 1):to("bool")}, {real {2, 3}, 1, true}, {real {0, 3}},
  },
  errors = {
    {{real {2, 0}},
      "mode: x [2 0] has no elements to choose from"},
    {{real {2, 3}, 3},
      "mode: dim must be 1..2 or -2..-1 for x [2 3], got 3"},
  },
}

rows.histc = {
  cases = {
    {real {20}, 4}, {real {4, 5}, 7, -1, 1}, {real {0}, 3}, {real {3}, 1},
    {whole({30}, 0, 9), 5}, {heed.tensor {1.0, 1.0, 0 / 0}, {min = 0, max = 2}},
  },
  errors = {
    {{real {3}, 0}, "histc: bins must be at least 1, got 0"},
    {{real {3}, 4, 2, 1}, "histc: min must not be above max, got 2 and 1"},
    {{heed.tensor {1, math.huge}, 4},
      "histc: the range of x from 1 to inf is not finite; give min and max"},
    {{heed.tensor {1, -(0 / 0)}},
      "histc: the range of x from nan to nan is not finite; give min and max"},
  },
}

rows.bincount = {
  cases = {
    {whole({20}, 1, 6)}, {whole({20}, 1, 6), real {20}},
    {whole({9}, 1, 3):to("int32"), real {9}, 5}, {whole({0}, 1, 3)},
    {whole({9}, 1, 3):to("uint8"), {minlength = 7}},
    {whole({4}, 1, 3), whole({4}, 1, 9)},
  },
  errors = {
    {{real {3}},
      "bincount: ids must be integers in one dimension, got float64 [3]"},
    {{heed.tensor {1, 0}}, "bincount: ids[2] must be at least 1, got 0"},
    {{heed.tensor {1, 2}, real {3}},
      "bincount: weights [3] must have the shape of ids [2]"},
    {{heed.tensor {1, 2}, {minlength = -1}},
      "bincount: minlength must not be negative, got -1"},
  },
}

-- Running sums and the like: along every dimension, long and short.
local function running(name, floats)
  rows[name] = {
    cases = {
      {real {2, 3}, 1}, {real {2, 3}, -1}, {real {0, 2}, 1}, {real {0, 2}, 2},
      {real {1}, 1}, {real {2, 5, 3}, 2}, {real {30}, 1}, {real {9, 20}, 1},
    },
    errors = {
      {{real {2}, 2},
        name .. ": dim must be 1..1 or -1..-1 for x [2], got 2"},
      {{heed.tensor(1.0), 1},
        name .. ": x has no dimensions, so dim 1 is out of range"},
      {{real {2}},
        name .. ": dim is missing"},
    },
  }
  if floats then
    table.insert(rows[name].errors, {{whole({4}, 1, 9), 1},
      name .. ": x must be float32 or float64, got int64 [4]"})
    return
  end
  for _, dtype in ipairs {"bool", "uint8", "int32", "int64"} do
    for dim = 1, 2 do
      table.insert(rows[name].cases,
        {whole({3, 4}, 0, 5):to(dtype), dim})
    end
  end
end

running("cumsum")
running("cumprod")
running("cummax")
running("cummin")
running("logcumsumexp", true)
table.insert(rows.cumprod.cases, {heed.tensor({{2, 0, 3, 4}, {0, 5, 0, 2}},
  {dtype = "float64"}), 2})

return rows
