local curve = require "heed.plot.curve"

local nan <const> = 0 / 0

-- The places are the numbers; NaN has none.
local function place(number)
  if number == number then return number end
end

local function pieces(xs, ys, columns)
  return curve.pieces(xs, ys, place, place, columns or 1000)
end

describe("a curve", function()
  it("is one piece through all its points", function()
    assert.same({{0, 0.5, 0.25, 1, 0.5, 0.25, 1, 0}},
      pieces({0, 0.25, 0.5, 1}, {0.5, 1, 0.25, 0}))
  end)

  it("has a gap at NaN in x or y, and keeps points between gaps", function()
    assert.same({{0, 0}, {0.5, 0.5, 0.75, 0.5}},
      pieces({0, 0.25, 0.5, 0.75, nan}, {0, nan, 0.5, 0.5, 1}))
    assert.same({}, pieces({0, 1}, {nan, nan}))
    assert.same({}, pieces({}, {}))
  end)

  it("is cut where it leaves the chart", function()
    -- y = 2 x - 0.5 crosses 0 at 0.25 and 1 at 0.75
    assert.same({{0.25, 0, 0.75, 1}}, pieces({0, 1}, {-0.5, 1.5}))
    assert.same({{0, 0.5, 0.25, 0.5, 0.5, 1}, {0.75, 1, 1, 0.5}},
      pieces({0, 0.25, 0.75, 0.5, 1}, {0.5, 0.5, 1.5, 1.5, 0.5}))
    assert.same({{0, 0.5, 1, 0.5}}, pieces({-2, 3}, {0.5, 0.5}))
    assert.same({}, pieces({-2, -1, 0.5}, {0.5, 0.5, 9}))
  end)

  it("passes a corner of the chart with both points outside", function()
    local found = pieces({-0.25, 0.5}, {0.5, -0.25})
    assert.same({{0, 0.25, 0.25, 0}}, found)
  end)

  it("keeps first, lowest, highest and last of each column", function()
    math.randomseed(1)
    local xs, ys, columns = {}, {}, 10
    for i = 1, 5000 do
      xs[i], ys[i] = (i - 1) / 5000, math.random()
    end
    local found = pieces(xs, ys, columns)
    assert.equal(1, #found)
    assert.is_true(#found[1] <= 2 * 4 * columns)
    local seen = {}
    for i = 1, #found[1], 2 do
      local column = found[1][i] * columns // 1
      seen[column] = seen[column] or {}
      table.insert(seen[column], found[1][i + 1])
    end
    for column = 0, columns - 1 do
      local from, to = column * 500 + 1, column * 500 + 500
      local all = table.move(ys, from, to, 1, {})
      assert.equal(ys[from], seen[column][1])
      assert.equal(ys[to], seen[column][#seen[column]])
      assert.equal(math.min(table.unpack(all)),
        math.min(table.unpack(seen[column])))
      assert.equal(math.max(table.unpack(all)),
        math.max(table.unpack(seen[column])))
    end
  end)

  it("goes back and forth in the order of its points", function()
    assert.same({{0, 0, 0.9, 0.5, 0.1, 1}},
      pieces({0, 0.9, 0.1}, {0, 0.5, 1}, 10))
  end)

  it("as points has one of those that fall together", function()
    assert.same({0.1, 0.1, 0.9, 0.9},
      curve.points({0.1, 0.11, 0.9, 2, nan, 0.5},
        {0.1, 0.12, 0.9, 0.5, 0.5, nan}, place, place, 10, 10))
  end)
end)
