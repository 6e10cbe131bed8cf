--- Calling modules. The outermost call of a model catches errors and says
-- where in the model they arose; the calls inside cost next to nothing.

local hooks = require "heed.nn.hooks"
local tree = require "heed.nn.tree"

local HOOKS <const> = tree.HOOKS

local call = {}

local getinfo <const> = debug.getinfo
local running <const> = coroutine.running

-- The coroutine whose errors are being watched for.
local watched

-- Deepest stack that is looked through for an error.
local DEPTH <const> = 1000

-- Keeps the frame of its caller on the stack: no tail call of forward.
local function pass(...) return ... end

local function finish(before, ok, ...)
  watched = before
  if ok then return ... end
  error((...), 0)
end

local outermost, explain

--- The `__call` of modules: what `forward` and the hooks return.
function call.module(self, ...)
  if watched ~= running() then return outermost(self, ...) end
  if self[HOOKS] then return pass(hooks.run(self, ...)) end
  return pass(self:forward(...))
end

function outermost(self, ...)
  local before = watched
  watched = running()
  local run = self[HOOKS] and hooks.run or self.forward
  return finish(before, xpcall(run, explain, self, ...))
end

-- The modules that are being called, the innermost first, and the position
-- (`file:line: `) that the message begins with, if any.
local function look(message)
  local modules, position, inside = {}, "", true
  for level = 3, DEPTH do
    local info = getinfo(level, "Slf")
    if not info then break end
    if info.currentline > 0 then
      local at = ("%s:%d: "):format(info.short_src, info.currentline)
      if #at > #position and message:sub(1, #at) == at then position = at end
    end
    if inside and (info.func == call.module or info.func == outermost) then
      local _, module = debug.getlocal(level, 1)
      modules[#modules + 1] = module
      inside = info.func ~= outermost
    end
  end
  return modules, position
end

-- `Sequential[3].Linear` for the modules that are being called.
local function path_of(modules)
  local path = modules[#modules].__name
  for i = #modules - 1, 1, -1 do
    path = path .. tree.path(modules[i + 1], modules[i])
  end
  if #modules > 1 then path = path .. "." .. modules[1].__name end
  return path
end

-- Puts the path between the position and the text; a class whose name is the
-- op's, as Linear and linear, stands for it.
function explain(message)
  if type(message) ~= "string" then return message end
  local modules, position = look(message)
  if #modules == 0 then return message end
  local text = message:sub(#position + 1)
  local op, rest = text:match("^([%a_][%w_]*): (.*)$")
  local class = modules[1].__name
  if op and op:gsub("_", ""):lower() == class:lower() then text = rest end
  return ("%s%s: %s"):format(position, path_of(modules), text)
end

return call
