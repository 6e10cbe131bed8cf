--- A vocabulary of whole words: ids by falling frequency, counted from 1.

local check = require "heed.check"
local order = require "heed.text.order"
local Tokenizer = require "heed.text.tokenizer"

local Vocabulary = {}
Vocabulary.__index = Vocabulary
Vocabulary.__name = "Vocabulary"

local FORMAT <const>, VERSION <const> = "heed.vocabulary", 1

-- `words` holds the specials too; `n` counts them.
local function new(words, n)
  local self = setmetatable({words = words, n_specials = n, ids = {}},
    Vocabulary)
  for id, word in ipairs(words) do self.ids[word] = id end
  for _, name in ipairs {"pad", "bos", "eos", "unk"} do
    local id = self.ids["<" .. name .. ">"]
    if id and id <= n then self[name] = id end
  end
  return self
end

-- How often each token occurs. Called by build: level 3 is its caller.
local function count_tokens(lists)
  local count = {}
  local n = 0
  for tokens in lists do
    n = n + 1
    local _, fault = check.list(tokens, "string")
    if fault then
      error(("Vocabulary.build: lists[%d]%s"):format(n, fault), 3)
    end
    for _, token in ipairs(tokens) do count[token] = (count[token] or 0) + 1 end
  end
  return count
end

--- Returns the vocabulary of lists of tokens: the specials, then the words by
-- falling frequency, of equals the smaller one by its bytes.
--
-- @param lists list of lists of strings, or a function that returns the next
-- @tparam[opt] table options
-- @tparam[opt=1] integer options.min_frequency rarer words are left out
-- @tparam[opt] integer options.max_size most ids, specials included
-- @tparam[opt] {string,...} options.specials by default
-- `{"<pad>", "<bos>", "<eos>", "<unk>"}`
-- @treturn Vocabulary
-- @raise when no id would remain
-- @usage
-- local vocabulary = text.Vocabulary.build({{"a", "rose", "is", "a", "rose"}})
-- assert(vocabulary:word(5) == "a" and #vocabulary == 7)
function Vocabulary.build(lists, options)
  local o = check.options("Vocabulary.build", options, {
    min_frequency = 1, max_size = check.NONE,
    specials = {"<pad>", "<bos>", "<eos>", "<unk>"},
  })
  local least = check.integer("Vocabulary.build", "min_frequency",
    o.min_frequency, 1)
  local special = {}
  local fault = Tokenizer.distinct_fault(o.specials, special)
  if fault then error("Vocabulary.build: specials" .. fault, 2) end
  local size = math.maxinteger
  if o.max_size ~= nil then
    size = check.integer("Vocabulary.build", "max_size", o.max_size)
  end
  if size < math.max(#o.specials, 1) then
    error(("Vocabulary.build: max_size must be at least %d (%d specials), "
      .. "got %d"):format(math.max(#o.specials, 1), #o.specials, size), 2)
  end

  local next_list = check.iterator("Vocabulary.build", "lists", lists)
  local count = count_tokens(next_list)
  local words = {}
  for word, n in pairs(count) do
    if n >= least and not special[word] then words[#words + 1] = word end
  end
  table.sort(words, function(a, b)
    if count[a] ~= count[b] then return count[a] > count[b] end
    return order.less(a, b)
  end)

  local n = #o.specials
  local all = table.move(o.specials, 1, n, 1, {})
  table.move(words, 1, math.min(#words, size - n), n + 1, all)
  if #all == 0 then
    error(("Vocabulary.build: nothing to number: no specials, and no word as "
      .. "frequent as min_frequency, %d"):format(least), 2)
  end
  return new(all, n)
end

--- Returns the ids of tokens; an unknown token becomes `unk`.
-- @tparam {string,...} tokens
-- @raise on an unknown token when there is no special `<unk>`
function Vocabulary:encode(tokens)
  local n, fault = check.list(tokens, "string")
  if fault then error("Vocabulary.encode: tokens" .. fault, 2) end
  local ids = {}
  for i = 1, n do
    local id = self.ids[tokens[i]] or self.unk
    if not id then
      error(("Vocabulary.encode: tokens[%d]: %s is not in the vocabulary, "
        .. 'which has no "<unk>"'):format(i, check.show(tokens[i])), 2)
    end
    ids[i] = id
  end
  return ids
end

--- Returns the words of ids, one for each, specials included.
-- @tparam {integer,...} ids
-- @raise on an id outside the vocabulary
function Vocabulary:decode(ids)
  check.kind("Vocabulary.decode", "ids", ids, "table")
  local words = {}
  for i = 1, #ids do
    words[i] = self.words[ids[i]]
    if not words[i] then
      error(("Vocabulary.decode: ids[%d] must be an integer in 1..%d, got %s")
        :format(i, #self.words, check.show(ids[i])), 2)
    end
  end
  return words
end

--- Returns the id of a word, or nil when it is not in the vocabulary.
-- @tparam string word
function Vocabulary:id(word)
  check.kind("Vocabulary.id", "word", word, "string")
  return self.ids[word]
end

--- Returns the word of an id.
-- @tparam integer id
-- @raise on an id outside the vocabulary
function Vocabulary:word(id)
  local word = self.words[id]
  if not word then
    error(("Vocabulary.word: id must be an integer in 1..%d, got %s"):format(
      #self.words, check.show(id)), 2)
  end
  return word
end

--- The number of ids.
function Vocabulary:__len() return #self.words end

function Vocabulary:__tostring()
  return ("Vocabulary(%d words: %d specials)"):format(#self.words,
    self.n_specials)
end

--- Returns a plain table with all of the vocabulary, fit for JSON.
function Vocabulary:to_table()
  local n = self.n_specials
  return {
    format = FORMAT,
    version = VERSION,
    specials = table.move(self.words, 1, n, 1, {}),
    words = table.move(self.words, n + 1, #self.words, 1, {}),
  }
end

--- Writes the vocabulary into a file as JSON, whole or not at all; `text.load`
-- reads it.
-- @function save
-- @tparam string path
-- @raise when the file cannot be written
Vocabulary.save = Tokenizer.save

-- What is wrong with a table, or nil.
local function table_fault(t)
  if t.format ~= FORMAT then
    return ('format must be "%s", got %s'):format(FORMAT, check.show(t.format))
  end
  if t.version ~= VERSION then
    return ("version must be %d, got %s"):format(VERSION,
      check.show(t.version))
  end
  local seen = {}
  local fault = Tokenizer.distinct_fault(t.specials, seen)
  if fault then return "specials" .. fault end
  fault = Tokenizer.distinct_fault(t.words, seen)
  if fault then return "words" .. fault end
  if next(seen) == nil then return "words must hold a string, got none" end
end

--- Returns the vocabulary that `to_table` was called on.
-- @tparam table t
-- @raise when the table is malformed, with what is wrong with it
function Vocabulary.from_table(t)
  check.kind("Vocabulary.from_table", "t", t, "table")
  local fault = table_fault(t)
  if fault then error("Vocabulary.from_table: " .. fault, 2) end
  local n = #t.specials
  local words = table.move(t.specials, 1, n, 1, {})
  return new(table.move(t.words, 1, #t.words, n + 1, words), n)
end

return Vocabulary
