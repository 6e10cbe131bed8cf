-- heed.autograd: hooks, functions with rules in Lua, checkpoints, Jacobians,
-- the search for the first NaN.

local heed = require "heed"
local message = require "spec.support.message"

local autograd <const> = heed.autograd

local function leaf(values)
  return heed.tensor(values, {dtype = "float64", requires_grad = true})
end

local function near(want, got)
  local worst = (got - heed.tensor(want, {dtype = "float64"})):abs():max()
  assert.is_true(worst:item() < 1e-12, tostring(got))
end

describe("no_grad and enable_grad", function()
  it("run a function in their mode, and go back, also after an error",
    function()
      assert.same({false, 1, nil, 3}, {heed.no_grad(function(...)
        assert.is_true(heed.enable_grad(heed.is_grad_enabled))
        return heed.is_grad_enabled(), ...
      end, 1, nil, 3)})
      assert.is_true(heed.is_grad_enabled())
      assert.equal("mine", select(2, pcall(heed.no_grad, error, "mine", 0)))
      assert.is_true(heed.is_grad_enabled())
    end)

  it("are guards without a function", function()
    do
      local _ <close> = heed.no_grad()
      assert.is_false((leaf {1} * 2).requires_grad)
      do
        local _ <close> = heed.enable_grad()
        assert.is_true((leaf {1} * 2).requires_grad)
      end
      assert.is_false(heed.is_grad_enabled())
    end
    assert.is_true(heed.is_grad_enabled())
  end)

  it("take what can be called", function()
    assert.is_true(heed.enable_grad(setmetatable({},
      {__call = heed.is_grad_enabled})))
    assert.equal("no_grad: f must be a function, got nil",
      message(heed.no_grad, nil))
    assert.equal("enable_grad: f must be a function, got 3",
      message(heed.enable_grad, 3))
  end)
end)

describe("requires_grad_", function()
  it("switches a leaf, and gives it back", function()
    local x = heed.zeros {2}
    assert.is_true(rawequal(x, x:requires_grad_()))
    assert.is_true(x.requires_grad)
    assert.is_false(x:requires_grad_(false).requires_grad)
    assert.equal("requires_grad_: wanted must be a boolean, got 1",
      message(x.requires_grad_, x, 1))
    assert.equal("requires_grad: only float tensors can want gradients, " ..
      "got int64 [1]", message(x.requires_grad_, heed.tensor {1}))
  end)
end)

describe("heed.grad", function()
  it("takes several results, each with a gradient", function()
    local x = leaf {2, 3}
    local a, b = x * x, x * 10
    local g = heed.grad({a, b}, x, {
      gradient = {heed.ones({2}, {dtype = "float64"}),
        heed.tensor({1, 0}, {dtype = "float64"})}})
    near({14, 6}, g)
    assert.is_nil(x.grad)
  end)

  it("refuses as many gradients as do not fit", function()
    local x = leaf {2}
    assert.equal("grad: gradient must have one entry for each of the 2 " ..
      "tensors y, got 1", message(heed.grad, {x * 1, x * 2}, x,
      {gradient = {heed.ones({1}, {dtype = "float64"})}}))
    assert.equal('grad: unknown option "retain"; known: retain_graph, ' ..
      "create_graph, gradient", message(heed.grad, x * 1, x, {retain = 1}))
    assert.equal("backward: retain_graph must be a boolean, got 1",
      message(x.backward, x * 1, {retain_graph = 1}))
  end)
end)

describe("heed.grad by a result", function()
  it("leaves the graph before it for later", function()
    local x = leaf {2, 3}
    local h = x * x
    local y = (h * 5):sum()
    local g = heed.grad(y, h)
    assert.same({5, 5}, g:totable())
    h:backward(g)
    assert.same({20, 30}, x.grad:totable())
  end)

  it("runs the rules on the way only", function()
    local x, z = leaf {2}, leaf {3}
    local ran = 0
    local side = z * 2
    side:register_hook(function() ran = ran + 1 end)
    assert.same({6}, heed.grad(x * side, x):totable())
    assert.equal(0, ran)
  end)

  it("gives results of several depths, and leaves too", function()
    local x = leaf {2}
    local a = x * 3
    local b = a * a
    local ga, gb, gx = heed.grad(b * 2, {a, b, x})
    assert.same({24}, ga:totable())
    assert.same({2}, gb:totable())
    assert.same({72}, gx:totable())
  end)
end)

describe("a hook", function()
  it("sees the complete gradient of a result, once", function()
    local x, seen = leaf {1, 2}, {}
    local y = x * 3
    y:register_hook(function(g) seen[#seen + 1] = g:totable() end);
    (y * y + y):sum():backward()
    assert.same({{7, 13}}, seen) -- 2 y + 1
    assert.same({21, 39}, x.grad:totable())
  end)

  it("sees the complete gradient of a leaf, once", function()
    local x, seen = leaf {1, 2}, {}
    x:register_hook(function(g) seen[#seen + 1] = g:totable() end)
    local y = x * 2 + x * 3
    y:sum():backward()
    assert.same({{5, 5}}, seen)
    assert.same({5, 5}, x.grad:totable())
  end)

  it("may give another gradient, to the next hook too", function()
    local x = leaf {1, 2}
    x:register_hook(function(g) return g * 10 end)
    x:register_hook(function(g) return g + 1 end)
    x:sum():backward()
    assert.same({11, 11}, x.grad:totable())
    near({11, 11}, heed.grad(x:sum(), x))
  end)

  it("is removed by its handle", function()
    local x = leaf {1}
    local handle = x:register_hook(function(g) return g * 10 end)
    handle:remove()
    handle:remove()
    x:sum():backward()
    assert.same({1}, x.grad:totable())
  end)

  it("passes its error on", function()
    local x = leaf {1}
    local what = {}
    x:register_hook(function() error(what) end)
    local _, thrown = pcall(function() x:sum():backward() end)
    assert.equal(what, thrown)
    local y = leaf {1}
    y:register_hook(function() return heed.ones {3} end)
    assert.equal("hook: the result must be nil or float64 [1] like the " ..
      "gradient, got tensor float32 [3]",
      message(function() y:sum():backward() end))
  end)

  it("is refused where there is no gradient", function()
    local x = heed.ones {2}
    assert.equal("register_hook: x does not want gradients (requires_grad), " ..
      "float32 [2]", message(x.register_hook, x, print))
    local y = leaf {1}
    assert.equal("register_hook: f must be a function, got 3",
      message(y.register_hook, y, 3))
  end)
end)

describe("retain_grad", function()
  it("keeps the gradient of a result", function()
    local x = leaf {1, 2}
    local y = (x * 2):retain_grad()
    y:retain_grad();
    (y * y):sum():backward()
    assert.same({4, 8}, y.grad:totable())
    assert.same({8, 16}, x.grad:totable())
  end)

  it("forgets a result that is gone", function()
    local x = leaf {1, 2}
    local y = x * 2
    local z = y * y
    y:retain_grad()
    y = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    z:sum():backward()
    assert.same({8, 16}, x.grad:totable())
  end)
end)

describe("autograd.Function", function()
  local cube = autograd.Function {
    name = "cube",
    forward = function(ctx, x)
      ctx:save(x)
      return x ^ 3
    end,
    backward = function(ctx, g)
      return g * 3 * ctx:saved() ^ 2
    end,
  }

  it("uses the rule that it is given", function()
    local x = leaf {2, 3}
    local y = cube(x)
    assert.same({8, 27}, y:totable())
    y:sum():backward()
    assert.same({12, 27}, x.grad:totable())
  end)

  it("is differentiated twice through a rule made of ops", function()
    local x = leaf {2, 3}
    local g = heed.grad(cube(x):sum(), x, {create_graph = true})
    near({12, 18}, heed.grad(g:sum(), x))
  end)

  it("saves results, with their history", function()
    local exp = autograd.Function {
      forward = function(ctx, x)
        local y = x:exp()
        ctx:save(y)
        return y
      end,
      backward = function(ctx, g) return g * ctx:saved() end,
    }
    local x = leaf {0.5, 1}
    local g = heed.grad(exp(x):sum(), x, {create_graph = true})
    local second = heed.grad(g:sum(), x)
    near(x:detach():exp():totable(), second)
  end)

  it("takes other arguments, and gives gradients to tensors only", function()
    local scaled = autograd.Function {
      forward = function(ctx, factor, x, y)
        ctx.factor = factor
        return x * factor, y * 1
      end,
      backward = function(ctx, gx, gy)
        return nil, gx * ctx.factor, gy * 2
      end,
    }
    local x, y = leaf {1}, leaf {1}
    local a, b = scaled(5, x, y);
    (a + b):sum():backward()
    assert.same({5}, x.grad:totable())
    assert.same({2}, y.grad:totable())
  end)

  it("records nothing without need", function()
    assert.is_false(cube(heed.ones {2}).requires_grad)
    assert.is_false(heed.no_grad(cube, leaf {1}).requires_grad)
  end)

  it("refuses a gradient of another shape", function()
    local wrong = autograd.Function {
      forward = function(_, x) return x * 1 end,
      backward = function(_, g) return g:sum() end,
    }
    local x = leaf {1, 2}
    assert.equal("backward: gradient 1 must be nil or float64 [2] like " ..
      "the input, got tensor float64 []",
      message(function() wrong(x):sum():backward() end))
  end)

  it("refuses a saved tensor that was overwritten", function()
    local x = leaf {1, 2}
    local y = x * 1
    local z = cube(y)
    y:add_(1)
    assert.equal("backward: saved tensor 1 was overwritten after it was " ..
      "saved; write to a copy instead",
      message(function() z:sum():backward() end))
  end)

  it("must have both rules", function()
    assert.equal("Function: backward must be a function, got nil",
      message(autograd.Function, {forward = print}))
    assert.equal('Function: unknown option "back"; known: backward, ' ..
      "forward, name", message(autograd.Function, {back = print}))
  end)

  it("frees what it saved", function()
    local x = leaf {1, 2}
    x:sum():backward()
    x.grad = nil
    collectgarbage()
    collectgarbage()
    local before = heed.memory_stats().used
    for _ = 1, 50 do
      local y = cube(x * 1)
      y:register_hook(function(g) return g end)
    end
    for _ = 1, 50 do cube(x):sum():backward() end
    x.grad = nil
    collectgarbage()
    collectgarbage()
    assert.equal(before, heed.memory_stats().used)
  end)
end)

describe("autograd.checkpoint", function()
  it("gives the gradients of the function, to parameters too", function()
    local w, x = leaf {{1, -2}, {0.5, 1}}, leaf {{1, 2}}
    local function f(t) return t:matmul(w):tanh():matmul(w) end
    f(x):sum():backward()
    local gx, gw = x.grad, w.grad
    x.grad, w.grad = nil, nil
    autograd.checkpoint(f, x):sum():backward()
    assert.same(gx:totable(), x.grad:totable())
    assert.same(gw:totable(), w.grad:totable())
  end)

  it("reaches parameters when no input wants a gradient", function()
    local w = leaf {2, 3}
    local x = heed.tensor({5, 7}, {dtype = "float64"})
    autograd.checkpoint(function(t) return t * w end, x):sum():backward()
    assert.same({5, 7}, w.grad:totable())
  end)

  it("draws the same random numbers again", function()
    local F <const> = heed.nn.functional
    local x = leaf {1, 1, 1, 1, 1, 1, 1, 1}
    heed.manual_seed(3)
    local y = autograd.checkpoint(function(t)
      return F.dropout(t, 0.5)
    end, x)
    local after = heed.rand {1}:item()
    y:sum():backward()
    assert.same(y:totable(), x.grad:totable())
    heed.manual_seed(3)
    F.dropout(x, 0.5)
    assert.equal(after, heed.rand {1}:item())
  end)

  it("refuses heed.grad", function()
    local x = leaf {1}
    local y = autograd.checkpoint(function(t) return t * 2 end, x)
    assert.equal("checkpoint: works with backward, not with heed.grad, " ..
      "which would miss the parameters that the function uses",
      message(heed.grad, y, x))
  end)
end)

describe("products with Jacobians", function()
  local function f(x, y) return x * y:sum() + x ^ 2 end

  it("vjp weighs the rows", function()
    local y, g = autograd.vjp(f, {leaf {1, 2}, leaf {3, 4}},
      heed.tensor({1, 10}, {dtype = "float64"}))
    near({8, 18}, y)
    near({9, 110}, g[1])   -- v (sum y + 2 x)
    near({21, 21}, g[2])   -- sum of v x
  end)

  it("jvp weighs the columns", function()
    local y, d = autograd.jvp(f, {leaf {1, 2}, leaf {3, 4}}, {
      heed.tensor({1, 0}, {dtype = "float64"}),
      heed.tensor({0, 1}, {dtype = "float64"})})
    near({8, 18}, y)
    near({10, 2}, d)
  end)

  it("jvp of a function that is linear, or constant", function()
    local x = leaf {1, 2}
    local _, d = autograd.jvp(function(t) return t * 3 end, x,
      heed.tensor({1, 2}, {dtype = "float64"}))
    near({3, 6}, d)
    _, d = autograd.jvp(function(t) return t:detach() end, x,
      heed.tensor({1, 2}, {dtype = "float64"}))
    near({0, 0}, d)
  end)

  it("jacobian and hessian have the shapes of both sides", function()
    local x = leaf {{1, 2, 3}}
    local j = autograd.jacobian(function(t) return t:sum(-1) ^ 2 end, x)
    assert.same({1, 1, 3}, j.shape)
    near({{{12, 12, 12}}}, j)
    local h = autograd.hessian(function(t) return (t ^ 3):sum() end,
      leaf {1, 2})
    near({{6, 0}, {0, 12}}, h)
    near({{0, 0}, {0, 0}}, autograd.hessian(function(t) return t:sum() end,
      leaf {1, 2}))
  end)

  it("hessian wants one element", function()
    assert.equal("hessian: the result of f must have one element, got " ..
      "tensor float64 [2]", message(autograd.hessian,
      function(t) return t * 2 end, leaf {1, 2}))
  end)
end)

describe("autograd.detect_anomaly", function()
  it("names the op whose result is the first NaN, and its line", function()
    local ok, text = pcall(autograd.detect_anomaly, function()
      local x = leaf {4, -1}
      return x:sqrt() + 1
    end)
    assert.is_false(ok)
    assert.matches("autograd_spec.lua:%d+: sqrt: made the first NaN, " ..
      "element 2 of result 1 float64 %[2%]", text)
  end)

  it("lets NaN that came from outside through", function()
    autograd.detect_anomaly(function()
      return heed.tensor {0 / 0} + 1
    end)
  end)

  it("names the op whose gradient is the first NaN, and its line", function()
    local guard <close> = autograd.detect_anomaly() -- luacheck: ignore
    local x = leaf {0}
    local y = x:sqrt() -- a slope of infinity
    assert.matches("backward: the gradient of sqrt made the first NaN, " ..
      "element 1 of float64 %[1%] for x; called at .*autograd_spec.lua:%d+",
      message(function() (y * 0):sum():backward() end))
  end)

  it("ends with its guard", function()
    do
      local guard <close> = autograd.detect_anomaly() -- luacheck: ignore
    end
    assert.is_true(heed.tensor {-1.0}:sqrt():isnan():item())
  end)
end)

describe("a backward in the midst of another", function()
  local PASSES <const> = "backward: called from a hook or a rule of a " ..
    "backward that is under way, and both pass through mul; start from a " ..
    "copy cut off by detach()"

  it("is an error where both pass through a node", function()
    local x = leaf {1, 2}
    local y = x * 2
    local again, seen = (y * y):sum(), nil
    y:register_hook(function()
      seen = message(again.backward, again, {retain_graph = true})
    end);
    (y * 3):sum():backward()
    assert.equal(PASSES, seen)
    assert.same({6, 6}, x.grad:totable())
  end)

  it("is an error where the first one still has to come by", function()
    local x = leaf {1, 2}
    local y = x * 2
    local z, inner, seen = y * 3, y:sum(), nil
    z:register_hook(function() seen = message(heed.grad, inner, x) end);
    (z + y):sum():backward()
    assert.equal(PASSES, seen)
    assert.same({8, 8}, x.grad:totable())
  end)

  it("may walk another graph, of the same leaves too", function()
    local x = leaf {1, 2}
    local y = x * 2
    y:register_hook(function()
      heed.enable_grad(function() (x * 5):sum():backward() end)
    end)
    y:sum():backward()
    assert.same({7, 7}, x.grad:totable())
  end)
end)

describe("lists of tensors", function()
  it("are read without metamethods", function()
    local x = leaf {1, 2}
    local made = setmetatable({}, {__len = function() return 2 end,
      __index = function() return leaf {1, 2} end})
    assert.equal(0, select("#", heed.grad(x:sum(), made)))
  end)

  it("may be emptied by a hook", function()
    local xs = {leaf {1, 2}, leaf {3, 4}}
    local ys = {xs[1] * xs[2], xs[1] * 3}
    local gradients = {ys[1]:detach() * 0 + 1, ys[1]:detach() * 0 + 1}
    ys[1]:register_hook(function()
      for _, list in ipairs {ys, xs, gradients} do
        table.remove(list)
        table.remove(list)
      end
      collectgarbage()
    end)
    local gx, gw = heed.grad(ys, xs, {gradient = gradients})
    assert.same({{6, 7}, {1, 2}}, {gx:totable(), gw:totable()})
  end)
end)

describe("the field grad", function()
  it("takes a chain of any length, but not the tensor itself", function()
    local last = heed.zeros {}
    for _ = 1, 200000 do
      local x = heed.zeros {}
      x.grad = last
      last = x
    end
    assert.equal("grad must not be the tensor itself",
      message(function() last.grad = last end))
    last = nil
    collectgarbage()
    assert.is_nil(last)
  end)
end)

it("an error of a hook stands at the line that walks back", function()
  local x = leaf {1, 2}
  local y = x * 2
  y:register_hook(function() return heed.ones {3} end)
  local _, text = pcall(function() y:sum():backward() end)
  assert.matches("^[^:]*autograd_spec.lua:%d+: hook: the result must be nil " ..
    "or float64 %[2%] like the gradient, got tensor float32 %[3%]$", text)
end)

it("a failed backward leaves no gradient behind in the graph", function()
  local x, fails = leaf {1, 2}, true
  local y = x * 2
  y:register_hook(function() if fails then error "no" end end)
  local z = (y * 3):sum()
  assert.equal("no", message(z.backward, z, {retain_graph = true}))
  fails = false
  z:backward()
  assert.same({6, 6}, x.grad:totable())
end)
