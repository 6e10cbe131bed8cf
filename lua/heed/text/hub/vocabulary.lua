--- The tokens of a tokeniser file by id. Ids count from 0 there, from 1 here.

local check = require "heed.check"

local vocabulary = {}

local LARGEST <const> = 1 << 24 -- more ids than any model has

--- The id of a file's number, from 1; raises unless it is one.
function vocabulary.id(name, value)
  local n <const> = math.type(value) and math.tointeger(value)
  if not n or n < 0 or n >= LARGEST then
    check.fail("%s: an id must be an integer from 0 to %d, got %s", name,
      LARGEST - 1, check.show(value))
  end
  return n + 1
end

--- Returns the ids of a table token -> number.
-- @treturn table token -> id
-- @raise when two tokens have one number
function vocabulary.read(name, vocab)
  check.kind(name, "vocab", vocab, "table")
  local ids, seen = {}, {}
  for token, value in pairs(vocab) do
    check.kind(name, "a token of vocab", token, "string")
    local id <const> = vocabulary.id(name, value)
    if seen[id] then
      check.fail("%s: vocab has two tokens with the id %d", name, id - 1)
    end
    ids[token], seen[id] = id, true
  end
  return ids
end

return vocabulary
