--- Rows of convolutions, pooling and norms over channels.

local heed = require "heed"
local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local positive <const>, whole <const> = sample.positive, sample.whole

local MOST <const> = 2147483647 -- of steps and padding

local rows = {}

-- -- convolutions ------------------------------------------------------------

rows.convolution = {
  cases = {
    {real {2, 2, 4, 3}, other {3, 2, 2, 2}, positive {3}},
    {real {1, 4, 5, 4}, other {6, 2, 3, 2}, other {6}, {2, 1}, {1, 0, 2, 1},
      {1, 2}, 2},
    {real {2, 3, 4, 4}, other {3, 1, 3, 3}, nil, {1, 1}, {1, 1, 1, 1}, {1, 1},
      3, n = 7}, -- channels by themselves
    {real {1, 2, 5, 6}, other {4, 1, 2, 3}, other {4}, {2, 3}, {0, 1, 0, 0},
      {2, 1}, 2}, -- two results of each channel
    {real {2, 3, 2, 2}, other {4, 3, 1, 1}},
    {real {1, 2, 1, 7}, other {2, 2, 1, 3}, other {2}, {1, 2}},
    {real {0, 2, 3, 3}, other {2, 2, 2, 2}},
    {real {2, 0, 3, 3}, other {2, 0, 2, 2}, other {2}},
    {real {1, 1, 1, 1}, other {1, 1, 1, 1}},
  },
  errors = {
    {{real {2, 3, 4}, real {2, 3, 1, 1}},
      "convolution: x must be [batch channels height width], got float64 " ..
        "[2 3 4]"},
    {{real {1, 3, 4, 4}, real {2, 3, 1}},
      "convolution: weight must be [O C/groups kh kw], got float64 [2 3 1]"},
    {{real {1, 3, 4, 4}, real {2, 2, 1, 1}},
      "convolution: x has 3 channels, weight [2 2 1 1] in 1 group takes 2 " ..
        "and makes 2"},
    {{real {1, 4, 4, 4}, real {3, 2, 1, 1}, nil, {groups = 2}, n = 4},
      "convolution: x has 4 channels, weight [3 2 1 1] in 2 groups takes 4 " ..
        "and makes 3"},
    {{real {1, 3, 4, 4}, real {2, 3, 1, 1}, real {3}},
      "convolution: bias must be [2], one for each channel of the result, " ..
        "got float64 [3]"},
    {{real {1, 3, 2, 2}, real {2, 3, 3, 1}},
      "convolution: a window of 3 x 1, dilated by 1 x 1, does not fit into " ..
        "an image of 2 x 2 with padding"},
    {{real {1, 3, 2, 2}, real {2, 3, 0, 1}},
      "convolution: weight [2 3 0 1] has windows without pixels"},
    {{real {1, 3, 2, 2}, real {2, 3, 1, 1}, {groups = 0}},
      "convolution: groups must be at least 1, got 0"},
    {{real {1, 3, 2, 2}, real {2, 3, 1, 1}:to "float32"},
      "convolution: weight must be float64, got float32 [2 3 1 1]"},
    {{real {1, 1, 2, 2}, real {1, 1, 2, 2}, {stride = {0, 1}}},
      "convolution: stride must be at least 1, got [0 1]"},
    {{real {1, 1, 1, 1}, real {1, 1, 1, 1}, {stride = {1 << 31, 1}}},
      "convolution: stride must be at most 2147483647, got [2147483648 1]"},
    {{real {1, 1, 1, 1}, real {1, 1, 1, 1}, {stride = {MOST, MOST},
      padding = {MOST, MOST, MOST, MOST}}},
      "convolution: an image of 1 x 4294967295 x 4294967295, with its " ..
        "padding, has too many elements"},
    {{real {1, 0, 1, 1}, real {0, 4, 1, 1}, {groups = 1 << 62}},
      "convolution: x has 0 channels, weight [0 4 1 1] in " ..
        "4611686018427387904 groups takes 9223372036854775807 and makes 0"},
  },
}

rows.convolution_input = {
  cases = {
    {real {2, 3, 3, 2}, other {3, 2, 2, 2}, {4, 3}},
    {real {1, 6, 3, 4}, other {6, 2, 3, 2}, {5, 4}, {2, 1}, {1, 0, 2, 2},
      {1, 2}, 2},
    {real {2, 3, 4, 4}, other {3, 1, 3, 3}, {4, 4}, {1, 1}, {1, 1, 1, 1},
      {1, 1}, 3},
    {real {1, 4, 2, 2}, other {4, 1, 2, 3}, {5, 6}, {2, 3}, {0, 1, 0, 0},
      {2, 1}, 2},
    {real {2, 4, 2, 2}, other {4, 3, 1, 1}, {2, 2}},
    {real {1, 2, 1, 3}, other {2, 2, 1, 3}, {1, 8}, {1, 2}},
    {real {0, 2, 2, 2}, other {2, 2, 2, 2}, {3, 3}},
    {real {2, 0, 2, 2}, other {0, 2, 2, 2}, {3, 3}},
  },
  errors = {
    {{real {2, 3, 4}, real {3, 2, 1, 1}, {4, 4}},
      "convolution_input: grad must be [B O OH OW], got float64 [2 3 4]"},
    {{real {1, 3, 4, 4}, real {3, 2, 2, 2}, {4, 4}},
      "convolution_input: grad must be [1 3 3 3], got [1 3 4 4]"},
    {{real {1, 3, 4, 4}, real {3, 2, 2, 2}, {4}},
      "convolution_input: size must be the height and width of the images, " ..
        "got [4]"},
    {{real {1, 3, 4, 4}, real {3, 2, 2, 2}, {5, 5}, {groups = 2}},
      "convolution_input: 4 channels and 3 of the result cannot be cut into " ..
        "2 groups"},
  },
}

-- -- pooling -----------------------------------------------------------------

rows.max_pool = {
  cases = {
    {real {2, 2, 4, 5}, {2, 2}, {2, 2}}, {real {3, 3}, {2, 2}},
    {real {1, 5, 6}, {3, 2}, {2, 3}, {1, 1}, {1, 2}},
    {real {1, 5, 5}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, true},
    {real {0, 2, 3, 3}, {2, 2}}, {real {1, 1}, {1, 1}},
    {real {1, 6}, {1, 3}, {1, 2}, {0, 1}, {1, 1}, true},
  },
  errors = {
    {{real {3}, {1, 1}},
      "max_pool: x must have at least 2 dimensions, got float64 [3]"},
    {{real {2, 2}, {3, 1}},
      "max_pool: a window of 3 x 1, dilated by 1 x 1, does not fit into " ..
        "planes of 2 x 2 with padding"},
    {{real {4, 4}, {2, 2}, {1, 1}, {2, 0}},
      "max_pool: padding must be at most half of the window, 1 for a kernel " ..
        "of 2, got 2"},
    {{real {4, 4}, {2}},
      "max_pool: kernel must have 2 entries of at least 1, got [2]"},
    {{real {4, 4}, {2, 2}, {1, 1 << 31}},
      "max_pool: stride must be at most 2147483647, got [1 2147483648]"},
    {{whole({4, 4}, 1, 3), {2, 2}},
      "max_pool: x must be float32 or float64, got int64 [4 4]"},
    {{real {1, 1}, {1, 2}, {1, 1}, {0, 2}, {1, 4}}, -- between the taps
      "max_pool: a window of 1 x 2, dilated by 1 x 4, does not fit into " ..
        "planes of 1 x 1 with padding"},
  },
}

rows.avg_pool = {
  cases = {
    {real {2, 2, 4, 5}, {2, 2}, {2, 2}}, {real {3, 3}, {2, 2}},
    {real {1, 5, 6}, {3, 2}, {2, 3}, {1, 1}},
    {real {1, 5, 6}, {3, 2}, {2, 3}, {1, 1}, false, false},
    {real {1, 5, 5}, {2, 2}, {2, 2}, {0, 0}, true},
    {real {1, 5, 5}, {3, 3}, {2, 2}, {1, 1}, true, true, 5},
    {real {0, 2, 3, 3}, {2, 2}}, {real {1, 1}, {1, 1}},
  },
  errors = {
    {{real {3}, {1, 1}},
      "avg_pool: x must have at least 2 dimensions, got float64 [3]"},
    {{real {2, 2}, {3, 1}},
      "avg_pool: a window of 3 x 1, dilated by 1 x 1, does not fit into " ..
        "planes of 2 x 2 with padding"},
    {{real {2, 2}, {2, 2}, {divisor = -1}},
      "avg_pool: divisor must be at least 0, got -1"},
    {{real {4, 4}, {2, 2}, {0, 1}},
      "avg_pool: stride must have 2 entries of at least 1, got [0 1]"},
  },
}

rows.adaptive_max_pool = {
  cases = {
    {real {2, 2, 4, 5}, {2, 3}}, {real {3, 3}, {1, 1}}, {real {2, 7}, {2, 5}},
    {real {2, 2}, {3, 4}}, {real {0, 2, 3, 3}, {2, 2}}, {real {2, 2}, {0, 1}},
  },
  errors = {
    {{real {2, 0, 3}, {1, 1}},
      "adaptive_max_pool: x [2 0 3] has no elements to take windows of"},
    {{real {2, 3}, {1, -1}},
      "adaptive_max_pool: size must have 2 entries of at least 0, got " ..
        "[1 -1]"},
  },
}

rows.adaptive_avg_pool = {
  cases = {
    {real {2, 2, 4, 5}, {2, 3}}, {real {3, 3}, {1, 1}}, {real {2, 7}, {2, 5}},
    {real {2, 2}, {3, 4}}, {real {0, 2, 3, 3}, {2, 2}}, {real {2, 2}, {0, 1}},
  },
  errors = {
    {{real {2, 0, 3}, {1, 1}},
      "adaptive_avg_pool: x [2 0 3] has no elements to take windows of"},
    {{whole({2, 3}, 1, 2), {1, 1}},
      "adaptive_avg_pool: x must be float32 or float64, got int64 [2 3]"},
  },
}

rows.max_unpool = {
  cases = {
    {real {2, 1, 2}, heed.tensor {{{2, 6}}, {{1, 1}}}, {2, 3}},
    {real {1, 1}, heed.tensor {{4}}, {2, 2}},
    {real {0, 1, 2}, heed.zeros({0, 1, 2}, "int64"), {2, 3}},
  },
  errors = {
    {{real {1, 2}, heed.tensor {{1, 7}}, {2, 3}},
      "max_unpool: index must be 1..6, an element of a plane, got 7"},
    {{real {1, 2}, heed.tensor {{0, 1}}, {2, 3}},
      "max_unpool: index must be 1..6, an element of a plane, got 0"},
    {{real {1, 2}, heed.tensor {{1}}, {2, 3}},
      "max_unpool: index [1 1] must have the shape of x [1 2]"},
    {{real {1, 2}, real {1, 2}, {2, 3}},
      "max_unpool: index must be int64, got float64 [1 2]"},
  },
}

-- -- norms -------------------------------------------------------------------

rows.channel_moments = {
  cases = {
    {real {3, 2, 4}}, {real {2, 3}}, {real {1, 2, 2, 3}}, {real {1, 1}},
    {real {2, 0, 3}},
  },
  errors = {
    {{real {3}}, "channel_moments: x must be [N C ..], got float64 [3]"},
    {{real {0, 3}},
      "channel_moments: x [0 3] has no elements in a channel"},
  },
}

-- Mean and variance of x, which the op takes as such.
local function with_moments(args)
  local copy = table.move(args, 1, 7, 1, {n = 7})
  if not copy[2] then
    copy[2], copy[3] = heed.core.ops.channel_moments(copy[1]:detach())
  end
  return copy
end

rows.batch_norm = {
  cases = {
    {real {3, 2, 4}, false, false, positive {2}, other {2}, 1e-5, true},
    {real {2, 3, 2, 2}, false, false, nil, nil, 0.1, true, n = 7},
    {real {4, 2}, false, false, positive {2}, nil, 1e-5, true, n = 7},
    {real {2, 3, 2}, other {3}, positive {3}, positive {3}, other {3}},
    {real {2, 3, 2}, other {3}, positive {3}},
    {real {0, 3, 2}, other {3}, positive {3}},
  },
  from = with_moments,
  errors = {
    {{real {3}, real {3}, real {3}},
      "batch_norm: x must be [N C ..], got float64 [3]"},
    {{real {2, 3}, real {2}, real {3}},
      "batch_norm: mean must be [3], one number for each channel of x " ..
        "[2 3], got float64 [2]"},
    {{real {2, 3}, real {3}, positive {3}, real {1, 3}},
      "batch_norm: weight must be [3], one number for each channel of x " ..
        "[2 3], got float64 [1 3]"},
  },
  skip = {[2] = true, [3] = true}, -- mean and variance are settings
}

rows.group_norm = {
  cases = {
    {real {3, 4, 3}, 2, positive {4}, other {4}}, {real {2, 6}, 3},
    {real {2, 2, 2, 2}, 1, nil, other {2}, 0.1, n = 5},
    {real {2, 3, 4}, 3, positive {3}}, {real {0, 4, 2}, 2},
    {real {2, 4, 0}, 2, positive {4}, other {4}},
  },
  errors = {
    {{real {2, 3, 2}, 2},
      "group_norm: groups must divide the 3 channels of x [2 3 2], got 2"},
    {{real {2, 3, 2}, 0},
      "group_norm: groups must divide the 3 channels of x [2 3 2], got 0"},
    {{real {4}, 2}, "group_norm: x must be [N C ..], got float64 [4]"},
    {{real {2, 4, 2}, 2, real {3}},
      "group_norm: weight must be [4], one number for each channel of x " ..
        "[2 4 2], got float64 [3]"},
    {{real {2, 4, 2}, 2, nil, real {4}:to "float32", n = 4},
      "group_norm: bias must be float64, got float32 [4]"},
  },
}

return rows
