local ticks = require "heed.plot.ticks"

describe("ticks", function()
  it("stand at 1, 2 or 5 and zeros, no more than allowed", function()
    assert.same({0, 2, 4, 6, 8, 10}, ticks.between(0, 10, 6))
    assert.same({0, 0.5, 1}, ticks.between(0, 1, 5))
    assert.same({-20, 0, 20, 40}, ticks.between(-39, 59, 6))
    assert.same({20, 25, 30}, ticks.between(16.5, 31, 4))
    for most = 3, 12 do
      for k = 1, 200 do
        local list = ticks.between(0.37 * k, 0.37 * k + k ^ 2 / 7, most)
        assert.is_true(#list >= 1 and #list <= most,
          ("%d ticks of %d for %d"):format(#list, most, k))
      end
    end
  end)

  it("stand at the ends where nothing is round", function()
    assert.same({3}, ticks.between(3, 3))
    assert.same({1, 1 + 1e-12}, ticks.between(1, 1 + 1e-12))
    assert.same({-1e308, 1e308}, ticks.between(-1e308, 1e308))
  end)

  it("have texts that differ", function()
    local list = ticks.labelled(100000, 100000.4, 5)
    local texts = {}
    for k, tick in ipairs(list) do texts[k] = tick.text end
    assert.same({"100000", "100000.1", "100000.2", "100000.3", "100000.4"},
      texts)
    assert.equal(0, list[1].place)
  end)
end)
