--- Datasets: numbered items, made when they are asked for.
--
-- An item may be anything: a tensor, a number, a string, a list of token ids, a
-- table of such fields. Items are numbered from 1; `set[i]` is `set:get(i)`.

local heed = require "heed"
local check = require "heed.check"

-- `length` items, of which `self:fetch(i)` returns number i and, where there is
-- such a field, `self:gather(rows)` a batch of several, collated.
local Dataset = {}
Dataset.__name = "Dataset"

-- Lets the instances of a class answer to integers, too.
local function index_by_number(class)
  function class.__index(self, key)
    if math.type(key) == "integer" then return self:get(key) end
    return class[key]
  end
end

-- Makes a class one of datasets; `class.new` makes them.
local function extend(class)
  index_by_number(class)
  class.__len = Dataset.__len
  return setmetatable(class, {__index = Dataset, __call = class.new})
end

local function make(length, fetch, gather)
  return setmetatable({length = length, fetch = fetch, gather = gather},
    Dataset)
end

function Dataset:__len() return self.length end

function Dataset:__tostring()
  return ("%s(%d items)"):format(Dataset.__name, #self)
end

--- Returns a dataset of the items of a list, or of those that a function
-- returns.
-- @function Dataset
-- @param source a list, or the number of items
-- @tparam[opt] function get with a number: returns item i, from 1
-- @treturn Dataset
-- @usage
-- local squares = heed.data.Dataset(5, function(i) return i * i end)
-- return squares[3], #squares --> 9, 5
function Dataset.new(_, source, get)
  if type(source) == "table" and get == nil then
    local items <const> = table.move(source, 1, #source, 1, {})
    return make(#items, function(_, i) return items[i] end)
  end
  if type(source) ~= "number" then
    check.fail("Dataset: source must be a list or a number of items, got %s",
      check.show(source))
  end
  local n <const> = check.integer("Dataset", "source", source, 0)
  check.callable("Dataset", "get", get)
  return make(n, function(_, i) return get(i) end)
end

--- Returns an item.
-- @tparam integer i from 1, or from the end
-- @raise when there is no such item
-- @usage heed.data.Dataset({"a", "b"}):get(-1) --> b
function Dataset:get(i)
  local n <const> = #self
  local at = math.type(i) and math.tointeger(i)
  if at and at < 0 then at = n + 1 + at end
  if not at or at < 1 or at > n then
    if n == 0 then
      check.fail("%s.get: there are no items, got i = %s",
        Dataset.__name, check.show(i))
    end
    check.fail("%s.get: i must be 1..%d or -%d..-1, got %s", Dataset.__name, n,
      n, check.show(i))
  end
  return self:fetch(at)
end

--- Returns a dataset whose items a function makes of those of this one, each
-- time that they are asked for.
-- @tparam function f gets an item and its number
-- @treturn Dataset
-- @usage
-- local set = heed.data.Dataset({1, 2, 3}):map(function(x) return 10 * x end)
-- return set[2] --> 20
function Dataset:map(f)
  check.callable("Dataset.map", "f", f)
  return make(#self, function(_, i) return f(self:get(i), i) end)
end

--- Returns a dataset of some items.
-- @param rows their numbers, from 1 or from the end, in the order wanted: a
-- list or an int64 tensor
-- @treturn Dataset
-- @raise when there is no such item
-- @usage heed.data.Dataset({"a", "b", "c"}):subset({3, 1})[1] --> c
function Dataset:subset(rows)
  if check.is_tensor(rows) then rows = rows:totable() end
  local m <const>, fault = check.list(rows, "number")
  if fault then check.fail("Dataset.subset: rows%s", fault) end
  local n <const>, places = #self, {}
  for k = 1, m do
    local at = math.tointeger(rows[k])
    if at and at < 0 then at = n + 1 + at end
    if not at or at < 1 or at > n then
      check.fail("Dataset.subset: rows[%d] must be one of %d items, got %s", k,
        n, check.show(rows[k]))
    end
    places[k] = at
  end
  local gather
  if self.gather then
    function gather(_, list)
      local of_self = {}
      for k, i in ipairs(list) do of_self[k] = places[i] end
      return self:gather(of_self)
    end
  end
  return make(m, function(_, k) return self:get(places[k]) end, gather)
end

--- Returns a dataset of the items that a function is true for. Each is made
-- once, now.
-- @tparam function f gets an item and its number
-- @treturn Dataset
-- @usage
-- local set = heed.data.Dataset({3, 8, 5}):filter(function(x) return x > 4 end)
-- return set[1], #set --> 8, 2
function Dataset:filter(f)
  check.callable("Dataset.filter", "f", f)
  local rows = {}
  for i = 1, #self do
    if f(self:get(i), i) then rows[#rows + 1] = i end
  end
  return self:subset(rows)
end

--- Returns a dataset of the items of this one and then those of others.
-- @param ... datasets
-- @treturn Dataset
-- @raise when one of them is no dataset
-- @usage
-- local Dataset = heed.data.Dataset
-- return Dataset({1, 2}):concat(Dataset({3}), Dataset({4}))[4] --> 4
function Dataset:concat(...)
  local parts, ends, n = {self, ...}, {}, 0
  for k, part in ipairs(parts) do
    if not Dataset.is(part) then
      check.fail("Dataset.concat: argument %d must be a dataset, got %s", k - 1,
        check.show(part))
    end
    n = n + #part
    ends[k] = n
  end
  return make(n, function(_, i)
    local k = 1
    while i > ends[k] do k = k + 1 end
    return parts[k]:get(i - (ends[k - 1] or 0))
  end)
end

-- Fractions of n as whole numbers, as PyTorch rounds them: down, and what is
-- left over one by one to the first ones.
local function whole_sizes(fractions, n)
  local sizes, sum = {}, 0
  for k, fraction in ipairs(fractions) do
    sizes[k] = math.floor(n * fraction)
    sum = sum + sizes[k]
  end
  for k = 1, n - sum do
    local at <const> = (k - 1) % #sizes + 1
    sizes[at] = sizes[at] + 1
  end
  return sizes
end

local function split_sizes(sizes, n)
  local m <const>, fault = check.list(sizes, "number")
  if fault then check.fail("Dataset.random_split: sizes%s", fault) end
  local sum, whole = 0, true
  for k = 1, m do
    check.number("Dataset.random_split", ("sizes[%d]"):format(k), sizes[k], 0)
    whole = whole and math.tointeger(sizes[k]) ~= nil
    sum = sum + sizes[k]
  end
  if sum <= 1 and sum > 1 - 1e-9 then
    return whole_sizes(sizes, n)
  end
  if not whole or sum ~= n then
    check.fail("Dataset.random_split: sizes must be integers that sum to %d, "
      .. "the items, or fractions that sum to 1; their sum is %s", n,
      check.show(sum))
  end
  return sizes
end

--- Returns the items in several datasets, by chance; the same items as
-- PyTorch's random_split with the same seed.
-- @tparam {number,...} sizes numbers of items, or fractions that sum to 1
-- @tparam[opt] table options `generator` (the default one)
-- @return one dataset for each size
-- @usage
-- local set = heed.data.Dataset({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
-- local train, valid = set:random_split({0.8, 0.2})
-- return #train, #valid --> 8, 2
function Dataset:random_split(sizes, options)
  local o <const> = check.types("Dataset.random_split", options,
    {generator = "userdata"})
  sizes = split_sizes(sizes, #self)
  local order <const> = #self > 0
    and heed.randperm(#self, {generator = o.generator}):totable() or {}
  local parts, at = {}, 0
  for k, size in ipairs(sizes) do
    size = math.tointeger(size)
    parts[k] = self:subset(table.move(order, at + 1, at + size, 1, {}))
    at = at + size
  end
  return table.unpack(parts)
end

--- Is the value a dataset?
-- @usage heed.data.Dataset.is({}) --> false
function Dataset.is(value)
  local class = type(value) == "table" and getmetatable(value)
  while class and class ~= Dataset do
    class = (getmetatable(class) or {}).__index
  end
  return class == Dataset
end

index_by_number(Dataset)
setmetatable(Dataset, {__call = Dataset.new})

--- Returns a dataset of the rows of tensors: item i is the list of row i of
-- each.
-- @function TensorDataset
-- @param ... tensors of as many rows
-- @treturn Dataset
-- @raise when the tensors differ in their number of rows, or there are none
-- @usage
-- local set = heed.data.TensorDataset(heed.tensor {{1, 2}, {3, 4}},
--   heed.tensor {5, 6})
-- return set[2][1] --> 3, 4
local function tensor_dataset(...)
  local tensors <const> = {...}
  local n <const>, fault = check.list(tensors, "tensor")
  if fault then check.fail("TensorDataset: argument %s", fault) end
  if n == 0 then check.fail("TensorDataset: no tensors were given") end
  for k, x in ipairs(tensors) do
    if x.ndim == 0 or #x ~= #tensors[1] then
      check.fail("TensorDataset: argument %d must have as many rows as the "
        .. "first, %s, got %s", k, check.shape(tensors[1].shape),
        check.shape(x.shape))
    end
  end
  local function fetch(_, i)
    local item = {}
    for k, x in ipairs(tensors) do item[k] = x[i] end
    return item
  end
  local function gather(_, rows)
    local at <const> = heed.tensor(rows, {dtype = "int64"})
    local batch = {}
    for k, x in ipairs(tensors) do batch[k] = x:index_select(at) end
    return batch
  end
  return make(#tensors[1], fetch, gather)
end

return {Dataset = Dataset, TensorDataset = tensor_dataset, extend = extend}
