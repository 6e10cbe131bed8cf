--- gnuplot as a process: a script goes in, a whole picture file comes out.
local check = require "heed.check"

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

local function is_whole(file, kind)
  local handle = io.open(file, "rb")
  if not handle then return false end
  local size = handle:seek("end")
  handle:seek("set", math.max(0, size - 64))
  local tail = handle:read("a")
  handle:close()
  return tail:find(endings[kind]) ~= nil
end

-- Writes the text to the file; nil, or what went wrong.
local function write(file, text)
  local handle, message = io.open(file, "wb")
  if not handle then return message end
  local ok, failure = handle:write(text)
  local closed, late = handle:close()
  return not (ok and closed) and (failure or late) or nil
end

--- Runs a script that draws one picture, and puts the picture in its place.
-- It is drawn beside the target and renamed, so that the target is the whole
-- new picture, or what it was.
-- @tparam string op what the user called, for messages
-- @tparam string file the picture
-- @tparam string kind `svg`, `png` or `pdf`
-- @tparam string script gnuplot commands, without `set output`
-- @raise if the file cannot be written, or gnuplot is missing or fails
function gnuplot.draw(op, file, kind, script)
  if file:find("\0", 1, true) then
    check.fail("%s: file must not hold a zero byte", op)
  end
  local script_file = os.tmpname()
  -- The name is new on this machine, so its last part makes the other one new.
  local partial = file .. "." .. script_file:match("[^/\\]*$")
  -- gnuplot takes `|` at the start for a command and `~` for a home folder
  local output = partial:find("^/") and partial or "./" .. partial

  local problem = write(partial, "")
  if problem then
    problem = string.format("cannot write %s:%s", file,
      problem:sub(#partial + 2))
  else
    problem = write(script_file,
      "set output " .. gnuplot.quote(output) .. "\n" .. script)
      or run(script_file)
    if not problem and not is_whole(partial, kind) then
      problem = "cannot write " .. file .. ": the picture is cut short"
    end
    if not problem then
      local ok, message = os.rename(partial, file)
      problem = not ok and "cannot write " .. file .. ": " .. message or nil
    end
    if problem then os.remove(partial) end
  end
  os.remove(script_file)
  if problem then check.fail("%s: %s", op, problem) end
end

return gnuplot
