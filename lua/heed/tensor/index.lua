--- Reading and writing by positions: what is put together from other ops.
-- Positions count from 1, or from the end with negative numbers.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops
local fail <const> = check.fail

local index = {}

-- -- several indices ---------------------------------------------------------

-- A list of indices for the first dimensions of x, masks as the positions of
-- what is true, and the dimensions.
local function first_dims(func, x, indices)
  check.tensor(func, "x", x)
  local n, problem = check.list(indices, "tensor")
  if not n then fail("%s: indices%s", func, problem) end
  local list, dims = {}, {}
  for i, t in ipairs(indices) do
    local columns = t.dtype == "bool" and index.where(t) or {t}
    for k, column in ipairs(columns) do
      if t.dtype == "bool" and x.shape[#list + 1] ~= t.shape[k] then
        fail("%s: indices[%d] is a mask %s that does not fit to x %s", func,
          i, check.shape(t.shape), check.shape(x.shape))
      end
      list[#list + 1] = column
      dims[#dims + 1] = #list
    end
  end
  return list, dims
end

local function putter(func, ending)
  return function(x, indices, value, options)
    local list, dims = first_dims(func, x, indices)
    local o = check.types(func, options, {accumulate = "boolean"})
    local op = o.accumulate and "index_put_add" or "index_put"
    return ops[op .. ending](x, value, list, dims)
  end
end

--- x with a value at the places that indices name in its first dimensions.
-- @function index_put
-- @param x tensor
-- @tparam table indices list of tensors of int64, int32 or uint8, broadcast
-- together, or of bool masks
-- @param value number, or tensor that broadcasts to what the indices take
-- @tparam[opt] table options `accumulate`: true adds the value to what is
-- there, and places that repeat all count; else the last one stays
-- @return tensor like x, a copy; `index_put_` writes to x itself
-- @raise when shapes do not fit or a position is out of range
-- @usage local i = heed.tensor {1, 1}
-- heed.zeros(2):index_put({i}, 3, {accumulate = true}) --> 6 0
index.index_put = putter("index_put", "")
index.index_put_ = putter("index_put_", "_")

-- -- one index ---------------------------------------------------------------

--- The elements of x, seen as one row, that the index names.
-- @param x tensor
-- @param positions tensor of int64, int32 or uint8
-- @return tensor of the shape of the positions, a copy
-- @raise when a position is out of range
-- @usage heed.tensor {{1, 2}, {3, 4}}:take(heed.tensor {4, 1}) --> 4 1
function index.take(x, positions)
  check.tensor("take", "x", x)
  return ops.index_select(ops.reshape(x, -1),
    check.tensor("take", "positions", positions))
end

-- x, the index and maybe values, broadcast in all dimensions but `dim`.
local function align(func, x, positions, dim, values)
  check.tensor(func, "x", x)
  check.tensor(func, "index", positions)
  if x.ndim ~= positions.ndim then
    fail("%s: index %s must have as many dimensions as x %s", func,
      check.shape(positions.shape), check.shape(x.shape))
  end
  dim = check.dim(func, x, dim)
  local to, at = x.shape, positions.shape
  for d = 1, x.ndim do
    if d ~= dim and to[d] ~= at[d] then
      local grows = not values and to[d] == 1
      if at[d] ~= 1 and not grows then
        fail("%s: index %s and x %s do not fit in dim %d", func,
          check.shape(positions.shape), check.shape(x.shape), d)
      end
      to[d] = grows and at[d] or to[d]
      at[d] = to[d]
    end
  end
  return ops.expand(x, to), ops.expand(positions, at), dim
end

--- As `gather`, with x and index broadcast in all dimensions but one: what
-- `argsort` and `argmax` with `keepdim` give takes the elements out.
-- @param x tensor
-- @param positions tensor of int64, int32 or uint8 with as many dimensions
-- @tparam[opt] integer dim dimension; without it x is one row
-- @return tensor, a copy
-- @raise when the sizes do not fit or a position is out of range
-- @usage heed.tensor {{1, 2}, {3, 4}}:take_along_dim(heed.tensor {{2}}, 2)
-- --> 2, 4
function index.take_along_dim(x, positions, dim)
  if dim == nil then
    return index.take_along_dim(ops.reshape(x, -1),
      ops.reshape(positions, -1), 1)
  end
  x, positions, dim = align("take_along_dim", x, positions, dim)
  return ops.gather(x, dim, positions)
end

--- As `scatter`, with index and values broadcast in all dimensions but one.
-- @param x tensor
-- @param positions tensor of int64, int32 or uint8 with as many dimensions
-- @param values number, or tensor that broadcasts to the index
-- @tparam integer dim dimension
-- @return tensor like x, a copy
-- @raise when the sizes do not fit or a position is out of range
-- @usage heed.zeros(2, 2):put_along_dim(heed.tensor {{2}}, 5, 2) --> 0 5, 0 5
function index.put_along_dim(x, positions, values, dim)
  x, positions, dim = align("put_along_dim", x, positions, dim, true)
  if check.is_tensor(values) and values.ndim > 0 then
    values = ops.expand(values, positions.shape)
  end
  return ops.scatter(x, dim, positions, values)
end

-- -- masks and conditions ----------------------------------------------------

local where <const> = ops.where

--- a where the condition holds, else b; with the condition alone the positions
-- of what is true or not 0, a list with one int64 tensor for each dimension,
-- which serves as an index: `x[heed.where(mask)]`.
-- @param condition bool tensor; any tensor when alone
-- @param[opt] a tensor or number
-- @param[opt] b tensor or number of the same dtype
-- @return tensor of the broadcast shape, or a list
-- @raise when condition is not bool or the shapes do not fit
-- @usage heed.where(heed.tensor {0, 5, 6})[1] --> 2 3
function index.where(condition, ...)
  if select("#", ...) > 0 then return where(condition, ...) end
  local found = ops.nonzero(condition)
  local list = {}
  for d = 1, condition.ndim do list[d] = ops.select(found, 2, d) end
  return list
end

--- The positions of what is true or not 0, as `nonzero`.
-- @param x tensor
-- @return int64 tensor (n, dimensions of x)
-- @usage heed.argwhere(heed.tensor {0, 5}) --> 2
function index.argwhere(x) return ops.nonzero(x) end

--- x with elements of source, in their order, where the mask is true.
-- @param x tensor
-- @param mask bool tensor that broadcasts to x
-- @param source tensor of the same dtype with at least as many elements as the
-- mask has true ones
-- @return tensor like x, a copy; `masked_scatter_` writes to x itself
-- @raise when source has too few elements
-- @usage local mask = heed.tensor {true, false, true}
-- heed.zeros(3):masked_scatter(mask, heed.ones(2)) --> 1 0 1
function index.masked_scatter(x, mask, source)
  check.tensor("masked_scatter", "x", x)
  check.tensor("masked_scatter", "mask", mask)
  check.tensor("masked_scatter", "source", source)
  if mask.dtype ~= "bool" or source.dtype ~= x.dtype then
    fail("masked_scatter: mask must be bool and source %s, got %s and %s",
      x.dtype, check.show(mask), check.show(source))
  end
  if x.ndim == 0 then
    local row = index.masked_scatter(ops.reshape(x, 1), ops.reshape(mask, 1),
      source)
    return ops.reshape(row, {})
  end
  local places = index.where(ops.expand(mask, x.shape))
  local n, given = #places[1], source:numel()
  if given < n then
    fail("masked_scatter: source %s has %d elements, but mask has %d true",
      check.shape(source.shape), given, n)
  end
  if n == 0 then return ops.clone(x) end
  local taken = ops.slice(ops.reshape(source, -1), 1, 1, n)
  return index.index_put(x, places, taken)
end

function index.masked_scatter_(x, mask, source)
  return ops.copy_(x, index.masked_scatter(x, mask, source))
end

--- The bucket of each value: the number of the first boundary that is not below
-- it, or with `right` above it; from 1 to the number of boundaries + 1.
-- @param values number or tensor of any shape
-- @param boundaries tensor with one dimension, ascending
-- @tparam[opt] table options `right`, false by default
-- @return int64 tensor of the shape of values
-- @raise when boundaries has more dimensions
-- @usage heed.bucketize(heed.tensor {1, 5}, heed.tensor {2, 4}) --> 1 3
function index.bucketize(values, boundaries, options)
  check.tensor("bucketize", "boundaries", boundaries)
  local o = check.types("bucketize", options, {right = "boolean"})
  if boundaries.ndim ~= 1 then
    fail("bucketize: boundaries must have one dimension, got %s",
      check.show(boundaries))
  end
  return ops.searchsorted(boundaries, values, o.right or false)
end

return {functions = index, methods = index}
