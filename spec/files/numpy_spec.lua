-- .npy and .npz: what NumPy wrote (golden/make.py) and what is written here.

local heed = require "heed"
local message = require "spec.support.message"
local read_file = require "heed.read_file"

local GOLDEN <const> = "spec/files/golden/"

local folder, made

setup(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
end)

teardown(function() os.execute("rm -r " .. folder) end)

before_each(function() made = 0 end)

local function fresh(ending)
  made = made + 1
  return ("%s/%d%s"):format(folder, made, ending)
end

local function write(bytes, ending)
  local path = fresh(ending)
  local file = assert(io.open(path, "wb"))
  file:write(bytes)
  file:close()
  return path
end

local function bytes_of(path) return assert(read_file("spec", path)) end

-- What load raises, with the path as FILE.
local function refusal(load, path)
  local text = message(load, path)
  local at, stop = text:find(path, 1, true)
  return at and text:sub(1, at - 1) .. "FILE" .. text:sub(stop + 1) or text
end

local function npy(dictionary, data, version)
  local form = (version or 1) == 1 and "<s2" or "<s4"
  return "\x93NUMPY" .. string.char(version or 1, 0)
    .. form:pack(dictionary) .. (data or "")
end

local SIGNED <const> = {{-2, -1, 0}, {1, 2, 3}}
local UNSIGNED <const> = {{0, 1, 2}, {3, 4, 5}}

describe("load_npy", function()
  local kinds <const> = {
    little_f2 = "float16", little_f4 = "float32", little_f8 = "float64",
    big_f2 = "float16", big_f4 = "float32", big_f8 = "float64",
    one_i1 = "int64", little_i2 = "int64", little_i4 = "int32",
    little_i8 = "int64", big_i2 = "int64", big_i4 = "int32", big_i8 = "int64",
    one_u1 = "uint8", little_u2 = "int64", little_u4 = "int64",
    little_u8 = "int64", big_u4 = "int64", big_u8 = "int64",
  }
  for name, dtype in pairs(kinds) do
    it("reads NumPy's " .. name .. " into " .. dtype, function()
      local x = heed.load_npy(GOLDEN .. name .. ".npy")
      assert.equal(dtype, x.dtype)
      assert.same(name:find "_u" and UNSIGNED or SIGNED, x:totable())
    end)
  end

  it("reads bools, scalars, one dimension and no elements", function()
    local x = heed.load_npy(GOLDEN .. "bool.npy")
    assert.equal("bool", x.dtype)
    assert.same({{false, false, false}, {true, true, true}}, x:totable())
    x = heed.load_npy(GOLDEN .. "scalar.npy")
    assert.same({}, x.shape)
    assert.equal(2.5, x:item())
    x = heed.load_npy(GOLDEN .. "vector.npy")
    assert.same({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, x:totable())
    assert.same({0, 3}, heed.load_npy(GOLDEN .. "empty.npy").shape)
  end)

  it("reads Fortran order into row-major tensors", function()
    local x = heed.load_npy(GOLDEN .. "fortran.npy")
    assert.same(SIGNED, x:totable())
    assert.is_true(x:is_contiguous())
    x = heed.load_npy(GOLDEN .. "fortran_3d.npy")
    assert.same({2, 3, 4}, x.shape)
    assert.same(heed.arange(0, 23):reshape {2, 3, 4}:totable(), x:totable())
  end)

  it("reads versions 2 and 3", function()
    for version = 2, 3 do
      local path = ("%sversion_%d.npy"):format(GOLDEN, version)
      assert.same(SIGNED, heed.load_npy(path):totable())
    end
  end)

  it("reads headers that other programs write", function()
    for _, dictionary in ipairs {
      "{'shape': (2L, 1L), 'fortran_order': False, 'descr': '<i2'}",
      '{"descr":"<i2","fortran_order":True,"shape":(2,1)}',
      " {'descr': '=i2' , 'fortran_order' : False, 'shape':( 2 , 1, ) , } \n",
    } do
      local x = heed.load_npy(write(npy(dictionary, "\1\0\2\0"), ".npy"))
      assert.same({{1}, {2}}, x:totable())
    end
  end)

  it("reads more than it converts at a time", function()
    local n = 70001
    local x = heed.load_npy(write(npy("{'descr': '>u2', 'fortran_order': "
      .. "False, 'shape': (70001,), }", ("\1\2"):rep(n)), ".npy"))
    assert.equal(0x102 * n, x:sum():item())
  end)

  describe("refuses", function()
    local function dictionary(descr, order, shape, more)
      return ("{'descr': %s, 'fortran_order': %s, 'shape': %s, %s}"):format(
        descr or "'<f4'", order or "False", shape or "(1,)", more or "")
    end
    local wrong_shape <const> = "shape must be a tuple of integers from 0"
    local no_dictionary <const> = "the header is no valid dictionary"
    local function lacks(what)
      return "the header must have descr, fortran_order and shape, " .. what
    end
    local function descr(text)
      return "descr must be a bool, an integer or a float of 16 to 64 bits, "
        .. "got '" .. text .. "'"
    end

    local cases <const> = {
      {"no dictionary", "[]", "the header must be a dictionary"},
      {"an open dictionary", "{'descr': '<f4'", no_dictionary},
      {"an unquoted key", "{descr: '<f4'}", no_dictionary},
      {"what stands behind it", dictionary() .. "x",
        "something stands behind the header's dictionary"},
      {"a missing key", "{'descr': '<f4', 'shape': ()}",
        lacks "lacks fortran_order"},
      {"a key that is there twice", dictionary(nil, nil, nil,
        "'shape': (1,)"), lacks "got shape twice"},
      {"an unknown key", dictionary(nil, nil, nil, "'x': 1"), lacks "got x"},
      {"an order that is no truth", dictionary(nil, "0"),
        "fortran_order must be True or False"},
      {"a shape that is a number", dictionary(nil, nil, "(1)"), wrong_shape},
      {"a negative size", dictionary(nil, nil, "(-1,)"), wrong_shape},
      {"a size beyond 63 bits", dictionary(nil, nil,
        "(9223372036854775808,)"), wrong_shape},
      {"a size that is a fraction", dictionary(nil, nil, "(1.0,)"),
        wrong_shape},
      {"9 dimensions", dictionary(nil, nil, "(1,1,1,1,1,1,1,1,1)"),
        "more than 8 dimensions are not possible"},
      {"more elements than there can be", dictionary(nil, nil,
        "(2, 2, 1, 2305843009213693952)"),
        "shape: shape [2 2 1 2305843009213693952] has too many elements"},
      {"more elements than the file has", dictionary(nil, nil, "(1000000,)"),
        "shape [1000000] takes 4000000 bytes, but 4 follow the header"},
      {"more bytes than the array", dictionary("'<f2'"),
        "shape [1] takes 2 bytes, but 4 follow the header (files of several "
        .. "arrays are not read)"},
      {"a bool of 2", dictionary("'|b1'", nil, "(4,)"),
        "a bool must be the byte 0 or 1, got 9", "\0\1\1\9"},
      {"an integer of 3 bytes", dictionary "'<i3'", descr "<i3"},
      {"no byte order", dictionary "'f4'", descr "f4"},
      {"an unknown byte order", dictionary "'!f4'", descr "!f4"},
      {"no size", dictionary "'<f'", descr "<f"},
      {"a descr that is no string", dictionary "4",
        "descr must be a string such as '<f4'"},
    }
    for _, case in ipairs(cases) do
      local title <const>, head <const>, want <const>, data <const> =
        table.unpack(case)
      it(title, function()
        assert.equal("load_npy: FILE: " .. want, refusal(heed.load_npy,
          write(npy(head, data or "\0\0\0\0"), ".npy")))
      end)
    end

    local golden <const> = {
      object = "its elements are Python objects, and loading runs no code",
      record = "its elements are records, which heed does not have",
      complex = descr "<c8", text = descr "<U3", bytes = descr "|S3",
      date = descr "<M8[ns]", long = descr "<f16",
    }
    for name, want in pairs(golden) do
      it("NumPy's " .. name, function()
        assert.equal("load_npy: FILE: " .. want,
          refusal(heed.load_npy, GOLDEN .. "refused_" .. name .. ".npy"))
      end)
    end

    it("an unsigned integer beyond int64", function()
      assert.equal("load_npy: FILE: 18446744073709551615 does not fit into "
        .. "int64, which integers become",
        refusal(heed.load_npy, GOLDEN .. "u8_top.npy"))
    end)

    it("other files and versions", function()
      assert.equal("load_npy: FILE: must start with the bytes of the .npy "
        .. "format", refusal(heed.load_npy, GOLDEN .. "stored.npz"))
      assert.equal("load_npy: FILE: version must be 1.0, 2.0 or 3.0, got 4.0",
        refusal(heed.load_npy, write(npy("{}", "", 4), ".npy")))
      assert.equal("load_npy: FILE: the header's length must be at most 65535 "
        .. "bytes, got 4294967295", refusal(heed.load_npy,
        write("\x93NUMPY\2\0\xff\xff\xff\xff{}", ".npy")))
      assert.equal("load_npy: FILE: cannot be opened: No such file or "
        .. "directory", refusal(heed.load_npy, folder .. "/none.npy"))
      assert.equal("load_npy: FILE: is no plain file",
        refusal(heed.load_npy, folder))
      assert.equal("load_npy: path must be a string, got 3",
        message(heed.load_npy, 3))
    end)

    it("every file that is cut short", function()
      local text = bytes_of(GOLDEN .. "little_f4.npy")
      for n = 0, #text - 1 do
        assert.is_false(pcall(heed.load_npy, write(text:sub(1, n), ".npy")))
      end
    end)
  end)
end)

describe("save_npy", function()
  it("writes byte for byte what NumPy does", function()
    for _, name in ipairs {
      "little_f2", "little_f4", "little_f8", "little_i4", "little_i8",
      "one_u1", "bool", "vector", "scalar", "empty",
    } do
      local golden = GOLDEN .. name .. ".npy"
      local path = fresh ".npy"
      heed.save_npy(path, heed.load_npy(golden))
      assert.equal(bytes_of(golden), bytes_of(path), name)
    end
    local path = fresh ".npy"
    heed.save_npy(path, heed.load_npy(GOLDEN .. "fortran.npy"),
      {fortran = true})
    assert.equal(bytes_of(GOLDEN .. "fortran.npy"), bytes_of(path))
  end)

  it("writes the elements of a view, and no others", function()
    local path = fresh ".npy"
    local x = heed.arange(60000):reshape {200, 300}
    for _, view in ipairs {x:transpose(1, 2), x:select(2, 2), x[{{2, 3}}],
      heed.tensor {7}:expand {2, 2}} do
      for _, fortran in ipairs {false, true} do
        heed.save_npy(path, view, {fortran = fortran})
        assert.same(view:totable(), heed.load_npy(path):totable())
        assert.is_true(#bytes_of(path) <= 128 + 8 * view:numel())
      end
    end
  end)

  it("refuses what it cannot write, and keeps the old file", function()
    local path = fresh ".npy"
    heed.save_npy(path, heed.tensor {1})
    local x = heed.ones(2)
    assert.equal("save_npy: NumPy has no bfloat16: turn it into float32, or "
      .. "write safetensors", message(heed.save_npy, path, x:bfloat16()))
    assert.equal('save_npy: unknown option "order"; known: fortran',
      message(heed.save_npy, path, x, {order = "F"}))
    assert.equal("save_npy: x must be a tensor, got a table",
      message(heed.save_npy, path, {x}))
    assert.equal("save_npy: /nowhere/x: cannot be written: No such file or "
      .. "directory", message(heed.save_npy, "/nowhere/x", x))
    assert.same({1}, heed.load_npy(path):totable())
  end)
end)

describe("load_npz", function()
  for _, name in ipairs {"stored", "deflated"} do
    it("reads what NumPy wrote, " .. name, function()
      local arrays, names = heed.load_npz(GOLDEN .. name .. ".npz")
      assert.same({"weight", "a/é", "flag", "empty"}, names)
      assert.same(SIGNED, arrays.weight:totable())
      assert.equal("float32", arrays.weight.dtype)
      assert.same(SIGNED, arrays["a/é"]:totable())
      assert.is_true(arrays.flag:item())
      assert.same({3, 0}, arrays.empty.shape)
    end)
  end

  it("reads arrays without names", function()
    local arrays = heed.load_npz(GOLDEN .. "positions.npz")
    assert.same({0, 1, 2}, arrays.arr_0:totable())
    assert.equal("float16", arrays.arr_1.dtype)
  end)

  it("refuses every file that is cut short", function()
    for _, name in ipairs {"stored", "deflated"} do
      local text = bytes_of(GOLDEN .. name .. ".npz")
      for n = 0, #text - 1 do
        assert.is_false(pcall(heed.load_npz, write(text:sub(1, n), ".npz")))
      end
    end
  end)

  it("refuses what is none", function()
    assert.equal("load_npz: FILE: is empty",
      refusal(heed.load_npz, write("", ".npz")))
    assert.equal("load_npz: FILE: is no zip archive that can be read: Not a "
      .. "zip archive", refusal(heed.load_npz, GOLDEN .. "vector.npy"))
  end)

  it("refuses an array whose bytes are not those of its checksum", function()
    local text = bytes_of(GOLDEN .. "stored.npz")
    local at = text:find("\0\0\0\xc0\0\0\x80\xbf", 1, true) -- -2, -1
    local path = write(text:sub(1, at + 2) .. "\xc1" .. text:sub(at + 4),
      ".npz")
    assert.equal('load_npz: FILE: array "weight": cannot be read: CRC error',
      refusal(heed.load_npz, path))
  end)

  it("refuses an array that lies about its size", function()
    local text = bytes_of(GOLDEN .. "stored.npz")
    local directory = text:find("PK\1\2", 1, true)
    -- the size of the first member, with and without compression
    local function with(size, packed)
      return write(text:sub(1, directory + 19) .. ("<I4I4"):pack(packed, size)
        .. text:sub(directory + 28), ".npz")
    end
    assert.equal('load_npz: FILE: array "weight": the archive says 4000000000 '
      .. ("bytes, which its 152 in the file of %d cannot hold"):format(#text),
      refusal(heed.load_npz, with(4000000000, 152)))
    assert.is_false(pcall(heed.load_npz, with(4000000000, 4000000000)))
  end)

  it("refuses a name that is there twice", function()
    local path = fresh ".npz"
    heed.save_npz(path, {ab = heed.ones(1), ac = heed.ones(1)})
    local text = bytes_of(path):gsub("ac%.npy", "ab.npy")
    assert.equal('load_npz: FILE: array "ab": is there twice',
      refusal(heed.load_npz, write(text, ".npz")))
  end)

  it("leaves other members alone", function()
    local path = fresh ".npz"
    heed.save_npz(path, {ab = heed.ones(1), ac = heed.zeros(1)})
    local text = bytes_of(path):gsub("ac%.npy", "ac.txt")
    local arrays, names = heed.load_npz(write(text, ".npz"))
    assert.same({"ab"}, names)
    assert.same({1}, arrays.ab:totable())
  end)
end)

describe("save_npz", function()
  local tensors

  before_each(function()
    heed.manual_seed(1)
    tensors = {
      w = heed.randn {300, 200}, t = heed.randn {30, 200}:transpose(1, 2),
      ["é/x"] = heed.tensor {true, false}, s = heed.tensor(2.5),
      e = heed.zeros {0, 3}, h = heed.ones(3):half(),
      i = heed.arange(4):int(), l = heed.arange(4), u = heed.ones(2):to "uint8",
      d = heed.ones(2):double(),
    }
  end)

  for _, compressed in ipairs {false, true} do
    it("writes what load_npz reads, compressed: " .. tostring(compressed),
      function()
        local path = fresh ".npz"
        heed.save_npz(path, tensors, {compressed = compressed})
        local again, names = heed.load_npz(path)
        assert.equal(10, #names)
        for name, x in pairs(tensors) do
          assert.equal(x.dtype, again[name].dtype)
          assert.same(x.shape, again[name].shape)
          assert.equal(x:tobytes(), again[name]:tobytes(), name)
        end
      end)
  end

  it("makes zeros small, and equal tensors equal files", function()
    local one, two = fresh ".npz", fresh ".npz"
    heed.save_npz(one, {x = heed.zeros(100000)}, {compressed = true})
    heed.save_npz(two, {x = heed.zeros(100000)}, {compressed = true})
    assert.is_true(#bytes_of(one) < 2000)
    assert.equal(bytes_of(one), bytes_of(two))
    assert.equal(0, heed.load_npz(one).x:abs():sum():item())
  end)

  it("keeps the order of a list, and writes an archive of nothing", function()
    local path = fresh ".npz"
    heed.save_npz(path, {{"z", heed.ones(1)}, {"a", heed.ones(1)}})
    assert.same({"z", "a"}, select(2, heed.load_npz(path)))
    heed.save_npz(path, {})
    assert.same({}, heed.load_npz(path))
  end)

  it("refuses what it cannot write, and keeps the old file", function()
    local path = fresh ".npz"
    local x = heed.ones(1)
    heed.save_npz(path, {x = x})
    local old = bytes_of(path)
    local cases = {
      {{{"a", x}, {"a", x}}, 'name "a" is there twice'},
      {{["\xff"] = x}, 'name "\xff" is not valid UTF-8'},
      {{["a\0b"] = x}, 'name "a" has a zero byte in it'},
      {{a = x:bfloat16()}, 'array "a": NumPy has no bfloat16: turn it into '
        .. "float32, or write safetensors"},
      {{a = 1}, "tensors.a must be a tensor, got 1"},
      {3, "tensors must be a table, got 3"},
    }
    for _, case in ipairs(cases) do
      assert.equal("save_npz: " .. case[2],
        message(heed.save_npz, path, case[1]))
    end
    assert.equal('save_npz: unknown option "level"; known: compressed',
      message(heed.save_npz, path, {x = x}, {level = 9}))
    assert.equal(old, bytes_of(path))
    local pipe = io.popen("ls -A " .. folder .. " | grep -c tmp$")
    assert.equal("0\n", pipe:read "a")
    pipe:close()
  end)
end)
