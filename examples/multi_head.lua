#!/usr/bin/env heed
--[[
Multi-head attention: how can one layer look at several things at once?

One attention gives one set of weights to a query: a word that should look at
its verb and at its adjective has to share. So the width C is cut into H heads
of D = C / H each, every head attends with its own part, and a last matrix
mixes what they found:

    head h = attention(W_q query, W_k key, W_v value), columns of head h only
    result = W_o (head 1, ..., head H side by side)

No loop over heads is needed. Heads do not speak with each other, and neither do
the entries of a batch, so the heads are put into the batch: [B T C] becomes
[B*H T D], one call attends in all of them, and the way back puts them side by
side again. Valid lengths belong to the entries of the batch; each is repeated
for the H heads of its entry.

First all inputs are ones. Then all values are equal, their mean is the same
whatever the weights, and the result must be W_o (W_v 1) for every query: the
known answer that the script is held against. With random inputs each head has a
map of its own, which is drawn.

Try:
    heed examples/multi_head.lua
    heed examples/multi_head.lua --heads 4 --hiddens 32 --lengths 6 1

Next: give each query a length of its own (valid_lens [B Tq], repeated in the
same way); then examples/self_attention_tour.lua.
]]

local heed = require "heed"
local nn, plot, script = heed.nn, heed.plot, heed.script
local F <const> = nn.functional

local BATCH <const>, QUERIES <const>, KEYS <const> = 2, 4, 6

local function settings()
  local parser <const> = script.parser("multi_head", "Attention with several "
    .. "heads, which stand beside each other in the batch.", {out = "."})
  parser:whole("--hiddens", "width of the layer", 100, 1)
  parser:whole("--heads", "heads it is cut into", 5, 1)
  parser:whole("--lengths", "valid keys of the first and of the second "
    .. "sequence, up to " .. KEYS .. " (default: 3 2)", nil, 0):args(2)
  local o <const> = script.start(parser)
  o.lengths = o.lengths or {3, 2}
  for _, n in ipairs(o.lengths) do
    if n > KEYS then
      script.fail("--lengths must be at most %d, got %d", KEYS, n)
    end
  end
  if o.hiddens % o.heads ~= 0 then
    script.fail("--hiddens must be a multiple of --heads, got %d and %d",
      o.hiddens, o.heads)
  end
  return o
end

-- Raises if two tensors differ by more than rounding; says what was compared.
local function check(what, got, want)
  assert(got:allclose(want, {atol = 1e-5}), what)
  print("checked: " .. what)
end

local function shape(x) return "(" .. table.concat(x.shape, ", ") .. ")" end

-- -- the layer ----------------------------------------------------------------

local MultiHead = nn.Module:extend "MultiHead"

function MultiHead:init(hiddens, heads, dropout)
  local no_bias <const> = {bias = false}
  self.heads = heads
  self.W_q = nn.Linear(hiddens, hiddens, no_bias)
  self.W_k = nn.Linear(hiddens, hiddens, no_bias)
  self.W_v = nn.Linear(hiddens, hiddens, no_bias)
  self.W_o = nn.Linear(hiddens, hiddens, no_bias)
  self.attention = nn.DotProductAttention {dropout = dropout}
end

-- queries [B Tq C], keys and values [B Tk C], lengths [B] or [B Tq]; returns
-- [B Tq C] and the weights of all heads [B*H Tq Tk].
function MultiHead:forward(queries, keys, values, lengths)
  local q = nn.transpose_qkv(self.W_q(queries), self.heads) -- [B*H Tq D]
  local k = nn.transpose_qkv(self.W_k(keys), self.heads) -- [B*H Tk D]
  local v = nn.transpose_qkv(self.W_v(values), self.heads) -- [B*H Tk D]
  -- 3, 2 becomes 3, 3, 3, 3, 3, 2, 2, 2, 2, 2: heads of an entry are adjacent
  local each = lengths:repeat_interleave(self.heads, 1) -- [B*H]
  local y, w = self.attention(q, k, v,
    {valid_lens = each, need_weights = true}) -- [B*H Tq D]
  return self.W_o(nn.transpose_output(y, self.heads)), w
end

-- The same as heed has it: without the longer batch, and with one matrix for
-- W_q, W_k and W_v.
local function as_in_heed(layer)
  local same = nn.MultiHeadAttention(layer.W_o.out_features, layer.heads,
    {bias = false})
  same:load_state_dict {
    in_proj_weight = heed.cat {layer.W_q.weight, layer.W_k.weight,
      layer.W_v.weight},
    ["out_proj.weight"] = layer.W_o.weight,
  }
  return same:eval()
end

-- -- all together -------------------------------------------------------------

local function show_transposition(o)
  local heads <const>, width <const> = o.heads, o.hiddens // o.heads -- H, D
  local x = heed.arange(1, BATCH * QUERIES * o.hiddens)
    :reshape(BATCH, QUERIES, o.hiddens) -- [B T C]
  local split = nn.transpose_qkv(x, heads)
  print(("\ntranspose_qkv: %s becomes %s"):format(shape(x), shape(split)))
  local by_hand = x:reshape(BATCH, QUERIES, heads, width) -- [B T H D]
    :transpose(2, 3) -- [B H T D]
    :reshape(BATCH * heads, QUERIES, width) -- [B*H T D]
  check("cut, turned and joined to the batch", split, by_hand)
  local last = x[{1, {}, {-width, -1}}] -- the last columns of entry 1
  check(("head %d of entry 1 holds its last %d columns"):format(heads, width),
    split[heads], last)
  check("transpose_output is the way back", nn.transpose_output(split, heads),
    x)
end

local function show_ones(layer, lengths, hiddens)
  local x = heed.ones(BATCH, QUERIES, hiddens)
  local y = heed.ones(BATCH, KEYS, hiddens)
  local found, weights = layer(x, y, y, lengths)
  print("\nAll inputs are ones")
  print("output " .. shape(found) .. ", weights " .. shape(weights))
  print("the first numbers of the first query:")
  print(found[{1, 1, {1, math.min(8, hiddens)}}]:detach())
  -- a sequence without a valid key has nothing to attend to: zeros
  local any = lengths:gt(0):reshape(-1, 1, 1):to "float32"
  check("every query gets W_o (W_v 1)", found, layer.W_o(layer.W_v(x)) * any)
  local each = lengths:repeat_interleave(layer.heads, 1) -- [B*H]
  local even = F.length_mask(each, KEYS) / each:clamp(1):unsqueeze(2)
  check("the weights are 1 / length, in every head", weights,
    even:unsqueeze(2):expand_as(weights)) -- the same for each query
end

local function show_heads(layer, o, lengths)
  -- twice the usual spread, so that the heads take sides
  local x = heed.normal(0, 2, {BATCH, QUERIES, o.hiddens})
  local y = heed.normal(0, 2, {BATCH, KEYS, o.hiddens})
  local found, weights = layer(x, y, y, lengths)
  weights = weights:reshape(BATCH, o.heads, QUERIES, KEYS)
  print("\nRandom inputs")
  print("the weights of head 1 in the first sequence:")
  print(weights[1][1])
  local same, same_weights = as_in_heed(layer)(x, y, y, {valid_lens = lengths,
    need_weights = true, average_weights = false})
  check("nn.MultiHeadAttention gives the same", same, found)
  check("and the same weights", same_weights, weights)

  local titles, rows = {}, {}
  for h = 1, o.heads do titles[h] = "head " .. h end
  for b, n in ipairs(o.lengths) do
    rows[b] = ("sequence %d: %d keys"):format(b, n)
  end
  local file <const> = o.path "multi_head-weights.png"
  plot.heatmaps(weights, {file = file, cmap = "Reds", vmin = 0,
    titles = titles, row_titles = rows, xlabel = "Keys", ylabel = "Queries"})
  print("written: " .. file)
end

local function main()
  local o <const> = settings()
  local layer = MultiHead(o.hiddens, o.heads, 0.5):eval() -- no dropout
  print(layer)
  local lengths = heed.tensor(o.lengths) -- [B]
  show_transposition(o)
  show_ones(layer, lengths, o.hiddens)
  show_heads(layer, o, lengths)
end

script.run("multi_head", main)
