--- Translation: a Translator with its tokeniser, from text to text, and its
-- files.
--
-- A file is safetensors: the weights, and as metadata `format`, `config` and
-- `tokenizer` (JSON). Loading runs no code.

local cjson = require "cjson"
local heed = require "heed"
local check = require "heed.check"
local data = require "heed.data"
local nn = require "heed.nn"
local text = require "heed.text"
local Translator = require "heed.models.translator"

local FORMAT <const> = "heed.translation.1"

local Translation = {}
Translation.__index = Translation
Translation.__name = "Translation"

--- Puts a model and a tokeniser together.
-- @function Translation
-- @tparam Translator model
-- @tparam text.BPE tokenizer of both languages
-- @usage local translation = heed.models.Translation(model, tokenizer)
local function new(_, model, tokenizer)
  local c <const> = model.config
  if #tokenizer ~= c.src_vocab or #tokenizer ~= c.tgt_vocab then
    check.fail("Translation: the tokenizer has %d tokens, the model wants %d "
      .. "and %d", #tokenizer, c.src_vocab, c.tgt_vocab)
  end
  return setmetatable({model = model, tokenizer = tokenizer}, Translation)
end

-- Sentences of one pass: enough to keep the machine busy, few enough that the
-- scores of all their beams fit.
local BATCH <const> = 64

-- A text as ids, as the tokeniser was trained: normalised.
local function encode(self, name, source)
  check.kind("translate", name, source, "string")
  local normal, fault = text.unicode.nfc(source)
  if not normal then check.fail("translate: %s: %s", name, fault) end
  local ids <const> = self.tokenizer:encode(normal)
  local limit <const> = self.model.config.max_length
  if #ids > limit then
    check.fail("translate: %s has %d tokens, more than the %d positions of "
      .. "this model: %s", name, #ids, limit, check.show(source))
  end
  return ids
end

-- The ids of the translations of lists of ids. There is nothing to say about
-- an empty text.
local function search(self, ids, options)
  local o = check.options("translate", options,
    {beam = 1, max_length = check.NONE, length_penalty = 1.0})
  local lengths, found = {}, {}
  for i, list in ipairs(ids) do lengths[i] = #list end
  local source <const> = data.Ragged(ids)
  local loader <const> = data.DataLoader(source,
    {batch_size = BATCH, lengths = lengths})
  for rows in loader:rows() do
    local src, lens = source:batch(rows, {pad = self.tokenizer.pad})
    local longest = o.max_length
      or math.min(self.model.config.max_length, 2 * src:size(2) + 10)
    local batch = src:size(2) > 0 and self.model:translate(src, lens, {
      bos = self.tokenizer.bos, eos = self.tokenizer.eos, beam = o.beam,
      max_length = longest, length_penalty = o.length_penalty,
    })
    for i, row in ipairs(rows) do
      found[row] = lengths[row] == 0 and {} or batch[i]
    end
  end
  return found
end

--- Translates texts.
-- @tparam {string,...} texts
-- @tparam[opt] table options `beam` (1), `max_length` in tokens (twice the
-- source and 10 more, at most what the model can take), `length_penalty` (1)
-- @treturn {string,...}
-- @raise for a text with more tokens than the model has positions
-- @usage print(translation:translate({"He is here."}, {beam = 4})[1])
function Translation:translate(texts, options)
  check.kind("translate", "texts", texts, "table")
  local ids, result = {}, {}
  for i, source in ipairs(texts) do
    ids[i] = encode(self, ("texts[%d]"):format(i), source)
  end
  for i, list in ipairs(search(self, ids, options)) do
    result[i] = self.tokenizer:decode(list)
  end
  return result
end

-- Tokens as axes show them: a word's start is plain, what goes on with a word
-- has a dash in front; a start without letters is shown by its sign.
local function shown(tokens)
  local labels = {}
  for i, token in ipairs(tokens) do
    local start <const> = token:match("^\u{2581}(.+)$")
    labels[i] = start or token:match("^<.*>$")
      or token:match("^\u{2581}$") or "-" .. token
  end
  return labels
end

-- The stacks of collect_attention for plot.attention_html. The decoder sees
-- itself by what went in (`seen`), the source by what came out (`target`).
local function name_stacks(stacks, source, seen, target)
  local of <const> = {
    ["transformer.encoder.layers.*.self_attn"] =
      {name = "encoder", tokens = source},
    ["transformer.decoder.layers.*.self_attn"] =
      {name = "decoder", tokens = seen},
    ["transformer.decoder.layers.*.multihead_attn"] =
      {name = "decoder to encoder", tokens = target, keys = source},
  }
  local list = {}
  for _, stack in ipairs(stacks) do
    local named <const> = of[stack.name]
    if named then
      named.weights = stack.weights
      list[#list + 1] = named
    end
  end
  return list
end

--- What each token of a translation attended to.
-- @tparam string source
-- @tparam[opt] table options those of `translate`
-- @treturn table `source` and `target`, lists of tokens for the axes (target
-- without the start, with the end); `weights`, tensor [target source], the mean
-- of all heads of the last layer; `text`, the translation; `attentions`, those
-- of encoder, decoder and decoder to encoder of every layer and head, for
-- `plot.attention_html` (none where the model is no transformer)
-- @usage
-- local a = translation:attention("He is here.")
-- heed.plot.show(a.weights, {row_labels = a.target, col_labels = a.source})
-- heed.plot.attention_html(a.attentions, {file = "x.html", title = a.text})
-- os.remove("x.html")
function Translation:attention(source, options)
  local bpe <const> = self.tokenizer
  local ids <const> = encode(self, "source", source)
  local target <const> = search(self, {ids}, options)[1]
  -- behind <bos> there are as many positions as the model has, but one
  local longest <const> = self.model.config.max_length - 1
  local seen = {bpe.bos}
  table.move(target, 1, math.min(#target, longest), 2, seen)
  local ints <const> = {dtype = "int64"}
  local stacks <const>, layers <const> = nn.collect_attention(self.model,
    function()
      return self.model:attention(heed.tensor(ids, ints),
        heed.tensor(seen, ints))
    end)
  local function names(list)
    local tokens = {}
    for i, id in ipairs(list) do tokens[i] = bpe:token(id) end
    return shown(tokens)
  end
  local start <const> = names(seen)
  local said = {}
  for i = 1, #seen do said[i] = target[i] or bpe.eos end
  local rows <const> = names(said)
  local cols <const> = names(ids)
  return {
    source = cols, target = rows, weights = layers[#layers],
    text = bpe:decode(target),
    attentions = name_stacks(stacks, cols, start, rows),
  }
end

--- Writes the model, its configuration and its tokeniser to one file, which is
-- whole or not there.
-- @tparam string path
-- @raise when the file cannot be written
-- @usage
-- local path = os.tmpname()
-- translation:save(path)
-- os.remove(path)
function Translation:save(path)
  heed.save_safetensors(path, self.model:state_dict(), {
    format = FORMAT,
    config = cjson.encode(self.model.config),
    tokenizer = cjson.encode(self.tokenizer:to_table()),
  })
end

-- A JSON value of the metadata.
local function decode(path, metadata, key)
  local ok, value = pcall(cjson.decode, metadata[key] or "")
  if not ok or type(value) ~= "table" then
    check.fail("Translation.load: %s: its %s is no JSON object", path, key)
  end
  return value
end

-- Runs f; what it raises is said of the file.
local function about(path, f, ...)
  local ok, result = pcall(f, ...)
  if ok then return result end
  check.fail("Translation.load: %s: %s", path,
    (tostring(result):gsub("^[^\n]-:%d+: ", "")))
end

--- Reads what `save` wrote.
-- @tparam string path
-- @treturn Translation
-- @raise when the file cannot be read, is damaged or holds something else
-- @usage
-- local path = os.tmpname()
-- translation:save(path)
-- local again = heed.models.Translation.load(path)
-- os.remove(path)
function Translation.load(path)
  check.kind("Translation.load", "path", path, "string")
  local tensors, metadata = heed.load_safetensors(path)
  if metadata.format ~= FORMAT then
    check.fail("Translation.load: %s: format must be %s, got %s", path,
      check.show(FORMAT), check.show(metadata.format))
  end
  local config <const> = decode(path, metadata, "config")
  local saved <const> = decode(path, metadata, "tokenizer")
  local tokenizer <const> = about(path, text.BPE.from_table, saved)
  local model <const> = about(path, Translator, config)
  about(path, model.load_state_dict, model, tensors)
  return about(path, Translation, model, tokenizer)
end

return setmetatable(Translation, {__call = new})
