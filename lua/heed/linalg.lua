--- linalg: decompositions, equations and norms of matrices.
--
-- All functions take batches: the last two dimensions are the matrices. Those
-- through LAPACK run on one thread, so that no result depends on the threads.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local linalg = {}

for _, op in ipairs(core.op_table) do
  if op.group == "linalg" then linalg[op.name] = ops[op.name] end
end

linalg.matmul = ops.matmul
linalg.cross = require "heed.tensor.algebra".functions.cross

--- A diagonal of each matrix of a batch, as a view.
-- @param x tensor (..., m, n)
-- @tparam[opt=0] integer offset above the main diagonal; below it when negative
-- @tparam[opt=-2] integer dim1 dimension of the rows
-- @tparam[opt=-1] integer dim2 dimension of the columns
-- @return view of x
-- @usage heed.linalg.diagonal(heed.ones(5, 2, 3)) --> shape (5, 2)
function linalg.diagonal(x, ...)
  local offset, dim1, dim2 = check.arguments("diagonal",
    {"offset", "dim1", "dim2"}, ...)
  return ops.diagonal(x, offset, dim1 or -2, dim2 or -1)
end

-- -- norms -------------------------------------------------------------------

local MATRIX_ORDS <const> = '"fro", "nuc", inf, -inf, 1, -1, 2 or -2'

-- Two different dimensions of x, as they count from the end.
local function two_dims(func, x, dim)
  local n, problem = check.list(dim, "number")
  if not n or n ~= 2 then
    check.fail("%s: dim%s", func, problem or
      (" must be two dimensions, got %d"):format(n))
  end
  local list = {}
  for k = 1, 2 do
    local d = check.integer(func, "dim", dim[k])
    local at = d > 0 and d - x.ndim - 1 or d
    if at >= 0 or at < -x.ndim then
      check.fail("%s: dim must be 1..%d or -%d..-1 for x %s, got %d", func,
        x.ndim, x.ndim, check.shape(x.shape), d)
    end
    list[k] = at
  end
  if list[1] == list[2] then
    check.fail("%s: dim %d is given twice", func, dim[1])
  end
  return list
end

local function put_back(y, dims, keepdim)
  if not keepdim then return y end
  table.sort(dims, function(a, b) return a > b end)
  -- the smaller one (further from the end) is put in last
  return ops.unsqueeze(ops.unsqueeze(y, dims[1] == -1 and -1 or dims[1]),
    dims[2])
end

-- Norms through singular values, of the matrices in two dimensions.
local function by_values(x, ord, dims, keepdim)
  local n, order = x.ndim, {}
  local rows, columns = dims[1] + n + 1, dims[2] + n + 1
  for d = 1, n do
    if d ~= rows and d ~= columns then order[#order + 1] = d end
  end
  order[n - 1], order[n] = rows, columns
  local s = ops.svdvals(ops.permute(x, order))
  local y
  if ord == "nuc" then y = ops.sum(s, -1)
  elseif ord == 2 then y = ops.max(s, -1)
  else y = ops.min(s, -1) end
  return put_back(y, dims, keepdim)
end

-- The extreme of the sums of absolute values along dims[from].
local function by_sums(x, ord, dims, keepdim)
  local along, over = dims[1], dims[2]
  if math.abs(ord) == math.huge then along, over = over, along end
  local sums = ops.sum(ops.abs(x), along, true)
  local y = ord > 0 and ops.max(sums, over, true) or ops.min(sums, over, true)
  return keepdim and y or ops.squeeze(y, dims)
end

--- The norms of matrices.
-- @param x float tensor (..., m, n)
-- @param[opt="fro"] ord `"fro"`: the root of the sum of squares; `"nuc"`: the
-- sum of the singular values; 2 and -2: the largest and the smallest of them;
-- 1 and -1: the largest and the smallest sum of absolute values of a column;
-- `math.huge` and `-math.huge`: the same of a row
-- @param[opt={-2,-1}] dim list: the dimensions of rows and columns
-- @tparam[opt=false] boolean keepdim keep both with size 1
-- @return tensor without these dimensions
-- @raise for another ord, and when a dimension is out of range
-- @usage heed.linalg.matrix_norm(heed.tensor {{1.0, 2.0}, {3.0, 4.0}}, 1) --> 6
function linalg.matrix_norm(x, ...)
  local ord, dim, keepdim = check.arguments("matrix_norm",
    {"ord", "dim", "keepdim"}, ...)
  check.tensor("matrix_norm", "x", x)
  if ord == nil then ord = "fro" end
  if x.ndim < 2 then
    check.fail("matrix_norm: x must have at least 2 dimensions, got %s",
      check.show(x))
  end
  local dims = two_dims("matrix_norm", x, dim or {-2, -1})
  if ord == "fro" then return ops.vector_norm(x, 2, dims, keepdim) end
  if ord == "nuc" or ord == 2 or ord == -2 then
    return by_values(x, ord, dims, keepdim)
  end
  local size = type(ord) == "number" and math.abs(ord)
  if size == 1 or size == math.huge then
    return by_sums(x, ord, dims, keepdim)
  end
  check.fail("matrix_norm: ord must be %s, got %s", MATRIX_ORDS,
    check.show(ord))
end

--- A norm of vectors or matrices, whichever `dim` says.
-- @param x float tensor
-- @param[opt] ord a number for vectors (`vector_norm`), or what `matrix_norm`
-- takes for matrices; by default 2 over all elements
-- @param[opt] dim an integer for vectors, a list of two for matrices; by
-- default all dimensions, which must be one or two when `ord` is given
-- @tparam[opt=false] boolean keepdim keep the reduced dimensions with size 1
-- @return tensor without the reduced dimensions
-- @raise for an ord that is not known, and when a dimension is out of range
-- @usage heed.linalg.norm(heed.tensor {{3.0, 0.0}, {0.0, 4.0}}, "nuc") --> 7
function linalg.norm(x, ...)
  local ord, dim, keepdim = check.arguments("norm", {"ord", "dim", "keepdim"},
    ...)
  check.tensor("norm", "x", x)
  if ord == nil then return ops.vector_norm(x, 2, dim, keepdim) end
  local n = type(dim) == "table" and #dim or dim and 1 or x.ndim
  if n == 2 then return linalg.matrix_norm(x, ord, dim, keepdim) end
  if n ~= 1 then
    check.fail("norm: with ord, x %s must have 1 or 2 dimensions, or dim " ..
      "name them", check.shape(x.shape))
  end
  if type(ord) ~= "number" then
    check.fail("norm: ord of vectors must be a number, got %s",
      check.show(ord))
  end
  return ops.vector_norm(x, ord, dim, keepdim)
end

-- -- out of the others -------------------------------------------------------

local EPSILON <const> = {float32 = 0x1p-23, float64 = 0x1p-52}

--- The ranks of matrices: how many singular values are above
-- max(atol, rtol * the largest one).
-- @param x float tensor (..., m, n)
-- @tparam[opt=0] number atol
-- @tparam[opt] number rtol 0 when atol is given, else max(m, n) times the
-- dtype's epsilon
-- @return int64 tensor (...)
-- @raise when a matrix has a NaN or an infinity
-- @usage heed.linalg.matrix_rank(heed.ones(3, 2)) --> 1
function linalg.matrix_rank(x, ...)
  local atol, rtol = check.arguments("matrix_rank", {"atol", "rtol"}, ...)
  check.tensor("matrix_rank", "x", x)
  local _ <close> = core.no_grad()
  local s = ops.svdvals(x)
  if not rtol then
    rtol = atol and 0 or
      math.max(x:size(-1), x:size(-2)) * (EPSILON[s.dtype] or 0x1p-23)
  end
  if s:size(-1) == 0 then return ops.sum(ops.gt(s, 0), -1) end
  local limit = ops.clamp(ops.max(s, -1, true) * rtol, atol or 0)
  return ops.sum(ops.gt(s, limit), -1)
end

--- The product of n times the same square matrix; of its inverse for n below 0.
-- @param x float tensor (..., m, m)
-- @tparam integer n
-- @return tensor like x
-- @raise when the matrices are not square; for n below 0, when one is singular
-- @usage heed.linalg.matrix_power(heed.tensor {{1.0, 1.0}, {0.0, 1.0}}, 5)
function linalg.matrix_power(x, n)
  check.tensor("matrix_power", "x", x)
  n = check.integer("matrix_power", "n", n)
  if x.ndim < 2 or x:size(-1) ~= x:size(-2) then
    check.fail("matrix_power: x must be square matrices (..., m, m), got %s",
      check.show(x))
  end
  if n < 0 then x, n = ops.inv(x), -n end
  if n == 0 then
    local one = ops.eye(x:size(-1), {dtype = x.dtype})
    return ops.clone(ops.expand(one, x.shape))
  end
  local result
  while true do -- n = 13: x^1 x^4 x^8
    if n & 1 == 1 then result = result and ops.matmul(result, x) or x end
    n = n >> 1
    if n == 0 then return result end
    x = ops.matmul(x, x)
  end
end

--- The condition numbers of matrices: by how much the solution of a system may
-- grow when what is given changes. Infinite for singular ones.
-- @param x float tensor (..., m, n); square unless p is 2 or -2
-- @param[opt=2] p the norm, a number or string as `ord` of `matrix_norm`
-- @return tensor (...)
-- @raise when a matrix has a NaN or an infinity
-- @usage heed.linalg.cond(heed.tensor {{1.0, 0.0}, {0.0, 4.0}}) --> 4
function linalg.cond(x, p)
  check.tensor("cond", "x", x)
  if p == nil or p == 2 or p == -2 then
    local s = ops.svdvals(x)
    local large, small = ops.max(s, -1), ops.min(s, -1)
    if p == -2 then large, small = small, large end
    return ops.div(large, small)
  end
  local sign = ops.slogdet(ops.detach(x))
  local singular = ops.eq(sign, 0)
  local mask = ops.unsqueeze(ops.unsqueeze(singular, -1), -1)
  local inverse = ops.inv(ops.where(mask,
    ops.eye(x:size(-1), {dtype = x.dtype}), x))
  local value = ops.mul(linalg.matrix_norm(x, p),
    linalg.matrix_norm(inverse, p))
  return ops.where(singular, math.huge, value)
end

--- Least squares: the x of least norm among those that make the norm of
-- a x - b least.
-- @param a float tensor (..., m, n)
-- @param b tensor (..., m, k), or (..., m): one column for each matrix
-- @tparam[opt] number rcond singular values of a up to this part of the largest
-- one count as 0; by default max(m, n) times the dtype's epsilon
-- @return tensor (..., n, k) or (..., n)
-- @return tensor (..., k): the squared norms of a x - b; without elements
-- unless m > n and all of a have rank n
-- @return int64 tensor (...): the ranks of a
-- @return tensor (..., min(m, n)): the singular values of a
-- @raise when a matrix of a has a NaN or an infinity, or sizes do not fit
-- @usage local a, b = heed.tensor {{1.0}, {1.0}}, heed.tensor {1.0, 3.0}
-- heed.linalg.lstsq(a, b)
function linalg.lstsq(a, b, ...)
  local rcond = check.arguments("lstsq", {"rcond"}, ...)
  check.tensor("lstsq", "a", a)
  check.tensor("lstsq", "b", b)
  local vector = b.ndim == a.ndim - 1
  if vector then b = ops.unsqueeze(b, -1) end
  local x, rank, values = ops.lstsq(a, b, rcond)
  local rows, columns = a:size(-2), a:size(-1)
  local residuals
  if rows > columns and ops.all(ops.eq(rank, columns)):item() then
    local rest = ops.sub(ops.matmul(a, x), b)
    residuals = ops.sum(ops.mul(rest, rest), -2)
  else
    residuals = ops.zeros({0}, {dtype = x.dtype})
  end
  if vector then x = ops.squeeze(x, -1) end
  return x, residuals, rank, values
end

return linalg
