local heed = require "heed"
local message = require "spec.support.message"

local nn <const>, optim <const>, train <const> = heed.nn, heed.optim, heed.train

-- Options of a run that learns y = x w from four batches of 4.
local function options(more)
  heed.manual_seed(5)
  local net = nn.Linear(3, 1)
  local batches = {}
  for i = 1, 4 do batches[i] = heed.randn(4, 3) end
  local o = {
    model = net, data = batches, epochs = 2, progress = false,
    optimizer = optim.SGD(net:parameters(), {lr = 0.1}),
    loss = function(model, x)
      return (model(x) - x:sum(-1, true)):pow(2):mean()
    end,
  }
  for key, value in pairs(more or {}) do o[key] = value end
  return o
end

local function same(a, b)
  for i, p in ipairs(a:parameters()) do
    if not p:equal(b:parameters()[i]) then return false end
  end
  return true
end

describe("fit", function()
  it("trains as a loop by hand does", function()
    local o = options {clip_norm = 1.0}
    o.schedule = optim.CosineAnnealingLR(o.optimizer, 8)
    local run = train.fit(o)

    local by_hand = options()
    local schedule = optim.CosineAnnealingLR(by_hand.optimizer, 8)
    local sum = 0.0
    for epoch = 1, 2 do
      for _, x in ipairs(by_hand.data) do
        local loss = by_hand.loss(by_hand.model, x)
        if epoch == 2 then sum = sum + loss:item() end
        by_hand.optimizer:zero_grad()
        loss:backward()
        optim.clip_grad_norm_(by_hand.model:parameters(), 1.0)
        by_hand.optimizer:step()
        schedule:step()
      end
    end
    assert.is_true(same(run.model, by_hand.model))
    assert.equal(8, run.step)
    assert.equal(2, #run.history)
    assert.equal(sum / 4, run.history[2].loss)
    assert.equal(by_hand.optimizer.groups[1].lr, run.history[2].lr)
  end)

  it("averages the losses of accumulated batches, also of a last few",
    function()
      local o = options {accumulate = 3, epochs = 1}
      train.fit(o)
      local by_hand = options()
      local data = by_hand.data
      for _, group in ipairs {{data[1], data[2], data[3]}, {data[4]}} do
        local x = heed.cat(group, 1) -- batches are of one size
        by_hand.loss(by_hand.model, x):backward()
        by_hand.optimizer:step()
        by_hand.optimizer:zero_grad()
      end
      local difference = (o.model.weight - by_hand.model.weight):abs():max()
      assert.is_true(difference:item() < 1e-6)
    end)

  it("cuts gradients by value", function()
    local o = options {clip_value = 1e-3, epochs = 1, max_steps = 1}
    local before = o.model.weight:detach():clone()
    train.fit(o)
    local moved = (o.model.weight - before):abs():max():item()
    assert.is_true(moved < 1.01e-4 and moved > 0)
  end)

  it("takes batches from loaders and functions, with several values", function()
    local o = options()
    local expected = train.fit(options()).model
    local list = o.data
    local Loader = {}
    Loader.__index = Loader
    function Loader:batches() -- luacheck: ignore self
      local i = 0
      return function()
        i = i + 1
        if list[i] then return list[i], i end
      end
    end
    local seen = {}
    o.data = setmetatable({}, Loader)
    local loss = o.loss
    o.loss = function(model, x, i)
      seen[#seen + 1] = i
      return loss(model, x)
    end
    assert.is_true(same(expected, train.fit(o).model))
    assert.same({1, 2, 3, 4, 1, 2, 3, 4}, seen)

    local epochs = {}
    train.fit(options {data = function(epoch)
      epochs[#epochs + 1] = epoch
      return list
    end})
    assert.same({1, 2}, epochs)
  end)

  it("validates in evaluation, without gradients, and weighs batches",
    function()
      local o = options {epochs = 1}
      o.model = nn.Sequential(o.model, nn.Dropout(0.5), nn.Dropout(0.5))
      o.model[3]:eval()
      local modes = {}
      o.valid = {heed.zeros(1, 3), heed.ones(3, 3)}
      o.on_start = function(run) run.model[3]:eval() end
      o.loss = function(model, x)
        modes[#modes + 1] = {model.training, model[2].training,
          model[3].training, heed.is_grad_enabled()}
        local factor = heed.is_grad_enabled() and model(x):sum() * 0 or 0
        return factor + x:sum(), {count = #x}
      end
      local run = train.fit(o)
      -- sums 0 and 9, of 1 and 3 examples
      assert.equal(27 / 4, run.history[1].valid.loss)
      assert.same({true, true, false, true}, modes[4])
      assert.same({false, false, false, false}, modes[5])
      assert.is_true(run.model.training and run.model[2].training)
      assert.is_false(run.model[3].training)
    end)

  it("reports what evaluate returns, and metrics", function()
    local updates = {}
    local metric = {
      reset = function() updates = {} end,
      update = function(_, a, b) updates[#updates + 1] = a + b end,
      compute = function() return #updates end,
    }
    local o = options {valid = {heed.ones(1, 3), heed.ones(1, 3)},
      metrics = {updates = metric}, monitor = "bleu", mode = "max",
      evaluate = function(_, run) return {bleu = run.epoch * 10} end}
    local loss = o.loss
    o.loss = function(model, x)
      return loss(model, x), {output = 1, target = 2}
    end
    local run = train.fit(o)
    assert.equal(2, run.history[2].valid.updates)
    assert.equal(20, run.history[2].valid.bleu)
    assert.equal(20, run.best)
    assert.equal(2, run.best_epoch)
  end)

  it("stops when nothing gets better", function()
    local values = {5, 4, 3.95, 3.9, 1}
    local run = train.fit(options {epochs = 5, patience = 2, min_delta = 0.2,
      monitor = "value", evaluate = function(_, r)
        return {value = values[r.epoch]}
      end})
    assert.equal("patience", run.stopped)
    assert.equal(4, #run.history)
    assert.equal(4, run.best)
    assert.equal(2, run.best_epoch)
  end)

  it("keeps the best weights in a file", function()
    local path = os.tmpname()
    local weights = {}
    local values = {3, 1, 2}
    train.fit(options {epochs = 3, best = path, monitor = "value",
      evaluate = function(model, run)
        weights[run.epoch] = model.weight:detach():clone()
        return {value = values[run.epoch]}
      end})
    local kept = heed.load_safetensors(path)
    os.remove(path)
    assert.is_true(kept.weight:equal(weights[2]))
    assert.is_false(kept.weight:equal(weights[3]))
  end)

  it("steps the schedule once an epoch, with the monitored value or without",
    function()
      for every, with in pairs {epoch = false, value = true} do
        local o = options {schedule_every = every}
        local given = {}
        o.schedule = {
          step = function(_, ...) given[#given + 1] = {...} end,
          state_dict = function() return {} end,
          load_state_dict = function() end,
        }
        local run = train.fit(o)
        assert.same(with and {{run.history[1].loss}, {run.history[2].loss}} or
          {{}, {}}, given)
      end
    end)

  it("calls functions, which may stop it", function()
    local calls = {}
    local run = train.fit(options {
      on_start = function() calls[#calls + 1] = "start" end,
      on_step = function(r)
        calls[#calls + 1] = r.epoch .. "." .. r.batch
        if r.step == 6 then r:stop("enough") end
      end,
      on_epoch = function(r, record)
        calls[#calls + 1] = "epoch " .. record.epoch .. r.epoch
      end,
    })
    assert.same({"start", "1.1", "1.2", "1.3", "1.4", "epoch 11", "2.1", "2.2"},
      calls)
    assert.equal("enough", run.stopped)
    assert.equal(6, run.step)
  end)

  it("stops after a number of steps, and goes on from there", function()
    local path = os.tmpname()
    os.remove(path)
    local whole = train.fit(options())
    for _, steps in ipairs {1, 3, 3, 4, 6} do
      local run = train.fit(options {checkpoint = path, max_steps = steps})
      assert.equal(steps, run.step)
      assert.equal("max_steps", run.stopped)
    end
    local run = train.fit(options {checkpoint = path})
    assert.is_true(run.resumed)
    assert.is_true(same(whole.model, run.model))
    assert.same(whole.history, run.history)
    -- what is done stays done
    assert.equal(8, train.fit(options {checkpoint = path}).step)
    -- and is begun anew only on demand
    local anew = train.fit(options {checkpoint = path, resume = false,
      max_steps = 1})
    os.remove(path)
    assert.is_nil(anew.resumed)
    assert.equal(1, anew.step)
  end)

  it("writes a line an epoch into a log", function()
    local lines = {}
    local log = {write = function(self, ...)
      lines[#lines + 1] = table.concat {...}
      return self
    end}
    local path = os.tmpname()
    os.remove(path)
    local o = options {progress = log, checkpoint = path}
    o.data = function() return {heed.ones(1, 3)} end
    o.loss = function(model) return (model.bias * 0 + 0.5):sum() end
    train.fit(o)
    train.fit(o)
    os.remove(path)
    assert.same({"epoch 1/2 100%  loss 0.5  0:00\n",
      "epoch 2/2 100%  loss 0.5  0:00\n",
      "goes on from " .. path .. ", behind step 2\n"},
      {lines[2], lines[#lines - 1], lines[#lines]})
  end)

  it("shows how far it is in a list that a function returned", function()
    local lines = {}
    local o = options {epochs = 1, progress = {write = function(self, ...)
      lines[#lines + 1] = table.concat {...}
      return self
    end}}
    o.data = function() return {heed.ones(1, 3), heed.ones(1, 3)} end
    o.loss = function(model) return (model.bias * 0 + 0.5):sum() end
    train.fit(o)
    assert.matches("^epoch 1/1  50%%  loss 0%.5", lines[1])
  end)
end)

describe("a loss that is no number stops with the step and", function()
  local Net = nn.Module:extend("Net")
  function Net:init(bad)
    self.first = nn.Linear(3, 3)
    self.parts = nn.ModuleList {nn.ReLU(), bad}
  end
  function Net:forward(x)
    return self.parts[2](self.parts[1](self.first(x)))
  end

  -- The message of a run whose second batch of the second epoch is special.
  local function said(model, loss, more)
    local o = options(more)
    local special = heed.ones(2, 3)
    o.model = model
    o.optimizer = optim.SGD(model:parameters(), {lr = 0.0})
    o.data = function(epoch)
      local x = heed.zeros(2, 3)
      return {x, epoch == 2 and special or x}
    end
    o.loss = function(m, x)
      return loss(m, x, x:sum():item() ~= 0)
    end
    return message(train.fit, o)
  end

  -- A module that applies f to every input but the zeros.
  local function module(name, f)
    local class = nn.Module:extend(name)
    function class:forward(x) -- luacheck: ignore self
      return self.on and f(x) or x
    end
    return class()
  end

  local function switch(m, x, special)
    m.parts[2].on = special
    return m(x):sum()
  end

  local AT <const> = "fit: the loss is NaN in step 4 (epoch 2, batch 2): "

  it("the module and the op that made it", function()
    local bad = module("Bad", function(x) return (x * 0 - 1):log() end)
    local text = said(Net(bad), switch)
    assert.equal(AT .. "Net.parts[2].Bad: log: made the first NaN, " ..
      "element 1 of result 1 float32 [2 3], at ",
      (text:gsub("spec/train/fit_spec.lua:%d+$", "")))
  end)

  it("the op of the loss function", function()
    local text = said(Net(nn.ReLU()), function(m, x, special)
      local y = m(x):sum() * 0
      return special and (y - 1):sqrt() or y
    end)
    assert.equal(AT .. "sqrt: made the first NaN, element 1 of result 1 " ..
      "float32 [], at ", (text:gsub("spec/train/fit_spec.lua:%d+$", "")))
  end)

  it("the module that made infinity", function()
    local bad = module("Bad", function(x) return x / (x * 0) end)
    local net = Net(bad)
    heed.nn.init.ones_(net.first.weight:detach())
    assert.equal("fit: the loss is inf in step 4 (epoch 2, batch 2): " ..
      "Net.parts[2].Bad made the first infinity", said(net, switch))
  end)

  it("the module whose own code handed it on", function()
    local Outer = nn.Module:extend("Outer")
    function Outer:init() self.inner = nn.Linear(3, 3) end
    function Outer:forward(x, special)
      return self.inner(special and x / (x * 0) or x)
    end
    local outer = Outer()
    local function loss(m, x, special) return m(x, special):sum() end
    nn.init.ones_(outer.inner.weight:detach())
    assert.equal("fit: the loss is inf in step 4 (epoch 2, batch 2): " ..
      "Outer made the first infinity", said(outer, loss))
    outer.inner.weight:detach()[{1, 1}] = -1 -- infinity less infinity
    assert.equal(AT .. "Outer.inner.Linear: made the first NaN, element 1 " ..
      "of result 1 float32 [2 3], at , after Outer had made the first infinity",
      (said(outer, loss):gsub("spec/train/fit_spec.lua:%d+", "")))
  end)

  it("the parameter that an update spoiled", function()
    local net = Net(nn.ReLU())
    assert.equal(AT .. "the parameter first.bias is not finite, so the step " ..
      "before this one spoiled it: its gradients, or a rate that is too high",
      said(net, function(m, x, special)
        if special then m.first.bias:detach():fill_(0 / 0) end
        return m(x):sum()
      end))
  end)

  it("the batch", function()
    local o = options {data = {heed.tensor {{1.0, 0 / 0, 1.0}}}}
    assert.equal("fit: the loss is NaN in step 1 (epoch 1, batch 1): the " ..
      "batch holds it", message(train.fit, o))
  end)

  it("the gradient that made it, where norms are clipped", function()
    local text = said(Net(nn.ReLU()), function(m, x, special)
      local y = m(x):sum() * 0
      return special and y:sqrt() or y -- the slope at 0 is infinite
    end, {clip_norm = 1.0})
    assert.equal("fit: the norm of the gradients is NaN in step 4 (epoch 2, " ..
      "batch 2): backward: the gradient of mul made the first NaN, element " ..
      "1 of float32 [] for a; called at ",
      (text:gsub("spec/train/fit_spec.lua:%d+$", "")))
  end)

  it("finds what random numbers made", function()
    -- dropout with p = 0.5 of one number: about half of the batches are bad
    local net = nn.Sequential(nn.Dropout(0.5),
      module("Bad", function(x) return (x - 0.5):log() end))
    net[2].on = true
    local linear = nn.Linear(3, 3)
    local o = options {epochs = 100, data = {heed.ones(1, 1)}}
    o.model, o.optimizer = net, optim.SGD(linear:parameters())
    o.loss = function(m, x) return m(x):sum() + linear.bias:sum() * 0 end
    assert.truthy(message(train.fit, o):find(
      "Sequential[2].Bad: log: made the first NaN", 1, true))
  end)
end)

describe("fit says that", function()
  local function said(more) return message(train.fit, options(more)) end

  local cases = {
    {{model = {}}, "model must be a module, got a table"},
    {{optimizer = {}}, "optimizer must be an optimiser, got a table"},
    {{schedule = {}}, "schedule must be a schedule, got a table"},
    {{data = 1}, "data must be a loader, a list of batches or a function " ..
      "that returns them, got 1"},
    {{data = {}}, "data must be a loader, a list of batches or a function " ..
      "that returns them, got a table without batches"},
    {{valid = 1}, "valid must be a loader, a list of batches or a function " ..
      "that returns them, got 1"},
    {{data = heed.data.TensorDataset(heed.ones(3, 2))}, "data must be a " ..
      "loader, a list of batches or a function that returns them, got a " ..
      "Dataset; heed.data.DataLoader makes batches of it"},
    {{data = function() return {} end}, "epoch 1 has no batch"},
    {{data = function() return 1 end},
      "what data returns must be a function, got 1"},
    {{valid = function() return {} end}, "valid has no batch"},
    {{loss = 1}, "loss must be a function, got 1"},
    {{loss = function() return 1 end},
      "loss must return a tensor with one element, got 1"},
    {{loss = function() return heed.ones(2) end},
      "loss must return a tensor with one element, got tensor float32 [2]"},
    {{loss = function() return heed.ones(1), 1 end},
      "the second result of loss must be a table, got 1"},
    {{loss = function() return heed.ones(1), {count = -1} end},
      "count must be a number of at least 0, got -1"},
    {{epochs = 1.5}, "epochs must be an integer of at least 0, got 1.5"},
    {{accumulate = 0}, "accumulate must be an integer of at least 1, got 0"},
    {{patience = 0}, "patience must be an integer of at least 1, got 0"},
    {{clip_norm = -1}, "clip_norm must be a number of at least 0, got -1"},
    {{mode = "low"}, 'mode must be "min" or "max", got "low"'},
    {{schedule_every = "day"},
      'schedule_every must be "step" or "epoch" or "value", got "day"'},
    {{checkpoint_every = 2},
      "checkpoint_every needs checkpoint, the path of the file"},
    {{metrics = {}}, "metrics need valid"},
    {{metrics = {a = 1}, valid = {1}}, "metrics.a must be a metric, got 1"},
    {{metrics = {a = {update = print, reset = function() end}},
      valid = {heed.ones(1, 3)}},
      "metrics.a needs a second result of loss, {output = , target = }"},
    {{monitor = "f1", evaluate = function() return {f2 = 1, a = 2} end},
      'monitor must name a number, one of a, f2, got "f1"'},
    {{evaluate = function() return 1 end},
      "the result of evaluate must be a table, got 1"},
    {{parts = {model = heed.Generator(1)}},
      "parts.model: the name is taken by the run's own"},
    {{on_step = function(run) run:save() end},
      "save needs the option checkpoint"},
    {{on_step = 1}, "on_step must be a function, got 1"},
    {{checkpoint = "/nowhere/x", on_start = function(run)
      run.pending, run.options.accumulate = 1, 2
      run:save()
    end}, "save in the middle of a step, after 1 of its 2 batches"},
    {{checkpoints = "x"}, 'unknown option "checkpoints"; known: accumulate, ' ..
      "best, checkpoint, checkpoint_every, clip_norm, clip_value, data, " ..
      "epochs, evaluate, loss, max_steps, metrics, min_delta, mode, model, " ..
      "monitor, on_epoch, on_start, on_step, optimizer, parts, patience, " ..
      "progress, resume, schedule, schedule_every, valid"},
  }
  for _, case in ipairs(cases) do
    it(case[2], function() assert.equal("fit: " .. case[2], said(case[1])) end)
  end

  it("options must be a table", function()
    assert.equal("fit: options must be a table, got nil", message(train.fit))
  end)

  it("files cannot be read or written, before it trains", function()
    local steps = 0
    local function count() steps = steps + 1 end
    assert.equal("fit: best cannot be written: /nowhere/x.part: No such " ..
      "file or directory", said {best = "/nowhere/x", on_step = count})
    assert.equal("save_safetensors: /nowhere/x: cannot be written: No such " ..
      "file or directory", said {checkpoint = "/nowhere/x", on_step = count})
    local file = os.tmpname()
    assert.equal("fit: checkpoint cannot be read: " .. file .. "/x: Not a " ..
      "directory", said {checkpoint = file .. "/x", on_step = count})
    assert.equal("load_safetensors: " .. file .. ": must start with the 8 " ..
      "bytes of the header's length, but has 0 bytes",
      said {checkpoint = file, on_step = count})
    os.remove(file)
    assert.equal(0, steps)
  end)

  it("the checkpoint is one of another program", function()
    local path = os.tmpname()
    local o = options {checkpoint = path}
    train.save(path, {model = o.model, optimizer = o.optimizer}, {epoch = 3})
    local text = message(train.fit, o)
    os.remove(path)
    assert.equal("fit: checkpoint " .. path .. " was not written by fit: " ..
      "its step is nil", text)
  end)

  it("a source gives fewer batches than before", function()
    local path = os.tmpname()
    os.remove(path)
    train.fit(options {checkpoint = path, max_steps = 3})
    local text = message(train.fit, options {checkpoint = path,
      data = {heed.ones(1, 3)}})
    os.remove(path)
    assert.equal("fit: epoch 1 had 3 batches before, and now 1", text)
  end)
end)
