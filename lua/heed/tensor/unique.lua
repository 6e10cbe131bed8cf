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

-- The rows [n m] in the order of their first column, then their second ...,
-- and where they stood: the last column is sorted first, and equal values stay
-- in their order.
local function in_order(rows)
  local order = ops.arange(1, rows.shape[1])
  if rows.shape[2] == 1 then return ops.sort(rows, 1) end
  for j = rows.shape[2], 1, -1 do
    local _, step = ops.sort(ops.index_select(ops.select(rows, 2, j), order))
    order = ops.index_select(order, step)
  end
  return ops.index_select(rows, order), order
end

-- The places of rows [n m] that stand for a group; if wanted, for each row the
-- number of its group, and how large the groups are.
local function groups(rows, sorted, inverse, counts)
  local n = rows.shape[1]
  local order = ops.arange(1, n)
  if n == 0 then return order, order, order end
  if sorted then
    rows, order = in_order(rows)
    order = ops.reshape(order, n)
  end
  local starts = group_starts(rows)
  local places = ops.masked_select(order, starts)
  if not (inverse or counts) then return places end
  local number = ops.cumsum(starts, 1)
  return places,
    inverse and (sorted and ops.scatter(number, 1, order, number) or number),
    counts and ops.bincount(number)
end

local function distinct(func, x, sorted, dim, inverse, counts)
  check.tensor(func, "x", x)
  x = ops.detach(x)
  local rows = ops.reshape(x, -1, 1)
  if dim ~= nil then
    dim = check.dim(func, x, dim)
    local n = x.shape[dim]
    rows = ops.reshape(ops.transpose(x, 1, dim), n, n > 0 and x:numel() // n
      or 0)
  end
  local places, number, sizes = groups(rows, sorted, inverse, counts)
  local results = {dim and ops.index_select(x, places, dim) or
    ops.index_select(ops.reshape(x, -1), places)}
  if inverse then
    results[#results + 1] = dim and number or ops.reshape(number, x.shape)
  end
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
