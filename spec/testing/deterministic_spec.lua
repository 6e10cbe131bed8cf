-- testing.deterministic: bit for bit, in every run, with every thread count.
local heed = require "heed"
local message_of = require "spec.support.message"
local testing = require "heed.testing"

local same <const> = testing.deterministic

-- A function that gives its arguments, one a call, the last one for ever.
local function turns(...)
  local list, n = table.pack(...), 0
  return function()
    n = math.min(n + 1, list.n)
    return list[n]
  end
end

local function said(...)
  local ok, text = same(...)
  assert.is_false(ok)
  return text
end

describe("deterministic", function()
  it("takes what is the same each time, also with random numbers", function()
    assert.is_true(same(function()
      return {heed.randn(3, 4), n = 1, name = "a"}, true
    end))
    assert.is_true(same(turns(0 / 0)))
    assert.is_true(same(turns(heed.tensor {0 / 0, 1})))
  end)

  it("runs with each thread count, and leaves all as it was", function()
    local threads, counts = heed.get_num_threads(), {}
    heed.manual_seed(5)
    local want = heed.rand(1):item()
    heed.manual_seed(5)
    same(function()
      counts[#counts + 1] = heed.get_num_threads()
      return heed.rand(1)
    end, {threads = {1, 2}, runs = 2})
    assert.same({1, 2, 1, 2}, counts)
    assert.equal(threads, heed.get_num_threads())
    assert.equal(want, heed.rand(1):item())
  end)

  it("names the runs, the part, how many and the first place", function()
    local a = heed.tensor {{1.0, 2.0}, {3.0, 4.0}}
    local b = a:clone()
    b[{2, 1}] = 3.5
    assert.equal([[
deterministic: run 2 with 1 thread is not as run 1 with 1 thread
  result [1] w: 1 of 4 elements differ, first at [2 1]: 3 first, then 3.5]],
      said(turns({w = a}, {w = b}), {threads = {1}}))
    assert.matches("run 1 with 3 threads is not as run 1 with 2 threads\n"
      .. "  result [1]: 1 first, then 2",
      said(turns(1, 2), {threads = {2, 3}}), 1, true)
  end)

  it("tells zeros by their sign, dtypes and integers from floats", function()
    assert.matches("0 first, then -0", said(turns(heed.tensor {0.0},
      heed.tensor {-0.0})), 1, true)
    assert.matches("tensor float32 [1] first, then tensor float64 [1]",
      said(turns(heed.ones(1), heed.ones({1}, {dtype = "float64"}))), 1, true)
    assert.is_false((same(turns(1, 1.0))))
    assert.matches("a: 1 first, then nil", said(turns({a = 1}, {})), 1, true)
  end)

  it("compares with a copy of what may be written over", function()
    local x = heed.zeros(2)
    assert.is_false((same(function() return x:add_(1) end)))
  end)

  it("goes on with the generator when told so", function()
    assert.is_false((same(function() return heed.rand(4) end, {seed = false})))
  end)

  it("restores the thread count after an error", function()
    local threads = heed.get_num_threads()
    assert.equal("no", message_of(same, function() error("no", 0) end,
      {threads = {threads + 1}}))
    assert.equal(threads, heed.get_num_threads())
  end)

  it("refuses nothing to compare, and wrong options", function()
    assert.equal("deterministic: fn returns nothing that could be compared",
      said(function() end))
    assert.equal("deterministic: threads[1] must be an integer of at least 1, "
      .. "got 0", message_of(same, turns(1), {threads = {0}}))
    assert.equal("deterministic: threads must have a number in it",
      message_of(same, turns(1), {threads = {}}))
    assert.equal('deterministic: unknown option "times"; known: runs, seed, '
      .. "threads", message_of(same, turns(1), {times = 3}))
  end)
end)
