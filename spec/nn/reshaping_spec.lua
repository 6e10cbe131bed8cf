-- Padding, sizes of images, Flatten. Numbers are those of PyTorch 2.13.

local gradient = require "spec.support.gradient"
local heed = require "heed"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local sample = require "spec.support.sample"
local sequence = dofile "spec/nn/sequence.lua"
local nn = heed.nn
local F <const> = nn.functional

local X <const> = sequence.make({1, 2, 5, 6}, 7, 13)
local LINE <const> = heed.tensor {{1.0, 2, 3}}

describe("pad", function()
  it("fills in a value, and cuts off", function()
    near(F.pad(LINE, {1, 2}, {value = 9}), {{9, 1, 2, 3, 9, 9}}, 0)
    near(F.pad(LINE, {-1, 1, 0, 1}), {{2, 3, 0}, {0, 0, 0}}, 0)
    assert.same({{true, false}},
      F.pad(heed.tensor {{true}}, {0, 1}, {value = false}):totable())
  end)

  it("mirrors, repeats and goes round", function()
    near(F.pad(LINE, {2, 2}, {mode = "reflect"}), {{3, 2, 1, 2, 3, 2, 1}}, 0)
    near(F.pad(LINE, {2, 1}, {mode = "replicate"}), {{1, 1, 1, 2, 3, 3}}, 0)
    near(F.pad(LINE, {2, 3}, {mode = "circular"}),
      {{2, 3, 1, 2, 3, 1, 2, 3}}, 0)
  end)

  it("has gradients", function()
    for _, mode in ipairs {"constant", "reflect", "replicate", "circular"} do
      gradient.check(function(args)
        return F.pad(args[1], {2, 1, 1, 2}, {mode = mode})
      end, {sample.real {2, 3, 4}})
    end
  end)

  it("refuses what does not fit", function()
    assert.equal('pad: mode "reflect" takes at most 2 of dim 2 of x [1 3], ' ..
      "got 3", message(F.pad, LINE, {3, 0}, {mode = "reflect"}))
    assert.equal("pad: pad must hold 2 numbers for each of at most 2 " ..
      "dimensions, got 3", message(F.pad, LINE, {1, 2, 3}))
    assert.equal('pad: mode must be "constant", "reflect", "replicate" or ' ..
      '"circular", got "edge"', message(F.pad, LINE, {1, 1}, {mode = "edge"}))
    assert.equal("pad: x [1 3] has fewer than 4 elements in dim 2 to cut off",
      message(F.pad, LINE, {-2, -2}))
  end)

  it("has layers", function()
    near(nn.ZeroPad1d(1)(LINE), {{0, 1, 2, 3, 0}}, 0)
    near(nn.ConstantPad1d({0, 1}, 7)(LINE), {{1, 2, 3, 7}}, 0)
    near(nn.ReflectionPad1d(1)(LINE), {{2, 1, 2, 3, 2}}, 0)
    near(nn.CircularPad2d {1, 0, 0, 1}(heed.tensor {{1.0, 2}, {3, 4}}),
      {{2, 1, 2}, {4, 3, 4}, {2, 1, 2}}, 0)
    near(nn.ReplicationPad2d(1)(heed.tensor {{5.0}}),
      {{5, 5, 5}, {5, 5, 5}, {5, 5, 5}}, 0)
    assert.equal("ZeroPad2d: padding must be an integer or a list of 4, got " ..
      "a list of 2", message(nn.ZeroPad2d, {1, 2}))
    assert.equal("ConstantPad1d: value must be a number, got nil",
      message(nn.ConstantPad1d, 1))
  end)
end)

describe("interpolate", function()
  it("repeats the nearest", function()
    sequence.check(F.interpolate(X, {size = {3, 4}}), {1, 2, 3, 4},
      {-6, 1, 2, -4, -3, 4, 5, -1, 3, -3, -2, 5}, 0, 78)
    near(F.interpolate(sequence.make({1, 1, 5}, 5, 11),
      {size = 3, mode = "nearest-exact"}), {{{-5, 5, 4}}})
  end)

  it("goes straight from one to the next", function()
    sequence.check(F.interpolate(X, {size = {3, 9}, mode = "bilinear"}),
      {1, 2, 3, 9}, {-5, -1.5, 1, -3, -0.5, 2, -2, 0.5, 4, 0, -3, -4.83333},
      -21.5, 92.05555)
    sequence.check(F.interpolate(X, {size = {3, 9}, mode = "bilinear",
      align_corners = true}), {1, 2, 3, 9},
      {-6, -1.625, -0.5, -4.25, -1.5, 1.25, -2.5, -1.375, 3, 0, -3.75, -4.25},
      -36.125, 118.625)
    near(nn.Upsample {scale_factor = 2, mode = "linear"}(
      sequence.make({1, 1, 4}, 5, 11)),
      {{{-5, -3.75, -1.25, 1.25, 3.75, 3.5, 0.5, -1}}})
  end)

  it("has gradients", function()
    gradient.check(function(args)
      return F.interpolate(args[1], {size = {4, 2}, mode = "bilinear"})
    end, {sample.real {1, 2, 3, 3}})
  end)

  it("refuses what does not fit", function()
    assert.equal("interpolate: either size or scale_factor must be given",
      message(F.interpolate, X))
    assert.equal('interpolate: mode must be "nearest", "nearest-exact" or ' ..
      '"bilinear" for x [1 2 5 6], got "linear"',
      message(F.interpolate, X, {size = 3, mode = "linear"}))
    assert.equal("interpolate: size must be a number or 2 numbers, got 3",
      message(F.interpolate, X, {size = {1, 2, 3}}))
    assert.equal("interpolate: x must be [B C L] or [B C H W], got tensor " ..
      "float32 [1 3]", message(F.interpolate, LINE, {size = 3}))
  end)
end)

describe("pixel_shuffle", function()
  it("puts channels into squares, and back", function()
    local x = heed.arange(1, 8):to "float32":reshape(8, 1, 1)
    near(F.pixel_shuffle(x, 2), {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, 0)
    local y = heed.randn {2, 12, 3, 2}
    near(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(y)), y:totable(), 0)
  end)

  it("refuses what cannot be divided", function()
    assert.equal("pixel_shuffle: 2 channels of x [1 2 5 6] cannot be " ..
      "divided by 4", message(F.pixel_shuffle, X, 2))
    assert.equal("pixel_unshuffle: images of 5 x 6 in x [1 2 5 6] cannot " ..
      "be divided by 2", message(F.pixel_unshuffle, X, 2))
  end)
end)

describe("Flatten and Unflatten", function()
  it("join and cut dimensions", function()
    assert.same({1, 60}, nn.Flatten()(X).shape)
    assert.same({1, 2, 30}, nn.Flatten(3)(X).shape)
    assert.same({1, 2, 5, 3, 2}, nn.Unflatten(-1, {-1, 2})(X).shape)
    near(nn.Unflatten(2, {2, 5, 6})(nn.Flatten()(X)), X:totable(), 0)
  end)

  it("refuse sizes that do not fit", function()
    assert.equal("Unflatten: dim 4 of x [1 2 5 6] cannot become [4 -1]",
      message(nn.Unflatten(-1, {4, -1}), X))
    assert.equal("Unflatten: dim must be 1..4 or -4..-1 for x [1 2 5 6], got 5",
      message(nn.Unflatten(5, {1}), X))
  end)
end)
