--[[
Writes what heed offers, with its documentation, as Lua data that heed.help
reads (lua/heed/help.lua). The build runs this with the module it has made:

    lua5.4 tools/reference/main.lua ROOT FILE

where ROOT holds the sources, and FILE is written.
]]

local root <const>, target <const> = arg[1], arg[2]
package.path = ("%s/?.lua;%s/lua/?.lua;%s/lua/?/init.lua;%s"):format(root,
  root, root, package.path)

local heed = require "heed"
local entries <const>, missing <const> =
  require "tools.reference.collect".all(root, heed)
for _, path in ipairs(missing) do
  io.stderr:write("no doc comment: ", path, "\n")
end

-- A value as a Lua literal, keys in order.
local function write(out, value)
  if type(value) ~= "table" then
    out[#out + 1] = ("%q"):format(value)
    return
  end
  out[#out + 1] = "{"
  for _, item in ipairs(value) do
    write(out, item)
    out[#out + 1] = ","
  end
  local keys = {}
  for key in pairs(value) do
    if type(key) == "string" then keys[#keys + 1] = key end
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    out[#out + 1] = key .. "="
    write(out, value[key])
    out[#out + 1] = ","
  end
  out[#out + 1] = "}"
end

local out = {"return {\n"}
for _, entry in ipairs(entries) do
  write(out, entry)
  out[#out + 1] = ",\n"
end
out[#out + 1] = "}\n"
heed.core.write_file_atomic(target, table.concat(out))
