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
