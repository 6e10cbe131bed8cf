--- Bytes as characters that can be seen, as GPT-2's vocabulary writes them
-- (Radford et al., 2019): those of Latin-1 that print stand for themselves, the
-- others, in order, for U+0100 and what follows.

local bytes = {char_of = {}, byte_of = {}}

local function prints(byte)
  return byte >= 0x21 and byte <= 0x7E or byte >= 0xA1 and byte <= 0xAC or
    byte >= 0xAE
end

local more = 0
for byte = 0, 255 do
  local code = byte
  if not prints(byte) then
    code, more = 256 + more, more + 1
  end
  local char <const> = utf8.char(code)
  bytes.char_of[string.char(byte)] = char
  bytes.byte_of[char] = string.char(byte)
end

--- Bytes to characters.
function bytes.show(text) return (text:gsub(".", bytes.char_of)) end

--- Characters to bytes; others stay.
function bytes.read(text)
  return (text:gsub(utf8.charpattern, bytes.byte_of))
end

return bytes
