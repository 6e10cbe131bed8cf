--- T5: reads a text and writes another (Raffel et al., 2020), with the names of
-- the hub's weights.
--
--     x = x + o(attend(q(norm(x)), k(norm(x)), v(norm(x)) + bias))
--     x = x + wo(relu(wi(norm(x))))      or  wo(gelu(wi_0(.)) * wi_1(.))
--
-- The products of queries and keys are not scaled; the bias, by distance, is
-- that of the first layer for all.

local activations = require "heed.models.activation"
local check = require "heed.check"
local check_ids = require "heed.models.check_ids"
local config = require "heed.models.config"
local nn = require "heed.nn"
local projected_attention = require "heed.models.projected_attention"
local seq2seq = require "heed.models.seq2seq"

local NAME <const> = "T5"

local T5 = seq2seq.extend(NAME)

local CONFIG <const> = {
  vocab_size = config.INTEGER, d_model = config.INTEGER, d_kv = 64,
  d_ff = config.INTEGER, num_layers = config.INTEGER, num_decoder_layers = 0,
  num_heads = config.INTEGER, relative_attention_num_buckets = 32,
  relative_attention_max_distance = 128, layer_norm_epsilon = 1e-6,
  feed_forward_proj = "relu", dropout_rate = 0.1, tie_word_embeddings = true,
  scale_decoder_outputs = check.NONE, decoder_start_token_id = 0,
  eos_token_id = 1, model_type = "t5",
}

local FEEDS <const> = {
  relu = {"relu"}, gelu = {"gelu"}, ["gated-gelu"] = {"gelu_new", true},
  ["gated-silu"] = {"silu", true},
}

-- -- attention ---------------------------------------------------------------

local Attention = projected_attention("T5Attention", {q = "q", k = "k",
  v = "v", out = "o"}, 1.0)

-- `distances`: is it the layer whose bias is that of all? and of a decoder?
function Attention:init(c, distances, causal)
  local inner <const>, flat <const> = c.num_heads * c.d_kv, {bias = false}
  self.heads = c.num_heads
  self.q = nn.Linear(c.d_model, inner, flat)
  self.k = nn.Linear(c.d_model, inner, flat)
  self.v = nn.Linear(c.d_model, inner, flat)
  self.o = nn.Linear(inner, c.d_model, flat)
  if distances then
    self.relative_attention_bias = nn.RelativePositionBias(c.num_heads, {
      num_buckets = c.relative_attention_num_buckets,
      max_distance = c.relative_attention_max_distance,
      bidirectional = not causal})
  end
end

-- -- a block -----------------------------------------------------------------

local Feed = nn.Module:extend "T5Feed"

function Feed:init(c)
  local kind <const>, flat <const> = FEEDS[c.feed_forward_proj], {bias = false}
  self.activation = activations[kind[1]]
  if kind[2] then
    self.wi_0 = nn.Linear(c.d_model, c.d_ff, flat)
    self.wi_1 = nn.Linear(c.d_model, c.d_ff, flat)
  else
    self.wi = nn.Linear(c.d_model, c.d_ff, flat)
  end
  self.wo = nn.Linear(c.d_ff, c.d_model, flat)
end

function Feed:forward(x)
  if self.wi then return self.wo(self.activation(self.wi(x))) end
  return self.wo(self.activation(self.wi_0(x)) * self.wi_1(x))
end

-- A part of a block, with the norm that stands before it.
local function part(c, name, module)
  return nn.ModuleDict {{name, module},
    {"layer_norm", nn.RMSNorm(c.d_model, {eps = c.layer_norm_epsilon})}}
end

local Block = nn.Module:extend "T5Block"

function Block:init(c, first, causal)
  self.layer = nn.ModuleList {
    part(c, "SelfAttention", Attention(c, first, causal))}
  if causal then
    self.layer:append(part(c, "EncDecAttention", Attention(c)))
  end
  self.layer:append(part(c, "DenseReluDense", Feed(c)))
  self.dropout = nn.Dropout(c.dropout_rate)
end

-- x [B T C]; memory [B S C] in a decoder
function Block:forward(x, o, memory, to_memory)
  local own <const>, feed <const> = self.layer[1], self.layer[#self.layer]
  x = x + self.dropout(own.SelfAttention(own.layer_norm(x), o))
  if memory then
    local other <const> = self.layer[2]
    x = x + self.dropout(other.EncDecAttention:look_at(other.layer_norm(x),
      memory, to_memory))
  end
  return x + self.dropout(feed.DenseReluDense(feed.layer_norm(x)))
end

local function stack(c, n, causal)
  local blocks = nn.ModuleList()
  for i = 1, n do blocks:append(Block(c, i == 1, causal)) end
  return nn.ModuleDict {{"block", blocks}, {"final_layer_norm",
    nn.RMSNorm(c.d_model, {eps = c.layer_norm_epsilon})}}
end

-- -- the network -------------------------------------------------------------

local function read(given)
  local c <const> = config.read(NAME, given, CONFIG)
  if c.model_type == "mt5" and given.feed_forward_proj == nil then
    c.feed_forward_proj = "gated-gelu"
  end
  config.check_one_of(NAME, c, "feed_forward_proj", FEEDS)
  if c.scale_decoder_outputs == nil then -- newer files say it by itself
    c.scale_decoder_outputs = c.model_type ~= "mt5" and c.tie_word_embeddings
  end
  return c
end

-- First values, whose size makes up for products that nothing scales.
local function fill(self, c)
  local inner <const> = c.num_heads * c.d_kv
  local std <const> = {
    q = (c.d_model * c.d_kv) ^ -0.5, o = inner ^ -0.5, wo = c.d_ff ^ -0.5,
    shared = 1.0,
  }
  for name, p in self:named_parameters() do
    if p.ndim == 2 then
      nn.init.normal_(p, 0, std[name:match "(%w+)%.weight$"] or
        c.d_model ^ -0.5)
    end
  end
end

--- Makes a network with first values.
-- @function T5
-- @tparam table c what config.json holds, of the model type "t5" or "mt5":
-- `vocab_size`, `d_model`, `d_ff`, `num_layers`, `num_heads` must be there
-- @raise for a setting that is missing or unknown
-- @usage
-- local network = heed.models.T5 {vocab_size = 100, d_model = 32, d_kv = 8,
--   d_ff = 64, num_layers = 2, num_heads = 4}
-- local scores = network(heed.tensor {{7, 9, 2}}, heed.tensor {{1, 5}})
function T5:init(c)
  c = read(c)
  local decoders <const> = c.num_decoder_layers > 0 and c.num_decoder_layers
    or c.num_layers
  self.bos, self.eos = c.decoder_start_token_id + 1, c.eos_token_id + 1
  self.shared = nn.Embedding(c.vocab_size, c.d_model)
  self.dropout = nn.Dropout(c.dropout_rate)
  self.encoder = stack(c, c.num_layers, false)
  self.decoder = stack(c, decoders, true)
  self.lm_head = nn.Linear(c.d_model, c.vocab_size, {bias = false})
  fill(self, c)
  if c.tie_word_embeddings then self.lm_head.weight = self.shared.weight end
  self.scale = c.scale_decoder_outputs and c.d_model ^ -0.5 or nil
end

local function bias_of(part_, tq, tk)
  return part_.block[1].layer[1].SelfAttention.relative_attention_bias(tq, tk)
end

--- Reads the source.
-- @param ids int64 tensor [B S]
-- @param[opt] lens int64 tensor [B]: how many ids of each row count
-- @return the memory, tensor [B S C]
-- @usage
-- local network = heed.models.T5 {vocab_size = 100, d_model = 32, d_kv = 8,
--   d_ff = 64, num_layers = 2, num_heads = 4}
-- local memory = network:encode(heed.tensor {{7, 9, 2}}) -- [1 3 32]
function T5:encode(ids, lens)
  check_ids(self, "ids", ids, 0)
  local encoder <const>, t <const> = self.encoder, ids:size(2)
  if #encoder.block == 0 then return self.dropout(self.shared(ids)) end
  local o <const> = {scale = 1.0, lens = lens, bias = bias_of(encoder, t, t)}
  local x = self.dropout(self.shared(ids))
  for i = 1, #encoder.block do x = encoder.block[i](x, o) end
  return self.dropout(encoder.final_layer_norm(x))
end

--- Reads what is written so far, and the memory.
-- @param ids int64 tensor [B T]
-- @param memory tensor [B S C]
-- @tparam[opt] table options `lens` [B] of the memory; `cache`, an
-- `nn.KeyValueCache` of what comes before ids; `memory_cache`, one of what the
-- layers make of the memory: once it has that, the memory is not read
-- @return tensor [B T C], of which `score` makes scores
-- @usage
-- local network = heed.models.T5 {vocab_size = 100, d_model = 32, d_kv = 8,
--   d_ff = 64, num_layers = 2, num_heads = 4}
-- local memory = network:encode(heed.tensor {{7, 9, 2}})
-- local x = network:decode(heed.tensor {{1, 5}}, memory) -- [1 2 32]
function T5:decode(ids, memory, options)
  local cache <const> = options and options.cache
  check_ids(self, "ids", ids, 0)
  local decoder <const>, t <const> = self.decoder, ids:size(2)
  local before <const> = cache and cache:length() or 0
  local own <const> = {scale = 1.0, causal = true, cache = cache,
    bias = bias_of(decoder, t, before + t)}
  local to_memory <const> = {lens = options and options.lens,
    cache = options and options.memory_cache}
  local x = self.dropout(self.shared(ids))
  for i = 1, #decoder.block do
    x = decoder.block[i](x, own, memory, to_memory)
  end
  return self.dropout(decoder.final_layer_norm(x))
end

--- The scores of the ids that come next, tensor [B T vocab_size].
-- @param hidden tensor [B T C], as `decode` gives it
-- @usage
-- local network = heed.models.T5 {vocab_size = 100, d_model = 32, d_kv = 8,
--   d_ff = 64, num_layers = 2, num_heads = 4}
-- local scores = network:score(heed.randn(1, 2, 32)) -- [1 2 100]
function T5:score(hidden)
  return self.lm_head(self.scale and hidden * self.scale or hidden)
end

-- Some files have it, but nothing is made of it.
local UNUSED <const> =
  "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"

--- The name here of a weight that files call so, or nil for what is not used;
-- see `heed.models.load`.
-- @tparam string name
-- @treturn ?string
-- @usage return heed.models.T5.rename "shared.weight" --> shared.weight
function T5.rename(name)
  if name == UNUSED then return nil end
  if name:find "coder%.embed_tokens%.weight$" then return "shared.weight" end
  return name
end

return T5
