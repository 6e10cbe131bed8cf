-- Reductions and running sums: what holds for all of them. Values by PyTorch
-- 2.13 or by mathematics.

local gradient = require "spec.support.gradient"
local heed = require "heed"
local sample = require "spec.support.sample"
local twice = require "spec.support.twice"

local NAN <const>, INF <const> = 0 / 0, math.huge

local function is_nan(v) return v ~= v end

-- Calls whose loops are cut among threads: long rows, long columns, few and
-- many results, and what is neither.
local function calls(x)
  local t, line = x:transpose(), x:flatten()
  local list = {}
  for _, name in ipairs {"sum", "prod", "mean", "amax", "argmin", "var",
    "logsumexp"} do
    for _, dim in ipairs {1, 2} do
      list[#list + 1] = function() return x[name](x, dim) end
      list[#list + 1] = function() return t[name](t, dim) end
    end
    list[#list + 1] = function() return line[name](line) end
    list[#list + 1] = function() return t[name](t) end
  end
  for _, name in ipairs {"cumsum", "cumprod", "cummax", "sort", "median"} do
    for _, dim in ipairs {1, 2} do
      list[#list + 1] = function() return (x[name](x, dim)) end
      list[#list + 1] = function() return (t[name](t, dim)) end
    end
  end
  list[#list + 1] = function() return line:histc(50) end
  return list
end

describe("a reduction", function()
  local threads = heed.get_num_threads()
  after_each(function() heed.set_num_threads(threads) end)

  it("gives the same bits for any number of threads", function()
    heed.manual_seed(1)
    for _, shape in ipairs {{700, 900}, {3, 200000}, {300000, 2}} do
      local list = calls(heed.randn(shape))
      local want = {}
      heed.set_num_threads(1)
      for i, call in ipairs(list) do want[i] = call() end
      for _, n in ipairs {2, 3, 5} do
        heed.set_num_threads(n)
        for i, call in ipairs(list) do
          local same = call():eq(want[i]):all():item()
          assert.is_true(same, ("call %d, %d threads"):format(i, n))
        end
      end
    end
  end)

  -- 1 + k / 2^24 is a float32 for k below 2^23, and the sum of k is exact
  it("adds up 10^7 ones and noise to seven digits and more", function()
    heed.manual_seed(1)
    local n = 10000000
    local k = heed.randint(0, 2 ^ 23 - 1 | 0, {n})
    k = k - k % 2
    local x = (k:to("float64") / 2 ^ 24 + 1):to("float32")
    local exact = n + k:sum():item() / 2 ^ 24
    local function error_of(sum) return math.abs(sum / exact - 1) end
    assert.is_true(error_of(x:sum():item()) < 1e-7)
    assert.is_true(error_of(x:mean():item() * n) < 1e-7)
    assert.is_true(error_of(x:cumsum(1)[-1]:item()) < 1e-7)
    local columns = x:reshape(n // 4, 4):sum(1)
    assert.is_true(error_of(columns:to("float64"):sum():item()) < 1e-7)
  end)

  -- the mean is a billion times the deviation
  it("does not lose the variance to a large mean", function()
    local x = heed.arange(1, 1000):to("float64") % 2 + 1e9
    assert.is_near(0.25, x:var({correction = 0}):item(), 1e-12)
    local columns = x:reshape(250, 4)
    for _, v in ipairs(columns:var(1, false, 0):totable()) do
      assert.is_near(0, v, 1e-12)
    end
    columns = x:reshape(4, 250)
    for _, v in ipairs(columns:transpose():var(1, false, 0):totable()) do
      assert.is_near(0.25, v, 1e-12)
    end
  end)

  it("counts and multiplies integers in int64", function()
    for _, dtype in ipairs {"bool", "uint8", "int32", "int64"} do
      local x = heed.tensor({1, 1, 0}, {dtype = "int64"}):to(dtype)
      for _, name in ipairs {"sum", "prod", "cumsum", "cumprod",
        "count_nonzero"} do
        assert.equal("int64", (x[name](x, 1)).dtype)
      end
    end
    local bytes = heed.full({1000}, 255, {dtype = "uint8"})
    assert.equal(255000, bytes:sum():item())
  end)

  it("has a value over nothing where there is one", function()
    local x = heed.zeros {0, 2}
    assert.same({0, 0}, x:sum(1):totable())
    assert.same({1, 1}, x:prod(1):totable())
    assert.same({0, 0}, x:nansum(1):totable())
    assert.same({0, 0}, x:count_nonzero(1):totable())
    assert.same({false, false}, x:any(1):totable())
    assert.same({true, true}, x:all(1):totable())
    assert.same({-INF, -INF}, x:logsumexp(1):totable())
    assert.is_true(is_nan(x:mean():item()))
    assert.is_true(is_nan(x:var():item()))
    assert.is_true(is_nan(heed.tensor {1.0}:var():item()))
    assert.equal(0, heed.zeros {0, 2}:sum(2):numel())
    assert.equal(0, (heed.zeros {0, 2}:max(2)):numel())
  end)

  it("leaves every element alone over an empty list of dimensions", function()
    for _, name in ipairs {"sum", "nansum", "prod", "mean", "amax", "amin",
      "max", "min", "median", "nanmedian", "logsumexp"} do
      local x = heed.tensor({{4.0, 1, 3}, {9, 8, 7}}, {requires_grad = true})
      local y = x[name](x, {})
      assert.same(x:totable(), y:totable(), name)
      y:sum():backward()
      assert.same({{1, 1, 1}, {1, 1, 1}}, x.grad:totable(), name)
    end
  end)

  it("lets NaN win", function()
    local x = heed.tensor {{1, NAN, 3, NAN}, {1, 2, INF, -INF}}
    for _, name in ipairs {"amax", "amin", "median"} do
      local y = x[name](x, 2)
      assert.is_true(is_nan(y:totable()[1]), name)
    end
    for _, name in ipairs {"max", "min", "median"} do
      local value, place = x[name](x, 2)
      assert.is_true(is_nan(value:totable()[1]), name)
      assert.equal(2, place:totable()[1])
    end
    assert.same({2, 3}, x:argmax(2):totable())
    assert.same({2, 4}, x:argmin(2):totable())
    assert.same({1, 1}, (x:nanmedian(2)):totable())
    assert.same({4, 3}, {x[1]:nansum():item(), x[2][{{1, 2}}]:sum():item()})
    assert.is_true(x:any():item())
  end)

  it("passes a gradient to the extremes evenly, or to the place", function()
    local function slope(f)
      local x = heed.tensor({{2.0, 3, 3}, {1, 3, NAN}}, {requires_grad = true})
      f(x):sum():backward()
      return x.grad
    end
    local function first(x) return (x:max(2)) end
    assert.same({{0, 1, 0}, {0, 0, 1}}, slope(first):totable())
    assert.same({{0, 0.5, 0.5}, {0, 0, 1}},
      slope(function(x) return x:amax(2) end):totable())
    assert.same({{0, 0, 0}, {0, 0, 1}},
      slope(function(x) return x:max() end):totable())
    assert.same({{0, 0, 0}, {1, 0, 0}},
      slope(function(x) return x[{{}, {1, 2}}]:min() end):totable())
  end)

  it("has a gradient of std where that is 0", function()
    local x = heed.tensor({1.0, 1, 1}, {requires_grad = true})
    x:std():backward()
    assert.same({0, 0, 0}, x.grad:totable())
  end)
end)

describe("a running", function()
  it("extreme has the place of the last of equals", function()
    local value, place = heed.tensor {1, 3, 3, NAN, 5, NAN}:cummax(1)
    assert.same({1, 3, 3}, value[{{1, 3}}]:totable())
    assert.same({1, 2, 3, 4, 4, 6}, place:totable())
    assert.is_true(is_nan(value[5]:item()))
    value, place = heed.tensor({3, 3, 4, 1}, {dtype = "uint8"}):cummin(1)
    assert.same({3, 3, 3, 1}, value:totable())
    assert.same({1, 2, 2, 4}, place:totable())
  end)

  it("logarithm of sums starts from nothing", function()
    local x = heed.tensor({-INF, -INF, 0, 800, -INF, 0},
      {dtype = "float64", requires_grad = true})
    local y = x:logcumsumexp(1)
    assert.same({-INF, -INF, 0, 800, 800, 800}, y:totable())
    y[{{3, 6}}]:sum():backward()
    assert.same({0, 0, 1, 3, 0, 0}, x.grad:totable())
  end)
end)

-- d^2 / dx^2 of everything that has a gradient.
local second <const> = {
  {"sum", 2}, {"nansum", 2}, {"mean"}, {"prod", 2}, {"prod"}, {"max", 2},
  {"min"}, {"amax", 2}, {"amin", 1}, {"median", 2}, {"nanmedian"},
  {"kthvalue", 2, 1}, {"mode", 1}, {"var", 2}, {"std", 2}, {"std"},
  {"var_mean", 1}, {"std_mean", 1}, {"logsumexp", 2}, {"cumsum", 2},
  {"cumprod", 2}, {"cumprod", 1}, {"cummax", 2}, {"cummin", 1},
  {"logcumsumexp", 2}, {"logcumsumexp", 1}, {"sort", 1}, {"topk", 2},
  {"quantile", 0.3, 2}, {"nanquantile", 0.3, 1}, {"nanmean", 1}, {"diff"},
  {"trapezoid"}, {"cov"}, {"corrcoef"},
}

describe("the gradient of", function()
  for _, call in ipairs(second) do
    it(table.concat(call, " ") .. " has the gradient it should", function()
      local function run(args)
        return (heed[call[1]](args[1], table.unpack(call, 2)))
      end
      local options = {atol = 1e-5}
      gradient.check(run, {sample.real {3, 4}}, options)
      gradient.check(twice(run), {sample.real {3, 4}}, options)
    end)
  end

  it("products with zeros has the gradient it should", function()
    local x = heed.tensor({{2, 0, 3, 0.5}, {0, 1.5, 0, 2}, {1, 2, 3, 0}},
      {dtype = "float64"})
    for _, name in ipairs {"prod", "cumprod"} do
      local function run(args) return args[1][name](args[1], 2) end
      gradient.check(run, {x})
      gradient.check(twice(run), {x}, {atol = 1e-5})
    end
  end)
end)
