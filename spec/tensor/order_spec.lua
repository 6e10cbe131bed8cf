-- Values in order: sort, topk, medians, quantiles, unique values. Values by
-- PyTorch 2.13 or by what an order is.

local heed = require "heed"
local message = require "spec.support.message"

local NAN <const>, INF <const> = 0 / 0, math.huge

-- Numbers as text, NaN as one: 1 and 1.0 are alike, 0 and -0 are not.
local function shown(t)
  local list = {}
  for i, v in ipairs(t:flatten():totable()) do
    list[i] = v ~= v and "nan" or ("%g"):format(v)
  end
  return table.concat(list, " ")
end

describe("sort", function()
  it("puts NaN last, and first downwards", function()
    local x = heed.tensor {2, NAN, -INF, INF, NAN, -1}
    local values, places = x:sort()
    assert.equal("-inf -1 2 inf nan nan", shown(values))
    assert.same({3, 6, 1, 4, 2, 5}, places:totable())
    values, places = x:sort({descending = true})
    assert.equal("nan nan inf 2 -1 -inf", shown(values))
    assert.same({2, 5, 4, 1, 6, 3}, places:totable())
  end)

  it("keeps equal values in their order, 0 and -0 too", function()
    local x = heed.tensor {0.0, -0.0, 1, 0.0, 1}
    local values, places = x:sort()
    assert.equal("0 -0 0 1 1", shown(values))
    assert.same({1, 2, 4, 3, 5}, places:totable())
    local down = x:argsort({descending = true})
    assert.same({3, 5, 1, 2, 4}, down:totable())
  end)

  -- by insertion, by merging, by digits
  it("is right for lines of every length and dtype", function()
    heed.manual_seed(1)
    for _, dtype in ipairs {"bool", "uint8", "int32", "int64", "float32",
      "float64"} do
      for _, n in ipairs {1, 2, 23, 24, 25, 49, 100, 400, 401, 3000} do
        local x = heed.randint(-200, 200, {2, n})
        if dtype == "uint8" or dtype == "bool" then x = x % 256 end
        x = x:to(dtype)
        for _, down in ipairs {false, true} do
          local values, places = x:sort(2, down)
          assert.is_true(x:gather(2, places):eq(values):all():item())
          if n > 1 then
            local a, b = values[{{}, {1, n - 1}}], values[{{}, {2, n}}]
            local p, q = places[{{}, {1, n - 1}}], places[{{}, {2, n}}]
            local before = down and a:gt(b) or a:lt(b)
            assert.is_true((before | (a:eq(b) & p:lt(q))):all():item())
          end
        end
      end
    end
  end)
end)

describe("topk", function()
  it("is the front of a sorted line", function()
    heed.manual_seed(2)
    local x = heed.randint(-50, 50, {3, 2000}):to("float32")
    x[{1, {5, 9}}] = NAN
    for _, largest in ipairs {true, false} do
      local values, places = x:sort(2, largest)
      for _, k in ipairs {1, 7, 62, 63, 500, 1999, 2000} do
        local top, where = x:topk(k, 2, largest)
        assert.equal(shown(values[{{}, {1, k}}]), shown(top))
        assert.is_true(where:eq(places[{{}, {1, k}}]):all():item())
      end
    end
  end)
end)

describe("one of a line:", function()
  it("kthvalue and median are what sort has there", function()
    heed.manual_seed(3)
    for _, dtype in ipairs {"float32", "float64", "int32"} do
      local x = heed.randint(-9, 9, {2, 501}):to(dtype)
      local values, places = x:sort()
      for _, k in ipairs {1, 2, 250, 500, 501} do
        local value, place = x:kthvalue(k)
        assert.same(values[{{}, k}]:totable(), value:totable())
        assert.same(places[{{}, k}]:totable(), place:totable())
      end
      assert.same(values[{{}, 251}]:totable(), (x:median(2)):totable())
    end
  end)

  it("median takes the lower of two", function()
    assert.equal(2, heed.tensor {4, 1, 3, 2}:median():item())
    local value, place = heed.tensor {{4, 1, 3, 2}, {0, 0, 9, 9}}:median(2)
    assert.same({2, 0}, value:totable())
    assert.same({4, 2}, place:totable())
  end)

  it("nanmedian leaves NaN out, unless there is nothing else", function()
    local x = heed.tensor {{NAN, 5, NAN, 1}, {NAN, NAN, NAN, NAN}}
    local value, place = x:nanmedian(2)
    assert.equal("1 nan", shown(value))
    assert.same({4, 1}, place:totable())
    assert.equal(1, x:nanmedian():item())
  end)

  it("mode is the smallest of the most frequent, in its last place",
    function()
      local value, place = heed.tensor {{2, 1, 2, 1}, {3, 3, 0, 1}}:mode()
      assert.same({1, 3}, value:totable())
      assert.same({4, 2}, place:totable())
    end)
end)

describe("quantile", function()
  local x = heed.tensor({{3, 1, 2, 10}, {4, 4, 8, 6}}, {dtype = "float64"})

  -- torch.quantile(x, torch.tensor([0.25, 0.5]), 1, interpolation=...)
  it("goes between two values as it is told", function()
    local want = {
      linear = "1.75 4 2.5 5", lower = "1 4 2 4", higher = "2 4 3 6",
      midpoint = "1.5 4 2.5 5", nearest = "2 4 3 6",
    }
    for way, text in pairs(want) do
      local y = x:quantile({0.25, 0.5}, 2, false, way)
      assert.same({2, 2}, y.shape)
      assert.equal(text, shown(y), way)
    end
  end)

  it("keeps dimensions, and reads q from numbers and tensors", function()
    assert.same({1, 1}, x:quantile(0.5, {keepdim = true}).shape)
    assert.same({2, 1}, x:quantile(0.5, 2, true).shape)
    assert.same({3, 1, 4}, x:quantile({0, 0.5, 1}, 1, true).shape)
    assert.same({2}, x:quantile(heed.tensor(0.5), 2).shape)
    assert.equal(4, x:quantile(0.5):item())
    assert.equal(10, x:quantile(1):item())
  end)

  it("lets NaN win, and nanquantile leaves it out", function()
    local y = heed.tensor {{3, NAN, 1}, {NAN, NAN, NAN}, {1, 2, 4}}
    assert.equal("nan nan 2", shown(y:quantile(0.5, 2)))
    assert.equal("2 nan 2", shown(y:nanquantile(0.5, 2)))
    assert.equal("3 nan 4", shown(y:nanquantile(1, 2)))
  end)

  it("is infinite between infinite values", function()
    assert.equal(INF, heed.tensor {1, INF, INF}:quantile(1):item())
  end)

  it("refuses what is no part", function()
    assert.equal("quantile: q must be from 0 to 1, got 1.5",
      message(x.quantile, x, 1.5))
    assert.equal("quantile: q[2] must be a number, got \"a\"",
      message(x.quantile, x, {0.5, "a"}))
    assert.equal("quantile: interpolation must be one of higher, linear, " ..
      "lower, midpoint, nearest, got \"cubic\"",
      message(x.quantile, x, 0.5, {interpolation = "cubic"}))
    assert.equal("quantile: x must be a float tensor, got tensor int64 [2]",
      message(heed.quantile, heed.tensor {1, 2}, 0.5))
    assert.equal("quantile: x [0 2] has no elements to choose from",
      message(heed.quantile, heed.zeros {0, 2}, 0.5, 1))
    assert.equal("nanquantile: dim must be 1..2 or -2..-1 for x [2 4], got 3",
      message(x.nanquantile, x, 0.5, 3))
  end)
end)

describe("unique", function()
  it("gives values in order, where they went, how often they occur",
    function()
      local x = heed.tensor {{3, 1}, {3, 2}, {1, 3}}
      local values, inverse, counts = x:unique({return_inverse = true,
        return_counts = true})
      assert.same({1, 2, 3}, values:totable())
      assert.same({{3, 1}, {3, 2}, {1, 3}}, inverse:totable())
      assert.same({2, 1, 3}, counts:totable())
      local _, only = x:unique({return_counts = true})
      assert.same({2, 1, 3}, only:totable())
      assert.equal(1, select("#", x:unique()))
    end)

  it("takes slices of a dimension in the order of their elements",
    function()
      local x = heed.tensor {{1, 0, 1}, {0, 5, 0}, {1, 0, 0}, {0, 5, 0}}
      local values, inverse, counts = x:unique({dim = 1,
        return_inverse = true, return_counts = true})
      assert.same({{0, 5, 0}, {1, 0, 0}, {1, 0, 1}}, values:totable())
      assert.same({3, 1, 2, 1}, inverse:totable())
      assert.same({2, 1, 1}, counts:totable())
      assert.same({{0, 1, 1}, {5, 0, 0}, {0, 0, 1}},
        (x:transpose():unique({dim = 2})):totable())
    end)

  it("keeps the dtype, and counts each NaN by itself", function()
    for _, dtype in ipairs {"bool", "uint8", "int32", "float32"} do
      local x = heed.tensor({1, 0, 1}, {dtype = "int64"}):to(dtype)
      assert.equal(dtype, (x:unique()).dtype)
      assert.equal("0 1", shown((x:unique():to("int64"))))
    end
    assert.equal("1 nan nan", shown((heed.tensor {NAN, 1, NAN}:unique())))
  end)

  it("has nothing of nothing", function()
    local values, counts = heed.zeros {0}:unique({return_counts = true})
    assert.equal(0, values:numel())
    assert.equal(0, counts:numel())
    assert.same({0, 3}, (heed.zeros {0, 3}:unique({dim = 1})).shape)
  end)

  it("refuses a dimension that is not there", function()
    assert.equal("unique: dim must be 1..1 or -1..-1 for x [2], got 2",
      message(heed.unique, heed.zeros(2), {dim = 2}))
    assert.equal("unique: unknown option axis; known: dim, return_counts, " ..
      "return_inverse, sorted",
      message(heed.unique, heed.zeros(2), {axis = 1}):gsub('"', ""))
  end)
end)

describe("unique_consecutive", function()
  it("only looks at the one before", function()
    local x = heed.tensor {1, 1, 2, 2, 3, 1, 1, 2}
    local values, inverse, counts = x:unique_consecutive(true, true)
    assert.same({1, 2, 3, 1, 2}, values:totable())
    assert.same({1, 1, 2, 2, 3, 4, 4, 5}, inverse:totable())
    assert.same({2, 2, 1, 2, 1}, counts:totable())
    local rows = heed.tensor {{1, 2}, {1, 2}, {3, 4}, {1, 2}}
    assert.same({{1, 2}, {3, 4}, {1, 2}},
      (rows:unique_consecutive({dim = 1})):totable())
  end)
end)
