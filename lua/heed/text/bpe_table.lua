--- A byte-pair vocabulary as a plain table, fit for JSON, and back. What comes
-- in may be any table: all of it is checked.

local check = require "heed.check"
local merges = require "heed.text.merges"
local pieces = require "heed.text.pieces"

local FORMAT <const>, VERSION <const> = "heed.bpe", 1

local bpe_table = {}

--- Returns the table.
-- @tparam table parts `specials`, `byte_fallback`, `characters`, `pieces` by
-- id, `merges` as `merges.learn` returns them
function bpe_table.write(parts)
  local list = {}
  for i, merge in ipairs(parts.merges) do
    -- A piece never holds a space.
    list[i] = parts.pieces[merge[1]] .. " " .. parts.pieces[merge[2]]
  end
  return {
    format = FORMAT,
    version = VERSION,
    byte_fallback = parts.byte_fallback,
    specials = table.move(parts.specials, 1, #parts.specials, 1, {}),
    characters = table.move(parts.characters, 1, #parts.characters, 1, {}),
    merges = list,
    size = #parts.pieces,
  }
end

-- The merge "left right" in ids; appends the piece that it makes to `list` if
-- it is new. Or nil and what is wrong.
local function read_merge(merge, list, ids)
  local left, right = merge:match("^([^ ]+) ([^ ]+)$")
  local a, b = ids[left], ids[right]
  if not a or not b then
    return nil, "must be two earlier pieces with a space between, got "
      .. check.show(merge)
  end
  local piece = left .. right
  if #piece > merges.MAX_BYTES then
    return nil, ("makes a piece of %d bytes, more than %d"):format(#piece,
      merges.MAX_BYTES)
  end
  if not ids[piece] then
    list[#list + 1] = piece
    ids[piece] = #list
  end
  return {a, b, ids[piece]}
end

-- All merges in ids, or nil and what is wrong. Appends their pieces to `list`,
-- whose last `n` are the characters.
local function read_merges(t, list, n)
  local _, fault = check.list(t, "string")
  if fault then return nil, fault end
  local ids, seen, result = {}, {}, {}
  for id = #list - n + 1, #list do ids[list[id]] = id end
  for i, text in ipairs(t) do
    if seen[text] then
      return nil, ("[%d]: %s is there twice"):format(i, check.show(text))
    end
    seen[text] = true
    result[i], fault = read_merge(text, list, ids)
    if fault then return nil, ("[%d] %s"):format(i, fault) end
  end
  return result
end

-- What is wrong with everything but the merges, or nil.
local function head_fault(t)
  if t.format ~= FORMAT then
    return ('format must be "%s", got %s'):format(FORMAT, check.show(t.format))
  end
  if t.version ~= VERSION then
    return ("version must be %d, got %s"):format(VERSION,
      check.show(t.version))
  end
  if type(t.byte_fallback) ~= "boolean" then
    return "byte_fallback must be a boolean, got "
      .. check.show(t.byte_fallback)
  end
  local fault = pieces.specials_fault(t.specials, t.byte_fallback)
  if fault then return "specials" .. fault end
  fault = pieces.characters_fault(t.characters)
  if fault then return "characters" .. fault end
end

--- Returns the parts that `write` was given, or nil and what is wrong.
function bpe_table.read(t)
  local fault = head_fault(t)
  if fault then return nil, fault end
  local list = pieces.first(t.specials, t.byte_fallback, t.characters)
  local learnt
  learnt, fault = read_merges(t.merges, list, #t.characters)
  if fault then return nil, "merges" .. fault end
  if t.size ~= #list then
    return nil, ("size must be %d, the number of pieces, got %s"):format(#list,
      check.show(t.size))
  end
  return {
    specials = table.move(t.specials, 1, #t.specials, 1, {}),
    byte_fallback = t.byte_fallback,
    characters = table.move(t.characters, 1, #t.characters, 1, {}),
    pieces = list,
    merges = learnt,
  }
end

return bpe_table
