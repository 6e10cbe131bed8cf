local heed = require "heed"
local image = heed.image
local message = require "spec.support.message"

describe("parts of a picture", function()
  local x = heed.arange(1, 24):reshape(2, 3, 4)

  it("are cut out by row and column, from 1", function()
    assert.same({{{6, 7}, {10, 11}}, {{18, 19}, {22, 23}}},
      image.crop(x, 2, 2, 2, 2):totable())
    assert.same(x:totable(), image.crop(x, 1, 1, 3, 4):totable())
  end)

  it("are cut out of the middle", function()
    assert.same({{{5, 6}}, {{17, 18}}},
      image.center_crop(x:slice(3, 1, 3), {1, 2}):totable())
    assert.same({2, 2, 2}, image.center_crop(x, 2).shape)
  end)

  it("may not reach out", function()
    assert.equal("image.crop: 2 x 2 from row 3, column 1 reaches out of x "
      .. "[2 3 4]", message(image.crop, x, 3, 1, 2, 2))
    assert.equal("image.crop: 1 x 1 from row 1, column 9223372036854775807 "
      .. "reaches out of x [2 3 4]",
      message(image.crop, x, 1, math.maxinteger, 1, 1))
    assert.equal("image.crop: top must be an integer of at least 1, got 0",
      message(image.crop, x, 0, 1, 1, 1))
    assert.equal("image.center_crop: a part of 4 x 4 does not fit into x "
      .. "[2 3 4]", message(image.center_crop, x, 4))
    assert.equal('image.center_crop: size must be an integer or {height, '
      .. 'width}, got "big"', message(image.center_crop, x, "big"))
  end)

  it("are taken by chance, from every place", function()
    local g, seen = heed.Generator(1), {}
    for _ = 1, 200 do
      local y = image.random_crop(x[1], {2, 3}, {generator = g})
      assert.same({2, 3}, y.shape)
      assert.equal(y[{1, 1}]:item() + 6, y[{2, 3}]:item())
      seen[y[{1, 1}]:item()] = true
    end
    assert.same({[1] = true, [2] = true, [5] = true, [6] = true}, seen)
  end)
end)

describe("mirrored pictures", function()
  local x = heed.arange(1, 4):reshape(1, 2, 2)

  it("are turned left to right and upside down", function()
    assert.same({{{2, 1}, {4, 3}}}, image.hflip(x):totable())
    assert.same({{{3, 4}, {1, 2}}}, image.vflip(x):totable())
  end)

  it("come by chance", function()
    local g, n = heed.Generator(1), 0
    for _ = 1, 200 do
      local y = image.random_hflip(x, 0.25, {generator = g})
      if y[{1, 1, 1}]:item() == 2 then n = n + 1 end
    end
    -- 50 wanted, with a deviation of 6.1
    assert.is_true(n > 25 and n < 75, n)
    assert.is_true(image.random_hflip(x, 0):equal(x))
    assert.is_false(image.random_hflip(x, 1):equal(x))
    assert.equal("image.random_hflip: p must be a number from 0 to 1, got 2",
      message(image.random_hflip, x, 2))
  end)

  it("need rows and columns", function()
    assert.equal("image.hflip: x must be a picture [C H W], or a batch "
      .. "[B C H W], got tensor float32 [3]",
      message(image.hflip, heed.zeros(3)))
  end)
end)
