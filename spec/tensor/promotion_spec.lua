-- The rules of docs/dtypes.md.

local heed = require "heed"

local DTYPES <const> = {
  "bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32",
  "float64",
}

-- A tensor {1, 0} of each dtype.
local function ones(dtype)
  return heed.tensor({1, 0}, {dtype = "float32"}):to(dtype)
end

-- Rows and columns in the order of DTYPES, b u i l h g f d for their names:
-- what an op that computes gives, and one that only moves elements.
local NAMES <const> = {
  b = "bool", u = "uint8", i = "int32", l = "int64", h = "float16",
  g = "bfloat16", f = "float32", d = "float64",
}
local COMPUTED <const> = {
  "builfffd", "uuilfffd", "iiilfffd", "llllfffd",
  "fffffffd", "fffffffd", "fffffffd", "dddddddd",
}
local MOVED <const> = {
  "builhgfd", "uuilhgfd", "iiilhgfd", "llllhgfd",
  "hhhhhffd", "ggggfgfd", "fffffffd", "dddddddd",
}
-- with true, 3, 1.5
local WITH_NUMBER <const> = {
  "blf", "uuf", "iif", "llf", "fff", "fff", "fff", "ddd",
}

local function each_pair(rule, f)
  for i, a in ipairs(DTYPES) do
    for j, b in ipairs(DTYPES) do
      it(a .. " and " .. b, function()
        assert.equal(NAMES[rule[i]:sub(j, j)], f(ones(a), ones(b)).dtype)
      end)
    end
  end
end

describe("the common dtype of an op that computes", function()
  each_pair(COMPUTED, function(a, b) return a + b end)
end)

describe("the common dtype of an op that moves", function()
  local test = heed.tensor {true, false}
  each_pair(MOVED, function(a, b) return heed.where(test, a, b) end)
end)

describe("a number", function()
  for i, a in ipairs(DTYPES) do
    for j, number in ipairs {true, 3, 1.5} do
      it(tostring(number) .. " gives way to " .. a, function()
        local want = NAMES[WITH_NUMBER[i]:sub(j, j)]
        assert.equal(want, heed.mul(ones(a), number).dtype)
        assert.equal(want, heed.mul(number, ones(a)).dtype)
      end)
    end
  end

  it("gives way to a tensor without dimensions too", function()
    assert.equal("float32", (heed.tensor(1.5) + 2).dtype)
    assert.equal("int64", (ones "int32" + heed.tensor(2)).dtype)
  end)
end)

-- What a family returns for each dtype, `-` where it is not defined.
local FAMILIES <const> = {
  {"builfffd", {"maximum", "mul"}, 2},
  {"-uilfffd", {"sub", "remainder", "fmod", "floor_div", "pow"}, 2},
  {"-uilfffd", {"neg", "abs", "square", "sign"}, 1},
  {"-uilfffd", {"floor", "ceil", "trunc", "round", "relu"}, 1},
  {"fffffffd", {"div", "atan2", "hypot", "copysign", "logaddexp"}, 2},
  {"fffffffd", {"exp", "log1p", "tan", "lgamma", "erfc", "reciprocal"}, 1},
  {"----fffd", {"frac", "nan_to_num"}, 1},
  {"buil----", {"bitwise_and", "bitwise_xor"}, 2},
  {"buil----", {"bitwise_not"}, 1},
  {"-uil----", {"left_shift", "right_shift"}, 2},
  {"bbbbbbbb", {"eq", "lt", "logical_and", "logical_xor"}, 2},
  {"bbbbbbbb", {"isnan", "isinf", "signbit", "logical_not"}, 1},
  {"llllfffd", {"sum", "prod"}, 1},
  {"llllfffd", {"nansum"}, 1},
  {"fffffffd", {"mean", "var", "std", "nanmean"}, 1},
  {"----fffd", {"logsumexp"}, 1},
  {"builhgfd", {"clone", "contiguous"}, 1},
}

describe("the result of", function()
  for _, family in ipairs(FAMILIES) do
    for _, name in ipairs(family[2]) do
      for i, dtype in ipairs(DTYPES) do
        local want <const> = family[1]:sub(i, i)
        it(name .. " of " .. dtype, function()
          local x = heed.tensor({1, 1}, {dtype = "float32"}):to(dtype)
          local ok, y = pcall(heed[name], table.unpack({x, x}, 1,
            family[3]))
          assert.equal(want ~= "-", ok)
          if ok then assert.equal(NAMES[want], y.dtype) end
        end)
      end
    end
  end
end)

describe("a result in place", function()
  -- does x:add_(y) have a place in x?
  local function fits(a, b)
    if a:find "float" then return true end
    if a == "bool" then return b == "bool" end
    return not b:find "float"
  end
  for _, a in ipairs(DTYPES) do
    for _, b in ipairs(DTYPES) do
      it(a .. ":add_(" .. b .. ")", function()
        local x = ones(a)
        local ok, text = pcall(x.add_, x, ones(b))
        assert.equal(fits(a, b), ok)
        assert.equal(a, x.dtype)
        if not ok then assert.matches("cannot hold a result of", text) end
      end)
    end
  end
end)

describe("a cast", function()
  local inf <const>, nan <const> = math.huge, 0 / 0

  local function cast(list, from, to)
    return heed.tensor(list, {dtype = from}):to(to):totable()
  end

  for _, from in ipairs {"float32", "float64"} do
    it("from " .. from .. " drops the fraction", function()
      assert.same({2, -2, 0}, cast({2.9, -2.9, nan}, from, "int64"))
      assert.same({math.maxinteger, math.mininteger},
        cast({inf, -1e30}, from, "int64"))
      assert.same({2, -2, 0}, cast({2.9, -2.9, nan}, from, "int32"))
      assert.same({-1, 0, 0}, cast({inf, -1e30, 2.0 ^ 32}, from, "int32"))
      assert.same({44, 253, 0, 255}, cast({300.7, -3, nan, inf}, from,
        "uint8"))
    end)
  end

  it("between integers keeps the low bits", function()
    assert.same({44, 255}, cast({300, -1}, "int64", "uint8"))
    assert.same({-2 ^ 31 // 1 | 0, 5}, cast({2 ^ 31 // 1 | 0, 5}, "int64",
      "int32"))
  end)

  it("to bool is true where a number is not 0", function()
    assert.same({true, false, true}, cast({0.5, -0.0, nan}, "float32",
      "bool"))
    assert.same({true, false}, cast({-3, 0}, "int32", "bool"))
  end)

  it("to a smaller float rounds to the nearest", function()
    assert.same({1, 1 + 2 ^ -9, inf}, cast({1 + 2 ^ -11, 1 + 3 * 2 ^ -11,
      70000}, "float32", "float16"))
    assert.same({1, 1 + 2 ^ -6}, cast({1 + 2 ^ -8, 1 + 3 * 2 ^ -8},
      "float32", "bfloat16"))
    assert.same({inf}, cast({1e39}, "float64", "float32"))
  end)

  it("gives the gradient back in the dtype of the operand", function()
    local x = heed.ones({2}, {requires_grad = true})
    local y = heed.ones({2}, {dtype = "float64"})
    local z = x * y
    z:sum():backward()
    assert.equal("float32", x.grad.dtype)
  end)

  it("names dtypes by words, which are fields of heed too", function()
    for _, name in ipairs {"bool", "uint8", "int32", "int64", "float16",
      "bfloat16", "float32", "float64"} do
      assert.equal(name, heed[name])
      assert.equal(name, heed.zeros({1}, {dtype = heed[name]}).dtype)
    end
  end)
end)
