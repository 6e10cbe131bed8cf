-- testing.tensors_close: what is close, and what the message says.
local heed = require "heed"
local message_of = require "spec.support.message"
local testing = require "heed.testing"

local close <const> = testing.tensors_close
local NAN <const>, INF <const> = 0 / 0, math.huge

local function said(...)
  local ok, text = close(...)
  assert.is_false(ok)
  return text
end

describe("tensors_close", function()
  it("takes what is within atol + rtol * |want|", function()
    assert.is_true(close({1.09, 110}, {1, 100}, {atol = 0.1, rtol = 0.1}))
    assert.is_false(close({1.21}, {1}, {atol = 0.1, rtol = 0.1}))
    assert.is_true(close(heed.tensor {1.0, 2.0}, {1, 2}))
    assert.is_true(close(2, heed.tensor(2)))
    assert.is_true(close(heed.zeros({0, 3}), heed.zeros({0, 3})))
  end)

  it("has a tolerance for each dtype, none for integers", function()
    local last <const> = {
      float64 = 1e-7, float32 = 1.3e-6, float16 = 1e-3, bfloat16 = 1.6e-2,
      int64 = 0, bool = 0,
    }
    for dtype, rtol in pairs(last) do
      assert.equal(rtol, (testing.tolerances(dtype)))
    end
    local one = heed.ones({1}, {dtype = "float64"}) -- atol counts too
    assert.is_true(close(one + 1.9e-7, one))
    assert.is_false(close(one + 2.1e-7, one))
    one = one:to("float32")
    assert.is_true(close(one + 1.1e-5, one))
    assert.is_false(close(one + 1.2e-5, one))
    assert.is_false(close(heed.tensor {1}, {2}))
  end)

  it("takes the wider tolerance of two dtypes that may differ", function()
    local a = heed.ones({1}, {dtype = "bfloat16"})
    local b = heed.full({1}, 1.015, {dtype = "float64"})
    assert.is_true(close(a, b, {check_dtype = false}))
    assert.equal("tensors_close: the dtypes differ (check_dtype = false "
      .. "compares the values)\n  got bfloat16 [1], want float64 [1]",
      said(a, b))
  end)

  it("leaves rtol at 0 when only atol is given, and vice versa", function()
    assert.is_false(close({1000.1}, {1000}, {atol = 0.05}))
    assert.is_false(close({0.001}, {0}, {rtol = 0.5}))
  end)

  it("says how many differ, the worst place and the first places", function()
    local got = heed.tensor {{1, 2, 3}, {4, 5, 6.5}}
    assert.equal([[
tensors_close: 2 of 6 elements differ
  got float32 [2 3], want list [2 3]
  worst at [2 3]: got 6.5, want 6, 0.5 over the tolerance
  tolerance 1e-05 + 1.3e-06 * |want|
  place  got  want   off by
  [2 2]  5    5.001  0.001
  [2 3]  6.5  6      0.5]], said(got, {{1, 2, 3}, {4, 5.001, 6}}))
  end)

  it("lists as many differences as it is told", function()
    local text = said(heed.arange(10), heed.zeros({10}, {dtype = "int64"}),
      {shown = 2, atol = 2})
    assert.equal([[
tensors_close: 8 of 10 elements differ
  got int64 [10], want int64 [10]
  worst at [10]: got 10, want 0, 8 over the tolerance
  tolerance 2
  place  got  want  off by
  [3]    3    0     3
  [4]    4    0     4
  and 6 more]], text)
    assert.is_nil(said({1}, {2}, {shown = 0}):find("place"))
  end)

  it("shows as many digits as tell two floats apart", function()
    local a = heed.full({1}, 0.1, {dtype = "float32"})
    assert.matches("got 0.1, want 0.10000001,", said(a, a:clone():add(7e-9),
      {rtol = 0}), 1, true)
    assert.matches("got 0.1, want 0.10000000000000002,", said({0.1},
      {0.10000000000000002}, {atol = 0}), 1, true)
  end)

  it("tells shapes apart", function()
    assert.equal("tensors_close: the shapes differ\n"
      .. "  got list [2], want list [1 2]", said({1, 2}, {{1, 2}}))
    assert.is_false(close(heed.zeros({0, 2}), heed.zeros({2, 0})))
  end)

  it("names the places of NaN on either side", function()
    local text = said(heed.tensor {NAN, 1, INF, NAN},
      heed.tensor {1, NAN, -INF, NAN})
    assert.equal([[
tensors_close: 4 of 4 elements differ
  got float32 [4], want float32 [4]
  worst at [1]: got nan, want 1
  tolerance 1e-05 + 1.3e-06 * |want|
  NaN only in got: 1 place, first at [1]
  NaN only in want: 1 place, first at [2]
  NaN in both: 1 place, first at [4] (equal_nan = true takes them as equal)
  place  got  want  off by
  [1]    nan  1     nan
  [2]    1    nan   nan
  [3]    inf  -inf  inf
  [4]    nan  nan   nan]], text)
  end)

  it("takes equal infinities, and equal NaN when told so", function()
    assert.is_true(close({INF, -INF}, {INF, -INF}))
    assert.is_false(close({INF}, {1e300}, {rtol = 1}))
    assert.is_false(close({1}, {INF}))
    assert.is_true(close({NAN, 1}, {NAN, 1}, {equal_nan = true}))
    assert.is_false(close({NAN, 1}, {1, NAN}, {equal_nan = true}))
  end)

  it("compares integers as such, also the largest", function()
    local top <const> = math.maxinteger
    assert.is_false(close(heed.tensor {top}, {top - 1}))
    assert.is_true(close(heed.tensor {top}, {top - 1}, {atol = 1}))
    assert.is_false(close({top}, {math.mininteger}, {atol = 3}))
    assert.is_true(close(heed.tensor {true, false}, {true, false}))
    assert.is_false(close(heed.tensor {true, false}, {true, true}))
  end)

  it("reads lists without loss beside float64", function()
    assert.is_true(close(heed.tensor({0.1}, {dtype = "float64"}), {0.1},
      {atol = 0}))
  end)

  it("compares tables of tensors key by key", function()
    local a, b = heed.ones(2), heed.zeros(2)
    assert.is_true(close({w = a, layers = {b, a}}, {w = a, layers = {b, a}}))
    assert.equal([[
tensors_close: [1]: missing
tensors_close: bias: not wanted
tensors_close: w: 1 of 2 elements differs]],
      (said({w = a, bias = b}, {b, w = {1, 0}}, {shown = 0})
        :gsub("differ\n.*", "differs")))
  end)

  it("reads views, and tensors that want gradients", function()
    local x = heed.tensor({{1.0, 2.0}, {3.0, 4.0}}, {requires_grad = true})
    assert.is_true(close(x:transpose(1, 2), {{1, 3}, {2, 4}}))
    assert.is_true(x.requires_grad)
  end)

  it("refuses what is no value, and unknown options", function()
    assert.equal('tensors_close: got must be a tensor, a nested list or a '
      .. 'number, got "a"', message_of(close, "a", 1))
    assert.equal("tensors_close: want must be a tensor, a nested list or a "
      .. "number, got nil", message_of(close, 1))
    assert.equal("tensors_close: got: ragged input: entry [2] must have 1 "
      .. "elements like the first, got 2",
      message_of(close, {{1}, {2, 3}}, 1))
    assert.equal('tensors_close: unknown option "tol"; known: atol, '
      .. "check_dtype, equal_nan, rtol, shown",
      message_of(close, 1, 1, {tol = 1}))
    assert.equal("tensors_close: rtol must be a number of at least 0, got -1",
      message_of(close, 1, 1, {rtol = -1}))
    assert.equal("tolerances: dtype must be a string, got nil",
      message_of(testing.tolerances))
  end)
end)
