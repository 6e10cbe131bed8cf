--- The commands of the prompt: `%time` and the like, and `?name`.

local check = require "heed.check"
local help = require "heed.help"
local lex = require "heed.repl.lex"
local names = require "heed.repl.names"
local show = require "heed.repl.show"
local style = require "heed.repl.style"
local timing = require "heed.repl.timing"
local who = require "heed.repl.who"

local magic = {}

local function write(...) io.stdout:write(...) end

-- -- code --------------------------------------------------------------------

-- A function of the expression, or of the statements; raises what the compiler
-- says.
local function compile(code, name)
  local f = load("return " .. code, name, "t")
  if f then return f end
  local message
  f, message = load(code, name, "t")
  if not f then error(message, 0) end
  return f
end

local function need(rest, usage)
  if rest == "" then error("usage: " .. usage, 0) end
end

local function quoted(name)
  return "'" .. name:gsub("'", "'\\''") .. "'"
end

-- A file's text without its first line if that is for the system.
local function read_file(path)
  local home <const> = os.getenv "HOME"
  if path:sub(1, 2) == "~/" and home then path = home .. path:sub(2) end
  local file, message = io.open(path, "rb")
  if not file then error("cannot read " .. message, 0) end
  local text, reason = file:read "a"
  file:close()
  if not text then error(("cannot read %s: %s"):format(path, reason), 0) end
  return (text:gsub("^#[^\n]*", "")), path
end

-- -- commands ----------------------------------------------------------------

local commands <const> = {}
magic.commands = commands

local function add(name, arguments, about, run, takes_code)
  local command <const> = {name = name, about = about, run = run,
    takes_code = takes_code,
    usage = "%" .. name .. (arguments ~= "" and " " .. arguments or "")}
  commands[name] = command
  commands[#commands + 1] = command
end

add("time", "code", "runs it once and says how long it took",
  function(session, rest, usage)
    need(rest, usage)
    local values, text <const> = timing.once(compile(rest, "=%time"))
    session:show(values)
    write(text, "\n")
  end, true)

add("timeit", "code", "runs it many times and says how long one takes",
  function(_, rest, usage)
    need(rest, usage)
    write(timing.many(rest), "\n")
  end, true)

add("who", "", "lists the tensors and networks in globals, with their bytes",
  function(session) write(who.text(session:columns())) end)

add("load", "file", "runs a file; its globals and locals stay",
  function(session, rest, usage)
    need(rest, usage)
    local text <const>, path <const> = read_file(rest)
    session:execute(text, "@" .. path)
  end)

add("edit", "[file | n]", "opens $VISUAL or $EDITOR on a file, on input n or "
  .. "the one before, and runs what it holds then",
  function(session, rest) magic.edit(session, rest) end)

add("history", "[n]", "lists the last n inputs of this session (20)",
  function(session, rest)
    local n <const> = rest == "" and 20 or math.tointeger(tonumber(rest))
    if not n or n < 1 then
      error("history: n must be a whole number of at least 1, got " .. rest, 0)
    end
    local inputs <const> = session.inputs
    for i = math.max(1, #inputs - n + 1), #inputs do
      write(("%4d  %s\n"):format(i, (inputs[i]:gsub("\n", "\n      "))))
    end
  end)

add("plot", "x [, options]", "draws a tensor as heed.plot.show does",
  function(_, rest, usage)
    need(rest, usage)
    require("heed.plot").show(compile(rest, "=%plot")())
  end, true)

add("help", "", "lists these commands", function()
  for _, command in ipairs(commands) do
    write(("  %-18s %s\n"):format(command.usage, command.about))
  end
  write(("  %-18s %s\n"):format("?name  name?", "what a function or class "
    .. "takes and gives, or what a value is"))
  write(("  %-18s %s\n"):format("??word", "what there is about a word"))
  write(("  %-18s %s\n"):format("help \"word\"",
    "heed.help; exit or quit ends"))
  write("\nThe result of the last expression is `_`. Tab completes names, "
    .. "fields, options and\nfiles; Ctrl-R searches the history; Ctrl-C stops "
    .. "what runs; Ctrl-D ends.\n")
end)

--- Opens an editor and runs what it leaves.
function magic.edit(session, rest)
  local n = math.tointeger(tonumber(rest))
  local path = rest
  if n or rest == "" then
    -- the last input is this command
    n = n or #session.inputs - 1
    if n ~= 0 and not session.inputs[n] then
      error(("edit: there is no input %d"):format(n), 0)
    end
    local base <const> = os.tmpname()
    path = base .. ".lua"
    assert(os.rename(base, path))
    local file <const> = assert(io.open(path, "wb"))
    file:write(session.inputs[n] or "", "\n")
    file:close()
  end
  local function set(name)
    local value <const> = os.getenv(name)
    return value ~= "" and value or nil
  end
  local editor <const> = set "VISUAL" or set "EDITOR" or "vi"
  io.stdout:flush()
  local ok, _, code = os.execute(editor .. " " .. quoted(path))
  local text <const> = ok and read_file(path)
  if n then os.remove(path) end
  if not ok then
    error(("edit: %s ended with code %d; nothing was run"):format(editor, code),
      0)
  end
  if not text:find "%S" then return end
  if n then
    local typed <const> = text:gsub("%s+$", "")
    session:execute(typed, session:record(typed))
  else
    session:execute(text, "@" .. path)
  end
end

-- -- help --------------------------------------------------------------------

-- What a name stands for, without running code of the user's.
local function value_named(name)
  local value = _G
  for _, word in ipairs(lex.words(name)) do
    if word.kind == "name" then
      if value == _G then
        value = rawget(_G, word.text)
      else
        value = names.field(value, word.text)
      end
      if value == nil then return nil end
    end
  end
  return value
end

local function explain_value(session, name, value, color)
  local entry = help.entry(name)
  if type(value) == "function" or type(value) == "table" then
    entry = help.entry(value) or entry
    local text <const>, found <const> = help.text(value, {color = color})
    if found then return text end
  end
  if entry then return (help.text(entry.path, {color = color})) end
  local class <const> = type(value) == "table" and getmetatable(value)
  local text <const> = name .. " = " .. show.value(value, session:columns())
    .. "\n"
  entry = type(class) == "table" and help.entry(class)
  return entry and text .. "\n" .. help.text(entry.path, {color = color})
    or text
end

local function search(word)
  local found <const> = help.search(word)
  if #found == 0 then return "help: nothing about " .. word .. "\n" end
  local out = {}
  for i = 1, math.min(#found, 30) do
    local summary <const> = found[i].summary:gsub("%s+", " ")
    out[i] = ("%s\n    %s"):format(found[i].path, summary)
  end
  if #found > 30 then out[31] = ("... %d more"):format(#found - 30) end
  return table.concat(out, "\n") .. "\n"
end

local function explain(session, mark, name)
  local color <const> = style.has_color(io.stdout)
  if name == "" then
    write((help.text()))
  elseif mark == "??" then
    write(search(name))
  else
    local value <const> = value_named(name)
    if value ~= nil then
      write(explain_value(session, name, value, color))
    else
      write((help.text(name, {color = color})))
    end
  end
end

-- -- finding and running -----------------------------------------------------

--- Returns the command that a text is, or nil for Lua.
function magic.find(text)
  local mark, name = text:match "^%s*(%?+)%s*(.-)%s*$"
  if not mark then
    name, mark = text:match "^%s*([%a_][%w_.:]*)(%?+)%s*$"
  end
  if mark then
    return {run = function(session) explain(session, mark, name) end}
  end
  name = text:match "^%s*%%%s*(%a*)"
  if not name then return nil end
  return commands[name] or {run = function()
    error(("%%%s: there is no such command; known: %%%s"):format(name,
      check.names(magic.known()):gsub(", ", ", %%")), 0)
  end}
end

--- The names of the commands, as keys.
function magic.known()
  local found = {}
  for _, command in ipairs(commands) do found[command.name] = true end
  return found
end

--- Runs a command that `find` returned.
function magic.run(session, command, text)
  local rest <const> = text:match "^%s*%%%s*%a*%s*(.-)%s*$" or ""
  command.run(session, rest, command.usage)
end

return magic
