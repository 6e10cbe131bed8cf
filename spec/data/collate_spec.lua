local heed = require "heed"
local data = heed.data
local message = require "spec.support.message"

describe("data.pad_sequence", function()
  it("fills up lists of numbers", function()
    local ids, lens = data.pad_sequence({{5, 6, 7}, {8}, {}}, {pad = 1})
    assert.equal("int64", ids.dtype)
    assert.same({{5, 6, 7}, {8, 1, 1}, {1, 1, 1}}, ids:totable())
    assert.equal("int64", lens.dtype)
    assert.same({3, 1, 0}, lens:totable())
  end)

  it("fills up tensors along their first dimension", function()
    local x, lens = data.pad_sequence({heed.ones {1, 2}, heed.ones {3, 2}},
      {pad = -1})
    assert.equal("float32", x.dtype)
    assert.same({{{1, 1}, {-1, -1}, {-1, -1}}, {{1, 1}, {1, 1}, {1, 1}}},
      x:totable())
    assert.same({1, 3}, lens:totable())
  end)

  it("takes empty lists", function()
    assert.same({2, 0}, data.pad_sequence({{}, {}}).shape)
    assert.same({0, 0}, data.pad_sequence({}).shape)
  end)

  it("refuses what is no sequence", function()
    assert.equal("pad_sequence: list[2] must be a list, got 3",
      message(data.pad_sequence, {{1}, 3}))
    assert.equal('pad_sequence: list[1][2] must be a number, got "x"',
      message(data.pad_sequence, {{1, "x"}}))
    assert.equal("pad_sequence: list[2] must have a dimension to fill up, got "
      .. "tensor float32 []",
      message(data.pad_sequence, {heed.zeros {1}, heed.zeros {}}))
    assert.equal("pad_sequence: list[2] [2 3] and list[1] [1 2] must differ in "
      .. "the first size only",
      message(data.pad_sequence, {heed.zeros {1, 2}, heed.zeros {2, 3}}))
  end)
end)

describe("data.collate", function()
  it("stacks tensors, numbers, booleans, lists of numbers", function()
    local t = data.collate {heed.tensor {1, 2}, heed.tensor {3, 4}}
    assert.same({{1, 2}, {3, 4}}, t:totable())
    assert.equal("int64", data.collate({1, 2}).dtype)
    assert.equal("float32", data.collate({1, 2.5}).dtype)
    assert.equal("bool", data.collate({true, false}).dtype)
    assert.same({{1, 2}, {3, 4}}, data.collate({{1, 2}, {3, 4}}):totable())
    assert.same({"a", "b"}, data.collate {"a", "b"})
  end)

  it("goes through tables field by field", function()
    local batch = data.collate {
      {heed.tensor {1}, {name = "a", y = 5}},
      {heed.tensor {2}, {name = "b", y = 6}},
    }
    assert.same({{1}, {2}}, batch[1]:totable())
    assert.same({"a", "b"}, batch[2].name)
    assert.same({5, 6}, batch[2].y:totable())
  end)

  it("says which field does not fit", function()
    local tail = "; the option pad fills up sequences, collate does what it "
      .. "likes"
    assert.equal("DataLoader: the item.x of the items of a batch differs: "
      .. "2 numbers and, in number 2, 1" .. tail,
      message(data.collate, {{x = {1, 2}}, {x = {3}}}))
    assert.equal("DataLoader: the item[2] of the items of a batch differs: "
      .. "[2] and, in number 2, [3]" .. tail,
      message(data.collate, {{"a", heed.zeros(2)}, {"b", heed.zeros(3)}}))
    local kinds = "of the items of a batch must be of one kind (tensors, "
      .. "numbers, booleans, strings, or tables of the same fields), got %s "
      .. "first; the option collate makes batches of anything"
    assert.equal("DataLoader: the item " .. kinds:format("1"),
      message(data.collate, {1, "a"}))
    assert.equal("DataLoader: the item " .. kinds:format("a table"),
      message(data.collate, {{x = 1}, {y = 1}}))
    assert.equal("DataLoader: the item.x " .. kinds:format("a function"),
      message(data.collate, {{x = print}}))
    assert.equal("collate: items is empty", message(data.collate, {}))
  end)
end)

describe("data.padded", function()
  it("fills up the sequences and keeps their lengths", function()
    local batch = data.padded(1) {
      {source = {5, 6}, target = {7}, label = 3},
      {source = {8}, target = {9, 9}, label = 4},
    }
    assert.same({{5, 6}, {8, 1}}, batch.source:totable())
    assert.same({{7, 1}, {9, 9}}, batch.target:totable())
    assert.same({3, 4}, batch.label:totable())
    assert.same({2, 1}, batch.valid_lens.source:totable())
    assert.same({1, 2}, batch.valid_lens.target:totable())
    assert.is_nil(batch.valid_lens.label)
  end)

  it("takes items that are sequences themselves", function()
    local batch = data.padded(1)({{5}, {}, {6, 7}})
    assert.same({{5, 1}, {1, 1}, {6, 7}}, batch[1]:totable())
    assert.same({1, 0, 2}, batch.valid_lens[1]:totable())
  end)

  it("takes numbers by the names of fields", function()
    local batch = data.padded({x = -1, y = 2}) {
      {x = heed.zeros {1, 2}, y = {3}, z = {1, 1}},
      {x = heed.zeros {2, 2}, y = {3, 4}, z = {1, 1}},
    }
    assert.same({{0, 0}, {-1, -1}}, batch.x[1]:totable())
    assert.same({{3, 2}, {3, 4}}, batch.y:totable())
    assert.same({{1, 1}, {1, 1}}, batch.z:totable())
    assert.is_nil(batch.valid_lens.z)
  end)

  it("ends with the length of a list that makes up values", function()
    local function endless(list, value)
      return setmetatable(list, {__index = function() return value end})
    end
    assert.same({1, 2}, data.collate(endless({1, 2}, 7)):totable())
    assert.same({{1, 0}, {2, 3}},
      data.pad_sequence(endless({{1}, {2, 3}}, {9})):totable())
  end)

  it("refuses items without fields", function()
    assert.equal("DataLoader: with pad, the items of a batch must be sequences "
      .. "or tables of the same fields, got 1 first",
      message(data.padded(0), {1, 2}))
    assert.equal('padded: pad must be a table, got "x"',
      message(data.padded, "x"))
  end)
end)
