local heed = require "heed"
local core = require "heed.core"
local usage = require "spec.support.usage"

local load_safetensors = heed.load_safetensors
local save_safetensors = heed.save_safetensors

local tmpname = os.tmpname
local names = {}

-- A name for a file that is removed at the end.
local function fresh()
  names[#names + 1] = tmpname()
  return names[#names]
end

local function write(text)
  local name = fresh()
  local file = assert(io.open(name, "wb"))
  file:write(text)
  file:close()
  return name
end

local function read(name)
  local file = io.open(name, "rb")
  if not file then return nil end
  local text = file:read("a")
  file:close()
  return text
end

-- A file of the format: a header as JSON, and the data.
local function safetensors(header, data)
  return write(string.pack("<s8", header) .. (data or ""))
end

-- What f raises, with the name of the file as FILE.
local function message(name, f, ...)
  local ok, text = pcall(f, ...)
  assert.is_false(ok)
  text = text:gsub("^[^:]*:%d+: ", "")
  if name then
    local at, stop = text:find(name, 1, true)
    if at then text = text:sub(1, at - 1) .. "FILE" .. text:sub(stop + 1) end
  end
  return text
end

local function refusal(header, data)
  local name = safetensors(header, data)
  return message(name, load_safetensors, name)
end

-- Keeps what `ls -a` sees in a folder.
local function entries(folder)
  local pipe = assert(io.popen("ls -A '" .. folder .. "'"))
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

local function folder()
  local name = os.tmpname()
  os.remove(name)
  assert(os.execute("mkdir '" .. name .. "'"))
  return name
end

teardown(function()
  for _, name in ipairs(names) do os.remove(name) end
end)

describe("load_safetensors", function()
  it("reads a file as other libraries write it", function()
    local header = '{"__metadata__":{"format":"pt"},'
      .. '"b":{"dtype":"I64","shape":[2],"data_offsets":[24,40]},'
      .. '"a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}   '
    local tensors, metadata, list = load_safetensors(safetensors(header,
      string.pack("<ffffffi8i8", 1, 2, 3, 4, 5, 6.5, -7, 1 << 53)))
    assert.same({ { 1, 2, 3 }, { 4, 5, 6.5 } }, tensors["a.weight"]:totable())
    assert.same("float32", tensors["a.weight"].dtype)
    assert.same({ -7, 1 << 53 }, tensors.b:totable())
    assert.same("int64", tensors.b.dtype)
    assert.same({ format = "pt" }, metadata)
    assert.same({ "a.weight", "b" }, list)
  end)

  local kinds = {
    { "F64", "float64", string.pack("<dd", 0.1, -1e300), { 0.1, -1e300 } },
    { "F32", "float32", string.pack("<ff", 0.5, -2), { 0.5, -2 } },
    -- the largest half, the smallest one, one third
    { "F16", "float16", string.pack("<I2I2I2I2", 0x7bff, 1, 0x3555, 0xc000),
      { 65504, 2^-24, 0.333251953125, -2 } },
    { "BF16", "bfloat16", string.pack("<I2I2", 0x3f80, 0xc049),
      { 1, -3.140625 } },
    { "I64", "int64", string.pack("<i8i8", math.mininteger, math.maxinteger),
      { math.mininteger, math.maxinteger } },
    { "I32", "int32", string.pack("<i4i4", -2^31 | 0, 7), { -2^31 | 0, 7 } },
    { "I16", "int64", string.pack("<i2i2", -32768, 7), { -32768, 7 } },
    { "I8", "int64", string.pack("<i1i1", -128, 127), { -128, 127 } },
    { "U64", "int64", string.pack("<i8", math.maxinteger),
      { math.maxinteger } },
    { "U32", "int64", string.pack("<I4", 0xffffffff), { 0xffffffff } },
    { "U16", "int64", string.pack("<I2", 0xffff), { 0xffff } },
    { "U8", "uint8", "\0\255", { 0, 255 } },
    { "BOOL", "bool", "\1\0\1", { true, false, true } },
  }

  for _, kind in ipairs(kinds) do
    local dtype, into, data, want = table.unpack(kind)
    it("reads " .. dtype .. " into " .. into, function()
      local tensors = load_safetensors(safetensors(string.format(
        '{"x":{"dtype":"%s","shape":[%d],"data_offsets":[0,%d]}}', dtype,
        #want, #data), data))
      assert.same(into, tensors.x.dtype)
      assert.same(want, tensors.x:totable())
    end)
  end

  it("reads the special values of F16", function()
    local tensors = load_safetensors(safetensors(
      '{"x":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}}',
      string.pack("<I2I2I2I2", 0x7c00, 0xfc00, 0x7e00, 0x8000)))
    local x = tensors.x:totable()
    assert.same(math.huge, x[1])
    assert.same(-math.huge, x[2])
    assert.is_true(x[3] ~= x[3])
    assert.same(-math.huge, 1 / x[4])
  end)

  it("reads more than it converts at a time", function()
    local n = 70001
    local tensors = load_safetensors(safetensors(string.format(
      '{"x":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}', n, n),
      ("\1\2\3\4\5\6\7"):rep(n // 7 + 1):sub(1, n)))
    local x = tensors.x:totable()
    for i = 1, n do
      if x[i] ~= (i - 1) % 7 + 1 then assert.same((i - 1) % 7 + 1, x[i]) end
    end
  end)

  it("reads elements that lie at odd places", function()
    local tensors = load_safetensors(safetensors(
      '{"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},'
      .. '"b":{"dtype":"F64","shape":[1],"data_offsets":[1,9]},'
      .. '"c":{"dtype":"I16","shape":[1],"data_offsets":[9,11]}}',
      string.pack("<I1di2", 1, 2.5, -3)))
    assert.same({ 2.5 }, tensors.b:totable())
    assert.same({ -3 }, tensors.c:totable())
  end)

  it("reads a scalar and empty tensors, wherever they say they lie",
    function()
      local tensors = load_safetensors(safetensors(
        '{"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},'
        .. '"e":{"dtype":"F32","shape":[2,0,3],"data_offsets":[4,4]},'
        .. '"f":{"dtype":"I64","shape":[0],"data_offsets":[0,0]}}',
        string.pack("<f", 3)))
      assert.same(3.0, tensors.s:item())
      assert.same({}, tensors.s.shape)
      assert.same({ 2, 0, 3 }, tensors.e.shape)
      assert.same({ 0 }, tensors.f.shape)
    end)

  it("reads a file without tensors", function()
    local tensors, metadata, list = load_safetensors(safetensors("{}"))
    assert.same({}, tensors)
    assert.same({}, metadata)
    assert.same({}, list)
  end)

  it("takes the whole bytes of a name", function()
    local tensors = load_safetensors(safetensors(
      '{"caf\u{e9} \\" \\u20ac":{"dtype":"I8","shape":[1],'
      .. '"data_offsets":[0,1]}}', "\5"))
    assert.same({ 5 }, tensors['caf\u{e9} " \u{20ac}']:totable())
  end)

  describe("refuses", function()
    local function one(dtype, shape, first, last, more)
      return string.format(
        '{"x":{"dtype":"%s","shape":%s,"data_offsets":[%s,%s]}%s}', dtype,
        shape, first, last, more or "")
    end
    local function two(a, b, c, d)
      return string.format('{"x":{"dtype":"I8","shape":[%d],'
        .. '"data_offsets":[%d,%d]},"y":{"dtype":"I8","shape":[%d],'
        .. '"data_offsets":[%d,%d]}}', b - a, a, b, d - c, c, d)
    end

    -- what follows is in the words of the JSON library
    local no_json = "FILE: the header is no valid JSON: "

    local cases = {
      { "a header that is no object", "[1]", "",
        "FILE: the header must be a JSON object" },
      { "a header that does not start with its object", " {}", "",
        "FILE: the header must be a JSON object" },
      { "a header cut short", '{"x":{"dtype"', "",
        no_json },
      { "something behind the object", "{}x", "",
        no_json },
      { "a name that is there twice",
        one("I8", "[1]", 0, 1, ',"x":{"dtype":"I8","shape":[1],'
          .. '"data_offsets":[1,2]}'), "\1\2",
        no_json },
      { "text that is not UTF-8", '{"\xff":1}', "", no_json },
      { "a name with a zero byte", '{"a\\u0000b":{}}', "", no_json },
      { "a tensor that is no object", '{"x":3}', "",
        'FILE: tensor "x": must be an object' },
      { "an unknown dtype", one("F8_E5M2", "[1]", 0, 1), "\1",
        'FILE: tensor "x": dtype must be F64, F32, F16, BF16, I64, I32, I16, '
        .. "I8, U64, U32, U16, U8 or BOOL, got F8_E5M2" },
      { "no dtype", '{"x":{"shape":[],"data_offsets":[0,0]}}', "",
        'FILE: tensor "x": dtype must be a string' },
      { "no shape", '{"x":{"dtype":"I8","data_offsets":[0,0]}}', "",
        'FILE: tensor "x": shape must be a list of sizes' },
      { "no data_offsets", '{"x":{"dtype":"I8","shape":[1]}}', "\1",
        'FILE: tensor "x": data_offsets must be two integers' },
      { "three data_offsets", one("I8", "[1]", 0, "1,2"), "\1",
        'FILE: tensor "x": data_offsets must be two integers' },
      { "fractions", one("I8", "[1]", 0, "1.0"), "\1",
        'FILE: tensor "x": data_offsets must be two integers' },
      { "a negative size", one("I8", "[-1]", 0, 1), "\1",
        'FILE: tensor "x": size 1 must be an integer from 0' },
      { "two negative sizes", one("I8", "[-1,-1]", 0, 1), "\1",
        'FILE: tensor "x": size 1 must be an integer from 0' },
      { "a size that is no number", one("I8", '[1,"2"]', 0, 2), "\1\2",
        'FILE: tensor "x": size 2 must be an integer from 0' },
      { "more dimensions than there can be",
        one("I8", "[1,1,1,1,1,1,1,1,1]", 0, 1), "\1",
        'FILE: tensor "x": 9 dimensions, more than 8 are not possible' },
      { "a number of elements that overflows",
        one("F32", "[2,2,1,2305843009213693952]", 0, 0), "",
        'FILE: tensor "x": shape: shape [2 2 1 2305843009213693952] has too '
        .. "many elements" },
      { "a size beyond 64 bits", one("I8", "[18446744073709551617]", 0, 1),
        "\1", no_json },
      { "a shape larger than its span", one("F32", "[2,3]", 0, 20),
        ("\0"):rep(20), 'FILE: tensor "x": F32 [2 3] takes 24 bytes, but '
        .. "data_offsets [0 20] span 20" },
      { "a shape smaller than its span", one("F32", "[2]", 0, 20),
        ("\0"):rep(20), 'FILE: tensor "x": F32 [2] takes 8 bytes, but '
        .. "data_offsets [0 20] span 20" },
      { "an end beyond the file", one("I8", "[3]", 0, 3), "\1\2",
        'FILE: tensor "x": data_offsets [0 3] must ascend within the 2 bytes '
        .. "of data" },
      { "a span that ends before it begins", one("I8", "[1]", 1, 0), "\1\2",
        'FILE: tensor "x": data_offsets [1 0] must ascend within the 2 bytes '
        .. "of data" },
      { "a negative offset", one("I8", "[1]", -1, 0), "\1",
        'FILE: tensor "x": data_offsets [-1 0] must ascend within the 1 '
        .. "bytes of data" },
      { "an empty tensor beyond the file", one("I8", "[0]", 9, 9), "",
        'FILE: tensor "x": data_offsets [9 9] must ascend within the 0 bytes '
        .. "of data" },
      { "tensors that overlap", two(0, 3, 2, 4), "\1\2\3\4",
        'FILE: tensor "y": its data, from byte 2, overlaps that of "x", up '
        .. "to 3" },
      { "two tensors on the same bytes", two(0, 2, 0, 2), "\1\2",
        'FILE: tensor "y": its data, from byte 0, overlaps that of "x", up '
        .. "to 2" },
      { "a gap between tensors", two(0, 1, 2, 3), "\1\2\3",
        'FILE: tensor "y": its data starts at byte 2, but bytes from 1 on '
        .. "belong to no tensor" },
      { "a gap in front", one("I8", "[1]", 1, 2), "\1\2",
        'FILE: tensor "x": its data starts at byte 1, but bytes from 0 on '
        .. "belong to no tensor" },
      { "bytes behind the last tensor", one("I8", "[1]", 0, 1), "\1\2",
        "FILE: has 2 bytes of data, but the tensors take 1" },
      { "a boolean that is none", one("BOOL", "[2]", 0, 2), "\1\2",
        'FILE: tensor "x": a bool must be the byte 0 or 1, got 2' },
      { "an integer beyond int64", one("U64", "[1]", 0, 8), ("\xff"):rep(8),
        'FILE: tensor "x": 18446744073709551615 does not fit into int64, '
        .. "which integers become" },
      { "metadata that is no object", '{"__metadata__":[]}', "",
        "FILE: __metadata__ must be an object" },
      { "metadata that is no string", '{"__metadata__":{"a":1}}', "",
        'FILE: __metadata__: "a" must be a string' },
    }

    for _, case in ipairs(cases) do
      local title, header, data, want = table.unpack(case)
      it(title, function()
        local text = refusal(header, data)
        if want == no_json then text = text:sub(1, #text:match(".*JSON: ")) end
        assert.same("load_safetensors: " .. want, text)
      end)
    end

    it("nesting without end", function()
      local text = refusal('{"x":' .. ("["):rep(100000), "")
      assert.same("load_safetensors: " .. no_json,
        text:match(".*JSON: "))
    end)

    local raw = {
      { "an empty file", "", "must start with the 8 bytes of the header's "
        .. "length, but has 0 bytes" },
      { "a file of 7 bytes", "1234567", "must start with the 8 bytes of the "
        .. "header's length, but has 7 bytes" },
      { "a header of no bytes", string.pack("<I8", 0),
        "the header must be a JSON object" },
      { "a header longer than the file", string.pack("<I8", 100) .. "{}",
        "the header's length is 100 bytes, but only 2 follow" },
      { "a header of more than 100 MB", string.pack("<I8", 100000001) .. "{}",
        "the header's length must be at most 100000000 bytes, got 100000001" },
      { "a file of torch.save", "PK\3\4 and what a zip archive holds",
        "is a zip archive, such as torch.save writes; "
        .. "safetensors.torch.save_file writes what can be read" },
      { "a length beyond 63 bits", ("\xff"):rep(8) .. "{}",
        "the header's length must be at most 100000000 bytes, got "
        .. "18446744073709551615" },
    }
    for _, case in ipairs(raw) do
      it(case[1], function()
        local name = write(case[2])
        assert.same("load_safetensors: FILE: " .. case[3],
          message(name, load_safetensors, name))
      end)
    end

    it("a file that is not there", function()
      local name = fresh()
      os.remove(name)
      assert.same("load_safetensors: FILE: cannot be opened: No such file or "
        .. "directory", message(name, load_safetensors, name))
    end)

    it("a folder", function()
      assert.same("load_safetensors: FILE: is no plain file",
        message(".", load_safetensors, "."))
    end)

    it("a path that is none", function()
      assert.same("load_safetensors: path must be a string, got 3",
        message(nil, load_safetensors, 3))
      assert.same('load_safetensors: path "a" has a zero byte in it',
        message(nil, load_safetensors, "a\0b"))
    end)

    it("every file that is cut short", function()
      local name = fresh()
      save_safetensors(name, { a = heed.tensor { 1, 2 },
        b = heed.tensor { true } }, { k = "v" })
      local text = read(name)
      for n = 0, #text - 1 do
        assert.is_false(pcall(load_safetensors, write(text:sub(1, n))))
      end
    end)
  end)
end)

describe("save_safetensors", function()
  it("writes what load_safetensors reads", function()
    local name = fresh()
    local saved = {
      b = heed.tensor { true, false },
      i = heed.tensor { { math.mininteger, 2 }, { 3, math.maxinteger } },
      f = heed.tensor { 0.1, -1e30, math.huge, 0 / 0 },
      d = heed.tensor({ 0.1, -1e300 }, { dtype = "float64" }),
      s = heed.tensor(2.5),
      e = heed.zeros { 3, 0 },
    }
    save_safetensors(name, saved, { epoch = "7", note = "caf\u{e9}\n" })
    local tensors, metadata, list = load_safetensors(name)
    assert.same({ "b", "d", "e", "f", "i", "s" }, list)
    assert.same({ epoch = "7", note = "caf\u{e9}\n" }, metadata)
    for key, t in pairs(saved) do
      assert.same(t.dtype, tensors[key].dtype)
      assert.same(t.shape, tensors[key].shape)
    end
    for _, key in ipairs { "b", "d", "e", "i", "s" } do
      assert.same(saved[key]:totable(), tensors[key]:totable())
    end
    local f = tensors.f:totable()
    assert.same({ table.unpack(saved.f:totable(), 1, 3) },
      { table.unpack(f, 1, 3) })
    assert.is_true(f[4] ~= f[4])
  end)

  it("writes a list in its order, and the header as the format says",
    function()
      local name = fresh()
      save_safetensors(name, { { "z", heed.tensor { 1 } },
        { "a", heed.tensor { 2.5, 3 } } }, { k = "v" })
      local header = '{"__metadata__":{"k":"v"},'
        .. '"z":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},'
        .. '"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}'
      local padded = header .. (" "):rep(-#header % 8)
      assert.same(string.pack("<s8i8ff", padded, 1, 2.5, 3), read(name))
      local _, _, list = load_safetensors(name)
      assert.same({ "z", "a" }, list)
    end)

  it("writes the elements of a view, and no others", function()
    local name = fresh()
    local x = heed.tensor { { 1, 2, 3 }, { 4, 5, 6 } }
    save_safetensors(name, {
      column = x:select(2, 2), transposed = x:transpose(1, 2),
      row = x:select(1, 2), wide = heed.tensor { 7 }:expand { 2, 2 },
    })
    local tensors = load_safetensors(name)
    assert.same({ 2, 5 }, tensors.column:totable())
    assert.same({ { 1, 4 }, { 2, 5 }, { 3, 6 } }, tensors.transposed:totable())
    assert.same({ 4, 5, 6 }, tensors.row:totable())
    assert.same({ { 7, 7 }, { 7, 7 } }, tensors.wide:totable())
    assert.is_true(#read(name) < 500)
  end)

  it("writes a view larger than its buffer", function()
    local name = fresh()
    local x = heed.arange(60000):reshape { 200, 300 }:transpose(1, 2)
    save_safetensors(name, { x = x })
    assert.same(x:totable(), load_safetensors(name).x:totable())
  end)

  it("writes a file without tensors", function()
    local name = fresh()
    save_safetensors(name, {})
    assert.same(string.pack("<s8", "{}      "), read(name))
  end)

  it("replaces a file, keeps its mode and follows a link to it", function()
    local dir = folder()
    local name, link = dir .. "/file", dir .. "/link"
    os.execute("touch '" .. name .. "'; chmod 640 '" .. name .. "'; ln -s '"
      .. name .. "' '" .. link .. "'")
    save_safetensors(link, { x = heed.tensor { 1 } })
    local pipe = io.popen("stat -c %a '" .. name .. "'; readlink '" .. link
      .. "'")
    assert.same("640\n" .. name .. "\n", pipe:read("a"))
    pipe:close()
    assert.same({ 1 }, load_safetensors(name).x:totable())
    assert.same({ "file", "link" }, entries(dir))
    os.execute("rm -r '" .. dir .. "'")
  end)

  it("leaves the old file and nothing else when writing fails", function()
    local dir = folder()
    local name = dir .. "/weights"
    save_safetensors(name, { x = heed.tensor { 1 } })
    local old = read(name)
    -- a limit on the size of files stands for a disk that is full
    local first = 0
    while arg[first - 1] do first = first - 1 end
    local script = dir .. "/script.lua"
    local file = io.open(script, "w")
    file:write(string.format([[
      package.path, package.cpath = %q, %q
      local heed = require "heed"
      local ok, text = pcall(heed.save_safetensors, %q,
        { x = heed.zeros { 1 << 20 } })
      io.write(tostring(ok), " ", (text:gsub("^[^ ]*:%%d+: ", "")))
    ]], package.path, package.cpath, name))
    file:close()
    local pipe = io.popen("trap '' XFSZ; ulimit -f 64; '" .. arg[first]
      .. "' '" .. script .. "'")
    local text = pipe:read("a")
    pipe:close()
    assert.same("false save_safetensors: " .. name .. ": writing failed: File "
      .. "too large", text)
    assert.same(old, read(name))
    assert.same({ "script.lua", "weights" }, entries(dir))
    os.execute("rm -r '" .. dir .. "'")
  end)

  describe("refuses", function()
    local x = heed.tensor { 1 }
    local function text(...)
      return message(nil, save_safetensors, ...)
    end

    it("a folder that is not there", function()
      assert.same("save_safetensors: /nowhere/x: cannot be written: No such "
        .. "file or directory", text("/nowhere/x", { x = x }))
    end)

    it("a folder in place of a file", function()
      assert.same("save_safetensors: .: cannot be written: it is no plain file",
        text(".", { x = x }))
    end)

    it("a folder that cannot be written to", function()
      assert.is_truthy(text("/proc/x", { x = x }):find(
        "^save_safetensors: /proc/x: cannot be written: "))
    end)

    local cases = {
      { "tensors that are no table", "f", 3,
        "tensors must be a table, got 3" },
      { "a value that is no tensor", "f", { x = 1 },
        "tensors.x must be a tensor, got 1" },
      { "a module", "f", heed.nn.Linear(2, 2),
        "tensors must be a table of tensors, such as what its state_dict() "
        .. "gives, got a table" },
      { "a key that is no name", "f", { [{}] = x },
        "tensors must have names as keys, got a table" },
      { "a list of something else", "f", { x },
        "tensors[1] must be {name, tensor}, got tensor int64 [1]" },
      { "a list without names", "f", { { x } },
        "tensors[1][1] must be a name, got tensor int64 [1]" },
      { "a list without tensors", "f", { { "x" } },
        "tensors[1][2] must be a tensor, got nil" },
      { "a list with a name twice", "f", { { "x", x }, { "x", x } },
        'name "x" is there twice' },
      { "a name that is taken", "f", { __metadata__ = x },
        "no tensor can be called __metadata__" },
      { "a name that is not UTF-8", "f", { ["\xff"] = x },
        'name "\xff" is not valid UTF-8' },
      { "a name with a zero byte", "f", { ["a\0b"] = x },
        'name "a" has a zero byte in it' },
      { "a path that is none", 1, { x = x }, "path must be a string, got 1" },
    }
    for _, case in ipairs(cases) do
      it(case[1], function()
        assert.same("save_safetensors: " .. case[4], text(case[2], case[3]))
        assert.is_nil(io.open("f"))
      end)
    end

    it("metadata other than strings", function()
      assert.same("save_safetensors: metadata must be a table, got 1",
        text("f", {}, 1))
      assert.same("save_safetensors: metadata.a must be a string, got 1",
        text("f", {}, { a = 1 }))
      assert.same("save_safetensors: metadata must have strings as keys, got "
        .. "1", text("f", {}, { "a" }))
      assert.same('save_safetensors: metadata "a": the value has a zero byte '
        .. "in it", text("f", {}, { a = "b\0" }))
      assert.same('save_safetensors: metadata "a": the value is not valid '
        .. "UTF-8", text("f", {}, { a = "\xff" }))
    end)

    it("a tensor that was closed", function()
      local t = heed.tensor { 1 }
      do local _ <close> = t end
      assert.same("save_safetensors: tensors.t must be a tensor, " ..
        "got a closed tensor", text("f", { t = t }))
    end)
  end)
end)

describe("write_file_atomic", function()
  it("replaces a file whole", function()
    local name = write("old")
    core.write_file_atomic(name, "new\0er")
    assert.same("new\0er", read(name))
  end)

  it("refuses what it cannot write", function()
    assert.same("write_file_atomic: /nowhere/x: cannot be written: No such "
      .. "file or directory",
      message(nil, core.write_file_atomic, "/nowhere/x", "text"))
    assert.same("write_file_atomic: text must be a string, got nothing",
      message(nil, core.write_file_atomic, "x"))
  end)
end)

describe("the functions of files", function()
  local docs = usage.read_docs("src/bind")

  for _, name in ipairs { "save_safetensors", "write_file_atomic",
    "tofile" } do
    it("have a usage that runs: " .. name, function()
      -- files that an example makes are removed like the others
      finally(function() os.tmpname = tmpname end) -- luacheck: ignore
      os.tmpname = fresh -- luacheck: ignore
      usage.check(docs[name].usages[1])
    end)
  end
end)
