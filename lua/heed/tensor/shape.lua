--- The same elements in other shapes and orders, and tensors cut into parts.
-- What is called a view shares memory with x, what is called a copy does not.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops
local fail <const> = check.fail

local shape = {}

-- A list from one number or a list of them.
local function list_of(func, name, value)
  if type(value) == "number" then return {value} end
  local n, problem = check.list(value, "number")
  if not n then fail("%s: %s%s", func, name, problem) end
  return value
end

-- Dimensions as a list of 1 .. ndim, none of them twice.
local function dims_of(func, x, dims)
  local list, seen = {}, {}
  for i, dim in ipairs(list_of(func, "dims", dims)) do
    list[i] = check.dim(func, x, dim)
    if seen[list[i]] then fail("%s: dim %d is given twice", func, list[i]) end
    seen[list[i]] = true
  end
  return list
end

-- -- parts -------------------------------------------------------------------

-- The parts of a dimension that end at these positions; views.
local function parts_until(x, dim, ends)
  local parts, first = {}, 1
  for i, last in ipairs(ends) do
    if last >= first then
      parts[i] = ops.slice(x, dim, first, last)
    else -- nothing
      parts[i] = ops.slice(x, dim, x:size(dim) + 1, -1)
    end
    first = last + 1
  end
  return parts
end

--- Parts of x, one behind the other along a dimension.
-- @param x tensor
-- @param size how long each part is, the last one maybe shorter; or a list of
-- lengths that add up to the size of the dimension
-- @tparam[opt=1] integer dim dimension
-- @treturn table list of views of x
-- @raise when the lengths do not fit
-- @usage #heed.arange(5):split(2) --> 3
function shape.split(x, size, dim)
  check.tensor("split", "x", x)
  dim = check.dim("split", x, dim or 1)
  local n, ends = x:size(dim), {}
  if type(size) == "number" then
    check.integer("split", "size", size, n == 0 and 0 or 1)
    local count = n == 0 and 1 or (n + size - 1) // size
    for i = 1, count do ends[i] = math.min(i * size, n) end
    return parts_until(x, dim, ends)
  end
  local total = 0
  for i, length in ipairs(list_of("split", "size", size)) do
    total = total + check.integer("split", "size[" .. i .. "]", length, 0)
    ends[i] = total
  end
  if total ~= n then
    fail("split: the lengths must add up to %d, the size of dim %d of x %s, " ..
      "got %d", n, dim, check.shape(x.shape), total)
  end
  return parts_until(x, dim, ends)
end

--- At most n parts of x of one length, the last one maybe shorter.
-- @param x tensor
-- @tparam integer n how many parts, at least 1
-- @tparam[opt=1] integer dim dimension
-- @treturn table list of views of x
-- @raise when n is below 1
-- @usage heed.arange(5):chunk(2)[2] --> 4 5
function shape.chunk(x, n, dim)
  check.tensor("chunk", "x", x)
  dim = check.dim("chunk", x, dim or 1)
  check.integer("chunk", "n", n, 1)
  local size = x:size(dim)
  if size == 0 then -- n times nothing
    local ends = {}
    for i = 1, n do ends[i] = 0 end
    return parts_until(x, dim, ends)
  end
  return shape.split(x, (size + n - 1) // n, dim)
end

--- Exactly n parts of x whose lengths differ by at most 1, or parts that begin
-- at given positions.
-- @param x tensor
-- @param n how many parts, the first ones longer; or a list of positions, at
-- each of which a new part begins
-- @tparam[opt=1] integer dim dimension
-- @treturn table list of views of x
-- @raise when n is below 1 or a position is not an integer
-- @usage heed.arange(5):tensor_split({2, 4})[2] --> 2 3
function shape.tensor_split(x, n, dim)
  check.tensor("tensor_split", "x", x)
  dim = check.dim("tensor_split", x, dim or 1)
  local size, ends = x:size(dim), {}
  if type(n) == "number" then
    check.integer("tensor_split", "n", n, 1)
    for i = 1, n do ends[i] = i * (size // n) + math.min(i, size % n) end
    return parts_until(x, dim, ends)
  end
  for i, first in ipairs(list_of("tensor_split", "n", n)) do
    check.integer("tensor_split", "n[" .. i .. "]", first)
    if first < 0 then first = first + size + 1 end
    ends[i] = math.max(0, math.min(first - 1, size))
  end
  ends[#ends + 1] = size
  return parts_until(x, dim, ends)
end

--- The entries of a dimension, each without it.
-- @param x tensor
-- @tparam[opt=1] integer dim dimension
-- @treturn table list of views of x
-- @raise when dim is out of range
-- @usage heed.eye(2):unbind()[2] --> 0 1
function shape.unbind(x, dim)
  check.tensor("unbind", "x", x)
  dim = check.dim("unbind", x, dim or 1)
  local list = {}
  for i = 1, x:size(dim) do list[i] = ops.select(x, dim, i) end
  return list
end

--- Some neighbours of a dimension.
-- @param x tensor
-- @tparam integer dim dimension
-- @tparam integer first position of the first one; may count from the end
-- @tparam integer length how many, at least 0
-- @return view of x
-- @raise when they do not all lie in x
-- @usage heed.arange(5):narrow(1, 2, 3) --> 2 3 4
function shape.narrow(x, dim, first, length)
  check.tensor("narrow", "x", x)
  dim = check.dim("narrow", x, dim)
  check.integer("narrow", "first", first)
  check.integer("narrow", "length", length, 0)
  local size = x:size(dim)
  local at = first < 0 and first + size + 1 or first
  if at < 1 or at + length - 1 > size then
    fail("narrow: %d positions from %d on do not lie in dim %d of x %s",
      length, first, dim, check.shape(x.shape))
  end
  return parts_until(x, dim, {at - 1, at + length - 1})[2]
end

-- -- joining -----------------------------------------------------------------

-- Tensors with at least `least` dimensions, new ones in front.
local function at_least(func, tensors, least)
  local n, problem = check.list(tensors, "tensor")
  if not n then fail("%s: tensors%s", func, problem) end
  local list = {}
  for i, t in ipairs(tensors) do
    while t.ndim < least do t = ops.unsqueeze(t, 1) end
    list[i] = t
  end
  return list
end

--- Tensors side by side: along dimension 2, or 1 where they have only one.
-- @param tensors list of tensors of one dtype
-- @return tensor, a copy
-- @raise when the list is empty or sizes or dtypes differ
-- @usage heed.hstack {heed.ones(2), heed.zeros(1)} --> 1 1 0
function shape.hstack(tensors)
  local list = at_least("hstack", tensors, 1)
  return ops.cat(list, list[1] and list[1].ndim > 1 and 2 or 1)
end

--- Tensors one below the other: along dimension 1, those with one dimension as
-- rows.
-- @param tensors list of tensors of one dtype
-- @return tensor, a copy
-- @raise when the list is empty or sizes or dtypes differ
-- @usage heed.vstack {heed.ones(2), heed.zeros(2)} --> 1 1, 0 0
function shape.vstack(tensors)
  return ops.cat(at_least("vstack", tensors, 2), 1)
end

-- -- other orders ------------------------------------------------------------

--- x with rows and columns exchanged; a tensor with fewer dimensions itself.
-- @param x tensor with at most two dimensions
-- @return view of x
-- @raise when x has more dimensions
-- @usage heed.ones(2, 3):t() --> shape (3, 2)
function shape.t(x)
  check.tensor("t", "x", x)
  if x.ndim > 2 then
    fail("t: x must have at most 2 dimensions, got %s; use transpose",
      check.show(x))
  end
  return x.ndim == 2 and ops.transpose(x, 1, 2) or ops.view(x, x.shape)
end

--- x with two dimensions exchanged, as `transpose`.
-- @param x tensor
-- @tparam integer dim1 dimension
-- @tparam integer dim2 dimension
-- @return view of x
-- @raise when a dimension is out of range
-- @usage heed.ones(2, 3, 4):swapaxes(1, 3) --> shape (4, 3, 2)
function shape.swapaxes(x, dim1, dim2)
  check.tensor("swapaxes", "x", x)
  return ops.transpose(x, check.dim("swapaxes", x, dim1),
    check.dim("swapaxes", x, dim2))
end

--- x with dimensions moved to other places; the others keep their order.
-- @param x tensor
-- @param source a dimension or a list
-- @param target where they stand in the result, an integer or a list too
-- @return view of x
-- @raise when a dimension is out of range or given twice
-- @usage heed.ones(2, 3, 4):movedim(1, -1) --> shape (3, 4, 2)
function shape.movedim(x, source, target)
  check.tensor("movedim", "x", x)
  local from = dims_of("movedim", x, source)
  local to = dims_of("movedim", x, target)
  if #from ~= #to then
    fail("movedim: source and target must name as many dimensions, got %d " ..
      "and %d", #from, #to)
  end
  local order, moved, next_free = {}, {}, 1
  for i, dim in ipairs(from) do
    order[to[i]] = dim
    moved[dim] = true
  end
  for d = 1, x.ndim do
    if not order[d] then
      while moved[next_free] do next_free = next_free + 1 end
      order[d] = next_free
      next_free = next_free + 1
    end
  end
  return ops.permute(x, order)
end

--- x with the columns in reverse order.
-- @param x tensor with at least two dimensions
-- @return tensor like x, a copy
-- @raise when x has fewer dimensions
-- @usage heed.eye(2):fliplr() --> 0 1, 1 0
function shape.fliplr(x)
  check.tensor("fliplr", "x", x)
  return ops.flip(x, check.dim("fliplr", x, 2))
end

--- x with the rows in reverse order.
-- @param x tensor with at least one dimension
-- @return tensor like x, a copy
-- @raise when x has no dimensions
-- @usage heed.arange(3):flipud() --> 3 2 1
function shape.flipud(x)
  check.tensor("flipud", "x", x)
  return ops.flip(x, check.dim("flipud", x, 1))
end

--- x with its elements moved along dimensions; those that leave at one end come
-- in at the other.
-- @param x tensor
-- @param shifts by how many places, towards the end: an integer or a list
-- @param dims the dimension of each, an integer or a list; without it all
-- elements are one row
-- @return tensor like x, a copy
-- @raise when there are not as many shifts as dims
-- @usage heed.arange(5):roll(2) --> 4 5 1 2 3
function shape.roll(x, shifts, dims)
  check.tensor("roll", "x", x)
  if dims == nil then
    local flat = shape.roll(ops.reshape(x, -1), shifts, 1)
    return ops.reshape(flat, x.shape)
  end
  shifts = list_of("roll", "shifts", shifts)
  dims = list_of("roll", "dims", dims)
  if #shifts ~= #dims then
    fail("roll: shifts and dims must be as many, got %d and %d", #shifts,
      #dims)
  end
  local y = x
  for i, dim in ipairs(dims) do
    dim = check.dim("roll", x, dim)
    local n = x:size(dim)
    local shift = check.integer("roll", "shifts[" .. i .. "]", shifts[i])
    shift = n > 0 and shift % n or 0
    if shift > 0 then
      local parts = parts_until(y, dim, {n - shift, n})
      y = ops.cat({parts[2], parts[1]}, dim)
    end
  end
  return y == x and ops.clone(x) or y
end

--- x turned by quarters in the plane of two dimensions, from the first one
-- towards the second.
-- @param x tensor with at least two dimensions
-- @tparam[opt=1] integer k how many quarters; negative ones turn back
-- @tparam[opt] table dims the two dimensions, `{1, 2}` by default
-- @return tensor, a copy
-- @raise when dims are no two different dimensions
-- @usage heed.tensor {{1, 2}, {3, 4}}:rot90() --> 2 4, 1 3
function shape.rot90(x, k, dims)
  check.tensor("rot90", "x", x)
  k = k == nil and 1 or check.integer("rot90", "k", k)
  dims = dims_of("rot90", x, dims or {1, 2})
  if #dims ~= 2 then
    fail("rot90: dims must be two dimensions, got %d", #dims)
  end
  local a, b = dims[1], dims[2]
  if k % 4 == 0 then return ops.clone(x) end
  if k % 4 == 2 then return ops.flip(x, {a, b}) end
  local turned = ops.flip(x, k % 4 == 1 and b or a)
  return ops.transpose(turned, a, b)
end

-- -- repeating ---------------------------------------------------------------

-- How many elements the dimensions first .. last have.
local function count(sizes, first, last)
  local n = 1
  for d = first, last do n = n * sizes[d] end
  return n
end

-- x with dimension `dim` n times as long: all of it again and again, or each
-- entry n times.
local function lengthen(x, dim, n, each)
  local sizes = x.shape
  local before, behind = count(sizes, 1, dim - 1), count(sizes, dim + 1, #sizes)
  local size = sizes[dim]
  local rows = each and {before, size, 1, behind} or
    {before, 1, size, behind}
  local wide = {table.unpack(rows)}
  wide[each and 3 or 2] = n
  sizes[dim] = size * n
  return ops.reshape(ops.expand(ops.reshape(x, rows), wide), sizes)
end

--- x laid out several times along each of its dimensions. PyTorch's `repeat`,
-- a word that Lua keeps for itself.
-- @param x tensor
-- @param ... how often, for each of the last dimensions, or a list; more
-- numbers than x has dimensions make new ones in front
-- @return tensor, a copy
-- @raise when a number is negative
-- @usage heed.tensor {1, 2}:tile(2) --> 1 2 1 2
function shape.tile(x, ...)
  check.tensor("tile", "x", x)
  local times = list_of("tile", "times",
    type((...)) == "table" and (...) or {...})
  local y = x
  while y.ndim < #times do y = ops.unsqueeze(y, 1) end
  for i, n in ipairs(times) do
    check.integer("tile", "times[" .. i .. "]", n, 0)
    if n ~= 1 then y = lengthen(y, y.ndim - #times + i, n, false) end
  end
  return y:shares(x) and ops.clone(y) or y
end

-- The position of the entry that each of the results repeats.
local function repeated(repeats, size)
  if not repeats.dtype:find("int") or repeats.ndim > 1 then
    fail("repeat_interleave: repeats must be an integer or a tensor of " ..
      "integers with one dimension, got %s", check.show(repeats))
  end
  local counts = ops.expand(ops.to(repeats, "int64"), {size})
  if size > 0 and counts:min():item() < 0 then
    fail("repeat_interleave: repeats must be at least 0, got %d",
      counts:min():item())
  end
  local ends = ops.cumsum(counts, 1)
  local total = size > 0 and ends[-1]:item() or 0
  return ops.searchsorted(ends, ops.arange(1, total))
end

--- x with each entry of a dimension several times, one behind the other.
-- @param x tensor
-- @param repeats how often: an integer, or a tensor of integers with a number
-- for each entry
-- @tparam[opt] integer dim dimension; without it all elements are one row
-- @return tensor, a copy
-- @raise when a number is negative or there are not as many as entries
-- @usage heed.tensor {1, 2}:repeat_interleave(2) --> 1 1 2 2
function shape.repeat_interleave(x, repeats, dim)
  check.tensor("repeat_interleave", "x", x)
  if dim == nil then x, dim = ops.reshape(x, -1), 1 end
  dim = check.dim("repeat_interleave", x, dim)
  if not check.is_tensor(repeats) then
    check.integer("repeat_interleave", "repeats", repeats, 0)
    local y = lengthen(x, dim, repeats, true)
    return y:shares(x) and ops.clone(y) or y
  end
  local size, n = x:size(dim), repeats:numel()
  if n ~= size and n ~= 1 then
    fail("repeat_interleave: repeats must have %d numbers for dim %d of x " ..
      "%s, got %d", size, dim, check.shape(x.shape), n)
  end
  return ops.index_select(x, repeated(repeats, size), dim)
end

-- -- sizes of other tensors --------------------------------------------------

--- x in the shape of another tensor, as `reshape`.
-- @param x tensor
-- @param other tensor with as many elements
-- @return tensor; a view where the layout allows, else a copy
-- @raise when the number of elements differs
-- @usage heed.arange(4):reshape_as(heed.ones(2, 2)) --> 1 2, 3 4
function shape.reshape_as(x, other)
  return ops.reshape(x, check.tensor("reshape_as", "other", other).shape)
end

--- x seen in the shape of another tensor, as `view`.
-- @param x tensor
-- @param other tensor with as many elements
-- @return view of x
-- @raise when the number of elements differs or the layout does not allow it
-- @usage heed.arange(4):view_as(heed.ones(2, 2)) --> 1 2, 3 4
function shape.view_as(x, other)
  return ops.view(x, check.tensor("view_as", "other", other).shape)
end

--- x stretched to the shape of another tensor, as `expand`.
-- @param x tensor
-- @param other tensor
-- @return view of x
-- @raise when x cannot be stretched so
-- @usage heed.ones(1):expand_as(heed.zeros(2)) --> 1 1
function shape.expand_as(x, other)
  return ops.expand(x, check.tensor("expand_as", "other", other).shape)
end

--- x stretched to a shape, as `expand`.
-- @param x tensor
-- @param ... sizes, or a list of them
-- @return view of x
-- @raise when x cannot be stretched so
-- @usage heed.ones(1):broadcast_to(2, 2) --> 1 1, 1 1
function shape.broadcast_to(x, ...) return ops.expand(x, ...) end

-- The shape that shapes have together: aligned at the end, 1 gives way.
local function common_shape(tensors)
  local sizes = {}
  for i, t in ipairs(tensors) do
    check.tensor("broadcast_tensors", "tensor " .. i, t)
    local own = t.shape
    while #sizes < #own do table.insert(sizes, 1, 1) end
    for k = 0, #own - 1 do
      local at, n = #sizes - k, own[#own - k]
      if sizes[at] ~= n and sizes[at] ~= 1 and n ~= 1 then
        fail("broadcast_tensors: tensor %d %s does not fit to %s of those " ..
          "before it", i, check.shape(own), check.shape(sizes))
      end
      if sizes[at] == 1 then sizes[at] = n end
    end
  end
  return sizes
end

--- Tensors stretched to the shape that they have together.
-- @param ... tensors
-- @return views of them, as several results
-- @raise when their sizes do not fit
-- @usage heed.broadcast_tensors(heed.ones(1), heed.zeros(2)) --> 1 1 0 0
function shape.broadcast_tensors(...)
  local tensors, views = {...}, {}
  local sizes = common_shape(tensors)
  for i, t in ipairs(tensors) do views[i] = ops.expand(t, sizes) end
  return table.unpack(views)
end

--- x with one dimension seen as several.
-- @param x tensor
-- @tparam integer dim dimension
-- @tparam table sizes of the new ones; one may be -1 and is worked out
-- @return view of x
-- @raise when the sizes do not fit
-- @usage heed.arange(4):unflatten(1, {2, -1}) --> 1 2, 3 4
function shape.unflatten(x, dim, sizes)
  check.tensor("unflatten", "x", x)
  dim = check.dim("unflatten", x, dim)
  sizes = list_of("unflatten", "sizes", sizes)
  local old, new, known, open = x.shape, {}, 1, nil
  for i, size in ipairs(sizes) do
    check.integer("unflatten", "sizes[" .. i .. "]", size, -1)
    if size ~= -1 then known = known * size end
    open = size == -1 and (open and 0 or i) or open
  end
  local fits = known == old[dim]
  if open then fits = open > 0 and known > 0 and old[dim] % known == 0 end
  if not fits then
    fail("unflatten: dim %d of x %s cannot become %s", dim, check.shape(old),
      check.shape(sizes))
  end
  for d = 1, #old do
    if d ~= dim then new[#new + 1] = old[d] end
    for i = 1, d == dim and #sizes or 0 do
      new[#new + 1] = i == open and old[dim] // known or sizes[i]
    end
  end
  return ops.view(x, new)
end

return {functions = shape, methods = shape}
