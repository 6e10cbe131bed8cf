local heed = require "heed"
local plot = require "heed.plot"
local pictures = require "spec.support.pictures"

local nan <const> = 0 / 0

-- The middle of cell (i, j) of the first image: 14 pixels of margin, then cells
-- of `size`.
local function middle(i, j, size)
  return 14 + (j - 0.5) * size, 14 + (i - 0.5) * size
end

local function colors(pixels, rows, cols, size)
  local out = {}
  for i = 1, rows do
    out[i] = {}
    for j = 1, cols do
      local x, y = middle(i, j, size)
      out[i][j] = pictures.color(pixels, x, y)
    end
  end
  return out
end

local function case(name, f)
  it(name, function()
    if not pictures.has_gnuplot then
      return pending("gnuplot is not installed")
    end
    f()
  end)
end

local function drawn(image, opts)
  return pictures.pixels(function(file)
    local all = {file = file}
    for name, value in pairs(opts or {}) do all[name] = value end
    plot.image(image, all)
  end)
end

describe("plot.image", function()
  case("draws floats from 0 to 1 as gray", function()
    -- 0.25 * 255 = 63.75
    local expected = {{"0 0 0", "255 255 255", "64 64 64"}}
    for _, image in ipairs {{{0, 1, 0.25}}, heed.tensor {{0, 1, 0.25}},
      heed.tensor {{{0, 1, 0.25}}}} do
      assert.same(expected, colors(drawn(image), 1, 3, 44))
    end
  end)

  case("draws three channels as red, green and blue", function()
    local image = {{{1, 0, 0}}, {{0, 1, 0.4}}, {{0, 0, 2}}}
    local expected = {{"255 0 0", "0 255 0", "0 102 255"}}
    assert.same(expected, colors(drawn(image), 1, 3, 44))
    assert.same(expected, colors(drawn(heed.tensor(image)), 1, 3, 44))
  end)

  case("draws bytes and 16 bits by their own full brightness", function()
    local bytes = heed.tensor({{0, 1, 255}}, {dtype = "uint8"})
    assert.same({{"0 0 0", "1 1 1", "255 255 255"}},
      colors(drawn(bytes), 1, 3, 44))
    local wide = heed.tensor({{0, 257, 65535}}, {dtype = "int32"})
    assert.same({{"0 0 0", "1 1 1", "255 255 255"}},
      colors(drawn(wide), 1, 3, 44))
  end)

  case("spans what leaves 0 to 1, and the limits given", function()
    assert.same({{"0 0 0", "128 128 128", "255 255 255"}},
      colors(drawn {{-2, 0, 2}}, 1, 3, 44))
    assert.same({{"0 0 0", "51 51 51", "255 255 255"}},
      colors(drawn({{0, 2, 10}}, {vmax = 10}), 1, 3, 44))
  end)

  case("lays a matrix of another size over it", function()
    -- Reds ends in 95 0 15; white and black under it, half covered
    local pixels = drawn({{1, 0}, {1, 0}}, {overlay = {{1, 1}, {0, 0}},
      cmap = "Reds"})
    assert.equal("175 128 135", pictures.color(pixels, middle(1, 1, 44)))
    assert.equal("48 0 8", pictures.color(pixels, middle(1, 2, 44)))
    -- three columns of weights over two of pixels
    pixels = drawn({{0, 0}}, {overlay = {{1, 0, 0.5}}, cmap = "gray",
      alpha = 1})
    local third = 2 * 44 / 3
    local function at(k) return pictures.color(pixels, 14 + k * third, 36) end
    assert.same({"255 255 255", "0 0 0", "128 128 128"},
      {at(0.5), at(1.5), at(2.5)})
    assert.same({"255 255 255", "0 0 0"}, {at(0.95), at(1.05)})
  end)

  case("covers nothing with alpha 0", function()
    assert.same({{"255 0 0", "0 255 0"}}, colors(drawn({{{1, 0}}, {{0, 1}},
      {{0, 0}}}, {overlay = {{3, 4}}, alpha = 0}), 1, 2, 44))
  end)

  case("draws what is not a number in a colour of its own, with an entry",
    function()
      local gray = drawn {{nan, 1}}
      local color = pictures.color(gray, middle(1, 1, 44))
      local r, g, b = color:match("(%d+) (%d+) (%d+)")
      assert.is_true(r ~= g or g ~= b)
      assert.equal(color, pictures.color(drawn({{1, 1}},
        {overlay = {{nan, 1}}}), middle(1, 1, 44)))
      assert.equal(color, pictures.color(drawn {{{nan}}, {{1}}, {{1}}},
        middle(1, 1, 44)))
      local texts = pictures.texts(function(file)
        plot.image({{nan, 1}}, {file = file})
      end)
      assert.equal("NaN", texts[1].text)
      assert.equal(1, #texts)
    end)

  case("has a bar for what lies over it, none for itself", function()
    local texts = pictures.texts(function(file)
      plot.image({{0.2, 0.4}}, {file = file})
    end)
    assert.equal(0, #texts)
    texts = pictures.texts(function(file)
      plot.image({{0.2, 0.4}}, {overlay = {{0, 3}}, file = file})
    end)
    assert.equal("3", texts[#texts].text)
  end)

  case("makes large images smaller", function()
    local image = heed.zeros({1, 1500, 3000}, {dtype = "uint8"})
    image[{1, {1, 1500}, {1501, 3000}}] = 255
    local pixels = drawn(image)
    assert.is_true(pixels:size(3) < 1300)
    assert.equal("0 0 0", pictures.color(pixels, 14 + 200, 100))
    assert.equal("255 255 255", pictures.color(pixels, 14 + 360, 100))
  end)

  it("is text without a file", function()
    local written = {}
    plot.image({{0, 1}, {0, 1}}, {width = 80, utf8 = false, color = false,
      title = "x", file = {write = function(self, text)
        written[#written + 1] = text
        return self
      end}})
    local line = (" "):rep(16) .. ("@"):rep(16) .. "\n"
    assert.equal("x\n" .. line:rep(16), table.concat(written))
  end)

  it("checks its arguments", function()
    local function error_of(expected, image, opts)
      assert.has_error(function() plot.image(image, opts) end,
        "image: " .. expected)
    end
    error_of("image must be [H W], [1 H W] or [3 H W], got nil")
    error_of("image must be [H W], [1 H W] or [3 H W], got tensor float32 "
      .. "[2 4 4]", heed.zeros(2, 4, 4))
    error_of("image must be [H W], [1 H W] or [3 H W], got tensor float32 [4]",
      heed.zeros(4))
    error_of("image[2] must be [1 2] as image[1], got [1 1]",
      {{{1, 2}}, {{1}}, {{1, 2}}})
    error_of("overlay must be a table of rows or a tensor [rows cols], "
      .. "got tensor float32 [3]", {{1}}, {overlay = heed.zeros(3)})
    error_of("alpha must be a number from 0 to 1, got 2", {{1}}, {alpha = 2})
    error_of("unknown option \"overlays\"; known: alpha, cmap, color, file, "
      .. "overlay, title, utf8, vmax, vmin, width, xlabel, ylabel", {{1}},
      {overlays = {}})
  end)
end)

describe("plot.images", function()
  case("gives gray images one scale", function()
    local pixels = pictures.pixels(function(file)
      plot.images({{{0, 5}}, {{5, 10}}}, {file = file})
    end)
    -- 2 cells of 44, and 21 pixels between the images
    local function at(k, j)
      return pictures.color(pixels, 14 + (k - 1) * 109 + (j - 0.5) * 44, 36)
    end
    assert.same({"0 0 0", "128 128 128", "128 128 128", "255 255 255"},
      {at(1, 1), at(1, 2), at(2, 1), at(2, 2)})
  end)

  case("mixes bytes and floats by their brightness", function()
    local pixels = pictures.pixels(function(file)
      plot.images({heed.tensor({{255, 0}}, {dtype = "uint8"}), {{1, 0}}},
        {file = file})
    end)
    assert.equal("255 255 255", pictures.color(pixels, 36, 36))
    assert.equal("255 255 255", pictures.color(pixels, 36 + 109, 36))
  end)

  case("puts them in rows of columns, each with its title", function()
    local function places(opts)
      return pictures.texts(function(file)
        opts.file = file
        plot.images(heed.zeros(4, 3, 2, 2), opts)
      end)
    end
    local titles = {"a", "b", "c", "d"}
    local texts = places {titles = titles}
    assert.equal(texts[1].y, texts[4].y)
    texts = places {titles = titles, columns = 3}
    assert.equal(texts[1].y, texts[3].y)
    assert.equal(texts[1].x, texts[4].x)
    assert.is_true(texts[4].y > texts[1].y + 88)
  end)

  case("lays matrices over some of them", function()
    local pixels = pictures.pixels(function(file)
      plot.images({{{1, 1}}, {{1, 1}}}, {overlays = {false, {{0, 1}}},
        cmap = "gray", alpha = 1, file = file})
    end)
    assert.same({"255 255 255", "0 0 0", "255 255 255"}, {
      pictures.color(pixels, 36, 36), pictures.color(pixels, 36 + 109, 36),
      pictures.color(pixels, 80 + 109, 36),
    })
  end)

  it("checks its arguments", function()
    local function error_of(expected, list, opts)
      assert.has_error(function() plot.images(list, opts) end,
        "images: " .. expected)
    end
    error_of("list must be a list of images or a tensor [N H W] or [N C H W], "
      .. "got nil")
    error_of("list must be a list of images or a tensor [N H W] or [N C H W], "
      .. "got tensor float32 [2 2]", heed.zeros(2, 2))
    error_of("list[2] must be [H W], [1 H W] or [3 H W], got 7", {{{1}}, 7})
    error_of("titles must have 2 entries (one for each image), got 1",
      heed.zeros(2, 2, 2), {titles = {"a"}})
    error_of("titles must have 2 entries (one for each column) or 4 (one for "
      .. "each image), got 3", heed.zeros(4, 2, 2), {titles = {"a", "b", "c"},
      columns = 2})
    error_of("columns must be an integer of at least 1, got 0",
      heed.zeros(2, 2, 2), {columns = 0})
    error_of("overlays[2] has no rows", heed.zeros(2, 2, 2),
      {overlays = {false, {}}})
  end)
end)
