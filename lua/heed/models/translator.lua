--- Translator: an encoder-decoder transformer from token ids to token ids
-- (Vaswani et al., 2017).
--
--     embed(x)  = dropout(embedding(x) * sqrt(d_model) + positions)
--     memory    = encoder(embed(source))              padding masked
--     logits    = head(decoder(embed(target), memory))  causal

local heed = require "heed"
local check = require "heed.check"
local beam_search = require "heed.models.beam_search"
local nn = require "heed.nn"

local Translator = nn.Module:extend("Translator")

local CONFIG <const> = {
  src_vocab = check.NONE, tgt_vocab = check.NONE, d_model = 128, heads = 4,
  encoder_layers = 2, decoder_layers = 2, ff = 512, dropout = 0.1,
  norm_first = true, tied = false, max_length = 128,
}

-- The configuration, whole and checked.
local function read_config(config)
  local c = check.options("Translator", config, CONFIG)
  for _, name in ipairs {"src_vocab", "tgt_vocab", "d_model", "heads", "ff",
      "max_length"} do
    check.integer("Translator", name, c[name], 1)
  end
  for _, name in ipairs {"encoder_layers", "decoder_layers"} do
    check.integer("Translator", name, c[name], 0)
  end
  if c.d_model % c.heads ~= 0 then
    check.fail("Translator: d_model %d must be a multiple of heads %d",
      c.d_model, c.heads)
  end
  if c.tied and c.src_vocab ~= c.tgt_vocab then
    check.fail("Translator: tied needs one vocabulary, got src_vocab %d and "
      .. "tgt_vocab %d", c.src_vocab, c.tgt_vocab)
  end
  return c
end

--- Makes a translator.
-- @function Translator
-- @tparam table config
--
-- * `src_vocab`, `tgt_vocab`: sizes of the vocabularies
-- * `d_model` (128), `heads` (4), `encoder_layers` (2), `decoder_layers` (2),
--   `ff` (512): sizes
-- * `dropout` (0.1); `norm_first` (true): norms before each part, not behind
-- * `tied` (false): one matrix is both embeddings and the weight of the head
-- * `max_length` (128): positions that there are
-- @raise for a missing or impossible size
-- @usage
-- local model = heed.models.Translator {src_vocab = 50, tgt_vocab = 60}
function Translator:init(config)
  local c <const> = read_config(config)
  self.config = c
  self.scale = math.sqrt(c.d_model)
  self.src_embedding = nn.Embedding(c.src_vocab, c.d_model)
  self.tgt_embedding = nn.Embedding(c.tgt_vocab, c.d_model)
  self.positions = nn.PositionalEncoding(c.d_model,
    {max_length = c.max_length, dropout = c.dropout})
  self.transformer = nn.Transformer(c.d_model, c.heads, {
    num_encoder_layers = c.encoder_layers,
    num_decoder_layers = c.decoder_layers, dim_feedforward = c.ff,
    dropout = c.dropout, norm_first = c.norm_first,
  })
  self.head = nn.Linear(c.d_model, c.tgt_vocab)
  for _, embedding in ipairs {self.src_embedding, self.tgt_embedding} do
    nn.init.normal_(embedding.weight, 0, c.d_model ^ -0.5)
  end
  nn.init.zeros_(self.head.bias)
  if c.tied then
    self.tgt_embedding.weight = self.src_embedding.weight
    self.head.weight = self.src_embedding.weight
  end
end

-- [B T] -> [B T C], the first of them at position `offset`, from 0.
local function embed(self, embedding, ids, offset)
  return self.positions(embedding(ids) * self.scale, {offset = offset})
end

--- Reads the source.
-- @param src int64 tensor [B S] of ids
-- @tparam ?tensor lens int64 [B]: how many ids of each row count
-- @return the memory, tensor [B S C]
-- @raise when S is larger than max_length, or an id is none of the vocabulary
-- @usage local memory = model:encode(src, lens) -- [1 3 C]
function Translator:encode(src, lens)
  return self.transformer.encoder(embed(self, self.src_embedding, src),
    {valid_lens = lens})
end

--- Reads the target so far and the memory.
-- @param tgt int64 tensor [B T] of ids
-- @param memory tensor [B S C]
-- @tparam ?tensor lens int64 [B]: how many positions of the memory count
-- @tparam[opt] table options `cache`, an `nn.KeyValueCache`: tgt goes on from
-- what it holds; `need_weights`: see `attention`
-- @return the scores of the ids that come next, tensor [B T tgt_vocab]
-- @raise when there are more positions than max_length, or an id is none of the
-- vocabulary
-- @usage
-- local memory = model:encode(src, lens)
-- local scores = model:decode(heed.tensor {{2, 5}}, memory, lens) -- [1 2 V]
function Translator:decode(tgt, memory, lens, options)
  local cache <const> = options and options.cache
  local x = embed(self, self.tgt_embedding, tgt,
    cache and (cache:lengths() or cache:length()))
  x = self.transformer.decoder(x, memory, {
    causal = true, memory_valid_lens = lens, cache = cache,
    need_weights = options and options.need_weights,
  })
  return self.head(x)
end

--- The scores of the ids that come next, at every position of the target.
-- @param src int64 tensor [B S]
-- @param tgt int64 tensor [B T], beginning with the start token
-- @tparam ?tensor lens int64 [B]: how many ids of each source count
-- @return tensor [B T tgt_vocab]
-- @usage local scores = model(src, heed.tensor {{2, 5}}, lens) -- [1 2 V]
function Translator:forward(src, tgt, lens)
  return self:decode(tgt, self:encode(src, lens), lens)
end

--- Translates by beam search, which with a beam of 1 is the greedy choice.
-- @param src int64 tensor [B S]
-- @tparam ?tensor lens int64 [B]: how many ids of each source count
-- @tparam table options those of `beam_search`: `bos`, `eos`, `beam` (1),
-- `max_length` (the model's), `length_penalty` (1)
-- @treturn {{integer,...},...} the ids of each translation, without bos and
-- eos
-- @treturn {number,...} their scores: log probability / length ^ penalty
-- @usage
-- local ids = model:translate(src, lens, {bos = 2, eos = 3, beam = 4})
function Translator:translate(src, lens, options)
  local was_training <const> = self.training
  self:eval()
  local _ <close> = heed.no_grad()
  local memory = self:encode(src, lens)
  local rows = lens
  local cache <const> = nn.KeyValueCache()
  local ids, scores = beam_search(src:size(1), {
    next = function(tokens) -- [N 1] -> [N V]
      local logits = self:decode(tokens, memory, rows, {cache = cache})
      return logits:select(2, -1):log_softmax(-1)
    end,
    reorder = function(index)
      cache:reorder(index)
      memory = memory:index_select(index)
      rows = rows and rows:index_select(index)
    end,
  }, self.config.max_length, options)
  self:train(was_training)
  return ids, scores
end

--- What each position of the target attended to in the source.
-- @param src int64 tensor [S]
-- @param tgt int64 tensor [T], beginning with the start token
-- @treturn {tensor,...} for each decoder layer the weights, mean of all heads,
-- [T S]
-- @usage
-- local weights = model:attention(src[1], heed.tensor {2, 5})
-- return weights[1][1]:sum() --> 1
function Translator:attention(src, tgt)
  local was_training <const> = self.training
  self:eval()
  local _ <close> = heed.no_grad()
  local memory <const> = self:encode(src:unsqueeze(1))
  self:decode(tgt:unsqueeze(1), memory, nil, {need_weights = true})
  local weights = {}
  for i = 1, #self.transformer.decoder.layers do
    local attention = self.transformer.decoder.layers[i].multihead_attn
    weights[i] = attention.attention_weights:squeeze(1)
  end
  self:train(was_training)
  return weights
end

return Translator
