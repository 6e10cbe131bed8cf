--- Bytes that spell what has no token: `<0x00>` to `<0xFF>`.

local fallback = {}

--- Returns the ids of the tokens of bytes by byte, or nil unless all are there.
function fallback.ids(ids)
  local list = {}
  for byte = 0, 255 do
    list[byte] = ids[("<0x%02X>"):format(byte)]
    if not list[byte] then return nil end
  end
  return list
end

--- Adds the ids of the bytes of a text to a list.
function fallback.spell(byte_ids, text, list)
  for i = 1, #text do list[#list + 1] = byte_ids[text:byte(i)] end
end

return fallback
