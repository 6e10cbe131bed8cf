-- screen.lua - a program in a terminal of tmux: keys are typed and pasted, and
-- the screen is read as a person sees it.

local command = require "spec.host.command"

local Screen = {}
Screen.__index = Screen

-- There may be no tmux, or no terminal to be had.
local has_tmux = command.shell("socket=$(mktemp -u) && env -u TMUX tmux -S "
  .. "\"$socket\" -f /dev/null new-session -d true; code=$?; "
  .. "rm -f \"$socket\"; exit $code") == 0

-- Runs tmux and returns what it prints.
local function tmux(self, arguments)
  local code, out, err = command.shell("env -u TMUX LC_ALL=C.UTF-8 tmux -S "
    .. self.socket .. " -f /dev/null " .. arguments)
  if code ~= 0 then error("tmux " .. arguments .. ": " .. err) end
  return out
end

--- Starts heed in a terminal.
-- @param options columns (80), rows (40), environment (NAME=value ...),
--   arguments; and home, the folder that is HOME
local function open(options)
  local o = options or {}
  local self = setmetatable({socket = os.tmpname()}, Screen)
  os.remove(self.socket)
  self.home = o.home or os.tmpname()
  if not o.home then
    os.remove(self.home)
    command.shell("mkdir " .. self.home)
    self.owns_home = true
  end
  -- the variables of whoever runs the specs are not those of the program
  local line = ("env -u XDG_STATE_HOME -u HEED_HISTORY -u NO_COLOR "
    .. "-u LUA_INIT HOME=%s LC_ALL=C.UTF-8 %s %s %s"):format(self.home,
    o.environment or "", command.quote(command.program), o.arguments or "")
  tmux(self, ("new-session -d -x %d -y %d %s \\; set remain-on-exit on")
    :format(o.columns or 80, o.rows or 40, command.quote(line)))
  return self
end

--- Presses keys by the names that tmux has for them: Enter, Tab, C-c.
function Screen:press(...)
  for _, key in ipairs {...} do tmux(self, "send-keys " .. key) end
  return self
end

--- Types a text.
function Screen:type(text)
  tmux(self, "send-keys -l " .. command.quote(text))
  return self
end

--- Types a line and Enter.
function Screen:enter(text)
  return self:type(text):press("Enter")
end

--- Pastes a text, as the mouse would.
function Screen:paste(text)
  local name = command.file(text)
  tmux(self, ("load-buffer %s \\; paste-buffer -p -r"):format(name))
  os.remove(name)
  return self
end

--- What the screen shows, without blank lines at its end.
function Screen:text(with_colours)
  local out = tmux(self, "capture-pane -p" .. (with_colours and " -e" or ""))
  return (out:gsub("%s+$", ""))
end

--- Waits until the screen shows the text; returns what it shows.
function Screen:await(text)
  local shown
  for _ = 1, 100 do
    shown = self:text()
    if shown:find(text, 1, true) then return shown end
    os.execute("sleep 0.05")
  end
  error("the screen does not show: " .. text .. "\nbut:\n" .. shown, 2)
end

--- Waits until the last line is the text.
function Screen:await_last(text)
  local shown
  for _ = 1, 100 do
    shown = self:text()
    if shown:match "[^\n]*$" == text then return shown end
    os.execute("sleep 0.05")
  end
  error("the screen does not end with: " .. text .. "\nbut:\n" .. shown, 2)
end

--- The column of the cursor, from 0.
function Screen:column()
  return tonumber((tmux(self, "display-message -p '#{cursor_x}'")))
end

--- Ends all.
function Screen:close()
  pcall(tmux, self, "kill-server")
  os.remove(self.socket)
  if self.owns_home then command.shell("rm -rf " .. self.home) end
end

return {open = open, has_tmux = has_tmux}
