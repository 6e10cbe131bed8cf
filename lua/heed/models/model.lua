--- Model: a network with its tokeniser and settings, from text to what is
-- wanted of it.

local check = require "heed.check"
local config = require "heed.models.config"
local core = require "heed.core"
local embed = require "heed.models.embed"
local generate = require "heed.models.generate"
local translate = require "heed.models.translate"

local Model = {}
Model.__index = Model
Model.__name = "Model"

--- Puts a model together; `heed.models.load` does it from files.
-- @function Model
-- @param network module: `Bert`, `Gpt2`, `Llama`, `Marian` or `T5`
-- @param[opt] tokenizer that turns texts into ids and back
-- @tparam[opt] table c what config.json holds
-- @usage
-- local letters = heed.text.Characters.train {"abc"}
-- local network = heed.models.Gpt2 {vocab_size = #letters, n_embd = 8,
--   n_layer = 1, n_head = 2}
-- local model = heed.models.Model(network:eval(), letters)
-- local text = model:generate("abc", {max_tokens = 5})
local function new(_, network, tokenizer, c, folder)
  c = c or {}
  local settings <const> = folder and
    config.read_json("models.load", folder .. "/generation_config.json") or {}
  return setmetatable({
    network = network, tokenizer = tokenizer, config = c,
    generation = generate.settings(c, settings),
    embedding = embed.settings(network, folder),
    translation = translate.settings(c, settings),
  }, Model)
end

-- The tokeniser, which a method needs.
local function tokenizer_of(self, func)
  if not self.tokenizer then
    check.fail("%s: the model has no tokenizer", func)
  end
  return self.tokenizer
end

-- Raises unless the network has what a method needs.
local function check_network(self, func, method, families)
  if not self.network[method] then
    check.fail("%s: needs a model of the families %s, got %s", func, families,
      self.network.__name)
  end
end

-- A list of texts, and was it one text alone?
local function read_texts(func, texts)
  if type(texts) == "string" then return {texts}, true end
  local n <const>, fault = check.list(texts, "string")
  if not n then check.fail("%s: texts%s", func, fault) end
  return texts, false
end

--- The vectors of texts: close ones for texts that mean alike.
--
-- How a text becomes one vector, the model's files say (`modules.json`): the
-- mean of all tokens, if nothing else. Texts longer than the model reads are
-- cut.
-- @param texts a string, or a list of strings
-- @tparam[opt] table options `batch_size` (32); `pooling`: "mean", "cls" or
-- "max"; `normalize`: to length 1
-- @return float32 tensor [B D], or [D] of one text
-- @raise for a network that does not read texts as a whole
-- @usage
-- local words = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "cat", "dog"}
-- local network = heed.models.Bert {vocab_size = #words, hidden_size = 8,
--   num_hidden_layers = 1, num_attention_heads = 2, intermediate_size = 8}
-- local model = heed.models.Model(network:eval(),
--   heed.text.WordPiece.from_vocab(words))
-- local vectors = model:embed {"a cat", "a dog"} -- [2 8]
function Model:embed(texts, options)
  local func <const> = "embed"
  check_network(self, func, "embeddings", "bert, roberta, xlm-roberta")
  local list <const>, one <const> = read_texts(func, texts)
  local vectors <const> = embed.run(self.network,
    tokenizer_of(self, func), list, self.embedding, options)
  return one and vectors[1] or vectors
end

--- Goes on with a text.
-- @param texts a string, or a list of strings, which go on side by side
-- @tparam[opt] table options
--
-- * `max_tokens` (128): most tokens that are added
-- * `temperature`: 0 takes the most probable token, 1 draws by the model's
--   probabilities; what the model's files say by default, else 0
-- * `top_k`, `top_p`: only the k most probable tokens, and the most probable
--   ones that together have this probability
-- * `stop`: a string, or a list of them: the text ends before the first one
-- * `on_text(piece, i)`: called with each piece of text when it is there, of
--   text i of a list; characters and stop strings are not torn
-- * `generator`: draws; the default one otherwise
-- @treturn string what follows, without the text; a list of them for a list
-- @treturn string why it ended: "stop", or "length"; a list for a list
-- @raise when a text is longer than the model reads
-- @usage
-- local letters = heed.text.Characters.train {"abc"}
-- local network = heed.models.Gpt2 {vocab_size = #letters, n_embd = 8,
--   n_layer = 1, n_head = 2}
-- local model = heed.models.Model(network:eval(), letters)
-- model:generate("abc", {max_tokens = 5, on_text = io.write})
function Model:generate(texts, options)
  local func <const> = "generate"
  check_network(self, func, "hidden", "gpt2, llama, mistral, qwen2")
  local list <const>, one <const> = read_texts(func, texts)
  local results <const>, reasons <const> = generate.run(self.network,
    tokenizer_of(self, func), list, self.generation, options)
  if one then return results[1], reasons[1] end
  return results, reasons
end

--- Goes on with a text, as an iterator over the pieces of text as they come.
-- @tparam string text
-- @tparam[opt] table options those of `generate`
-- @treturn function
-- @usage
-- local letters = heed.text.Characters.train {"abc"}
-- local network = heed.models.Gpt2 {vocab_size = #letters, n_embd = 8,
--   n_layer = 1, n_head = 2}
-- local model = heed.models.Model(network:eval(), letters)
-- for piece in model:stream("abc", {max_tokens = 5}) do io.write(piece) end
function Model:stream(text, options)
  check.kind("stream", "text", text, "string")
  local o <const> = {}
  for key, value in next, options or {} do o[key] = value end
  o.on_text = coroutine.yield
  return coroutine.wrap(function() self:generate(text, o) end)
end

--- Texts in the other language, or what a T5 was told to make of them.
-- @param texts a string, or a list of strings
-- @tparam[opt] table options
--
-- * `beam`: how many beginnings the search keeps, 1 for the greedy choice
-- * `max_tokens`: most tokens of a result
-- * `length_penalty`, `early_stopping`: see `beam_search`
-- * `task`: one of those that T5's config.json names, such as
--   "translation_en_to_de": its words stand before each text, and its settings
--   hold; without, the text says what is to be done
-- * `batch_size` (16): how many texts are worked on at a time
--
-- What is left out the model's files say, or it is 1, 128, 1, false.
-- @treturn string a list of them for a list
-- @treturn number its score, the log probability for its length; a list of them
-- for a list
-- @raise for a model that does not translate, and a text that is longer than
-- it reads
-- @usage
-- local tokenizer = heed.text.Characters.train {"abc"}
-- local network = heed.models.T5 {vocab_size = #tokenizer, d_model = 8,
--   d_kv = 4, d_ff = 8, num_layers = 1, num_heads = 2}
-- local model = heed.models.Model(network:eval(), tokenizer)
-- local text = model:translate("abc", {beam = 4, max_tokens = 5})
function Model:translate(texts, options)
  local func <const> = "translate"
  check_network(self, func, "encode", "marian, mt5, t5")
  local list <const>, one <const> = read_texts(func, texts)
  local results <const>, scores <const> = translate.run(self.network,
    tokenizer_of(self, func), list, self.translation, options)
  if one then return results[1], scores[1] end
  return results, scores
end

--- The scores of what comes next, at every position of a text.
-- @param text a string, or a list of ids
-- @return float32 tensor [T V]
-- @raise for a model of another family, and for a list that holds no numbers
-- @usage
-- local network = heed.models.Gpt2 {vocab_size = 20, n_embd = 8, n_layer = 1,
--   n_head = 2}
-- local scores = heed.models.Model(network:eval()):logits {1, 2, 3} -- [3 20]
function Model:logits(text)
  check_network(self, "logits", "hidden", "gpt2, llama, mistral, qwen2")
  local ids = text
  if type(text) == "string" then
    ids = tokenizer_of(self, "logits"):encode(text, {special = true})
  end
  local n <const>, fault = check.list(ids, "number")
  if not n then check.fail("logits: ids%s", fault) end
  return core.no_grad(self.network, core.tensor({ids}, {dtype = "int64"}))[1]
end

function Model:__tostring()
  return ("Model(%s, %s)"):format(self.network.__name,
    self.tokenizer and tostring(self.tokenizer) or "no tokenizer")
end

return setmetatable(Model, {__call = new})
