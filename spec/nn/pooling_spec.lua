-- Pooling. Numbers are those of PyTorch 2.13.

local gradient = require "spec.support.gradient"
local heed = require "heed"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local sample = require "spec.support.sample"
local sequence = dofile "spec/nn/sequence.lua"
local twice = require "spec.support.twice"
local nn = heed.nn
local F <const> = nn.functional

local X <const> = sequence.make({1, 2, 5, 6}, 7, 13)
local LINES <const> = sequence.make({1, 2, 7}, 5, 11)

describe("max_pool", function()
  it("strides, pads and dilates, and tells where", function()
    local y, at = F.max_pool2d(X, {3, 2}, {stride = {2, 2}, padding = 1,
      dilation = {1, 2}, return_indices = true})
    sequence.check(y, {1, 2, 3, 3}, {4, 5, 6, 4, 5, 6, 0, 1, 2, 6, 6, 5}, 72,
      72)
    assert.same({8, 10, 12, 8, 10, 12, 26, 28, 30, 8, 8, 6, 8, 8, 24, 26, 28,
      30}, at:flatten():totable())
  end)

  it("may reach over the end", function()
    local y, at = F.max_pool2d(X, 2, {ceil_mode = true, return_indices = true})
    sequence.check(y, {1, 2, 3, 3}, {4, 5, 6, 3, 4, 5, 6, 1, 2, 6, 4, 5}, 75,
      75)
    assert.same({8, 10, 12, 19, 21, 23, 25, 28, 30, 8, 4, 6, 19, 21, 17, 26,
      28, 30}, at:flatten():totable())
  end)

  it("is there for lines, also without batch", function()
    local y, at = F.max_pool1d(LINES, 3,
      {stride = 2, padding = 1, return_indices = true})
    near(y, {{{0, 5, 4, 3}, {2, 2, 1, 5}}}, 0)
    assert.same({{{2, 3, 5, 7}, {2, 2, 4, 7}}}, at:totable())
    near(F.max_pool1d(LINES[1], 3, {stride = 2, padding = 1}), y[1]:totable(),
      0)
  end)

  it("finds NaN, and -inf in a window of nothing else", function()
    local y = F.max_pool1d(heed.tensor {{1.0, 0 / 0, -math.huge, -math.huge}},
      2)
    assert.is_true(y[{1, 1}]:isnan():item())
    assert.equal(-math.huge, y[{1, 2}]:item())
  end)

  it("has a gradient at the first of equal elements", function()
    local x = heed.ones({1, 1, 2, 2}, {requires_grad = true})
    F.max_pool2d(x, 2):sum():backward()
    near(x.grad, {{{{1, 0}, {0, 0}}}}, 0)
  end)

  it("has second derivatives", function()
    gradient.check(twice(function(args) return F.max_pool2d(args[1], 2) end),
      {sample.real {1, 2, 4, 4}}, {atol = 1e-5})
  end)

  it("is undone by max_unpool but for what was dropped", function()
    local y, at = F.max_pool2d(X, 2, {return_indices = true})
    local back = F.max_unpool2d(y, at, 2, {output_size = {5, 6}})
    assert.same(X.shape, back.shape)
    assert.is_true(((back - X) * back:ne(0)):eq(0):all():item())
    assert.equal(y:ne(0):sum():item(), back:ne(0):sum():item())
    assert.same({1, 2, 4, 6}, F.max_unpool2d(y, at, 2).shape)
    assert.same({1, 2, 4, 6}, nn.MaxUnpool2d(2)(y, at).shape)
    assert.same(X.shape, nn.MaxUnpool2d(2)(y, at, {5, 6}).shape)
  end)

  it("refuses what does not fit", function()
    assert.equal("max_pool2d: padding must be at most half of the window, 1 " ..
      "for a kernel of 3, got 2", message(F.max_pool2d, X, 3, {padding = 2}))
    assert.equal("max_pool2d: a window of 7 x 2, dilated by 1 x 1, does not " ..
      "fit into images of 5 x 6 with padding",
      message(F.max_pool2d, X, {7, 2}))
    assert.equal("max_pool1d: x must be [B C L] or [C L], got tensor " ..
      "float32 [1 2 5 6]", message(F.max_pool1d, X, 2))
    assert.equal('max_pool2d: unknown option "strides"; known: ceil_mode, ' ..
      "dilation, padding, return_indices, stride",
      message(F.max_pool2d, X, 2, {strides = 1}))
    assert.equal("max_pool2d: ceil_mode must be a boolean, got 1",
      message(F.max_pool2d, X, 2, {ceil_mode = 1}))
    assert.equal("max_unpool: index must be 1..4, an element of a plane, " ..
      "got 9", message(F.max_unpool2d, heed.ones(1, 1, 1),
        heed.tensor {{{9}}}, 2))
  end)
end)

describe("avg_pool", function()
  it("counts the padding, or not", function()
    sequence.check(F.avg_pool2d(X, 3, {stride = 2, padding = 1}),
      {1, 2, 3, 3}, {-4 / 9, 5 / 9, 11 / 9, -5 / 9, -4 / 9, 5 / 9, 2 / 3},
      11 / 9, 89 / 9)
    sequence.check(F.avg_pool2d(X, 3, {stride = 2, padding = 1,
      count_include_pad = false}), {1, 2, 3, 3},
      {-1, 5 / 6, 11 / 6, -5 / 6, -4 / 9, 5 / 9, 1.5, -1, 0, 1}, 3.194444,
      14.63889)
  end)

  it("may reach over the end, and divide by another number", function()
    sequence.check(F.avg_pool2d(X, 2, {ceil_mode = true}), {1, 2, 3, 3},
      {-1, 0, 1, -1.5, -0.5, 0.5, 3, -2.5, -1.5, 1, -1.25, -0.25}, -3.25,
      19.25)
    sequence.check(F.avg_pool2d(X, 2, {divisor_override = 3}), {1, 2, 2, 3},
      {-4 / 3, 0, 4 / 3, -2, -2 / 3, 2 / 3}, -1, 13)
  end)

  it("is there for lines", function()
    near(F.avg_pool1d(LINES, 3, {stride = 2, padding = 1}),
      {{{-5 / 3, 4 / 3, 1 / 3, 1 / 3}, {-1 / 3, -1 / 3, -4 / 3, 5 / 3}}})
  end)

  it("has second derivatives", function()
    gradient.check(twice(function(args)
      return F.avg_pool2d(args[1], {2, 3}, {stride = 1, padding = 1})
    end), {sample.real {1, 2, 3, 4}}, {atol = 1e-5})
  end)

  it("refuses what does not fit", function()
    assert.equal("avg_pool2d: divisor_override must be an integer of at " ..
      "least 1, got 0", message(F.avg_pool2d, X, 2, {divisor_override = 0}))
    assert.equal("avg_pool1d: kernel must be an integer, got a list of 2",
      message(F.avg_pool1d, LINES, {2, 2}))
  end)
end)

describe("adaptive pooling", function()
  it("cuts planes into even parts", function()
    sequence.check(F.adaptive_avg_pool2d(X, {2, 4}), {1, 2, 2, 4},
      {-5 / 3, -7 / 6, -1 / 6, 1 / 3, 0, -5 / 3, -2 / 3, -1 / 6}, -5.166667,
      9.166667)
    local y, at = F.adaptive_max_pool2d(X, {2, 4}, {return_indices = true})
    sequence.check(y, {1, 2, 2, 4}, {4, 4, 5, 6, 6, 4, 5, 5, 6, 6, 4, 5}, 79,
      79)
    assert.same({8, 8, 10, 12, 25, 21, 23, 23, 8, 8, 4, 6, 19, 21, 17, 17},
      at:flatten():totable())
  end)

  it("has second derivatives", function()
    gradient.check(twice(function(args)
      return F.adaptive_avg_pool2d(args[1], {2, 3})
    end), {sample.real {1, 3, 4}}, {atol = 1e-5})
  end)

  it("refuses empty images", function()
    assert.equal("adaptive_avg_pool2d: x [1 2 0 3] has no elements to take " ..
      "windows of", message(F.adaptive_avg_pool2d, heed.ones(1, 2, 0, 3), 1))
  end)
end)

describe("pooling layers", function()
  it("give what the functions give", function()
    near(nn.MaxPool2d(3, {stride = 2, padding = 1})(X),
      F.max_pool2d(X, 3, {stride = 2, padding = 1}):totable(), 0)
    near(nn.AvgPool2d({2, 3})(X), F.avg_pool2d(X, {2, 3}):totable(), 0)
    near(nn.MaxPool1d(2)(LINES), F.max_pool1d(LINES, 2):totable(), 0)
    near(nn.AvgPool1d(2)(LINES), F.avg_pool1d(LINES, 2):totable(), 0)
    near(nn.AdaptiveAvgPool2d(1)(X), F.adaptive_avg_pool2d(X, 1):totable(), 0)
    near(nn.AdaptiveMaxPool1d(3)(LINES),
      F.adaptive_max_pool1d(LINES, 3):totable(), 0)
    assert.equal("MaxPool2d(2)", tostring(nn.MaxPool2d(2)))
    assert.equal("AvgPool2d(2x3)", tostring(nn.AvgPool2d {2, 3}))
  end)

  it("name themselves in messages", function()
    assert.equal('MaxPool2d: unknown option "strides"; known: ceil_mode, ' ..
      "dilation, padding, return_indices, stride",
      message(nn.MaxPool2d, 2, {strides = 1}))
    local net = nn.Sequential(nn.MaxPool2d(7))
    assert.equal("Sequential[1].MaxPool2d: a window of 7 x 7, dilated by " ..
      "1 x 1, does not fit into images of 5 x 6 with padding",
      message(net, X))
  end)
end)
