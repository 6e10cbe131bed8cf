--- Messages in the wire format of Protocol Buffers, read field by field.

local protobuf = {}

-- A number of 7 bits a byte, and the place behind it; nil when it has no end.
local function varint(bytes, at)
  local value, shift = 0, 0
  while shift < 64 do
    local byte <const> = bytes:byte(at)
    if not byte then return nil end
    value, at = value | (byte & 0x7F) << shift, at + 1
    if byte < 0x80 then return value, at end
    shift = shift + 7
  end
  return nil
end

--- Goes through the fields of a message: number, and the value, an integer or
-- the bytes of it. After the last one comes nothing; where the message is
-- broken, nil and true.
function protobuf.fields(bytes)
  local at = 1
  return function()
    if at > #bytes then return nil end
    local key <const>, after = varint(bytes, at)
    if not key then return nil, true end
    local kind <const>, number <const> = key & 7, key >> 3
    local value
    if kind == 0 then
      value, at = varint(bytes, after)
      if not value then return nil, true end
    else
      local size = kind == 1 and 8 or kind == 5 and 4 or nil
      if kind == 2 then size, after = varint(bytes, after) end
      if not size or size < 0 or size > #bytes - after + 1 then
        return nil, true
      end
      value, at = bytes:sub(after, after + size - 1), after + size
    end
    return number, value
  end
end

--- Returns the fields of a message by number, lists of values; or nil when it
-- is broken.
function protobuf.read(bytes)
  local result = {}
  local following <const> = protobuf.fields(bytes)
  while true do
    local number <const>, value <const> = following()
    if not number then
      if value then return nil end
      return result
    end
    result[number] = result[number] or {}
    table.insert(result[number], value)
  end
end

return protobuf
