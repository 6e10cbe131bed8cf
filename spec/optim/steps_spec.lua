-- What holds for the step of every optimiser: it takes all parameters in one
-- pass of the threads, and nobody can tell.

local close = require "spec.support.close"
local heed = require "heed"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local optim = require "heed.optim"

local EVERY <const> = {
  SGD = {lr = 0.1, momentum = 0.9}, Adam = {lr = 0.1, amsgrad = true},
  AdamW = {lr = 0.1}, Adamax = {lr = 0.1},
  RMSprop = {lr = 0.1, centered = true, momentum = 0.5},
  Adagrad = {lr = 0.1, lr_decay = 0.1}, Adafactor = {lr = 0.1},
  LAMB = {lr = 0.1, weight_decay = 0.1}, Lion = {lr = 0.1},
}

local function leaf(t)
  t.requires_grad = true
  return t
end

-- Two steps of an optimiser with given gradients; returns the parameters.
local function run(name, params, grads)
  local optimizer = optim[name](params, EVERY[name])
  for _ = 1, 2 do
    for i, p in ipairs(params) do p.grad = grads[i] end
    optimizer:step()
  end
  return optimizer
end

local function copies(list)
  local made = {}
  for i, t in ipairs(list) do made[i] = leaf(t:detach():clone()) end
  return made
end

local function check_same(got, want)
  for i, t in ipairs(want) do
    close.check("tensor " .. i, got[i]:detach(), t:detach(),
      {atol = 0, rtol = 0})
  end
end

for name, options in pairs(EVERY) do
  describe("a step of " .. name, function()
    -- more and fewer elements than a block, none, one, a matrix of many bands
    local shapes = {{70001}, {3}, {0}, {}, {300, 257}, {4096}, {2, 3, 50}, {1}}
    local start, grads = {}, {}
    heed.manual_seed(5)
    for i, shape in ipairs(shapes) do
      start[i], grads[i] = heed.randn(shape), heed.randn(shape)
    end

    it("is bitwise the same for any number of threads", function()
      local threads, want = heed.get_num_threads(), copies(start)
      heed.set_num_threads(1)
      run(name, want, grads)
      for _, n in ipairs {2, 3, 7} do
        heed.set_num_threads(n)
        local got = copies(start)
        run(name, got, grads)
        check_same(got, want)
      end
      heed.set_num_threads(threads)
    end)

    it("is that of each parameter alone", function()
      local together = copies(start)
      run(name, together, grads)
      for i, t in ipairs(start) do
        local alone = copies {t}
        run(name, alone, {grads[i]})
        check_same(alone, {together[i]})
      end
    end)

    it("takes float32 and float64 together", function()
      local a, b = start[2], start[2]:to "float64"
      local params = copies {a, b}
      run(name, params, {grads[2], grads[2]:to "float64"})
      assert.equal("float64", params[2].dtype)
      close.check("float32", params[1]:detach(), params[2]:detach(),
        {atol = 1e-5, rtol = 1e-5})
    end)

    it("takes parameters and gradients of any layout", function()
      local x, g = heed.randn(30, 40), heed.randn(30, 40)
      local want = copies {x}
      run(name, want, {g})
      -- columns of a wider tensor, of which nothing else changes
      local wide = heed.ones(30, 80)
      local view = wide:detach()[{{}, {1, -1, 2}}]:detach()
      view:copy_(x)
      run(name, {leaf(view)}, {g:transpose():contiguous():transpose()})
      check_same({view}, want)
      check_same({wide[{{}, {2, -1, 2}}]}, {heed.ones(30, 40)})
    end)

    it("takes parameters that are parts of one storage", function()
      local whole = heed.randn(2, 500)
      local want = copies {whole[1]:clone(), whole[2]:clone()}
      local g = {heed.randn(500), heed.randn(500)}
      run(name, want, g)
      local parts = {leaf(whole[1]:detach()), leaf(whole[2]:detach())}
      run(name, parts, g)
      check_same(parts, want)
      check_same({whole[1], whole[2]}, want)
    end)

    it("takes parameters that share elements one after the other", function()
      local whole = heed.randn(900)
      local g = {heed.randn(600), heed.randn(600)}
      local function halves()
        local storage = whole:clone()
        return storage, {
          leaf(storage[{{1, 600}}]:detach()),
          leaf(storage[{{301, 900}}]:detach()),
        }
      end
      local want, params = halves()
      local first = optim[name]({params[1]}, options)
      local second = optim[name]({params[2]}, options)
      params[1].grad, params[2].grad = g[1], g[2]
      first:step()
      second:step()
      local got, shared = halves()
      local both = optim[name](shared, options)
      shared[1].grad, shared[2].grad = g[1], g[2]
      both:step()
      check_same({got}, {want})
    end)

    it("takes a gradient that lies in the parameter's storage", function()
      local storage = heed.randn(700)
      local want = copies {storage[{{1, 600}}]}
      local optimizer = optim[name](want, options)
      want[1].grad = storage[{{101, 700}}]:clone()
      optimizer:step()
      local p = leaf(storage[{{1, 600}}]:detach())
      p.grad = storage[{{101, 700}}]:detach()
      optim[name]({p}, options):step()
      check_same({p}, want)
    end)

    it("leaves a parameter without gradient and its state alone", function()
      local a, b = table.unpack(copies {heed.randn(5), heed.randn(5)})
      local optimizer = optim[name]({a, b}, options)
      a.grad, b.grad = heed.randn(5), heed.randn(5)
      optimizer:step()
      local kept, before = b:detach():clone(), {}
      local state = optimizer:state_dict()
      for key, t in pairs(state.tensors) do before[key] = t:clone() end
      a.grad, b.grad = heed.randn(5), nil
      optimizer:step()
      check_same({b}, {kept})
      state = optimizer:state_dict()
      assert.same({2, 1}, state.settings.steps)
      for key, t in pairs(state.tensors) do
        if key:sub(1, 1) == "2" then check_same({t}, {before[key]}) end
      end
    end)

    it("counts the steps of each parameter", function()
      local a, b = table.unpack(copies {heed.ones(3), heed.ones(3)})
      local optimizer = optim[name]({a, b}, options)
      local g = {heed.randn(3), heed.randn(3)}
      a.grad = g[1]
      optimizer:step()
      b.grad, a.grad = g[1], g[2]
      optimizer:step()
      b.grad, a.grad = g[2], nil
      optimizer:step()
      check_same({b}, {a})
    end)

    it("lets NaN through, to what it enters", function()
      local a, b = table.unpack(copies {heed.ones(3), heed.ones(3)})
      local optimizer = optim[name]({a, b}, options)
      a.grad, b.grad = heed.tensor {1., 0 / 0, 1}, heed.ones(3)
      optimizer:step()
      optimizer:step()
      assert.is_true(a[2]:item() ~= a[2]:item())
      assert.is_true(b:sum():item() == b:sum():item())
    end)

    it("goes down, or up", function()
      for sign, maximize in pairs {[1] = false, [-1] = true} do
        local p = leaf(heed.full({2, 3}, 2.0))
        local o = {maximize = maximize}
        for key, value in pairs(options) do o[key] = value end
        o.weight_decay = 0.0
        p.grad = heed.full({2, 3}, 0.5)
        optim[name]({p}, o):step()
        local moved = (p:detach() - 2) * sign
        assert.is_true(moved:max():item() < 0)
      end
    end)

    it("is a write that a graph sees", function()
      local p = leaf(heed.ones(3))
      local y = (p * p):sum()
      p.grad = heed.ones(3)
      optim[name]({p}, options):step()
      assert.matches("was overwritten after it was used",
        message(y.backward, y))
    end)

    it("refuses settings that make no sense", function()
      local p = leaf(heed.ones(2))
      assert.equal(name .. ": weight_decay must be a number of at least 0, " ..
        "got -1", message(optim[name], {p}, {weight_decay = -1}))
      assert.equal(name .. ": maximize must be a boolean, got 1",
        message(optim[name], {p}, {maximize = 1}))
      assert.equal(name .. ": lr must be a number of at least 0, got \"x\"",
        message(optim[name], {p}, {lr = "x"}))
    end)
  end)
end

describe("settings", function()
  local function refused(name, options)
    return message(optim[name], {leaf(heed.ones(2))}, options)
  end

  it("have bounds", function()
    for _, name in ipairs {"Adam", "AdamW", "Adamax", "LAMB", "Lion"} do
      assert.equal(name .. ": betas[1] must be below 1, got 1",
        refused(name, {betas = {1, 0.9}}))
      assert.equal(name .. ": betas[2] must be a number of at least 0, got nil",
        refused(name, {betas = {0.9}}))
      assert.equal(name .. ": betas must be a table, got 0.9",
        refused(name, {betas = 0.9}))
    end
    for _, name in ipairs {"Adam", "AdamW", "Adamax", "LAMB", "RMSprop",
      "Adagrad"} do
      assert.equal(name .. ": eps must be a number of at least 0, got -1",
        refused(name, {eps = -1}))
    end
    for key, name in pairs {amsgrad = "AdamW", nesterov = "SGD",
      centered = "RMSprop"} do
      assert.equal(("%s: %s must be a boolean, got 1"):format(name, key),
        refused(name, {[key] = 1}))
    end
    for key, name in pairs {alpha = "RMSprop", momentum = "RMSprop",
      lr_decay = "Adagrad", initial_accumulator_value = "Adagrad"} do
      assert.equal(("%s: %s must be a number of at least 0, got -1"):format(
        name, key), refused(name, {[key] = -1}))
    end
    assert.equal("Adafactor: beta2_decay must be at most 0, got 0.5",
      refused("Adafactor", {beta2_decay = 0.5}))
    assert.equal("Adafactor: d must be a number of at least 1, got 0.5",
      refused("Adafactor", {d = 0.5}))
    assert.equal("Adafactor: eps[2] must be a number of at least 0, got nil",
      refused("Adafactor", {eps = {1e-3}}))
    assert.equal("Adafactor: eps[1] must be a number of at least 0, got -1",
      refused("Adafactor", {eps = {-1, 1e-3}}))
  end)

  it("of a saved state are its own", function()
    local p = leaf(heed.ones(2))
    local one, other = optim.Adam({p}), optim.Adam({p})
    local state = one:state_dict()
    one.groups[1].betas[1] = 0.5
    other:load_state_dict(state)
    assert.same({0.9, 0.999}, other.groups[1].betas)
    other.groups[1].betas[1] = 0.7
    assert.same({0.9, 0.999}, state.settings.groups[1].betas)
  end)

  it("given to several optimisers are not shared", function()
    local options = {betas = {0.9, 0.99}}
    local one = optim.Lion({leaf(heed.ones(2))}, options)
    one.groups[1].betas[1] = 0.1
    assert.same({0.9, 0.99}, options.betas)
  end)
end)

describe("gradients", function()
  it("of micro-batches sum up to that of the whole batch", function()
    heed.manual_seed(2)
    local x, y = heed.randn({8, 3}, "float64"), heed.randn({8, 1}, "float64")
    local w = leaf(heed.randn({3, 1}, "float64"))
    local function mean_loss(first, last)
      local out = x[{{first, last}}]:matmul(w) - y[{{first, last}}]
      return (out * out):mean()
    end
    mean_loss(1, 8):backward()
    local whole = w.grad:clone()
    w.grad = nil
    for first = 1, 8, 2 do (mean_loss(first, first + 1) / 4):backward() end
    near(w.grad, whole, 1e-14)
    -- and so do the steps made of them
    local a, b = table.unpack(copies {w, w})
    local one, other = optim.AdamW({a}), optim.AdamW({b})
    a.grad, b.grad = whole, w.grad
    one:step()
    other:step()
    near(b:detach(), a:detach(), 1e-12)
  end)
end)
