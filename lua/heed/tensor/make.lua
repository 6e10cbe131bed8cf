--- Tensors like others, in other dtypes, from bytes, and grids of positions.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local make = {functions = {}, methods = {}}

local functions <const>, methods <const> = make.functions, make.methods

-- -- like another tensor -----------------------------------------------------

-- The options that were given, with the dtype of x where there is none.
local function options_like(func, x, given, known)
  check.tensor(func, "x", x)
  check.keys(func, given, known)
  local options = {dtype = x.dtype}
  for key, value in next, given or {} do options[key] = value end
  return options
end

-- name_like(x, options): the op `name` for the shape of x.
local function like(name, known)
  local func <const>, op <const> = name .. "_like", ops[name]
  methods[func] = function(x, given)
    if given == nil and check.is_tensor(x) then return op(x.shape, x.dtype) end
    local options = options_like(func, x, given, known)
    return op(x.shape, options)
  end
end

local FILLED <const> = {dtype = true, requires_grad = true}
local DRAWN <const> = {dtype = true, requires_grad = true, generator = true}

--- A tensor of zeros like another one.
-- @function zeros_like
-- @param x tensor
-- @tparam[opt] table options `dtype`, that of x by default; `requires_grad`
-- @return tensor of the shape of x
-- @raise for an unknown option
-- @usage heed.zeros_like(heed.tensor {1, 2}) --> 0 0
like("zeros", FILLED)

--- A tensor of ones like another one.
-- @function ones_like
-- @param x tensor
-- @tparam[opt] table options `dtype`, that of x by default; `requires_grad`
-- @return tensor of the shape of x
-- @raise for an unknown option
-- @usage heed.ones_like(heed.tensor {1, 2}) --> 1 1
like("ones", FILLED)

--- A tensor like another one whose elements are not set.
-- @function empty_like
-- @param x tensor
-- @tparam[opt] table options `dtype`, that of x by default; `requires_grad`
-- @return tensor of the shape of x
-- @raise for an unknown option
-- @usage heed.empty_like(heed.tensor {1, 2}):fill_(3) --> 3 3
like("empty", FILLED)

--- Uniform random numbers from 0 up to 1 in the shape of another tensor.
-- @function rand_like
-- @param x tensor
-- @tparam[opt] table options `dtype`, that of x by default; `requires_grad`;
-- `generator`
-- @return tensor of the shape of x
-- @raise for an unknown option, or a dtype that is not float
-- @usage heed.rand_like(heed.zeros(2, 3)) --> shape (2, 3)
like("rand", DRAWN)

--- Normal random numbers in the shape of another tensor.
-- @function randn_like
-- @param x tensor
-- @tparam[opt] table options `dtype`, that of x by default; `requires_grad`;
-- `generator`
-- @return tensor of the shape of x
-- @raise for an unknown option, or a dtype that is not float
-- @usage heed.randn_like(heed.zeros(2, 3)) --> shape (2, 3)
like("randn", DRAWN)

--- A tensor filled with one number, like another tensor.
-- @param x tensor
-- @param value number or boolean
-- @tparam[opt] table options `dtype`, that of x by default; `requires_grad`
-- @return tensor of the shape of x
-- @raise for an unknown option, or a value that the dtype cannot hold
-- @usage heed.full_like(heed.zeros(2), 0.5) --> 0.5 0.5
function methods.full_like(x, value, options)
  options = options_like("full_like", x, options, FILLED)
  return ops.full(x.shape, value, options)
end

--- Random integers, both ends included, in the shape of another tensor.
-- @param x tensor
-- @tparam integer low
-- @tparam integer high not below low
-- @tparam[opt] table options `dtype`, that of x by default; `generator`
-- @return tensor of the shape of x
-- @raise for an unknown option, and when high is below low
-- @usage heed.randint_like(heed.zeros(2, 3), 1, 6) --> shape (2, 3)
function methods.randint_like(x, low, high, options)
  options = options_like("randint_like", x, options,
    {dtype = true, generator = true})
  local drawn = ops.randint(low, high, x.shape, options.generator)
  return ops.to(drawn, options.dtype)
end

for name, f in pairs(methods) do functions[name] = f end

-- name(x, ...): new_zeros and its kin, in the dtype of x where none is given.
local function new(name, place)
  local func <const>, make_one <const> = "new_" .. name, core.ops[name] or
    core[name]
  methods[func] = function(x, ...)
    local given = table.pack(...)
    local options = options_like(func, x, given[place], FILLED)
    given[place] = options
    return make_one(table.unpack(given, 1, place))
  end
end

--- Zeros in the dtype of x.
-- @function new_zeros
-- @param x tensor
-- @tparam table shape sizes
-- @tparam[opt] table options `dtype`, that of x by default; `requires_grad`
-- @return tensor
-- @raise for a negative or too large shape
-- @usage heed.tensor {1.5}:new_zeros {2} --> 0 0
new("zeros", 2)

--- Ones in the dtype of x.
-- @function new_ones
-- @param x tensor
-- @tparam table shape sizes
-- @tparam[opt] table options `dtype`, that of x by default; `requires_grad`
-- @return tensor
-- @raise for a negative or too large shape
-- @usage heed.tensor {1.5}:new_ones {2} --> 1 1
new("ones", 2)

--- A tensor in the dtype of x whose elements are not set.
-- @function new_empty
-- @param x tensor
-- @tparam table shape sizes
-- @tparam[opt] table options `dtype`, that of x by default; `requires_grad`
-- @return tensor
-- @raise for a negative or too large shape
-- @usage heed.tensor {1.5}:new_empty {2, 3} --> shape (2, 3)
new("empty", 2)

--- A tensor filled with one number, in the dtype of x.
-- @function new_full
-- @param x tensor
-- @tparam table shape sizes
-- @param value number or boolean
-- @tparam[opt] table options `dtype`, that of x by default; `requires_grad`
-- @return tensor
-- @raise for a negative or too large shape, or a value beyond the dtype
-- @usage heed.tensor {1.5}:new_full({2}, 3) --> 3 3
new("full", 3)

--- A tensor from Lua values, in the dtype of x.
-- @function new_tensor
-- @param x tensor
-- @param value number, boolean, nested table or tensor
-- @tparam[opt] table options `dtype`, that of x by default; `requires_grad`
-- @return tensor
-- @raise when the table is ragged, or a number lies beyond the dtype
-- @usage heed.tensor {1.5}:new_tensor {2, 3} --> 2 3
new("tensor", 2)

-- -- in place and in other dtypes --------------------------------------------

--- Fills x with zeros.
-- @function zero_
-- @param x tensor, overwritten
-- @return x
-- @usage heed.ones(2):zero_() --> 0 0
function methods.zero_(x) return ops.fill_(x, 0) end

--- Makes a leaf want gradients, or no longer.
-- @param x float tensor that is no result of an op
-- @tparam[opt=true] boolean wanted
-- @return x
-- @raise when x is a result, or no float
-- @usage local w = heed.zeros(3):requires_grad_()
function methods.requires_grad_(x, wanted)
  check.tensor("requires_grad_", "x", x)
  if wanted == nil then wanted = true end
  x.requires_grad = check.kind("requires_grad_", "wanted", wanted, "boolean")
  return x
end

--- x in another dtype: `bool()`, `int()` (int32), `long()` (int64), `half()`
-- (float16), `bfloat16()`, `float()` (float32) and `double()` (float64) are
-- `to` under PyTorch's names of the dtypes.
-- @function float
-- @param x tensor
-- @return tensor of the shape of x; a view of it when the dtype is right
-- @usage heed.tensor {1, 2}:float().dtype --> float32
-- @usage heed.tensor {1.5, 0}:bool() --> true false
-- @usage heed.tensor {1.5, 2}:int() --> 1 2
-- @usage heed.tensor {1.5, 2}:long().dtype --> int64
-- @usage heed.tensor {1, 2}:half().dtype --> float16
-- @usage heed.tensor {1, 2}:bfloat16().dtype --> bfloat16
-- @usage heed.tensor {1, 2}:double().dtype --> float64
for name, dtype in pairs {
  bool = "bool", int = "int32", long = "int64", half = "float16",
  bfloat16 = "bfloat16", float = "float32", double = "float64",
} do
  methods[name] = function(x) return ops.to(x, dtype) end
end

--- x in the dtype of another tensor.
-- @function type_as
-- @param x tensor
-- @param other tensor
-- @return tensor of the shape of x; a view of it when the dtype is right
-- @usage heed.tensor {1, 2}:type_as(heed.ones(1)) --> 1 2
function methods.type_as(x, other)
  return ops.to(x, check.tensor("type_as", "other", other).dtype)
end

--- x in another dtype, or in that of another tensor.
-- @param x tensor
-- @param dtype `"float32"` and so on, or a tensor
-- @return tensor of the shape of x; a view of it when the dtype is right
-- @raise for an unknown dtype
-- @usage heed.tensor {1.5}:to(heed.tensor {1}) --> 1
function methods.to(x, dtype, ...)
  if check.is_tensor(dtype) then dtype = dtype.dtype end
  return ops.to(x, dtype, ...)
end
functions.to = methods.to

-- -- from bytes --------------------------------------------------------------

--- A tensor from the bytes of its elements, row-major and little-endian, as
-- `t:tobytes()` gives them.
-- @tparam string bytes
-- @tparam[opt] table shape sizes; one dimension by default
-- @tparam[opt] table options `dtype`, float32 by default
-- @return tensor
-- @raise when the number of bytes does not fit
-- @usage heed.frombytes("\1\2", {2}, {dtype = "uint8"}) --> 1 2
function functions.frombytes(bytes, shape, options)
  check.kind("frombytes", "bytes", bytes, "string")
  check.types("frombytes", options, {dtype = "string"})
  local flat = core.from_bytes(bytes, options and options.dtype or "float32")
  if not shape then return flat end
  local n, problem = check.list(shape, "number")
  if not n then check.fail("frombytes: shape%s", problem) end
  local count = 1
  for _, size in ipairs(shape) do count = count * size end
  if count ~= flat:numel() then
    check.fail("frombytes: %d bytes hold %d elements of %s, but shape %s " ..
      "has %s", #bytes, flat:numel(), flat.dtype, check.shape(shape),
      check.show(count))
  end
  return ops.reshape(flat, shape)
end

-- -- sequences and grids -----------------------------------------------------

--- Powers of a base whose exponents lie at equal distances.
-- @tparam number first exponent
-- @tparam number last exponent
-- @tparam integer steps how many numbers
-- @tparam[opt=10] number base
-- @tparam[opt] table options `dtype`, float32 by default; `requires_grad`
-- @return tensor (steps)
-- @raise when steps is negative
-- @usage heed.logspace(0, 2, 3) --> 1 10 100
function functions.logspace(first, last, steps, base, options)
  if type(base) == "table" then base, options = nil, base end
  check.number("logspace", "first", first)
  check.number("logspace", "last", last)
  check.integer("logspace", "steps", steps, 0)
  check.keys("logspace", options, FILLED)
  base = base and check.number("logspace", "base", base) or 10
  local o = options or {}
  local exponents = ops.linspace(first, last, steps, "float64")
  local t = ops.to(ops.pow(base, exponents), o.dtype or "float32")
  t.requires_grad = o.requires_grad or false
  return t
end

-- The positions of a triangle of an n by m matrix, [2 count].
local function triangle(func, keep)
  functions[func] = function(n, m, diagonal)
    check.integer(func, "n", n, 0)
    m = m == nil and n or check.integer(func, "m", m, 0)
    local ones = ops.ones({n, m}, "bool")
    return ops.transpose(ops.nonzero(keep(ones, diagonal or 0)), 1, 2)
  end
end

--- The positions of the lower triangle of a matrix, row by row.
-- @function tril_indices
-- @tparam integer n rows
-- @tparam[opt=n] integer m columns
-- @tparam[opt=0] integer diagonal the last one that belongs to it
-- @return int64 tensor [2 count]: rows, columns
-- @raise when n or m is negative
-- @usage heed.tril_indices(2) --> 1 2 2, 1 1 2
triangle("tril_indices", ops.tril)

--- The positions of the upper triangle of a matrix, row by row.
-- @function triu_indices
-- @tparam integer n rows
-- @tparam[opt=n] integer m columns
-- @tparam[opt=0] integer diagonal the first one that belongs to it
-- @return int64 tensor [2 count]: rows, columns
-- @raise when n or m is negative
-- @usage heed.triu_indices(2) --> 1 1 2, 1 2 2
triangle("triu_indices", ops.triu)

--- Grids of coordinates from their axes: of n tensors with one dimension each,
-- n tensors of one shape, in which only dimension i of number i changes.
-- @param ... tensors with at most one dimension, of one dtype; then
-- options: `indexing` is `"ij"`, the default, or `"xy"`, where the first two
-- dimensions are exchanged, as pictures have them
-- @return views of the tensors, as several results
-- @raise when a tensor has more dimensions, or dtypes differ
-- @usage local rows, columns = heed.meshgrid(heed.arange(2), heed.arange(3))
function functions.meshgrid(...)
  local axes = {...}
  local options = not check.is_tensor(axes[#axes]) and table.remove(axes)
  check.types("meshgrid", options or nil, {indexing = "string"})
  local indexing = options and options.indexing or "ij"
  if indexing ~= "ij" and indexing ~= "xy" then
    check.fail('meshgrid: indexing must be "ij" or "xy", got %s',
      check.show(indexing))
  end
  local sizes, at, grids = {}, {}, {}
  for i, t in ipairs(axes) do
    check.tensor("meshgrid", "tensor " .. i, t)
    if t.ndim > 1 or t.dtype ~= axes[1].dtype then
      check.fail("meshgrid: tensor %d must have at most one dimension and " ..
        "dtype %s, got %s", i, axes[1].dtype, check.show(t))
    end
    at[i] = i
    if indexing == "xy" and #axes > 1 and i <= 2 then at[i] = 3 - i end
    sizes[at[i]] = t:numel()
  end
  for i, t in ipairs(axes) do
    local shape = {}
    for d = 1, #axes do shape[d] = d == at[i] and -1 or 1 end
    grids[i] = ops.expand(ops.reshape(t, shape), sizes)
  end
  return table.unpack(grids)
end

functions.one_hot = ops.one_hot

return make
