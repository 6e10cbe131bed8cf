local axis = require "heed.plot.axis"
local ticks = require "heed.plot.ticks"

local greatest <const> = 0x1.fffffffffffffp1023

describe("ticks", function()
  it("are 1, 2 or 5 times a power of ten apart, and as many as allowed",
    function()
      local cases = {
        {0, 1, 11, "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1"},
        {0, 1, 6, "0 0.2 0.4 0.6 0.8 1"},
        {0, 1, 5, "0 0.5 1"},
        {-0.04, 2.7, 6, "0 0.5 1 1.5 2 2.5"},
        {-30, 30, 4, "-20 0 20"},
        {0, 100000, 6, "0 20000 40000 60000 80000 100000"},
        {0, 5e8, 6, "0 1e8 2e8 3e8 4e8 5e8"},
        {0, 3e-7, 4, "0 1e-7 2e-7 3e-7"},
        {1e6, 1e6 + 2, 3, "1000000 1000001 1000002"},
      }
      for _, case in ipairs(cases) do
        local numbers, texts = ticks.linear(case[1], case[2], case[3])
        assert.equal(case[4], table.concat(texts, " "))
        for i, text in ipairs(texts) do
          assert.equal(tonumber(text) + 0.0, numbers[i])
        end
      end
    end)

  it("never stand alone where two are possible", function()
    for most = 2, 5 do
      for low = -1, 1, 0.13 do
        local numbers = ticks.linear(low, low + 0.71, most)
        assert.is_true(#numbers >= 2)
      end
    end
  end)

  it("are both ends where no distance is round", function()
    for _, case in ipairs {{1, 1 + 2^-52, "1 1.0000000000000002"},
      {-1e308, 1e308, "-1e308 1e308"}, {0, 5e-324, "0 4.941e-324"}} do
      local numbers, texts = ticks.linear(case[1], case[2], 5)
      assert.same({case[1], case[2]}, numbers)
      assert.equal(case[3], table.concat(texts, " "))
    end
  end)

  it("of whole numbers are whole", function()
    local _, texts = ticks.linear(1, 3, 10, true)
    assert.equal("1 2 3", table.concat(texts, " "))
    _, texts = ticks.linear(1, 3, 5)
    assert.equal("1 1.5 2 2.5 3", table.concat(texts, " "))
  end)

  it("of a logarithmic axis are powers of ten, finer where there is room",
    function()
      local cases = {
        {1, 1000, 5, "1 10 100 1000"},
        {1, 100, 8, "1 2 5 10 20 50 100"},
        {1, 100, 5, "1 10 100"},
        {0.5, 60, 8, "0.5 1 2 5 10 20 50"},
        {1e-10, 1e10, 5, "1e-10 1e-5 1 1e5 1e10"},
        {3.1, 4.8, 5, "3.5 4 4.5"},
        {5e-324, greatest, 4, "1e-200 1 1e200"},
      }
      for _, case in ipairs(cases) do
        local numbers, texts = ticks.log(case[1], case[2], case[3])
        assert.equal(case[4], table.concat(texts, " "))
        for i, text in ipairs(texts) do
          assert.equal(tonumber(text) + 0.0, numbers[i])
        end
      end
    end)
end)

describe("an axis", function()
  it("gives places from 0 at its low end to 1 at its high one", function()
    local place = axis.new(2, 6, {}):placer()
    assert.same({0, 0.25, 1, -0.5, 1.5},
      {place(2), place(3), place(6), place(0), place(8)})
    place = axis.new(1, 100, {log = true}):placer()
    assert.same({0, 0.5, 1, 1.5}, {place(1), place(10), place(100),
      place(1000)})
  end)

  it("has no place for NaN, infinities, and the logarithm of 0 and less",
    function()
      local place = axis.new(0, 1, {}):placer()
      assert.same({}, {place(0 / 0), place(math.huge), place(-math.huge)})
      place = axis.new(1, 10, {log = true}):placer()
      assert.same({}, {place(0), place(-1), place(0 / 0), place(math.huge)})
    end)

  it("takes numbers as far apart, and as near, as floats can be", function()
    local place = axis.new(-greatest, greatest, {pad = 0.05}):placer()
    assert.same({0, 0.5, 1}, {place(-greatest), place(0), place(greatest)})
    place = axis.new(0, 5e-324, {}):placer()
    assert.same({0, 1}, {place(0), place(5e-324)})
    place = axis.new(5e-324, greatest, {log = true, pad = 0.05}):placer()
    assert.is_true(place(5e-324) >= 0 and place(greatest) <= 1)
  end)

  it("holds a single value in its middle", function()
    for _, value in ipairs {3, -3, 0, 1e-300, greatest} do
      local place = axis.new(value, value, {}):placer()(value)
      assert.is_true(place > 0 and place <= 1)
    end
    for _, value in ipairs {7, 5e-324, greatest} do
      local place = axis.new(value, value, {log = true}):placer()(value)
      assert.is_true(place >= 0 and place <= 1)
    end
    local a = axis.new(5, 5, {whole = true})
    assert.same({4, 6}, {a.low, a.high})
  end)

  it("ends where the limits say", function()
    local a = axis.new(2, 6, {low = 0, pad = 0.25})
    assert.same({0, 7.5}, {a.low, a.high})
    a = axis.new(2, 6, {low = 10})
    assert.is_true(a.low == 10 and a.high > 10)
    a = axis.new(math.huge, -math.huge, {high = 3})
    assert.is_true(a.high == 3 and a.low < 3)
  end)
end)
