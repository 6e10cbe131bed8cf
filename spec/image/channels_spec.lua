local heed = require "heed"
local image = heed.image
local message = require "spec.support.message"

local function bytes(t) return heed.tensor(t, {dtype = "uint8"}) end

describe("image.to_float and image.to_uint8", function()
  it("turn bytes into numbers from 0 to 1 and back, each byte", function()
    local x = heed.arange(0, 255):to("uint8"):reshape(1, 16, 16)
    local y = image.to_float(x)
    assert.equal("float32", y.dtype)
    assert.equal(1, y:max():item())
    assert.is_true(image.to_uint8(y):equal(x))
  end)

  it("know 16 bits", function()
    local x = heed.tensor({{{0, 257, 65535}}}, {dtype = "int32"})
    assert.same({{{0, 257 / 65535, 1}}},
      image.to_float(x, {dtype = "float64"}):totable())
    assert.same({{{0, 1, 255}}}, image.to_uint8(x):totable())
  end)

  it("cut what is out of range", function()
    assert.same({0, 255}, image.to_uint8(heed.tensor {-1.0, 7.0}):totable())
    assert.equal("image.to_uint8: x has a NaN",
      message(image.to_uint8, heed.tensor {0 / 0}))
  end)

  it("refuse other dtypes", function()
    assert.equal("image.to_float: x must be uint8, int32 (16 bits) or a float, "
      .. "got tensor bool [1]",
      message(image.to_float, heed.tensor {true}))
    assert.equal("image.to_float: x must be a tensor, got 3",
      message(image.to_float, 3))
  end)
end)

describe("image.convert", function()
  -- PIL 13: Image.fromarray(rgb).convert("L")
  local rgb = bytes {{{255, 0, 0, 12}}, {{0, 255, 0, 200}}, {{0, 0, 255, 77}}}
  local gray = {{{76, 150, 29, 130}}}

  it("makes gray as PIL does", function()
    assert.same(gray, image.convert(rgb, "gray"):totable())
  end)

  it("makes gray of floats without rounding", function()
    local y = image.convert(image.to_float(rgb), "gray") * 255
    local want = {76.245, 149.685, 29.07, 129.766}
    for i, v in ipairs(want) do
      assert.is_true(math.abs(y[{1, 1, i}]:item() - v) < 0.01)
    end
  end)

  it("adds and drops channels", function()
    local x = bytes {{{9}}}
    assert.same({{{9}}, {{9}}, {{9}}}, image.convert(x, "rgb"):totable())
    assert.same({{{9}}, {{9}}, {{9}}, {{255}}},
      image.convert(x, "rgba"):totable())
    local la = bytes {{{9}}, {{50}}}
    assert.same({{{9}}}, image.convert(la, "gray"):totable())
    assert.same({{{9}}, {{9}}, {{9}}, {{50}}},
      image.convert(la, "rgba"):totable())
    local rgba = bytes {{{255}}, {{0}}, {{0}}, {{50}}}
    assert.same({{{76}}, {{50}}}, image.convert(rgba, "gray_alpha"):totable())
    assert.same({{{255}}, {{0}}, {{0}}}, image.convert(rgba, "rgb"):totable())
  end)

  it("takes 16 bits and batches", function()
    local x = heed.tensor({{{{65535}}, {{65535}}, {{65535}}}},
      {dtype = "int32"})
    assert.same({{{{65535}}}}, image.convert(x, "gray"):totable())
    assert.equal(65535, image.convert(x, "rgba")[{1, 4, 1, 1}]:item())
  end)

  it("refuses what is no picture", function()
    assert.equal("image.convert: x must be a picture [C H W] or a batch "
      .. "[B C H W], C from 1 to 4, got tensor float32 [5 1 1]",
      message(image.convert, heed.zeros {5, 1, 1}, "rgb"))
    assert.equal('image.convert: mode must be "gray", "gray_alpha", "rgb" or '
      .. '"rgba", got "lab"', message(image.convert, rgb, "lab"))
  end)
end)

describe("image.normalize", function()
  it("takes numbers for each channel, or one for all", function()
    local x = heed.tensor {{{1.0, 2}}, {{3, 4}}}
    assert.same({{{0, 1}}, {{4, 6}}},
      image.normalize(x, {1, 1}, {1, 0.5}):totable())
    assert.same({{{0, 0.5}}, {{1, 1.5}}},
      image.normalize(x, {1}, {2}):totable())
  end)

  it("refuses bytes, other lengths and a deviation of 0", function()
    local x = heed.zeros {3, 1, 1}
    assert.equal("image.normalize: x must be a float [C H W] or [B C H W] "
      .. "(image.to_float makes it one), got tensor uint8 [1 1 1]",
      message(image.normalize, bytes {{{1}}}, {0}, {1}))
    assert.equal("image.normalize: mean must have 1 or 3 numbers for x "
      .. "[3 1 1], got 2", message(image.normalize, x, {1, 2}, {1}))
    assert.equal("image.normalize: std[1] is 0",
      message(image.normalize, x, {1}, {0}))
    assert.equal("image.normalize: mean must be a list, got 0.5",
      message(image.normalize, x, 0.5, {1}))
  end)
end)
