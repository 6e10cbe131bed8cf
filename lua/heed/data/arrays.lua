--- Arrays of numbers from files: IDX, the form of MNIST, and CSV. The files
-- need not be trusted.

local heed = require "heed"
local check = require "heed.check"
local read_file = require "heed.read_file"

local arrays = {}

-- -- IDX ---------------------------------------------------------------------

-- What the third byte says of the elements: how `string.unpack` names them,
-- how many bytes they have, and the dtype here.
local KINDS <const> = {
  [0x08] = {"B", 1, "uint8"}, [0x09] = {"b", 1, "int32"},
  [0x0B] = {"i2", 2, "int32"}, [0x0C] = {"i4", 4, "int32"},
  [0x0D] = {"f", 4, "float32"}, [0x0E] = {"d", 8, "float64"},
}

local MAX_DIMS <const> = 8
local CHUNK <const> = 65536 -- elements that are Lua numbers at a time
local GROUP <const> = 128 -- elements that one call of string.unpack gives

-- The kind, the sizes and where the elements begin; or nil and what is wrong.
local function read_header(bytes)
  if bytes:sub(1, 2) == "\x1F\x8B" then
    return nil, "is compressed with gzip: unpack it with gunzip"
  end
  if #bytes < 4 or bytes:sub(1, 2) ~= "\0\0" then
    return nil, "no IDX file: it must begin with two bytes 0"
  end
  local code <const>, ndim <const> = bytes:byte(3, 4)
  if not KINDS[code] then
    return nil, ("no IDX file: the type 0x%02X is unknown"):format(code)
  end
  if ndim < 1 or ndim > MAX_DIMS then
    return nil, ("dimensions must be 1 to %d, got %d"):format(MAX_DIMS, ndim)
  end
  local start <const> = 5 + 4 * ndim
  if #bytes < start - 1 then return nil, "cut short in the sizes" end
  local sizes <const> = {(">" .. ("I4"):rep(ndim)):unpack(bytes, 5)}
  sizes[ndim + 1] = nil -- the position behind them
  return KINDS[code], sizes, start
end

-- How many elements: as many as the bytes behind the header hold, or nil.
local function count(sizes, bytes_each, rest)
  local n = 1
  for _, size in ipairs(sizes) do
    if size == 0 and rest == 0 then return 0 end
  end
  for _, size in ipairs(sizes) do
    if size == 0 or n > rest // size then return nil end
    n = n * size
  end
  return n * bytes_each == rest and n or nil
end

-- Elements first .. last (from 0) as a list.
local function unpack_some(bytes, kind, start, first, last)
  local list, at = {}, start + first * kind[2]
  for i = first, last, GROUP do
    local n <const> = math.min(GROUP, last - i + 1)
    local values <const> = {(">" .. kind[1]:rep(n)):unpack(bytes, at)}
    at = values[n + 1]
    table.move(values, 1, n, #list + 1, list)
  end
  return list
end

-- The array in the bytes, or nil and what is wrong with them.
local function decode_idx(bytes)
  local kind <const>, sizes, start = read_header(bytes)
  if not kind then return nil, sizes end
  local rest <const> = #bytes - start + 1
  local n <const> = count(sizes, kind[2], rest)
  if not n then
    return nil, ("sizes %s of %s do not fit the %d bytes behind them"):format(
      check.shape(sizes), kind[3], rest)
  end
  local options <const> = {dtype = kind[3]}
  if n == 0 then
    local ok <const>, x = pcall(heed.zeros, sizes, options)
    if ok then return x end
    return nil, ("sizes %s are too large"):format(check.shape(sizes))
  end
  local parts = {}
  for first = 0, n - 1, CHUNK do
    local last <const> = math.min(first + CHUNK, n) - 1
    parts[#parts + 1] = heed.tensor(
      unpack_some(bytes, kind, start, first, last), options)
  end
  return heed.cat(parts, 1):reshape(sizes)
end

--- Returns the array in an IDX file, the form of the MNIST digits. Bytes are
-- uint8; signed bytes, and integers of 2 and 4 bytes, int32; floats float32 and
-- float64.
-- @tparam string path not compressed
-- @treturn tensor of the file's sizes, or nil and a message: the file cannot be
-- read, or is no whole IDX file
-- @usage
-- local name = os.tmpname()
-- io.open(name, "wb"):write("\0\0\8\1", "\0\0\0\3", "\5\6\7"):close()
-- return heed.data.read_idx(name) --> 5, 6, 7
function arrays.read_idx(path)
  check.kind("read_idx", "path", path, "string")
  local bytes <const>, fault = read_file("read_idx", path)
  if not bytes then return nil, fault end
  local x <const>, wrong = decode_idx(bytes)
  if not x then return nil, ("read_idx: %s: %s"):format(path, wrong) end
  return x
end

-- -- CSV ---------------------------------------------------------------------

local BOM <const> = "\u{FEFF}"

-- A finite decimal number, or nil.
local function read_number(text)
  local x <const> = not text:find "[xX]" and tonumber(text)
  return x and math.abs(x) < math.huge and x + 0.0 or nil
end

-- Appends the numbers of a line; returns how many, or nil and what is wrong.
local function read_line(line, separator, flat)
  local n, at = 0, 1
  repeat
    local stop <const> = line:find(separator, at, true)
    local field <const> = line:sub(at, stop and stop - 1)
    local x <const> = read_number(field)
    n = n + 1
    if not x then
      return nil, ("column %d must be a number, got %s"):format(n,
        check.show(field))
    end
    flat[#flat + 1] = x
    at = stop and stop + 1
  until not at
  return n
end

-- The table in the text, or nil and what is wrong with it.
local function decode_csv(text, separator, header)
  local flat, rows, columns, number = {}, 0, nil, 0
  if text:sub(1, #BOM) == BOM then text = text:sub(#BOM + 1) end
  for line in text:gmatch "[^\n]*\n?" do
    number = number + 1
    line = line:gsub("[\r\n]+$", "")
    if line:find "%S" and not (header and number == 1) then
      local n <const>, wrong = read_line(line, separator, flat)
      if not n then return nil, ("line %d: %s"):format(number, wrong) end
      columns = columns or n
      if n ~= columns then
        return nil, ("line %d: must have %d columns as the first, got %d")
          :format(number, columns, n)
      end
      rows = rows + 1
    end
  end
  if rows == 0 then return nil, "no line with numbers" end
  return heed.tensor(flat, {dtype = "float64"}):reshape(rows, columns)
end

--- Returns the numbers of a CSV file: one row a line, as many columns in each.
-- Blank lines are left out; CRLF and a byte order mark are accepted. There are
-- no quotes: a field is a finite decimal number.
-- @tparam string path
-- @tparam[opt] table options `separator`, one character (","); `header`: the
-- first line is one of names and is left out (false)
-- @treturn tensor float64 [rows columns], or nil and a message: the file cannot
-- be read, or is no such table
-- @raise when separator is not one character
-- @usage
-- local name = os.tmpname()
-- io.open(name, "w"):write("a;b\n1;2\n3;4.5\n"):close()
-- local x = heed.data.read_csv(name, {separator = ";", header = true})
-- return x[2] --> 3, 4.5
function arrays.read_csv(path, options)
  check.kind("read_csv", "path", path, "string")
  local o <const> = check.options("read_csv", options,
    {separator = ",", header = false})
  if type(o.separator) ~= "string" or #o.separator ~= 1 then
    check.fail("read_csv: separator must be one character, got %s",
      check.show(o.separator))
  end
  local text <const>, fault = read_file("read_csv", path)
  if not text then return nil, fault end
  local x <const>, wrong = decode_csv(text, o.separator, o.header)
  if not x then return nil, ("read_csv: %s: %s"):format(path, wrong) end
  return x
end

return arrays
