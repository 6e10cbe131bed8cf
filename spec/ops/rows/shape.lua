--- Rows of shapes and views.

local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local whole <const>, bool <const> = sample.whole, sample.bool

local rows = {}

local no_tensor = function(name)
  return {{1}, name .. ": x must be a tensor, got 1"}
end

rows.reshape = {
  cases = {
    {real {2, 3}, {3, 2}}, {real {2, 3}, {-1}}, {real {2, 3}, 1, 6},
    {real {1}, {}}, {real {0, 3}, {3, 0}}, {whole({4}, 1, 9), {2, 2}},
    {bool {4}, {2, -1}},
  },
  errors = {
    {{real {2, 3}, {4}},
      "reshape: x [2 3] with 6 elements cannot become [4]"},
    {{real {2, 3}, {-1, -1}},
      "reshape: x [2 3] with 6 elements cannot become [-1 -1]"},
    {{real {2, 3}, {-1, 4}},
      "reshape: x [2 3] with 6 elements cannot become [-1 4]"},
    {{real {2, 3}, {-2, -3}},
      "reshape: x [2 3] with 6 elements cannot become [-2 -3]"},
    no_tensor "reshape",
  },
}

-- `view` wants what lies in one piece, so views as inputs are no case
rows.view = {
  cases = {
    {real {2, 3}, {3, 2}}, {real {1}, {1, 1}}, {real {0, 3}, {0}},
    {whole({4}, 1, 9), {2, 2}},
  },
  errors = {
    {{real {2, 3}, {4}},
      "view: x [2 3] with 6 elements cannot become [4]"},
    {{real {2, 3}:transpose(), {6}},
      "view: x [3 2] is not laid out so that it can be seen as [6]; use " ..
        "reshape"}, no_tensor "view",
  },
  no_views = true,
}

rows.permute = {
  cases = {
    {real {2, 3, 4}, {3, 1, 2}}, {real {2, 3}, 2, 1}, {real {0, 1, 2}, 2, 3, 1},
    {real {2, 1}, {-1, 1}}, {bool {2, 3}, {2, 1}},
  },
  errors = {
    {{real {2, 3}, {1, 1}},
      "permute: dim 1 is given twice"},
    {{real {2, 3}, {1}},
      "permute: dims must name all 2 dimensions of x [2 3], got 1"},
    {{real {2, 3}, {1, 3}},
      "permute: dim must be 1..2 or -2..-1 for x [2 3], got 3"},
    no_tensor "permute",
  },
}

rows.transpose = {
  cases = {
    {real {2, 3}}, {real {2, 3, 4}, 1, 3}, {real {0, 2}}, {real {1, 1}},
    {whole({2, 2}, 1, 9)},
  },
  errors = {
    {{real {2, 3}, 1, 3},
      "transpose: dim must be 1..2 or -2..-1 for x [2 3], got 3"},
    {{real {2, 3}, 0, 1},
      "transpose: dim1 must not be 0, counting starts at 1"},
    {{real {3}},
      "transpose: dim must be 1..1 or -1..-1 for x [3], got -2"},
  },
}

rows.expand = {
  cases = {
    {real {3, 1}, {3, 4}}, {real {3}, {2, 3}}, {real {1}, {0}},
    {real {}, {2, 2}}, {real {2, 1, 3}, {4, 2, 2, 3}}, {bool {1}, {3}},
  },
  errors = {
    {{real {2, 3}, {2, 4}},
      "expand: x [2 3] cannot be expanded to [2 4]"},
    {{real {2, 3}, {3}},
      "expand: x [2 3] cannot be expanded to [3]"},
    {{real {1}, {-2}},
      "expand: x [1] cannot be expanded to [-2]"},
    {{real {1}, {1 << 40, 1 << 40}},
      "expand: shape [1099511627776 1099511627776] has too many elements"},
  },
}

rows.squeeze = {
  cases = {
    {real {2, 1, 3, 1}}, {real {2, 1, 3}, 2}, {real {2, 3}, 1},
    {real {1, 0}}, {real {1, 1}, {1, -1}}, {bool {1}},
  },
  errors = {
    {{real {2, 1}, 3},
      "squeeze: dim must be 1..2 or -2..-1 for x [2 1], got 3"},
    no_tensor "squeeze",
  },
}

rows.unsqueeze = {
  cases = {
    {real {2, 3}, 2}, {real {2, 3}, -1}, {real {2, 3}, 3}, {real {}, 1},
    {real {0}, 1}, {bool {2}, 1},
  },
  errors = {
    {{real {2}, 3},
      "unsqueeze: dim must be 1..2 or -2..-1 for x [2], got 3"},
    {{real {2}, 0},
      "unsqueeze: dim must not be 0, counting starts at 1"},
    {{real {2}},
      "unsqueeze: dim is missing"},
    {{real {1, 1, 1, 1, 1, 1, 1, 1}, 1},
      "unsqueeze: x [1 1 1 1 1 1 1 1] has 8 dimensions already"},
  },
}

rows.flatten = {
  cases = {
    {real {2, 3, 4}}, {real {2, 3, 4}, 2}, {real {2, 3, 4}, 1, 2}, {real {}},
    {real {2, 0, 3}, 2}, {real {1, 1}}, {bool {2, 2}},
  },
  errors = {
    {{real {2, 3}, 2, 1},
      "flatten: first 2 lies behind last 1"},
    {{real {2, 3}, 3},
      "flatten: dim must be 1..2 or -2..-1 for x [2 3], got 3"},
  },
}

rows.slice = {
  cases = {
    {real {5, 2}, 1, 2, 4}, {real {2, 5}, -1, 1, -1, 2},
    {real {2, 5}, 2, -2}, {real {2, 0}, 2}, {real {1}, 1},
    {real {4}, 1, 3, 2}, {whole({5}, 1, 9), 1, 2, 3},
    {real {5}, 1, 4, 2, -2}, {real {5}, 1, 1, 5, 1 << 62},
    {real {5}, 1, 5, 1, math.mininteger},
  },
  errors = {
    {{real {5}, 1, 2, 6},
      "slice: last must be 1..5 or -5..-1 for x [5], got 6"},
    {{real {5}, 1, 0, 3},
      "slice: first must not be 0, counting starts at 1"},
    {{real {5}, 2, 1, 2},
      "slice: dim must be 1..1 or -1..-1 for x [5], got 2"},
    {{real {5}, 1, 1, 5, 0},
      "slice: step must not be 0"},
    {{real {5}, 1, -6, 5},
      "slice: first must be 1..5 or -5..-1 for x [5], got -6"},
  },
}

rows.unfold = {
  cases = {
    {real {5}, 1, 3, 1}, {real {2, 7}, -1, 2, 3}, {real {4, 3}, 1, 2},
    {real {3}, 1, 3}, {real {3, 0}, 1, 2}, {real {5}, 1, 1, 1 << 60},
    {whole({5}, 1, 9), 1, 2}, {bool {4}, 1, 2, 2},
  },
  errors = {
    {{real {5}, 1, 6},
      "unfold: size must be 1..5 for dim 1 of x [5], got 6"},
    {{real {5}, 1, 0},
      "unfold: size must be 1..5 for dim 1 of x [5], got 0"},
    {{real {5}, 1, 2, 0},
      "unfold: step must be at least 1, got 0"},
    {{real({1}):expand(1 << 40), 1, 1 << 39},
      "unfold: shape [549755813889 549755813888] has too many elements"},
    {{real {5}, 2, 2},
      "unfold: dim must be 1..1 or -1..-1 for x [5], got 2"},
    {{real {1, 1, 1, 1, 1, 1, 1, 1}, 1, 1},
      "unfold: x [1 1 1 1 1 1 1 1] has 8 dimensions already"},
  },
}

rows.select = {
  cases = {
    {real {2, 3}, 1, 2}, {real {2, 3}, -1, -1}, {real {3}, 1, 1},
    {real {2, 0}, 1, 1}, {bool {2, 2}, 2, 1},
  },
  errors = {
    {{real {2, 3}, 1, 3},
      "select: index must be 1..2 or -2..-1 for x [2 3], got 3"},
    {{real {2, 3}, 3, 1},
      "select: dim must be 1..2 or -2..-1 for x [2 3], got 3"},
    {{real {2, 3}, 1, 0},
      "select: index must not be 0, counting starts at 1"},
    {{real {2, 3}, 1},
      "select: index is missing"},
  },
}

rows.cat = {
  cases = {
    {{real {2, 3}, other {1, 3}}}, {{real {2, 3}, other {2, 1}}, -1},
    {{real {2}}}, {{real {0, 3}, other {2, 3}}, 1},
    {{whole({2}, 1, 3), whole({1}, 1, 3)}},
  },
  errors = {
    {{{}},
      "cat: tensors must not be empty"},
    {{{real {2, 3}, real {2, 4}}},
      "cat: tensor 2 [2 4] must agree with tensor 1 [2 3] in all sizes but " ..
        "that of dim 1"},
    {{{real {2}, whole({2}, 1, 2)}},
      "cat: tensors must have one dtype, got float64 at 1 and int64 at 2"},
    {{{real {2}}, 2},
      "cat: dim must be 1..1 or -1..-1 for tensors [2], got 2"},
    {{{real {2}, 1}},
      "cat: tensors[2] must be a tensor, got 1"},
    {{1},
      "cat: tensors must be a list of tensors, got 1"},
  },
}

rows.stack = {
  cases = {
    {{real {2, 3}, other {2, 3}}}, {{real {2, 3}, other {2, 3}}, -1},
    {{real {}}}, {{real {0}, other {0}}, 2}, {{bool {2}, bool {2}}, 2},
  },
  errors = {
    {{{}},
      "stack: tensors must not be empty"},
    {{{real {2}, real {3}}},
      "stack: tensor 2 [3] must have the shape of tensor 1 [2]"},
    {{{real {2}}, 3},
      "stack: dim must be 1..2 or -2..-1 for tensors [2], got 3"},
  },
}

rows.flip = {
  cases = {
    {real {2, 3}}, {real {2, 3}, 2}, {real {2, 3, 2}, {1, -1}}, {real {0}},
    {real {1}}, {whole({3}, 1, 9)}, {bool {3}},
  },
  errors = {{{real {2}, 2},
    "flip: dim must be 1..1 or -1..-1 for x [2], got 2"},
  {{real {2, 2}, {1, 1}},
    "flip: dim 1 is given twice"}},
}

return rows
