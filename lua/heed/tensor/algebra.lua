--- Products and matrices out of other ops: all of these are functions of heed
-- and methods of tensors.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local algebra = {}

local function want_ndim(func, name, t, ndim)
  check.tensor(func, name, t)
  if t.ndim ~= ndim then
    check.fail("%s: %s must have %d dimension%s, got %s", func, name, ndim,
      ndim == 1 and "" or "s", check.show(t))
  end
end

--- The products of every element of a with every one of b.
-- @param a tensor (m)
-- @param b tensor (n)
-- @return tensor (m, n)
-- @raise when a or b is no vector
-- @usage heed.tensor {1, 2}:outer(heed.tensor {3, 4}) --> 3 4, 6 8
function algebra.outer(a, b)
  want_ndim("outer", "a", a, 1)
  want_ndim("outer", "b", b, 1)
  return ops.mul(ops.unsqueeze(a, -1), b)
end

--- The sum of the elements on the diagonal of a matrix.
-- @param x tensor (m, n)
-- @return tensor without dimensions
-- @raise when x is no matrix
-- @usage heed.tensor {{1, 2}, {3, 4}}:trace() --> 5
function algebra.trace(x)
  want_ndim("trace", "x", x, 2)
  return ops.sum(ops.diagonal(x))
end

--- A matrix of zeros with the vector x on a diagonal; of a matrix, a copy of a
-- diagonal. `diagonal` gives it as a view.
-- @param x tensor (n) or (m, n)
-- @tparam[opt=0] integer offset above the main diagonal; below it when negative
-- @return tensor
-- @raise when x is no vector and no matrix
-- @usage heed.tensor {1, 2}:diag() --> 1 0, 0 2
function algebra.diag(x, offset)
  check.tensor("diag", "x", x)
  offset = check.integer("diag", "offset", offset or 0)
  if x.ndim == 1 then return ops.diag_embed(x, offset) end
  if x.ndim == 2 then return ops.clone(ops.diagonal(x, offset)) end
  check.fail("diag: x must have 1 or 2 dimensions, got %s", check.show(x))
end

--- The Kronecker product: a with every element times all of b in its place.
-- @param a tensor
-- @param b tensor; the one with fewer dimensions gets ones in front
-- @return tensor whose sizes are the products of those of a and b
-- @raise when a or b has more than 4 dimensions
-- @usage heed.tensor {1, 10}:kron(heed.tensor {1, 2}) --> 1 2 10 20
function algebra.kron(a, b)
  check.tensor("kron", "a", a)
  check.tensor("kron", "b", b)
  local p, q, left, right, sizes = a.shape, b.shape, {}, {}, {}
  local n = math.max(#p, #q)
  if n > 4 then
    check.fail("kron: a %s and b %s must have at most 4 dimensions",
      check.shape(p), check.shape(q))
  end
  for d = 1, n do
    local i, j = p[d - n + #p] or 1, q[d - n + #q] or 1
    left[2 * d - 1], left[2 * d] = i, 1
    right[2 * d - 1], right[2 * d] = 1, j
    sizes[d] = i * j
  end
  return ops.reshape(ops.mul(ops.reshape(a, left), ops.reshape(b, right)),
    sizes)
end

--- The cross product of vectors with three elements.
-- @param a tensor
-- @param b tensor that broadcasts with a
-- @tparam[opt=-1] integer dim the dimension of size 3
-- @return tensor
-- @raise when dim has another size
-- @usage heed.tensor {1, 0, 0}:cross(heed.tensor {0, 1, 0}) --> 0 0 1
function algebra.cross(a, b, dim)
  check.tensor("cross", "a", a)
  check.tensor("cross", "b", b)
  dim = check.integer("cross", "dim", dim or -1)
  local p, q = a.shape, b.shape
  local at = dim < 0 and dim or dim - math.max(#p, #q) - 1
  if dim == 0 or p[#p + 1 + at] ~= 3 or q[#q + 1 + at] ~= 3 then
    check.fail("cross: dim %d of a %s and b %s must have size 3", dim,
      check.shape(p), check.shape(q))
  end
  local next_one = core.tensor({2, 3, 1}, {dtype = "int64"})
  local one_before = core.tensor({3, 1, 2}, {dtype = "int64"})
  local function turn(t, index) return ops.index_select(t, index, at) end
  return ops.sub(
    ops.mul(turn(a, next_one), turn(b, one_before)),
    ops.mul(turn(a, one_before), turn(b, next_one)))
end

-- -- tensordot ---------------------------------------------------------------

-- The dimensions of one operand: a list of positions from 1, each once.
local function read_dims(name, t, dims)
  local count, problem = check.list(dims, "number")
  if not count then check.fail("tensordot: dims of %s%s", name, problem) end
  local list, seen = {}, {}
  for k, d in ipairs(dims) do
    local n = math.tointeger(d)
    local at = n and (n < 0 and n + t.ndim + 1 or n)
    if not at or at < 1 or at > t.ndim then
      check.fail("tensordot: dims of %s must be 1..%d or -%d..-1 for %s, " ..
        "got %s", name, t.ndim, t.ndim, check.shape(t.shape), check.show(d))
    end
    if seen[at] then
      check.fail("tensordot: dim %d of %s is given twice", at, name)
    end
    list[k], seen[at] = at, true
  end
  return list, seen
end

local function range(first, last)
  local list = {}
  for d = first, last do list[#list + 1] = d end
  return list
end

-- t as a matrix: its other dimensions, and those to sum over; `sum_first` puts
-- the latter into rows. Returns the sizes of the others, too.
local function as_matrix(t, dims, seen, sum_first)
  local order, sizes, shape = {}, {}, t.shape
  local others, inner = 1, 1
  for d = 1, #shape do
    if not seen[d] then
      order[#order + 1] = d
      sizes[#sizes + 1] = shape[d]
      others = others * shape[d]
    end
  end
  for k, d in ipairs(dims) do
    table.insert(order, sum_first and k or #order + 1, d)
    inner = inner * shape[d]
  end
  local rows, columns = others, inner
  if sum_first then rows, columns = inner, others end
  return ops.reshape(ops.permute(t, order), {rows, columns}), sizes
end

--- The sum of the products of a and b over pairs of dimensions.
-- @param a float tensor
-- @param b float tensor
-- @param[opt=2] dims how many of the last dimensions of a meet the first of b,
-- or two lists {dims of a, dims of b}
-- @return tensor with the other dimensions of a, then those of b
-- @raise when sizes of a pair differ, or dims are out of range
-- @usage heed.ones(2, 3, 4):tensordot(heed.ones(4, 3, 5), {{2, 3}, {2, 1}})
function algebra.tensordot(a, b, dims)
  check.tensor("tensordot", "a", a)
  check.tensor("tensordot", "b", b)
  dims = dims or 2
  if type(dims) ~= "table" then
    local n = check.integer("tensordot", "dims", dims, 0)
    if n > a.ndim or n > b.ndim then
      check.fail("tensordot: a %s and b %s have no %d dimensions to sum over",
        check.shape(a.shape), check.shape(b.shape), n)
    end
    dims = {range(a.ndim - n + 1, a.ndim), range(1, n)}
  end
  local left, in_a = read_dims("a", a, dims[1])
  local right, in_b = read_dims("b", b, dims[2])
  if #left ~= #right then
    check.fail("tensordot: dims names %d dimensions of a and %d of b", #left,
      #right)
  end
  for k, d in ipairs(left) do
    local m, n = a:size(d), b:size(right[k])
    if m ~= n then
      check.fail("tensordot: dim %d of a %s has size %d, dim %d of b %s has %d",
        d, check.shape(a.shape), m, right[k], check.shape(b.shape), n)
    end
  end
  local p, sizes = as_matrix(a, left, in_a, false)
  local q, more = as_matrix(b, right, in_b, true)
  table.move(more, 1, #more, #sizes + 1, sizes)
  return ops.reshape(ops.matmul(p, q), sizes)
end

-- -- norm --------------------------------------------------------------------

local NORM <const> = {"p", "dim", "keepdim"}

--- The p-norm of the elements over some or all dimensions.
-- @param x float tensor
-- @param[opt=2] p a number (`linalg.vector_norm`); `"fro"` is 2 over all the
-- dimensions, `"nuc"` the sum of the singular values of matrices
-- @param[opt] dim one dimension or a list; all by default
-- @tparam[opt=false] boolean keepdim keep the reduced dimensions with size 1
-- @return tensor without the reduced dimensions
-- @raise for an unknown p, and when a dimension is out of range
-- @usage heed.tensor {3.0, -4.0}:norm() --> 5
function algebra.norm(x, ...)
  local p, dim, keepdim = check.arguments("norm", NORM, ...)
  if p == nil or p == "fro" then p = 2 end
  if type(p) == "number" then
    return ops.vector_norm(x, p, dim, keepdim)
  end
  if p ~= "nuc" then
    check.fail('norm: p must be a number, "fro" or "nuc", got %s',
      check.show(p))
  end
  return require "heed.linalg".matrix_norm(x, "nuc", dim or {-2, -1}, keepdim)
end

return {functions = algebra, methods = algebra}
