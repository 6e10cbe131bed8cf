local heed = require "heed"
local data = heed.data
local message = require "spec.support.message"

local function items(set)
  local list = {}
  for i = 1, #set do list[i] = set[i] end
  return list
end

describe("data.Dataset", function()
  local letters = data.Dataset {"a", "b", "c", "d", "e"}

  it("numbers the items of a list, from 1 and from the end", function()
    assert.equal(5, #letters)
    assert.equal("a", letters[1])
    assert.equal("e", letters:get(-1))
    assert.equal("Dataset(5 items)", tostring(letters))
  end)

  it("does not follow later changes of the list", function()
    local list = {1, 2}
    local set = data.Dataset(list)
    list[1], list[3] = 9, 3
    assert.same({1, 2}, items(set))
  end)

  it("makes items by a function, when they are asked for", function()
    local asked = {}
    local set = data.Dataset(3, function(i)
      asked[#asked + 1] = i
      return 10 * i
    end)
    assert.same({}, asked)
    assert.equal(20, set[2])
    assert.same({2}, asked)
  end)

  it("maps, filters, takes and joins", function()
    local set = data.Dataset {1, 2, 3, 4}
    assert.same({"1/1", "2/2", "3/3", "4/4"},
      items(set:map(function(x, i) return x .. "/" .. i end)))
    assert.same({2, 4}, items(set:filter(function(x) return x % 2 == 0 end)))
    assert.same({4, 1, 1}, items(set:subset({-1, 1, 1})))
    assert.same({3}, items(set:subset(heed.tensor {3})))
    assert.same({1, 2, 3, 4, "a", 1}, items(set:concat(letters:subset({1}),
      data.Dataset {}, data.Dataset {1})))
  end)

  it("is split by chance as PyTorch splits", function()
    -- random_split(range(10), [3, 7], generator=Generator().manual_seed(42))
    -- and (range(11), [.3, .3, .4]), plus 1
    local set = data.Dataset(11, function(i) return i end)
    local g = heed.Generator(42)
    local a, b = set:subset({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}):random_split(
      {3, 7}, {generator = g})
    assert.same({3, 7, 2}, items(a))
    assert.same({9, 5, 6, 1, 10, 4, 8}, items(b))
    g:manual_seed(42)
    local parts = {set:random_split({0.3, 0.3, 0.4}, {generator = g})}
    assert.same({7, 9, 10, 3}, items(parts[1]))
    assert.same({2, 11, 1}, items(parts[2]))
    assert.same({8, 4, 6, 5}, items(parts[3]))
  end)

  it("may be empty", function()
    local set = data.Dataset {}
    assert.equal(0, #set)
    assert.equal(0, #set:filter(function() return true end))
    assert.equal(0, #set:random_split({1.0}))
    assert.equal("Dataset.get: there are no items, got i = 1",
      message(set.get, set, 1))
  end)

  it("tells datasets from other values", function()
    assert.is_true(data.Dataset.is(letters))
    assert.is_true(data.Dataset.is(data.Ragged {{1}}))
    assert.is_false(data.Dataset.is({1, 2}))
    assert.is_false(data.Dataset.is(heed.zeros(2)))
  end)

  it("refuses wrong arguments", function()
    local function split(sizes)
      return message(letters.random_split, letters, sizes)
    end
    assert.equal("Dataset: source must be a list or a number of items, got nil",
      message(data.Dataset))
    assert.equal("Dataset: get must be a function, got nil",
      message(data.Dataset, 3))
    assert.equal("Dataset: source must be an integer of at least 0, got -1",
      message(data.Dataset, -1, print))
    for _, i in ipairs {0, 6, -6, 1.5} do
      assert.equal(("Dataset.get: i must be 1..5 or -5..-1, got %s"):format(i),
        message(letters.get, letters, i))
    end
    assert.equal("Dataset.subset: rows[2] must be one of 5 items, got 6",
      message(letters.subset, letters, {1, 6}))
    assert.equal("Dataset.map: f must be a function, got nil",
      message(letters.map, letters))
    assert.equal("Dataset.concat: argument 1 must be a dataset, got a table",
      message(letters.concat, letters, {}))
    local sum = "Dataset.random_split: sizes must be integers that sum to 5, "
      .. "the items, or fractions that sum to 1; their sum is "
    assert.equal(sum .. "4", split({3, 1}))
    assert.equal(sum .. "0.5", split({0.25, 0.25}))
    assert.equal("Dataset.random_split: sizes[2] must be a number of at least "
      .. "0, got -1", split({6, -1}))
  end)
end)

describe("data.TensorDataset", function()
  local x, y = heed.tensor {{1, 2}, {3, 4}, {5, 6}}, heed.tensor {7, 8, 9}

  it("gives the rows of its tensors", function()
    local set = data.TensorDataset(x, y)
    assert.equal(3, #set)
    assert.same({3, 4}, set[2][1]:totable())
    assert.equal(8, set[2][2]:item())
  end)

  it("gives the same batches as its items, stacked", function()
    local set = data.TensorDataset(x, y):subset({3, 1})
    local slow = data.Dataset(#set, function(i) return set[i] end)
    local a = data.DataLoader(set, {batch_size = 2}):batches()()
    local b = data.DataLoader(slow, {batch_size = 2}):batches()()
    assert.same({{5, 6}, {1, 2}}, a[1]:totable())
    assert.same({9, 7}, a[2]:totable())
    assert.is_true(a[1]:equal(b[1]) and a[2]:equal(b[2]))
  end)

  it("refuses tensors of other lengths", function()
    assert.equal("TensorDataset: argument 2 must have as many rows as the "
      .. "first, [3 2], got [2]",
      message(data.TensorDataset, x, heed.zeros(2)))
    assert.equal("TensorDataset: no tensors were given",
      message(data.TensorDataset))
    assert.equal("TensorDataset: argument [2] must be a tensor, got 3",
      message(data.TensorDataset, x, 3))
  end)
end)
