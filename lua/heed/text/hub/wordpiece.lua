--- The model WordPiece of tokenizer.json: from the start of a word the longest
-- token, then the longest that goes on.

local check = require "heed.check"
local longest_tokens = require "heed.text.longest_tokens"
local part = require "heed.text.hub.part"
local vocabulary = require "heed.text.hub.vocabulary"

--- Returns the ids of the vocabulary, and a function from a piece of text to
-- its ids.
return function(c, name)
  local ids <const> = vocabulary.read(name, c.vocab)
  local prefix <const> = part.string(name, c, "continuing_subword_prefix",
    "##")
  local most <const> = check.integer(name, "max_input_chars_per_word",
    c.max_input_chars_per_word or 100, 0)
  local unknown <const> = ids[part.string(name, c, "unk_token", "[UNK]")]
  local longest = 0
  for token in pairs(ids) do longest = math.max(longest, #token) end

  local function unknown_word(word)
    if unknown then return {unknown} end
    check.fail("%s: %s cannot be spelt, and there is no unk_token", name,
      check.show(word))
  end
  return ids, function(word)
    local found
    if (utf8.len(word) or #word) <= most then
      found = longest_tokens(word, ids, prefix, longest)
    end
    return found or unknown_word(word)
  end
end
