--- The character maps of SentencePiece (Kudo and Richardson, 2018): which
-- characters stand for which, as a trie in a double array (Aoe, 1989) and the
-- texts that its leaves point to.
--
--     uint32 size of the trie in bytes; the trie, uint32 each; texts, each
--     ended by a zero byte; all little-endian
--
-- A unit of the trie holds its byte (and bit 31 when it is a value), bit 8 when
-- a value follows, and from bit 10 on how far its children are, times 256 with
-- bit 9.

local check = require "heed.check"

local charsmap = {}

local ALPHABET <const> =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

--- Returns the bytes of a text in base64, or nil when it is none.
function charsmap.decode_base64(text)
  local value = {}
  for i = 1, 64 do value[ALPHABET:byte(i)] = i - 1 end
  text = text:gsub("[\r\n]", ""):gsub("=+$", "")
  local bytes, bits, n = {}, 0, 0
  for i = 1, #text do
    local v <const> = value[text:byte(i)]
    if not v then return nil end
    bits, n = (bits << 6 | v) & 0xFFFFFF, n + 6
    if n >= 8 then
      n = n - 8
      bytes[#bytes + 1] = string.char(bits >> n & 0xFF)
    end
  end
  return table.concat(bytes)
end

local function child_of(unit) return unit >> 10 << ((unit & 1 << 9) >> 6) end

--- Returns a function that finds what a text begins with: `match(text, from,
-- longest)` gives the text that stands for it and the last byte of what it
-- stands for, of the longest or of the shortest match; or nil.
-- @tparam string name for messages
-- @tparam string map the bytes of the map; empty: there is none
-- @raise when they are none
function charsmap.matcher(name, map)
  if map == "" then return function() end end
  local size <const> = #map >= 4 and ("<I4"):unpack(map) or 0
  if size % 4 ~= 0 or size < 1024 or 4 + size > #map then
    check.fail("%s: the character map must begin with the size of its trie, "
      .. "got %d of %d bytes", name, size, #map)
  end
  local units <const>, texts <const> = size // 4, map:sub(5 + size)
  local function unit_at(i)
    return i < units and ("<I4"):unpack(map, 5 + 4 * i) or 0
  end
  return function(text, from, longest)
    local at = child_of(unit_at(0))
    local found, last
    for i = from, #text do
      local byte <const> = text:byte(i)
      at = at ~ byte
      local unit <const> = unit_at(at)
      if byte == 0 or unit & 0x800000FF ~= byte then break end
      at = at ~ child_of(unit)
      if unit >> 8 & 1 == 1 then
        found, last = unit_at(at) & 0x7FFFFFFF, i
        if not longest then break end
      end
    end
    if not found or found >= #texts then return nil end
    return texts:match("^[^\0]*", found + 1), last
  end
end

return charsmap
