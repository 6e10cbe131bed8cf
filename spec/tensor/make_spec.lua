-- Tensors from others, from tables, from bytes; grids; numbers out of range.
-- Values are those of PyTorch 2.13 for the same call, counted from 0 there.

local close = require "spec.support.close"
local heed = require "heed"
local message = require "spec.support.message"

local at <const> = heed.tensor

describe("tensor", function()
  it("refuses options that it does not know", function()
    assert.equal("tensor: dtype must be bool, uint8, int32, int64, float16, " ..
      "bfloat16, float32 or float64, got x", message(at, 1, {dtype = "x"}))
    assert.equal('tensor: unknown option "type"; known: dtype, requires_grad',
      message(at, 1, {type = "x"}))
    assert.equal('tensor: options must be a table, got "x"',
      message(at, 1, "x"))
    assert.equal("tensor: only float tensors can require gradients, got int64",
      message(at, 1, {requires_grad = true}))
  end)
end)

describe("likes", function()
  local x = heed.zeros({2, 3}, {dtype = "float64"})

  it("take shape and dtype, and options", function()
    for _, name in ipairs {
      "zeros_like", "ones_like", "empty_like", "rand_like", "randn_like",
    } do
      local y = heed[name](x)
      assert.same({2, 3}, y.shape)
      assert.equal("float64", y.dtype)
      y = x[name](x, {dtype = "float32", requires_grad = true})
      assert.equal("float32", y.dtype)
      assert.is_true(y.requires_grad)
      assert.is_false(y:shares(x))
    end
    assert.same({1, 1}, heed.ones_like(at({5, 6}, {dtype = "uint8"})):totable())
    assert.same({7, 7}, heed.full_like(at {1, 2}, 7):totable())
    assert.equal("int64", heed.full_like(at {1, 2}, 7.5).dtype)
  end)

  it("draw from a generator", function()
    local a, b = heed.Generator(), heed.Generator()
    a:manual_seed(5)
    b:manual_seed(5)
    assert.same(heed.rand({3}, {generator = a}):totable(),
      heed.rand_like(heed.zeros(3), {generator = b}):totable())
  end)

  it("draw integers with both ends", function()
    heed.manual_seed(1)
    local y = heed.randint_like(heed.zeros(200), 3, 5)
    assert.equal("float32", y.dtype)
    assert.same({3, 5}, {y:min():item(), y:max():item()})
    assert.equal("uint8", heed.randint_like(x, 1, 2, {dtype = "uint8"}).dtype)
  end)

  it("refuse what they do not know", function()
    assert.equal("zeros_like: x must be a tensor, got 1",
      message(heed.zeros_like, 1))
    assert.equal('zeros_like: unknown option "device"; known: dtype, ' ..
      "requires_grad", message(heed.zeros_like, x, {device = "gpu"}))
    assert.equal("rand: dtype must be float32 or float64, got int64",
      message(heed.rand_like, at {1}))
    assert.equal("full: value must be 0..255 for uint8, got 300",
      message(heed.full_like, at({1}, {dtype = "uint8"}), 300))
  end)
end)

describe("new_", function()
  it("takes the dtype of a tensor", function()
    local x = heed.zeros({1}, "float64")
    for _, y in ipairs {
      x:new_zeros {2}, x:new_ones {2}, x:new_empty {2}, x:new_full({2}, 3),
      x:new_tensor {1, 2},
    } do
      assert.equal("float64", y.dtype)
      assert.same({2}, y.shape)
    end
    assert.equal("int64", x:new_zeros({2}, {dtype = "int64"}).dtype)
    assert.equal('new_full: unknown option "value"; known: dtype, ' ..
      "requires_grad", message(x.new_full, x, {2}, 1, {value = 2}))
  end)
end)

describe("dtypes by name", function()
  it("convert", function()
    local x = at {1.5, 0}
    local names = {
      bool = "bool", int = "int32", long = "int64", half = "float16",
      bfloat16 = "bfloat16", float = "float32", double = "float64",
    }
    for name, dtype in pairs(names) do
      assert.equal(dtype, x[name](x).dtype)
    end
    assert.same({1, 0}, x:long():totable())
    assert.same({true, false}, x:bool():totable())
    assert.equal("int32", x:type_as(at({1}, {dtype = "int32"})).dtype)
    assert.is_true(x:float():shares(x))
    assert.equal("int32", x:to(at({1}, {dtype = "int32"})).dtype)
  end)
end)

describe("tensor", function()
  it("says where a table is ragged", function()
    assert.equal("tensor: ragged input: entry [2] must have 2 elements like " ..
      "the first, got 1", message(heed.tensor, {{1, 2}, {3}}))
    assert.equal("tensor: ragged input: entry [1][2] must be a table of 1, " ..
      "got 3", message(heed.tensor, {{{1}, 3}}))
  end)

  it("does not begin to read a list that cannot end", function()
    local function list(length)
      return setmetatable({}, {
        __len = function() return length end,
        __index = function() return 1 end,
      })
    end
    assert.equal("tensor: shape [9223372036854775807] has too many elements",
      message(heed.tensor, list(math.maxinteger)))
    assert.equal("tensor: size 1 of shape [-1] is negative",
      message(heed.tensor, list(-1)))
    assert.same({1, 1}, heed.tensor(list(2)):totable())
  end)

  it("refuses numbers that the dtype cannot hold, and says where", function()
    assert.equal("tensor: entry [2][1] must be 0..255 for uint8, got 256",
      message(heed.tensor, {{1, 2}, {256, 3}}, {dtype = "uint8"}))
    assert.equal("tensor: entry [1] must be 0..255 for uint8, got -1",
      message(heed.tensor, {-1}, {dtype = "uint8"}))
    assert.equal("tensor: entry [2] must be -2147483648..2147483647 for " ..
      "int32, got 2147483648",
      message(heed.tensor, {1, 2147483648}, {dtype = "int32"}))
    assert.equal("tensor: entry [1] must be -9223372036854775808.." ..
      "9223372036854775807 for int64, got 1e+19",
      message(heed.tensor, {1e19}, {dtype = "int64"}))
    assert.matches("^tensor: entry %[1%] must be .* for int32, got %-?nan$",
      message(heed.tensor, {0/0}, {dtype = "int32"}))
    assert.equal("tensor: value must be 0..255 for uint8, got 300",
      message(heed.tensor, 300, {dtype = "uint8"}))
  end)

  it("takes the ends of the ranges, and cuts fractions", function()
    assert.same({0, 255, 255}, at({0, 255, 255.9},
      {dtype = "uint8"}):totable())
    assert.same({-2147483648, 2147483647, -1}, at({-2147483648, 2147483647,
      -1.9}, {dtype = "int32"}):totable())
    assert.same({math.mininteger, math.maxinteger},
      at({math.mininteger, math.maxinteger}):totable())
  end)
end)

describe("bytes", function()
  it("go out and come back for every dtype", function()
    for _, dtype in ipairs {
      "bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32",
      "float64",
    } do
      local x = heed.tensor({{1, 0, 1}, {0, 1, 1}}):to(dtype)
      local bytes = x:t():tobytes()
      local y = heed.frombytes(bytes, {3, 2}, {dtype = dtype})
      assert.equal(dtype, y.dtype)
      assert.same(x:t():totable(), y:totable())
    end
    assert.equal("\1\0\0\0\254\255\255\255",
      at({1, -2}, {dtype = "int32"}):tobytes())
    assert.equal(string.pack("<ff", 1.5, -2), at {1.5, -2}:tobytes())
    assert.same({1.5, -2}, heed.frombytes(string.pack("<ff", 1.5, -2))
      :totable())
    assert.same({true, true, false},
      heed.frombytes("\1\5\0", nil, {dtype = "bool"}):totable())
    assert.equal("", heed.zeros(0):tobytes())
    assert.same({0, 2}, heed.frombytes("", {0, 2}).shape)
  end)

  it("must fit", function()
    assert.equal("frombytes: 5 bytes are no whole number of float32, which " ..
      "takes 4", message(heed.frombytes, "12345"))
    assert.equal("frombytes: 8 bytes hold 2 elements of float32, but shape " ..
      "[3] has 3", message(heed.frombytes, "12345678", {3}))
    assert.equal("frombytes: dtype must be bool, uint8, int32, int64, " ..
      "float16, bfloat16, float32 or float64, got x",
      message(heed.frombytes, "1", nil, {dtype = "x"}))
    local _, text = pcall(function() return heed.frombytes "1" end)
    assert.matches("^spec/tensor/make_spec.lua:%d+: frombytes: 1 bytes", text)
    assert.equal("frombytes: bytes must be a string, got 5",
      message(heed.frombytes, 5))
    assert.equal("frombytes: dtype must be bool, uint8, int32, int64, " ..
      "float16, bfloat16, float32 or float64, got half",
      message(heed.frombytes, "", nil, {dtype = "half"}))
  end)
end)

describe("grids", function()
  it("have one axis that changes", function()
    local a, b = heed.meshgrid(heed.arange(2), heed.arange(3))
    assert.same({{1, 1, 1}, {2, 2, 2}}, a:totable())
    assert.same({{1, 2, 3}, {1, 2, 3}}, b:totable())
    a, b = heed.meshgrid(heed.arange(2), heed.arange(3), {indexing = "xy"})
    assert.same({{1, 2}, {1, 2}, {1, 2}}, a:totable())
    assert.same({{1, 1}, {2, 2}, {3, 3}}, b:totable())
    local c = select(3, heed.meshgrid(at {1}, at(2), at {3, 4}))
    assert.same({{{3, 4}}}, c:totable())
  end)

  it("refuse what does not fit", function()
    assert.equal('meshgrid: indexing must be "ij" or "xy", got "yx"',
      message(heed.meshgrid, at {1}, {indexing = "yx"}))
    assert.equal("meshgrid: tensor 2 must have at most one dimension and " ..
      "dtype int64, got tensor float32 [1]",
      message(heed.meshgrid, at {1}, at {1.5}))
  end)

  it("are the positions of triangles", function()
    assert.same({{2, 3, 3}, {1, 1, 2}},
      heed.tril_indices(3, 3, -1):totable())
    assert.same({{1, 1, 2}, {2, 3, 3}}, heed.triu_indices(2, 3, 1):totable())
    assert.same({2, 0}, heed.tril_indices(0).shape)
    assert.equal("tril_indices: n must be an integer of at least 0, got -1",
      message(heed.tril_indices, -1))
  end)
end)

describe("sequences", function()
  it("meet both ends", function()
    close.check("linspace", heed.linspace(-1, 2, 4), {-1, 0, 1, 2})
    local t = heed.linspace(0.1, 0.7, 7, "float64")
    assert.same({0.1, 0.7}, {t[1]:item(), t[-1]:item()})
    close.check("logspace", heed.logspace(0, 3, 4, 2), {1, 2, 4, 8})
    close.check("logspace", heed.logspace(-1, 1, 3, {dtype = "float64"}),
      {0.1, 1, 10}, {atol = 1e-15})
    assert.is_true(heed.logspace(0, 1, 2, {requires_grad = true})
      .requires_grad)
  end)

  it("refuse what does not fit", function()
    assert.equal("logspace: steps must be an integer of at least 0, got -1",
      message(heed.logspace, 0, 1, -1))
    assert.equal("logspace: first must be a number, got nil",
      message(heed.logspace))
  end)

  it("infer the dtype of full from the value", function()
    assert.equal("int64", heed.full({2}, 3).dtype)
    assert.equal("float32", heed.full({2}, 3.0).dtype)
    assert.equal("bool", heed.full({2}, true).dtype)
    assert.same({(1 << 62) + 1}, heed.full({1}, (1 << 62) + 1):totable())
  end)

  it("make one_hot from the largest id", function()
    assert.same({{0, 0, 1}, {1, 0, 0}}, heed.one_hot(at {3, 1}):totable())
  end)
end)
