#!/usr/bin/env heed
--[[
A tour of self-attention: what are the parts of a transformer's attention, and
what does each do to the shapes?

In self-attention every token asks, is asked and answers: queries, keys and
values come from the same sequence.

    scores  = Q K^T / sqrt(D)          how well query i fits key j
    weights = softmax(scores)          row i sums to 1
    result  = weights V                row i is a mean of the values

Five stops and a look at positions, each small enough to follow by hand:

    1  the three lines above, on 2 queries and 3 keys of whole numbers
    2  queries, keys and values of a batch, cut into heads
    3  scores and weights of all heads at once
    4  multi-head attention with a causal mask: no token sees a later one
    5  the same three lines as one call that never holds the scores
    6  positional encoding: attention alone would not notice a shuffled sentence

Each stop starts from the seed anew, so that it can be taken alone, and ends
with a check of something known without computing it.

Try:
    heed examples/self_attention_tour.lua
    heed examples/self_attention_tour.lua --embed 24 --heads 4 --length 6
    heed examples/self_attention_tour.lua --save tour.safetensors

Next: a window in place of the mask (F.scaled_dot_product_attention, {window =
3}); then examples/text_attention.lua, where the tokens are words.
]]

local heed = require "heed"
local nn, plot, script = heed.nn, heed.plot, heed.script
local F <const> = nn.functional

local function settings()
  local parser <const> = script.parser("self_attention_tour", "The parts of "
    .. "self-attention, one after the other.", {out = "."})
  parser:whole("--batch", "sequences of a batch", 32, 1)
  parser:whole("--length", "tokens of a sequence", 10, 1)
  parser:whole("--embed", "width of a token", 256, 1)
  parser:whole("--heads", "heads it is cut into", 8, 1)
  parser:option("--save", "write the tensors of all stops here, to compare "
    .. "them with another library's (.safetensors)"):argname "FILE"
  local o <const> = script.start(parser)
  if o.embed % o.heads ~= 0 then
    script.fail("--embed must be a multiple of --heads, got %d and %d",
      o.embed, o.heads)
  end
  script.check_writable(o.save)
  return o
end

-- Raises if two tensors differ by more than rounding; says what was compared.
local function check(what, got, want)
  assert(got:allclose(want, {atol = 1e-5}), what)
  print("checked: " .. what)
end

local function shape(x) return "(" .. table.concat(x.shape, ", ") .. ")" end

local function written(file) print("written: " .. file) end

-- -- 1: by hand ---------------------------------------------------------------

local function stop_1(kept)
  print("\n1. Self-attention by hand")
  local q = heed.tensor {{1.0, 0, 1}, {0, 1, 1}} -- [Tq D], D = 3
  local k = heed.tensor {{1.0, 1, 0}, {1, 0, 1}, {0, 1, 1}} -- [Tk D]
  local v = heed.tensor {{1.0, 0}, {0, 1}, {1, 1}} -- [Tk Dv]
  local scores = q:matmul(k:t()) / math.sqrt(q:size(-1)) -- [Tq Tk]
  local weights = scores:softmax(-1)
  local result = weights:matmul(v) -- [Tq Dv]
  print("weights")
  print(weights)
  print("result")
  print(result)
  -- query 1 fits the keys by 1, 2 and 1; with a = e^(1 / sqrt(3)) its weights
  -- are a, a^2 and a over their sum. Query 2 fits by 1, 1 and 2.
  local a <const> = math.exp(1 / math.sqrt(3))
  check("weights as the exponentials say", weights * (2 * a + a * a),
    heed.tensor {{a, a * a, a}, {a, a, a * a}})
  kept["by_hand.weights"], kept["by_hand.result"] = weights, result
end

-- -- 2: queries, keys and values of heads -------------------------------------

-- [B T C] as [B T H D]: the columns of each head beside each other.
local function split(x, heads)
  return x:unflatten(-1, {heads, x:size(-1) // heads})
end

-- Queries, keys and values of x [B T C], each [B T H D].
local function project(layers, x, heads)
  return split(layers.queries(x), heads), split(layers.keys(x), heads),
    split(layers.values(x), heads)
end

local function make_projections(o)
  return {queries = nn.Linear(o.embed, o.embed),
    keys = nn.Linear(o.embed, o.embed), values = nn.Linear(o.embed, o.embed)}
end

local function stop_2(kept, o)
  print("\n2. Queries, keys and values, cut into heads")
  local layers = make_projections(o)
  local x = heed.randn(o.batch, o.length, o.embed) -- [B T C]
  local q, k, v = project(layers, x, o.heads) -- [B T H D]
  print(("x %s, q %s, k %s, v %s"):format(shape(x), shape(q), shape(k),
    shape(v)))
  check("the heads side by side are the projection", q:flatten(-2, -1),
    layers.queries(x))
  kept["split.q"], kept["split.k"], kept["split.v"] = q, k, v
  return q, k
end

-- -- 3: scores and weights ----------------------------------------------------

-- q and k [B T H D] give [B H Tq Tk]: for each batch entry n and head h, the
-- products of query q and key k, summed over d.
local function scores_of(q, k)
  return heed.einsum("nqhd,nkhd->nhqk", q, k) / math.sqrt(q:size(-1))
end

local function stop_3(kept, q, k)
  print("\n3. Scores and weights of all heads")
  local scores = scores_of(q, k)
  local weights = scores:softmax(-1)
  print(("scores %s, weights %s"):format(shape(scores), shape(weights)))
  check("every row of weights sums to 1", weights:sum(-1),
    heed.ones(q:size(1), q:size(3), q:size(2)))
  kept["scores.scores"], kept["scores.weights"] = scores, weights
end

-- -- 4: multi-head attention with a mask --------------------------------------

-- mask: bool [Tq Tk], true where a query may attend, or nil. Returns [B T C]
-- and the weights [B H Tq Tk].
local function multi_head(layers, x, heads, mask)
  local q, k, v = project(layers, x, heads)
  local scores = scores_of(q, k)
  -- a score of minus infinity has a weight of 0
  if mask then scores = scores:masked_fill(~mask, -math.huge) end
  local weights = scores:softmax(-1)
  local found = heed.einsum("nhqk,nkhd->nqhd", weights, v)
  return layers.out(found:flatten(-2, -1)), weights -- mixes the heads
end

local function stop_4(kept, o)
  print("\n4. Multi-head attention, without and with a mask")
  local layers = make_projections(o)
  layers.out = nn.Linear(o.embed, o.embed)
  local x = heed.randn(o.batch, o.length, o.embed)
  local causal = heed.ones({o.length, o.length}, "bool"):tril()
  local all, free = multi_head(layers, x, o.heads)
  local found, weights = multi_head(layers, x, o.heads, causal)
  print("x " .. shape(x) .. ", output " .. shape(found))
  local few <const> = math.min(6, o.length)
  print("what the first tokens attend to in head 1, with the mask:")
  print(weights[{1, 1, {1, few}, {1, few}}])
  check("the first token sees itself only, and gets its own value",
    found[{{}, 1}], layers.out(layers.values(x[{{}, 1}])))
  check("the last token sees all, as without the mask", found[{{}, -1}],
    all[{{}, -1}])
  kept["multi_head.free"], kept["multi_head.causal"] = all, found

  local shown <const> = math.min(o.heads, 4)
  local titles = {}
  for h = 1, shown do titles[h] = "head " .. h end
  local file <const> = o.path "self_attention_tour-heads.png"
  -- sequence 1: [2 shown Tq Tk]
  plot.heatmaps(heed.stack({free[{1, {1, shown}}], weights[{1, {1, shown}}]}),
    {file = file, cmap = "Reds", vmin = 0, titles = titles,
      row_titles = {"no mask", "causal"}, xlabel = "Keys", ylabel = "Queries"})
  written(file)
end

-- -- 5: one call --------------------------------------------------------------

local function stop_5(kept)
  print("\n5. Scaled dot-product attention in one call")
  local x = heed.randn(10, 32, 64) -- [B T D]
  local heads = x:unsqueeze(2) -- [B 1 T D]: the call wants heads, here one
  local free, weights = F.scaled_dot_product_attention(heads, heads, heads,
    {need_weights = true})
  -- the mask as it is known, or described: the second skips what it rules out
  local mask = heed.ones({32, 32}, "bool"):tril()
  local masked, masked_weights = F.scaled_dot_product_attention(heads, heads,
    heads, {mask = mask, need_weights = true})
  local causal = F.scaled_dot_product_attention(heads, heads, heads,
    {causal = true}) -- and without weights, the scores are never held
  print(("output %s, weights %s"):format(shape(free:squeeze(2)),
    shape(weights:squeeze(2))))
  local by_hand = (x:matmul(x:transpose(-1, -2)) / 8):softmax(-1):matmul(x)
  check("as by hand: 8 is sqrt(64)", free:squeeze(2), by_hand)
  check("a causal mask and causal = true are the same", causal, masked)
  -- a row of the softmax, taken over fewer keys, is the old row over its sum
  local cut = weights * mask
  check("masked weights are what is left, over its sum", masked_weights,
    cut / cut:sum(-1, true))
  kept["call.free"], kept["call.weights"] = free:squeeze(2), weights:squeeze(2)
  kept["call.causal"] = masked:squeeze(2)
end

-- -- 6: positions -------------------------------------------------------------

local POSITIONS <const>, WIDTH <const> = 100, 64

-- [positions width]: column pairs of a sine and a cosine, from fast to slow.
--     pe[pos, 2i] = sin(pos / 10000^(2i / width)), pe[pos, 2i + 1] = cos(same)
local function encoding()
  local wide <const> = {dtype = "float64"}
  local position = heed.arange(0, POSITIONS - 1, wide):unsqueeze(2)
  local pair = heed.arange(0, WIDTH // 2 - 1, wide)
  local angle = position / 10000 ^ (2 * pair / WIDTH) -- [positions width/2]
  return heed.stack({angle:sin(), angle:cos()}, -1):flatten(-2):to "float32"
end

local function stop_6(kept, o)
  print("\n6. Positional encoding")
  local pe = encoding()
  print("table " .. shape(pe))
  print("the first columns of positions 0, 1 and 2:")
  print(pe[{{1, 3}, {1, 6}}])
  check("nn.PositionalEncoding adds this table",
    nn.PositionalEncoding(WIDTH)(heed.zeros(POSITIONS, WIDTH)), pe)
  -- sin a sin b + cos a cos b = cos(a - b): no place but the distance counts
  local dots = pe:matmul(pe:t()) -- [positions positions]
  check("dot products of two positions depend on their distance only",
    dots[{{2, -1}, {2, -1}}], dots[{{1, -2}, {1, -2}}])
  kept["positions.table"] = pe

  local file = o.path "self_attention_tour-positions.png"
  plot.heatmap(pe, {file = file, title = "Positional encoding",
    xlabel = "Column", ylabel = "Row: position + 1"})
  written(file)
  local waves, places = {}, heed.arange(0, POSITIONS - 1)
  for i, column in ipairs {5, 13, 21, 29} do
    waves[i] = {x = places, y = pe[{{}, column}], label = "column " .. column}
  end
  file = o.path "self_attention_tour-waves.png"
  plot.lines(waves, {file = file, xlabel = "Position", ylabel = "Value",
    title = "Four columns of the positional encoding"})
  written(file)
end

-- -- all together -------------------------------------------------------------

local function main()
  local o <const> = settings()
  local kept = {}
  local function start(stop, ...)
    heed.manual_seed(o.seed)
    return stop(kept, ...)
  end
  start(stop_1)
  start(stop_3, start(stop_2, o))
  start(stop_4, o)
  start(stop_5)
  start(stop_6, o)
  if o.save then
    for name, x in pairs(kept) do kept[name] = x:detach():contiguous() end
    heed.save_safetensors(o.save, kept)
    written(o.save)
  end
end

script.run("self_attention_tour", main)
