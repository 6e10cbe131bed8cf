--- Calls f(folder) with a new folder that holds files, by name their bytes, and
-- removes it.
return function(files, f)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
  for name, bytes in pairs(files) do
    local file = assert(io.open(folder .. "/" .. name, "wb"))
    file:write(bytes)
    file:close()
  end
  local ok, fault = pcall(f, folder)
  os.execute("rm -r " .. folder)
  if not ok then error(fault, 0) end
end
