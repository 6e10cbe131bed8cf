--- Bytes as hexadecimal digits, and back: for JSON, which holds no bytes.

local hex = {}

--- The digits of bytes, two for each.
function hex.encode(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

--- The bytes of digits, or nil where that is not what they are.
function hex.decode(digits)
  if #digits % 2 == 1 or digits:find("%X") then return nil end
  return (digits:gsub("..", function(pair)
    return string.char(tonumber(pair, 16))
  end))
end

return hex
