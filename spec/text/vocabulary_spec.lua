local cjson = require "cjson"
local Vocabulary = require "heed.text".Vocabulary
local message = require "spec.support.message"

local function blame(f)
  return (select(2, pcall(f)))
end

local lists = {{"a", "rose", "is", "a", "rose"}, {"é", "is", "a", "b"}}

local function words_of(vocabulary)
  local words = {}
  for id = 1, #vocabulary do words[id] = vocabulary:word(id) end
  return words
end

describe("Vocabulary.build", function()
  it("orders by falling frequency, then by bytes", function()
    assert.same({"<pad>", "<bos>", "<eos>", "<unk>", "a", "is", "rose", "b",
      "é"}, words_of(Vocabulary.build(lists)))
  end)

  it("orders by bytes in every locale", function()
    local before = os.setlocale(nil, "collate")
    os.setlocale("", "collate")
    local words = words_of(Vocabulary.build({{"b", "B", "a", "A", "a\0", "é"}},
      {specials = {}}))
    os.setlocale(before, "collate")
    assert.same({"A", "B", "a", "a\0", "b", "é"}, words)
  end)

  it("leaves out rare words", function()
    assert.same({"a", "is", "rose"},
      words_of(Vocabulary.build(lists, {min_frequency = 2, specials = {}})))
  end)

  it("holds max_size ids at most, specials included", function()
    assert.same({"<unk>", "a", "is"}, words_of(Vocabulary.build(lists,
      {max_size = 3, specials = {"<unk>"}})))
    assert.equal(9, #Vocabulary.build(lists, {max_size = 100}))
  end)

  it("takes an iterator", function()
    local i = 0
    local vocabulary = Vocabulary.build(function()
      i = i + 1
      return lists[i]
    end)
    assert.same(words_of(Vocabulary.build(lists)), words_of(vocabulary))
  end)

  it("gives a special only its own id", function()
    local vocabulary = Vocabulary.build({{"<unk>", "x"}})
    assert.equal(5, #vocabulary)
    assert.equal(4, vocabulary.unk)
    assert.same({1, 2, 3}, {vocabulary.pad, vocabulary.bos, vocabulary.eos})
  end)

  it("does not take a word for a special", function()
    local vocabulary = Vocabulary.build({{"<unk>", "x"}}, {specials = {}})
    assert.is_nil(vocabulary.unk)
    assert.equal(1, vocabulary:id("<unk>"))
  end)

  local wrong = {
    {{3}, "lists must be a list or an iterator, got 3"},
    {{{{"a"}, "b"}}, 'lists[2] must be a list, got "b"'},
    {{{{"a", 5}}}, "lists[1][2] must be a string, got 5"},
    {{{{"a"}}, {min_frequency = 2, specials = {}}},
      "nothing to number: no specials, and no word as frequent as "
        .. "min_frequency, 2"},
    {{{}, {specials = {}}}, "nothing to number: no specials, and no word as "
      .. "frequent as min_frequency, 1"},
    {{{}, {max_size = 0, specials = {}}},
      "max_size must be at least 1 (0 specials), got 0"},
    {{{}, {max_size = 3}}, "max_size must be at least 4 (4 specials), got 3"},
    {{{}, {max_size = "3"}}, 'max_size must be an integer, got "3"'},
    {{{}, {min_frequency = 0}},
      "min_frequency must be an integer of at least 1, got 0"},
    {{{}, {specials = {"<a>", "<a>"}}}, 'specials[2]: "<a>" is there twice'},
    {{{}, {size = 1}},
      'unknown option "size"; known: max_size, min_frequency, specials'},
  }
  for _, case in ipairs(wrong) do
    it("says that " .. case[2], function()
      assert.equal("Vocabulary.build: " .. case[2],
        message(Vocabulary.build, table.unpack(case[1])))
    end)
  end

  it("blames the line of the caller", function()
    assert.matches("^[^\n]*vocabulary_spec.lua:%d+: Vocabulary.build: lists",
      blame(function() local _ = Vocabulary.build({1}) end))
  end)
end)

describe("Vocabulary", function()
  local vocabulary = Vocabulary.build(lists)

  it("encodes, with unk for unknown words", function()
    assert.same({7, 6, 4, 5}, vocabulary:encode({"rose", "is", "red", "a"}))
    assert.same({}, vocabulary:encode({}))
  end)

  it("decodes every id to its word", function()
    assert.same({"<bos>", "rose", "<unk>", "é"},
      vocabulary:decode({2, 7.0, 4, 9}))
  end)

  it("looks up words and ids", function()
    assert.equal(5, vocabulary:id("a"))
    assert.is_nil(vocabulary:id("red"))
    assert.equal("a", vocabulary:word(5))
    assert.equal("Vocabulary(9 words: 4 specials)", tostring(vocabulary))
  end)

  it("names what it cannot look up", function()
    for _, case in ipairs {{0, "0"}, {10, "10"}, {1.5, "1.5"}, {"a", '"a"'}} do
      assert.equal("Vocabulary.decode: ids[2] must be an integer in 1..9, got "
        .. case[2], message(vocabulary.decode, vocabulary, {1, case[1]}))
      assert.equal("Vocabulary.word: id must be an integer in 1..9, got "
        .. case[2], message(vocabulary.word, vocabulary, case[1]))
    end
    assert.equal("Vocabulary.word: id must be an integer in 1..9, got nil",
      message(vocabulary.word, vocabulary))
    assert.equal("Vocabulary.id: word must be a string, got 5",
      message(vocabulary.id, vocabulary, 5))
    assert.equal("Vocabulary.encode: tokens must be a list, got \"a rose\"",
      message(vocabulary.encode, vocabulary, "a rose"))
    local closed = Vocabulary.build(lists, {specials = {}})
    assert.equal('Vocabulary.encode: tokens[2]: "red" is not in the '
      .. 'vocabulary, which has no "<unk>"',
      message(closed.encode, closed, {"a", "red"}))
  end)

  it("comes back the same through JSON", function()
    local again = Vocabulary.from_table(
      cjson.decode(cjson.encode(vocabulary:to_table())))
    assert.same(vocabulary:to_table(), again:to_table())
    assert.same(words_of(vocabulary), words_of(again))
    assert.equal(vocabulary.unk, again.unk)
  end)

  local wrong = {
    {"format", "heed.bpe", 'format must be "heed.vocabulary", got "heed.bpe"'},
    {"version", "1", 'version must be 1, got "1"'},
    {"specials", nil, "specials must be a list, got nil"},
    {"words", {"x", 1}, "words[2] must be a string, got 1"},
    {"words", {"x", "x"}, 'words[2]: "x" is there twice'},
    {"words", {"<unk>"}, 'words[1]: "<unk>" is there twice'},
  }
  for _, case in ipairs(wrong) do
    it("says on loading that " .. case[3], function()
      local t = vocabulary:to_table()
      t[case[1]] = case[2]
      assert.equal("Vocabulary.from_table: " .. case[3],
        message(Vocabulary.from_table, t))
    end)
  end

  it("refuses to load a vocabulary of nothing", function()
    assert.equal("Vocabulary.from_table: words must hold a string, got none",
      message(Vocabulary.from_table, {format = "heed.vocabulary", version = 1,
        specials = {}, words = {}}))
    assert.equal("Vocabulary.from_table: t must be a table, got nil",
      message(Vocabulary.from_table))
  end)
end)
