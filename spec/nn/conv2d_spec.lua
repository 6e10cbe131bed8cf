-- Convolutions of images. Numbers are those of PyTorch 2.13.

local heed = require "heed"
local message = require "spec.support.message"
local nn = heed.nn
local F <const> = nn.functional

local function near(want, got)
  local worst = (got - heed.tensor(want)):abs():max():item()
  assert.is_true(worst < 1e-5, tostring(got))
end

describe("conv2d", function()
  local x = heed.arange(1, 160):to "float32":reshape(1, 4, 10, 4)
    [{{}, {}, {1, 5}}] * 0.01
  local w = ((heed.arange(1, 36) * 7) % 11 - 5):to "float32"
  w = heed.cat {w, ((heed.arange(37, 72) * 7) % 11 - 5):to "float32"}
    :reshape(6, 2, 3, 2) * 0.1
  local b = heed.arange(0, 5):to "float32"

  it("strides, pads, dilates and groups", function()
    local y = F.conv2d(x, w, b, {stride = {2, 1}, padding = {1, 2},
      dilation = {1, 2}, groups = 2})
    assert.same({1, 6, 3, 6}, y.shape)
    near({0.07, 0.076, -0.03, -0.024, -0.112, -0.112, -0.072, -0.072, -0.174,
      -0.172, -0.098, -0.096}, y:flatten()[{{1, 12}}])
    assert.is_true(math.abs(y:sum():item() - 273.4) < 1e-3)
  end)

  it("keeps the size with padding \"same\", also of even windows", function()
    local y = F.conv2d(x, w[{{}, {}, {1, 2}}], b, {padding = "same",
      groups = 2})
    assert.same({1, 6, 5, 4}, y.shape)
    near({-0.05, -0.046, -0.042, 0.192, -0.034, -0.03, -0.026, 0.232},
      y:flatten()[{{1, 8}}])
    assert.is_true(math.abs(y:sum():item() - 295.60602) < 1e-3)
  end)

  it("of one pixel is a product with the channels", function()
    local k = heed.tensor {{1.0, 2, 3, 4}, {0, 1, 0, -1}}:reshape(2, 4, 1, 1)
    local y = F.conv2d(x, k)
    near((x[{1, 2}] - x[{1, 4}]):totable(), y[{1, 2}])
  end)

  it("takes a single image, and empty batches", function()
    assert.same({6, 3, 5},
      F.conv2d(x[1][{{1, 2}}], w, nil, {padding = {0, 1}}).shape)
    assert.same({0, 6, 3, 3}, F.conv2d(heed.zeros {0, 2, 5, 4}, w).shape)
  end)

  it("has gradients, twice", function()
    local image = heed.tensor({{{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}}},
      {dtype = "float64", requires_grad = true})
    local k = heed.tensor({{{{1, -1}, {2, 0}}}},
      {dtype = "float64", requires_grad = true})
    local y = F.conv2d(image, k)
    local g = heed.grad((y * y):sum(), {image, k}, {create_graph = true})
    g:sum():backward() -- through the gradient by the image
    assert.same({1, 1, 3, 3}, image.grad.shape)
    local other = image:detach():requires_grad_()
    local step = 1e-6
    local function slope(at)
      local moved = other:detach():clone()
      moved[{1, 1, at, at}] = moved[{1, 1, at, at}] + step
      moved.requires_grad = true
      local z = F.conv2d(moved, k:detach())
      return heed.grad((z * z):sum(), moved):sum():item()
    end
    local base = g:sum():item()
    local second = (slope(2) - base) / step
    assert.is_true(math.abs(second - image.grad[{1, 1, 2, 2}]:item()) < 1e-4)
  end)

  it("refuses what does not fit", function()
    assert.equal("conv2d: x [1 3 4 4] has 3 channels, weight [6 2 3 2] in 1 " ..
      "group takes 2 and makes 6", message(F.conv2d, heed.ones(1, 3, 4, 4),
      w))
    assert.equal("conv2d: bias must be [6], one for each channel of the " ..
      "result, got tensor float32 [5]", message(F.conv2d,
      heed.ones(1, 2, 4, 4), w, heed.ones(5)))
    assert.equal('conv2d: padding "same" needs a stride of 1',
      message(F.conv2d, heed.ones(1, 2, 4, 4), w, nil,
        {padding = "same", stride = 2}))
    assert.equal("conv2d: stride must be an integer of at least 1, got 0",
      message(F.conv2d, heed.ones(1, 2, 4, 4), w, nil, {stride = 0}))
    assert.equal('conv2d: unknown option "strides"; known: dilation, ' ..
      "groups, padding, stride", message(F.conv2d, x, w, nil, {strides = 1}))
    assert.equal("conv2d: x must be [B C H W] and weight [O C/groups kh " ..
      "kw], got tensor float32 [2] and tensor float32 [6 2 3 2]",
      message(F.conv2d, heed.ones(2), w))
  end)
end)

describe("unfold and fold", function()
  it("give back the image times how often a pixel is seen", function()
    local image = heed.randn(2, 3, 5, 4)
    local options = {stride = 1, padding = 1}
    local seen = F.fold(F.unfold(heed.ones(2, 3, 5, 4), 3, options), {5, 4}, 3,
      options)
    local back = F.fold(F.unfold(image, 3, options), {5, 4}, 3, options)
    near((image * seen):totable(), back)
    assert.equal(4, seen[{1, 1, 1, 1}]:item())
    assert.equal(9, seen[{1, 1, 2, 2}]:item())
  end)
end)

describe("Conv2d", function()
  it("makes what its options say", function()
    local layer = nn.Conv2d(4, 6, {3, 2}, {groups = 2, padding = 1})
    assert.same({6, 2, 3, 2}, layer.weight.shape)
    assert.same({6}, layer.bias.shape)
    assert.same({2, 6, 5, 5}, layer(heed.randn(2, 4, 5, 4)).shape)
    assert.is_nil(nn.Conv2d(1, 1, 1, {bias = false}).bias)
  end)

  it("refuses groups that do not divide the channels", function()
    assert.equal("Conv2d: in_channels 3 and out_channels 4 must be " ..
      "multiples of groups 2", message(nn.Conv2d, 3, 4, 1, {groups = 2}))
  end)
end)
