--- What the first pieces of a byte-pair vocabulary may be: the specials, the
-- byte tokens and the characters.

local check = require "heed.check"
local unicode = require "heed.core".unicode

local pieces = {}

--- Begins each word that follows white space or starts the text.
local BOUNDARY <const> = "\u{2581}"
pieces.BOUNDARY = BOUNDARY

--- The number of byte tokens.
local BYTES <const> = 256
pieces.BYTES = BYTES

--- Returns the characters of a word as a list. U+2581 is taken off first, since
-- bytes that are not UTF-8 may follow it and must not become part of it.
function pieces.characters(word)
  local list = {}
  if word:sub(1, #BOUNDARY) == BOUNDARY then
    list[1] = BOUNDARY
    word = word:sub(#BOUNDARY + 1)
  end
  for char in word:gmatch(".[\x80-\xBF]*") do list[#list + 1] = char end
  return list
end

--- Returns all pieces before the learnt ones, by id.
function pieces.first(specials, byte_fallback, alphabet)
  local list = table.move(specials, 1, #specials, 1, {})
  if byte_fallback then
    for byte = 0, BYTES - 1 do
      list[#list + 1] = ("<0x%02X>"):format(byte)
    end
  end
  return table.move(alphabet, 1, #alphabet, #list + 1, list)
end

--- Returns what is wrong with a list of specials, or nil, in the form of
-- `check.list`. One that could also be a piece of a text would make ids
-- ambiguous.
function pieces.specials_fault(specials, byte_fallback)
  local _, fault = check.list(specials, "string")
  if fault then return fault end
  local seen = {}
  for i, name in ipairs(specials) do
    if not unicode.valid(name) then
      fault = "is not UTF-8"
    elseif seen[name] then
      fault = "is there twice"
    elseif byte_fallback and name:find("^<0x%x%x>$") then
      fault = "is a byte token"
    elseif #unicode.words(name) < 2 then
      fault = 'could be a piece of a text; wanted a form such as "<pad>"'
    end
    if fault then return ("[%d]: %s %s"):format(i, check.show(name), fault) end
    seen[name] = true
  end
  if not byte_fallback and not seen["<unk>"] then
    return ' must hold "<unk>" when byte_fallback is false'
  end
end

--- Returns what is wrong with a list of characters, or nil, in the same form.
function pieces.characters_fault(characters)
  local _, fault = check.list(characters, "string")
  if fault then return fault end
  local seen = {}
  for i, char in ipairs(characters) do
    if utf8.len(char) ~= 1 then
      fault = "is not one character"
    elseif char ~= BOUNDARY and #unicode.words(char) == 0 then
      fault = "is white space"
    elseif seen[char] then
      fault = "is there twice"
    end
    if fault then return ("[%d]: %s %s"):format(i, check.show(char), fault) end
    seen[char] = true
  end
end

return pieces
