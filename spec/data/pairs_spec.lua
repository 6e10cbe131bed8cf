local data = require "heed.data"
local message = require "spec.support.message"

describe("data.read_pairs", function()
  local path

  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  local function read(content, options)
    local file <close> = assert(io.open(path, "wb"))
    file:write(content)
    file:close()
    return data.read_pairs(path, options)
  end

  it("reads the two sides of each line", function()
    local pairs = read("Go.\tVa !\nWho?\tQui ?\n")
    assert.same({
      source = {"Go.", "Who?"}, target = {"Va !", "Qui ?"}, n = 2, lines = 2,
      skipped = {empty = 0, malformed = 0, invalid_utf8 = 0, too_long = 0},
      first = {},
    }, pairs)
  end)

  it("ignores further columns", function()
    local pairs = read("Go.\tVa !\tCC-BY 2.0 (France)\t\tx\n")
    assert.same({"Go."}, pairs.source)
    assert.same({"Va !"}, pairs.target)
  end)

  it("takes the columns that are asked for", function()
    local pairs = read("1\tsite\tGood.\n0\t\t\tBad.\n", {columns = {1, -1}})
    assert.same({"1", "0"}, pairs.source)
    assert.same({"Good.", "Bad."}, pairs.target)
    pairs = read("a\tb\tc\n", {columns = {3, 1}})
    assert.same({"c"}, pairs.source)
    assert.same({"a"}, pairs.target)
  end)

  it("counts lines with too few columns as malformed", function()
    local pairs = read("a\tb\tc\na\tb\nno tab\n", {columns = {1, 3}})
    assert.same({"c"}, pairs.target)
    assert.equal(2, pairs.skipped.malformed)
    pairs = read("a\tb\nno tab\n", {columns = {1, -1}})
    assert.same({"b"}, pairs.target)
    assert.equal(1, pairs.skipped.malformed)
  end)

  it("refuses columns that are not two", function()
    for given, shown in pairs {[{1}] = "1", [{1, 1}] = "1, 1",
        [{0, 2}] = "0, 2", [{1, 2, 3}] = "1, 2, 3", [{1.5, 2}] = "1.5, 2"} do
      assert.equal("read_pairs: columns must be two different integers, "
        .. "counted from 1 or, negative, from the end, got {" .. shown .. "}",
        message(data.read_pairs, "x", {columns = given}))
    end
    assert.equal("read_pairs: columns[2] must be a number, got true",
      message(data.read_pairs, "x", {columns = {1, true}}))
  end)

  it("takes CRLF, a byte order mark, and a last line without an end", function()
    local pairs = read("\u{FEFF}Go.\tVa !\r\nWho?\tQui ?")
    assert.same({"Go.", "Who?"}, pairs.source)
    assert.same({"Va !", "Qui ?"}, pairs.target)
  end)

  it("normalises and trims", function()
    local pairs = read(" cafe\u{301} \t\u{A0}un\u{A0}cafe\u{301}\u{202F}\n")
    assert.same({"caf\u{E9}"}, pairs.source)
    assert.same({"un\u{A0}caf\u{E9}"}, pairs.target)
  end)

  it("counts bad lines and says where the first of each kind is", function()
    local pairs = read("a\tb\n\n \t\u{A0}\nno tab\nx\t\n\ty\n\xFF\tz\n"
      .. "no tab\nc\td\n")
    assert.same({"a", "c"}, pairs.source)
    assert.same({empty = 4, malformed = 2, invalid_utf8 = 1, too_long = 0},
      pairs.skipped)
    assert.same({empty = 2, malformed = 4, invalid_utf8 = 7}, pairs.first)
    assert.equal(9, pairs.lines)
  end)

  it("leaves out pairs with a side of more characters", function()
    local pairs = read("\u{E9}\u{E9}\u{E9}\tabc\nabcd\ta\na\tabcd\n",
      {max_length = 3})
    assert.same({"\u{E9}\u{E9}\u{E9}"}, pairs.source)
    assert.equal(2, pairs.skipped.too_long)
    assert.equal(2, pairs.first.too_long)
  end)

  it("takes lines of any length", function()
    local long = ("word "):rep(300000) .. "end"
    local pairs = read(long .. "\t" .. long .. "\na\tb\n")
    assert.equal(2, pairs.n)
    assert.equal(long, pairs.target[1])
  end)

  it("says that a file is not there", function()
    os.remove(path)
    local pairs, text = data.read_pairs(path)
    assert.is_nil(pairs)
    assert.equal("read_pairs: cannot open " .. path
      .. ": No such file or directory", text)
  end)

  it("says that a folder is no file", function()
    local pairs, text = data.read_pairs("/")
    assert.is_nil(pairs)
    assert.equal("read_pairs: cannot open /: Is a directory", text)
  end)

  local useless = {
    {"an empty file", "", "0 lines (the file is empty)"},
    {"blank lines", "\n \n", "2 lines (2 empty)"},
    {"another form", "a,b\n\nc,d\n", "3 lines (1 empty, 2 without a tab)"},
    {"UTF-16", "\xFF\xFEa\0\t\0b\0\n\0c\0", "2 lines (1 without a tab, "
      .. "1 not UTF-8)"},
    {"a binary file", "\x7FELF\2\1\1\0\0\xF8\xD1\t\n\x90\t\xC3\n",
      "2 lines (2 not UTF-8)"},
  }
  for _, case in ipairs(useless) do
    it("says why there is no pair in " .. case[1], function()
      local pairs, text = read(case[2])
      assert.is_nil(pairs)
      assert.equal("read_pairs: " .. path .. ": no pair in " .. case[3], text)
    end)
  end

  it("says when all pairs are too long", function()
    local pairs, text = read("abc\tabc\n", {max_length = 2})
    assert.is_nil(pairs)
    assert.equal("read_pairs: " .. path .. ": no pair in 1 line (1 too long)",
      text)
  end)

  it("refuses wrong arguments", function()
    assert.equal("read_pairs: path must be a string, got nil",
      message(data.read_pairs))
    assert.equal("read_pairs: max_length must be an integer of at least 1, "
      .. "got 0", message(data.read_pairs, "x", {max_length = 0}))
    assert.equal('read_pairs: unknown option "length"; known: columns, '
      .. 'max_length',
      message(data.read_pairs, "x", {length = 3}))
  end)
end)

describe("data.group_references", function()
  it("gathers the targets of each source, in order", function()
    assert.same({
      source = {"b", "a"}, references = {{"1", "3"}, {"2"}}, n = 2,
    }, data.group_references({
      source = {"b", "a", "b", "b"}, target = {"1", "2", "3", "1"}, n = 4,
    }))
  end)

  it("gives nothing for nothing", function()
    assert.same({source = {}, references = {}, n = 0},
      data.group_references({source = {}, target = {}}))
  end)

  it("refuses what holds no pairs", function()
    assert.equal("group_references: pairs must be a table, got nil",
      message(data.group_references))
    assert.equal("group_references: pairs.source must be a list, got nil",
      message(data.group_references, {}))
    assert.equal("group_references: pairs.target[1] must be a string, got 1",
      message(data.group_references, {source = {"a"}, target = {1}}))
    assert.equal("group_references: pairs.source and pairs.target must be as "
      .. "long, got 1 and 0",
      message(data.group_references, {source = {"a"}, target = {}}))
  end)
end)
