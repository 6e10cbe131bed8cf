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
        name .. ": unknown option type; known: " .. known},
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
    {1, 3, {dtype = "float64"}},
  },
  errors = {{{1, 3, 0},
    "arange: first, last and step must be finite and step not 0, got 1, 3, " ..
      "0"},
    {{},
    "arange: first is missing"},
  {{1, 1e300},
    "arange: from 1 to 1e+300 by 1 has too many elements"}},
}

return rows
