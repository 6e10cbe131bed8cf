--- The different values of a tensor: functions of heed and methods of tensors.
-- Values that are equal are brought together by sorting; then a group begins
-- wherever a value differs from the one before.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local unique = {}

-- Which of n rows [n m] differ from the row before; n >= 1.
local function group_starts(rows)
  local n = rows.shape[1]
  local first = ops.ones({1}, {dtype = "bool"})
  if n == 1 then return first end
  local differ = ops.ne(ops.slice(rows, 1, 2, n), ops.slice(rows, 1, 1, n - 1))
  return ops.cat({first, ops.any(differ, 2)}, 1)
end

-- The order of rows [n m], by their first column, then their second ...: the
-- last column is sorted first, and equal values stay in their order.
local function row_order(rows)
  local order
  for j = rows.shape[2], 1, -1 do
    local column = ops.select(rows, 2, j)
    if order then column = ops.index_select(column, order) end
    local _, step = ops.sort(column)
    order = order and ops.index_select(order, step) or step
  end
  return order or ops.arange(1, rows.shape[1])
end

-- The places of the elements (of slices along dim) that stand for a group,
-- for each element the number of its group, and how large groups are.
local function groups(rows, sorted)
  local n = rows.shape[1]
  if n == 0 then
    local none = ops.zeros({0}, {dtype = "int64"})
    return none, none, none
  end
  local order = sorted and row_order(rows) or nil
  local starts = group_starts(order and ops.index_select(rows, order) or rows)
  local number = ops.cumsum(starts, 1)
  local counts = ops.bincount(number)
  local places = ops.masked_select(order or ops.arange(1, n), starts)
  if order then
    number = ops.scatter(ops.zeros({n}, {dtype = "int64"}), 1, order, number)
  end
  return places, number, counts
end

local function distinct(func, x, sorted, dim, inverse, counts)
  check.tensor(func, "x", x)
  x = ops.detach(x)
  local values, number, sizes
  if dim == nil then
    local flat = ops.reshape(x, -1)
    local places
    places, number, sizes = groups(ops.unsqueeze(flat, 2), sorted)
    values = ops.index_select(flat, places)
    number = ops.reshape(number, x.shape)
  else
    dim = check.dim(func, x, dim)
    local n = x.shape[dim]
    local rows = ops.transpose(x, 1, dim)
    local m = n > 0 and x:numel() // n or 0
    local places
    places, number, sizes = groups(ops.reshape(rows, n, m), sorted)
    values = ops.index_select(x, places, dim)
  end
  local results = {values}
  if inverse then results[#results + 1] = number end
  if counts then results[#results + 1] = sizes end
  return table.unpack(results)
end

--- The different values of a tensor in order, or its different slices along a
-- dimension in the order of their elements. Each NaN is a value of its own.
-- @param x tensor
-- @param[opt] sorted for PyTorch's sake: the values are always in order
-- @tparam[opt=false] boolean return_inverse
-- @tparam[opt=false] boolean return_counts
-- @param[opt] dim dimension; without it x is taken as a list of elements
-- @return tensor of the values, of one dimension; with dim like x, shorter
-- @return with `return_inverse`: int64 tensor, for each element of x (slice)
-- the position of its value
-- @return with `return_counts`: int64 tensor of how often each value occurs
-- @raise when dim is out of range
-- @usage local values, counts =
--   heed.unique(heed.tensor {3, 1, 3}, {return_counts = true}) --> 1 3, 1 2
function unique.unique(x, ...)
  local _, inverse, counts, dim = check.arguments("unique",
    {"sorted", "return_inverse", "return_counts", "dim"}, ...)
  return distinct("unique", x, true, dim, inverse, counts)
end

--- The values of a tensor without those that repeat the one before, or its
-- slices along a dimension without such.
-- @param x tensor
-- @tparam[opt=false] boolean return_inverse
-- @tparam[opt=false] boolean return_counts
-- @param[opt] dim dimension; without it x is taken as a list of elements
-- @return tensor of the values, of one dimension; with dim like x, shorter
-- @return with `return_inverse`: int64 tensor, for each element of x (slice)
-- the position of its value
-- @return with `return_counts`: int64 tensor of how often each value repeats
-- @raise when dim is out of range
-- @usage heed.unique_consecutive(heed.tensor {3, 3, 1, 3}) --> 3 1 3
function unique.unique_consecutive(x, ...)
  local inverse, counts, dim = check.arguments("unique_consecutive",
    {"return_inverse", "return_counts", "dim"}, ...)
  return distinct("unique_consecutive", x, false, dim, inverse, counts)
end

return {functions = unique, methods = unique}
