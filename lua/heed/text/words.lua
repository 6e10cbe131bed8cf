--- A tokeniser of whole words: runs of letters, marks and digits, and every
-- other character that is no white space alone; `decode` puts spaces between.

local check = require "heed.check"
local pieces = require "heed.text.pieces"
local Tokenizer = require "heed.text.tokenizer"
local unicode = require "heed.core".unicode
local Vocabulary = require "heed.text.vocabulary"

local Words = Tokenizer.class "Words"

local FORMAT <const>, VERSION <const> = "heed.words", 1

-- The words of a text, composed and perhaps in lower case. What is not UTF-8
-- becomes U+FFFD.
local function split(text, lowercase)
  text = unicode.nfc(unicode.repair(text))
  if lowercase then text = unicode.lower(text) end
  local words <const> = unicode.words(text)
  for i, word in ipairs(words) do
    if word:sub(1, #pieces.BOUNDARY) == pieces.BOUNDARY then
      words[i] = word:sub(#pieces.BOUNDARY + 1)
    end
  end
  return words
end

local function new(vocabulary, lowercase)
  local self <const> = setmetatable({
    vocabulary = vocabulary, lowercase = lowercase, list = vocabulary.words,
    n_specials = vocabulary.n_specials,
  }, Words)
  return Tokenizer.number(self, self.n_specials)
end

--- Returns a tokeniser of the words of texts, by falling frequency.
-- @tparam {string,...} texts or a function that returns the next one
-- @tparam[opt] table options `lowercase` (false); those of `Vocabulary.build`:
-- `min_frequency` (1), `max_size`, `specials`, among which must be `<unk>`
-- @treturn Words
-- @usage
-- local t = heed.text.Words.train({"A rose is a rose."}, {lowercase = true})
-- return t:decode(t:encode("Is a ROSE red?")) --> is a rose <unk> <unk>
function Words.train(texts, options)
  local func <const> = "Words.train"
  local o <const> = check.options(func, options, {
    lowercase = false, min_frequency = 1, max_size = check.NONE,
    specials = {"<pad>", "<bos>", "<eos>", "<unk>"},
  })
  local fault <const> = pieces.specials_fault(o.specials, false)
  if fault then
    check.fail("%s: specials%s", func,
      (fault:gsub(" when byte_fallback is false", "")))
  end
  local next_text <const> = check.iterator(func, "texts", texts)
  local n = 0
  local vocabulary <const> = Vocabulary.build(function()
    local text <const> = next_text()
    if text == nil then return nil end
    n = n + 1
    check.kind(func, ("texts[%d]"):format(n), text, "string")
    return split(text, o.lowercase)
  end, {min_frequency = o.min_frequency, max_size = o.max_size,
    specials = o.specials})
  return new(vocabulary, o.lowercase)
end

--- Returns the ids of the words of a text; an unknown word becomes `<unk>`.
-- @tparam string text any bytes; what is not UTF-8 becomes U+FFFD
-- @treturn {integer,...}
-- @usage
-- local t = heed.text.Words.train({"a b a"})
-- return table.concat(t:encode("b, a"), " ") --> 6 4 5
function Words:encode(text)
  self:check_text("encode", text)
  local ids <const> = split(text, self.lowercase)
  for i, word in ipairs(ids) do
    local id = self.ids[word]
    ids[i] = id and id > self.n_specials and id or self.unk
  end
  return ids
end

--- Returns the words of ids with spaces between. Of the specials only `<unk>`
-- shows.
-- @param ids a list, or an int64 tensor with one dimension
-- @treturn string
-- @raise on an id outside the vocabulary
-- @usage
-- local t = heed.text.Words.train({"a b a"})
-- return t:decode({2, 5, 6, 3}) --> a b
function Words:decode(ids)
  ids = self:read_ids(ids)
  local words = {}
  for i = 1, #ids do
    local id <const> = self:check_id(ids, i)
    if id > self.n_specials or id == self.unk then
      words[#words + 1] = self.list[id]
    end
  end
  return table.concat(words, " ")
end

function Words:__tostring()
  return ("Words(%d words: %d specials)"):format(#self.list, self.n_specials)
end

--- Returns a plain table with all of the tokeniser, fit for JSON.
function Words:to_table()
  local t <const> = self.vocabulary:to_table()
  t.format, t.version, t.lowercase = FORMAT, VERSION, self.lowercase
  return t
end

--- Returns the tokeniser that `to_table` was called on.
-- @tparam table t
-- @raise when the table is malformed, with what is wrong with it
function Words.from_table(t)
  local func <const> = "Words.from_table"
  check.kind(func, "t", t, "table")
  local fault = Tokenizer.head_fault(t, FORMAT, VERSION)
  if not fault and type(t.lowercase) ~= "boolean" then
    fault = "lowercase must be a boolean, got " .. check.show(t.lowercase)
  end
  local seen = {}
  for _, key in ipairs {"specials", "words"} do
    local wrong <const> = not fault and Tokenizer.distinct_fault(t[key], seen)
    if wrong then fault = key .. wrong end
  end
  if not fault and not seen["<unk>"] then
    fault = 'specials must hold "<unk>"'
  end
  if fault then check.fail("%s: %s", func, fault) end
  return new(Vocabulary.from_table {
    format = "heed.vocabulary", version = 1, specials = t.specials,
    words = t.words,
  }, t.lowercase)
end

return Words
