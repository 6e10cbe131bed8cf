--- Reads a whole file.

--- Returns the bytes of a file, or nil and a message that opens with `func`.
return function(func, path)
  local file <const>, reason = io.open(path, "rb")
  if not file then return nil, ("%s: %s"):format(func, reason) end
  local bytes <const>, fault = file:read("a") -- a folder opens like a file
  file:close()
  if not bytes then return nil, ("%s: %s: %s"):format(func, path, fault) end
  return bytes
end
