local command = require "spec.host.command"
local data = require "heed.data"
local message = require "spec.support.message"

-- What a reader says of a file of these bytes, its name as PATH.
local function read(reader, bytes, ...)
  local path <const> = command.file(bytes)
  local x, fault = data[reader](path, ...)
  os.remove(path)
  return x, fault and (fault:gsub(path:gsub("%p", "%%%0"), "PATH"))
end

-- An IDX file of a type with these sizes and bytes of elements.
local function idx(code, sizes, elements)
  return string.char(0, 0, code, #sizes)
    .. (">" .. ("I4"):rep(#sizes)):pack(table.unpack(sizes)) .. elements
end

describe("data.read_idx", function()
  for _, case in ipairs {
    {"bytes", 0x08, "\0\127\128\255", "uint8", {0, 127, 128, 255}},
    {"signed bytes", 0x09, "\0\127\128\255", "int32", {0, 127, -128, -1}},
    {"integers of 2 bytes", 0x0B, "\1\0\127\255\128\0\255\255", "int32",
      {256, 32767, -32768, -1}},
    {"integers of 4 bytes", 0x0C, "\0\0\1\0\127\255\255\255\128\0\0\0"
      .. "\255\255\255\255", "int32", {256, 2147483647, -2147483648, -1}},
    {"floats", 0x0D, (">ffff"):pack(0, 1.5, -2, 1e30), "float32",
      {0, 1.5, -2, (("f"):unpack(("f"):pack(1e30)))}},
    {"doubles", 0x0E, (">dddd"):pack(0, 0.1, -2, 1e300), "float64",
      {0, 0.1, -2, 1e300}},
  } do
    it("reads " .. case[1], function()
      local x <const> = assert(read("read_idx", idx(case[2], {4}, case[3])))
      assert.equal(case[4], x.dtype)
      assert.same(case[5], x:totable())
    end)
  end

  it("reads row by row", function()
    local x <const> = assert(read("read_idx",
      idx(0x08, {2, 1, 3}, "\1\2\3\4\5\6")))
    assert.same({{{1, 2, 3}}, {{4, 5, 6}}}, x:totable())
  end)

  it("reads more elements than it takes at a time", function()
    local n <const> = 2 * 65536 + 131
    local bytes = {}
    for i = 1, n do bytes[i] = string.char(i * 7 % 251) end
    local x <const> = assert(read("read_idx",
      idx(0x08, {n}, table.concat(bytes))))
    local values <const> = x:totable()
    for i = 1, n do
      if values[i] ~= i * 7 % 251 then assert.equal(i * 7 % 251, values[i]) end
    end
    assert.equal(n, #values)
  end)

  it("reads arrays without elements", function()
    local x <const> = assert(read("read_idx", idx(0x0D, {3, 0, 2}, "")))
    assert.same({3, 0, 2}, x.shape)
  end)

  local NO <const> = "read_idx: PATH: no IDX file: "
  local huge <const> = 4294967295
  for _, case in ipairs {
    {"an empty file", "", NO .. "it must begin with two bytes 0"},
    {"text", "1,2,3\n", NO .. "it must begin with two bytes 0"},
    {"gzip", "\x1F\x8B\8\0\0\0", "read_idx: PATH: is compressed with gzip: "
      .. "unpack it with gunzip"},
    {"an unknown type", idx(0x0A, {1}, "\1"), NO .. "the type 0x0A is unknown"},
    {"no dimension", idx(0x08, {}, "\1"),
      "read_idx: PATH: dimensions must be 1 to 8, got 0"},
    {"too many dimensions", idx(0x08, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "\1"),
      "read_idx: PATH: dimensions must be 1 to 8, got 9"},
    {"a header cut short", "\0\0\8\2\0\0\0\1\0\0\0",
      "read_idx: PATH: cut short in the sizes"},
    {"elements cut short", idx(0x08, {2, 2}, "\1\2\3"), "read_idx: PATH: "
      .. "sizes [2 2] of uint8 do not fit the 3 bytes behind them"},
    {"bytes behind the elements", idx(0x0B, {1}, "\1\2\3"), "read_idx: PATH: "
      .. "sizes [1] of int32 do not fit the 3 bytes behind them"},
    {"sizes whose product overflows to the bytes there are",
      idx(0x08, {65536, 65536, 65536, 65536}, ""), "read_idx: PATH: sizes "
      .. "[65536 65536 65536 65536] of uint8 do not fit the 0 bytes behind "
      .. "them"},
    {"nothing of a size that is none", idx(0x08, {huge, huge, huge, 0}, ""),
      ("read_idx: PATH: sizes [%d %d %d 0] are too large"):format(huge, huge,
        huge)},
  } do
    it("refuses " .. case[1], function()
      local x, fault = read("read_idx", case[2])
      assert.is_nil(x)
      assert.equal(case[3], fault)
    end)
  end

  it("says that a file is not there, or is none", function()
    assert.same({n = 2, nil, "read_idx: /nowhere/x: No such file or directory"},
      table.pack(data.read_idx("/nowhere/x")))
    assert.same({n = 2, nil, "read_idx: /: Is a directory"},
      table.pack(data.read_idx("/")))
  end)

  it("refuses a path that is none", function()
    assert.equal("read_idx: path must be a string, got nil",
      message(data.read_idx))
  end)
end)

describe("data.read_csv", function()
  it("reads rows of numbers", function()
    local x <const> = assert(read("read_csv", "1,-2.5\n3e2,  .25 \n"))
    assert.equal("float64", x.dtype)
    assert.same({{1, -2.5}, {300, 0.25}}, x:totable())
  end)

  it("takes CRLF, a byte order mark, blank lines, and a last line without an "
      .. "end", function()
    local x <const> = assert(read("read_csv", "\u{FEFF}1,2\r\n\r\n \n3,4"))
    assert.same({{1, 2}, {3, 4}}, x:totable())
  end)

  it("leaves out a line of names", function()
    local x <const> = assert(read("read_csv", "x;y\n1;2\n",
      {header = true, separator = ";"}))
    assert.same({{1, 2}}, x:totable())
  end)

  it("reads long rows", function()
    local x <const> = assert(read("read_csv", ("7,"):rep(99999) .. "8"))
    assert.same({1, 100000}, x.shape)
    assert.equal(8, x[{1, -1}]:item())
  end)

  for _, case in ipairs {
    {"an empty file", "", "no line with numbers"},
    {"blank lines", "\n \r\n", "no line with numbers"},
    {"names", "a,b\n1,2\n", 'line 1: column 1 must be a number, got "a"'},
    {"an empty field", "1,2\n\n1,,2\n",
      'line 3: column 2 must be a number, got ""'},
    {"a comma at the end", "1,2,\n",
      'line 1: column 3 must be a number, got ""'},
    {"what is no number", "1,nan\n",
      'line 1: column 2 must be a number, got "nan"'},
    {"what is not finite", "1,1e999\n",
      'line 1: column 2 must be a number, got "1e999"'},
    {"hexadecimals", "0x10\n", 'line 1: column 1 must be a number, got "0x10"'},
    {"rows of other lengths", "1,2\n3\n",
      "line 2: must have 2 columns as the first, got 1"},
    {"bytes", "\0\1\2", 'line 1: column 1 must be a number, got '
      .. '"\\x00\\x01\\x02"'},
  } do
    it("refuses " .. case[1], function()
      local x, fault = read("read_csv", case[2])
      assert.is_nil(x)
      assert.equal("read_csv: PATH: " .. case[3], fault)
    end)
  end

  it("says that a file is not there, or is none", function()
    assert.same({n = 2, nil, "read_csv: /nowhere/x: No such file or directory"},
      table.pack(data.read_csv("/nowhere/x")))
    assert.same({n = 2, nil, "read_csv: /: Is a directory"},
      table.pack(data.read_csv("/")))
  end)

  it("refuses wrong arguments", function()
    assert.equal("read_csv: path must be a string, got 1",
      message(data.read_csv, 1))
    assert.equal('read_csv: separator must be one character, got ", "',
      message(data.read_csv, "x", {separator = ", "}))
    assert.equal('read_csv: unknown option "sep"; known: header, separator',
      message(data.read_csv, "x", {sep = ","}))
  end)
end)
