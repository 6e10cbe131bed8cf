--- The prompt of the program: reads Lua from the user, runs it and shows what
-- it gives. `src/host/repl.c` calls `run` with what plain Lua cannot do.
--
-- Read in this order: chunk (what is typed becomes a function), show (values),
-- trace (errors), complete and names (the Tab key), magic (`%time` and the
-- like), history.

local chunk = require "heed.repl.chunk"
local complete = require "heed.repl.complete"
local history = require "heed.repl.history"
local magic = require "heed.repl.magic"
local show = require "heed.repl.show"
local style = require "heed.repl.style"
local trace = require "heed.repl.trace"

local Session = {}
Session.__index = Session

-- The prompts are those of lua5.4: _PROMPT and _PROMPT2, if they are strings,
-- replace ours.
local function prompt(global, own)
  local text <const> = rawget(_G, global)
  return type(text) == "string" and text or own
end

--- How many columns a line may have.
function Session:columns()
  return self.host.columns() or 80
end

--- Writes to standard error in the colours that it has.
function Session:complain(text) -- luacheck: ignore self
  io.stdout:flush()
  io.stderr:write(text)
  io.stderr:flush()
end

--- Calls a function that Ctrl-C can stop; shows the error if it fails.
-- @treturn boolean whether it went well
-- @return what the function gave
function Session:call(f, ...)
  local results <const> = table.pack(self.host.call(f, trace.handler, ...))
  if not results[1] then
    self:complain(trace.text(results[2], self.sources, self:columns(),
      self.paint))
  end
  return table.unpack(results, 1, results.n)
end

--- Shows the values of an expression; the first one is `_` from then on.
function Session:show(values)
  if values.n == 0 then return end
  if values[1] ~= nil then rawset(_G, "_", values[1]) end
  self:call(function()
    io.stdout:write(show.values(values, self:columns()), "\n")
  end)
end

--- Compiles and runs a text, and shows what it gives.
-- @tparam string text
-- @tparam string name of the chunk, as `load` takes it
function Session:execute(text, name)
  local f, message = chunk.compile(text, name)
  if not f then
    self:complain(trace.syntax(message, text, (name:gsub("^[=@]", "")),
      self:columns(), self.paint))
    return
  end
  local results <const> = table.pack(self:call(f, chunk.keep))
  if results[1] then
    self:show(table.pack(table.unpack(results, 2, results.n)))
  end
end

--- Takes a text as if it had been typed: it gets a number, and the keys bring
-- it back.
-- @treturn string the name of its chunk
function Session:record(text)
  local n <const> = #self.inputs + 1
  self.inputs[n] = text
  self.sources[("[%d]"):format(n)] = text
  self.host.remember(text)
  if self.history and not history.add(self.host, self.history, text) then
    self:complain(("history: %s cannot be written; what is typed is kept for "
      .. "this session only\n"):format(self.history))
    self.history = nil
  end
  return ("=[%d]"):format(n)
end

-- Reads one more line of a text, as long as `is_unfinished` says so. Returns
-- nil at a Ctrl-C.
function Session:read_on(text, is_unfinished)
  while is_unfinished(text) do
    self.pending = text .. "\n"
    local line, why = self.host.read(prompt("_PROMPT2", "   >> "))
    self.pending = nil
    if why == "stop" then return nil end
    if not line then break end -- the end of input: show what is missing
    text = text .. "\n" .. line
  end
  return text
end

local function is_unfinished(text)
  local f, _, unfinished = chunk.compile(text, "=")
  return not f and unfinished
end

--- Reads and runs one text. False at the end of input.
function Session:serve()
  local text, why = self.host.read(prompt("_PROMPT", "heed> "))
  if not text then return why ~= "end" end
  if not text:find "%S" then return true end
  local word <const> = text:match "^%s*(%a+)%s*$" or
    text:match "^%s*(%a+)%s*%(%s*%)%s*$"
  if (word == "exit" or word == "quit") and rawget(_G, word) == nil then
    return false
  end
  local command <const> = magic.find(text)
  if command then
    text = self:read_on(text, function(all)
      local code <const> = command.takes_code and all:match "^%s*%%%a+%s+(.+)$"
      return code and is_unfinished(code)
    end)
    if text then
      self:record(text)
      self:call(magic.run, self, command, text)
    end
    return true
  end
  text = self:read_on(text, is_unfinished)
  if text then self:execute(text, self:record(text)) end
  return true
end

local repl = {}

--- Returns a session for a host; see `src/host/repl.c` for what that is.
function repl.new(host)
  return setmetatable({
    host = host, inputs = {}, sources = {}, commands = magic.known(),
    history = host.terminal and host.environment and history.path() or nil,
    paint = style.painter(style.has_color(io.stderr)),
  }, Session)
end

--- Serves the user until the end of input, with `heed` in a global unless a
-- script has made another use of the name.
function repl.run(host)
  local session <const> = repl.new(host)
  if rawget(_G, "heed") == nil then
    session:call(function() rawset(_G, "heed", require "heed") end)
  end
  if rawget(_G, "help") == nil then
    rawset(_G, "help", require "heed.help")
  end
  if host.terminal then
    io.stdout:write("?name explains, %help lists commands\n")
    host.complete(function(before) return complete.line(before, session) end)
  end
  if session.history then
    for _, text in ipairs(history.load(session.history)) do
      host.remember(text)
    end
  end
  while session:serve() do end
end

return repl
