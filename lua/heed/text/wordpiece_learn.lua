--- The vocabulary of a WordPiece, learnt from texts.

local check = require "heed.check"
local merges = require "heed.text.merges"
local order = require "heed.text.order"
local Tokenizer = require "heed.text.tokenizer"
local unicode = require "heed.core".unicode

local PREFIX <const> = "##" -- goes on with a word

-- The characters of a word as tokens: all but the first with the prefix.
local function spelt(word)
  local list <const> = unicode.characters(word)
  for i = 2, #list do list[i] = PREFIX .. list[i] end
  return list
end

-- Tokens a and b as one.
local function join(a, b) return a .. b:sub(#PREFIX + 1) end

-- The specials as a set; raises for what they cannot be.
local function read_specials(func, specials)
  local set = {}
  local fault <const> = Tokenizer.distinct_fault(specials, set)
  if fault then check.fail("%s: specials%s", func, fault) end
  if not set["[UNK]"] then
    check.fail('%s: specials must hold "[UNK]"', func)
  end
  return set
end

-- The tokens of the characters of words, but those that are special.
local function alphabet_of(words, special)
  local seen, list = {}, {}
  for _, word in ipairs(words) do
    for _, token in ipairs(spelt(word)) do
      if not seen[token] and not special[token] then
        seen[token] = true
        list[#list + 1] = token
      end
    end
  end
  table.sort(list, order.less)
  return list
end

--- Returns the tokens that `WordPiece.train` learns, in the order of their ids.
-- @tparam string func name for messages
-- @param texts as it takes them
-- @tparam table o its options, whole
return function(func, texts, o)
  local special <const> = read_specials(func, o.specials)
  local count <const> = Tokenizer.count(func, texts, function(text)
    return (unicode.bert_words(text, o.lowercase, o.strip_accents))
  end)
  local words, counts = {}, {}
  for word in pairs(count) do words[#words + 1] = word end
  table.sort(words, order.less)
  for w, word in ipairs(words) do counts[w] = count[word] end
  local alphabet <const> = alphabet_of(words, special)
  local list <const> = table.move(o.specials, 1, #o.specials, 1, {})
  table.move(alphabet, 1, #alphabet, #list + 1, list)
  if o.vocab_size < #list then
    check.fail("%s: vocab_size must be at least %d (%d specials, %d "
      .. "characters), got %d", func, #list, #o.specials, #alphabet,
      o.vocab_size)
  end
  local ids = {}
  for id, token in ipairs(list) do ids[token] = id end
  merges.learn(words, counts, function(word)
    local symbols <const> = spelt(word)
    for i, token in ipairs(symbols) do symbols[i] = ids[token] end
    return symbols
  end, list, o.vocab_size, o.min_frequency, join)
  return list
end
