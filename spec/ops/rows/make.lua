--- Rows of what makes tensors from nothing.

local rows = {}

local function filled(name, known, ...)
  local middle = table.pack(...)
  local function args(shape, options)
    local list = {shape, table.unpack(middle, 1, middle.n)}
    list[#list + 1] = options
    return list
  end
  rows[name] = {
    cases = {
      args {2, 3}, args {0, 2}, args {1}, args {},
      args({2}, {dtype = "float64"}), args({2}, {dtype = "int64"}),
      args({2}, {dtype = "bool"}), args({2}, {requires_grad = true}),
    },
    errors = {
      {args {2, -1},
        name .. ": size 2 of shape [2 -1] is negative"},
      {args({2}, {dtype = "half"}),
        name .. ": dtype must be bool, uint8, int32, int64, float16, " ..
          "bfloat16, float32 or float64, got half"},
      {args {2, 2, 1, 1 << 61},
        name .. ": shape [2 2 1 2305843009213693952] has too many elements"},
      {args({2}, {type = "bool"}),
        name .. ': unknown option "type"; known: ' .. known},
      {args {1, 1, 1, 1, 1, 1, 1, 1, 1},
        name .. ": shape has 9 entries, more than 8 dimensions are not " ..
          "possible"},
      {args({2}, {dtype = "int64", requires_grad = true}),
        name .. ": only float tensors can require gradients, got int64"},
    },
  }
end
filled("zeros", "shape, dtype, requires_grad")
filled("ones", "shape, dtype, requires_grad")
filled("full", "shape, value, dtype, requires_grad", 2.5)
filled("empty", "shape, dtype, requires_grad")
rows.empty.no_views = true -- two calls give other numbers

local heed = require "heed"

for _, case in ipairs {
  {{2}, 300}, {{2}, true}, {{2}, 7, {dtype = "uint8"}},
  {{2}, -1.5, {dtype = "int32"}}, {{2}, 1e6, {dtype = "float16"}},
  {{2}, (1 << 62) + 1}, {{}, heed.tensor {{1.5}}},
} do
  table.insert(rows.full.cases, case)
end
for _, case in ipairs {
  {{{2}, 300, {dtype = "uint8"}},
    "full: value must be 0..255 for uint8, got 300"},
  {{{2}, 3e9, {dtype = "int32"}},
    "full: value must be -2147483648..2147483647 for int32, got 3000000000"},
  {{{2}, 1e300, {dtype = "int64"}},
    "full: value must be -9223372036854775808..9223372036854775807 for " ..
      "int64, got 1.0000000000000001e+300"},
  {{{2}, 0/0, {dtype = "int64"}},
    "full: value must be -9223372036854775808..9223372036854775807 for " ..
      "int64, got nan"},
  {{{2}, heed.tensor {1, 2}},
    "full: value must be a number or have one element, got int64 [2]"},
  {{{2}, "1"},
    "full: value must be a tensor or a number, got \"1\""},
} do
  table.insert(rows.full.errors, case)
end

rows.eye = {
  cases = {{3}, {2, 3}, {0}, {1}, {2, {dtype = "int64"}}},
  errors = {{{-1},
    "eye: n and m must be at least 0, got -1 and -1"},
  {{},
    "eye: n is missing"},
  {{2.5},
    "eye: n must be an integer, got 2.5"}},
}

rows.arange = {
  cases = {
    {3}, {2, 5}, {0, 1, 0.25}, {5, 1, -2}, {0}, {1}, {0.5, 3},
    {1, 3, {dtype = "float64"}}, {1, 255, {dtype = "uint8"}},
    {0, 1, 0.5, {dtype = "bfloat16"}}, {-3, 3, {dtype = "int32"}},
  },
  errors = {{{1, 3, 0},
    "arange: first, last and step must be finite and step not 0, got 1, 3, " ..
      "0"},
    {{},
    "arange: first is missing"},
  {{1, 1e300},
    "arange: from 1 to 1e+300 by 1 has too many elements"},
  {{254, 256, {dtype = "uint8"}},
    "arange: number 3 of them is 256, but uint8 holds 0..255"}},
}

rows.linspace = {
  cases = {
    {0, 1, 5}, {3, -10, 6}, {2, 9, 1}, {2, 9, 0}, {2, 2, 3},
    {0, 10, 5, {dtype = "int64"}}, {0, 1, 3, {dtype = "bfloat16"}},
    {0, 1, 3, {requires_grad = true}}, {-1e308, 1e308, 3, "float64"},
  },
  errors = {
    {{0, 1, -1},
      "linspace: steps must be at least 0, got -1"},
    {{0, math.huge, 3},
      "linspace: first and last must be finite, got 0 and inf"},
    {{0, 1},
      "linspace: steps is missing"},
    {{0, 510, 3, "uint8"},
      "linspace: number 3 of them is 510, but uint8 holds 0..255"},
    {{0, 1, 3, "int64", true},
      "linspace: only float tensors can require gradients, got int64"},
  },
}

return rows
