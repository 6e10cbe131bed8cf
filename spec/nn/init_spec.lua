-- Initialisers: what they are for, and messages. Numbers of PyTorch after one
-- seed are in spec/golden (rng_init_*, rng_named_init_*, rng_recurrent_*,
-- rng_seq2seq_*, rng_attention_*).

local heed = require "heed"
local message = require "spec.support.message"
local nn = require "heed.nn"
local init = nn.init
local near = dofile "spec/nn/near.lua"

describe("calculate_gain", function()
  it("knows the usual activations", function()
    assert.equal(1, init.calculate_gain "linear")
    assert.equal(1, init.calculate_gain "conv_transpose2d")
    assert.equal(1, init.calculate_gain "sigmoid")
    assert.equal(5 / 3, init.calculate_gain "tanh")
    assert.equal(2 ^ 0.5, init.calculate_gain "relu")
    assert.equal((2 / 1.0001) ^ 0.5, init.calculate_gain "leaky_relu")
    assert.equal((2 / 1.04) ^ 0.5, init.calculate_gain("leaky_relu", 0.2))
    assert.equal(0.75, init.calculate_gain "selu")
  end)

  it("refuses others", function()
    assert.equal("calculate_gain: nonlinearity must be one of conv1d, " ..
      "conv2d, conv3d, conv_transpose1d, conv_transpose2d, " ..
      "conv_transpose3d, leaky_relu, linear, relu, selu, sigmoid, tanh, got " ..
      '"elu"', message(init.calculate_gain, "elu"))
  end)
end)

describe("kaiming_uniform_", function()
  it("takes the gain of an activation", function()
    local t = init.kaiming_uniform_(heed.zeros(100, 100),
      {nonlinearity = "tanh"})
    local bound = 3 ^ 0.5 * 5 / 3 / 10
    local most = t:abs():max():item()
    assert.is_true(most <= bound and most > 0.99 * bound)
  end)
end)

describe("orthogonal_", function()
  local function check_unit(t, gain)
    local flat = t:flatten(2)
    local wide = flat:size(1) <= flat:size(2)
    local product = wide and flat:matmul(flat:transpose()) or
      flat:transpose():matmul(flat)
    near(product, gain * gain * heed.eye(product:size(1)), 1e-5)
  end

  it("makes rows or columns at right angles, of length gain", function()
    for _, shape in ipairs {{5, 3}, {3, 5}, {4, 4}, {6, 2, 2}, {2, 6, 2},
      {1, 1}} do
      check_unit(init.orthogonal_(heed.zeros(shape)), 1)
      check_unit(init.orthogonal_(heed.zeros(shape), {gain = 2.0}), 2)
    end
  end)

  it("leaves a tensor without numbers alone", function()
    assert.same({0, 3}, init.orthogonal_(heed.zeros(0, 3)).shape)
  end)

  it("refuses vectors", function()
    assert.equal("orthogonal_: t must have at least 2 dimensions, got [3]",
      message(init.orthogonal_, heed.zeros(3)))
  end)
end)

describe("eye_ and dirac_", function()
  it("make layers that give their input", function()
    local linear = nn.Linear(3, 3, {bias = false})
    init.eye_(linear.weight)
    local x = heed.randn(2, 3)
    near(linear(x), x, 0)
    local conv = nn.Conv2d(2, 2, 3, {padding = 1, bias = false})
    init.dirac_(conv.weight)
    local image = heed.randn(1, 2, 4, 4)
    near(conv(image), image, 0)
  end)

  it("start each group from the first channel", function()
    local t = init.dirac_(heed.ones(4, 1, 1), 2)
    near(t:flatten(), {1, 0, 1, 0}, 0)
  end)

  it("refuse other shapes", function()
    assert.equal("eye_: t must have 2 dimensions, got [3]",
      message(init.eye_, heed.zeros(3)))
    assert.equal("dirac_: t must have 3, 4 or 5 dimensions, got [3 3]",
      message(init.dirac_, heed.zeros(3, 3)))
    assert.equal("dirac_: groups must divide the 3 output channels of t " ..
      "[3 2 1], got 2", message(init.dirac_, heed.zeros(3, 2, 1), 2))
  end)
end)

describe("sparse_", function()
  it("has as many zeros in each column", function()
    local t = init.sparse_(heed.zeros(10, 4), 0.25, 1.0)
    near(t:eq(0):sum(1), {3, 3, 3, 3}, 0)
    near(init.sparse_(heed.zeros(3, 2), 1.0), heed.zeros(3, 2), 0)
    assert.is_true(init.sparse_(heed.zeros(3, 2), 0.0):ne(0):all():item())
    assert.same({0, 3}, init.sparse_(heed.zeros(0, 3), 0.5).shape)
  end)

  it("refuses what is no share, or no matrix", function()
    assert.equal("sparse_: sparsity must be a number from 0 to 1, got 2",
      message(init.sparse_, heed.zeros(2, 2), 2))
    assert.equal("sparse_: t must have 2 dimensions, got [2]",
      message(init.sparse_, heed.zeros(2), 0.5))
  end)
end)

describe("initialisers", function()
  it("overwrite parameters, without a graph, and return them", function()
    for _, name in ipairs {"orthogonal_", "eye_", "xavier_normal_"} do
      local p = nn.Linear(3, 4).weight
      assert.equal(p, init[name](p))
      assert.is_true(p.is_leaf and p.requires_grad)
    end
    local p = nn.Linear(3, 4).weight
    assert.equal(p, init.sparse_(p, 0.5))
    assert.is_true(p.is_leaf and p.requires_grad)
  end)
end)

describe("initialisers", function()
  it("say that there is no tensor", function()
    for _, name in ipairs {"uniform_", "normal_", "zeros_", "constant_",
      "kaiming_uniform_", "trunc_normal_", "sparse_"} do
      local func = name == "zeros_" and "constant_" or name
      assert.equal(func .. ": t must be a tensor, got 3",
        message(init[name], 3))
    end
  end)
end)
