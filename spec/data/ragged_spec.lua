local heed = require "heed"
local data = heed.data
local message = require "spec.support.message"

describe("data.Ragged", function()
  local lists = {{5, 6, 7}, {8}, {}, {9, 10}}

  it("keeps lists of different lengths", function()
    local ragged = data.Ragged(lists)
    assert.equal(4, #ragged)
    for i, list in ipairs(lists) do assert.same(list, ragged[i]) end
  end)

  it("fills a batch up to its longest list", function()
    local rows, lengths = data.Ragged(lists):batch({2, 1, 3}, {pad = 1})
    assert.same({{8, 1, 1}, {5, 6, 7}, {1, 1, 1}}, rows:totable())
    assert.same({1, 3, 0}, lengths:totable())
  end)

  it("has batches of no columns and of no rows", function()
    local ragged = data.Ragged(lists)
    assert.same({1, 0}, ragged:batch({3}).shape)
    assert.same({0, 0}, ragged:batch({}).shape)
  end)

  it("is a dataset", function()
    local long = data.Ragged(lists):filter(function(list) return #list > 1 end)
    assert.equal(2, #long)
    assert.same({9, 10}, long[2])
    assert.equal("Dataset.get: i must be 1..4 or -4..-1, got 5",
      message(data.Ragged(lists).get, data.Ragged(lists), 5))
  end)

  it("refuses what is no list of lists", function()
    assert.equal("Ragged: lists[2] must be a list of integers, got 5",
      message(data.Ragged, {{1}, 5}))
    assert.equal("Ragged: lists must be integers, got 1.5",
      message(data.Ragged, {{1, 1.5}}))
  end)
end)
