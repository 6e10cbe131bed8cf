-- Layers start with PyTorch's weights, number for number: those of version 2.13
-- after manual_seed(0), the first three and the sum of each parameter.

local close = require "spec.support.close"
local heed = require "heed"
local near = dofile "spec/nn/near.lua"
local nn = heed.nn
local F <const> = nn.functional

local made <const> = {
  Conv1d = {function() return nn.Conv1d(4, 6, 3, {groups = 2}) end,
    {"weight", {6, 2, 3}, {-0.00305648, 0.21900219, -0.33600679}, -1.75602996},
    {"bias", {6}, {-0.23831105, 0.35092944, 0.18216789}, 0.30482127}},
  Conv2d = {function() return nn.Conv2d(3, 8, {3, 2}) end,
    {"weight", {8, 3, 3, 2}, {-0.00176466, 0.12644097, -0.1939936},
      -0.7438743},
    {"bias", {8}, {-0.21173641, -0.11174107, 0.1604909}, -0.88180797}},
  ConvTranspose1d = {
    function() return nn.ConvTranspose1d(4, 6, 3, {groups = 2}) end,
    {"weight", {4, 3, 3}, {-0.00249561, 0.17881453, -0.27434838}, -1.43379246},
    {"bias", {6}, {-0.19458017, 0.2865327, 0.14873946}, 0.24888553}},
  ConvTranspose2d = {function() return nn.ConvTranspose2d(3, 8, 3) end,
    {"weight", {3, 8, 3, 3}, {-0.00088233, 0.06322049, -0.0969968},
      -1.2196706},
    {"bias", {8}, {-0.09218375, -0.06176948, 0.09516393}, -0.00040162}},
  Bilinear = {function() return nn.Bilinear(4, 5, 3) end,
    {"weight", {3, 4, 5}, {-0.00374341, 0.2682218, -0.41152257}, -2.18546177},
    {"bias", {3}, {0.22623652, 0.2010802, -0.29617625}, 0.13114047}},
  Embedding = {function() return nn.Embedding(7, 4, {padding_idx = 2}) end,
    {"weight", {7, 4}, {-1.12583983, -1.1523602, -0.25057858}, -5.78497689}},
  Linear = {function() return nn.Linear(5, 3) end,
    {"weight", {3, 5}, {-0.00334821, 0.23990487, -0.36807698}, -1.21942259},
    {"bias", {3}, {0.01656639, 0.17679927, 0.26833835}, 0.461704}},
}

describe("the first weights of", function()
  for name, case in pairs(made) do
    it(name, function()
      heed.manual_seed(0)
      local layer, i = case[1](), 1
      for key, p in layer:named_parameters() do
        i = i + 1
        local want <const> = case[i]
        assert.equal(want[1], key)
        assert.same(want[2], p.shape)
        near(p:detach():flatten()[{{1, 3}}], want[3], 1e-7)
        close.check("sum", p:detach():to "float64":sum():item(), want[4],
          {atol = 1e-6})
      end
      assert.equal(#case, i)
    end)
  end
end)

-- The same network in PyTorch: outputs, gradients and running statistics.
describe("a small classifier", function()
  heed.manual_seed(0)
  local net <const> = nn.Sequential(nn.Conv2d(1, 4, 3, {padding = 1}),
    nn.BatchNorm2d(4), nn.PReLU(4), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3),
    nn.GroupNorm(2, 8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    nn.Linear(8, 3))
  local x <const> = ((heed.arange(0, 71) % 7 - 3):to "float32" * 0.5)
    :reshape(2, 1, 6, 6)

  it("has PyTorch's names and shapes", function()
    local names = {}
    for name, t in pairs(net:state_dict()) do
      names[#names + 1] = name .. " " .. table.concat(t.shape, " ")
    end
    assert.same({"0.weight 4 1 3 3", "0.bias 4", "1.weight 4", "1.bias 4",
      "1.running_mean 4", "1.running_var 4", "1.num_batches_tracked ",
      "2.weight 4", "4.weight 8 4 3 3", "4.bias 8", "5.weight 8", "5.bias 8",
      "9.weight 3 8", "9.bias 3"}, names)
  end)

  it("gives PyTorch's outputs and gradients", function()
    local y = net(x)
    near(y, {{0.00899304, -0.50124151, -0.12798169},
      {0.25502953, -0.73940140, -0.46329233}})
    ;(y * heed.tensor {{1.0, -2, 3}, {0.5, 1, -1}}):sum():backward()
    local want <const> = {
      ["0.weight"] = {-3.14087, -2.844015, 42.124155},
      ["1.weight"] = {-0.606159, 0.150259, 1.313301},
      ["1.bias"] = {-0.406015, 0.273199, 0.82143},
      ["2.weight"] = {0.00187970, -0.202005, 0.469772},
      ["4.weight"] = {-0.188625, -0.00443785, 128.59624},
      ["4.bias"] = {-0.11937, 0.427281, 3.183294},
      ["5.weight"] = {0.72496, 0.0511592, 1.404995},
      ["5.bias"] = {0.486012, 0.487561, 1.486393},
      ["9.weight"] = {2.284931, 0.115134, 19.769022},
      ["9.bias"] = {1.5, -1, 4.5},
    }
    for name, p in net:named_parameters() do
      local g <const>, w <const> = p.grad:flatten(), want[name]
      if w then
        close.check(name, {g[1]:item(), g[2]:item(),
          g:to "float64":abs():sum():item()}, w, {atol = 2e-4, rtol = 1e-5})
      end
    end
  end)

  it("gives PyTorch's outputs in evaluation", function()
    near(net[2].running_mean, {-0.01799233, 0.0293351, 0.01175557, 0.02509486})
    near(net[2].running_var, {0.90872943, 0.9085862, 0.91252619, 0.9270255})
    assert.equal(1, net[2].num_batches_tracked:item())
    near(net:eval()(x), {{0.11899629, -0.42524764, -0.1160748},
      {0.46084449, -0.32462782, -0.25059754}})
  end)
end)

describe("further dropouts", function()
  -- after manual_seed(3), of 1 .. 8 in 8 channels
  local scaled <const> = {5 / 3, 10 / 3, 0, 20 / 3, 0, 0, 35 / 3, 40 / 3}

  it("drop the channels that PyTorch drops", function()
    for name, shape in pairs {
      Dropout1d = {2, 4, 1}, Dropout2d = {2, 4, 1, 1},
    } do
      heed.manual_seed(3)
      local x = heed.arange(1, 8):to "float32":reshape(shape)
      near(nn[name](0.4)(x):flatten(), scaled)
    end
    heed.manual_seed(3)
    near(F.dropout2d(heed.ones(3, 5, 2, 2))[{{}, {}, 2, 2}],
      {{2, 2, 0, 2, 0}, {0, 2, 2, 2, 0}, {2, 0, 2, 2, 0}}, 0)
    heed.manual_seed(3)
    near(F.dropout1d(heed.ones(6, 2)), {{2, 2}, {2, 2}, {0, 0}, {2, 2},
      {0, 0}, {0, 0}}, 0)
  end)

  it("keep mean and variance, as PyTorch", function()
    heed.manual_seed(3)
    near(nn.AlphaDropout(0.3)(heed.arange(1, 8):to "float32"),
      {1.3150446, 2.1759973, -1.0595483, 3.8979025, -1.0595483, 5.6198077,
        6.4807606, 7.3417130})
    local y = F.alpha_dropout(heed.randn(200000), {p = 0.2})
    assert.is_true(math.abs(y:mean():item()) < 0.02)
    assert.is_true(math.abs(y:var():item() - 1) < 0.02)
  end)

  it("give the input in evaluation and for p = 0, zeros for p = 1", function()
    local x = heed.tensor {{{math.huge, 1.0}}}
    for _, name in ipairs {"Dropout1d", "AlphaDropout"} do
      assert.equal(x, nn[name](0.7):eval()(x))
      assert.equal(x, nn[name](0)(x))
      near(nn[name](1)(x), {{{0, 0}}}, 0)
    end
  end)

  it("draw from their generator, and refuse what makes no sense", function()
    local x = heed.ones(50, 4, 2)
    local a = nn.Dropout1d(0.5, {generator = heed.Generator(3)})
    near(a(x), F.dropout1d(x, {generator = heed.Generator(3)}):totable(), 0)
    local message <const> = require "spec.support.message"
    assert.equal("Dropout2d: p must be a number from 0 to 1, got 1.5",
      message(nn.Dropout2d, 1.5))
    assert.equal("Dropout2d: x must be [N C H W] or [C H W], got tensor " ..
      "float32 [2]", message(nn.Dropout2d(0.5), heed.ones(2)))
    assert.equal("alpha_dropout: p must be a number from 0 to 1, got -1",
      message(F.alpha_dropout, x, {p = -1}))
  end)
end)
