-- Recurrent layers. Values and gradients of PyTorch, for all options, are in
-- spec/golden (nn_lstm*, nn_gru*, nn_rnn*, nn_relu*, rng_recurrent_*).

local close = require "spec.support.close"
local gradient = require "spec.support.gradient"
local heed = require "heed"
local message = require "spec.support.message"
local nn = require "heed.nn"
local sample = require "spec.support.sample"
local near = dofile "spec/nn/near.lua"

local real <const>, other <const> = sample.real, sample.other

local kinds <const> = {"RNN", "GRU", "LSTM"}

-- One step by the formulas, of ops: rows of the gates, states before it.
local steps = {}

function steps.RNN(x, p, h) return {(x[1] + p[1]):tanh(), h} end

function steps.GRU(x, p, h)
  local r, z = (x[1] + p[1]):sigmoid(), (x[2] + p[2]):sigmoid()
  local n = (x[3] + r * p[3]):tanh()
  return {(1 - z) * n + z * h}
end

function steps.LSTM(x, p, _, c)
  local i, f = (x[1] + p[1]):sigmoid(), (x[2] + p[2]):sigmoid()
  local g, o = (x[3] + p[3]):tanh(), (x[4] + p[4]):sigmoid()
  c = f * c + i * g
  return {o * c:tanh(), c}
end

-- A layer without lengths, of one direction, step by step.
local function plainly(layer, x)
  local kind = layer.__name
  local h = heed.zeros({x:size(1), layer.hidden_size}, {dtype = x.dtype})
  local c, outs = h, {}
  for t = 1, x:size(2) do
    local input = nn.functional.linear(x:select(2, t), layer.weight_ih_l0,
      layer.bias_ih_l0):split(layer.hidden_size, -1)
    local product = nn.functional.linear(h, layer.weight_hh_l0,
      layer.bias_hh_l0):split(layer.hidden_size, -1)
    local state = steps[kind](input, product, h, c)
    h, c = state[1], state[2]
    outs[t] = h
  end
  return heed.stack(outs, 2)
end

local function gradients(layer, x, out)
  x.grad = nil
  layer:zero_grad()
  local weights = heed.linspace(-1, 1, out:numel(), "float64")
  out:backward(weights:to(out.dtype):reshape(out.shape))
  local list = {x.grad}
  for _, p in ipairs(layer:parameters()) do list[#list + 1] = p.grad end
  return list
end

for _, kind in ipairs(kinds) do
  describe(kind, function()
    it("gives what its formulas give, and their gradients", function()
      -- few and many sequences, widths below and beside vectors and panels
      for _, size in ipairs {{1, 1}, {3, 5}, {5, 17}, {13, 33}} do
        local batch, hidden = size[1], size[2]
        local layer = nn[kind](4, hidden):to "float64"
        local x = real {batch, 6, 4}
        x.requires_grad = true
        local out, want = layer(x), plainly(layer, x)
        near(out, want, 1e-12)
        local got = gradients(layer, x, out)
        for i, g in ipairs(gradients(layer, x, want)) do
          close.check("gradient " .. i, got[i], g, {atol = 1e-10})
        end
      end
    end)

    it("gives so in float32", function()
      local layer = nn[kind](20, 300)
      local x = heed.randn({9, 12, 20}, {requires_grad = true})
      local out = layer(x)
      local got = gradients(layer, x, out)
      layer:to "float64"
      local wide = x:detach():to "float64"
      wide.requires_grad = true
      local want = plainly(layer, wide)
      near(out, want:to "float32", 1e-5)
      for i, g in ipairs(gradients(layer, wide, want)) do
        local most = math.max(g:abs():max():item(), 1)
        close.check("gradient " .. i, got[i], g:to "float32",
          {atol = 2e-5 * most})
      end
    end)

    it("goes on from the state that it gave", function()
      local layer = nn[kind](3, 4, {num_layers = 2}):to "float64"
      local x = real {2, 7, 3}
      local out, last = layer(x)
      local a, state = layer(x[{{}, {1, 3}}])
      local b, again = layer(x[{{}, {4, 7}}], state)
      near(heed.cat({a, b}, 2), out, 1e-12)
      if kind ~= "LSTM" then last, again = {last}, {again} end
      for i, part in ipairs(last) do near(again[i], part, 1e-12) end
    end)

    it("does of each sequence what it does of it alone", function()
      local layer = nn[kind](3, 4, {num_layers = 2, bidirectional = true})
        :to "float64"
      local x, lens = real {6, 5, 3}, {5, 2, 0, 1, 5, 3}
      local out, state = layer(x, nil, {valid_lens = lens})
      assert.same({6, 5, 8}, out.shape)
      for b, n in ipairs(lens) do
        near(out[{b, {n + 1, 5}}], heed.zeros({5 - n, 8}, "float64"), 0)
        if n > 0 then
          local alone, last = layer(x[{b, {1, n}}])
          near(out[{b, {1, n}}], alone, 1e-12)
          if kind == "LSTM" then
            near(state[2]:select(2, b), last[2], 1e-12)
          else
            near(state:select(2, b), last, 1e-12)
          end
        end
      end
    end)

    it("does not see what lies behind the end of a sequence", function()
      local layer = nn[kind](3, 4):to "float64"
      local x = real {2, 3, 3}
      local function run(input)
        input.requires_grad = true
        layer:zero_grad()
        local out = layer(input, nil, {valid_lens = {3, 1}})
        out:sum():backward()
        return out, layer.weight_ih_l0.grad, input.grad
      end
      local out, dw, dx = run(x:clone():detach())
      local dirty = x:clone():detach()
      dirty[{2, {2, 3}}] = 0 / 0
      local out2, dw2, dx2 = run(dirty)
      near(out2, out, 0)
      near(dw2, dw, 0)
      near(dx2, dx, 0)
    end)

    it("is the same for any number of threads, and run by run", function()
      local threads = heed.get_num_threads()
      local layer, x = nn[kind](40, 50), heed.randn(11, 9, 40)
      local lens = heed.randint(0, 9, {11})
      local function run(n)
        heed.set_num_threads(n)
        layer:zero_grad()
        local out = layer(x, nil, {valid_lens = lens})
        out:sum():backward()
        return out:detach(), layer.weight_hh_l0.grad, layer.bias_hh_l0.grad
      end
      local out, dw, db = run(1)
      for _, n in ipairs {2, 3, 1} do
        local out2, dw2, db2 = run(n)
        near(out2, out, 0)
        near(dw2, dw, 0)
        near(db2, db, 0)
      end
      heed.set_num_threads(threads)
    end)

    it("works with sizes of 0", function()
      local layer = nn[kind](3, 4)
      assert.same({0, 5, 4}, layer(heed.zeros(0, 5, 3)).shape)
      assert.same({2, 0, 4}, layer(heed.zeros(2, 0, 3)).shape)
      local out = nn[kind](0, 4)(heed.zeros(2, 5, 0))
      assert.same({2, 5, 4}, out.shape)
      out:sum():backward()
    end)

    it("has parameters of PyTorch's names, within 1 / sqrt(hidden)", function()
      local layer = nn[kind](3, 4, {bidirectional = true, num_layers = 2})
      local names = {}
      for name, p in layer:named_parameters() do
        names[#names + 1] = name
        assert.is_true(p:abs():max():item() <= 0.5)
      end
      local want = {}
      for _, ending in ipairs {"l0", "l0_reverse", "l1", "l1_reverse"} do
        for _, name in ipairs {"weight_ih", "weight_hh", "bias_ih",
          "bias_hh"} do
          want[#want + 1] = name .. "_" .. ending
        end
      end
      assert.same(want, names)
      local copy = nn[kind](3, 4, {bidirectional = true, num_layers = 2})
      copy:load_state_dict(layer:state_dict())
      local x = heed.randn(2, 3, 3)
      near(copy(x), layer(x), 0)
    end)

    it("drops outputs between layers, in training only", function()
      local layer = nn[kind](3, 50, {num_layers = 2, dropout = 0.5})
      local x = heed.randn(2, 3, 3)
      assert.is_true((layer(x) - layer(x)):abs():max():item() > 0)
      layer:eval()
      near(layer(x), layer(x), 0)
      local all = nn[kind](3, 4, {num_layers = 2, dropout = 1.0})
      local blank = all(x)
      near(blank[1], blank[2], 1e-6) -- the second layer sees zeros
    end)

    it("runs without gradients as with them", function()
      local layer, x = nn[kind](3, 4), heed.randn(2, 5, 3)
      local out = layer(x)
      local _ <close> = heed.no_grad()
      near(layer(x), out:detach(), 0)
    end)

    it("refuses what does not fit", function()
      local layer = nn[kind](3, 4)
      assert.equal(kind .. ": x must be [B T 3] or [T 3], got [2 5]",
        message(layer, heed.zeros(2, 5)))
      assert.equal(kind .. ": x must be [T B 3] or [T 3], got [3]",
        message(nn[kind](3, 4, {batch_first = false}), heed.zeros(3)))
      assert.equal(kind .. ": x must be a tensor, got nil", message(layer))
      local h = heed.zeros(1, 3, 4)
      assert.equal(kind == "LSTM" and
        "LSTM: state h must be [1 2 4], got [1 3 4]" or
        kind .. ": state must be [1 2 4], got [1 3 4]",
        message(layer, heed.zeros(2, 5, 3), kind == "LSTM" and {h, h} or h))
      assert.equal(kind .. ": valid_lens must be int64 [2], one for each " ..
        "sequence, got int64 [1]",
        message(layer, heed.zeros(2, 5, 3), nil, {valid_lens = {5}}))
      assert.matches("recurrent: valid_lens [2], row 2: must be 0..5, the " ..
        "steps, got 6",
        message(layer, heed.zeros(2, 5, 3), nil, {valid_lens = {5, 6}}), 1,
        true)
      assert.equal(kind .. ': unknown option "lens"; known: valid_lens',
        message(layer, heed.zeros(2, 5, 3), nil, {lens = {5, 5}}))
      assert.equal(kind .. ": hidden_size must be an integer of at least 1, " ..
        "got 0", message(nn[kind], 3, 0))
      assert.equal(kind .. ": dropout must be a number from 0 to 1, got 2",
        message(nn[kind], 3, 4, {dropout = 2}))
      assert.equal(kind .. ": num_layers must be an integer of at least 1, " ..
        "got 0", message(nn[kind], 3, 4, {num_layers = 0}))
    end)
  end)

  describe(kind .. "Cell", function()
    it("is a step of the layer", function()
      local layer, cell = nn[kind](3, 4):to "float64",
        nn[kind .. "Cell"](3, 4):to "float64"
      local state = {}
      for name, p in pairs(layer:state_dict()) do
        state[name:gsub("_l0$", "")] = p
      end
      cell:load_state_dict(state)
      local x, h, c = real {2, 3, 3}, nil, nil
      local out = layer(x)
      for t = 1, 3 do
        h, c = cell(x:select(2, t), kind == "LSTM" and h and {h, c} or h)
        near(h, out:select(2, t), 1e-12)
      end
    end)

    it("takes one sequence alone", function()
      local cell = nn[kind .. "Cell"](3, 4)
      local x = heed.randn(3)
      near(cell(x), cell(x:unsqueeze(1)):squeeze(1), 1e-6)
    end)

    it("has the gradient of its values", function()
      local cell = nn[kind .. "Cell"](3, 2):to "float64"
      local lstm = kind == "LSTM"
      gradient.check(function(args)
        return cell(args[1], lstm and {args[2], args[3]} or args[2])
      end, {real {2, 3}, other {2, 2}, lstm and real {2, 2} or nil})
    end)

    it("refuses what does not fit", function()
      local cell = nn[kind .. "Cell"](3, 4)
      assert.equal(kind .. "Cell: x must be [B 3] or [3], got [2 4]",
        message(cell, heed.zeros(2, 4)))
    end)
  end)
end

describe("an LSTM's state", function()
  it("is {h, c}", function()
    assert.equal("LSTM: state must be {h, c}, got tensor float32 [1 2 4]",
      message(nn.LSTM(3, 4), heed.zeros(2, 5, 3), heed.zeros(1, 2, 4)))
    assert.equal("LSTM: state must be {h, c}, got a list of 1",
      message(nn.LSTM(3, 4), heed.zeros(2, 5, 3), {heed.zeros(1, 2, 4)}))
    assert.equal("LSTM: state c must be [1 2 4], got 1",
      message(nn.LSTM(3, 4), heed.zeros(2, 5, 3), {heed.zeros(1, 2, 4), 1}))
  end)
end)

describe("RNN's nonlinearity", function()
  it("is tanh or relu", function()
    assert.equal('RNN: nonlinearity must be "tanh" or "relu", got "elu"',
      message(nn.RNN, 3, 4, {nonlinearity = "elu"}))
    assert.equal('RNNCell: nonlinearity must be "tanh" or "relu", got "elu"',
      message(nn.RNNCell, 3, 4, {nonlinearity = "elu"}))
  end)
end)

describe("recurrent layers", function()
  it("show their sizes", function()
    assert.equal("3, 4", nn.LSTM(3, 4):extra())
    assert.equal("3, 4, num_layers = 2, bidirectional",
      nn.GRU(3, 4, {num_layers = 2, bidirectional = true}):extra())
  end)

  it("say that they cannot be differentiated twice", function()
    local x = heed.randn({1, 2, 3}, {requires_grad = true})
    local y = nn.GRU(3, 4)(x):sum()
    assert.matches("recurrent", message(function()
      y:backward({create_graph = true})
      x.grad:sum():backward()
    end))
  end)

  it("learn to remember the first of some steps", function()
    heed.manual_seed(3)
    local layer, out = nn.LSTM(1, 8), nn.Linear(8, 1)
    local params = layer:parameters()
    for _, p in ipairs(out:parameters()) do params[#params + 1] = p end
    local optimizer = heed.optim.Adam(params, {lr = 0.02})
    local x = heed.randn(32, 6, 1)
    local first, last
    for _ = 1, 150 do
      optimizer:zero_grad()
      local y = out(layer(x):select(2, -1))
      local loss = nn.functional.mse_loss(y, x:select(2, 1))
      loss:backward()
      optimizer:step()
      first, last = first or loss:item(), loss:item()
    end
    assert.is_true(last < 0.05 * first)
  end)
end)

describe("lengths of recurrent layers", function()
  it("are integers", function()
    assert.equal("LSTM: valid_lens must be integers, got 1.5",
      message(nn.LSTM(3, 4), heed.zeros(2, 5, 3), nil,
        {valid_lens = {1.5, 2}}))
  end)
end)
