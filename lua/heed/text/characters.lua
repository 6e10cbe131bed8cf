--- A tokeniser of characters: of code points, or of graphemes, what a reader
-- takes for one character (a letter with its accents, a flag, a family). White
-- space is a character like others, so `decode` gives back the text, byte by
-- byte: what has no token is spelt by tokens of single bytes, also bytes that
-- are not UTF-8.
--
-- Ids, in this order: the specials, the 256 byte tokens `<0x00>` to `<0xFF>`
-- (with `byte_fallback`), the characters in byte order.

local check = require "heed.check"
local order = require "heed.text.order"
local pieces = require "heed.text.pieces"
local Tokenizer = require "heed.text.tokenizer"
local unicode = require "heed.core".unicode

local Characters = Tokenizer.class "Characters"

local FORMAT <const>, VERSION <const> = "heed.characters", 1

local SPLIT <const> = {
  codepoint = unicode.characters, grapheme = unicode.graphemes,
}

local function new(unit, specials, byte_fallback, characters)
  local n <const> = #specials
  local self <const> = setmetatable({
    unit = unit, split = SPLIT[unit], byte_fallback = byte_fallback,
    n_specials = n, first_byte = n + 1,
    last_byte = n + (byte_fallback and pieces.BYTES or 0),
    list = pieces.first(specials, byte_fallback, characters),
  }, Characters)
  Tokenizer.number(self, n)
  -- a text that holds "<0x41>" or "<pad>" is spelt, not looked up
  self.of_character = {}
  for id = self.last_byte + 1, #self.list do
    self.of_character[self.list[id]] = id
  end
  return self
end

--- Returns a tokeniser of the characters of texts.
-- @tparam {string,...} texts or a function that returns the next one
-- @tparam[opt] table options `unit`: "codepoint" (default) or "grapheme";
-- `min_frequency` (1): rarer characters get no token; `max_size`: most ids,
-- specials and bytes included, the frequent characters first; `specials`
-- (`{"<pad>", "<bos>", "<eos>", "<unk>"}`); `byte_fallback` (true): without,
-- what has no token becomes `<unk>`
-- @treturn Characters
-- @usage
-- local t = heed.text.Characters.train({"hello"}, {byte_fallback = false})
-- return table.concat(t:encode("hole"), " ") --> 6 8 7 5
function Characters.train(texts, options)
  local func <const> = "Characters.train"
  local o <const> = check.options(func, options, {
    unit = "codepoint", min_frequency = 1, max_size = check.NONE,
    specials = {"<pad>", "<bos>", "<eos>", "<unk>"}, byte_fallback = true,
  })
  if not SPLIT[o.unit] then
    check.fail('%s: unit must be "codepoint" or "grapheme", got %s', func,
      check.show(o.unit))
  end
  local least <const> = check.integer(func, "min_frequency", o.min_frequency, 1)
  local fault <const> = pieces.specials_fault(o.specials, o.byte_fallback)
  if fault then check.fail("%s: specials%s", func, fault) end
  local before <const> = #o.specials + (o.byte_fallback and pieces.BYTES or 0)
  local most <const> = o.max_size == nil and math.maxinteger
    or check.integer(func, "max_size", o.max_size, before)

  local count <const> = Tokenizer.count(func, texts, SPLIT[o.unit])
  local list = {}
  for character, n in pairs(count) do
    if n >= least and utf8.len(character) then list[#list + 1] = character end
  end
  table.sort(list, function(a, b)
    if count[a] ~= count[b] then return count[a] > count[b] end
    return order.less(a, b)
  end)
  for i = #list, most - before + 1, -1 do list[i] = nil end
  table.sort(list, order.less)
  return new(o.unit, table.move(o.specials, 1, #o.specials, 1, {}),
    o.byte_fallback, list)
end

--- Returns the ids of a text. Nothing is added at the ends.
-- @tparam string text any bytes
-- @treturn {integer,...}
-- @usage
-- local t = heed.text.Characters.train({"ab"})
-- return #t:encode("\u{E9}\xFF") --> 3
function Characters:encode(text)
  self:check_text("encode", text)
  local ids = {}
  for _, character in ipairs(self.split(text)) do
    local id <const> = self.of_character[character]
    if id then
      ids[#ids + 1] = id
    elseif self.byte_fallback then
      for i = 1, #character do
        ids[#ids + 1] = self.first_byte + character:byte(i)
      end
    else
      ids[#ids + 1] = self.unk
    end
  end
  return ids
end

--- Returns the text of ids; specials add nothing. With `byte_fallback` it is
-- the text that was encoded, byte by byte; `unicode.repair` makes UTF-8 of ids
-- that a model has made.
-- @param ids a list, or an int64 tensor with one dimension
-- @treturn string
-- @raise on an id outside the vocabulary
-- @usage
-- local t = heed.text.Characters.train({"ab"})
-- return t:decode(t:encode("cab")) --> cab
function Characters:decode(ids) return self:bytes_of(ids) end

function Characters:__tostring()
  return ("Characters(%d ids: %d specials, %d bytes, %d %ss)"):format(
    #self.list, self.n_specials, self.last_byte - self.n_specials,
    #self.list - self.last_byte, self.unit)
end

--- Returns a plain table with all of the tokeniser, fit for JSON.
function Characters:to_table()
  return {
    format = FORMAT, version = VERSION, unit = self.unit,
    byte_fallback = self.byte_fallback,
    specials = table.move(self.list, 1, self.n_specials, 1, {}),
    characters = table.move(self.list, self.last_byte + 1, #self.list, 1, {}),
  }
end

-- What is wrong with the characters, or nil.
local function characters_fault(list, unit)
  local fault <const> = Tokenizer.distinct_fault(list, {})
  if fault then return fault end
  for i, character in ipairs(list) do
    if not utf8.len(character) or #SPLIT[unit](character) ~= 1 then
      return ("[%d]: %s is not one %s"):format(i, check.show(character), unit)
    end
  end
end

local function table_fault(t)
  local fault = Tokenizer.head_fault(t, FORMAT, VERSION)
  if fault then return fault end
  if not SPLIT[t.unit] then
    return 'unit must be "codepoint" or "grapheme", got ' .. check.show(t.unit)
  end
  if type(t.byte_fallback) ~= "boolean" then
    return "byte_fallback must be a boolean, got "
      .. check.show(t.byte_fallback)
  end
  fault = pieces.specials_fault(t.specials, t.byte_fallback)
  if fault then return "specials" .. fault end
  fault = characters_fault(t.characters, t.unit)
  if fault then return "characters" .. fault end
end

--- Returns the tokeniser that `to_table` was called on.
-- @tparam table t
-- @raise when the table is malformed, with what is wrong with it
function Characters.from_table(t)
  check.kind("Characters.from_table", "t", t, "table")
  local fault <const> = table_fault(t)
  if fault then check.fail("Characters.from_table: %s", fault) end
  return new(t.unit, table.move(t.specials, 1, #t.specials, 1, {}),
    t.byte_fallback, t.characters)
end

return Characters
