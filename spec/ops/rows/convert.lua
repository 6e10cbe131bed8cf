--- Rows of copies and dtypes.

local sample = require "spec.support.sample"

local real <const>, whole <const> = sample.real, sample.whole

local rows = {}

rows.to = {
  cases = {
    {real {2, 3}, "float64"}, {real {2, 3}, "float32"},
    {real {2, 3}, "int64"}, {real {2, 3}, "bool"}, {real {0}, "float64"},
    {real {1}, "float64"}, {whole({3}, 0, 5), "float64"},
    {whole({3}, 0, 1), "bool"}, {sample.bool {3}, "int64"},
    {real {3}, "int32"}, {whole({3}, 0, 5), "uint8"},
    {whole({3}, -5, 5), "int32"},
  },
  errors = {
    {{real {2}, "half"},
      "to: dtype must be bool, uint8, int32, int64, float16, bfloat16, " ..
        "float32 or float64, got half"},
    {{real {2}},
      "to: dtype is missing"},
    {{real {2}, 1},
      "to: dtype must be a string, got 1"},
  },
  atol = 1e-1, -- differences in float32 lose their digits
}

local function copy(name)
  rows[name] = {
    cases = {
      {real {2, 3}}, {real {0, 3}}, {real {1}}, {real {}},
      {whole({3}, 0, 5)}, {sample.bool {3}},
      {real {2, 3}:transpose()},
    },
    errors = {{{1}, name .. ": x must be a tensor, got 1"}},
  }
end
copy "clone"
copy "contiguous"
copy "detach"

rows.fill_ = {
  cases = {
    {real {2, 3}, 1.5}, {real {2}, sample.other {}}, {real {0}, 1},
    {real {1}, 2}, {whole({3}, 0, 5), 7}, {sample.bool {3}, true},
    {whole({3}, 0, 5):to("uint8"), 255}, {real({2}):to("bfloat16"), 0.5},
  },
  errors = {
    {{real {2}, real {2}},
      "fill_: value must be a number or a tensor without dimensions, got " ..
        "float64 [2]"},
    {{whole({3}, 0, 5):to("uint8"), 256},
      "fill_: value must be 0..255 for uint8, got 256"},
    {{whole({3}, 0, 5):to("int32"), 0/0},
      "fill_: value must be -2147483648..2147483647 for int32, got nan"},
    {{1, 2}, "fill_: x must be a tensor, got 1"},
  },
}

return rows
