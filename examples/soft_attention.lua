#!/usr/bin/env heed
--[[
Soft attention: how does a query pick from a list, when picking must have a
gradient?

It does not pick one value. It scores every key, turns the scores into weights
that sum to 1, and takes the weighted mean of the values:

    weights = softmax(score(query, key 1), ..., score(query, key T))
    result  = weights[1] * value 1 + ... + weights[T] * value T

Two scores are in use. The additive one is a small network, and takes queries
and keys of different widths; the dot product has nothing to learn, is one
matrix product, and wants equal widths:

    additive     w_v . tanh(W_q query + W_k key)
    dot product  query . key / sqrt(width)

Lists of different lengths lie padded in one tensor, so the softmax must leave
out what stands behind the valid length: a score of minus infinity there is a
weight of 0.

First all keys are alike. Then every score is alike too, whatever the weights of
the network, and the result must be the plain mean of the valid values: the
known answer that the script is held against. Then the keys differ, and so do
the weights.

Try:
    heed examples/soft_attention.lua
    heed examples/soft_attention.lua --lengths 0 10   # nothing to attend to
    heed examples/soft_attention.lua --seed 7         # the result stays

Next: multiply the different keys by 100. The dot product picks a single value;
the additive score, held back by its tanh, does not. Then
examples/multi_head.lua.
]]

local heed = require "heed"
local nn, plot, script = heed.nn, heed.plot, heed.script
local F <const> = nn.functional

local KEYS <const> = 10

local function settings()
  local parser <const> = script.parser("soft_attention", "Masked softmax, and "
    .. "attention with additive and dot-product scores.", {seed = 1, out = "."})
  parser:whole("--lengths", "valid keys of the first and of the second "
    .. "sequence, up to " .. KEYS .. " (default: 2 6)", nil, 0):args(2)
  local o <const> = script.start(parser)
  o.lengths = o.lengths or {2, 6}
  for _, n in ipairs(o.lengths) do
    if n > KEYS then
      script.fail("--lengths must be at most %d, got %d", KEYS, n)
    end
  end
  return o
end

-- Raises if two tensors differ by more than rounding; says what was compared.
local function check(what, got, want)
  assert(got:allclose(want, {atol = 1e-5}), what)
  print("checked: " .. what)
end

-- -- softmax over a valid length ----------------------------------------------

-- scores [B Tq Tk] with lengths [B], one for all queries of an entry, or
-- [B Tq], one for each. F.masked_softmax does the same, and gives zeros where
-- a length is 0 (here: NaN, the softmax of nothing).
local function masked_softmax(scores, lengths)
  if lengths.ndim == 1 then
    lengths = lengths:unsqueeze(2):expand(scores:size(1), scores:size(2))
  end
  return F.sequence_mask(scores, lengths, -math.huge):softmax(-1)
end

local function show_masks()
  print("\nsequence_mask: what stands behind a valid length is replaced")
  print(F.sequence_mask(heed.tensor {{1, 2, 3}, {4, 5, 6}}, {1, 2}))

  print("\nmasked_softmax, lengths 2 and 3 for the two entries of the batch")
  local scores, lengths = heed.rand(2, 2, 4), heed.tensor {2, 3}
  local weights = masked_softmax(scores, lengths)
  print(weights)
  check("F.masked_softmax gives the same",
    F.masked_softmax(scores, lengths), weights)

  print("\nmasked_softmax, a length for each row")
  scores, lengths = heed.rand(2, 2, 4), heed.tensor {{1, 3}, {2, 4}}
  weights = masked_softmax(scores, lengths)
  print(weights)
  check("F.masked_softmax gives the same",
    F.masked_softmax(scores, lengths), weights)
end

-- -- the two scores -----------------------------------------------------------

-- [B Tq Tk] with the three matrices of an nn.AdditiveAttention.
local function additive_scores(layer, queries, keys)
  local q = layer.W_q(queries):unsqueeze(3) -- [B Tq 1 hidden]
  local k = layer.W_k(keys):unsqueeze(2) -- [B 1 Tk hidden]
  return layer.w_v((q + k):tanh()):squeeze(-1) -- every q with every k
end

local function dot_scores(queries, keys) -- [B Tq D], [B Tk D]
  local width <const> = queries:size(-1)
  -- a dot product of `width` parts has a spread of sqrt(width)
  return queries:matmul(keys:transpose(-1, -2)) / math.sqrt(width)
end

-- The mean of the first values, by their number; zeros for none.
local function mean_of_valid(values, lengths) -- [B T D], [B]
  local count = lengths:clamp(1):reshape(-1, 1, 1)
  return F.sequence_mask(values, lengths):sum(2, true) / count -- [B 1 D]
end

-- -- all together -------------------------------------------------------------

-- Both attentions with the queries that they want. Dropout acts in training
-- only: eval() switches it off.
local function make_attentions()
  local wide = heed.normal(0, 1, {2, 1, 20}) -- [B Tq query size]
  local additive = nn.AdditiveAttention(2, 20, 8, {dropout = 0.1}):eval()
  local narrow = heed.normal(0, 1, {2, 1, 2}) -- as wide as the keys
  local dot = nn.DotProductAttention {dropout = 0.5}:eval()
  return {
    {
      name = "Additive", layer = additive, queries = wide,
      scores = function(keys) return additive_scores(additive, wide, keys) end,
    },
    {
      name = "Dot-product", layer = dot, queries = narrow,
      scores = function(keys) return dot_scores(narrow, keys) end,
    },
  }
end

-- The result [B Tq Dv] and the weights [B Tq Tk], held against the formula.
local function attend(attention, keys, values, lengths)
  local found, weights = attention.layer(attention.queries, keys, values,
    {valid_lens = lengths, need_weights = true})
  local by_hand = F.masked_softmax(attention.scores(keys), lengths)
  check("weights as by hand", weights, by_hand)
  check("result as by hand", found, by_hand:matmul(values))
  return found, weights
end

local function main()
  local o <const> = settings()
  show_masks()

  local lengths = heed.tensor(o.lengths) -- [B]
  local attentions = make_attentions()
  -- 0 1 2 3, then 4 5 6 7, and so on; the same for both entries
  local values = heed.arange(0, 4 * KEYS - 1, {dtype = "float32"})
    :reshape(1, KEYS, 4):tile(2, 1, 1) -- [B Tk 4]
  local mean <const> = mean_of_valid(values, lengths)
  local alike = heed.ones(2, KEYS, 2) -- [B Tk key size]
  local different = heed.randn(2, KEYS, 2)

  local function draw(name, weights, title)
    local file <const> = o.path("soft_attention-" .. name:lower() .. ".png")
    -- one row for the query of each entry: [B 1 Tk] as [B Tk]
    plot.heatmap(weights:squeeze(2), {file = file, cmap = "Reds", vmin = 0,
      title = title, xlabel = "Keys", ylabel = "Queries"})
    print("written: " .. file)
  end

  for _, attention in ipairs(attentions) do
    local title <const> = attention.name .. " attention, all keys alike"
    print("\n" .. title)
    local found, weights = attend(attention, alike, values, lengths)
    check("the mean of the valid values", found, mean)
    print("result:")
    print(found)
    draw(attention.name, weights, title)
  end

  for _, attention in ipairs(attentions) do
    local title <const> = attention.name .. " attention, different keys"
    print("\n" .. title)
    local _, weights = attend(attention, different, values, lengths)
    print("weights:")
    print(weights:squeeze(2))
    draw(attention.name .. "-different", weights, title)
  end
end

script.run("soft_attention", main)
