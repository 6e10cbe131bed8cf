--- Batches of a dataset, epoch after epoch.

local heed = require "heed"
local check = require "heed.check"
local collate = require "heed.data.collate"
local dataset = require "heed.data.dataset"
local hex = require "heed.hex"
local plan = require "heed.data.plan"

local DataLoader = {}
DataLoader.__index = DataLoader
DataLoader.__name = "DataLoader"

-- -- making one --------------------------------------------------------------

-- The lengths as a list of integers, one for each of n items.
local function read_lengths(lengths, n)
  if check.is_tensor(lengths) then lengths = lengths:totable() end
  local m <const>, fault = check.list(lengths, "number")
  if fault then check.fail("DataLoader: lengths%s", fault) end
  if m ~= n then
    check.fail("DataLoader: lengths must have a number for each of %d items, "
      .. "got %d", n, m)
  end
  local list = {}
  for i = 1, n do
    list[i] = check.integer("DataLoader", ("lengths[%d]"):format(i),
      lengths[i], 0)
  end
  return list
end

local function check_tokens(o)
  if not o.lengths then
    check.fail("DataLoader: max_tokens needs lengths, those of the items")
  end
  if o.drop_last then
    check.fail("DataLoader: drop_last needs batches of one size, which "
      .. "max_tokens does not give")
  end
  check.integer("DataLoader", "max_tokens", o.max_tokens, 1)
  for i, length in ipairs(o.lengths) do
    if length > o.max_tokens then
      check.fail("DataLoader: lengths[%d] is %d, more than max_tokens, %d", i,
        length, o.max_tokens)
    end
  end
end

local function collate_of(o)
  if o.collate ~= nil and o.pad ~= nil then
    check.fail("DataLoader: give either collate or pad")
  end
  if o.collate ~= nil then
    return check.callable("DataLoader", "collate", o.collate)
  end
  if o.pad ~= nil then
    if type(o.pad) ~= "number" and type(o.pad) ~= "table" then
      check.fail("DataLoader: pad must be a number, or numbers by field, got "
        .. "%s", check.show(o.pad))
    end
    return collate.padded(o.pad)
  end
  return collate.collate
end

-- A function that makes a batch from numbers of items at once, if there is one.
local function gather_of(set, o)
  if o.collate ~= nil then return nil end
  if o.pad == nil then
    return set.gather and function(rows) return set:gather(rows) end
  end
  return type(o.pad) == "number" and set.batch and function(rows)
    local padded <const>, lengths <const> = set:batch(rows, {pad = o.pad})
    return {padded, valid_lens = {lengths}}
  end
end

--- Returns a loader of the batches of a dataset.
--
-- With the same seed, `shuffle` gives PyTorch's order: numbers from the default
-- generator, or from `generator`. With `lengths`, the items of a batch are of
-- about one length, so that little is padding: they are shuffled, sorted in
-- pools of 100 batches, cut, and the batches shuffled (without `shuffle`, all
-- go by rising length).
-- @function DataLoader
-- @param set a dataset, or a list of items
-- @tparam[opt] table options `batch_size` (1; none with max_tokens); `shuffle`
-- (false); `drop_last` (false): leave out a last, smaller batch; `generator`
-- (the default one); `lengths` of the items, a list or an int64 tensor;
-- `max_tokens`: the most that a batch may hold, padding included; `pad`: fill
-- up sequences, see `padded`; `collate`: a function from the list of the items
-- of a batch to the batch (default `data.collate`)
-- @treturn DataLoader
-- @usage
-- local loader = heed.data.DataLoader({1, 2, 3}, {batch_size = 2})
-- local sum = 0
-- for batch in loader:batches() do sum = sum + batch:sum():item() end
-- return #loader, sum --> 2, 6
local function new(_, set, options)
  local o <const> = check.types("DataLoader", options, {
    batch_size = "number", shuffle = "boolean", drop_last = "boolean",
    generator = "userdata", lengths = "any", max_tokens = "number",
    pad = "any", collate = "any",
  })
  if o.generator ~= nil and not check.is_generator(o.generator) then
    check.fail("DataLoader: generator must be a heed.Generator, got %s",
      check.show(o.generator))
  end
  if type(set) == "table" and getmetatable(set) == nil then
    set = dataset.Dataset(set)
  end
  if not dataset.Dataset.is(set) then
    check.fail("DataLoader: set must be a dataset or a list, got %s",
      check.show(set))
  end
  local spec <const> = {
    n = #set, batch_size = o.batch_size, max_tokens = o.max_tokens,
    shuffle = o.shuffle or false, drop_last = o.drop_last or false,
    lengths = o.lengths ~= nil and read_lengths(o.lengths, #set) or nil,
  }
  if spec.max_tokens then check_tokens(spec) end
  if not spec.batch_size and not spec.max_tokens then spec.batch_size = 1 end
  if spec.batch_size then
    spec.batch_size = check.integer("DataLoader", "batch_size",
      spec.batch_size, 1)
  end
  return setmetatable({
    set = set, spec = spec, generator = o.generator, collate = collate_of(o),
    gather = gather_of(set, o),
    epoch = 0, -- the number of epochs that were begun
  }, DataLoader)
end

-- -- batches -----------------------------------------------------------------

local function state_of(generator)
  if generator then return generator:get_state() end
  return heed.get_generator_state()
end

-- Begins an epoch, or goes on with one that a state was taken in.
local function begin(self)
  local resumed <const> = self.resumed
  self.resumed = nil
  if resumed then
    self.current = resumed
  else
    local start <const> = state_of(self.generator)
    self.epoch = self.epoch + 1
    self.current = {
      start = start, position = 0,
      rows = plan.epoch(self.spec, self.generator, self.generator ~= nil),
    }
  end
  return self.current
end

--- Returns an iterator over the batches of the next epoch, as lists of the
-- numbers of items. After `load_state_dict`, over the rest of the epoch that
-- the state was taken in.
-- @usage
-- local loader = heed.data.DataLoader({"a", "b", "c"}, {batch_size = 2})
-- local next_rows = loader:rows(); next_rows() --> 1, 2
function DataLoader:rows()
  local walk <const> = begin(self)
  return function()
    if walk.position == #walk.rows then
      walk.done = true
      return nil
    end
    walk.position = walk.position + 1
    return walk.rows[walk.position]
  end
end

--- Returns an iterator over the batches of the next epoch. After
-- `load_state_dict`, over the rest of the epoch that the state was taken in.
-- @raise when the items of a batch do not fit together
-- @usage
-- local loader = heed.data.DataLoader({5, 6, 7}, {batch_size = 2})
-- local next_batch = loader:batches(); next_batch() --> 5, 6
function DataLoader:batches()
  local next_rows <const> = self:rows()
  return function()
    local rows <const> = next_rows()
    if not rows then return nil end
    if self.gather then return self.gather(rows) end
    local items = {}
    for k, row in ipairs(rows) do items[k] = self.set:get(row) end
    local batch <const> = self.collate(items)
    if batch == nil then
      check.fail("DataLoader: collate must return a batch, got nil")
    end
    return batch
  end
end

-- `for batch in loader` has no place to keep where it is.
function DataLoader.__call()
  check.fail("DataLoader: its batches come from `for batch in " ..
    "loader:batches()`")
end

--- The number of batches of an epoch. With `max_tokens` and `shuffle` it
-- differs: then it is that of the epoch that was begun last.
function DataLoader:__len()
  local o <const> = self.spec
  if not o.max_tokens then
    local n <const> = o.n // o.batch_size
    return (o.drop_last or n * o.batch_size == o.n) and n or n + 1
  end
  local walk <const> = self.resumed or self.current
  if walk then return #walk.rows end
  if o.shuffle then
    check.fail("DataLoader: with max_tokens and shuffle, the number of batches "
      .. "is known when an epoch has begun")
  end
  return #plan.epoch(o)
end

function DataLoader:__tostring()
  local o <const> = self.spec
  return ("DataLoader(%d items%s%s%s)"):format(o.n,
    o.batch_size and (", %d a batch"):format(o.batch_size) or "",
    o.max_tokens and (", %d tokens a batch"):format(o.max_tokens) or "",
    o.shuffle and ", shuffled" or "")
end

-- -- states ------------------------------------------------------------------

-- What a state says about the loader that it is of.
local SAME <const> = {"items", "batch_size", "max_tokens", "shuffle",
  "drop_last", "by_length"}

local function nature(o)
  return {
    items = o.n, batch_size = o.batch_size, max_tokens = o.max_tokens,
    shuffle = o.shuffle, drop_last = o.drop_last,
    by_length = o.lengths ~= nil,
  }
end

--- Returns where the loader is, as a plain table that is fit for JSON: the
-- epoch, the batches of it that were given out, and the generator it draws from
-- (its own, or the default one).
-- @usage
-- local loader = heed.data.DataLoader({1, 2, 3}, {shuffle = true})
-- loader:batches()()
-- return loader:state_dict().position --> 1
function DataLoader:state_dict()
  local state = nature(self.spec)
  state.epoch = self.epoch
  state.generator = hex.encode(state_of(self.generator))
  local walk <const> = self.resumed or self.current
  if walk and not walk.done then
    state.position = walk.position
    state.start = hex.encode(walk.start)
  end
  return state
end

local function load_fail(format, ...)
  check.fail("DataLoader.load_state_dict: " .. format, ...)
end

local STATE <const> = {
  items = "number", batch_size = "number|nil", max_tokens = "number|nil",
  shuffle = "boolean", drop_last = "boolean", by_length = "boolean",
  epoch = "number", generator = "string", position = "number|nil",
  start = "string|nil",
}

local function check_state(self, state)
  check.kind("DataLoader.load_state_dict", "state", state, "table")
  for key, kinds in pairs(STATE) do
    local kind <const> = type(state[key])
    if not ("|" .. kinds .. "|"):find("|" .. kind .. "|", 1, true) then
      load_fail("state.%s must be a %s, got %s", key,
        kinds:match("^%a+"), check.show(state[key]))
    end
  end
  local own <const> = nature(self.spec)
  for _, key in ipairs(SAME) do
    if own[key] ~= state[key] then
      load_fail("the state is of a loader with %s = %s, this one has %s", key,
        check.show(state[key]), check.show(own[key]))
    end
  end
  check.integer("DataLoader.load_state_dict", "state.epoch", state.epoch, 0)
  if (state.position == nil) ~= (state.start == nil) then
    load_fail("state.position and state.start belong together")
  end
end

-- A generator in the state that hexadecimal digits give.
local function generator_of(name, digits)
  local g <const>, bytes <const> = heed.Generator(), hex.decode(digits)
  if not bytes or not pcall(g.set_state, g, bytes) then
    load_fail("state.%s is no state of a generator of this machine", name)
  end
  return g
end

--- Sets the loader, and the generator that it draws from, to where another one
-- of the same data and options was: the next `batches()` gives exactly the rest
-- of its epoch.
-- @tparam table state as `state_dict` returns it
-- @raise when the state is damaged, or of a loader with other options
-- @usage
-- local items = {1, 2, 3, 4, 5}
-- local a = heed.data.DataLoader(items, {shuffle = true})
-- local batches = a:batches()
-- batches()
-- local b = heed.data.DataLoader(items, {shuffle = true})
-- b:load_state_dict(a:state_dict())
-- return b:batches()():equal(batches()) --> true
function DataLoader:load_state_dict(state)
  check_state(self, state)
  local now <const> = generator_of("generator", state.generator)
  local resumed
  if state.position then
    local replay <const> = generator_of("start", state.start)
    resumed = {
      start = hex.decode(state.start), position = state.position,
      rows = plan.epoch(self.spec, replay, self.generator ~= nil),
    }
    local at <const> = math.tointeger(state.position)
    if not at or at < 0 or at > #resumed.rows then
      load_fail("state.position must be 0..%d, got %s", #resumed.rows,
        check.show(state.position))
    end
    resumed.position = at
  end
  self.epoch = math.tointeger(state.epoch)
  self.resumed, self.current = resumed, nil
  if self.generator then
    self.generator:set_state(now:get_state())
  else
    heed.set_generator_state(now:get_state())
  end
end

return setmetatable(DataLoader, {__call = new})
