--- Llama: a decoder that goes on with a text (Touvron et al., 2023), with the
-- names of the hub's weights; Mistral (a window) and Qwen 2 (biases of queries,
-- keys and values) are the same network.
--
--     x = x + o_proj(attend(rotate(q_proj(n)), rotate(k_proj(n)), v_proj(n)))
--         with n = input_layernorm(x)                  each layer
--     x = x + down_proj(silu(gate_proj(n)) * up_proj(n))
--         with n = post_attention_layernorm(x)
--     scores = lm_head(norm(x))

local attend = require "heed.models.attend"
local activations = require "heed.models.activation"
local causal = require "heed.models.causal"
local check = require "heed.check"
local config = require "heed.models.config"
local core = require "heed.core"
local nn = require "heed.nn"

local ops <const> = core.ops
local NAME <const> = "Llama"

local Llama = causal.extend(NAME)

local CONFIG <const> = {
  vocab_size = config.INTEGER, hidden_size = config.INTEGER,
  num_hidden_layers = config.INTEGER, num_attention_heads = config.INTEGER,
  intermediate_size = config.INTEGER, num_key_value_heads = 0, head_dim = 0,
  max_position_embeddings = 2048, hidden_act = "silu", rms_norm_eps = 1e-6,
  rope_theta = 10000.0, rope_scaling = check.NONE, rope_parameters = check.NONE,
  tie_word_embeddings = false, attention_bias = false, mlp_bias = false,
  sliding_window = check.NONE, use_sliding_window = true, model_type = "llama",
  rope_style = "half",
}

-- -- positions ---------------------------------------------------------------

local ROPE <const> = {
  rope_type = "default", type = check.NONE, rope_theta = check.NONE,
  factor = check.NONE, low_freq_factor = check.NONE,
  high_freq_factor = check.NONE, original_max_position_embeddings = check.NONE,
}

-- The layer that turns queries and keys. The settings stood beside the others
-- once, and stand in a table of their own now.
local function make_rotary(c)
  local given <const> = c.rope_parameters or c.rope_scaling or {}
  check.kind(NAME, "config: rope_scaling", given, "table")
  local o <const> = config.read(NAME, given, ROPE)
  local kind <const> = o.type or o.rope_type
  local scaling
  if kind == "linear" then
    scaling = {type = "linear", factor = o.factor}
  elseif kind == "llama3" then
    scaling = {type = "llama3", factor = o.factor, low = o.low_freq_factor,
      high = o.high_freq_factor, length = o.original_max_position_embeddings}
  elseif kind ~= "default" then
    check.fail('%s: config: rope_type must be one of default, linear, llama3, '
      .. 'got %s', NAME, check.show(kind))
  end
  return nn.RotaryEmbedding(c.head_dim, {base = o.rope_theta or c.rope_theta,
    style = c.rope_style, scaling = scaling})
end

-- -- a layer -----------------------------------------------------------------

local Layer = nn.Module:extend "LlamaLayer"

function Layer:init(c, rotary)
  local e <const>, d <const> = c.hidden_size, c.head_dim
  local norm <const> = {eps = c.rms_norm_eps}
  local qkv <const> = {bias = c.attention_bias or c.model_type == "qwen2"}
  local out <const> = {bias = c.attention_bias}
  local mlp <const> = {bias = c.mlp_bias}
  self.heads, self.kv_heads = c.num_attention_heads, c.num_key_value_heads
  self.activation, self.rotate = activations[c.hidden_act], rotary
  self.self_attn = nn.ModuleDict {
    {"q_proj", nn.Linear(e, self.heads * d, qkv)},
    {"k_proj", nn.Linear(e, self.kv_heads * d, qkv)},
    {"v_proj", nn.Linear(e, self.kv_heads * d, qkv)},
    {"o_proj", nn.Linear(self.heads * d, e, out)},
  }
  self.mlp = nn.ModuleDict {
    {"gate_proj", nn.Linear(e, c.intermediate_size, mlp)},
    {"up_proj", nn.Linear(e, c.intermediate_size, mlp)},
    {"down_proj", nn.Linear(c.intermediate_size, e, mlp)},
  }
  self.input_layernorm = nn.RMSNorm(e, norm)
  self.post_attention_layernorm = nn.RMSNorm(e, norm)
end

local function look(self, x, o)
  local project <const> = self.self_attn
  local at <const> = {offset = o.cache and o.cache:before(self) or 0}
  local q <const> = ops.split_heads(project.q_proj(x), self.heads)
  local k <const> = ops.split_heads(project.k_proj(x), self.kv_heads)
  local v <const> = ops.split_heads(project.v_proj(x), self.kv_heads)
  return project.o_proj(
    attend(self, self.rotate(q, at), self.rotate(k, at), v, o))
end

-- x [B T C]
function Layer:forward(x, o)
  x = x + look(self, self.input_layernorm(x), o)
  local mlp <const>, y <const> = self.mlp, self.post_attention_layernorm(x)
  return x + mlp.down_proj(self.activation(mlp.gate_proj(y)) * mlp.up_proj(y))
end

-- -- the network -------------------------------------------------------------

local function read(c)
  c = config.read(NAME, c, CONFIG)
  config.check_one_of(NAME, c, "hidden_act", activations)
  if c.num_key_value_heads == 0 then
    c.num_key_value_heads = c.num_attention_heads
  end
  config.check_multiple(NAME, c, "num_attention_heads", "num_key_value_heads")
  if c.head_dim == 0 then
    c.head_dim = config.check_multiple(NAME, c, "hidden_size",
      "num_attention_heads")
  end
  return c
end

--- Makes a network with first values.
-- @function Llama
-- @tparam table c what config.json holds, of the model type "llama", "mistral"
-- or "qwen2": `vocab_size`, `hidden_size`, `num_hidden_layers`,
-- `num_attention_heads`, `intermediate_size` must be there. `rope_style`:
-- `"half"` (default), or `"interleaved"` for weights in the order of the paper
-- @raise for a setting that is missing or unknown
-- @usage
-- local network = heed.models.Llama {vocab_size = 100, hidden_size = 32,
--   num_hidden_layers = 2, num_attention_heads = 4, num_key_value_heads = 2,
--   intermediate_size = 64}
-- local scores = network(heed.tensor {{7, 9, 3}}) -- [1 3 100]
function Llama:init(c)
  c = read(c)
  self.max_length = c.max_position_embeddings
  if c.sliding_window and c.use_sliding_window then
    self.window = check.integer(NAME, "config: sliding_window",
      c.sliding_window, 1)
  end
  local rotary <const> = make_rotary(c)
  self.model = nn.ModuleDict {
    {"embed_tokens", nn.Embedding(c.vocab_size, c.hidden_size)},
    {"layers", nn.ModuleList()},
    {"norm", nn.RMSNorm(c.hidden_size, {eps = c.rms_norm_eps})},
  }
  for _ = 1, c.num_hidden_layers do
    self.model.layers:append(Layer(c, rotary))
  end
  self.lm_head = nn.Linear(c.hidden_size, c.vocab_size, {bias = false})
  if c.tie_word_embeddings then
    self.lm_head.weight = self.model.embed_tokens.weight
  end
end

--- What the scores are made of: the last layer's result, tensor [B T C].
-- @param ids int64 tensor [B T]
-- @tparam[opt] table options those of `forward`
-- @raise when there are more positions than the network has
-- @usage
-- local network = heed.models.Llama {vocab_size = 100, hidden_size = 32,
--   num_hidden_layers = 2, num_attention_heads = 4, intermediate_size = 64}
-- local x = network:hidden(heed.tensor {{7, 9, 3}}) -- [1 3 32]
function Llama:hidden(ids, options)
  local o <const> = self:read(ids, options)
  local x = self.model.embed_tokens(ids)
  for i = 1, #self.model.layers do x = self.model.layers[i](x, o) end
  return self.model.norm(x)
end

-- How the names in files differ.
function Llama.rename(name)
  if name:find "%.rotary_emb%.inv_freq$" then return nil end
  return name
end

return Llama
