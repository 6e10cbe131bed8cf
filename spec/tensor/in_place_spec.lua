-- Ops that write over their first input.

local heed = require "heed"
local message = require "spec.support.message"

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

  it("computes integers in the common dtype, and cuts the result", function()
    local function small(...) return heed.tensor({...}, {dtype = "uint8"}) end
    assert.same({0, 7}, small(200, 7):floor_div_(heed.tensor {256, 1})
      :totable())
    assert.same({44, 7}, small(200, 7):maximum_(heed.tensor {300, -3})
      :totable())
    assert.same({3, 253}, small(3, 7):minimum_(heed.tensor {300, -3})
      :totable())
    local x = small(3, 7)
    x[{{1, 1}}]:add_(heed.tensor {256})
    assert.same({3, 7}, x:totable())
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

  it("has the gradient of what an operand held before", function()
    local function gradient(f)
      local x = heed.tensor({2, 3}, {dtype = "float64", requires_grad = true})
      f(x:clone()):sum():backward()
      return x.grad:totable()
    end
    assert.same({4, 6}, gradient(function(v) return v:mul_(v) end))
    assert.same({0, 0}, gradient(function(v) return v:div_(v) end))
    assert.same({4, 6}, gradient(function(v)
      return v:mul_(v:reshape(1, 2):squeeze())
    end))
    assert.same({9, 13}, gradient(function(v) -- v + 2 v^2
      return v:addcmul_(v, v, {value = 2})
    end))
  end)

  it("reads itself as index and as source before it is overwritten", function()
    local function fresh() return heed.tensor {2, 3, 1} end
    local x = fresh()
    x[x] = x
    assert.same({1, 2, 3}, x:totable())
    x = fresh()
    assert.same({1, 2, 3}, x:scatter_(1, x, x):totable())
    x = fresh()
    assert.same({1, 2, 3}, x:index_copy_(1, x, x):totable())
    x = fresh()
    assert.same({3, 5, 4}, x:index_add_(1, x, x):totable())
    x = fresh()
    assert.same({3, 5, 4}, x:scatter_add_(1, x, x):totable())
    x = fresh()
    assert.same({3, 5, 4},
      x:index_put_({x}, x, {accumulate = true}):totable())
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
    assert.equal("backward: result 1 of exp was overwritten after it was " ..
      "used (version 2, needed 0); write to a copy instead",
      message(y.backward, y, heed.ones {2}))
    local z = x * 2
    z:add_(1):mul_(3):neg_()
    z:backward(heed.ones {2})
    assert.same({-6, -6}, x.grad:totable())
  end)

  it("keeps the old value where its own gradient needs it", function()
    local x = heed.tensor({2, 3}, {dtype = "float32", requires_grad = true})
    local w = heed.tensor({5, 7}, {dtype = "float32", requires_grad = true})
    local y = x * 1
    y:mul_(w)
    y:sum():backward()
    assert.same({5, 7}, x.grad:totable())
    assert.same({2, 3}, w.grad:totable())
  end)

  it("keeps it also for ops that are copied into place", function()
    local x = heed.tensor({2, 3, 4}, {dtype = "float32",
      requires_grad = true})
    local y = x * 1
    y:cumprod_(1):sum():backward()
    -- 2 + 6 + 24 by each: (1 + 3 + 12, 2 + 8, 6)
    assert.same({16, 10, 6}, x.grad:totable())
    y = x * 1
    x.grad = nil
    y:scatter_reduce_(1, heed.tensor {1}, heed.tensor {5.0}, "prod")
    y:sum():backward()
    assert.same({5, 1, 1}, x.grad:totable())
  end)

  it("refuses an op without gradient on what has a history", function()
    local x = heed.tensor({2.5}, {requires_grad = true}) * 1
    assert.equal("floor_div_: a takes part in gradients, and floor_div_ " ..
      "has none; write to a copy (clone)", message(x.floor_div_, x, 2))
  end)
end)

describe("writing to a view in a graph", function()
  local function leaf(values)
    return heed.tensor(values, {dtype = "float64", requires_grad = true})
  end

  it("changes the history of the tensor that it is a view of", function()
    local x, w = leaf {{1, 2}, {3, 4}}, leaf {5, 6}
    local y = x * 10
    y[1]:mul_(w)
    assert.same({{50, 120}, {30, 40}}, y:totable())
    y:sum():backward()
    assert.same({{50, 60}, {10, 10}}, x.grad:totable())
    assert.same({10, 20}, w.grad:totable())
  end)

  it("changes the history of other views, made before", function()
    local x, w = leaf {1, 2, 3, 4}, leaf {7}
    local y = x * 1
    local left, middle = y[{{1, 2}}], y[{{2, 3}}]
    left:copy_(w)
    assert.same({7, 3}, middle:totable())
    middle:sum():backward()
    assert.same({0, 0, 1, 0}, x.grad:totable())
    assert.same({1}, w.grad:totable())
  end)

  it("lets an assignment to a part take part in gradients", function()
    local x, v = leaf {1, 2, 3}, leaf {10, 20}
    local y = x * x
    y[{{2, 3}}] = v
    y:sum():backward()
    assert.same({2, 0, 0}, x.grad:totable())
    assert.same({1, 1}, v.grad:totable())
  end)

  it("gives a history to a tensor that had none", function()
    local w = leaf {2, 3}
    local buffer = heed.zeros({2, 2}, {dtype = "float64"})
    buffer[1] = w
    buffer[2] = w * w
    assert.is_true(buffer.requires_grad)
    buffer:sum():backward()
    assert.same({5, 7}, w.grad:totable())
  end)

  it("sums over the places of an expanded view", function()
    local x, w = leaf {1, 2}, leaf {3}
    local y = x * 1
    local wide = y:expand(3, 2)
    y[1]:copy_(w[1])
    wide:sum():backward()
    assert.same({0, 3}, x.grad:totable())
    assert.same({3}, w.grad:totable())
  end)

  it("can be differentiated twice", function()
    local x, w = leaf {1, 2}, leaf {3}
    local y = x * 1
    y[1]:mul_(w[1])
    -- f = (x1 w)^3 + x2^3: df/dx1 = 3 x1^2 w^3
    local gx = heed.grad((y * y * y):sum(), x, {create_graph = true})
    assert.same({81, 12}, gx:totable())
    gx:sum():backward()
    assert.same({162, 12}, x.grad:totable()) -- 6 x1 w^3, 6 x2
    assert.same({81}, w.grad:totable())      -- 9 x1^2 w^2
  end)

  it("refuses one with views that is not contiguous", function()
    local w = heed.ones({3, 2}, {requires_grad = true})
    local y = heed.zeros(3, 4)[{{}, {1, 2}}]:detach()
    local view = y[3]
    assert.equal("add_: a is not contiguous, has views and takes part in " ..
      "gradients; write to a copy (clone)", message(y.add_, y, w))
    assert.same({0, 0}, view:totable())
    getmetatable(view).__close(view)
    y:add_(w):sum():backward()
    assert.same({{1, 1}, {1, 1}, {1, 1}}, w.grad:totable())
  end)

  it("refuses a view of a leaf", function()
    local x = leaf {1, 2}
    local row = x[{{1, 1}}]
    assert.equal("add_: a is a view of a leaf that wants gradients; write " ..
      "to it inside heed.no_grad", message(row.add_, row, 1))
    heed.no_grad(function() row:add_(1) end)
    assert.same({2, 2}, x:totable())
  end)

  it("frees its histories", function()
    collectgarbage()
    local before = heed.memory_stats().used
    for _ = 1, 100 do
      local x = leaf {1, 2, 3, 4}
      local y = x * 2
      local a, b = y[{{1, 2}}], y[{{3, 4}}]
      a:mul_(b)
      b:mul_(a)
      local loss = (y * y):sum() + a:exp():sum()
      loss:backward()
    end
    collectgarbage()
    collectgarbage()
    assert.equal(before, heed.memory_stats().used)
  end)
end)
