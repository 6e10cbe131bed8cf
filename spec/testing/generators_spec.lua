-- The generators of heed.testing: ranges, shapes, tensors, what is refused.
local heed = require "heed"
local message_of = require "spec.support.message"
local testing = require "heed.testing"

-- Calls f with the values of many seeds.
local function each(generator, f)
  for seed = 1, 300 do f(generator:example(seed)) end
end

local function count_of(shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return n
end

describe("generators of numbers", function()
  it("stay within their ends, and reach them", function()
    local seen = {}
    each(testing.integer(-3, 2), function(n)
      assert.equal("integer", math.type(n))
      assert.is_true(n >= -3 and n <= 2)
      seen[n] = true
    end)
    assert.is_true(seen[-3] and seen[2])
    local low, high
    each(testing.number(-0.5, 0.25), function(v)
      assert.equal("float", math.type(v))
      assert.is_true(v >= -0.5 and v <= 0.25)
      low, high = low or v == -0.5, high or v == 0.25
    end)
    assert.is_true(low and high)
  end)

  it("take the widest ranges", function()
    local negative, positive = false, false
    each(testing.integer(math.mininteger, math.maxinteger), function(n)
      negative, positive = negative or n < -1e18, positive or n > 1e18
    end)
    assert.is_true(negative and positive)
  end)

  it("give special floats when told so", function()
    local nan, inf, minus = 0, 0, 0
    each(testing.number(1, 2, {special = true}), function(v)
      if v ~= v then nan = nan + 1 end
      if v == math.huge then inf = inf + 1 end
      if v == 0 and 1 / v < 0 then minus = minus + 1 end
    end)
    assert.is_true(nan > 0 and inf > 0 and minus > 0)
  end)

  it("refuse ends that are none", function()
    assert.equal("integer: high must be at least low, 3, got 2",
      message_of(testing.integer, 3, 2))
    assert.equal("integer: low must be an integer, got 1.5",
      message_of(testing.integer, 1.5))
    assert.equal("number: high must be a number from 3 to 1e+308, got 2",
      message_of(testing.number, 3, 2))
    assert.equal("number: low must be a number from -1e+308 to 1e+308, got nan",
      message_of(testing.number, 0 / 0))
  end)
end)

describe("generators of choices and lists", function()
  it("give all items, and as many as they may", function()
    local seen, sizes = {}, {}
    each(testing.list(testing.choice {"a", "b", true}, {min = 1, max = 3}),
      function(list)
        sizes[#list] = true
        for _, item in ipairs(list) do seen[item] = true end
      end)
    assert.same({a = true, b = true, [true] = true}, seen)
    assert.same({true, true, true}, sizes)
  end)

  it("refuse what is no list and no generator", function()
    assert.equal("choice: items must be a list with an item or more, got an "
      .. "empty one", message_of(testing.choice, {}))
    assert.equal("choice: items must be a list with an item or more, got 3",
      message_of(testing.choice, 3))
    assert.equal("list: item must be a generator, such as "
      .. "testing.integer(1, 9), got a table", message_of(testing.list, {}))
    assert.equal("list: max must be an integer of at least 4, got 2",
      message_of(testing.list, testing.integer(), {min = 4, max = 2}))
    assert.equal("custom: f must be a function, got nil",
      message_of(testing.custom))
    assert.equal("draw: generator must be a generator, such as "
      .. "testing.integer(1, 9), got 3", message_of(function()
        testing.custom(function(draw) return draw(3) end):example()
      end))
    local n = testing.integer()
    assert.equal("map: f must be a function, got 1", message_of(n.map, n, 1))
    assert.equal('example: seed must be an integer, got "x"',
      message_of(n.example, n, "x"))
  end)
end)

describe("generators of shapes", function()
  it("give sizes of 0, 1, primes and neighbours of powers of two", function()
    local sizes, dims = {}, {}
    each(testing.shapes(), function(shape)
      dims[#shape] = true
      assert.is_true(count_of(shape) <= 200)
      for _, size in ipairs(shape) do
        assert.is_true(size >= 0 and size <= 65)
        sizes[size] = true
      end
    end)
    for n = 0, 4 do assert.is_true(dims[n]) end
    for _, n in ipairs {0, 1, 2, 3, 5, 7, 11, 13, 16, 17, 33, 63} do
      assert.is_true(sizes[n], n)
    end
  end)

  it("keep to the dimensions, sizes and elements that are wanted", function()
    each(testing.shapes {ndim = {2, 3}, size = {1, 9}, elements = 50},
      function(shape)
        assert.is_true(#shape == 2 or #shape == 3)
        assert.is_true(count_of(shape) <= 50 and count_of(shape) > 0)
        for _, size in ipairs(shape) do assert.is_true(size <= 9) end
      end)
    assert.same({4, 4}, testing.shapes {ndim = 2, size = 4}:example(3))
  end)

  it("broadcast with each other, some by less dimensions or 1s", function()
    local fewer, ones = 0, 0
    each(testing.broadcast_shapes(3), function(list)
      assert.equal(3, #list)
      local sum = heed.zeros(list[1])
      for _, shape in ipairs(list) do
        sum = sum + heed.zeros(shape)
        if #shape < sum.ndim then fewer = fewer + 1 end
        for d = 1, #shape do
          if shape[d] < sum:size(d - #shape - 1) then ones = ones + 1 end
        end
      end
    end)
    assert.is_true(fewer > 10 and ones > 10)
    local same = testing.broadcast_shapes(2, {ndim = 2, size = {2, 3}})
    assert.same({{2, 2}, {2, 2}}, same:example())
  end)

  it("refuse ranges that are none", function()
    assert.equal("shapes: ndim must be a number or {low, high}, got a table",
      message_of(testing.shapes, {ndim = {1, 2, 3}}))
    assert.equal("shapes: size[2] must be an integer of at least 4, got 3",
      message_of(testing.shapes, {size = {4, 3}}))
    assert.equal('broadcast_shapes: unknown option "dims"; known: elements, '
      .. "ndim, size", message_of(testing.broadcast_shapes, 2, {dims = 2}))
    assert.equal("broadcast_shapes: count must be an integer of at least 1, "
      .. "got 0", message_of(testing.broadcast_shapes, 0))
  end)
end)

describe("generators of tensors", function()
  it("give the dtype, the shape and the values that are wanted", function()
    for _, dtype in ipairs {"bool", "uint8", "int32", "int64", "float16",
      "bfloat16", "float32", "float64"} do
      local x = testing.tensor {dtype = dtype, shape = {2, 3}}:example(4)
      assert.equal(dtype, x.dtype)
      assert.same({2, 3}, x.shape)
    end
    each(testing.tensor {dtype = "float64", shape = {4},
      values = testing.number(2, 3)}, function(x)
      assert.is_true(x:ge(2):all():item() and x:le(3):all():item())
    end)
    assert.same({2.0, 2.0}, testing.tensor {shape = {2},
      values = testing.integer(2, 2)}:example(1):totable())
  end)

  it("choose among dtypes and shapes", function()
    local seen = {}
    each(testing.tensor {dtype = {"int32", "float64"},
      shape = testing.choice {{1}, {0, 2}}}, function(x)
      seen[x.dtype .. " " .. x.ndim] = true
    end)
    for _, kind in ipairs {"int32 1", "int32 2", "float64 1", "float64 2"} do
      assert.is_true(seen[kind], kind)
    end
  end)

  it("give views when told so, with the same values", function()
    local kinds = {}
    each(testing.tensor {shape = {2, 3}, views = true}, function(x)
      local how = x:is_contiguous() and "plain"
        or x:stride(1) == 1 and "transposed" or "strided"
      kinds[how] = true
    end)
    assert.same({plain = true, transposed = true, strided = true}, kinds)
  end)

  it("refuse what is no shape, dtype or generator", function()
    assert.equal("tensor: shape must be a list, got 3",
      message_of(testing.tensor, {shape = 3}))
    assert.equal("tensor: shape[2] must be an integer of at least 0, got -1",
      message_of(testing.tensor, {shape = {2, -1}}))
    assert.equal("tensor: dtype must be a string, got 3",
      message_of(testing.tensor, {dtype = 3}))
    assert.equal("tensor: values must be a generator, such as "
      .. "testing.integer(1, 9), got 3",
      message_of(testing.tensor, {values = 3}))
    assert.equal('tensor: unknown option "sizes"; known: dtype, shape, '
      .. "values, views", message_of(testing.tensor, {sizes = {}}))
  end)
end)

describe("laid_out", function()
  it("gives the same values otherwise in memory, with gradients", function()
    local x = heed.randn({2, 3, 4}, {requires_grad = true})
    for _, how in ipairs {"strided", "transposed"} do
      local view = testing.laid_out(x, how)
      assert.is_false(view:is_contiguous())
      assert.is_true(view:detach():equal(x:detach()))
      x.grad = nil
      view:sum():backward()
      assert.is_true(x.grad:eq(1):all():item())
    end
    assert.is_true(rawequal(x, testing.laid_out(x, "plain")))
    local scalar = heed.tensor(3)
    assert.is_true(rawequal(scalar, testing.laid_out(scalar)))
  end)

  it("refuses names that are none", function()
    assert.equal('laid_out: how must be one of plain, strided, transposed, '
      .. 'got "odd"', message_of(testing.laid_out, heed.ones(2), "odd"))
    assert.equal("laid_out: x must be a tensor, got 3",
      message_of(testing.laid_out, 3))
  end)
end)
