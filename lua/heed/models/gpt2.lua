--- Gpt2: a decoder that goes on with a text (Radford et al., 2019), with the
-- names of the hub's weights.
--
--     x = word + position
--     x = x + c_proj(attend(c_attn(ln_1(x))))          each layer
--     x = x + c_proj(gelu(c_fc(ln_2(x))))
--     scores = lm_head(ln_f(x))

local attend = require "heed.models.attend"
local activations = require "heed.models.activation"
local causal = require "heed.models.causal"
local config = require "heed.models.config"
local core = require "heed.core"
local nn = require "heed.nn"

local ops <const> = core.ops
local NAME <const> = "Gpt2"

local Gpt2 = causal.extend(NAME)

local CONFIG <const> = {
  vocab_size = config.INTEGER, n_embd = config.INTEGER,
  n_layer = config.INTEGER, n_head = config.INTEGER, n_inner = 0,
  n_positions = 1024, activation_function = "gelu_new",
  layer_norm_epsilon = 1e-5, embd_pdrop = 0.1, resid_pdrop = 0.1,
  tie_word_embeddings = true, scale_attn_weights = true,
  scale_attn_by_inverse_layer_idx = false,
}

-- -- a layer -----------------------------------------------------------------

local Layer = nn.Module:extend "Gpt2Layer"

function Layer:init(c)
  local e <const> = c.n_embd
  local inner <const> = c.n_inner > 0 and c.n_inner or 4 * e
  local norm <const> = {eps = c.layer_norm_epsilon}
  self.heads = c.n_head
  self.activation = activations[c.activation_function]
  self.ln_1 = nn.LayerNorm(e, norm)
  self.attn = nn.ModuleDict {{"c_attn", nn.Linear(e, 3 * e)},
    {"c_proj", nn.Linear(e, e)}}
  self.ln_2 = nn.LayerNorm(e, norm)
  self.mlp = nn.ModuleDict {{"c_fc", nn.Linear(e, inner)},
    {"c_proj", nn.Linear(inner, e)}}
  self.dropout = nn.Dropout(c.resid_pdrop)
end

-- x [B T C]
function Layer:forward(x, o)
  local q <const>, k <const>, v <const> = ops.split_qkv(
    self.attn.c_attn(self.ln_1(x)), self.heads)
  x = x + self.dropout(self.attn.c_proj(attend(self, q, k, v, o)))
  local inner <const> = self.activation(self.mlp.c_fc(self.ln_2(x)))
  return x + self.dropout(self.mlp.c_proj(inner))
end

-- -- the network -------------------------------------------------------------

--- Makes a network with first values.
-- @function Gpt2
-- @tparam table c what config.json holds, of the model type "gpt2":
-- `vocab_size`, `n_embd`, `n_layer`, `n_head` must be there
-- @raise for a setting that is missing or unknown
-- @usage
-- local network = heed.models.Gpt2 {vocab_size = 100, n_embd = 32,
--   n_layer = 2, n_head = 4}
-- local scores = network(heed.tensor {{7, 9, 3}}) -- [1 3 100]
function Gpt2:init(c)
  c = config.read(NAME, c, CONFIG)
  config.check_one_of(NAME, c, "activation_function", activations)
  config.check_one_of(NAME, c, "scale_attn_weights", {[true] = true})
  config.check_one_of(NAME, c, "scale_attn_by_inverse_layer_idx",
    {[false] = true})
  config.check_multiple(NAME, c, "n_embd", "n_head")
  self.max_length = c.n_positions
  self.wte = nn.Embedding(c.vocab_size, c.n_embd)
  self.wpe = nn.Embedding(c.n_positions, c.n_embd)
  self.dropout = nn.Dropout(c.embd_pdrop)
  self.h = nn.ModuleList()
  for _ = 1, c.n_layer do self.h:append(Layer(c)) end
  self.ln_f = nn.LayerNorm(c.n_embd, {eps = c.layer_norm_epsilon})
  self.lm_head = nn.Linear(c.n_embd, c.vocab_size, {bias = false})
  if c.tie_word_embeddings then self.lm_head.weight = self.wte.weight end
end

-- The rows of the positions of ids [B T]: [T C], or [B T C] where the cache
-- holds sequences of different lengths.
local function positions(self, ids, cache)
  local before <const> = cache and (cache:lengths() or cache:length()) or 0
  local t <const> = ids:size(2)
  if math.type(before) then
    return self.wpe.weight:narrow(1, before + 1, t)
  end
  return self.wpe(ops.add(ops.unsqueeze(before, 2), ops.arange(1, t)))
end

--- What the scores are made of: the last layer's result, tensor [B T C].
-- @param ids int64 tensor [B T]
-- @tparam[opt] table options those of `forward`
-- @raise when there are more positions than the network has
-- @usage
-- local network = heed.models.Gpt2 {vocab_size = 100, n_embd = 32,
--   n_layer = 2, n_head = 4}
-- local x = network:hidden(heed.tensor {{7, 9, 3}}) -- [1 3 32]
function Gpt2:hidden(ids, options)
  local o <const> = self:read(ids, options)
  local x = self.dropout(self.wte(ids) + positions(self, ids, o.cache))
  for i = 1, #self.h do x = self.h[i](x, o) end
  return self.ln_f(x)
end

-- How the names in files differ; matrices of layers lie there by columns.
function Gpt2.rename(name)
  name = name:gsub("^transformer%.", "")
  if name:find "%.attn%.bias$" or name:find "%.attn%.masked_bias$" then
    return nil -- what a token may see, as a table
  end
  return name, name:find "%.c_%w+%.weight$" ~= nil
end

return Gpt2
