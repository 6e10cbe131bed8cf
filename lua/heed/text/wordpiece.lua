--- WordPiece, the tokeniser of BERT (Wu et al. 2016; Devlin et al. 2019).
--
-- A text is cut into words by BERT's rules (`unicode.bert_words`: lower case
-- and no accents if wanted, Chinese characters and punctuation alone). From the
-- start of each word the longest token is taken, then the longest that goes on,
-- written with "##" in front; a word that cannot be spelt so becomes `[UNK]`.
-- The ids are those of BERT's own tokeniser plus 1: line i of vocab.txt is i.

local check = require "heed.check"
local learn = require "heed.text.wordpiece_learn"
local longest_tokens = require "heed.text.longest_tokens"
local read_file = require "heed.read_file"
local remember = require "heed.text.remember"
local Tokenizer = require "heed.text.tokenizer"
local unicode = require "heed.core".unicode

local WordPiece = Tokenizer.class "WordPiece"

local FORMAT <const>, VERSION <const> = "heed.wordpiece", 1

local PREFIX <const> = "##" -- goes on with a word

-- A longer word, in characters, becomes [UNK] without a search.
local LONGEST_WORD <const> = 100

local SPECIALS <const> = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}

-- Words remembered with their ids.
local CACHED_WORDS <const> = 50000

-- The ids of a word and, in `ends`, the last byte of each in it; one [UNK] for
-- a word that cannot be spelt.
local function spell(self, word)
  if utf8.len(word) <= LONGEST_WORD then
    local ids <const>, ends = longest_tokens(word, self.ids, PREFIX,
      self.longest)
    if ids then return ids, ends end
  end
  return {self.unk}, {#word}
end

-- `o`: lowercase, strip_accents, specials (those of the list that are special).
local function new(list, o)
  local self <const> = setmetatable({
    list = list, lowercase = o.lowercase, strip_accents = o.strip_accents,
    special = {},
  }, WordPiece)
  Tokenizer.number(self, #list)
  local longest = 0
  for _, token in ipairs(list) do longest = math.max(longest, #token) end
  self.longest = longest
  self.word_ids = remember(function(word) return (spell(self, word)) end,
    CACHED_WORDS, math.huge)
  local firsts = {}
  for i, token in ipairs(o.specials) do
    self.special[self.ids[token]] = token
    firsts[i] = token:sub(1, 1):gsub("%p", "%%%0")
  end
  -- matches the first byte of any special
  self.opening = #firsts > 0 and "[" .. table.concat(firsts) .. "]"
  return self
end

-- Checks strip_accents, whose default is lowercase.
local function check_case(func, o)
  if o.strip_accents == nil then o.strip_accents = o.lowercase end
  check.kind(func, "strip_accents", o.strip_accents, "boolean")
end

-- The specials of BERT that are in the list.
local function own_specials(list)
  local there, found = {}, {}
  for _, token in ipairs(list) do there[token] = true end
  for _, token in ipairs(SPECIALS) do
    if there[token] then found[#found + 1] = token end
  end
  return found
end

-- What is wrong with a list of tokens and its specials, or nil.
local function list_fault(list, specials)
  local seen = {}
  local fault = Tokenizer.distinct_fault(list, seen)
  if fault then return "tokens" .. fault end
  if not seen["[UNK]"] then return 'tokens must hold "[UNK]"' end
  for i, token in ipairs(list) do
    if not utf8.len(token) then
      return ("tokens[%d]: %s is not UTF-8"):format(i, check.show(token))
    end
  end
  local _, wrong = check.list(specials, "string")
  if wrong then return "specials" .. wrong end
  for i, token in ipairs(specials) do
    if token == "" or not seen[token] then
      return ("specials[%d]: %s is not among the tokens"):format(i,
        check.show(token))
    end
  end
end

--- Returns the tokeniser of a vocabulary as BERT's models come with it.
-- @param vocabulary the path of a vocab.txt, one token a line; or a list
-- @tparam[opt] table options `lowercase` (true), as in "uncased" models;
-- `strip_accents` (as lowercase); `specials`, tokens that are found in texts as
-- they stand (those of `[PAD] [UNK] [CLS] [SEP] [MASK]` that there are)
-- @treturn WordPiece or nil and a message: the file cannot be read, or is no
-- vocabulary
-- @usage
-- local t = heed.text.WordPiece.from_vocab {"[UNK]", "un", "##able", "able"}
-- return table.concat(t:tokens("Unable, able"), " ") --> un ##able [UNK] able
function WordPiece.from_vocab(vocabulary, options)
  local func <const> = "WordPiece.from_vocab"
  local o <const> = check.options(func, options, {
    lowercase = true, strip_accents = check.NONE, specials = check.NONE,
  })
  check_case(func, o)
  local list = {}
  if type(vocabulary) == "table" then
    table.move(vocabulary, 1, #vocabulary, 1, list)
  else
    check.kind(func, "vocabulary", vocabulary, "string")
    local text <const>, fault = read_file(func, vocabulary)
    if not text then return nil, fault end
    for line in text:gmatch("([^\n]*)\n?") do
      list[#list + 1] = (line:gsub("\r$", ""))
    end
    -- what stands behind the last line feed is no line
    if list[#list] == "" then list[#list] = nil end
  end
  if not check.list(list, "string") then o.specials = {} end
  o.specials = o.specials or own_specials(list)
  local fault <const> = list_fault(list, o.specials)
  if not fault then return new(list, o) end
  if type(vocabulary) == "table" then check.fail("%s: %s", func, fault) end
  return nil, ("%s: %s: %s"):format(func, vocabulary, fault)
end

--- Returns a tokeniser learnt from texts: the specials, the characters (those
-- that go on with a word have tokens of their own), then, as for byte pairs,
-- the most frequent pair of neighbours becomes one token until there are
-- enough; of pairs as frequent the smaller one, by its bytes. The same texts
-- and options give the same tokeniser.
-- @tparam {string,...} texts or a function that returns the next one
-- @tparam[opt] table options `vocab_size` (8000), all ids; `min_frequency` (2)
-- of a pair; `lowercase` (true); `strip_accents` (as lowercase); `specials`
-- (`{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}`)
-- @treturn WordPiece
-- @raise on a `vocab_size` that does not hold the specials and the characters
-- @usage
-- local t = heed.text.WordPiece.train({"low lower lowest"}, {vocab_size = 15})
-- return table.concat(t:tokens("lower slow"), " ") --> lowe ##r [UNK]
function WordPiece.train(texts, options)
  local func <const> = "WordPiece.train"
  local o <const> = check.options(func, options, {
    vocab_size = 8000, min_frequency = 2, lowercase = true,
    strip_accents = check.NONE, specials = SPECIALS,
  })
  check_case(func, o)
  o.vocab_size = check.integer(func, "vocab_size", o.vocab_size, 1)
  o.min_frequency = check.integer(func, "min_frequency", o.min_frequency, 1)
  return new(learn(func, texts, o), {lowercase = o.lowercase,
    strip_accents = o.strip_accents, specials = o.specials})
end

-- -- texts to ids ------------------------------------------------------------

-- The first special token in the text from byte `from` on, the longest of
-- several there: its first and last byte and its id, or nil.
local function find_special(self, text, from)
  local at = self.opening and text:find(self.opening, from)
  while at do
    local last, found
    for id, token in pairs(self.special) do
      local to <const> = at + #token - 1
      if (not last or to > last) and text:sub(at, to) == token then
        last, found = to, id
      end
    end
    if found then return at, last, found end
    at = text:find(self.opening, at + 1)
  end
end

-- Calls plain(text, offset) and special(id, first, last) for the parts of a
-- text in order; `offset` bytes stand before the part.
local function each_part(self, text, plain, special)
  local from = 1
  while from <= #text do
    local first <const>, last, id = find_special(self, text, from)
    if not first then break end
    if first > from then plain(text:sub(from, first - 1), from - 1) end
    special(id, first, last)
    from = last + 1
  end
  if from <= #text then plain(text:sub(from), from - 1) end
end

local function add_text(self, text, ids)
  each_part(self, text, function(part)
    for _, word in ipairs((unicode.bert_words(part, self.lowercase,
        self.strip_accents))) do
      local of_word <const> = self.word_ids(word)
      table.move(of_word, 1, #of_word, #ids + 1, ids)
    end
  end, function(id) ids[#ids + 1] = id end)
end

--- Returns the ids of a text. Special tokens that stand in the text, such as
-- "[MASK]", are found.
-- @tparam string text any bytes; what is not UTF-8 becomes `[UNK]`
-- @tparam[opt] table options `special` (false): with what `encode_pair` adds at
-- the ends
-- @treturn {integer,...}
-- @usage
-- local t = heed.text.WordPiece.from_vocab {"[UNK]", "[MASK]", "a", "##b"}
-- return table.concat(t:encode("AB [MASK] c"), " ") --> 3 4 2 1
function WordPiece:encode(text, options)
  check.types("WordPiece.encode", options, {special = "boolean"})
  if options and options.special then return self:encode_pair(text) end
  self:check_text("encode", text)
  local ids = {}
  add_text(self, text, ids)
  return ids
end

--- Returns the ids of one or two texts as BERT's models want them: `[CLS]`
-- first `[SEP]`, and, where there is a second text, second `[SEP]`; and which
-- part each id is of, for an embedding: 1 or 2.
-- @tparam string first
-- @tparam[opt] string second
-- @treturn {integer,...} ids
-- @treturn {integer,...} parts
-- @raise when the vocabulary has no `[CLS]` or `[SEP]`
-- @usage
-- local tokens = {"[UNK]", "[CLS]", "[SEP]", "a", "b"}
-- local t = heed.text.WordPiece.from_vocab(tokens)
-- local ids, parts = t:encode_pair("a", "b")
-- return table.concat(ids, " "), table.concat(parts, " ") --> 2 4 3 5 3
function WordPiece:encode_pair(first, second)
  local func <const> = "WordPiece.encode_pair"
  check.kind(func, "first", first, "string")
  if second ~= nil then check.kind(func, "second", second, "string") end
  if not self.cls or not self.sep then
    check.fail('%s: the vocabulary must hold "[CLS]" and "[SEP]"', func)
  end
  local ids, parts = {self.cls}, {}
  for part, text in ipairs {first, second} do
    add_text(self, text, ids)
    ids[#ids + 1] = self.sep
    for i = #parts + 1, #ids do parts[i] = part end
  end
  return ids, parts
end

--- Returns, for each id that `encode` gives, the first and the last byte of
-- what it comes from in the text, so that `text:sub(first, last)` is it.
-- @tparam string text
-- @treturn {{integer,integer},...}
-- @usage
-- local t = heed.text.WordPiece.from_vocab {"[UNK]", "a", "##b"}
-- local places = t:offsets("x AB")
-- return places[3][1], places[3][2] --> 4, 4
function WordPiece:offsets(text)
  self:check_text("offsets", text)
  local result = {}
  each_part(self, text, function(part, offset)
    local words <const>, places = unicode.bert_words(part, self.lowercase,
      self.strip_accents, true)
    for w, word in ipairs(words) do
      local _, ends <const> = spell(self, word)
      local done = 0 -- characters of the word
      local from = 1
      for _, to in ipairs(ends) do
        local n <const> = utf8.len(word, from, to)
        result[#result + 1] = {offset + places[w][2 * done + 1],
          offset + places[w][2 * (done + n)]}
        done, from = done + n, to + 1
      end
    end
  end, function(_, first, last) result[#result + 1] = {first, last} end)
  return result
end

--- Returns the text of ids: the tokens with spaces between, those with "##"
-- joined to what stands before them. Specials add nothing, but for `[UNK]`.
-- Case, accents and white space that encoding took away do not come back.
-- @param ids a list, or an int64 tensor with one dimension
-- @treturn string
-- @raise on an id outside the vocabulary
-- @usage
-- local t = heed.text.WordPiece.from_vocab {"[UNK]", "un", "##able", "able"}
-- return t:decode({2, 3, 4}) --> unable able
function WordPiece:decode(ids)
  ids = self:read_ids(ids)
  local parts = {}
  for i = 1, #ids do
    local id <const> = self:check_id(ids, i)
    local token <const> = self.list[id]
    if not self.special[id] or id == self.unk then
      local goes_on <const> = token:sub(1, #PREFIX) == PREFIX and #parts > 0
      if #parts > 0 and not goes_on then parts[#parts + 1] = " " end
      parts[#parts + 1] = goes_on and token:sub(#PREFIX + 1) or token
    end
  end
  return table.concat(parts)
end

function WordPiece:__tostring()
  local n = 0
  for _ in pairs(self.special) do n = n + 1 end
  return ("WordPiece(%d tokens: %d specials%s)"):format(#self.list, n,
    self.lowercase and ", lower case" or "")
end

-- -- tables ------------------------------------------------------------------

--- Returns a plain table with all of the tokeniser, fit for JSON.
function WordPiece:to_table()
  local specials = {}
  for id in pairs(self.special) do specials[#specials + 1] = id end
  table.sort(specials)
  for i, id in ipairs(specials) do specials[i] = self.list[id] end
  return {
    format = FORMAT, version = VERSION, lowercase = self.lowercase,
    strip_accents = self.strip_accents, specials = specials,
    tokens = table.move(self.list, 1, #self.list, 1, {}),
  }
end

--- Returns the tokeniser that `to_table` was called on.
-- @tparam table t
-- @raise when the table is malformed, with what is wrong with it
function WordPiece.from_table(t)
  local func <const> = "WordPiece.from_table"
  check.kind(func, "t", t, "table")
  local fault = Tokenizer.head_fault(t, FORMAT, VERSION)
  for _, key in ipairs {"lowercase", "strip_accents"} do
    if not fault and type(t[key]) ~= "boolean" then
      fault = ("%s must be a boolean, got %s"):format(key, check.show(t[key]))
    end
  end
  fault = fault or list_fault(t.tokens, t.specials)
  if fault then check.fail("%s: %s", func, fault) end
  return new(table.move(t.tokens, 1, #t.tokens, 1, {}), t)
end

return WordPiece
