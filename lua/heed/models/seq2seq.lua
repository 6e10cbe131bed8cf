--- What networks that read one text and write another have in common.

local check = require "heed.check"
local core = require "heed.core"
local beam_search = require "heed.models.beam_search"
local nn = require "heed.nn"

local ops <const> = core.ops

local seq2seq = {}

local OPTIONS <const> = {lens = true}
local GENERATE <const> = {
  lens = check.NONE, beam = 1, max_length = 128, length_penalty = 1.0,
  early_stopping = check.NONE,
}

--- A class of such networks: it has `encode(ids, lens)`, `decode(ids, memory,
-- options)`, `score(hidden)`, and the fields `bos`, the id that a result begins
-- with, `eos`, and `never`, an id that is never written, or nil.
-- @tparam string name
function seq2seq.extend(name)
  local Class = nn.Module:extend(name)

  --- @param src int64 tensor [B S]
  -- @param tgt int64 tensor [B T], beginning with the start id
  -- @tparam[opt] table options `lens`, int64 tensor [B]: how many ids of each
  -- row of src count
  -- @return the scores of the ids that come next, tensor [B T vocab_size]
  -- @raise for ids that are none of the vocabulary, and for more of them than
  -- the network has positions
  -- @usage
  -- local network = heed.models.T5 {vocab_size = 100, d_model = 32, d_kv = 8,
  --   d_ff = 64, num_layers = 2, num_heads = 4}
  -- local src, lens = heed.tensor {{7, 9, 2}, {8, 2, 1}}, heed.tensor {3, 2}
  -- local scores = network(src, heed.tensor {{1, 5}, {1, 6}}, {lens = lens})
  -- @usage
  -- local network = heed.models.Marian {vocab_size = 100, d_model = 32,
  --   encoder_layers = 1, decoder_layers = 1, encoder_attention_heads = 4,
  --   decoder_attention_heads = 4, encoder_ffn_dim = 64, decoder_ffn_dim = 64,
  --   pad_token_id = 99, eos_token_id = 0, decoder_start_token_id = 99}
  -- local scores = network(heed.tensor {{7, 9, 1}}, heed.tensor {{100, 5}})
  function Class:forward(src, tgt, options)
    check.keys(name, options, OPTIONS)
    local lens <const> = options and options.lens
    return self:score(self:decode(tgt, self:encode(src, lens), {lens = lens}))
  end

  -- The log probabilities of what follows, [N V].
  local function next_of(self, tokens, memory, o)
    local scores <const> = ops.log_softmax(ops.select(
      self:score(self:decode(tokens, memory, o)), 2, -1), -1)
    if self.never then
      ops.fill_(ops.select(scores, 2, self.never), -math.huge)
    end
    return scores
  end

  --- The most probable results, by beam search with a cache. The network should
  -- be in evaluation.
  -- @param src int64 tensor [B S]
  -- @tparam[opt] table options `lens` [B]; `beam` (1); `max_length` (128) of a
  -- result; `length_penalty` (1); `early_stopping` (true): see `beam_search`
  -- @treturn {{integer,...},...} ids of each result, without start and end
  -- @treturn {number,...} their scores
  -- @usage
  -- local network = heed.models.T5 {vocab_size = 100, d_model = 32, d_kv = 8,
  --   d_ff = 64, num_layers = 2, num_heads = 4}
  -- local src, lens = heed.tensor {{7, 9, 2}, {8, 2, 1}}, heed.tensor {3, 2}
  -- network:eval()
  -- local ids = network:generate(src, {lens = lens, beam = 4, max_length = 5})
  function Class:generate(src, options)
    local o <const> = check.options(name .. ":generate", options, GENERATE)
    local _ <close> = core.no_grad()
    local memory <const> = self:encode(src, o.lens)
    -- what is kept of the memory is that of a sentence, not of a row
    local at <const> = {lens = o.lens, cache = nn.KeyValueCache(),
      memory_cache = nn.KeyValueCache()}
    return beam_search(src:size(1), {
      next = function(tokens) return next_of(self, tokens, memory, at) end,
      reorder = function(index, same_sentences)
        at.cache:reorder(index)
        if same_sentences then return end
        at.memory_cache:reorder(index)
        at.lens = at.lens and ops.index_select(at.lens, index)
      end,
    }, self.max_length or math.huge, {bos = self.bos, eos = self.eos,
      beam = o.beam, max_length = o.max_length,
      length_penalty = o.length_penalty, early_stopping = o.early_stopping})
  end

  return Class
end

return seq2seq
