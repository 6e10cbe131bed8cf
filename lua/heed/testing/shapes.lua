--- Generators of shapes and of tensors; read `choices.lua` first.
local check = require "heed.check"
local choices = require "heed.testing.choices"
local core = require "heed.core"
local generators = require "heed.testing.generators"
local layout = require "heed.testing.layout"
local values = require "heed.testing.values"

local ops <const> = core.ops

local shapes = {}

-- Sizes at which loops over vectors and blocks go wrong: primes, powers of two
-- and their neighbours.
local PRIMES <const> = {2, 3, 5, 7, 11, 13}
local NEIGHBOURS <const> = {4, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65}

-- An awkward size of a range.
local function sample_size(source, low, high)
  local kind, size = source:unit(), nil
  if kind < 0.08 then
    size = 0
  elseif kind < 0.3 then
    size = 1
  elseif kind < 0.65 then
    size = source:pick(PRIMES)
  elseif kind < 0.85 then
    size = source:pick(NEIGHBOURS)
  end
  if size and size >= low and size <= high then return size end
  -- small ones are as frequent as large ones
  local span = high - low + 1
  return math.min(high, low + math.floor(span ^ source:unit()) - 1)
end

local function range(func, name, value)
  if math.type(value) == "integer" then value = {value, value} end
  if type(value) ~= "table" or #value ~= 2 then
    check.fail("%s: %s must be a number or {low, high}, got %s", func, name,
      check.show(value))
  end
  local low = check.integer(func, name .. "[1]", value[1], 0)
  return low, check.integer(func, name .. "[2]", value[2], low)
end

local SHAPE_OPTIONS <const> = {ndim = {0, 4}, size = {0, 65}, elements = 200}

local function shape_generator(func, options)
  local o = check.options(func, options, SHAPE_OPTIONS)
  local least, most = range(func, "ndim", o.ndim)
  local low, high = range(func, "size", o.size)
  local elements = check.integer(func, "elements", o.elements, 1)
  local ndim = generators.integer_spec(least, most,
    function(source) return source:integer(least, most) end)
  return choices.generator(function(draw)
    local shape, room = {}, elements
    draw:node().list = true
    for d = 1, draw:leaf(ndim) do
      local top = math.max(low, math.min(high, room))
      local spec = generators.integer_spec(low, top,
        function(source) return sample_size(source, low, top) end)
      shape[d] = draw:leaf(spec)
      room = room // math.max(1, shape[d])
    end
    return shape
  end)
end

--- Returns a generator of shapes that make trouble: no dimensions, sizes of 0
-- and 1, primes, powers of two and their neighbours.
-- @tparam[opt] table options `ndim`: how many dimensions, a number or `{low,
-- high}` ({0, 4}); `size`: of each dimension, so too ({0, 65}); `elements`: at
-- most how many the whole has (200)
-- @treturn table generator of lists of sizes
-- @raise for a range that is none, and unknown options
-- @usage local shape = heed.testing.shapes {ndim = 2, size = {1, 9}}
-- return shape:example() --> 1 1
function shapes.shapes(options)
  return shape_generator("shapes", options)
end

-- A shape that broadcasts to another: dimensions in front left out, others 1.
local DROPPED <const> = {false, false, false, true}
local function operand(draw, shape)
  local most = #shape
  local skip = draw:leaf(generators.integer_spec(0, most, function(source)
    return source:pick(DROPPED) and source:integer(0, most) or 0
  end))
  local sizes = {}
  for d = skip + 1, most do
    local single = draw:leaf(generators.integer_spec(0, 1,
      function(source) return source:unit() < 0.3 and 1 or 0 end))
    sizes[#sizes + 1] = single == 1 and 1 or shape[d]
  end
  return sizes
end

--- Returns a generator of lists of shapes that broadcast with each other. They
-- shrink towards shapes that are the same.
-- @tparam[opt=2] integer count how many
-- @tparam[opt] table options those of `shapes`
-- @treturn table generator of lists of `count` shapes
-- @raise as `shapes`
-- @usage local testing = heed.testing
-- local pair = testing.custom(function(draw)
--   local sizes = draw(testing.broadcast_shapes(2))
--   return {draw(testing.tensor {shape = sizes[1]}),
--     draw(testing.tensor {shape = sizes[2]})}
-- end)
-- testing.property(function(ab)
--   return testing.tensors_close(ab[1] + ab[2], ab[2] + ab[1])
-- end, {pair}, {examples = 20, seed = 1})
function shapes.broadcast_shapes(count, options)
  count = check.integer("broadcast_shapes", "count", count or 2, 1)
  local whole = shape_generator("broadcast_shapes", options)
  return choices.generator(function(draw)
    local shape, list = draw(whole), {}
    local one = choices.generator(function(inner)
      return operand(inner, shape)
    end)
    for i = 1, count do list[i] = draw(one) end
    return list
  end)
end

-- -- tensors -----------------------------------------------------------------

-- The values of a dtype when no others are wanted.
local function usual_values(dtype)
  if values.is_float(dtype) then return generators.number() end
  if dtype == "bool" then return generators.boolean() end
  return generators.integer(dtype == "uint8" and 0 or -10, 10)
end

-- An option that is a value, or a generator of it.
local function drawn(draw, option)
  if choices.is_generator(option) then return draw(option) end
  return option
end

-- The elements of an old tree where they stand in a new shape, so that what
-- is in a corner stays there when sizes get smaller.
local function relaid(old, first, shape)
  local grid = old and old.grid
  if not grid then return old end
  local node, count = {}, 1
  for _, size in ipairs(shape) do count = count * size end
  for n = 1, count do
    local from = n
    if #shape == #grid.shape then
      from = 0
      for d, at in ipairs(values.place(shape, n)) do
        local size = grid.shape[d]
        from = from and at <= size and from * size + at - 1 or nil
      end
      from = from and from + 1
    end
    node[first + n - 1] = from and old[grid.first + from - 1]
  end
  return node
end

local LAYOUTS <const> = {"plain", "transposed", "strided"}

local function check_shape(shape)
  if choices.is_generator(shape) then return end
  local n, text = check.list(shape, "number")
  if not n then check.fail("tensor: shape%s", text) end
  for d = 1, n do
    check.integer("tensor", ("shape[%d]"):format(d), shape[d], 0)
  end
end

local function read_options(options)
  local o = check.options("tensor", options, {
    dtype = "float32", shape = check.NONE, values = check.NONE, views = false,
  })
  if o.shape == nil then o.shape = shapes.shapes() end
  check_shape(o.shape)
  if type(o.dtype) == "table" and not choices.is_generator(o.dtype) then
    o.dtype = generators.choice(o.dtype)
  end
  if not choices.is_generator(o.dtype) then
    check.kind("tensor", "dtype", o.dtype, "string")
  end
  if o.values ~= nil then generators.check("tensor", "values", o.values) end
  return o
end

-- Numbers [1 .. n] as a tensor of a shape.
local function build(list, shape, dtype)
  if #list == 0 then return ops.zeros(shape, {dtype = dtype}) end
  if values.is_float(dtype) then
    for i, v in ipairs(list) do list[i] = v + 0.0 end
  end
  return core.tensor(list, {dtype = dtype}):reshape(shape)
end

--- Returns a generator of tensors. They shrink in their sizes, each row,
-- column or slice that is not needed being left out, and to simple values.
-- @tparam[opt] table options `dtype`: a name, a list of names to choose from,
-- or a generator of names ("float32"); `shape`: a list of sizes or a generator
-- (`shapes()`); `values`: a generator of an element (floats from -10 to 10,
-- integers from -10 to 10, for uint8 from 0, booleans); `views`: also tensors
-- that do not lie in one piece (false)
-- @treturn table generator
-- @raise for what is no shape, dtype or generator, and unknown options
-- @usage local testing = heed.testing
-- local x = testing.tensor {dtype = {"float32", "float64"}, shape = {2, 3},
--   values = testing.number(0, 1), views = true}
-- return x:example() --> shape (2, 3)
function shapes.tensor(options)
  local o = read_options(options)
  local views = generators.integer_spec(1, #LAYOUTS,
    function(source) return source:integer(1, #LAYOUTS) end)
  return choices.generator(function(draw)
    local how = o.views and LAYOUTS[draw:leaf(views)] or "plain"
    local dtype = drawn(draw, o.dtype)
    local shape = drawn(draw, o.shape)
    local shape_at = choices.is_generator(o.shape) and draw:count() or nil
    local node, old = draw:node()
    local first = draw:count() + 1
    node.grid = {first = first, shape = shape, shape_at = shape_at}
    draw:follow(relaid(old, first, shape))
    local list, count = {}, 1
    for _, size in ipairs(shape) do count = count * size end
    local element = o.values or usual_values(dtype)
    for i = 1, count do list[i] = draw(element) end
    return layout.laid_out(build(list, shape, dtype), how)
  end)
end

return shapes
