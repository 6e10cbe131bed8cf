local heed = require "heed"
local data = heed.data

describe("data", function()
  local lists = {{5, 6, 7}, {8}, {}, {9, 10}}

  it("keeps lists of different lengths", function()
    local ragged = data.Ragged(lists)
    assert.equal(4, #ragged)
    for i, list in ipairs(lists) do assert.same(list, ragged:list(i)) end
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

  it("makes batches that hold every example once", function()
    local lengths = {}
    for i = 1, 1000 do lengths[i] = i * 7919 % 23 end
    heed.manual_seed(1)
    local seen, n = {}, 0
    for _, batch in ipairs(data.batches(lengths, {size = 16})) do
      assert.is_true(#batch <= 16)
      for _, i in ipairs(batch) do
        assert.is_nil(seen[i])
        seen[i] = true
        n = n + 1
      end
    end
    assert.equal(1000, n)
  end)

  it("makes batches of about one length", function()
    local lengths = {}
    for i = 1, 640 do lengths[i] = i * 7919 % 40 end
    for _, batch in ipairs(data.batches(lengths, {size = 16})) do
      local low, high = math.huge, 0
      for _, i in ipairs(batch) do
        low, high = math.min(low, lengths[i]), math.max(high, lengths[i])
      end
      assert.is_true(high - low <= 2)
    end
  end)

  it("repeats its order with the same generator", function()
    local lengths = {3, 1, 2, 5, 4, 9, 7}
    local function order()
      return data.batches(lengths, {size = 2, generator = heed.Generator(5)})
    end
    assert.same(order(), order())
    assert.same({{2, 3}, {1, 5}, {4, 7}, {6}},
      data.batches(lengths, {size = 2, shuffle = false}))
  end)
end)
