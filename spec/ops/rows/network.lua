--- Rows of matrix products, norms, losses, embeddings and dropout.

local heed = require "heed"
local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local positive <const>, whole <const> = sample.positive, sample.whole

local rows = {}

rows.matmul = {
  cases = {
    {real {2, 3}, other {3, 4}}, {real {3}, other {3}},
    {real {3}, other {3, 2}}, {real {2, 3}, other {3}},
    {real {2, 2, 3}, other {3, 2}}, {real {2, 1, 2, 3}, other {2, 3, 2}},
    {real {0, 3}, other {3, 2}}, {real {2, 0}, other {0, 3}},
    {real {1, 1}, other {1, 1}}, {real {3}, other {2, 3, 2}},
    {real {2, 2, 3}, other {3}}, {real {2, 2, 0}, other {0, 3}},
    {real {0, 2, 3}, other {3, 2}}, {real {2, 3, 0, 2}, other {2, 4}},
    {real {0}, other {0}},
  },
  errors = {
    {{real {2, 3}, real {2, 3}},
      "matmul: a [2 3] and b [2 3]: inner sizes 3 and 2 differ"},
    {{real {2, 2, 3}, real {3, 3, 2}},
      "matmul: a [2 2 3] and b [3 3 2]: batch sizes [2] and [3] cannot be " ..
        "broadcast together"},
    {{whole({2, 2}, 1, 3), whole({2, 2}, 1, 3)},
      "matmul: a must be float32 or float64, got int64 [2 2]"},
    {{real {}, real {2}},
      "matmul: a must have at least 1 dimension, got float64 []"},
    {{real {2, 3}},
      "matmul: b is missing"},
  },
}

rows.linear = {
  cases = {
    {real {2, 3}, other {4, 3}, positive {4}}, {real {2, 2, 3}, other {2, 3}},
    {real {3}, other {2, 3}, positive {2}}, {real {0, 3}, other {2, 3}},
    {real {1, 1}, other {1, 1}, positive {1}},
  },
  errors = {
    {{real {2, 3}, real {4, 2}},
      "linear: x [2 3] must end in 2, the input size of weight [4 2]"},
    {{real {2, 3}, real {4, 3}, real {3}},
      "linear: bias must be [4] like the output size of weight [4 3], got " ..
        "[3]"},
    {{real {2, 3}, real {3}},
      "linear: weight must be (n, k), got float64 [3]"},
    {{real {2, 3}},
      "linear: weight is missing"},
  },
}

rows.layer_norm = {
  cases = {
    {real {2, 4}, {4}, positive {4}, other {4}}, {real {2, 4}, {4}},
    {real {2, 2, 3}, {2, 3}, positive {2, 3}}, {real {0, 4}, {4}},
    {real {2, 4}, {4}, nil, other {4}, 0.1, n = 5},
  },
  errors = {
    {{real {2, 4}, {3}},
      "layer_norm: x [2 4] must end in normalized [3]"},
    {{real {2, 4}, {4}, real {3}},
      "layer_norm: weight [3] must be of the normalized shape [4]"},
    {{whole({2, 4}, 1, 3), {4}},
      "layer_norm: x must be float32 or float64, got int64 [2 4]"},
    {{real {4}, {2, 4}},
      "layer_norm: x [4] must end in normalized [2 4]"},
    {{real {4}, {}},
      "layer_norm: normalized must name at least one size"},
  },
}

rows.rms_norm = {
  cases = {
    {real {2, 4}, {4}, positive {4}}, {real {2, 4}, {4}},
    {real {2, 2, 3}, {2, 3}, positive {2, 3}}, {real {0, 4}, {4}},
    {real {2, 4}, {4}, {eps = 0.1}}, {real {1}, {1}},
  },
  errors = {
    {{real {2, 4}, {3}},
      "rms_norm: x [2 4] must end in normalized [3]"},
    {{real {2, 4}, {4}, real {3}},
      "rms_norm: weight [3] must be of the normalized shape [4]"},
    {{whole({2, 4}, 1, 3), {4}},
      "rms_norm: x must be float32 or float64, got int64 [2 4]"},
  },
}

rows.rotary_embedding = {
  cases = {
    {real {2, 3, 4}}, {real {2, 2, 3, 6}, {style = "interleaved"}},
    {real {2, 3, 2, 4}, heed.tensor {{4, 9}, {1, 2}}, {base = 100.0}},
    {real {2, 3, 4}, heed.tensor {7, 1, 1}, positive {1}, {dims = 2}},
    {real {3, 5}, {dims = 4, offset = -3, scaling = 2.5}},
    {real {2, 4}, {inverse = true, style = "interleaved"}},
    {real {2, 4}, {dims = 0}}, {real {0, 3, 4}}, {real {2, 0, 4}},
    {real {2, 3, 0}}, {real {1, 2}},
  },
  errors = {
    {{real {2, 3}},
      "rotary_embedding: dims must be an even number up to 3, the last size " ..
        "of x [2 3], got 3"},
    {{real {2, 4}, {dims = 6}},
      "rotary_embedding: dims must be an even number up to 4, the last size " ..
        "of x [2 4], got 6"},
    {{real {2, 4}, {dims = -2}},
      "rotary_embedding: dims must be an even number up to 4, the last size " ..
        "of x [2 4], got -2"},
    {{real {4}},
      "rotary_embedding: x must have at least 2 dimensions, got float64 [4]"},
    {{whole({2, 4}, 1, 3)},
      "rotary_embedding: x must be float32 or float64, got int64 [2 4]"},
    {{real {2, 4}, {base = 0}},
      "rotary_embedding: base must be a finite number above 0, got 0"},
    {{real {2, 4}, {scaling = -1}},
      "rotary_embedding: scaling must be a finite number above 0, got -1"},
    {{real {2, 3, 4}, heed.tensor {1, 2}},
      "rotary_embedding: positions [2] must be [T] or [B T] for x [2 3 4], " ..
        "[B .. T D]"},
    {{real {2, 4}, real {2}},
      "rotary_embedding: positions must be int64, got float64 [2]"},
    {{real {2, 4}, nil, real {3}, n = 3},
      "rotary_embedding: freqs [3] must be [2], one of each pair of 4 " ..
        "elements"},
    {{real {2, 4}, {style = "both"}},
      "rotary_embedding: style must be one of half|interleaved, got both"},
  },
  skip = {[3] = true}, -- frequencies are settings
}

local labels = heed.tensor {2, 3, 1}

rows.cross_entropy = {
  cases = {
    {real {3, 4}, labels}, {real {3, 4}, labels, positive {4}},
    {real {3, 4}, labels, {ignore_index = 3}},
    {real {3, 4}, labels, {label_smoothing = 0.2, reduction = "none"}},
    {real {3, 4}, labels, positive {4}, {label_smoothing = 0.1}},
    {real {2, 3, 2}, heed.tensor {{1, 3}, {2, 2}}, {reduction = "sum"}},
    {real {4}, heed.tensor(2)}, {real {1, 1}, heed.tensor {1}},
    {real {0, 4}, heed.zeros({0}, "int64"), {reduction = "sum"}},
    {real {2, 3}, heed.tensor {-100, -100}},
  },
  errors = {
    {{real {3, 4}, heed.tensor {2, 5, 1}},
      "cross_entropy: target [3], row 2: must be 1..4 (a class of x [3 4]) " ..
        "or ignore_index -100, got 5"},
    {{real {3, 4}, heed.tensor {2, 0, 1}},
      "cross_entropy: target [3], row 2: must be 1..4 (a class of x [3 4]) " ..
        "or ignore_index -100, got 0"},
    {{real {3, 4}, heed.tensor {2, -4, 1}},
      "cross_entropy: target [3], row 2: must be 1..4 (a class of x [3 4]) " ..
        "or ignore_index -100, got -4"},
    {{real {3, 4}, heed.tensor {1, 2}},
      "cross_entropy: target [2] must be [3], x [3 4] without its classes"},
    {{real {3, 4}, real {3}},
      "cross_entropy: target must be int64, got float64 [3]"},
    {{real {3, 4}, labels, real {3}},
      "cross_entropy: weight [3] must have one number for each of the 4 " ..
        "classes of x [3 4]"},
    {{real {3, 4}, labels, {reduction = "max"}},
      "cross_entropy: reduction must be one of mean|sum|none, got max"},
    {{real {3, 4}, labels, {label_smoothing = 1.5}},
      "cross_entropy: label_smoothing must be from 0 to 1, got 1.5"},
  },
  skip = {[3] = true}, -- class weights are settings
}

rows.embedding = {
  cases = {
    {heed.tensor {{1, 3}, {3, 2}}, real {3, 2}},
    {heed.tensor {1, 2, 2}, real {3, 2}},
    {heed.zeros({0}, "int64"), real {3, 2}}, {heed.tensor(1), real {1, 1}},
  },
  errors = {
    {{heed.tensor {4}, real {3, 2}},
      "embedding: ids [1], position [1]: must be 1..3 (a row of weight [3 " ..
        "2]), got 4"},
    {{heed.tensor {0}, real {3, 2}},
      "embedding: ids [1], position [1]: must be 1..3 (a row of weight [3 " ..
        "2]), got 0"},
    {{heed.tensor {-1}, real {3, 2}},
      "embedding: ids [1], position [1]: must be 1..3 (a row of weight [3 " ..
        "2]), got -1"},
    {{real {1}, real {3, 2}},
      "embedding: ids must be int64, int32 or uint8, got float64 [1]"},
    {{heed.tensor {1}, real {3}},
      "embedding: weight must have 2 dimensions (rows, width), got float64 " ..
        "[3]"},
    {{heed.tensor {1}, real {3, 2}, 4},
      "embedding: padding_idx must be 1..3 (a row of weight [3 2]) or 0, " ..
        "got 4"},
  },
}

rows.one_hot = {
  cases = {
    {heed.tensor {2, 1}, 3}, {heed.tensor {{1}, {2}}, 2}, {heed.tensor(1), 1},
    {heed.zeros({0}, "int64"), 3}, {heed.tensor {3, 1}},
    {heed.tensor({2}, {dtype = "uint8"}), 2},
  },
  errors = {
    {{heed.tensor {4}, 3},
      "one_hot: ids [1], position [1]: must be 1..3 (classes), got 4"},
    {{heed.tensor {0}, 3},
      "one_hot: ids [1], position [1]: must be 1..3 (classes), got 0"},
    {{heed.tensor {0}},
      "one_hot: ids [1], position [1]: must be 1..1 (classes), got 0"},
    {{real {1}, 3},
      "one_hot: ids must be int64, int32 or uint8, got float64 [1]"},
    {{heed.tensor {1}, -2},
      "one_hot: classes must be at least 0, got -2"},
    {{heed.zeros({0}, "int64")},
      "one_hot: ids [0] is empty, so classes must be given"},
  },
}

rows.dropout = {
  cases = {
    {real {4, 5}, 0.5}, {real {3}, 0}, {real {3}, 1}, {real {0}, 0.5},
    {real {1}, 0.3}, {real {2, 3}, 0.8, false},
  },
  errors = {
    {{real {2}, 1.5},
      "dropout: p must be from 0 to 1, got 1.5"},
    {{real {2}, -0.1},
      "dropout: p must be from 0 to 1, got -0.1"},
    {{whole({2}, 1, 3), 0.5},
      "dropout: x must be float32 or float64, got int64 [2]"},
    {{1},
      "dropout: x must be a tensor, got 1"},
  },
  seeded = true,
}

rows.im2col = {
  cases = {
    {real {2, 2, 3, 4}, {2, 2}}, {real {1, 2, 5, 4}, {3, 2}, {2, 1}},
    {real {1, 1, 4, 4}, {2, 3}, {1, 2}, {1, 0, 2, 1}},
    {real {1, 1, 5, 6}, {2, 2}, {1, 1}, {0, 3, 0, 3}, {3, 2}},
    {real {1, 1, 1, 1}, {1, 1}}, {real {0, 2, 3, 3}, {2, 2}},
    {real {2, 0, 3, 3}, {2, 2}},
  },
  errors = {
    {{real {2, 3, 4}, {2, 2}},
      "im2col: x must be [batch channels height width], got float64 [2 3 4]"},
    {{real {1, 1, 2, 2}, {3, 1}},
      "im2col: a window of 3 x 1, dilated by 1 x 1, does not fit into an " ..
        "image of 2 x 2 with padding"},
    {{real {1, 1, 2, 2}, {2, 2}, {0, 1}},
      "im2col: stride must be at least 1, got [0 1]"},
    {{real {1, 1, 2, 2}, {2}},
      "im2col: kernel must have 2 entries, got [2]"},
    {{real {1, 1, 2, 2}, {2, 2}, {1, 1}, {1, 1}},
      "im2col: padding must have 4 entries of at least 0, got [1 1]"},
    {{real {1, 1, 2, 2}, {2, 2}, {1, 1}, {0, 0, 0, -1}},
      "im2col: padding must have 4 entries of at least 0, got [0 0 0 -1]"},
    {{whole({1, 1, 2, 2}, 1, 3), {1, 1}},
      "im2col: x must be float32 or float64, got int64 [1 1 2 2]"},
    {{real {1, 1, 2, 2}, {2, 2}, {1, 1}, {math.maxinteger, 0, 1, 0}},
      "im2col: a window of 2 x 2, dilated by 1 x 1, does not fit into an " ..
        "image of 2 x 2 with padding"},
  },
}

rows.col2im = {
  cases = {
    {real {2, 8, 6}, {3, 4}, {2, 2}},
    {real {1, 12, 6}, {5, 4}, {3, 2}, {2, 1}},
    {real {1, 6, 24}, {4, 4}, {2, 3}, {1, 1}, {1, 0, 2, 2}},
    {real {1, 4, 20}, {5, 6}, {2, 2}, {1, 1}, {0, 3, 0, 3}, {3, 2}},
    {real {0, 4, 4}, {3, 3}, {2, 2}}, {real {1, 0, 4}, {3, 3}, {2, 2}},
  },
  errors = {
    {{real {2, 3}, {3, 3}, {2, 2}},
      "col2im: columns must be [batch rows places], got float64 [2 3]"},
    {{real {1, 4, 5}, {3, 3}, {2, 2}},
      "col2im: columns [1 4 5] do not come from images of 3 x 3: they must " ..
        "have a multiple of 4 rows and 2 x 2 places"},
    {{real {1, 3, 4}, {3, 3}, {2, 2}},
      "col2im: columns [1 3 4] do not come from images of 3 x 3: they must " ..
        "have a multiple of 4 rows and 2 x 2 places"},
    {{real {1, 4, 4}, {3}, {2, 2}},
      "col2im: size must be the height and width of the images, got [3]"},
  },
}

return rows
