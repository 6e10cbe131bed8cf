--- KeyValueCache: keys and values of earlier steps, for decoding step by step.
--
--     local cache = nn.KeyValueCache()
--     for step = 1, longest do
--       local out = decoder(token, memory, {causal = true, cache = cache})
--     end
--
-- Self-attention appends its new keys and values; attention to a memory keeps
-- those of its first call. One cache serves all layers of a model.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local KeyValueCache = {}
KeyValueCache.__index = KeyValueCache
KeyValueCache.__name = "KeyValueCache"

--- Makes an empty cache.
-- @function KeyValueCache
local function new()
  -- of each module: k and v [.. H room D], of which the first `length` count
  return setmetatable({entries = {}}, KeyValueCache)
end

-- Smallest room, in steps.
local ROOM <const> = 16

-- A tensor like t with room for more steps, t in front.
local function widen(t, length, room)
  local shape = t.shape
  shape[#shape - 1] = room
  local wide = ops.zeros(shape, t.dtype)
  if length > 0 then
    ops.copy_(ops.slice(wide, -2, 1, length), ops.slice(t, -2, 1, length))
  end
  return wide
end

-- Writes t behind the first `length` steps of room.
local function put(room, length, t)
  ops.copy_(ops.slice(room, -2, length + 1, length + t:size(-2)), t)
end

--- Adds keys and values behind those that a module has.
-- @param module whose they are
-- @param k tensor [.. H t D]
-- @param v tensor [.. H t Dv]
-- @return all keys [.. H T D]
-- @return all values [.. H T Dv]
function KeyValueCache:append(module, k, v)
  local entry = self.entries[module]
  if not entry then
    entry = {k = k, v = v, length = 0}
    self.entries[module] = entry
  end
  local before, length = entry.length, entry.length + k:size(-2)
  if core.is_grad_enabled() and (k.requires_grad or v.requires_grad) then
    -- what wants gradients cannot be overwritten
    if before > 0 then
      k = ops.cat({ops.slice(entry.k, -2, 1, before), k}, -2)
      v = ops.cat({ops.slice(entry.v, -2, 1, before), v}, -2)
    end
    entry.k, entry.v, entry.length = k, v, length
    return k, v
  end
  if before == 0 or length > entry.k:size(-2) then
    local room = math.max(ROOM, 2 * length)
    entry.k = widen(before == 0 and k or entry.k, before, room)
    entry.v = widen(before == 0 and v or entry.v, before, room)
  end
  put(entry.k, before, k)
  put(entry.v, before, v)
  entry.length = length
  return ops.slice(entry.k, -2, 1, length), ops.slice(entry.v, -2, 1, length)
end

--- Keeps keys and values that do not grow.
-- @param module whose they are
-- @param k tensor [.. H T D]
-- @param v tensor [.. H T Dv]
function KeyValueCache:keep(module, k, v)
  self.entries[module] = {k = k, v = v, length = k:size(-2), kept = true}
end

--- The keys and values that `keep` has for a module, or nil.
function KeyValueCache:kept(module)
  local entry = self.entries[module]
  if entry then return entry.k, entry.v end
end

--- How many steps there are so far: the position before the next one.
-- @treturn integer
function KeyValueCache:length()
  local length = 0
  for _, entry in pairs(self.entries) do
    if not entry.kept then length = math.max(length, entry.length) end
  end
  return length
end

--- Picks sequences of the batch, in any order and number: what beam search
-- goes on with.
-- @param index int64 tensor: positions along the first dimension
-- @usage cache:reorder(heed.tensor {2, 2, 1})
function KeyValueCache:reorder(index)
  check.tensor("reorder", "index", index)
  for _, entry in pairs(self.entries) do
    entry.k = ops.index_select(entry.k, index)
    entry.v = ops.index_select(entry.v, index)
  end
end

return new
