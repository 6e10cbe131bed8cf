--- Rows of attention and of what sorts heads.

local heed = require "heed"
local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local positive <const>, bool <const> = sample.positive, sample.bool
local whole <const> = sample.whole

local rows = {}

-- q [B H T D], k and v [B Hk S D]
local function qkv(heads, shared, t, s, options)
  return {
    real {2, heads, t, 3}, other {2, shared, s, 3}, positive {2, shared, s, 2},
    options,
  }
end

rows.attention = {
  cases = {
    qkv(2, 2, 3, 4), qkv(4, 2, 3, 3, {causal = "bottom-right"}),
    qkv(2, 1, 3, 2, {causal = "top-left", scale = 0.7}),
    qkv(1, 1, 4, 4, {window_left = 1, window_right = 0}),
    qkv(2, 2, 3, 4, {mask = bool {3, 4}, bias = real {2, 3, 4}}),
    qkv(2, 2, 3, 4, {key_mask = bool {2, 4}}),
    qkv(2, 2, 3, 4, {valid_lens = heed.tensor {0, 3}}),
    qkv(2, 2, 3, 4, {valid_lens = heed.tensor {2, 4}, align = "valid",
      causal = "bottom-right"}),
    qkv(2, 2, 3, 4, {softcap = 1.5}),
    qkv(2, 2, 3, 4, {sinks = real {2}}),
    qkv(2, 2, 3, 4, {alibi = heed.tensor({0.5, 0.25}, {dtype = "float64"})}),
    qkv(2, 2, 3, 4, {dropout = 0.4, seed = 5}),
    qkv(2, 2, 0, 4), qkv(2, 2, 3, 0), qkv(1, 1, 1, 1),
    qkv(4, 2, 5, 5, {cu_seqlens = heed.tensor {0, 2, 2, 5},
      causal = "bottom-right", bias = real {5, 5}}),
    qkv(2, 1, 4, 5, {cu_seqlens = heed.tensor {0, 3, 4, 4},
      cu_seqlens_k = heed.tensor {0, 2, 2, 5}, mask = bool {2, 4, 5},
      bias = real {2, 1, 5}, window_left = 1}),
    qkv(2, 2, 4, 5, {cu_seqlens = heed.tensor {0, 3, 4},
      cu_seqlens_k = heed.tensor {0, 3, 5}, valid_lens = heed.tensor {2, 1},
      key_mask = bool {2, 5}, sinks = real {2}, softcap = 1.5,
      bias = real {1, 1}}),
    qkv(2, 2, 4, 5, {cu_seqlens = heed.tensor {0, 1, 4},
      cu_seqlens_k = heed.tensor {0, 3, 5}, dropout = 0.3, seed = 2,
      valid_lens = heed.tensor {{3, 2, 0, 1}, {1, 2, 2, 2}}}),
  },
  errors = {
    {{real {2, 3, 4}, real {2, 3, 4}},
      "attention: v is missing"},
    {{real {2, 3, 4}, real {2, 3, 5}, real {2, 3, 4}},
      "attention: q [2 3 4] and k [2 3 5] must have the same last size, " ..
        "got 4 and 5"},
    {{real {2, 3, 4}, real {2, 3, 4}, real {2, 4, 4}},
      "attention: k [2 3 4] and v [2 4 4] must agree in heads and time"},
    {{real {3, 2, 4}, real {2, 2, 4}, real {2, 2, 4}},
      "attention: the heads of q [3 2 4] must be a multiple of those of k " ..
        "[2 2 4], got 3 and 2"},
    {qkv(2, 2, 3, 4, {mask = real {3, 4}}),
      "attention: mask must be bool, true where attending is allowed, got " ..
        "float64 [3 4]; numbers to add to the scores are a bias"},
    {qkv(2, 2, 3, 4, {mask = bool {3, 3}}),
      "attention: mask [3 3] does not broadcast to [2 2 3 4]"},
    {qkv(2, 2, 3, 4, {key_mask = bool {3, 4}}),
      "attention: key_mask [3 4] does not broadcast to [2 4]"},
    {qkv(2, 2, 3, 4, {valid_lens = heed.tensor {1, 2, 3}}),
      "attention: valid_lens must be [2], one number a batch entry, or [2 " ..
        "3], one a query, got [3]"},
    {qkv(2, 2, 3, 3, {cu_seqlens = real {2}}),
      "attention: cu_seqlens must be int64, got float64 [2]"},
    {qkv(2, 2, 3, 3, {cu_seqlens = heed.tensor {{0, 3}}}),
      "attention: cu_seqlens must be [N + 1], 0 and then the end of each of " ..
        "N sequences, got [1 2]"},
    {qkv(2, 2, 3, 3, {cu_seqlens = heed.tensor {1, 3}}),
      "attention: cu_seqlens must begin with 0, got 1"},
    {qkv(2, 2, 3, 3, {cu_seqlens = heed.tensor {0, 3, 2}}),
      "attention: cu_seqlens must not descend, got 2 behind 3"},
    {qkv(2, 2, 3, 3, {cu_seqlens = heed.tensor {0, 2}}),
      "attention: cu_seqlens must end with 3, the number of queries, got 2"},
    {qkv(2, 2, 3, 4, {cu_seqlens = heed.tensor {0, 3}}),
      "attention: 4 keys for 3 queries are cut apart by cu_seqlens_k, which " ..
        "is missing"},
    {qkv(2, 2, 3, 4, {cu_seqlens_k = heed.tensor {0, 4}}),
      "attention: cu_seqlens_k goes with cu_seqlens, which is missing"},
    {qkv(2, 2, 3, 4, {cu_seqlens = heed.tensor {0, 3},
        cu_seqlens_k = heed.tensor {0, 1, 4}}),
      "attention: cu_seqlens and cu_seqlens_k must tell of as many " ..
        "sequences, got 1 and 2"},
    {qkv(2, 2, 3, 4, {cu_seqlens = heed.tensor {0, 3},
        cu_seqlens_k = heed.tensor {0, 4}, valid_lens = heed.tensor {5}}),
      "attention: valid_lens must lie in 0..4, the number of keys of " ..
        "sequence 1, got 5"},
    {qkv(2, 2, 3, 4, {cu_seqlens = heed.tensor {0, 1, 3},
        cu_seqlens_k = heed.tensor {0, 1, 4}, valid_lens = heed.tensor {2}}),
      "attention: valid_lens must be [2], one number a sequence, or [2 3], " ..
        "one a query, got [1]"},
    {qkv(2, 2, 3, 4, {align = "valid"}),
      'attention: align = "valid" needs valid_lens [2], one number a batch ' ..
        "entry, got none"},
    {qkv(2, 2, 3, 4, {align = "valid", causal = "top-left",
        valid_lens = heed.tensor {2, 4}}),
      'attention: align = "valid" puts the last query beside the last valid ' ..
        'key, causal = "top-left" the first beside the first key: only one ' ..
        "can be"},
    {qkv(2, 2, 3, 4, {dropout = 1.5}),
      "attention: dropout must lie in 0..1, got 1.5"},
    {qkv(2, 2, 3, 4, {causal = "left"}),
      "attention: causal must be one of none|bottom-right|top-left, got " ..
        "left"},
    {{whole({2, 3, 4}, 1, 3), whole({2, 3, 4}, 1, 3),
      whole({2, 3, 4}, 1, 3)},
        "attention: q must be float32 or float64, got int64 [2 3 4]"},
  },
  -- slopes are settings
  skip = {alibi = true},
  given = {
    q = heed.ones(1, 2, 3, 4), k = heed.ones(1, 2, 3, 4),
    v = heed.ones(1, 2, 3, 4),
  },
}

local function splitting(name, parts)
  rows[name] = {
    cases = {
      {real {2, 3, 4 * parts}, 2}, {real {1, 1, parts}, 1},
      {real {0, 3, 2 * parts}, 2}, {real {3, 2 * parts}, 2},
    },
    errors = {
      {{real {2, 3, 5}, 2},
        ("%s: x [2 3 5] must end in a multiple of %d, the 2 heads of %d parts")
          :format(name, 2 * parts, parts)},
      {{real {6}, 2},
        name .. ": x must have at least 2 dimensions, got float64 [6]"},
      {{real {2, 3, 4}},
        name .. ": heads is missing"},
    },
  }
end
splitting("split_qkv", 3)
splitting("split_kv", 2)
splitting("split_heads", 1)

return rows
