local command = require "spec.host.command"
local heed = require "heed"
local lfs = require "lfs"

local SIZES <const> = {"--drawn", "20", "--epochs", "1", "--channels", "4",
  "--threads", "1"}

describe("examples/image_attention.lua", function()
  local folder, out

  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(lfs.mkdir(folder))
    out = folder .. "/out"
  end)

  local function clear(path)
    if not lfs.attributes(path) then return end
    for name in lfs.dir(path) do
      local inner <const> = path .. "/" .. name
      if lfs.attributes(inner, "mode") ~= "directory" then
        os.remove(inner)
      elseif name:find "[^.]" then
        clear(inner)
      end
    end
    lfs.rmdir(path)
  end

  teardown(function() clear(folder) end)

  -- Runs the example with small sizes and more arguments.
  local function run(...)
    local arguments = {"examples/image_attention.lua", "--out", out}
    table.move(SIZES, 1, #SIZES, 4, arguments)
    for _, argument in ipairs {...} do arguments[#arguments + 1] = argument end
    return command.heed(arguments)
  end

  local function write(name, bytes)
    local path <const> = folder .. "/" .. name
    local file <close> = assert(io.open(path, "wb"))
    file:write(bytes)
    return path
  end

  local function is_png(name)
    local file <close> = assert(io.open(out .. "/" .. name, "rb"))
    return file:read(8) == "\x89PNG\r\n\x1A\n"
  end

  -- `n` pictures of 4x4 as lines: a bright left half is 0, a right one 1.
  local function csv(n)
    local lines = {}
    for i = 1, n do
      local row <const> = i % 2 == 0 and "9,8,0,0," or "0,0,9,7,"
      lines[i] = row:rep(4) .. i % 2
    end
    return table.concat(lines, "\n") .. "\n"
  end

  it("shows the numbers of the article's example, reads digits and draws",
    function()
      local code, text, err = run()
      assert.equal("", err)
      assert.equal(0, code)
      local y <const> = heed.load_safetensors(
        "spec/golden/seed_art_image_example.safetensors")["output.out"]
      for _, part in ipairs {
        "image (1, 3, 32, 32), result (1, 16, 32, 32), weights (1, 1024, 1024)",
        ("its first numbers %.4f %.4f %.4f %.4f\n"):format(
          table.unpack(y[{1, 1, 1, {1, 4}}]:totable())),
        "1 channels from 3: (1, 1, 32, 32)\n",
        "64 channels from 3: (1, 64, 32, 32)\n",
        "digits of 16x16 pixels, 10 classes: 20 train, 4 valid, 10 test",
        "written: " .. out .. "/image_attention-accuracy.png",
        "written: " .. out .. "/image_attention-maps.png",
      } do
        assert.matches(part, text, 1, true)
      end
      -- 4 * 9 + 4 and 16 * 9 + 4 of convolutions; 2 * (4 * 2 + 2) + 4 * 4 + 4
      -- and 1 between; 64 * 10 + 10 of the answer
      assert.matches("\nwith attention +879 +[01]%.%d+\n", text)
      assert.matches("\nwithout +879 +[01]%.%d+\n", text)
      assert.is_true(is_png "image_attention-accuracy.png")
      assert.is_true(is_png "image_attention-maps.png")
    end)

  it("learns, and says the same with any number of threads", function()
    local function last_line(threads)
      local code, text, err = run("--drawn", "200", "--epochs", "15",
        "--channels", "8", "--batch", "10", "--lr", "0.01", "--threads",
        threads)
      assert.equal("", err)
      assert.equal(0, code)
      return text:match "\n(with attention +%d+ +[%d.]+\nwithout +%d+[^\n]+)\n"
    end
    local one <const> = last_line "1"
    local with <const>, without = one:match " ([%d.]+)\n.* ([%d.]+)$"
    assert.is_true(tonumber(with) > 0.6, with) -- by chance 0.1
    assert.is_true(tonumber(without) > 0.6, without)
    assert.equal(one, last_line "2")
  end)

  it("reads a file, and holds out parts of it", function()
    local code, text, err = run("--data", write("halves", csv(26)), "--runs",
      "2", "--epochs", "30", "--batch", "6", "--lr", "0.02")
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches("digits of 4x4 pixels, 2 classes: 18 train, 4 valid, 4 test",
      text, 1, true)
    assert.matches("with attention +%d+ +1%.0000 %+%- 0%.0000 in 2 runs", text)
  end)

  it("reads folders, in MNIST's names too", function()
    local path <const> = folder .. "/set"
    assert(lfs.mkdir(path))
    write("set/train.csv", csv(12))
    write("set/valid.csv", csv(4))
    write("set/test.csv", csv(6))
    local _, text = run("--data", path)
    assert.matches("2 classes: 12 train, 4 valid, 6 test", text, 1, true)

    local other <const> = folder .. "/idx"
    assert(lfs.mkdir(other))
    for name, n in pairs {train = 12, t10k = 4} do
      write("idx/" .. name .. "-images-idx3-ubyte",
        ("\0\0\8\3" .. (">I4I4I4"):pack(n, 19, 17)) .. ("\7"):rep(n * 19 * 17))
      write("idx/" .. name .. "-labels-idx1-ubyte",
        ("\0\0\8\1" .. (">I4"):pack(n)) .. ("\0\2"):rep(n // 2))
    end
    _, text = run("--data", other)
    assert.matches("digits of 19x17 pixels, 3 classes: 10 train, 2 valid, 4 "
      .. "test", text, 1, true)
    assert.matches("/image_attention-maps.png", text, 1, true) -- to the end
  end)

  it("shows what a pixel of a picture attends to", function()
    local path <const> = folder .. "/red.png"
    local picture <const> = heed.zeros {3, 9, 30} -- red, and blue at the right
    picture[{1, {}, {1, 20}}], picture[{3, {}, {21, 30}}] = 1, 1
    heed.image.write(path, picture)
    local code, text, err = run("--image", path, "--at", "30,9")
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches("pixel 30,9 of 30x9 is (0.00 0.00 1.00); the colours that "
      .. "it attends to are (0.00 0.00 1.00) in the mean\n", text, 1, true)
    assert.matches("reads a %d %(probability [01]%.%d%d%)", text)
    assert.is_true(is_png "image_attention-image.png")
    heed.image.write(folder .. "/one.ppm", heed.ones {1, 1, 1})
    code, text, err = run("--image", folder .. "/one.ppm")
    assert.matches("pixel 1,1 of 1x1 is (1.00 1.00 1.00)", text, 1, true)
    assert.equal("", err)
    assert.equal(0, code)
  end)

  it("explains its options", function()
    local code, text = run "--help"
    assert.equal(0, code)
    for _, name in ipairs {"--data", "--image", "--at", "--runs", "--seed",
        "--threads", "--out"} do
      assert.matches(name, text, 1, true)
    end
  end)

  -- What is wrong, the arguments (FOLDER is replaced), the message.
  local function fails(what, arguments, wanted, prepare)
    it("says what is wrong with " .. what, function()
      if prepare then prepare() end
      for i, text in ipairs(arguments) do
        arguments[i] = text:gsub("FOLDER", folder)
      end
      clear(out)
      lfs.mkdir(out)
      local code, text, err = run(table.unpack(arguments))
      assert.equal("image_attention: " .. wanted .. "\n",
        (err:gsub(folder:gsub("%p", "%%%0"), "FOLDER")))
      assert.equal(1, code)
      assert.is_nil(text:find("written", 1, true))
      for name in lfs.dir(out) do assert.is_nil(name:find "[^.]") end
    end)
  end

  fails("data that is not there", {"--data", "/nowhere/digits"},
    "read_images: /nowhere/digits: No such file or directory")
  fails("data of another kind", {"--data", "FOLDER/text"},
    'read_csv: FOLDER/text: line 1: column 1 must be a number, got "no"',
    function() write("text", "no,digits\n") end)
  fails("an IDX file cut short", {"--data", "FOLDER/cut-images"},
    "read_idx: FOLDER/cut-images: sizes [2 2 2] of uint8 do not fit the 3 "
    .. "bytes behind them", function()
      write("cut-images", "\0\0\8\3\0\0\0\2\0\0\0\2\0\0\0\2\1\2\3")
    end)
  fails("a folder without digits", {"--data", "FOLDER/out"},
    "FOLDER/out has no files that begin with train and test",
    function() lfs.mkdir(out) end)
  fails("too few digits", {"--data", "FOLDER/few"},
    "FOLDER/few: 5 digits are too few", function() write("few", csv(5)) end)
  fails("a label that is no class", {"--data", "FOLDER/label"},
    "a label of 999 with 6 digits to learn from is no class", function()
      write("label", csv(7) .. ("1,"):rep(16) .. "999\n")
    end)
  fails("digits that are too small", {"--data", "FOLDER/small"},
    "digits of 1x1 pixels are too small: at least 4x4",
    function() write("small", ("7,1\n"):rep(8)) end)
  fails("digits that are too large", {"--data", "FOLDER/large"},
    "digits of 65x65 pixels are too large: at most 64x64",
    function() write("large", (("7,"):rep(65 * 65) .. "1\n"):rep(6)) end)
  fails("digits of two sizes", {"--data", "FOLDER/sizes"},
    "digits must have one size: 4x4 in train, 1x1 in valid", function()
      lfs.mkdir(folder .. "/sizes")
      write("sizes/train", csv(6))
      write("sizes/valid", "7,1\n")
      write("sizes/test", csv(6))
    end)
  fails("an image that is not there", {"--image", "/nowhere/x.png"},
    "image.read: /nowhere/x.png: No such file or directory")
  fails("an image of another kind", {"--image", "FOLDER/x.gif"},
    "image.read: FOLDER/x.gif: neither PNG, JPEG nor PPM",
    function() write("x.gif", "GIF89a") end)
  fails("a pixel outside", {"--image", "FOLDER/p.ppm", "--at", "3,1"},
    "--at 3,1 is not in the image of 2x1 pixels",
    function() write("p.ppm", "P2 2 1 255\n1 2") end)
  fails("a pixel without an image", {"--at", "1,1"}, "--at needs --image")
  fails("a pixel that is none", {"--at", "middle"},
    "--at must be two whole numbers X,Y, got middle (see --help)")
  fails("an odd number of channels", {"--channels", "3"},
    "--channels must be even, got 3")
end)

describe("examples/data/drawn_digits.lua", function()
  local draw <const> = dofile("examples/data/drawn_digits.lua").draw

  it("draws the digits in turn, from paper to ink", function()
    local set <const> = draw(30, 1)
    assert.same({30, 1, 16, 16}, set.images.shape)
    assert.equal(0, set.images:min():item())
    assert.equal(1, set.images:max():item())
    local ink <const> = set.images:flatten(2):sum(2)
    assert.is_true(ink:min():item() > 5) -- no empty picture,
    assert.is_true(ink:max():item() < 128) -- and none half full
    for i, label in ipairs(set.labels:totable()) do
      assert.equal((i - 1) % 10 + 1, label)
    end
  end)

  it("draws the same with one seed and others with another", function()
    local first <const> = draw(20, 1).images
    assert.is_true(first:equal(draw(20, 1).images))
    local other <const> = draw(20, 2).images
    for i = 1, 20 do
      for k = 1, 20 do assert.is_false(first[i]:equal(other[k])) end
    end
  end)
end)
