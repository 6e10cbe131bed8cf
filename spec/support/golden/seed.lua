--- seed: the cases of published examples, written anew with heed's functions.
--
-- Where a case has a random program, what it draws is compared with what is
-- stored, and stands in for large tensors of which only a sample is stored.
-- An integer mask is 0 where looking is blocked.

local api = require "spec.support.golden.api"
local close = require "spec.support.close"
local heed = require "heed"
local program = require "spec.support.golden.program"

local seed = {}

local function F(name, ...) return api.call("functional." .. name, ...) end

local function attend(q, k, v, options)
  return F("scaled_dot_product_attention", q, k, v, options)
end

-- -- drawn tensors -----------------------------------------------------------

-- Compares a drawn tensor with the stored one, or with its sample.
local function compare(c, key, drawn, stored)
  close.check(key .. ", drawn", c.stored:sample(key, drawn), stored,
    c.stored.tolerance)
end

-- Runs the program, checks it and replaces samples by the whole tensors.
local function draw(c)
  local drawn, missing = program.run(c.params.rng_program, c.input)
  if missing then api.lack(missing) end
  for role, tensors in pairs {input = c.input, weight = c.weight} do
    for name, t in pairs(tensors) do
      if drawn[name] then
        compare(c, role .. "." .. name, drawn[name], t)
        if c.samples[role .. "." .. name] then tensors[name] = drawn[name] end
      end
    end
  end
end

-- A way to compute a case, behind its draws.
local function after_draws(way)
  return function(c)
    if c.params.rng_program then draw(c) end
    return way(c)
  end
end

-- -- pieces ------------------------------------------------------------------

local function linear(c, name, x)
  return F("linear", x, c.weight[name .. ".weight"],
    c.weight[name .. ".bias"])
end

-- [B T H * D] as [B H T D], and back
local function split_heads(x, heads)
  local size = x.shape
  return x:reshape {size[1], size[2], heads, size[3] // heads}
    :transpose(2, 3)
end

local function join_heads(x) return x:transpose(2, 3):flatten(-2, -1) end

-- -- the notebook: masked softmax, additive and dot-product attention ---------

local function softmax_case(c)
  return {y = F("masked_softmax", c.input.x or c.input.x2,
    c.input.valid_lens)}
end
seed.seed_nb_masked_softmax, seed.seed_var_masked_softmax =
  softmax_case, softmax_case

-- Scores w_v tanh(W_q q + W_k k), with weights to see and without.
local function additive(need_weights)
  return function(c)
    local i = c.input
    local out, w = F("additive_attention",
      linear(c, "W_q", i.q or i.queries), linear(c, "W_k", i.k or i.keys),
      i.v or i.values, c.weight["w_v.weight"]:flatten(),
      {valid_lens = i.valid_lens, need_weights = need_weights})
    return {out = out, attention_weights = w}
  end
end

-- A module with the weights whose names start with `prefix`.
local function loaded(c, name, prefix, ...)
  return c.load(api.call("nn." .. name, ...), prefix)
end

-- The same by the module.
local function additive_module(c)
  local i, w = c.input, c.weight
  local q, k = w["W_q.weight"].shape, w["W_k.weight"].shape
  local layer = loaded(c, "AdditiveAttention", "", k[2], q[2], k[1]):eval()
  local out, weights = layer(i.q or i.queries, i.k or i.keys,
    i.v or i.values, {valid_lens = i.valid_lens, need_weights = true})
  return {out = out, attention_weights = weights}
end
seed.seed_nb_additive = {additive(true), additive(false), additive_module}
seed.seed_var_additive = {additive(true), additive(false), additive_module}

local function dot(need_weights)
  return function(c)
    local i = c.input
    local q, k, v = i.q or i.queries2, i.k or i.keys, i.v or i.values
    -- one head: [B 1 T D]
    local out, w = attend(q:unsqueeze(2), k:unsqueeze(2), v:unsqueeze(2),
      {valid_lens = i.valid_lens, need_weights = need_weights})
    return {out = out:squeeze(2), attention_weights = w and w:squeeze(2)}
  end
end

local function dot_module(c)
  local i = c.input
  local out, w = api.call("nn.DotProductAttention")(i.q or i.queries2,
    i.k or i.keys, i.v or i.values,
    {valid_lens = i.valid_lens, need_weights = true})
  return {out = out, attention_weights = w}
end
seed.seed_nb_dot = {dot(true), dot(false), dot_module}
seed.seed_var_dot = {dot(true), dot(false), dot_module}

-- Several heads, without biases.
local function heads_by_hand(c)
  local i, heads = c.input, c.params.num_heads
  local function project(name, x)
    return F("linear", x, c.weight[name] or c.weight[name .. ".weight"])
  end
  local memory = i.kv or i.Y
  local out, w = attend(split_heads(project("W_q", i.q or i.X), heads),
    split_heads(project("W_k", memory), heads),
    split_heads(project("W_v", memory), heads),
    {valid_lens = i.valid_lens, need_weights = true})
  return {
    out = project("W_o", join_heads(out)),
    attention_weights = w:flatten(1, 2), -- [B * H, T, S]
  }
end

-- The same by the module, whose weight is that of all three.
local function heads_module(c)
  local i, p = c.input, c.params
  local function weight(name)
    return c.weight[name] or c.weight[name .. ".weight"]
  end
  local layer = api.call("nn.MultiHeadAttention", weight("W_o"):size(1),
    p.num_heads, {bias = false})
  layer.in_proj_weight = heed.cat({weight "W_q", weight "W_k", weight "W_v"})
  layer.out_proj.weight = weight "W_o"
  local out, w = layer(i.q or i.X, i.kv or i.Y, {
    valid_lens = i.valid_lens, need_weights = true, average_weights = false,
  })
  return {out = out, attention_weights = w:flatten(1, 2)}
end
seed.seed_jax_mha = {heads_by_hand, heads_module}

-- -- the article -------------------------------------------------------------

-- Attention of single heads [B T D] or [T D].
local function single(q, k, v, options)
  if q.ndim == 2 then return attend(q, k, v, options) end
  local out, w = attend(q:unsqueeze(2), k:unsqueeze(2), v:unsqueeze(2),
    options)
  return out:squeeze(2), w and w:squeeze(2)
end

local function integer_mask(mask) return mask and mask:ne(0) end

function seed.seed_art_sdpa(c)
  local x, mask = c.input.x, integer_mask(c.input.mask)
  if mask and mask.ndim == 3 then mask = mask:unsqueeze(2) end
  local out, w = single(x, x, x, {mask = mask, need_weights = true})
  return {out = out, weights = w}
end

function seed.seed_art_compute_attention(c)
  local i = c.input
  local out, w = single(i.query, i.key, i.value, {need_weights = true})
  return {out = out, weights = w}
end

function seed.seed_art_self_attention_numpy(c)
  local i = c.input
  local out, w = single(i.q, i.k, i.v, {need_weights = true})
  return {out = out, weights = w}
end

-- Scores scaled by a sigmoid of a number for each key; or keys, fused.
local function adaptive(fused)
  return function(c)
    local x = c.input.x
    local span = c.weight.adaptive_span:slice(1, 1, x:size(2)):sigmoid()
    if fused then
      return {out = single(x, x * span:unsqueeze(-1), x, {causal = true})}
    end
    return {out = single(x, x, x, {
      causal = true, score = function(s) return s * span end,
    })}
  end
end

local function adaptive_module(c)
  local x = c.input.x
  local layer = loaded(c, "AdaptiveSpanAttention", "", x:size(3),
    {plain = true, max_span = c.weight.adaptive_span:size(1)})
  return {out = layer(x)}
end
seed.seed_art_adaptive = {adaptive(false), adaptive(true), adaptive_module}

seed.seed_art_linear_attention = {
  function(c)
    local x = c.input.x
    local q = linear(c, "projection", x)
    -- the order that is linear in the length
    return {out = q:matmul(x:transpose(-1, -2):matmul(x))}
  end,
  function(c)
    local layer = loaded(c, "LinearAttention", "", c.input.x:size(3),
      {plain = true})
    return {out = layer(c.input.x)}
  end,
}

function seed.seed_art_mha(c)
  local x, p = c.input.x, c.params
  local function heads(name)
    return split_heads(linear(c, name, x), p.heads)
  end
  local out = attend(heads "queries", heads "keys", heads "values", {
    mask = integer_mask(c.input.mask),
  })
  return {out = linear(c, "fc_out", join_heads(out))}
end

function seed.seed_art_qkv_split(c)
  local function heads(name)
    return split_heads(linear(c, name, c.input.x), c.params.heads)
      :transpose(2, 3)
  end
  return {q = heads "queries", k = heads "keys", v = heads "values"}
end

-- Embeddings are the one-hot rows of the tokens.
function seed.seed_art_onehot(c)
  local x = F("one_hot", c.input.token_ids + 1, #c.params.vocab):to(c.dtype)
  return {weights = x:matmul(x:transpose()):softmax(-1)}
end

function seed.seed_art_positional_encoding(c)
  local p = c.params
  local layer = api.call("nn.PositionalEncoding", p.d_model,
    {max_length = p.max_position})
  return {pe = layer(heed.zeros {p.max_position, p.d_model})}
end

function seed.seed_art_nlp(c)
  local p = c.params
  local layer = loaded(c, "MultiHeadAttention", "multihead_attn.", p.embed_dim,
    p.num_heads, {batch_first = p.batch_first})
  return {out = layer(c.input.x)}
end

function seed.seed_art_sentiment(c)
  local p = c.params
  local embedded = F("embedding", c.input.input_ids + 1,
    c.weight["embedding.weight"])
  local layer = loaded(c, "MultiHeadAttention", "self_attention.",
    p.embed_size, p.num_heads, {batch_first = p.batch_first})
  local logits = linear(c, "fc", layer(embedded):mean(2))
  return {
    embedded = embedded, logits = logits, predicted = logits:argmax(-1) - 1,
  }
end

-- Sequences stand in the second axis.
function seed.seed_art_translator(c)
  local p, i = c.params, c.input
  local model = loaded(c, "Transformer", "transformer.", p.d_model, p.nhead, {
    num_encoder_layers = p.num_encoder_layers,
    num_decoder_layers = p.num_decoder_layers,
    dim_feedforward = p.dim_feedforward, dropout = p.dropout,
    activation = p.activation, norm_first = p.norm_first,
    layer_norm_eps = p.layer_norm_eps, batch_first = false,
  })
  local src = F("embedding", i.src + 1, c.weight["src_embed.weight"])
  local tgt = F("embedding", i.tgt + 1, c.weight["tgt_embed.weight"])
  return {out = linear(c, "fc", model(src, tgt))}
end

-- Every pixel [C] attends to all: convolutions 1x1, scores not scaled.
local function image(c)
  local x = c.input.image
  local size = x.shape
  local function pixels(name)
    local y = F("conv2d", x, c.weight[name .. ".weight"],
      c.weight[name .. ".bias"])
    return y:flatten(-2, -1):transpose(-1, -2) -- [B H*W C]
  end
  local out = single(pixels "query", pixels "key", pixels "value",
    {scale = c.params.scale})
  return {out = out:transpose(-1, -2):reshape {size[1],
    c.params.out_channels, size[3], size[4]}}
end

local function image_module(c)
  local p = c.params
  local layer = loaded(c, "ImageSelfAttention", "", p.in_channels,
    p.out_channels, {scale = p.scale})
  return {out = layer(c.input.image)}
end
seed.seed_art_image = {image, image_module}

for op, ways in pairs(seed) do
  if type(ways) == "function" then ways = {ways} end
  for i, way in ipairs(ways) do ways[i] = after_draws(way) end
  seed[op] = ways
end

return seed
