--- KeyValueCache: keys and values of earlier steps, for decoding step by step.
--
--     local cache = nn.KeyValueCache {capacity = longest}
--     for step = 1, longest do
--       local out = decoder(token, memory, {causal = true, cache = cache})
--     end
--
-- Self-attention appends its new keys and values; attention to a memory keeps
-- those of its first call. One cache serves all layers of a model.
--
-- New steps are written behind those that are there, into room that is set
-- aside. With a capacity the room is made once and nothing is ever copied;
-- without, it doubles when it is full, and all copies together are less than
-- twice what there is. Sequences of a batch may have different lengths: see
-- `trim`.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops
local NAME <const> = "KeyValueCache"

local KeyValueCache = {}
KeyValueCache.__index = KeyValueCache
KeyValueCache.__name = NAME

local OPTIONS <const> = {capacity = check.NONE, dtype = check.NONE}
local FLOATS <const> = {
  float16 = true, bfloat16 = true, float32 = true, float64 = true,
}

--- Makes an empty cache: keys and values of earlier steps, for decoding step by
-- step.
-- @function KeyValueCache
-- @tparam[opt] table options `capacity`: how many steps there is room for; by
-- default the room grows; `dtype` in which keys and values are kept, by default
-- their own: halves take half the memory, and less time to read
-- @raise for an unknown option, when capacity is no integer of at least 1, and
-- when dtype is none of floats
-- @usage local cache = nn.KeyValueCache {capacity = 256, dtype = "bfloat16"}
local function new(options)
  local o = check.options(NAME, options, OPTIONS)
  local capacity = o.capacity
  if capacity then check.integer(NAME, "capacity", capacity, 1) end
  if o.dtype and not FLOATS[o.dtype] then
    check.fail("%s: dtype must be float16, bfloat16, float32 or float64, " ..
      "got %s", NAME, check.show(o.dtype))
  end
  -- of each module: k and v [.. H room D], of which the first `length` steps
  -- count, or of sequence i the first lengths[i]; `own`: room to write to
  return setmetatable({capacity = capacity, dtype = o.dtype, entries = {}},
    KeyValueCache)
end

-- t in the dtype in which it is kept.
local function stored(self, t)
  if not self.dtype or t.dtype == self.dtype then return t end
  return ops.to(t, self.dtype)
end

-- Smallest room, in steps.
local ROOM <const> = 16

-- Writes t into room, behind its first `at` steps.
local function put(room, at, t)
  if t:size(-2) > 0 then
    ops.copy_(ops.slice(room, -2, at + 1, at + t:size(-2)), t)
  end
end

-- The first steps of t.
local function head(t, length)
  return t:narrow(-2, 1, length)
end

-- Room like t, with its first steps, for so many.
local function widen(t, length, room)
  local shape = t.shape
  shape[#shape - 1] = room
  local wide = ops.empty(shape, t.dtype)
  if length > 0 then put(wide, 0, head(t, length)) end
  return wide
end

-- Makes room for `length` steps of keys and values like k and v.
local function make_room(self, entry, k, v, length)
  if entry.own and length <= entry.k:size(-2) then return end
  local room = self.capacity or math.max(ROOM, 2 * length)
  entry.k = widen(entry.k or k, entry.length, room)
  entry.v = widen(entry.v or v, entry.length, room)
  entry.own = true
end

-- -- different lengths -------------------------------------------------------

local function longest(lengths)
  return math.max(0, table.unpack(lengths))
end

-- Writes step by step behind what each sequence has.
local function put_each(room, lengths, t)
  for i, at in ipairs(lengths) do
    put(ops.select(room, 1, i), at, ops.select(t, 1, i))
  end
end

local function append_each(self, entry, k, v)
  if core.is_grad_enabled() and (k.requires_grad or v.requires_grad) then
    check.fail("%s: sequences of different lengths take no keys and values " ..
      "that want gradients", NAME)
  end
  local t <const>, lengths <const> = k:size(-2), entry.lengths
  make_room(self, entry, k, v, entry.length + t)
  put_each(entry.k, lengths, k)
  put_each(entry.v, lengths, v)
  for i, n in ipairs(lengths) do lengths[i] = n + t end
  entry.length = entry.length + t
  return head(entry.k, entry.length), head(entry.v, entry.length),
    core.tensor(lengths, {dtype = "int64"})
end

-- -- appending ---------------------------------------------------------------

-- k and v must go on from what the entry has: [.. H t D] with the same sizes.
local function check_like(name, t, kept)
  local a <const>, b <const> = t.shape, kept.shape
  local same = #a == #b and t.dtype == kept.dtype
  for i = 1, #a do
    if i ~= #a - 1 and a[i] ~= b[i] then same = false end
  end
  if not same then
    b[#b - 1] = "t"
    check.fail("%s: %s must be %s %s like those before, got %s %s", NAME, name,
      kept.dtype, check.shape(b), t.dtype, check.shape(a))
  end
end

local function check_capacity(self, before, t)
  if self.capacity and before + t > self.capacity then
    check.fail("%s: a capacity of %d has no room for %d more steps behind %d",
      NAME, self.capacity, t, before)
  end
end

--- Adds keys and values behind those that a module has.
-- @param module the module whose they are
-- @param k tensor [.. H t D]
-- @param v tensor [.. H t Dv]
-- @return all keys [.. H T D], a view of the room: it shows what is there until
-- `reorder`, `trim` or growth
-- @return all values [.. H T Dv]
-- @return where sequences differ in length, their lengths, int64 [B]: what
-- attention needs as `valid_lens`, with `align = "valid"`
-- @raise when k and v differ in steps, when sizes or dtype are not those of the
-- steps before, or there is no room for so many
-- @usage
-- local cache, layer = nn.KeyValueCache(), nn.Module() -- any key will do
-- cache:append(layer, heed.ones(1, 2, 3, 4), heed.ones(1, 2, 3, 4))
-- local new = heed.ones(1, 2, 1, 4)
-- local k, v = cache:append(layer, new, new)
-- return k --> shape (1, 2, 4, 4)
function KeyValueCache:append(module, k, v)
  k, v = stored(self, k), stored(self, v)
  if k:size(-2) ~= v:size(-2) then
    check.fail("%s: k %s and v %s must have as many steps", NAME,
      check.shape(k.shape), check.shape(v.shape))
  end
  local entry = self.entries[module] or {length = 0}
  if entry.k then
    check_like("k", k, entry.k)
    check_like("v", v, entry.v)
  end
  local before <const> = entry.length
  local length <const> = before + k:size(-2)
  check_capacity(self, before, k:size(-2))
  self.entries[module] = entry
  if entry.lengths then return append_each(self, entry, k, v) end
  if core.is_grad_enabled() and (k.requires_grad or v.requires_grad) then
    -- what wants gradients cannot be overwritten
    if before > 0 then
      k = ops.cat({head(entry.k, before), k}, -2)
      v = ops.cat({head(entry.v, before), v}, -2)
    end
    entry.k, entry.v, entry.length, entry.own = k, v, length, false
    return k, v
  end
  make_room(self, entry, k, v, length)
  put(entry.k, before, k)
  put(entry.v, before, v)
  entry.length = length
  return head(entry.k, length), head(entry.v, length)
end

--- Keeps keys and values that do not grow.
-- @param module the module whose they are
-- @param k tensor [.. H T D]
-- @param v tensor [.. H T Dv]
-- @usage
-- local cache, layer = nn.KeyValueCache(), nn.Module()
-- cache:keep(layer, heed.ones(1, 2, 6, 4), heed.ones(1, 2, 6, 4))
function KeyValueCache:keep(module, k, v)
  k, v = stored(self, k), stored(self, v)
  self.entries[module] = {k = k, v = v, length = k:size(-2), kept = true}
end

--- The keys and values that `keep` has for a module, or nil.
-- @param module the module whose they are
-- @return tensor [.. H T D], or nil
-- @return tensor [.. H T Dv]
-- @usage
-- local cache, layer = nn.KeyValueCache(), nn.Module()
-- cache:keep(layer, heed.ones(1, 2, 6, 4), heed.ones(1, 2, 6, 4))
-- local k, v = cache:kept(layer)
-- return v --> shape (1, 2, 6, 4)
function KeyValueCache:kept(module)
  local entry = self.entries[module]
  if entry then return entry.k, entry.v end
end

-- -- the cache as a whole ----------------------------------------------------

--- How many steps there are so far, of the longest sequence: the position
-- before the next one.
-- @treturn integer
-- @usage
-- local cache, layer = nn.KeyValueCache(), nn.MultiHeadAttention(8, 2)
-- heed.no_grad(layer, heed.randn(1, 5, 8), {cache = cache})
-- return cache:length() --> 5
function KeyValueCache:length()
  local length = 0
  for _, entry in pairs(self.entries) do
    if not entry.kept then length = math.max(length, entry.length) end
  end
  return length
end

--- How many steps each sequence has, where `trim` made them different.
-- @return int64 tensor [B], or nil where all have `length()`
-- @usage local cache = nn.KeyValueCache()
-- local at = cache:lengths() or cache:length()
function KeyValueCache:lengths()
  for _, entry in pairs(self.entries) do
    if entry.lengths then
      return core.tensor(entry.lengths, {dtype = "int64"})
    end
  end
end

--- How many steps a module has so far: what comes before its next one.
-- @param module the module whose they are
-- @return integer, or where `trim` made sequences different, int64 tensor [B]
-- @usage
-- local cache, layer = nn.KeyValueCache(), nn.MultiHeadAttention(8, 2)
-- heed.no_grad(layer, heed.randn(1, 5, 8), {cache = cache})
-- return cache:before(layer), cache:before(nn.Module()) --> 5 0
function KeyValueCache:before(module)
  local entry = self.entries[module]
  if not entry then return 0 end
  return entry.lengths and core.tensor(entry.lengths, {dtype = "int64"}) or
    entry.length
end

-- What `trim` leaves of each sequence of an entry.
local function read_lengths(entry, lengths)
  local count <const> = entry.k.ndim == 4 and entry.k:size(1) or 1
  local list <const> = {}
  for i = 1, type(lengths) == "table" and #lengths or count do
    list[i] = type(lengths) == "table" and lengths[i] or lengths
  end
  if #list ~= count then
    check.fail("trim: lengths must be an integer, or %d, one a sequence of " ..
      "keys %s, got %d", count, check.shape(head(entry.k, entry.length).shape),
      #list)
  end
  for i, n in ipairs(list) do
    local most <const> = entry.lengths and entry.lengths[i] or entry.length
    if math.type(n) ~= "integer" or n < 0 or n > most then
      check.fail("trim: length %d must be an integer from 0 to %d, got %s", i,
        most, check.show(n))
    end
  end
  return list
end

-- Sets the lengths of an entry, one where all are the same.
local function set_lengths(entry, lengths)
  local same = true
  for _, n in ipairs(lengths) do same = same and n == lengths[1] end
  entry.lengths = not same and lengths or nil
  entry.length = longest(lengths)
end

--- Forgets the last steps: those of padding behind shorter sequences, of which
-- each then goes on from its own end, or those that were only tried.
-- @param lengths how many steps stay: an integer, or a list or int64 tensor [B]
-- with one for each sequence
-- @raise when a length is more than there is
-- @usage
-- local cache = nn.KeyValueCache()
-- local layer = nn.MultiHeadAttention(8, 2)
-- heed.no_grad(function()
--   layer(heed.randn(2, 5, 8), {causal = true, cache = cache})
--   cache:trim {5, 3} -- the second sequence has 3 steps, then padding
--   layer(heed.randn(2, 1, 8), {causal = true, cache = cache})
-- end)
-- return cache:lengths() --> 6 4
function KeyValueCache:trim(lengths)
  if check.is_tensor(lengths) then
    lengths = lengths.ndim == 0 and lengths:item() or lengths:totable()
  end
  for _, entry in pairs(self.entries) do
    if not entry.kept then set_lengths(entry, read_lengths(entry, lengths)) end
  end
end

-- Sequences of a room [B H room D] that are picked: written over those that
-- are there, or to a new room when they are more.
local function pick(entry, name, index, n)
  local room <const> = entry[name]
  local picked <const> = ops.index_select(head(room, entry.length), index)
  if n > room:size(1) then
    entry[name] = widen(picked, entry.length, room:size(-2))
  else
    entry[name] = room:narrow(1, 1, n)
    put(entry[name], 0, picked)
  end
end

--- Picks sequences of the batch, in any order and number: what beam search
-- goes on with.
-- @param index int64 tensor: positions along the first dimension
-- @usage
-- local cache, layer = nn.KeyValueCache(), nn.MultiHeadAttention(8, 2)
-- heed.no_grad(function() layer(heed.randn(2, 5, 8), {cache = cache}) end)
-- cache:reorder(heed.tensor {2, 2, 1}) -- 3 sequences from here on
function KeyValueCache:reorder(index)
  check.tensor("reorder", "index", index)
  local n <const> = index:size(1)
  for _, entry in pairs(self.entries) do
    if entry.own then
      pick(entry, "k", index, n)
      pick(entry, "v", index, n)
    else
      entry.k = ops.index_select(entry.k, index)
      entry.v = ops.index_select(entry.v, index)
    end
    if entry.lengths then
      local lengths <const> = {}
      for i, from in ipairs(index:totable()) do
        lengths[i] = entry.lengths[from]
      end
      set_lengths(entry, lengths)
    end
  end
end

return new
