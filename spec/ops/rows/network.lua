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
      "cross_entropy: target [2] must be [3], x [3 4] without its classes, "
        .. "dimension 2"},
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

local function chance(shape) return real(shape):sigmoid() end

rows.binary_cross_entropy = {
  cases = {
    {chance {2, 3}, other({2, 3}):sigmoid()}, {chance {3}, chance {}},
    {chance {2, 1}, other({1, 3}):sigmoid()}, {chance {0, 3}, chance {3}},
    {chance {1}, heed.ones(1, "float64")},
  },
  errors = {
    {{real {2, 3}, real {2}}, "binary_cross_entropy: x [2 3] and target [2] " ..
      "cannot be broadcast together"},
    {{real {2}}, "binary_cross_entropy: target is missing"},
  },
}

local function log_probs(shape) return real(shape):log_softmax(-1) end
local function lens(...) return heed.tensor {...} end
local some_labels = heed.tensor {{2, 3, 3}, {4, 2, 2}}

rows.ctc_loss = {
  cases = {
    {log_probs {5, 2, 4}, some_labels, lens(5, 4), lens(3, 1)},
    {log_probs {5, 2, 4}, heed.tensor {2, 3, 3, 4}, lens(5, 4), lens(3, 1)},
    {log_probs {5, 2, 4}, some_labels - 1, lens(5, 3), lens(2, 0),
      {blank = 4}},
    {real {3, 2, 4}, some_labels, lens(3, 0), lens(1, 0)}, -- need not sum up
    {log_probs {3, 2, 4}, some_labels, lens(2, 3), lens(3, 3),
      {zero_infinity = true}},
    {log_probs {1, 1, 2}, heed.tensor {{2}}, lens(1), lens(1)},
    {log_probs {4, 0, 3}, heed.zeros({0, 2}, "int64"),
      heed.zeros({0}, "int64"), heed.zeros({0}, "int64")},
    {log_probs {0, 1, 3}, heed.zeros({1, 0}, "int64"), lens(0), lens(0)},
  },
  errors = {
    {{real {2, 3}, some_labels, lens(1), lens(1)},
      "ctc_loss: log_probs must be [steps batch classes], got [2 3]"},
    {{whole({2, 1, 3}, 1, 2), some_labels, lens(1), lens(1)},
      "ctc_loss: log_probs must be float32 or float64, got int64 [2 1 3]"},
    {{real {2, 1, 3}, some_labels, lens(1), lens(1)},
      "ctc_loss: targets must be [1 S], or [S] of all sequences of " ..
        "log_probs [2 1 3], got [2 3]"},
    {{real {5, 2, 4}, some_labels, lens(5), lens(1, 1)},
      "ctc_loss: input_lengths must be [2], one for each sequence of " ..
        "log_probs [5 2 4], got [1]"},
    {{real {5, 2, 4}, some_labels, lens(5, 5), lens(1)},
      "ctc_loss: target_lengths must be [2], one for each sequence of " ..
        "log_probs [5 2 4], got [1]"},
    {{real {5, 2, 4}, some_labels, lens(5, 6), lens(1, 1)},
      "ctc_loss: input_lengths [2], row 2: must be 0..5 (the steps of " ..
        "log_probs), got 6"},
    {{real {5, 2, 4}, some_labels, lens(5, 5), lens(1, -1)},
      "ctc_loss: target_lengths [2], row 2: must be 0..3 (the labels of " ..
        "targets), got -1"},
    {{real {5, 2, 4}, heed.tensor {2, 3, 2}, lens(5, 5), lens(1, 1)},
      "ctc_loss: targets [3] must hold as many labels as target_lengths " ..
        "add up to, 2"},
    {{real {5, 2, 3}, some_labels, lens(5, 5), lens(3, 3)},
      "ctc_loss: targets [2 3], label 1 of row 2: must be 1..3 (a class of " ..
        "log_probs [5 2 3]) and not the blank 1, got 4"},
    {{real {5, 2, 4}, some_labels, lens(5, 5), lens(3, 3), {blank = 3}},
      "ctc_loss: targets [2 3], label 2 of row 1: must be 1..4 (a class of " ..
        "log_probs [5 2 4]) and not the blank 3, got 3"},
    {{real {5, 2, 4}, some_labels, lens(5, 5), lens(3, 3), {blank = 5}},
      "ctc_loss: blank must be 1..4, a class of log_probs [5 2 4], got 5"},
  },
}

-- Arguments of a recurrent layer of B sequences, T steps and H hidden units.
local function layer(cell, batch, steps, hidden, lengths, reverse)
  local gates = ({gru = 3, lstm = 4})[cell] or 1
  return {
    real {batch, steps, gates * hidden},
    other {cell == "lstm" and 2 or 1, batch, hidden},
    other {gates * hidden, hidden}, real {gates * hidden},
    lengths and heed.tensor(lengths) or nil, cell, reverse or false, n = 7,
  }
end

local NONE <const> = {}

local function with(args, changes)
  for i, value in pairs(changes) do
    args[i] = value ~= NONE and value or nil
  end
  return args
end

rows.recurrent = {
  cases = {
    layer("lstm", 2, 3, 2), layer("gru", 2, 3, 2), layer("tanh", 2, 3, 2),
    layer("relu", 2, 3, 2), layer("lstm", 1, 1, 1),
    layer("lstm", 3, 4, 2, {2, 4, 0}),
    layer("gru", 3, 4, 2, {4, 1, 3}, true),
    layer("lstm", 6, 3, 2, {3, 1, 2, 3, 0, 2}, true), -- more than a few
    layer("tanh", 5, 2, 3, {1, 2, 2, 1, 0}), layer("gru", 5, 2, 3),
    layer("lstm", 0, 3, 2), layer("gru", 2, 0, 2), layer("lstm", 2, 2, 0),
    layer("lstm", 5, 0, 2), layer("relu", 5, 2, 9),
    with(layer("lstm", 2, 2, 2), {[4] = NONE}),
    with(layer("gru", 5, 2, 2), {[4] = NONE}),
  },
  errors = {
    {with(layer("lstm", 2, 3, 2), {real {2, 8}}),
      "recurrent: x must be [batch steps gates], got [2 8]"},
    {with(layer("lstm", 2, 3, 2), {[3] = real {6, 2}}),
      "recurrent: weight [6 2] must be [4 n n], where x [2 3 8] ends in 4 " ..
        "n, for an LSTM"},
    {with(layer("gru", 2, 3, 2), {[2] = real {2, 2, 2}}),
      "recurrent: state must be [1 2 2] for x [2 3 6], got [2 2 2]"},
    {with(layer("gru", 2, 3, 2), {[4] = real {5}}),
      "recurrent: bias must be [6] for x [2 3 6], got [5]"},
    {layer("gru", 2, 3, 2, {1}),
      "recurrent: valid_lens must be [2], a length for each sequence of x " ..
        "[2 3 6], got [1]"},
    {layer("gru", 2, 3, 2, {1, 4}),
      "recurrent: valid_lens [2], row 2: must be 0..3, the steps, got 4"},
    {layer("gru", 2, 3, 2, {-1, 3}),
      "recurrent: valid_lens [2], row 1: must be 0..3, the steps, got -1"},
    {with(layer("gru", 2, 3, 2), {[6] = "elman"}),
      "recurrent: cell must be one of tanh|relu|gru|lstm, got elman"},
  },
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
      "im2col: padding must be at most 2147483647, got " ..
        "[9223372036854775807 0 1 0]"},
    {{real {1, 1, 1, 3}, {1, 3}, {1, math.maxinteger}, {0, 2, 0, 2}},
      "im2col: stride must be at most 2147483647, got " ..
        "[1 9223372036854775807]"},
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
