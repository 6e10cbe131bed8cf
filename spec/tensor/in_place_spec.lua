-- Ops that write over their first input.

local heed = require "heed"

local function message(f, ...)
  local ok, text = pcall(f, ...)
  assert.is_false(ok, "no error was raised")
  return (text:gsub("^[^:]*:%d+: ", ""))
end

describe("writing in place", function()
  it("gives the tensor itself, and every view of it sees the value",
    function()
      local x = heed.tensor {{1, 2}, {3, 4}}
      local row = x[1]
      assert.is_true(rawequal(x, x:add_(10)))
      assert.same({11, 12}, row:totable())
      row:mul_(2)
      assert.same({{22, 24}, {13, 14}}, x:totable())
    end)

  it("keeps the dtype of what is written to", function()
    local x = heed.tensor {1.5, 2.5}
    x:add_(heed.tensor({0.25, 0.25}, {dtype = "float64"}))
    assert.equal("float32", x.dtype)
    assert.same({1.75, 2.75}, x:totable())
    local n = heed.tensor({1, 2}, {dtype = "uint8"})
    n:add_(heed.tensor {300, 1})
    assert.equal("uint8", n.dtype)
    assert.same({45, 3}, n:totable()) -- 301 wraps at 256
  end)

  it("refuses results that the dtype cannot hold", function()
    local n = heed.tensor {1, 2}
    assert.equal("add_: a int64 [2] cannot hold a result of float32",
      message(n.add_, n, 1.5))
    assert.equal("div_: a int64 [2] cannot hold a result of float32",
      message(n.div_, n, 2))
    local flags = heed.tensor {true, false}
    assert.equal("add_: a bool [2] cannot hold a result of int64",
      message(flags.add_, flags, 1))
    assert.same({1, 2}, n:totable())
  end)

  it("refuses results that are larger", function()
    local x = heed.zeros {3}
    assert.equal("add_: the result [2 3] does not fit into a [3]",
      message(x.add_, x, heed.ones {2, 3}))
  end)

  it("refuses a tensor in which one place is several elements", function()
    local x = heed.zeros({3, 1}):expand(3, 2)
    assert.equal("add_: a [3 2] is expanded or unfolded, so several of its " ..
      "elements are one place in memory; write to a copy (clone)",
      message(x.add_, x, 1))
    local t = heed.arange(1, 6):reshape(2, 3):transpose(1, 2)
    assert.same({{2, 5}, {3, 6}, {4, 7}}, t:add_(1):totable())
  end)

  it("reads an operand that overlaps before it is overwritten", function()
    local x = heed.arange(1, 5)
    x[{{2, 5}}]:add_(x[{{1, 4}}])
    assert.same({1, 3, 5, 7, 9}, x:totable())
    local s = heed.tensor {{1, 2}, {3, 4}}
    s:add_(s:transpose(1, 2))
    assert.same({{2, 5}, {5, 8}}, s:totable())
  end)

  it("writes to half floats through float32", function()
    local x = heed.tensor({1, 2}, {dtype = "bfloat16"})
    assert.same({2.5, 3.5}, x:add_(1.5):totable())
    assert.equal("bfloat16", x.dtype)
  end)

  it("makes a backward pass that needs the old value an error", function()
    local x = heed.tensor({2, 3}, {dtype = "float32", requires_grad = true})
    local y = x * 1
    local z = y * y
    y:add_(1)
    assert.equal("backward: input 2 of mul was overwritten after it was " ..
      "used (version 1, needed 0); write to a copy instead",
      message(z.backward, z, heed.ones {2}))
  end)

  it("lets a backward pass through that does not need it", function()
    local x = heed.tensor({2, 3}, {dtype = "float32", requires_grad = true})
    local y = (x * 2):exp()
    y:add_(1):mul_(3)
    local ok = pcall(y.backward, y, heed.ones {2})
    assert.is_false(ok) -- exp needs its result
    local z = x * 2
    z:add_(1):mul_(3):neg_()
    z:backward(heed.ones {2})
    assert.same({-6, -6}, x.grad:totable())
  end)
end)
