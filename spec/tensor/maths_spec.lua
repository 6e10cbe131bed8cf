-- Maths on tensors: what the rows of the op table do not say.

local close = require "spec.support.close"
local heed = require "heed"
local message = require "spec.support.message"
local rows = require "spec.ops.rows"
local sample = require "spec.support.sample"

local function double(list) return heed.tensor(list, {dtype = "float64"}) end

-- By mpmath, with 200 bits.
local special <const> = {
  erf = {{0.1, 0.5, 1, 2, -1}, {0.1124629160182849, 0.52049987781304654,
    0.84270079294971487, 0.99532226501895273, -0.84270079294971487}},
  erfc = {{0.5, 2, 5, -1, 20}, {0.47950012218695346, 0.0046777349810472658,
    1.5374597944280349e-12, 1.8427007929497149, 5.3958656116079009e-176}},
  erfinv = {{0.1, 0.5, 0.9, -0.999, 1e-10}, {0.088855990494257692,
    0.47693627620446987, 1.1630871536766742, -2.3267537655135245,
    8.8622692545275801e-11}},
  lgamma = {{0.5, 3.5, 10.5, -0.5, -2.5, 100}, {0.57236494292470009,
    1.2009736023470742, 13.940625219403764, 1.2655121234846454,
    -0.056243716497674051, 359.1342053695754}},
  digamma = {{0.5, 1, 10.5, -0.5, -2.75, 100}, {-1.9635100260214235,
    -0.57721566490153286, 2.3030010342976864, 0.036489973978576521,
    -1.959055264977997, 4.6001618527380874}},
}
local polygamma <const> = {
  [1] = {4.9348022005446793, 1.6449340668482264, 0.099916956059126733,
    8.9348022005446793, 19.433868949488464},
  [2] = {-16.82879664423432, -2.4041138063191886, -0.0099751442477151693,
    -0.82879664423432, -124.11765305971518},
  [5] = {7691.1135486024355, 122.0811674381339, 0.00023704787507685852,
    15371.113548602435, 492231.20775210042},
  [30] = {-5.6962617903191757e41, -2.6525285993570948e32,
    -6.2224465669723272},
}

describe("special functions", function()
  for name, pair in pairs(special) do
    it("have the values of " .. name, function()
      local f <const> = heed[name]
      close.check(name, f(double(pair[1])), pair[2],
        {rtol = 4e-15, atol = 4e-16})
      close.check(name, f(heed.tensor(pair[1], {dtype = "float32"})),
        f(double(pair[1])), {rtol = 5e-6, atol = 1e-44})
    end)
  end

  for n, values in pairs(polygamma) do
    it("have the values of polygamma " .. n, function()
      local x = double {table.unpack({0.5, 1, 10.5, -0.5, -2.75}, 1, #values)}
      close.check("polygamma", x:polygamma(n), values, {rtol = 1e-13})
    end)
  end

  it("have the poles of polygamma", function()
    assert.same({math.huge, math.huge}, double {0, -3}:polygamma(1):totable())
    assert.same({-math.huge, -math.huge},
      double {0, -3}:polygamma(2):totable())
    assert.same({0}, double {math.huge}:polygamma(1):totable())
  end)
end)

-- Derivative after derivative, by differences of the one before, of the first
-- case of each row of a float tensor.
describe("higher derivatives", function()
  local STEP <const> = 1e-5

  -- The derivative of order n of the sum of f(x) weighted, at x.
  local function derive(f, x, n)
    x = x:detach():clone()
    x.requires_grad = true
    local y = f(x)
    for _ = 1, n do
      local total = (y * sample.other(y.shape)):sum()
      local g = total.requires_grad and
        heed.grad(total, x, {create_graph = true})
      -- none: the one before did not depend on x
      if not g then return heed.zeros(x.shape, {dtype = "float64"}) end
      y = g
    end
    return y:detach()
  end

  local function check(name, n)
    local args <const> = rows[name].cases[1]
    local op <const> = heed.core.ops[name]
    local x <const> = args[1]
    local function f(t) return op(t, table.unpack(args, 2)) end
    local flat, want = close.flat(x), {}
    for i, v in ipairs(flat) do
      local function at(value)
        flat[i] = value
        local t = double(flat):reshape(x.shape)
        flat[i] = v
        local y = derive(f, t, n - 1)
        return (y * sample.other(y.shape)):sum():item()
      end
      want[i] = (at(v + STEP) - at(v - STEP)) / (2 * STEP)
    end
    local off = close.difference(derive(f, x, n),
      heed.tensor(want, {dtype = "float64"}):reshape(x.shape),
      {atol = 1e-4, rtol = 1e-4})
    if off then error(("%s, derivative %d: %s"):format(name, n, off), 2) end
  end

  for _, family in ipairs {"arithmetic", "maths", "activation", "choose"} do
    for name in pairs(require("spec.ops.rows." .. family)) do
      local args <const> = rows[name].cases[1]
      local first <const> = args[1]
      if heed.is_tensor(first) and first.dtype == "float64" and
        name ~= "copy_" and name ~= "nan_to_num" and
        name ~= "heaviside" and name ~= "nextafter" and name ~= "floor_div"
      then
        it("of " .. name, function()
          check(name, 2)
          check(name, 3)
        end)
      end
    end
  end
end)

describe("operators of bits", function()
  local function whole(list) return heed.tensor(list, {dtype = "int64"}) end

  it("are bitwise on integers", function()
    local a = whole {6, -1}
    assert.same({2, 3}, (a & 3):totable())
    assert.same({7, -1}, (a | 1):totable())
    assert.same({5, -4}, (a ~ 3):totable())
    assert.same({-7, 0}, (~a):totable())
    assert.same({24, -4}, (a << 2):totable())
    assert.same({1, -1}, (a >> 2):totable())
    assert.same({8}, (1 << whole {3}):totable())
  end)

  it("are logical on booleans", function()
    local a, b = heed.tensor {true, true}, heed.tensor {true, false}
    assert.same({true, false}, (a & b):totable())
    assert.same({true, true}, (a | b):totable())
    assert.same({false, true}, (a ~ b):totable())
    assert.same({false, false}, (~a):totable())
  end)

  it("refuse floats", function()
    assert.equal("bitwise_and: not defined for a float32 [1]",
      message(function() return heed.ones {1} & 1 end))
  end)

  it("shift by any number", function()
    local five = whole {5, -5}
    assert.same({0, 0}, (five << 64):totable())
    assert.same({0, 0}, (five << -1):totable())
    assert.same({0, -1}, (five >> 64):totable())
    assert.same({0, -1}, (five >> -1):totable())
    local byte = heed.tensor({255}, {dtype = "uint8"})
    assert.same({254}, (byte << 1):totable())
    assert.same({0}, (byte << 8):totable())
  end)
end)

describe("functions put together in Lua", function()
  it("turn degrees and radians", function()
    close.check("rad2deg", double {0, math.pi}:rad2deg(), {0, 180})
    close.check("deg2rad", heed.tensor {0, 180}:deg2rad(), {0, math.pi})
    assert.equal("deg2rad: x must be a tensor, got 1",
      message(heed.deg2rad, 1))
  end)

  it("hold at one end", function()
    assert.same({0, 2}, heed.tensor {-1, 2}:clamp_min(0):totable())
    assert.same({-1, 0}, heed.tensor {-1, 2}:clamp_max(0):totable())
    assert.equal("clamp_min: min is missing",
      message(heed.clamp_min, heed.ones {1}))
    assert.equal("clamp_max: max is missing",
      message(heed.clamp_max, heed.ones {1}))
  end)

  it("pass the gradient to the end that holds, though both are one",
    function()
      local x = heed.tensor({0, 2, 5}, {dtype = "float64"})
      local m = heed.full({3}, 2.0, {dtype = "float64", requires_grad = true})
      x:clamp(m, m):sum():backward()
      assert.same({1, 0, 1}, m.grad:totable())
    end)

  it("multiply by powers of two", function()
    assert.same({4, 12}, heed.tensor({1, 3}, {dtype = "float32"})
      :ldexp(2):totable())
    assert.same({2, 0.75}, double {1, 3}:ldexp(double {1, -2}):totable())
  end)

  it("take powers in float64", function()
    local y = heed.tensor({2, 4}, {dtype = "int64"}):float_power(-1)
    assert.equal("float64", y.dtype)
    assert.same({0.5, 0.25}, y:totable())
  end)

  it("tell what is close", function()
    local inf, nan = math.huge, 0 / 0
    local a = double {1, 1, inf, inf, nan, 5}
    local b = double {1 + 1e-6, 1.1, inf, -inf, nan, inf}
    assert.same({true, false, true, false, false, false},
      a:isclose(b):totable())
    assert.same({true, true, true, false, true, false},
      a:isclose(b, {atol = 0.2, equal_nan = true}):totable())
    assert.is_true(double {1}:allclose(double {1 + 1e-9}))
    assert.is_false(double {1}:allclose(double {2}))
    assert.equal("isclose: rtol must be a number of at least 0, got -1",
      message(heed.isclose, a, b, {rtol = -1}))
    assert.equal('allclose: unknown option "rtoll"; known: atol, ' ..
      "equal_nan, rtol", message(heed.allclose, a, b, {rtoll = 1}))
  end)

  it("tell what is equal", function()
    local a = heed.tensor {1, 2}
    assert.is_true(a:equal(heed.tensor {1, 2}))
    assert.is_false(a:equal(heed.tensor {1, 3}))
    assert.is_false(a:equal(heed.tensor {{1, 2}}))
    assert.is_true(heed.zeros {0}:equal(heed.zeros {0}))
  end)
end)

describe("large operands", function()
  -- tiles of 64 by 64 and what is left of them
  for _, shape in ipairs {{70, 130}, {3, 65, 70}, {200, 9}, {64, 64}} do
    it("lie in any order: " .. table.concat(shape, " "), function()
      for _, dtype in ipairs {"uint8", "bfloat16", "float32", "float64"} do
        local x = heed.arange(1, 50000):remainder(200):to(dtype)
        local n = 1
        for _, size in ipairs(shape) do n = n * size end
        x = x:slice(1, 1, n):reshape(shape)
        local turned = x:transpose(1, -1):contiguous():transpose(1, -1)
        assert.is_true(turned:equal(x))
        assert.is_true((turned + x):equal(x + x))
        assert.is_true((turned + turned):equal(x + x))
        assert.is_true(turned:to "float64":sqrt()
          :equal(x:to "float64":sqrt()))
        local y = turned:clone()
        local across = y:transpose(1, -1)
        across:mul_(2)
        assert.is_true(y:equal(x * 2))
      end
    end)
  end
end)
