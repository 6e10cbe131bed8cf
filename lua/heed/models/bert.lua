--- Bert: an encoder that reads a text as a whole (Devlin et al., 2019), with
-- the names of the hub's weights. RoBERTa (Liu et al., 2019) is the same
-- network, with positions that begin behind that of the padding.
--
--     x = norm(word + position + type)
--     x = norm(x + dense(attend(x)))          each layer, which norms last
--     x = norm(x + dense(gelu(dense(x))))

local attend = require "heed.models.attend"
local activations = require "heed.models.activation"
local check = require "heed.check"
local check_ids = require "heed.models.check_ids"
local config = require "heed.models.config"
local core = require "heed.core"
local nn = require "heed.nn"

local ops <const> = core.ops
local NAME <const> = "Bert"

local Bert = nn.Module:extend(NAME)

local CONFIG <const> = {
  vocab_size = config.INTEGER, hidden_size = config.INTEGER,
  num_hidden_layers = config.INTEGER, num_attention_heads = config.INTEGER,
  intermediate_size = config.INTEGER, max_position_embeddings = 512,
  type_vocab_size = 2, hidden_act = "gelu", layer_norm_eps = 1e-12,
  hidden_dropout_prob = 0.1, pad_token_id = 0, model_type = "bert",
  position_embedding_type = "absolute",
}

-- -- a layer -----------------------------------------------------------------

-- dense, then the norm of the sum with what came in.
local Join = nn.Module:extend "BertOutput"

function Join:init(c, width)
  self.dense = nn.Linear(width, c.hidden_size)
  self.LayerNorm = nn.LayerNorm(c.hidden_size, {eps = c.layer_norm_eps})
  self.dropout = nn.Dropout(c.hidden_dropout_prob)
end

function Join:forward(x, before)
  return self.LayerNorm(self.dropout(self.dense(x)) + before)
end

local Layer = nn.Module:extend "BertLayer"

function Layer:init(c)
  local e <const> = c.hidden_size
  self.heads = c.num_attention_heads
  self.activation = activations[c.hidden_act]
  self.attention = nn.ModuleDict {
    {"self", nn.ModuleDict {{"query", nn.Linear(e, e)},
      {"key", nn.Linear(e, e)}, {"value", nn.Linear(e, e)}}},
    {"output", Join(c, e)},
  }
  self.intermediate = nn.ModuleDict {
    {"dense", nn.Linear(e, c.intermediate_size)}}
  self.output = Join(c, c.intermediate_size)
end

-- x [B T C]
function Layer:forward(x, o)
  local project <const>, n <const> = self.attention.self, self.heads
  local y <const> = attend(self, ops.split_heads(project.query(x), n),
    ops.split_heads(project.key(x), n), ops.split_heads(project.value(x), n),
    o)
  x = self.attention.output(y, x)
  return self.output(self.activation(self.intermediate.dense(x)), x)
end

-- -- the network -------------------------------------------------------------

--- Makes a network with first values.
-- @function Bert
-- @tparam table c what config.json holds, of the model type "bert", "roberta"
-- or "xlm-roberta": `vocab_size`, `hidden_size`, `num_hidden_layers`,
-- `num_attention_heads`, `intermediate_size` must be there
-- @raise for a setting that is missing or unknown
-- @usage
-- local network = heed.models.Bert {vocab_size = 100, hidden_size = 32,
--   num_hidden_layers = 2, num_attention_heads = 4, intermediate_size = 64}
-- local x = network(heed.tensor {{2, 7, 9, 3}}) -- [1 4 32]
function Bert:init(c)
  c = config.read(NAME, c, CONFIG)
  config.check_one_of(NAME, c, "hidden_act", activations)
  config.check_one_of(NAME, c, "position_embedding_type", {absolute = true})
  config.check_multiple(NAME, c, "hidden_size", "num_attention_heads")
  -- positions of RoBERTa are counted from that of the padding
  self.skipped = c.model_type == "bert" and 0 or c.pad_token_id + 1
  self.max_length = c.max_position_embeddings - self.skipped
  local e <const> = c.hidden_size
  self.embeddings = nn.ModuleDict {
    {"word_embeddings", nn.Embedding(c.vocab_size, e)},
    {"position_embeddings", nn.Embedding(c.max_position_embeddings, e)},
    {"token_type_embeddings", nn.Embedding(c.type_vocab_size, e)},
    {"LayerNorm", nn.LayerNorm(e, {eps = c.layer_norm_eps})},
  }
  self.dropout = nn.Dropout(c.hidden_dropout_prob)
  self.encoder = nn.ModuleDict {{"layer", nn.ModuleList()}}
  for _ = 1, c.num_hidden_layers do self.encoder.layer:append(Layer(c)) end
  self.pooler = nn.ModuleDict {{"dense", nn.Linear(e, e)}}
end

local OPTIONS <const> = {lens = true, types = true}

--- @param ids int64 tensor [B T]
-- @tparam[opt] table options `lens`, int64 tensor [B]: how many ids of each row
-- count, all by default; `types`, int64 tensor [B T]: 1 for the first of two
-- texts, 2 for the second, 1 by default
-- @return the last layer's result, tensor [B T C]
-- @raise when T is beyond the positions that the network has
-- @usage
-- local network = heed.models.Bert {vocab_size = 100, hidden_size = 32,
--   num_hidden_layers = 2, num_attention_heads = 4, intermediate_size = 64}
-- local x = network(heed.tensor {{2, 7, 3}, {2, 3, 1}},
--   {lens = heed.tensor {3, 2}})
function Bert:forward(ids, options)
  check.keys(NAME, options, OPTIONS)
  check_ids(self, "ids", ids, 0)
  local o <const> = options or {}
  local e <const>, t <const> = self.embeddings, ids:size(2)
  local x = e.word_embeddings(ids) + e.position_embeddings.weight:narrow(1,
    self.skipped + 1, t)
  -- one type for all ids is one row for all
  x = x + (o.types and e.token_type_embeddings(o.types) or
    e.token_type_embeddings.weight[1])
  x = self.dropout(e.LayerNorm(x))
  for i = 1, #self.encoder.layer do
    x = self.encoder.layer[i](x, {lens = o.lens})
  end
  return x
end

--- What the network makes of the first id of each row, through the layer that
-- was trained on pairs of sentences.
-- @param x the result of the network, tensor [B T C]
-- @return tensor [B C]
-- @raise when the file that the network is from lacked this layer
-- @usage
-- local network = heed.models.Bert {vocab_size = 100, hidden_size = 32,
--   num_hidden_layers = 2, num_attention_heads = 4, intermediate_size = 64}
-- local y = network:pool(network(heed.tensor {{2, 7, 9, 3}})) -- [1 32]
function Bert:pool(x)
  if not self.pooler.dense.weight then
    check.fail("%s:pool: the file had no weights of the pooler", NAME)
  end
  return ops.tanh(self.pooler.dense(ops.select(x, 2, 1)))
end

-- How the names in files differ; see `heed.models.weights`.
function Bert.rename(name)
  name = name:gsub("^bert%.", ""):gsub("^roberta%.", "")
  if name:find "^cls%." or name:find "^lm_head%." or
     name == "embeddings.position_ids" then
    return nil -- heads of training, and a list of numbers
  end
  return (name:gsub("%.gamma$", ".weight"):gsub("%.beta$", ".bias"))
end

-- Weights that a file may lack.
Bert.optional = {"^pooler%."}

return Bert
