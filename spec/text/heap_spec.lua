local Heap = require "heed.text.heap"

describe("Heap", function()
  it("gives back items in order", function()
    local heap = Heap.new(math.ult)
    local items = {}
    for i = 1, 500 do
      items[i] = i * 7919 % 263 -- with repeats
      heap:push(items[i])
    end
    table.sort(items)
    for i = 1, 500 do assert.equal(items[i], heap:pop()) end
    assert.is_nil(heap:pop())
  end)

  it("takes pushes between pops", function()
    local heap = Heap.new(function(a, b) return a > b end)
    heap:push(1)
    heap:push(3)
    assert.equal(3, heap:pop())
    heap:push(2)
    assert.equal(2, heap:pop())
    assert.equal(1, heap:pop())
    assert.is_nil(heap:pop())
    heap:push(4)
    assert.equal(4, heap:pop())
  end)
end)
