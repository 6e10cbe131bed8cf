-- The files in spec/image/files are written by make.py there, which says how
-- their pixels are made.

local heed = require "heed"
local image = heed.image
local message = require "spec.support.message"

local FOLDER <const> = "spec/image/files/"
local H <const>, W <const> = 5, 7

local function read_file(name)
  local file = assert(io.open(FOLDER .. name, "rb"))
  local bytes = file:read("a")
  file:close()
  return bytes
end

local function read(name, options)
  return assert(image.read(FOLDER .. name, options))
end

-- The picture [C h w] of a formula of y, x, c from 0.
local function picture(f, channels, dtype, h, w)
  local t = {}
  for c = 0, channels - 1 do
    t[c + 1] = {}
    for y = 0, (h or H) - 1 do
      t[c + 1][y + 1] = {}
      for x = 0, (w or W) - 1 do t[c + 1][y + 1][x + 1] = f(y, x, c) end
    end
  end
  return heed.tensor(t, {dtype = dtype or "uint8"})
end

local function eight(y, x, c)
  return (37 * y + 91 * x + 53 * c + 7 * x * y) % 256
end

local function sixteen(y, x, c)
  return (9973 * y + 31337 * x + 12345 * c + 7) % 65536
end

local function same(want, got)
  assert.equal(want.dtype, got.dtype)
  assert.same(want.shape, got.shape)
  assert.is_true(want:equal(got))
end

local function temporary(ending)
  local name = os.tmpname()
  os.remove(name)
  return name .. ending
end

describe("image.read reads PNG", function()
  it("of each kind of 8 bits", function()
    for c, name in ipairs {"gray", "gray_alpha", "rgb", "rgba"} do
      same(picture(eight, c), read(name .. ".png"))
    end
  end)

  it("of 16 bits, as int32", function()
    same(picture(sixteen, 1, "int32"), read "gray16.png")
    same(picture(sixteen, 3, "int32"), read "rgb16.png")
  end)

  it("that is interlaced", function()
    same(picture(eight, 3), read "rgb_interlaced.png")
    same(picture(sixteen, 4, "int32"), read "rgba16_interlaced.png")
  end)

  it("of fewer bits, spread to 8", function()
    for depth, step in pairs {[1] = 255, [2] = 85, [4] = 17} do
      same(picture(function(y, x, c)
        return eight(y, x, c) % (1 << depth) * step
      end, 1), read(("gray%d.png"):format(depth)))
    end
  end)

  it("with a palette, as colours", function()
    local function color(y, x, c)
      local i = eight(y, x, 0) % 16
      if c == 3 then return i == 2 and 128 or 255 end
      return ({i, 255 - i, 3 * i})[c + 1]
    end
    same(picture(color, 3), read "palette.png")
    same(picture(color, 4), read "palette_alpha.png")
  end)

  it("with a transparent colour, as alpha", function()
    same(picture(function(y, x, c)
      if c < 3 then return eight(y, x, c) end
      return eight(y, x, 0) == 0 and eight(y, x, 1) == 53
        and eight(y, x, 2) == 106 and 0 or 255
    end, 4), read "rgb_key.png")
  end)
end)

describe("image.read reads JPEG", function()
  for _, name in ipairs {"gray", "color", "progressive", "sharp"} do
    it(name .. ", as PIL does", function()
      same(read(name .. "_jpg.ppm"), read(name .. ".jpg"))
    end)
  end

  it("of inks, as RGB", function()
    local want, got = read "cmyk_jpg.ppm", read "cmyk.jpg"
    local off = (want:to("int32") - got:to("int32")):abs():max():item()
    assert.same({3, 12, 18}, got.shape)
    assert.is_true(off <= 1, off)
  end)
end)

describe("image.read reads PPM", function()
  local function decode(bytes) return assert(image.decode(bytes)) end

  it("plain and binary, with comments", function()
    local want = heed.tensor({{{1, 4}}, {{2, 5}}, {{3, 6}}}, {dtype = "uint8"})
    same(want, decode("P3\n# made by hand\n2 1 # wide\n255\n1 2 3\n4 5 6"))
    same(want, decode("P6 2 1\n255\n\1\2\3\4\5\6"))
    same(heed.tensor({{{7}, {9}}}, {dtype = "uint8"}),
      decode("P5 1 2 255\n\7\9"))
  end)

  it("of 16 bits, as int32", function()
    same(heed.tensor({{{258, 65535}}}, {dtype = "int32"}),
      decode("P5 2 1 65535\n\1\2\xFF\xFF"))
  end)

  it("of another largest sample, scaled", function()
    same(heed.tensor({{{0, 51, 255}}}, {dtype = "uint8"}),
      decode("P2 3 1 5 0 1 5"))
    same(heed.tensor({{{0, 65535}}}, {dtype = "int32"}),
      decode("P2 2 1 1000 0 1000"))
  end)
end)

describe("image.read", function()
  it("gives the channels that are asked for", function()
    same(picture(eight, 3), read("rgba.png", {mode = "rgb"}))
    same(image.convert(read "rgb.png", "gray"), read("rgb.png",
      {mode = "gray"}))
  end)

  it("says what is wrong with a file", function()
    local function fault(bytes, options)
      local x, text = image.decode(bytes, options)
      assert.is_nil(x)
      return text
    end
    local png, jpeg = read_file "rgb.png", read_file "color.jpg"
    assert.equal("image.decode: the file is empty", fault "")
    assert.equal("image.decode: neither PNG, JPEG nor PPM", fault "GIF89a")
    assert.equal("image.decode: PNG: the file ends too early",
      fault(png:sub(1, -5)))
    assert.equal("image.decode: PNG: IDAT: CRC error",
      fault(png:sub(1, -17) .. "\0" .. png:sub(-15)))
    assert.equal("image.decode: JPEG: Premature end of JPEG file",
      fault(jpeg:sub(1, -20)))
    assert.equal("image.decode: PPM: the file ends too early",
      fault "P6 2 2 255\nabc")
    assert.equal("image.decode: PPM: a sample must be at most 15",
      fault "P5 1 1 15\n\16")
    assert.equal("image.decode: PPM: the width must be a number",
      fault "P5 wide")
    assert.equal("image.decode: PPM: P4 is not read; P2, P3, P5 and P6 are",
      fault "P4 1 1\n\0")
    assert.equal("image.decode: PPM: no pixels: 0 x 3", fault "P5 0 3 255\n")
    assert.equal("image.decode: PPM: the largest sample must be at most 65535",
      fault "P5 1 1 65536\n")
    assert.equal("image.decode: PPM: the largest sample must be at least 1",
      fault "P5 1 1 0\n")
  end)

  it("refuses more pixels than the limit", function()
    local want = "image.decode: %s: %d x %d pixels, more than max_pixels, %d"
    for name, sizes in pairs {
      ["rgb.png"] = {"PNG", 7, 5}, ["color.jpg"] = {"JPEG", 18, 12},
      ["gray_jpg.ppm"] = {"PPM", 18, 12},
    } do
      local kind, w, h = table.unpack(sizes)
      local bytes = read_file(name)
      assert.is_truthy(image.decode(bytes, {max_pixels = w * h}))
      local x, text = image.decode(bytes, {max_pixels = w * h - 1})
      assert.is_nil(x)
      assert.equal(want:format(kind, w, h, w * h - 1), text)
    end
  end)

  it("refuses sizes that the file cannot hold, before it allocates", function()
    local before = heed.memory_stats().peak
    -- a head of 10,000 x 10,000 pixels, with its right check sum
    local png = read_file "gray.png"
    local head = "IHDR" .. string.pack(">I4I4", 10000, 10000)
      .. png:sub(25, 29)
    local sum = 0xFFFFFFFF
    for i = 1, #head do
      sum = sum ~ head:byte(i)
      for _ = 1, 8 do sum = sum >> 1 ~ (sum & 1) * 0xEDB88320 end
    end
    local x, text = image.decode(png:sub(1, 12) .. head
      .. string.pack(">I4", sum ~ 0xFFFFFFFF) .. png:sub(34))
    assert.is_nil(x)
    assert.equal(("image.decode: PNG: 10000 x 10000 pixels cannot be in a file "
      .. "of %d bytes"):format(#png), text)

    local jpeg = read_file "gray.jpg"
    local at = jpeg:find("\xFF\xC0", 1, true) + 5
    x, text = image.decode(jpeg:sub(1, at - 1)
      .. string.pack(">I2I2", 9000, 8000) .. jpeg:sub(at + 4))
    assert.is_nil(x)
    assert.equal(("image.decode: JPEG: 8000 x 9000 pixels cannot be in a file "
      .. "of %d bytes"):format(#jpeg), text)

    for _, head_of in ipairs {"P6 9999 9999 255\n", "P3 9999 9999 255\n"} do
      x, text = image.decode(head_of .. ("1 "):rep(100))
      assert.is_nil(x)
      assert.equal("image.decode: PPM: the file ends too early", text)
    end
    assert.is_true(heed.memory_stats().peak < before + 1000000)
  end)

  it("survives every truncation and many changed bytes", function()
    -- Any answer but a crash is right; what is read has pixels. PNG has check
    -- sums, so that no shorter file of it is read.
    local state = 12345
    local function random(n)
      state = (state * 1103515245 + 12345) & 0x7FFFFFFF
      return (state >> 8) % n + 1
    end
    local function try(bytes)
      local x, text = image.decode(bytes, {max_pixels = 100000})
      if x then
        assert.is_true(x:numel() > 0)
        x:to("float32"):sum():item()
      else
        assert.equal("image.decode: ", text:sub(1, 14))
      end
      return x
    end
    for _, name in ipairs {"rgb.png", "palette_alpha.png",
        "rgba16_interlaced.png", "color.jpg", "progressive.jpg", "cmyk.jpg",
        "gray_jpg.ppm"} do
      local bytes = read_file(name)
      for n = 0, #bytes - 1, 3 do assert.is_nil(try(bytes:sub(1, n))) end
      for _ = 1, 100 do
        local changed = bytes
        for _ = 1, random(4) do
          local at = random(#bytes)
          changed = changed:sub(1, at - 1) .. string.char(random(256) - 1)
            .. changed:sub(at + 1)
        end
        try(changed)
      end
    end
  end)

  it("gives nil for a file that is not there, or a folder", function()
    local x, text = image.read("no/such.png")
    assert.is_nil(x)
    assert.equal("image.read: no/such.png: No such file or directory", text)
    x, text = image.read("spec")
    assert.is_nil(x)
    assert.equal("image.read: spec: Is a directory", text)
  end)

  it("refuses wrong arguments", function()
    assert.equal("image.read: path must be a string, got 3",
      message(image.read, 3))
    assert.equal('image.read: mode must be "gray", "gray_alpha", "rgb" or '
      .. '"rgba", got "cmyk"', message(image.read, "x.png", {mode = "cmyk"}))
    assert.equal("image.decode: max_pixels must be an integer of at least 1, "
      .. "got 0", message(image.decode, "", {max_pixels = 0}))
    assert.equal('image.read: unknown option "size"; known: max_pixels, mode',
      message(image.read, "x.png", {size = 3}))
  end)
end)

describe("image.write", function()
  it("gives PNG that is read back as it was", function()
    for c = 1, 4 do
      for _, x in ipairs {picture(eight, c), picture(sixteen, c, "int32")} do
        local name = temporary ".png"
        image.write(name, x)
        same(x, assert(image.read(name)))
        os.remove(name)
      end
    end
  end)

  it("gives PPM that is read back as it was", function()
    for _, c in ipairs {1, 3} do
      for _, x in ipairs {picture(eight, c), picture(sixteen, c, "int32")} do
        local name = temporary(c == 1 and ".PGM" or ".ppm")
        image.write(name, x)
        same(x, assert(image.read(name)))
        os.remove(name)
      end
    end
  end)

  it("gives JPEG that is close, closer with higher quality", function()
    local function smooth(y, x, c) return 8 * y + 5 * x + 40 * c end
    for _, c in ipairs {1, 3} do
      local x = picture(smooth, c, "uint8", 12, 18)
      local off = {}
      for i, quality in ipairs {10, 98} do
        local y = assert(image.decode(image.encode(x, "jpeg",
          {quality = quality})))
        assert.same(x.shape, y.shape)
        off[i] = (x:to("float32") - y:to("float32")):abs():mean():item()
      end
      assert.is_true(off[2] < 1.5 and off[2] < off[1], off[1] .. " " .. off[2])
    end
  end)

  it("takes views and floats", function()
    local x = picture(eight, 3)
    same(x:flip(-1):transpose(2, 3), assert(image.decode(
      image.encode(x:flip(-1):transpose(2, 3), "png"))))
    same(x, assert(image.decode(image.encode(image.to_float(x), "png"))))
  end)

  it("makes smaller files of higher compression", function()
    local x = heed.zeros({3, 64, 64}, {dtype = "uint8"})
    assert.is_true(#image.encode(x, "png", {compression = 9})
      < #image.encode(x, "png", {compression = 0}))
  end)

  it("refuses what a format cannot hold", function()
    local rgba, wide = picture(eight, 4), picture(sixteen, 3, "int32")
    local function text(...) return message(image.encode, ...) end
    assert.equal("image.encode: x must be a picture [C H W] or a batch "
      .. "[B C H W], C 1 or 3 for jpeg, got tensor uint8 [4 5 7]",
      text(rgba, "jpeg"))
    assert.equal("image.encode: x must be a picture [C H W] or a batch "
      .. "[B C H W], C from 1 to 4, got tensor float32 [5 2 2]",
      text(heed.zeros {5, 2, 2}, "png"))
    assert.equal("image.encode: x must be one picture [C H W] with pixels, "
      .. "got tensor float32 [2 3 4 4]", text(heed.zeros {2, 3, 4, 4}, "png"))
    assert.equal("image.encode: x must be one picture [C H W] with pixels, "
      .. "got tensor float32 [3 0 4]", text(heed.zeros {3, 0, 4}, "png"))
    assert.equal("image.encode: jpeg has no 16 bits: x must be uint8 or a "
      .. "float, got tensor int32 [3 5 7]", text(wide, "jpeg"))
    assert.equal("image.encode: x must hold numbers from 0 to 65535, got 65536",
      text(wide + 65536 - wide, "png"))
    assert.equal("image.encode: x must be uint8, int32 (16 bits) or a float, "
      .. "got tensor int64 [1 1 1]",
      text(heed.tensor({{{1}}}, {dtype = "int64"}), "png"))
    assert.equal("image.to_uint8: x has a NaN",
      text(heed.full({1, 1, 1}, 0 / 0), "png"))
    assert.equal("image.encode: JPEG: sides of at most 65500 pixels",
      text(heed.zeros {1, 1, 65501}, "jpeg"))
  end)

  it("refuses wrong arguments", function()
    local x = picture(eight, 3)
    assert.equal('image.encode: format must be "png", "jpeg" or "ppm", '
      .. 'got "gif"', message(image.encode, x, "gif"))
    assert.equal('image.encode: format must be "png", "jpeg" or "ppm", '
      .. "got nil", message(image.encode, x))
    assert.equal('image.encode: png has no option "quality"',
      message(image.encode, x, "png", {quality = 5}))
    assert.equal("image.encode: quality must be a number from 1 to 100, got "
      .. "101", message(image.encode, x, "jpeg", {quality = 101}))
    assert.equal("image.write: path must end in .png, .jpg, .jpeg, .ppm, .pgm "
      .. 'or .pnm, or format be given, got "x.bmp"',
      message(image.write, "x.bmp", x))
    assert.equal("image.write: no/such.png: cannot be written: No such file "
      .. "or directory", message(image.write, "no/such.png", x))
  end)
end)
