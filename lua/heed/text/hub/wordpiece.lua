--- The model WordPiece of tokenizer.json: from the start of a word the longest
-- token, then the longest that goes on.

local part = require "heed.text.hub.part"
local check = require "heed.check"
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
    if (utf8.len(word) or #word) > most then return unknown_word(word) end
    local list, from = {}, 1
    while from <= #word do
      local before <const> = from > 1 and prefix or ""
      local to = math.min(#word, from + longest - 1)
      local id
      while to >= from do
        id = ids[before .. word:sub(from, to)]
        if id then break end
        to = to - 1
      end
      if not id then return unknown_word(word) end
      list[#list + 1], from = id, to + 1
    end
    return list
  end
end
