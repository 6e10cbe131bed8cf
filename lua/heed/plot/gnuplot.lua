--- gnuplot as a process: a script goes in, a whole picture file comes out.
local check = require "heed.check"
local core = require "heed.core"

local gnuplot = {}

-- A picture that was written to its end ends with this (a full disk does not
-- make gnuplot fail).
local endings <const> = {
  svg = "</svg>%s*$", png = "IEND....$", pdf = "%%%%EOF%s*$",
}

--- Returns a gnuplot string that holds any text. Every byte that is no letter
-- is written in octal, so that nothing in the text can end the string, be
-- expanded, or reach a shell. Digits too: gnuplot would read on into one that
-- follows an octal number.
-- @tparam string text any bytes but NUL
-- @treturn string
-- @usage gnuplot.quote("a`ls`")  --> [["a\140ls\140"]]
function gnuplot.quote(text)
  return '"' .. text:gsub("[^A-Za-z]", function(char)
    return string.format("\\%03o", char:byte())
  end) .. '"'
end

-- What went wrong, from gnuplot's output: it shows the line and a caret first,
-- then `"FILE" line N: the reason`.
local function reason(output)
  return output:match("line %d+: ([^\n]*)") or output:match("([^\n]*%S[^\n]*)")
    or "no message"
end

-- Runs the script file. Returns nil on success, otherwise what went wrong.
-- The script is a file and not a pipe into gnuplot, since a write into the pipe
-- of a gnuplot that has ended would kill this process (SIGPIPE).
local function run(script_file)
  local pipe = io.popen("exec gnuplot -d '" .. script_file
    .. "' 2>&1 </dev/null")
  local output = pipe:read("a")
  local ok, how, code = pipe:close()
  if ok then return nil end
  if how == "exit" and code == 127 then
    return "gnuplot is not installed (Debian: apt install gnuplot-nox)"
  end
  if how == "signal" then return "gnuplot was ended by signal " .. code end
  return "gnuplot: " .. reason(output)
end

-- The bytes of the picture in a file; nil and what is wrong with it.
local function read(file, kind)
  local handle <close>, message = io.open(file, "rb")
  if not handle then return nil, message end
  local bytes <const> = handle:read "a"
  if not bytes:find(endings[kind], -64) then
    return nil, "the picture is cut short"
  end
  return bytes
end

-- Writes the script; nil, or what went wrong.
local function write(file, script)
  local handle <close>, message = io.open(file, "wb")
  if not handle then return message end
  local ok, failure = handle:write(script)
  if ok then ok, failure = handle:flush() end
  return not ok and failure or nil
end

-- Draws into `picture`. Returns the bytes, or nil and what went wrong.
local function draw(file, script, script_file, picture, kind)
  local problem = write(script_file,
    "set output " .. gnuplot.quote(picture) .. "\n" .. script)
  if not problem then
    local fault <const> = run(script_file)
    if fault then return nil, fault end
    local bytes
    bytes, problem = read(picture, kind)
    if bytes then return bytes end
  end
  return nil, file .. ": " .. problem
end

--- Runs a script that draws one picture, and writes the picture into a file.
-- It is drawn elsewhere first, so that the file is the whole new picture, or
-- what it was.
-- @tparam string op what the user called, for messages
-- @tparam string file the picture
-- @tparam string kind `svg`, `png` or `pdf`
-- @tparam string script gnuplot commands, without `set output`
-- @raise if the file cannot be written, or gnuplot is missing or fails
function gnuplot.draw(op, file, kind, script)
  if file:find("\0", 1, true) then
    check.fail("%s: file must not hold a zero byte", op)
  end
  local script_file <const>, picture <const> = os.tmpname(), os.tmpname()
  local bytes <const>, problem = draw(file, script, script_file, picture,
    kind)
  os.remove(script_file)
  os.remove(picture)
  if not bytes then
    check.fail("%s: %s", op, problem)
  end
  core.write_file_atomic(file, bytes, op)
end

return gnuplot
