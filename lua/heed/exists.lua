--- Is there a file, or a folder, of this path that can be read?
return function(path)
  local file <const> = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end
