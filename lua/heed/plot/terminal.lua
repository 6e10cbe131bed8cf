--- What a terminal can do: whether there is one, its width, its colours.
local check = require "heed.check"
local core = require "heed.core"

local terminal = {}

local function env(name)
  local value = os.getenv(name)
  return value ~= "" and value or nil
end

--- Returns whether the file is a terminal. Asks the core where it is loaded;
-- plain Lua can only ask the shell, and only about the standard files.
-- @param file a Lua file, or any object with a `write` method
-- @treturn boolean
function terminal.isatty(file)
  if io.type(file) ~= "file" then return false end
  if core.isatty then return core.isatty(file) end
  local number = file == io.stdout and 1 or file == io.stderr and 2
  -- true only for a shell that ran and found a terminal
  return number and os.execute("[ -t " .. number .. " ]") == true or false
end

--- Returns whether a line on this terminal can be drawn again: every terminal
-- but one that calls itself dumb.
-- @treturn boolean
function terminal.can_redraw()
  return os.getenv("TERM") ~= "dumb"
end

--- Returns whether the file shows 24-bit colours: it is a terminal, COLORTERM
-- says so, and neither NO_COLOR nor TERM=dumb speaks against it.
-- @param file a Lua file
-- @treturn boolean
function terminal.has_color(file)
  local kind = env("COLORTERM")
  return (kind == "truecolor" or kind == "24bit") and not env("NO_COLOR")
    and terminal.can_redraw() and terminal.isatty(file)
end

--- Returns whether the locale's characters are UTF-8.
-- @treturn boolean
function terminal.is_utf8()
  local locale = env("LC_ALL") or env("LC_CTYPE") or env("LANG") or ""
  return locale:lower():find("utf%-?8") ~= nil
end

local most <const> = 10000 -- columns or rows: a slip shall not fill the memory

--- Returns a number of columns or rows that is given, as an integer.
-- @tparam string op what the user called
-- @tparam string name the option: `width` or `height`
-- @param given its value
-- @treturn integer
-- @raise unless it is a whole number from 2 to 10000
function terminal.size(op, name, given)
  local whole = math.type(given) and math.tointeger(given)
  if not whole or whole < 2 or whole > most then
    check.fail("%s: %s must be a whole number from 2 to %d, got %s", op, name,
      most, check.show(given))
  end
  return whole
end

--- Returns the columns to write in: the width given, or those of the terminal:
-- COLUMNS, or what `stty` says, or 80.
-- @tparam string op what the user called
-- @tparam ?number given the option `width`
-- @param file the file that is written to; 80 if it is no terminal and COLUMNS
--   is not set
-- @treturn integer
-- @raise if the width given is no whole number from 2 to 10000
function terminal.columns(op, given, file)
  if given then
    return terminal.size(op, "width", given)
  end
  local columns = math.tointeger(tonumber(env("COLUMNS")))
  if not columns and terminal.isatty(file) then
    local pipe = io.popen("stty size 2>/dev/null </dev/tty")
    if pipe then
      local _, found = pipe:read("n", "n")
      columns = math.tointeger(found)
      pipe:close()
    end
  end
  return columns and columns > 0 and math.min(columns, most) or 80
end

return terminal
