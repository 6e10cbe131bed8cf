-- resize.json is written by spec/image/files/make.py: PyTorch's interpolate in
-- float64, and PIL's values for bytes.

local cjson = require "cjson"
local gradient = require "spec.support.gradient"
local heed = require "heed"
local image = heed.image
local message = require "spec.support.message"

local file <const> = assert(io.open("spec/image/files/resize.json"))
local golden <const> = cjson.decode(file:read("a"))
file:close()

-- [5 7], see make.py
local function picture(dtype)
  local y = heed.arange(0, 4):unsqueeze(2)
  local x = heed.arange(0, 6)
  return ((y * 37 + x * 91 + x * y * 7) % 256):to(dtype)
end

local function distance(want, got)
  assert.same(heed.tensor(want).shape, got.shape)
  return (heed.tensor(want, {dtype = "float64"}) - got:to("float64")):abs()
    :max():item()
end

describe("image.resize", function()
  for _, case in ipairs(golden.torch) do
    it(("is %s, to %d x %d%s, as PyTorch's"):format(case.mode, case.size[1],
      case.size[2], case.antialias and "" or " without antialias"), function()
      local o = {mode = case.mode, antialias = case.antialias}
      local off = distance(case.values,
        image.resize(picture "float64", case.size, o))
      -- the values have 5 digits behind the point
      assert.is_true(off < 6e-6, off)
    end)
  end

  it("is PIL's for bytes", function()
    for _, case in ipairs(golden.pil) do
      local y = image.resize(picture "uint8", case.size, {mode = case.mode})
      assert.equal("uint8", y.dtype)
      local off = distance(case.values, y)
      assert.equal(0, off)
    end
  end)

  it("cuts the overshoot of the cubic to the range of bytes", function()
    local x = heed.tensor({{0, 0, 255, 255, 0, 0}}, {dtype = "uint8"})
    local y = image.resize(x, {1, 12}, {mode = "bicubic"})
    local exact = image.resize(x:to("float64"), {1, 12}, {mode = "bicubic"})
    assert.is_true(exact:max():item() > 255 and exact:min():item() < 0)
    assert.equal(255, y:max():item())
    assert.equal(0, y:min():item())
  end)

  it("keeps a picture of one value, and all leading dimensions", function()
    local x = heed.full({2, 3, 6, 5}, 0.25)
    for _, mode in ipairs {"nearest", "bilinear", "bicubic"} do
      local y = image.resize(x, {4, 9}, {mode = mode})
      assert.same({2, 3, 4, 9}, y.shape)
      assert.is_true((y - 0.25):abs():max():item() < 1e-6)
    end
  end)

  it("takes one number as the shorter side", function()
    assert.same({1, 4, 6}, image.resize(heed.zeros {1, 10, 15}, 4).shape)
    assert.same({1, 6, 4}, image.resize(heed.zeros {1, 15, 10}, 4).shape)
  end)

  it("keeps 16 bits", function()
    local x = heed.tensor({{0, 65535}}, {dtype = "int32"})
    local y = image.resize(x, {1, 1})
    assert.equal("int32", y.dtype)
    assert.equal(32768, y:item())
  end)

  it("lets gradients through", function()
    gradient.check(function(args)
      return image.resize(args[1], {3, 4}, {mode = "bicubic"})
    end, {heed.randn({1, 4, 5}, {dtype = "float64"})})
  end)

  it("refuses wrong arguments", function()
    local x = heed.zeros {3, 4, 4}
    assert.equal('image.resize: mode must be "bilinear", "bicubic" or '
      .. '"nearest", got "area"', message(image.resize, x, 2, {mode = "area"}))
    assert.equal("image.resize: size[2] must be an integer of at least 1, "
      .. "got 0", message(image.resize, x, {2, 0}))
    assert.equal("image.resize: size must be an integer of at least 1, got "
      .. "2.5", message(image.resize, x, 2.5))
    assert.equal("image.resize: the result's sides must be at most 65535, "
      .. "got 4 x 1099511627776", message(image.resize, x, {4, 1 << 40}))
    assert.equal("image.resize: x [3 0 4] has no pixels",
      message(image.resize, heed.zeros {3, 0, 4}, 2))
    assert.equal("image.resize: x must be uint8, int32 (16 bits) or a float, "
      .. "got tensor int64 [2 2]",
      message(image.resize, heed.tensor({{1, 2}, {3, 4}}), 2))
  end)
end)
