-- Norms over channels. Numbers are those of PyTorch 2.13.

local heed = require "heed"
local gradient = require "spec.support.gradient"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local sequence = dofile "spec/nn/sequence.lua"
local nn = heed.nn
local F <const> = nn.functional
local make <const> = sequence.make

local X <const> = make({1, 2, 5, 6}, 7, 13)
local NORMAL <const> = {-1.51815, 0.335404, -1.25335, 0.600197, -0.98856,
  0.86499, -0.723767, 1.12978, -0.458974, 1.39458, -0.194181, 1.65937}

describe("BatchNorm", function()
  it("moves its running statistics by the momentum", function()
    local layer = nn.BatchNorm1d(3, {momentum = 0.3})
    for k = 5, 6 do layer(make({2, 3, 4}, k, 11) * 0.5) end
    near(layer.running_mean, {-0.095625, 0.13875, -0.18375})
    near(layer.running_var, {1.8219196, 1.6466072, 2.0591071})
    sequence.check(layer:eval()(make({2, 3, 4}, 5, 11)), {2, 3, 4},
      {-3.63344, 0.0708444, 3.77513, -0.670012, 3.00907, -1.66672}, -2.285609,
      48.17565)
    assert.equal(2, layer.num_batches_tracked:item())
  end)

  it("keeps the mean of all batches without a momentum", function()
    local layer = nn.BatchNorm1d(3, {momentum = false})
    for k = 5, 7 do layer(make({4, 3}, k, 11) * 0.5) end
    near(layer.running_mean, {0, 0.25, -0.875})
    near(layer.running_var, {4.4305553, 1.5277776, 2.8263886})
  end)

  it("uses the batch in evaluation where it tracks nothing", function()
    local layer = nn.BatchNorm2d(2,
      {track_running_stats = false, affine = false}):eval()
    sequence.check(layer(X), {1, 2, 5, 6}, NORMAL, 0, 52.47163)
    assert.is_nil(next(layer:state_dict()))
  end)

  it("saves what PyTorch saves, in its order", function()
    local names = {}
    for name, t in pairs(nn.BatchNorm2d(2):state_dict()) do
      names[#names + 1] = name .. " " .. t.dtype .. " " .. t.ndim
    end
    assert.same({"weight float32 1", "bias float32 1",
      "running_mean float32 1", "running_var float32 1",
      "num_batches_tracked int64 0"}, names)
  end)

  it("leaves its statistics alone in evaluation", function()
    local layer = nn.BatchNorm2d(2):eval()
    near(layer(X), (X / (1 + 1e-5) ^ 0.5):totable())
    assert.equal(0, layer.num_batches_tracked:item())
    near(layer.running_var, {1, 1}, 0)
  end)

  it("has no digits to lose far from 0", function()
    local x = heed.randn(64, 3, 20)
    local y = nn.BatchNorm1d(3)(x)
    near(nn.BatchNorm1d(3)(x + 1000), y:totable(), 1e-3) -- x is rounded
    local high = nn.BatchNorm1d(3):to "float64"(x:to "float64" + 1e6)
    near(high, y:totable(), 1e-5)
  end)

  it("refuses a single element, other ranks and other channels", function()
    local net = nn.Sequential(nn.BatchNorm1d(3))
    assert.equal("Sequential[1].BatchNorm1d: batch_norm: x [1 3] has one " ..
      "element in each channel: no variance to train with",
      message(net, heed.ones(1, 3)))
    assert.same({1, 3}, net:eval()(heed.ones(1, 3)).shape)
    assert.equal("Sequential[1].BatchNorm1d: x must be [N C] or [N C L] " ..
      "with 3 channels, got tensor float32 [2 4]",
      message(net, heed.ones(2, 4)))
    assert.equal("BatchNorm2d: x must be [N C H W] with 2 channels, got " ..
      "tensor float32 [3 2]", message(nn.BatchNorm2d(2), heed.ones(3, 2)))
    assert.equal("batch_norm: running_mean and running_var must be given " ..
      "unless training", message(F.batch_norm, X))
    assert.equal("BatchNorm2d: momentum must be a number from 0 to 1, got 2",
      message(nn.BatchNorm2d, 2, {momentum = 2}))
  end)

  it("refuses a second derivative by name", function()
    local x = heed.randn {4, 2}
    x.requires_grad = true
    local y = F.batch_norm(x, nil, nil, nil, nil, {training = true})
    assert.matches("batch_norm is fused and cannot be differentiated twice",
      message(heed.grad, (y ^ 3):sum(), x, {create_graph = true}))
  end)
end)

describe("GroupNorm", function()
  it("normalises groups of channels", function()
    local layer = nn.GroupNorm(3, 6)
    layer.weight:detach():copy_(heed.arange(0, 5):to "float32")
    layer.bias:detach():fill_(1)
    sequence.check(layer(make({2, 6, 3}, 5, 11)), {2, 6, 3},
      {1, 1, 1, 0.66045, 2.11566, 0.369408, 3.57307, -0.286534, 2.9298,
        -1.8947, 2.9298, -2.8596}, 33.45494, 92.74801)
  end)

  it("may have no weight", function()
    assert.equal(0, #nn.GroupNorm(2, 4, {affine = false}):parameters())
  end)

  it("refuses what does not fit", function()
    assert.equal("GroupNorm: num_channels 6 must be a multiple of " ..
      "num_groups 4", message(nn.GroupNorm, 4, 6))
    assert.equal("GroupNorm: x must be [N C ..] with 6 channels, got tensor " ..
      "float32 [2 3]", message(nn.GroupNorm(3, 6), heed.ones(2, 3)))
  end)
end)

describe("F.normalize", function()
  it("brings vectors to length 1", function()
    local x = heed.tensor {{3.0, 4}, {0, 0}}
    near(F.normalize(x), {{0.6, 0.8}, {0, 0}})
    near(F.normalize(x, 1), {{1, 1}, {0, 0}})
    near(F.normalize(x, {p = 1}), {{3 / 7, 4 / 7}, {0, 0}})
    near(F.normalize(x, -1, {p = math.huge, eps = 8}), {{3 / 8, 0.5}, {0, 0}})
  end)

  it("has a gradient, of 0 for zeros", function()
    gradient.check(function(args) return F.normalize(args[1]) end,
      {heed.randn({2, 3}, {dtype = "float64"})})
    local x = heed.zeros({2}, {requires_grad = true})
    F.normalize(x):sum():backward()
    assert.is_true(x.grad:isfinite():all():item())
  end)

  it("refuses what does not fit", function()
    assert.equal("normalize: dim must be 1..2 or -2..-1 for x [2 2], got 3",
      message(F.normalize, heed.ones(2, 2), 3))
    assert.equal("normalize: eps must be a number of at least 0, got -1",
      message(F.normalize, heed.ones(2), {eps = -1}))
  end)
end)

describe("InstanceNorm", function()
  it("normalises channels of each element", function()
    sequence.check(nn.InstanceNorm2d(2)(X), {1, 2, 5, 6}, NORMAL, 0, 52.47163)
    local x = heed.randn {3, 2, 4}
    near(nn.InstanceNorm1d(2, {affine = true})(x),
      F.group_norm(x, 2):totable(), 0)
  end)

  it("refuses inputs without places", function()
    assert.equal("instance_norm: x must be [N C ..] with places behind the " ..
      "channels, got tensor float32 [2 3]",
      message(F.instance_norm, heed.ones(2, 3)))
    assert.equal("InstanceNorm1d: x must be [N C L] with 2 channels, got " ..
      "tensor float32 [1 2 5 6]", message(nn.InstanceNorm1d(2), X))
  end)
end)

describe("RMSNorm", function()
  it("divides by the root mean square, with the epsilon of the dtype",
    function()
      sequence.check(nn.RMSNorm(4)(make({2, 4}, 5, 11) * 1e-4), {2, 4},
        {-1.00665, 0, 1.00665, -0.201329, 0.864253, -0.432126, 0.64819,
          -0.64819}, 0.230797, 4.807382)
    end)

  it("refuses what makes no sense", function()
    assert.equal(0, #nn.RMSNorm(4, {elementwise_affine = false}):parameters())
    assert.equal("RMSNorm: normalized_shape must have at least one size",
      message(nn.RMSNorm, {}))
    assert.equal("RMSNorm: x [2 3] must end in normalized [4]",
      message(nn.RMSNorm(4), heed.ones(2, 3):to "float64"))
  end)
end)
