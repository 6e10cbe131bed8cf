--- Batches of items: their fields stacked, or filled up and stacked.

local heed = require "heed"
local check = require "heed.check"

local collate = {}

-- The items of a list by its length: what stands behind them in a table that
-- makes up values is none, and would have no end.
local function items_of(list) return table.move(list, 1, #list, 1, {}) end

-- -- sequences of different lengths ------------------------------------------

-- The sequences as tensors [T ...] of one dtype and the same sizes but for T.
local function as_tensors(func, name, list)
  local tensors = {}
  for i, item in ipairs(list) do
    local x = item
    if not check.is_tensor(x) then
      local _, fault = check.list(x, "number")
      if fault then check.fail("%s: %s[%d]%s", func, name, i, fault) end
      x = heed.tensor(x, #x == 0 and {dtype = "int64"} or nil)
    elseif x.ndim == 0 then
      check.fail("%s: %s[%d] must have a dimension to fill up, got %s", func,
        name, i, check.show(x))
    end
    tensors[i] = x
  end
  return tensors
end

-- Lists of numbers at once: far cheaper than a tensor for each.
local function pad_lists(lists, longest, pad)
  local flat, at = {}, 0
  for i, list in ipairs(lists) do
    local n <const> = #list
    for k = 1, n do
      if type(list[k]) ~= "number" then
        check.fail("pad_sequence: list[%d][%d] must be a number, got %s", i, k,
          check.show(list[k]))
      end
    end
    table.move(list, 1, n, at + 1, flat)
    for k = n + 1, longest do flat[at + k] = pad end
    at = at + longest
  end
  if at == 0 then return heed.zeros({#lists, 0}, "int64") end
  return heed.tensor(flat):reshape(#lists, longest)
end

local function pad_tensors(tensors, longest, pad)
  if #tensors == 0 then return heed.zeros({0, longest}, "int64") end
  local rest <const> = tensors[1].shape
  for i, x in ipairs(tensors) do
    for d = 2, math.max(#rest, x.ndim) do
      if x.ndim ~= #rest or x:size(d) ~= rest[d] then
        check.fail("pad_sequence: list[%d] %s and list[1] %s must differ in "
          .. "the first size only", i, check.shape(x.shape), check.shape(rest))
      end
    end
  end
  local rows = {}
  for i, x in ipairs(tensors) do
    local n <const> = #x
    local shape <const> = x.shape
    shape[1] = longest - n
    rows[i] = n == longest and x
      or heed.cat({x, heed.full(shape, pad, {dtype = x.dtype})}, 1)
  end
  return heed.stack(rows, 1)
end

--- Returns sequences as the rows of one tensor, filled up to the longest.
-- @param list lists of numbers, or tensors [T ...] that differ in T only
-- @tparam[opt] table options `pad`, the number to fill up with (0)
-- @treturn tensor [B longest ...]
-- @treturn tensor their lengths, int64 [B], as `valid_lens` of attention wants
-- them
-- @usage
-- local ids, valid_lens = heed.data.pad_sequence({{5, 6, 7}, {8}}, {pad = 1})
-- return ids[2] --> 8, 1, 1
function collate.pad_sequence(list, options)
  local func <const> = "pad_sequence"
  list = items_of(check.kind(func, "list", list, "table"))
  local o <const> = check.types(func, options, {pad = "number"})
  local pad <const> = o.pad or 0
  local lengths, longest, plain = {}, 0, true
  for i, item in ipairs(list) do
    if type(item) ~= "table" then plain = false end
    lengths[i] = (check.is_tensor(item) and item.ndim == 0
      or type(item) ~= "table" and not check.is_tensor(item)) and 0 or #item
    longest = math.max(longest, lengths[i])
  end
  local padded <const> = plain and pad_lists(list, longest, pad)
    or pad_tensors(as_tensors(func, "list", list), longest, pad)
  return padded, heed.tensor(lengths, {dtype = "int64"})
end

-- -- batches -----------------------------------------------------------------

-- Is the value a list of numbers (an empty list is one)?
local function is_numbers(value)
  return type(value) == "table" and check.list(value, "number") ~= nil
end

-- Has every item the fields of the first? The fields, or nil.
local function fields_of(items)
  local names, n = {}, 0
  for name in pairs(items[1]) do
    names[n + 1] = name
    n = n + 1
  end
  for _, item in ipairs(items) do
    if type(item) ~= "table" then return nil end
    local m = 0
    for _ in pairs(item) do m = m + 1 end
    if m ~= n then return nil end
    for _, name in ipairs(names) do
      if item[name] == nil then return nil end
    end
  end
  table.sort(names, function(a, b)
    if type(a) == type(b) then return a < b end
    return type(a) == "number"
  end)
  return names
end

local function same(values, is)
  for _, value in ipairs(values) do
    if not is(value) then return false end
  end
  return true
end

local function is_kind(kind)
  return function(value) return type(value) == kind end
end

-- `field` for messages: "item", "item.source", "item[2]".
local function inside(field, name)
  return type(name) == "string" and field .. "." .. name
    or ("%s[%s]"):format(field, name)
end

local stack -- the two call each other

local function stack_tensors(values, field)
  local shape <const> = check.shape(values[1].shape)
  for i, x in ipairs(values) do
    if check.shape(x.shape) ~= shape then
      check.fail("DataLoader: %s of the items of a batch differs: %s and, in "
        .. "number %d, %s; the option pad fills up sequences, collate does "
        .. "what it likes", field, shape, i, check.shape(x.shape))
    end
  end
  return heed.stack(values, 1)
end

local function stack_numbers(values, field)
  for i, list in ipairs(values) do
    if #list ~= #values[1] then
      check.fail("DataLoader: %s of the items of a batch differs: %d numbers "
        .. "and, in number %d, %d; the option pad fills up sequences, collate "
        .. "does what it likes", field, #values[1], i, #list)
    end
  end
  if #values[1] == 0 then return heed.zeros({#values, 0}, "int64") end
  return heed.tensor(values)
end

function stack(values, field)
  if same(values, check.is_tensor) then return stack_tensors(values, field) end
  if same(values, is_kind "number") or same(values, is_kind "boolean") then
    return heed.tensor(values)
  end
  if same(values, is_kind "string") then return values end
  if same(values, is_numbers) then return stack_numbers(values, field) end
  local names <const> = type(values[1]) == "table" and fields_of(values)
  if not names then
    check.fail("DataLoader: %s of the items of a batch must be of one kind "
      .. "(tensors, numbers, booleans, strings, or tables of the same fields), "
      .. "got %s first; the option collate makes batches of anything", field,
      check.show(values[1]))
  end
  local batch = {}
  for _, name in ipairs(names) do
    local column = {}
    for i, value in ipairs(values) do column[i] = value[name] end
    batch[name] = stack(column, inside(field, name))
  end
  return batch
end

--- Returns the batch of items: tensors stacked, numbers and booleans as a
-- tensor [B], lists of n numbers as a tensor [B n], strings as a list; tables
-- of such fields field by field.
-- @param items a list that is not empty
-- @raise when items is empty, or they do not fit together
-- @usage
-- local batch = heed.data.collate({{x = {1, 2}, y = 3}, {x = {4, 5}, y = 6}})
-- return batch.x.shape --> 2, 2
function collate.collate(items)
  check.kind("collate", "items", items, "table")
  if #items == 0 then check.fail("collate: items is empty") end
  return stack(items_of(items), "the item")
end

-- Is the field a sequence that `pad` fills up when it names no fields?
local function is_sequence(value)
  if check.is_tensor(value) then return value.ndim == 1 end
  return is_numbers(value)
end

-- The number to fill up a field with, or nil.
local function pad_of(pad, name, values)
  if type(pad) == "table" then return pad[name] end
  return same(values, is_sequence) and pad or nil
end

--- Returns a function that makes batches of items of which some fields are
-- sequences of different lengths. They are filled up: field f of the batch is
-- [B T ...], and `batch.valid_lens[f]` holds the lengths [B]. An item that is a
-- sequence itself is field 1.
-- @param pad a number, for every field that is a list of numbers or a tensor
-- [T]; or numbers by the names of fields
-- @raise from the function, when the items are neither sequences nor tables of
-- the same fields
-- @usage
-- local items = {{ids = {5, 6}, y = 1}, {ids = {7}, y = 2}}
-- local batch = heed.data.padded(1)(items)
-- return batch.ids[2], batch.valid_lens.ids --> 7, 1, 2, 1
function collate.padded(pad)
  if type(pad) ~= "number" then check.kind("padded", "pad", pad, "table") end
  return function(items)
    local columns = {}
    if same(items, is_sequence) then
      columns[1] = items
    else
      local names <const> = type(items[1]) == "table" and fields_of(items)
      if not names then
        check.fail("DataLoader: with pad, the items of a batch must be "
          .. "sequences or tables of the same fields, got %s first",
          check.show(items[1]))
      end
      for _, name in ipairs(names) do
        columns[name] = {}
        for i, item in ipairs(items) do columns[name][i] = item[name] end
      end
    end
    local batch = {valid_lens = {}}
    for name, column in pairs(columns) do
      local with <const> = pad_of(pad, name, column)
      if with then
        batch[name], batch.valid_lens[name] =
          collate.pad_sequence(column, {pad = with})
      else
        batch[name] = stack(column, inside("the item", name))
      end
    end
    return batch
  end
end

return collate
