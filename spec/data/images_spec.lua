local command = require "spec.host.command"
local data = require "heed.data"
local lfs = require "lfs"
local message = require "spec.support.message"

describe("data.read_images", function()
  local folder

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(lfs.mkdir(folder))
  end)

  after_each(function()
    for name in lfs.dir(folder) do
      if name:find "[^.]" then os.remove(folder .. "/" .. name) end
    end
    lfs.rmdir(folder)
  end)

  local function write(name, bytes)
    local path <const> = folder .. "/" .. name
    os.rename(command.file(bytes), path)
    return path
  end

  -- What is said of a file, without the folder.
  local function fault_of(path, ...)
    local set, fault = data.read_images(path, ...)
    assert.is_nil(set)
    return (fault:gsub(folder:gsub("%p", "%%%0") .. "/", ""))
  end

  local PICTURES <const> = "\0\0\8\3\0\0\0\2\0\0\0\1\0\0\0\3\0\9\255\4\5\6"
  local LABELS <const> = "\0\0\8\1\0\0\0\2\7\0"

  it("reads CSV", function()
    local set <const> = assert(data.read_images(
      write("a.csv", "0,16,8,0.5,3\n9,9,9,9,0\n")))
    assert.equal("float32", set.images.dtype)
    assert.same({{{{0, 16}, {8, 0.5}}}, {{{9, 9}, {9, 9}}}},
      set.images:totable())
    assert.equal("int64", set.labels.dtype)
    assert.same({4, 1}, set.labels:totable())
  end)

  it("reads IDX, with the labels beside it", function()
    write("my-labels.idx1-ubyte", LABELS)
    local set <const> = assert(data.read_images(
      write("my-images.idx3-ubyte", PICTURES)))
    assert.equal("float32", set.images.dtype)
    assert.same({{{{0, 9, 255}}}, {{{4, 5, 6}}}}, set.images:totable())
    assert.same({8, 1}, set.labels:totable())
  end)

  it("reads IDX with labels of another name", function()
    local set <const> = assert(data.read_images(write("x", PICTURES),
      {labels = write("y", LABELS)}))
    assert.same({8, 1}, set.labels:totable())
  end)

  it("says what is wrong with a CSV file", function()
    assert.equal("read_images: a.csv: a line must be the pixels of a square "
      .. "and a label, got 4 columns", fault_of(write("a.csv", "1,2,3,4\n")))
    assert.equal("read_images: a.csv: a line must be the pixels of a square "
      .. "and a label, got 1 columns", fault_of(write("a.csv", "1\n")))
    for _, label in ipairs {"-1", "0.5", "65536", "1e300"} do
      assert.equal("read_images: a.csv: labels must be whole numbers from 0 to "
        .. "65535", fault_of(write("a.csv", "7,1\n7," .. label .. "\n")))
    end
    assert.equal('read_csv: a.csv: line 1: column 1 must be a number, got "a"',
      fault_of(write("a.csv", "a,b\n")))
    assert.equal("read_csv: a.csv: no line with numbers",
      fault_of(write("a.csv", "")))
  end)

  it("says what is wrong with IDX files", function()
    local images <const> = write("images", PICTURES)
    assert.equal("read_idx: labels: No such file or directory",
      fault_of(images))
    write("labels", "\0\0\8\1\0\0\0\1\7")
    assert.equal("read_images: labels: must hold a label for each of 2 "
      .. "pictures, got [1]", fault_of(images))
    assert.equal("read_images: labels: must hold pictures [N H W], got [1]",
      fault_of(folder .. "/labels"))
    write("labels", "\0\0\9\1\0\0\0\2\7\255")
    assert.equal("read_images: labels: labels must be whole numbers from 0 to "
      .. "65535", fault_of(images))
    assert.equal('read_images: x: without "images" in its name, the option '
      .. "labels must be given", fault_of(write("x", PICTURES)))
    assert.equal("read_images: images: must hold pictures [N H W], got "
      .. "[0 28 28]", fault_of(write("images",
        "\0\0\8\3\0\0\0\0\0\0\0\28\0\0\0\28")))
    assert.equal("read_idx: a.gz: is compressed with gzip: unpack it with "
      .. "gunzip", fault_of(write("a.gz", "\x1F\x8B\8\0")))
  end)

  it("says that a file is not there, or is none", function()
    assert.equal("read_images: /nowhere/x: No such file or directory",
      fault_of("/nowhere/x"))
    assert.equal("read_csv: /: Is a directory", fault_of("/"))
  end)

  it("refuses wrong arguments", function()
    assert.equal("read_images: path must be a string, got nil",
      message(data.read_images))
    assert.equal('read_images: unknown option "label"; known: labels',
      message(data.read_images, "x", {label = "y"}))
  end)
end)
