--- Marian: a translator (Junczys-Dowmunt et al., 2018; the models of
-- OPUS-MT), with the names of the hub's weights.
--
--     x = sqrt(C) word + position         sines in the first half, then cosines
--     x = norm(x + attend(x))             to itself, then to the memory
--     x = norm(x + fc2(swish(fc1(x))))
--     scores = lm_head(x) + final_logits_bias

local activations = require "heed.models.activation"
local check = require "heed.check"
local check_ids = require "heed.models.check_ids"
local config = require "heed.models.config"
local core = require "heed.core"
local nn = require "heed.nn"
local projected_attention = require "heed.models.projected_attention"
local seq2seq = require "heed.models.seq2seq"

local ops <const> = core.ops
local NAME <const> = "Marian"

local Marian = seq2seq.extend(NAME)

local CONFIG <const> = {
  vocab_size = config.INTEGER, decoder_vocab_size = check.NONE,
  d_model = config.INTEGER, encoder_layers = config.INTEGER,
  decoder_layers = config.INTEGER, encoder_attention_heads = config.INTEGER,
  decoder_attention_heads = config.INTEGER,
  encoder_ffn_dim = config.INTEGER, decoder_ffn_dim = config.INTEGER,
  max_position_embeddings = 1024, activation_function = "gelu",
  scale_embedding = false, dropout = 0.1, pad_token_id = config.INTEGER,
  eos_token_id = config.INTEGER, decoder_start_token_id = config.INTEGER,
  share_encoder_decoder_embeddings = true, tie_word_embeddings = true,
  normalize_before = false, normalize_embedding = false,
  add_final_layer_norm = false,
}

-- -- attention ---------------------------------------------------------------

local Attention = projected_attention("MarianAttention", {q = "q_proj",
  k = "k_proj", v = "v_proj", out = "out_proj"})

function Attention:init(c, heads)
  local e <const> = c.d_model
  self.heads = heads
  self.k_proj, self.v_proj = nn.Linear(e, e), nn.Linear(e, e)
  self.q_proj, self.out_proj = nn.Linear(e, e), nn.Linear(e, e)
end

-- -- a layer -----------------------------------------------------------------

local Layer = nn.Module:extend "MarianLayer"

function Layer:init(c, heads, inner, decodes)
  local e <const> = c.d_model
  self.activation = activations[c.activation_function]
  self.self_attn = Attention(c, heads)
  self.self_attn_layer_norm = nn.LayerNorm(e)
  if decodes then
    self.encoder_attn = Attention(c, heads)
    self.encoder_attn_layer_norm = nn.LayerNorm(e)
  end
  self.fc1, self.fc2 = nn.Linear(e, inner), nn.Linear(inner, e)
  self.final_layer_norm = nn.LayerNorm(e)
  self.dropout = nn.Dropout(c.dropout)
end

-- x [B T C]; memory [B S C] in a decoder
function Layer:forward(x, o, memory, to_memory)
  x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, o)))
  if memory then
    x = self.encoder_attn_layer_norm(x + self.dropout(
      self.encoder_attn:look_at(x, memory, to_memory)))
  end
  local inner <const> = self.activation(self.fc1(x))
  return self.final_layer_norm(x + self.dropout(self.fc2(inner)))
end

-- -- the network -------------------------------------------------------------

-- Rows `before` + 1 .. of the table of positions, counted from 0 in it:
-- sin(p / 10000^(2 i / C)) for i < C / 2, then the cosines, [t C].
local function positions(width, before, t, dtype)
  local half <const> = ops.arange(0, (width + 1) // 2 - 1, 1, "float64")
  local p <const> = ops.arange(before, before + t - 1, 1, "float64")
  local angle <const> = ops.mul(ops.unsqueeze(p, 2),
    ops.pow(10000.0, ops.mul(half, -2 / width)))
  return ops.to(ops.cat({ops.sin(angle),
    ops.cos(angle:narrow(2, 1, width // 2))}, 2), dtype)
end

local function stack(c, kind, decodes)
  local layers = nn.ModuleList()
  for _ = 1, c[kind .. "_layers"] do
    layers:append(Layer(c, c[kind .. "_attention_heads"],
      c[kind .. "_ffn_dim"], decodes))
  end
  return nn.ModuleDict {{"layers", layers}}
end

--- Makes a network with first values.
-- @function Marian
-- @tparam table c what config.json holds, of the model type "marian":
-- `vocab_size`, `d_model`, `encoder_layers`, `decoder_layers`, `..._ffn_dim`,
-- `..._attention_heads` of both, `pad_token_id`, `eos_token_id` and
-- `decoder_start_token_id` must be there
-- @raise for a setting that is missing or unknown
-- @usage
-- local network = heed.models.Marian {vocab_size = 100, d_model = 32,
--   encoder_layers = 1, decoder_layers = 1, encoder_attention_heads = 4,
--   decoder_attention_heads = 4, encoder_ffn_dim = 64, decoder_ffn_dim = 64,
--   pad_token_id = 99, eos_token_id = 0, decoder_start_token_id = 99}
-- local scores = network(heed.tensor {{7, 9, 1}}, heed.tensor {{100, 5}})
function Marian:init(c)
  c = config.read(NAME, c, CONFIG)
  config.check_one_of(NAME, c, "activation_function", activations)
  for _, key in ipairs {"normalize_before", "normalize_embedding",
      "add_final_layer_norm"} do
    config.check_one_of(NAME, c, key, {[false] = true})
  end
  config.check_one_of(NAME, c, "share_encoder_decoder_embeddings",
    {[true] = true})
  config.check_multiple(NAME, c, "d_model", "encoder_attention_heads")
  config.check_multiple(NAME, c, "d_model", "decoder_attention_heads")
  self.max_length = c.max_position_embeddings
  self.bos, self.eos = c.decoder_start_token_id + 1, c.eos_token_id + 1
  self.never = c.pad_token_id + 1
  self.scale = c.scale_embedding and c.d_model ^ 0.5 or 1.0
  self.model = nn.ModuleDict {
    {"shared", nn.Embedding(c.vocab_size, c.d_model)},
    {"encoder", stack(c, "encoder", false)},
    {"decoder", stack(c, "decoder", true)},
  }
  nn.init.normal_(self.model.shared.weight, 0, c.d_model ^ -0.5)
  self.dropout = nn.Dropout(c.dropout)
  self.lm_head = nn.Linear(c.d_model, c.vocab_size, {bias = false})
  if c.tie_word_embeddings then
    self.lm_head.weight = self.model.shared.weight
  end
  self:register_buffer("final_logits_bias", ops.zeros({1, c.vocab_size}))
end

local function embed(self, ids, before)
  local x <const> = self.model.shared(ids) * self.scale
  return self.dropout(x + positions(x:size(-1), before, ids:size(2), x.dtype))
end

--- Reads the source.
-- @param ids int64 tensor [B S]
-- @param[opt] lens int64 tensor [B]: how many ids of each row count
-- @return the memory, tensor [B S C]
-- @raise when S is beyond the positions that the network has
-- @usage
-- local network = heed.models.Marian {vocab_size = 100, d_model = 32,
--   encoder_layers = 1, decoder_layers = 1, encoder_attention_heads = 4,
--   decoder_attention_heads = 4, encoder_ffn_dim = 64, decoder_ffn_dim = 64,
--   pad_token_id = 99, eos_token_id = 0, decoder_start_token_id = 99}
-- local memory = network:encode(heed.tensor {{7, 9, 1}}) -- [1 3 32]
function Marian:encode(ids, lens)
  check_ids(self, "ids", ids, 0)
  local layers <const> = self.model.encoder.layers
  local x = embed(self, ids, 0)
  for i = 1, #layers do x = layers[i](x, {lens = lens}) end
  return x
end

--- Reads what is written so far, and the memory.
-- @param ids int64 tensor [B T]
-- @param memory tensor [B S C]
-- @tparam[opt] table options `lens` [B] of the memory; `cache`, an
-- `nn.KeyValueCache` of what comes before ids; `memory_cache`, one of what the
-- layers make of the memory: once it has that, the memory is not read
-- @return tensor [B T C], of which `score` makes scores
-- @raise when there are more positions than the network has
-- @usage
-- local network = heed.models.Marian {vocab_size = 100, d_model = 32,
--   encoder_layers = 1, decoder_layers = 1, encoder_attention_heads = 4,
--   decoder_attention_heads = 4, encoder_ffn_dim = 64, decoder_ffn_dim = 64,
--   pad_token_id = 99, eos_token_id = 0, decoder_start_token_id = 99}
-- local memory = network:encode(heed.tensor {{7, 9, 1}})
-- local x = network:decode(heed.tensor {{100, 5}}, memory) -- [1 2 32]
function Marian:decode(ids, memory, options)
  local cache <const> = options and options.cache
  local before <const> = cache and cache:length() or 0
  check_ids(self, "ids", ids, before)
  local own <const> = {causal = true, cache = cache}
  local to_memory <const> = {lens = options and options.lens,
    cache = options and options.memory_cache}
  local layers <const> = self.model.decoder.layers
  local x = embed(self, ids, before)
  for i = 1, #layers do x = layers[i](x, own, memory, to_memory) end
  return x
end

--- The scores of the ids that come next, tensor [B T vocab_size].
-- @param hidden tensor [B T C], as `decode` gives it
-- @usage
-- local network = heed.models.Marian {vocab_size = 100, d_model = 32,
--   encoder_layers = 1, decoder_layers = 1, encoder_attention_heads = 4,
--   decoder_attention_heads = 4, encoder_ffn_dim = 64, decoder_ffn_dim = 64,
--   pad_token_id = 99, eos_token_id = 0, decoder_start_token_id = 99}
-- local scores = network:score(heed.randn(1, 2, 32)) -- [1 2 100]
function Marian:score(hidden)
  return self.lm_head(hidden) + self.final_logits_bias
end

--- The name here of a weight that files call so, or nil for what is computed;
-- see `heed.models.load`.
-- @tparam string name
-- @treturn ?string
-- @usage
-- return heed.models.Marian.rename "model.encoder.embed_tokens.weight"
-- --> model.shared.weight
function Marian.rename(name)
  if name:find "%.embed_positions%.weight$" then return nil end -- computed
  if name:find "coder%.embed_tokens%.weight$" then
    return "model.shared.weight"
  end
  return name
end

return Marian
