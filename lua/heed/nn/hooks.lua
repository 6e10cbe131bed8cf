--- Functions that run before and after the forward of a module. For module.lua
-- and call.lua.
--
-- The lists of a module are never changed, but replaced: a hook may add and
-- remove hooks while they run.

local tree = require "heed.nn.tree"

local HOOKS <const> = tree.HOOKS
local pack <const>, unpack <const> = table.pack, table.unpack

local hooks = {}

local Handle = {}
Handle.__index = Handle
Handle.__name = "heed.hook"

-- The list without the handle; a new one.
local function without(list, handle)
  local rest = {}
  for _, other in ipairs(list) do
    if other ~= handle then rest[#rest + 1] = other end
  end
  return rest
end

--- Ends the hook; a second call does nothing.
-- @usage
-- local layer, seen = nn.Linear(2, 2), 0
-- local handle = layer:register_forward_hook(function() seen = seen + 1 end)
-- layer(heed.ones(2))
-- handle:remove()
-- layer(heed.ones(2))
-- return seen --> 1
function Handle:remove()
  local module = self.module
  if not module then return end
  local kept = module[HOOKS]
  kept[self.time] = without(kept[self.time], self)
  if #kept.before + #kept.after == 0 then module[HOOKS] = false end
  self.module = nil
end

--- Adds a function to those of a module.
-- @param module
-- @tparam string time `"before"` or `"after"` its forward
-- @tparam function f
-- @return handle; `handle:remove()` ends it
function hooks.add(module, time, f)
  local handle = setmetatable({module = module, time = time, f = f}, Handle)
  local kept = module[HOOKS] or {before = {}, after = {}}
  local list = {unpack(kept[time])}
  list[#list + 1] = handle
  kept[time] = list
  module[HOOKS] = kept
  return handle
end

--- What forward returns, with the hooks around it.
function hooks.run(module, ...)
  local args = pack(...)
  for _, handle in ipairs(module[HOOKS].before) do
    local new = pack(handle.f(module, unpack(args, 1, args.n)))
    if new[1] ~= nil then args = new end
  end
  local results = pack(module:forward(unpack(args, 1, args.n)))
  -- the hooks themselves may have taken the last one away
  local after = module[HOOKS] and module[HOOKS].after or {}
  for _, handle in ipairs(after) do
    local new = pack(handle.f(module, args, unpack(results, 1, results.n)))
    if new[1] ~= nil then results = new end
  end
  return unpack(results, 1, results.n)
end

return hooks
