--- Pretrained: the tokeniser of a model that was trained elsewhere, as its
-- files have it. `text.load` reads them.
--
-- A text goes through the parts that tokenizer.json names: added tokens are
-- found; a normalizer changes what is left; a pre_tokenizer cuts it into
-- pieces; the model makes ids of each piece; a post_processor puts special ids
-- around them. A decoder goes the way back. Ids are those of the files plus 1.

local added = require "heed.text.hub.added"
local check = require "heed.check"
local decoders = require "heed.text.hub.decoders"
local normalizers = require "heed.text.hub.normalizers"
local part = require "heed.text.hub.part"
local post_processors = require "heed.text.hub.post_processors"
local pre_tokenizers = require "heed.text.hub.pre_tokenizers"
local remember = require "heed.text.remember"
local Tokenizer = require "heed.text.tokenizer"
local unicode = require "heed.core".unicode
local vocabulary = require "heed.text.hub.vocabulary"

local Pretrained = Tokenizer.class "Pretrained"

local FORMAT <const>, VERSION <const> = "heed.pretrained", 1

local MODELS <const> = {}
for name, file in pairs {
  WordPiece = "wordpiece", BPE = "bpe", Unigram = "unigram",
} do
  MODELS[name] = function(...)
    return {require("heed.text.hub." .. file)(...)}
  end
end

-- Pieces remembered with their ids: how many, and how long in bytes.
local CACHED <const>, LONGEST <const> = 50000, 64

local function is_type(component, name)
  return type(component) == "table" and component.type == name
end

-- BERT's normalizer and words are one function. Without lower case accents stay
-- unless it is said otherwise.
local function bert_pieces(c)
  local n <const> = c.normalizer
  local lowercase <const> = part.boolean("tokenizer: BertNormalizer", n,
    "lowercase", true)
  local strip <const> = part.boolean("tokenizer: BertNormalizer", n,
    "strip_accents", lowercase)
  return function(pieces)
    local list = {}
    for _, piece in ipairs(pieces) do
      local words <const> = unicode.bert_words(piece, lowercase, strip)
      table.move(words, 1, #words, #list + 1, list)
    end
    return list
  end
end

-- Ids by token, tokens by id (with gaps filled), and the special ids.
local function number(self, ids, tokens)
  local last = 0
  for token, id in pairs(ids) do
    self.ids[token], self.list[id] = id, token
    last = math.max(last, id)
  end
  for _, token in ipairs(tokens) do
    self.ids[token.content], self.list[token.id] = token.id, token.content
    self.special[token.id] = token.special or nil
    last = math.max(last, token.id)
  end
  for id = 1, last do self.list[id] = self.list[id] or "" end
end

-- A model whose tokens have other numbers than in its own file.
local function renumber(model, numbers, roles)
  local own <const>, ids_of <const> = table.unpack(model)
  local ids <const>, tokens = vocabulary.read("tokenizer", numbers), {}
  for token, id in pairs(own) do tokens[id] = token end
  local unknown <const> = ids[roles and roles.unk or ""]
  return {ids, function(piece)
    local list = {}
    for _, id in ipairs(ids_of(piece)) do
      list[#list + 1] = ids[tokens[id]] or unknown
    end
    return list
  end}
end

-- The ids of the roles that tokens have.
local FIELDS <const> = {"pad", "bos", "eos", "unk", "cls", "sep", "mask"}

-- Puts a tokeniser together, see `Pretrained.new`.
local function new(c, roles)
  local self <const> = setmetatable({c = c, roles = roles, list = {}, ids = {},
    special = {}}, Pretrained)
  local model = part.make("model", MODELS, c.model)
  if not model then check.fail("tokenizer: model is missing") end
  local tokens <const> = added.read(c.added_tokens)
  if c.numbers then model = renumber(model, c.numbers, roles) end
  number(self, model[1], tokens)
  self.ids_of = remember(model[2], CACHED, LONGEST)
  self.normalize = normalizers(c.normalizer)
  if is_type(c.normalizer, "BertNormalizer") then
    if not is_type(c.pre_tokenizer, "BertPreTokenizer") then
      check.fail("tokenizer: BertNormalizer needs the pre_tokenizer "
        .. "BertPreTokenizer")
    end
    self.normalize, self.split = nil, bert_pieces(c)
  else
    self.split = pre_tokenizers(c.pre_tokenizer)
  end
  self.find_raw = added.finder(tokens, false)
  self.find_normal = added.finder(tokens, true, self.normalize)
  self.surround = post_processors(c.post_processor)
  self.join = decoders(c.decoder)
  for _, field in ipairs(FIELDS) do
    self[field] = self.ids[roles and roles[field] or ""]
  end
  return self
end

--- Puts a tokeniser together.
-- @tparam table c what tokenizer.json holds
-- @tparam[opt] table roles tokens by `pad`, `bos`, `eos`, `unk`, `cls`, `sep`,
-- `mask`
-- @treturn Pretrained
-- @raise when a part is missing, malformed, or of a type that is not known
-- @usage
-- local t = heed.text.Pretrained.new {
--   model = {type = "WordPiece", vocab = {["[UNK]"] = 0, un = 1,
--     ["##do"] = 2}},
--   pre_tokenizer = {type = "WhitespaceSplit"},
--   decoder = {type = "WordPiece"},
-- }
-- return (t:encode "undo it") --> 2 3 1
function Pretrained.new(c, roles)
  check.kind("Pretrained.new", "c", c, "table")
  return new(c, roles)
end

-- -- texts to ids ------------------------------------------------------------

-- The ids of a text without what stands around them.
local function plain_ids(self, text)
  local ids, first = {}, true
  for _, raw in ipairs(self.find_raw(unicode.repair(text))) do
    if type(raw) ~= "string" then
      ids[#ids + 1] = raw
    else
      local normal <const> = self.normalize and self.normalize(raw) or raw
      for _, part_ in ipairs(self.find_normal(normal)) do
        if type(part_) ~= "string" then
          ids[#ids + 1] = part_
        elseif part_ ~= "" then
          local pieces <const> = self.split and self.split({part_}, first) or
            {part_}
          for _, piece in ipairs(pieces) do
            local of_piece <const> = self.ids_of(piece)
            table.move(of_piece, 1, #of_piece, #ids + 1, ids)
          end
        end
        first = false
      end
    end
    first = false
  end
  return ids
end

--- Returns the ids of a text, a list of integers from 1.
-- @tparam string text what is not UTF-8 is taken as U+FFFD
-- @tparam[opt] table options `special` (false): with the special ids that the
-- model wants around a text; `pair`: a second text, for models of two
-- @treturn {integer,...} ids
-- @treturn {integer,...} for each 1, or 2 for what belongs to the second text
-- @raise when a character has no token, and the model none for unknown ones
-- @usage
-- local t = heed.text.Pretrained.new {
--   model = {type = "WordPiece", vocab = {["[UNK]"] = 0, un = 1,
--     ["##do"] = 2}},
-- }
-- return (t:encode "undo") --> 2 3
function Pretrained:encode(text, options)
  check.types("Pretrained.encode", options,
    {special = "boolean", pair = "string"})
  local o <const> = options or {}
  local texts <const> = {plain_ids(self, self:check_text("encode", text))}
  if o.pair then texts[2] = plain_ids(self, o.pair) end
  if o.special then return self.surround(texts) end
  local ids, types = {}, {}
  for i, list in ipairs(texts) do
    for _, id in ipairs(list) do ids[#ids + 1], types[#types + 1] = id, i end
  end
  return ids, types
end

--- Returns the text of ids.
-- @param ids a list, or an int64 tensor with one dimension
-- @tparam[opt] table options `special` (false): with special tokens
-- @treturn string
-- @raise on an id outside the vocabulary
-- @usage
-- local t = heed.text.Pretrained.new {
--   model = {type = "WordPiece", vocab = {["[UNK]"] = 0, un = 1,
--     ["##do"] = 2}},
--   decoder = {type = "WordPiece"},
-- }
-- return t:decode {2, 3} --> undo
function Pretrained:decode(ids, options)
  check.types("Pretrained.decode", options, {special = "boolean"})
  ids = self:read_ids(ids)
  local tokens = {}
  for i = 1, #ids do
    local id <const> = self:check_id(ids, i)
    if not self.special[id] or options and options.special then
      tokens[#tokens + 1] = self.list[id]
    end
  end
  if not self.join then return table.concat(tokens, " ") end
  return table.concat(self.join(tokens))
end

function Pretrained:__tostring()
  return ("Pretrained(%s, %d tokens)"):format(self.c.model.type, #self.list)
end

--- Returns a plain table with all of the tokeniser, fit for JSON.
-- @treturn table
-- @usage
-- local t = heed.text.Pretrained.new {
--   model = {type = "WordPiece", vocab = {["[UNK]"] = 0, un = 1}}}
-- return t:to_table().tokenizer.model.type --> WordPiece
function Pretrained:to_table()
  return {format = FORMAT, version = VERSION, tokenizer = self.c,
    roles = self.roles}
end

--- Returns the tokeniser that `to_table` was called on.
-- @tparam table t
-- @raise when the table is malformed, with what is wrong with it
-- @usage
-- local t = heed.text.Pretrained.new {
--   model = {type = "WordPiece", vocab = {["[UNK]"] = 0, un = 1}}}
-- return (heed.text.Pretrained.from_table(t:to_table()):encode "un") --> 2
function Pretrained.from_table(t)
  local func <const> = "Pretrained.from_table"
  check.kind(func, "t", t, "table")
  local fault <const> = Tokenizer.head_fault(t, FORMAT, VERSION)
  if fault then check.fail("%s: %s", func, fault) end
  check.kind(func, "tokenizer", t.tokenizer, "table")
  return new(t.tokenizer, type(t.roles) == "table" and t.roles or nil)
end

return Pretrained
