--- A byte-pair tokeniser (Sennrich, Haddow and Birch 2016): pieces of words,
-- learnt from text, so that a small vocabulary spells every word.
--
-- A text is cut into words (`unicode.words`), a word into characters, and these
-- are merged by the learnt pairs, the earliest learnt first. Pieces never cross
-- words. The start of a word carries U+2581, so that `decode` gives back the
-- text, each run of white space as one space and none at the ends.
--
-- Ids, in this order: the specials, the 256 byte tokens `<0x00>` to `<0xFF>`
-- (with `byte_fallback`), the characters in byte order, the pieces as learnt.

local bpe_table = require "heed.text.bpe_table"
local check = require "heed.check"
local merge = require "heed.text.merge"
local merges = require "heed.text.merges"
local order = require "heed.text.order"
local pieces = require "heed.text.pieces"
local remember = require "heed.text.remember"
local Tokenizer = require "heed.text.tokenizer"
local unicode = require "heed.core".unicode

local BPE = Tokenizer.class "BPE"

-- Words remembered with their ids: how many, and how long in bytes.
local CACHED_WORDS <const> = 30000
local CACHED_BYTES <const> = 32

-- The ids of a word before any merge. A character without a token becomes its
-- bytes or `<unk>`.
local function spell(self, word)
  local ids = {}
  for _, char in ipairs(pieces.characters(word)) do
    local id = self.ids[char]
    if id then
      ids[#ids + 1] = id
    elseif self.parts.byte_fallback then
      for i = 1, #char do ids[#ids + 1] = self.first_byte + char:byte(i) end
    else
      ids[#ids + 1] = self.unk
    end
  end
  return ids
end

-- `parts` as `bpe_table` has them.
local function new(parts)
  local self = setmetatable({
    parts = parts,
    list = parts.pieces,
    first_byte = #parts.specials + 1,
    last_byte = #parts.specials + (parts.byte_fallback and pieces.BYTES or 0),
    rank = {}, -- of a pair: its place in `parts.merges`
  }, BPE)
  Tokenizer.number(self, #parts.specials)
  for rank, pair in ipairs(parts.merges) do
    self.rank[pair[1] << 32 | pair[2]] = rank
  end
  self.word_ids = remember(function(word)
    return merge(spell(self, word), self.rank, self.parts.merges)
  end, CACHED_WORDS, CACHED_BYTES)
  return self
end

-- Distinct words in order of first appearance, how often each occurs, and the
-- number of texts.
local function count_words(texts)
  local words, counts, place = {}, {}, {}
  local n = 0
  for text in texts do
    n = n + 1
    if type(text) ~= "string" then
      error(("BPE.train: texts[%d] must be a string, got %s"):format(n,
        check.show(text)), 3)
    end
    for _, word in ipairs(unicode.words(text)) do
      local at = place[word]
      if not at then
        at = #words + 1
        words[at], counts[at], place[word] = word, 0, at
      end
      counts[at] = counts[at] + 1
    end
  end
  return words, counts, n
end

-- The characters that occur at least `least` times, in byte order.
local function alphabet_of(words, counts, least)
  local count = {}
  for w, word in ipairs(words) do
    for _, char in ipairs(pieces.characters(word)) do
      count[char] = (count[char] or 0) + counts[w]
    end
  end
  local list = {}
  for char, n in pairs(count) do
    if utf8.len(char) and (n >= least or char == pieces.BOUNDARY) then
      list[#list + 1] = char
    end
  end
  table.sort(list, order.less)
  return list
end

-- Appends what can be learnt from the words to `parts.pieces`, and its merges.
local function learn(parts, words, counts, size, least)
  local ids = {}
  for i, char in ipairs(parts.characters) do
    ids[char] = #parts.pieces - #parts.characters + i
  end
  local function symbols_of(word)
    local symbols = pieces.characters(word)
    for i, char in ipairs(symbols) do symbols[i] = ids[char] or 0 end
    return symbols
  end
  parts.merges = merges.learn(words, counts, symbols_of, parts.pieces, size,
    least)
end

--- Returns a tokeniser learnt from texts. The same texts and options give the
-- same tokeniser: of pairs that are as frequent the smaller one, by its bytes,
-- is merged first.
--
-- @param texts list of strings, or a function that returns the next one
-- @tparam[opt] table options
-- @tparam[opt=6000] integer options.vocab_size all ids, specials included; the
-- vocabulary is smaller when no frequent pair is left
-- @tparam[opt=2] integer options.min_frequency how often a pair must occur to
-- be merged and, with `byte_fallback`, a character to get a token
-- @tparam[opt] {string,...} options.specials by default
-- `{"<pad>", "<bos>", "<eos>", "<unk>"}`
-- @tparam[opt=true] boolean options.byte_fallback 256 tokens for single bytes
-- spell what has no token; without them, it becomes `<unk>`
-- @treturn BPE
-- @raise on texts without a word, and on a `vocab_size` that does not hold the
-- specials, the bytes and the characters
-- @usage
-- local bpe = text.BPE.train({"low lower lowest"}, {vocab_size = 280})
-- local ids = bpe:encode("slow")
-- assert(bpe:decode(ids) == "slow")
function BPE.train(texts, options)
  local o = check.options("BPE.train", options, {
    vocab_size = 6000, min_frequency = 2, byte_fallback = true,
    specials = {"<pad>", "<bos>", "<eos>", "<unk>"},
  })
  local size = check.integer("BPE.train", "vocab_size", o.vocab_size)
  local least = check.integer("BPE.train", "min_frequency", o.min_frequency, 1)
  local fault = pieces.specials_fault(o.specials, o.byte_fallback)
  if fault then error("BPE.train: specials" .. fault, 2) end

  local next_text = check.iterator("BPE.train", "texts", texts)
  local words, counts, n = count_words(next_text)
  if #words == 0 then
    error(("BPE.train: texts must hold a word, got none in %d texts"):format(n),
      2)
  end
  -- With bytes to spell them, rare characters need no token.
  local alphabet = alphabet_of(words, counts, o.byte_fallback and least or 1)
  local parts = {
    specials = table.move(o.specials, 1, #o.specials, 1, {}),
    byte_fallback = o.byte_fallback,
    characters = alphabet,
    pieces = pieces.first(o.specials, o.byte_fallback, alphabet),
  }
  if size < #parts.pieces then
    error(("BPE.train: vocab_size must be at least %d (%d specials, %d byte "
      .. "tokens, %d characters), got %d"):format(#parts.pieces, #o.specials,
      o.byte_fallback and pieces.BYTES or 0, #alphabet, size), 2)
  end
  learn(parts, words, counts, size, least)
  return new(parts)
end

--- Returns the ids of a text, a list of integers from 1. Nothing is added at
-- the ends.
-- @tparam string text any bytes; what is not UTF-8 is spelt by byte tokens
-- @usage local bpe = heed.text.BPE.train {"a small text"}
-- local ids = bpe:encode("a small text")
function BPE:encode(text)
  self:check_text("encode", text)
  local ids = {}
  for _, word in ipairs(unicode.words(text)) do
    local part = self.word_ids(word)
    table.move(part, 1, #part, #ids + 1, ids)
  end
  return ids
end

--- Returns the text of ids; specials add nothing. Byte tokens that do not make
-- up UTF-8 become U+FFFD.
-- @param ids a list, or an int64 tensor with one dimension
-- @raise on an id outside the vocabulary
function BPE:decode(ids)
  local text = unicode.repair(self:bytes_of(ids))
  return (text:gsub(pieces.BOUNDARY, " "):gsub("^ ", ""))
end

function BPE:__tostring()
  return ("BPE(%d pieces: %d specials, %d bytes, %d characters, %d learnt)")
    :format(#self.list, #self.parts.specials,
      self.last_byte - self.first_byte + 1, #self.parts.characters,
      #self.list - self.last_byte - #self.parts.characters)
end

--- Returns a plain table with all of the tokeniser, fit for JSON.
function BPE:to_table()
  return (bpe_table.write(self.parts))
end

--- Returns the tokeniser that `to_table` was called on.
-- @tparam table t
-- @raise when the table is malformed, with what is wrong with it
function BPE.from_table(t)
  check.kind("BPE.from_table", "t", t, "table")
  local parts, fault = bpe_table.read(t)
  if not parts then error("BPE.from_table: " .. fault, 2) end
  return new(parts)
end

return BPE
