-- Convolutions of lines and images. Numbers are those of PyTorch 2.13.

local gradient = require "spec.support.gradient"
local heed = require "heed"
local message = require "spec.support.message"
local sample = require "spec.support.sample"
local sequence = dofile "spec/nn/sequence.lua"
local twice = require "spec.support.twice"
local nn = heed.nn
local F <const> = nn.functional
local make <const>, real <const> = sequence.make, sample.real

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

  it("takes steps that are longer than any image", function()
    local y = F.conv2d(heed.arange(1, 9):to "float32":reshape(1, 1, 3, 3),
      heed.ones(1, 1, 2, 2), nil, {stride = 2147483647})
    assert.same({1, 1, 1, 1}, y.shape)
    assert.equal(12, y:item())
    -- 55 * 59 * 1796310433 * 1642445573 is 1 in 64 bits
    local image = heed.arange(1, 3840):to "float32":reshape(1, 1, 60, 64)
    y = F.conv2d(image, heed.ones(4, 1, 55, 59), nil,
      {stride = {1796310433, 1642445573}})
    assert.same({1, 4, 1, 1}, y.shape)
    local seen = image[{1, 1, {1, 55}, {1, 59}}]:sum():item()
    assert.equal(4 * seen, y:sum():item())
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

describe("conv1d", function()
  local x <const> = make({2, 4, 9}, 5, 11)

  it("strides, pads, dilates and groups", function()
    local y = F.conv1d(x, make({6, 2, 3}, 3, 7), heed.arange(0, 5):to "float32",
      {stride = 2, padding = 2, dilation = 2, groups = 2})
    sequence.check(y, {2, 6, 5}, {17, 11, 1, -9, -7, 10, -16, -18, 13, 7},
      169, 503)
  end)

  it("keeps the length with padding \"same\", without batch too", function()
    local w = make({3, 4, 4}, 3, 7)
    local y = F.conv1d(x, w, nil, {padding = "same"})
    sequence.check(y, {2, 3, 9}, {-11, 44, -48, 25, -45, 39, -9, 0, 16}, 64,
      936)
    near(y[2]:totable(), F.conv1d(x[2], w, nil, {padding = "same"}))
  end)

  it("refuses what does not fit", function()
    local w <const> = heed.ones(2, 4, 3)
    assert.equal("conv1d: x must be [B C L] and weight [O C/groups k], got " ..
      "tensor float32 [9] and tensor float32 [2 4 3]",
      message(F.conv1d, heed.ones(9), w))
    assert.equal("conv1d: x [2 3 9] has 3 channels, weight [2 4 3] in 1 " ..
      "group takes 4 and makes 2", message(F.conv1d, heed.ones(2, 3, 9), w))
    assert.equal("conv1d: a window of 3, dilated by 5, does not fit into " ..
      "lines of 9 with padding", message(F.conv1d, x, w, nil, {dilation = 5}))
    assert.equal("conv1d: stride must be an integer, got a list of 2",
      message(F.conv1d, x, w, nil, {stride = {1, 2}}))
  end)
end)

describe("transposed convolutions", function()
  it("stride, crop, add below and on the right, dilate and group", function()
    local y = F.conv_transpose2d(make({1, 4, 3, 4}, 5, 11),
      make({4, 3, 3, 2}, 3, 7), heed.arange(0, 5):to "float32",
      {stride = {2, 3}, padding = {1, 0}, output_padding = {1, 2},
        dilation = {1, 2}, groups = 2})
    sequence.check(y, {1, 6, 6, 14},
      {-15, 0, 5, 5, 0, -15, 14, 0, -2, 1, 0, -11}, 1271, 3129)
  end)

  it("give back what was cropped before they add zeros", function()
    local x, w = make({2, 4, 9}, 5, 11), make({4, 2, 3}, 3, 7)
    local o = {padding = 1, output_padding = 1, dilation = 2}
    sequence.check(F.conv_transpose1d(x, w, nil, o), {2, 2, 12},
      {3, -5, -2, 4, 1, -13, 6, 25, 0, -26, -6, -1}, -5, 469)
    o.padding = 0 -- a place that no window reaches
    local y = F.conv_transpose1d(x, w, heed.tensor {2.0, 3}, o)
    assert.same({2, 2, 14}, y.shape)
    near({{2, 3}, {2, 3}}, y[{{}, {}, 14}])
  end)

  it("are the gradients of convolutions", function()
    local image = heed.randn {2, 3, 7, 6}
    local w = heed.randn {4, 3, 3, 2}
    local o = {stride = 2, padding = {1, 0}}
    image.requires_grad = true
    local y = F.conv2d(image, w, nil, o)
    local g = heed.randn(y.shape)
    local back = F.conv_transpose2d(g, w, nil, o)
    near(back:totable(), heed.grad((y * g):sum(), image))
  end)

  it("refuse what does not fit", function()
    local w <const> = heed.ones(3, 2, 2, 2)
    assert.equal("conv_transpose2d: x must be [B C H W] and weight [C " ..
      "O/groups kh kw], got tensor float32 [2] and tensor float32 [3 2 2 2]",
      message(F.conv_transpose2d, heed.ones(2), w))
    assert.equal("conv_transpose2d: output_padding must be less than stride " ..
      "or dilation, got 2", message(F.conv_transpose2d, heed.ones(1, 3, 4, 4),
        w, nil, {output_padding = 2, stride = 2}))
    assert.equal('conv_transpose2d: padding must be an integer, got "same"',
      message(F.conv_transpose2d, heed.ones(1, 3, 4, 4), w, nil,
        {padding = "same"}))
    assert.equal("conv_transpose2d: x [1 3 1 1] gives no result with " ..
      "padding 1", message(F.conv_transpose2d, heed.ones(1, 3, 1, 1), w, nil,
        {padding = 1}))
    assert.equal("conv_transpose2d: bias must be [2], one for each channel " ..
      "of the result, got tensor float32 [3]", message(F.conv_transpose2d,
        heed.ones(1, 3, 4, 4), w, heed.ones(3)))
  end)
end)

describe("the ops of a convolution", function()
  local ops <const> = heed.core.ops

  it("have second derivatives, by each input", function()
    for _, groups in ipairs {1, 2} do
      for _, stride in ipairs {1, 2} do
        local steps <const> = {{stride, 1}, {1, 0, 1, 1}, {1, 2}, groups}
        local x, w = real {1, 4, 4, 5}, sample.other {4, 4 // groups, 2, 2}
        local function conv(args)
          return ops.convolution(args[1], args[2], nil,
            table.unpack(steps))
        end
        gradient.check(twice(conv), {x, w}, {atol = 1e-5})
        gradient.check(twice(function(args)
          return conv {args[2], args[1]}
        end), {w, x}, {atol = 1e-5})
        local y = conv {x, w}:detach()
        gradient.check(twice(function(args)
          return ops.convolution_input(args[1], args[2], {4, 5},
            table.unpack(steps))
        end), {y * 0.1, w}, {atol = 1e-5})
      end
    end
  end)

  it("give the same bits with any number of threads", function()
    local before <const> = heed.get_num_threads()
    heed.manual_seed(3)
    for _, size in ipairs {
      {{1, 8, 33, 20}, {6, 8, 3, 3}, 1}, {{5, 6, 9, 9}, {6, 1, 3, 3}, 6},
      {{3, 5, 8, 7}, {4, 5, 2, 3}, 1},
    } do
      local x, w = heed.randn(size[1]), heed.randn(size[2])
      x.requires_grad, w.requires_grad = true, true
      local first
      for _, threads in ipairs {1, 2, 5} do
        heed.set_num_threads(threads)
        local y = F.conv2d(x, w, nil, {groups = size[3], padding = 1})
        local g = {y, heed.grad((y * y):sum(), x),
          heed.grad((F.conv2d(x, w, nil, {groups = size[3], padding = 1})
            ^ 2):sum(), w)}
        first = first or g
        for i, t in ipairs(g) do
          assert.is_true(t:eq(first[i]):all():item())
        end
      end
    end
    heed.set_num_threads(before)
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

describe("convolution layers", function()
  it("make what their options say", function()
    local layer = nn.Conv2d(4, 6, {3, 2}, {groups = 2, padding = 1})
    assert.same({6, 2, 3, 2}, layer.weight.shape)
    assert.same({6}, layer.bias.shape)
    assert.same({2, 6, 5, 5}, layer(heed.randn(2, 4, 5, 4)).shape)
    assert.is_nil(nn.Conv2d(1, 1, 1, {bias = false}).bias)
    assert.equal("Conv2d(4, 6, 3x2, padding = 1, groups = 2): " ..
      "weight [6 2 3 2], bias [6] = 78", tostring(layer))
    assert.equal("Conv2d(4, 4, 1x1): weight [4 4 1 1], bias [4] = 20",
      tostring(nn.Conv2d(4, 4, 1)))
    assert.equal("2, 2, 3x3, padding = same, dilation = 2, " ..
      "padding_mode = reflect", nn.Conv2d(2, 2, 3, {padding = "same",
        dilation = 2, padding_mode = "reflect"}):extra())
    assert.equal("2, 2, 3x3, stride = 2x1, output_padding = 1x0",
      nn.ConvTranspose2d(2, 2, 3, {stride = {2, 1},
        output_padding = {1, 0}}):extra())
    local line = nn.Conv1d(4, 6, 3, {groups = 2, stride = 2})
    assert.same({6, 2, 3}, line.weight.shape)
    assert.same({2, 6, 4}, line(heed.randn(2, 4, 9)).shape)
    assert.equal("Conv1d(4, 6, 3, stride = 2, groups = 2): " ..
      "weight [6 2 3], bias [6] = 42", tostring(line))
    local back = nn.ConvTranspose2d(4, 6, {3, 2}, {groups = 2, stride = 2})
    assert.same({4, 3, 3, 2}, back.weight.shape)
    assert.same({1, 6, 9, 8}, back(heed.randn(1, 4, 4, 4)).shape)
    local turned = nn.ConvTranspose1d(4, 6, 3, {output_padding = 1,
      stride = 2, bias = false})
    assert.same({4, 6, 3}, turned.weight.shape)
    assert.same({6, 10}, turned(heed.randn(4, 4)).shape)
  end)

  it("pad in the ways of PyTorch", function()
    local x <const> = make({1, 4, 3, 4}, 5, 11)
    local wanted <const> = {
      reflect = {{18, -22, 5, 1, -3, 3, -41, 18, 12, 8, -18, 21}, 57, 839},
      replicate = {{5, -17, 44, 7, -30, 15, 6, 6, 12, 8, -40, 16}, -146, 658},
      circular = {{2, -4, -1, -27, 2, -4, -18, 9, 12, 8, -18, 9}, -10, 602},
    }
    for mode, want in pairs(wanted) do
      local layer = nn.Conv2d(4, 2, 3,
        {padding = {1, 2}, padding_mode = mode, bias = false})
      layer.weight:detach():copy_(make({2, 4, 3, 3}, 3, 7))
      sequence.check(layer(x), {1, 2, 3, 6}, table.unpack(want))
    end
    local line = nn.Conv1d(4, 2, 4,
      {padding = "same", padding_mode = "circular", bias = false})
    line.weight:detach():copy_(make({2, 4, 4}, 3, 7))
    sequence.check(line(make({2, 4, 9}, 5, 11)), {2, 2, 9},
      {-21, 44, -48, 25, -45, 39, -9, 11, 7, -20, 1, 0}, 12, 798)
  end)

  it("refuse what makes no sense", function()
    assert.equal("Conv2d: in_channels 3 and out_channels 4 must be " ..
      "multiples of groups 2", message(nn.Conv2d, 3, 4, 1, {groups = 2}))
    assert.equal('Conv1d: padding_mode must be "zeros", "reflect", ' ..
      '"replicate" or "circular", got "mirror"',
      message(nn.Conv1d, 3, 4, 1, {padding_mode = "mirror"}))
    assert.equal("ConvTranspose1d: kernel must be an integer of at least 1, " ..
      "got 0", message(nn.ConvTranspose1d, 3, 4, 0))
    assert.equal("Conv2d: kernel must be an integer or {down, across}, got " ..
      "a list of 3", message(nn.Conv2d, 3, 4, {1, 2, 3}))
    assert.equal("Conv2d: kernel must be an integer or {down, across}, got " ..
      "nil", message(nn.Conv2d, 3, 4))
    assert.equal("Conv2d: kernel must be an integer of at least 1, got 2.5",
      message(nn.Conv2d, 3, 4, 2.5))
  end)

  it("name themselves in messages", function()
    local net = nn.Sequential(nn.Conv2d(3, 4, 3))
    assert.equal("Sequential[1].Conv2d: x [1 2 5 5] has 2 channels, weight " ..
      "[4 3 3 3] in 1 group takes 3 and makes 4",
      message(net, heed.ones(1, 2, 5, 5)))
    local back = nn.Sequential(nn.ConvTranspose2d(3, 4, 3))
    assert.equal("Sequential[1].ConvTranspose2d: x [1 2 5 5] has 2 " ..
      "channels, weight [3 4 3 3] in 1 group takes 3 and makes 4",
      message(back, heed.ones(1, 2, 5, 5)))
  end)
end)
