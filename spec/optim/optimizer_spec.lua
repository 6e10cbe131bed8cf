local heed = require "heed"
local message = require "spec.support.message"
local optim = require "heed.optim"
local near = dofile "spec/nn/near.lua"

local function parameter(values)
  return heed.tensor(values, {dtype = "float64", requires_grad = true})
end

-- One number whose gradients are `grads`, after as many steps.
local function walk(make, start, grads, dtype)
  local p = heed.tensor({start}, {dtype = dtype or "float64",
    requires_grad = true})
  local optimizer = make({p})
  for _, g in ipairs(grads) do
    p.grad = heed.tensor({g}, {dtype = p.dtype})
    optimizer:step()
  end
  return p:item()
end

describe("Adam", function()
  -- the formulas, one number at a time
  local function formula(start, grads, o, decoupled)
    local p, m, v, top = start, 0, 0, 0
    for t, g in ipairs(grads) do
      if o.maximize then g = -g end
      if decoupled then
        p = p * (1 - o.lr * o.weight_decay)
      else
        g = g + o.weight_decay * p
      end
      m = o.betas[1] * m + (1 - o.betas[1]) * g
      v = o.betas[2] * v + (1 - o.betas[2]) * g * g
      top = math.max(top, v)
      local root = ((o.amsgrad and top or v) / (1 - o.betas[2] ^ t)) ^ 0.5
      p = p - o.lr * m / (1 - o.betas[1] ^ t) / (root + o.eps)
    end
    return p
  end

  it("follows its formula with every option", function()
    local grads = {0.5, -3, 0.1, 0, 2}
    for _, amsgrad in ipairs {false, true} do
      for _, decay in ipairs {0, 0.1} do
        for _, maximize in ipairs {false, true} do
          local o = {lr = 0.05, betas = {0.8, 0.9}, eps = 1e-6,
            weight_decay = decay, amsgrad = amsgrad, maximize = maximize}
          for name, decoupled in pairs {Adam = false, AdamW = true} do
            local function make(p) return optim[name](p, o) end
            local want = formula(1.5, grads, o, decoupled)
            assert.is_near(want, walk(make, 1.5, grads), 1e-12)
            assert.is_near(want, walk(make, 1.5, grads, "float32"), 1e-5)
          end
        end
      end
    end
  end)

  it("steps by the rate at first, whatever the gradient", function()
    assert.is_near(0.99, walk(function(p)
      return optim.Adam(p, {lr = 0.01})
    end, 1.0, {1e-3}), 1e-6)
  end)

  it("is the same for any layout, size and number of threads", function()
    local threads = heed.get_num_threads()
    local n = 70001
    local start, grad = heed.randn(n), heed.randn(n)
    local function run(p, g)
      local optimizer = optim.AdamW({p}, {lr = 0.1})
      p.grad = g
      optimizer:step()
      optimizer:step()
      return p:detach()
    end
    local function fresh(t)
      t.requires_grad = true
      return t
    end
    heed.set_num_threads(1)
    local one = run(fresh(start:clone()), grad)
    heed.set_num_threads(3)
    near(run(fresh(start:clone()), grad), one, 0)
    heed.set_num_threads(threads)
    -- every second element of a longer tensor
    local wide = heed.zeros(n, 2)
    local column = wide[{{}, 1}]:detach()
    column:copy_(start)
    near(run(fresh(column), grad:unsqueeze(2):expand(n, 2)[{{}, 1}]), one, 0)
    near(wide[{{}, 2}], heed.zeros(n), 0)
  end)

  it("works with sizes of 0 and 1", function()
    local empty, single = parameter({}), parameter(2.0)
    local optimizer = optim.Adam({empty, single})
    empty.grad, single.grad = heed.zeros({0}, "float64"),
      heed.tensor(1.0, {dtype = "float64"})
    optimizer:step()
    assert.is_near(2 - 1e-3, single:item(), 1e-9)
  end)

  it("refuses what makes no sense", function()
    local p = parameter {1.}
    assert.equal("Adam: betas[2] must be below 1, got 1",
      message(optim.Adam, {p}, {betas = {0.9, 1}}))
    assert.equal("AdamW: lr must be a number of at least 0, got -1",
      message(optim.AdamW, {p}, {lr = -1}))
    assert.equal('Adam: unknown option "beta"; known: amsgrad, betas, eps, ' ..
      "lr, maximize, weight_decay", message(optim.Adam, {p}, {beta = 1}))
  end)
end)

describe("SGD", function()
  local function formula(start, grads, o)
    local p, m = start, nil
    for _, g in ipairs(grads) do
      if o.maximize then g = -g end
      g = g + o.weight_decay * p
      if o.momentum ~= 0 then
        m = m and o.momentum * m + (1 - o.dampening) * g or g
        g = o.nesterov and g + o.momentum * m or m
      end
      p = p - o.lr * g
    end
    return p
  end

  it("follows its formula with every option", function()
    local grads = {0.5, -3, 0.1, 2}
    for _, c in ipairs {{0, 0, false}, {0.9, 0, false}, {0.9, 0.3, false},
      {0.8, 0, true}} do
      for _, decay in ipairs {0, 0.1} do
        local o = {lr = 0.1, momentum = c[1], dampening = c[2],
          nesterov = c[3], weight_decay = decay, maximize = decay > 0}
        local function make(p) return optim.SGD(p, o) end
        assert.is_near(formula(1.5, grads, o), walk(make, 1.5, grads), 1e-12)
        assert.is_near(formula(1.5, grads, o),
          walk(make, 1.5, grads, "float32"), 1e-5)
      end
    end
  end)

  it("finds the minimum of a parabola", function()
    local p = parameter {5., -3}
    local optimizer = optim.SGD({p}, {lr = 0.1, momentum = 0.5})
    for _ = 1, 100 do
      optimizer:zero_grad()
      ;((p - 1) * (p - 1)):sum():backward()
      optimizer:step()
    end
    near(p, {1, 1}, 1e-6)
  end)

  it("refuses nesterov without momentum", function()
    assert.equal("SGD: nesterov needs a momentum and no dampening, got 0 " ..
      "and 0", message(optim.SGD, {parameter {1.}}, {nesterov = true}))
  end)
end)

describe("an optimiser", function()
  it("leaves parameters without gradient alone", function()
    local a, b = parameter {1.}, parameter {1.}
    local optimizer = optim.SGD({a, b}, {lr = 1})
    a.grad = heed.ones({1}, "float64")
    optimizer:step()
    assert.equal(0, a:item())
    assert.equal(1, b:item())
    optimizer:zero_grad()
    assert.is_nil(a.grad)
  end)

  it("has groups with settings of their own", function()
    local a, b = parameter {1.}, parameter {1.}
    local optimizer = optim.SGD({{params = {a}},
      {params = {b}, lr = 0.5}}, {lr = 0.1})
    a.grad, b.grad = heed.ones({1}, "float64"), heed.ones({1}, "float64")
    optimizer:step()
    assert.is_near(0.9, a:item(), 1e-12)
    assert.is_near(0.5, b:item(), 1e-12)
    assert.equal("SGD: 1 parameters, dampening = 0.0, lr = 0.1, " ..
      "maximize = false, momentum = 0.0, nesterov = false, weight_decay = " ..
      "0.0\nSGD: 1 parameters, dampening = 0.0, lr = 0.5, maximize = " ..
      "false, momentum = 0.0, nesterov = false, weight_decay = 0.0",
      tostring(optimizer))
  end)

  it("goes on from a saved state, bit for bit", function()
    local grads = {0.5, -3, 0.1, 2}
    for name, options in pairs {
      Adam = {amsgrad = true}, AdamW = {betas = {0.5, 0.7}}, Adamax = {},
      SGD = {momentum = 0.9}, RMSprop = {centered = true, momentum = 0.9},
      Adagrad = {lr_decay = 0.1}, Adafactor = {}, LAMB = {weight_decay = 0.1},
      Lion = {weight_decay = 0.1},
    } do
      local function start()
        local p = parameter {{1., 2}, {-3, 4}}
        return p, optim[name]({p}, options)
      end
      local function run(p, optimizer, from, to)
        for i = from, to do
          local g = grads[i]
          p.grad = heed.tensor({{g, -g}, {2 * g, g}}, {dtype = "float64"})
          optimizer:step()
        end
      end
      local p, optimizer = start()
      run(p, optimizer, 1, 4)
      local q, first = start()
      run(q, first, 1, 2)
      local path = os.tmpname()
      local state = first:state_dict()
      heed.save_safetensors(path, state.tensors)
      local second = optim[name]({q}, {lr = 7})
      second:load_state_dict({settings = state.settings,
        tensors = heed.load_safetensors(path)})
      os.remove(path)
      run(q, second, 3, 4)
      near(q, p, 0)
    end
  end)

  it("refuses a state of another", function()
    local p, q = parameter {1.}, parameter {1.}
    local adam, sgd = optim.Adam({p}), optim.SGD({p})
    assert.equal('load_state_dict: the state is of "SGD", not of Adam',
      message(adam.load_state_dict, adam, sgd:state_dict()))
    assert.equal("load_state_dict: group 1 has 2 parameters in the state, " ..
      "1 here", message(adam.load_state_dict, adam,
        optim.Adam({p, q}):state_dict()))
    local wide = parameter {1., 2}
    wide.grad = heed.ones({2}, "float64")
    local other = optim.Adam({wide})
    other:step()
    assert.matches("^load_state_dict: 1%.exp_avg%S* must be %[1%] for a " ..
      "parameter %[1%], got %[2%]$", message(adam.load_state_dict, adam,
        other:state_dict()))
  end)

  it("refuses a damaged state, and stays as it was", function()
    local p = parameter {1.}
    local adam = optim.Adam({p}, {lr = 0.25})
    p.grad = heed.ones({1}, "float64")
    adam:step()
    local function said(change)
      local state = adam:state_dict()
      change(state, state.settings.groups[1])
      return message(adam.load_state_dict, adam, state)
    end
    local head = "load_state_dict: "
    assert.equal(head .. "settings.groups must be a table, got nil",
      said(function(s) s.settings.groups = nil end))
    assert.equal(head .. "settings.groups[1] must be a table, got 1",
      said(function(s) s.settings.groups[1] = 1 end))
    assert.equal(head .. "settings.steps must be a table, got nil",
      said(function(s) s.settings.steps = nil end))
    for _, step in ipairs {"x", -5, 0.5} do
      assert.equal(head .. "settings.steps[1] must be an integer of at " ..
        "least 0, got " .. (step == "x" and '"x"' or step),
        said(function(s) s.settings.steps[1] = step end))
    end
    assert.equal(head .. "1.exp_avg must be a tensor, got 5",
      said(function(s) s.tensors["1.exp_avg"] = 5 end))
    assert.equal(head .. 'lr must be a number, got "fast"',
      said(function(_, group) group.lr = "fast" end))
    assert.equal("Adam: betas[1] must be below 1, got 2",
      said(function(_, group) group.lr, group.betas = 1, {2, 0} end))
    assert.equal(0.25, adam.groups[1].lr)
  end)

  it("keeps its own parameters, whatever a state holds", function()
    local p = parameter {1.}
    local adam = optim.Adam({p})
    local state = adam:state_dict()
    state.settings.groups[1].params = {1, 2}
    adam:load_state_dict(state)
    assert.same({p}, adam.groups[1].params)
  end)

  it("refuses parameters that cannot be trained", function()
    local p = parameter {1.}
    assert.equal("Adam: params is empty", message(optim.Adam, {}))
    for _, net in ipairs {heed.nn.Linear(2, 2),
      heed.nn.Sequential(heed.nn.Linear(2, 2))} do
      local class = net.__name
      assert.equal("Adam: params must be a list of tensors, got a " .. class ..
        "; its parameters() is one", message(optim.Adam, net))
      assert.equal("clip_grad_norm_: params must be a list of tensors, got " ..
        "a " .. class .. "; its parameters() is one",
        message(optim.clip_grad_norm_, net, 1))
      assert.equal("StochasticWeightAverage: params must be a list of " ..
        "tensors, got a " .. class .. "; its parameters() is one",
        message(optim.StochasticWeightAverage, net))
      assert.equal("Adam: params must be a list of tensors, got a " .. class ..
        "; its parameters() is one", message(optim.Adam, {{params = net}}))
    end
    assert.equal(1, #optim.Adam(heed.nn.ParameterList {p}).groups[1].params)
    assert.equal("Adam: params[1] must be a tensor, got 3",
      message(optim.Adam, {3}))
    assert.equal("Adam: params[1] must be a float32 or float64 tensor " ..
      "that no op made, got a result", message(optim.Adam, {p * 2}))
    assert.equal("SGD: params[1] must be a float32 or float64 tensor that " ..
      "no op made, got tensor bfloat16 [2]",
      message(optim.SGD, {heed.zeros({2}, "bfloat16")}))
    assert.equal("Adam: params[2] is given twice",
      message(optim.Adam, {p, p}))
    assert.equal("Adam: params must be a table, got tensor float64 [1]",
      (message(optim.Adam, p)))
  end)
end)

describe("the ops of optimisers", function()
  local ops = heed.core.ops

  it("take state of any layout, and change it", function()
    local function zeros() return heed.zeros(3, 2) end
    local g = heed.randn(3, 2)
    local x, m, v, top = zeros(), zeros(), zeros(), zeros()
    local y, turned = zeros(), {}
    for i = 1, 3 do turned[i] = heed.zeros(2, 3):transpose() end
    for t = 1, 2 do
      ops.adam_({x, g, m, v, top}, t, 1, 0.9, 0.9, 1e-8, 0.1, false, true)
      ops.adam_({y, g, turned[1], turned[2], turned[3]}, t, 1, 0.9, 0.9, 1e-8,
        0.1, false, true)
    end
    near(y, x, 0)
    near(turned[1], m, 0)
    near(turned[2], v, 0)
    near(turned[3], top, 0)
    assert.is_true(m:abs():min():item() > 0)
  end)

  it("return the very tensor that is first in the list", function()
    local x = heed.ones(2)
    assert.is_true(rawequal(x, ops.joint_scale_({x, heed.ones(3)}, 2)))
    near(x, {2, 2}, 0)
    near(ops.joint_scale_({tensors = {x}, factor = 2}), {4, 4}, 0)
  end)

  it("take the norm of all tensors together", function()
    local a, b = heed.tensor {3., 0}, heed.tensor {{-4.}}
    assert.equal(5, ops.joint_norm({a, b}):item())
    assert.equal(7, ops.joint_norm({a, b}, 1):item())
    assert.equal(4, ops.joint_norm({a, b}, math.huge):item())
    assert.is_near(91 ^ (1 / 3), ops.joint_norm({a, b}, 3):item(), 1e-12)
    assert.equal(0, ops.joint_norm({}):item())
    local many = {} -- as many as a large model's
    for i = 1, 40000 do many[i] = b end
    assert.equal(b:pow(2):sum():item() ^ 0.5 * 200,
      ops.joint_norm(many):item())
    local nan = heed.tensor {1., 0 / 0, 2}
    for _, p in ipairs {1, 2, 3, math.huge} do
      local norm = ops.joint_norm({nan, a}, p):item()
      assert.is_true(norm ~= norm)
    end
  end)

  it("sum the same for any number of threads", function()
    local threads, x = heed.get_num_threads(), heed.randn(100003)
    heed.set_num_threads(1)
    local one = ops.joint_norm({x}):item()
    heed.set_num_threads(3)
    assert.equal(one, ops.joint_norm({x}):item())
    heed.set_num_threads(threads)
    assert.is_near((x:to("float64") * x:to("float64")):sum():item() ^ 0.5,
      one, 1e-9)
  end)
end)
