-- command.lua - runs the heed program, and others, for the specs of the host.

local command = {}

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function read_and_remove(name)
  local file = assert(io.open(name, "rb"))
  local text = file:read("a")
  file:close()
  os.remove(name)
  return text
end

--- Writes `text` to a new file and returns its name.
function command.file(text)
  local name = os.tmpname()
  local file = assert(io.open(name, "wb"))
  file:write(text)
  file:close()
  return name
end

--- The program under test.
command.program = os.getenv("HEED_PROGRAM") or "build/heed"

--- Runs a shell command, with `input` piped in and without the variables by
-- which the environment could change what Lua does. Returns its exit code,
-- what it wrote to stdout and what it wrote to stderr.
function command.shell(line, input)
  local stdin = command.file(input or "")
  local stdout, stderr = os.tmpname(), os.tmpname()
  local _, _, code = os.execute(
    "unset LUA_INIT LUA_INIT_5_4 LUA_PATH LUA_PATH_5_4 LUA_CPATH "
    .. "LUA_CPATH_5_4\n{ " .. line .. "\n} <" .. stdin .. " >" .. stdout
    .. " 2>" .. stderr)
  os.remove(stdin)
  return code, read_and_remove(stdout), read_and_remove(stderr)
end

--- Runs heed with a list of arguments; else like `command.shell`.
function command.heed(arguments, input)
  local words = { quote(command.program) }
  for i, argument in ipairs(arguments) do words[i + 1] = quote(argument) end
  return command.shell(table.concat(words, " "), input)
end

command.quote = quote

return command
