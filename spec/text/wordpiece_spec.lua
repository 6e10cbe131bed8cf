-- wordpiece.json holds what Hugging Face's tokenizers gives; wordpiece.py
-- beside it makes the file.

local cjson = require "cjson"
local heed = require "heed"
local message = require "spec.support.message"
local WordPiece = heed.text.WordPiece

local file <const> = assert(io.open("spec/text/wordpiece.json"))
local golden <const> = cjson.decode(file:read("a"))
file:close()

local SMALL <const> = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un",
  "##aff", "##able", "a", "##b", "aff", ","}

describe("WordPiece.encode", function()
  for _, case in ipairs(golden.cases) do
    local strip = case.strip_accents
    if strip == cjson.null then strip = nil end
    local t = WordPiece.from_vocab(golden.tokens,
      {lowercase = case.lowercase, strip_accents = strip})
    local name = ("lowercase %s, strip_accents %s"):format(case.lowercase,
      strip)

    it("gives the ids of the reference, " .. name, function()
      for i, text in ipairs(golden.texts) do
        local want = {}
        for k, id in ipairs(case.ids[i]) do want[k] = id + 1 end
        assert.same(want, t:encode(text), text)
      end
    end)

    it("knows where tokens come from, as the reference, " .. name, function()
      for i, text in ipairs(golden.texts) do
        local want = {}
        for k, place in ipairs(case.offsets[i]) do
          want[k] = {utf8.offset(text, place[1] + 1),
            utf8.offset(text, place[2] + 1) - 1}
        end
        assert.same(want, t:offsets(text), text)
      end
    end)
  end

  it("takes the longest token first", function()
    local t = WordPiece.from_vocab(SMALL)
    assert.same({"un", "##aff", "##able"}, t:tokens "Unaffable")
    assert.same({"a", "##b"}, t:tokens "ab")
    assert.same({"aff", "##able", ",", "[UNK]"}, t:tokens "affable, unx")
  end)

  it("gives [UNK] for bytes that are not UTF-8, and goes on", function()
    local t = WordPiece.from_vocab(SMALL)
    assert.same({"a", "[UNK]", "a", "[UNK]", "[UNK]"},
      t:tokens "a\xFFa \xE2\x82 \xC0")
    assert.same({{1, 1}, {2, 2}, {3, 3}, {5, 6}, {8, 8}},
      t:offsets "a\xFFa \xE2\x82 \xC0")
  end)

  it("finds specials where they stand, the longest of several", function()
    local t = WordPiece.from_vocab({"[UNK]", "<a>", "<a><b>", "a"},
      {specials = {"[UNK]", "<a>", "<a><b>"}})
    assert.same({"a", "<a>", "a", "<a><b>"}, t:tokens "a<a>a<a><b>")
  end)

  it("takes a hundred thousand specials, and openings of none", function()
    local t = WordPiece.from_vocab(SMALL)
    assert.equal(100000, #t:encode(("[MASK]"):rep(100000)))
    assert.equal(100000, #t:encode(("["):rep(100000)))
  end)

  it("takes specials that begin with any byte", function()
    local specials = {"[UNK]", "%a", "^b", "]c", "-d", "e", "\u{E9}"}
    local t = WordPiece.from_vocab(specials, {specials = specials})
    assert.same({2, 3, 4, 5, 6, 7}, t:encode "%a^b]c-de\u{E9}")
  end)

  it("takes a word of a million letters", function()
    local t = WordPiece.from_vocab(SMALL)
    assert.same({2}, t:encode(("a"):rep(1000000)))
  end)
end)

describe("WordPiece.encode_pair", function()
  it("gives the ids and parts of the reference", function()
    local t = WordPiece.from_vocab(golden.tokens)
    local ids, parts = t:encode_pair(golden.texts[1], golden.texts[8])
    for i, id in ipairs(golden.pair.ids) do
      assert.equal(id + 1, ids[i])
      assert.equal(golden.pair.parts[i] + 1, parts[i])
    end
    assert.equal(#golden.pair.ids, #ids)
    assert.equal(#ids, #parts)
  end)

  it("takes one text", function()
    local ids, parts = WordPiece.from_vocab(SMALL):encode_pair("a")
    assert.same({3, 9, 4}, ids)
    assert.same({1, 1, 1}, parts)
  end)

  it("needs [CLS] and [SEP]", function()
    local t = WordPiece.from_vocab {"[UNK]", "a"}
    assert.equal('WordPiece.encode_pair: the vocabulary must hold "[CLS]" and '
      .. '"[SEP]"', message(t.encode_pair, t, "a"))
  end)
end)

describe("WordPiece.decode", function()
  local t = WordPiece.from_vocab(SMALL)

  it("joins what goes on, and leaves specials out", function()
    assert.equal("unaffable , ab [UNK]",
      t:decode({3, 6, 7, 8, 12, 9, 10, 2, 4, 1}))
    assert.equal("##b", t:decode({3, 10}))
    assert.equal("a a", t:decode(heed.tensor {9, 9}))
    assert.equal("", t:decode({}))
  end)

  it("refuses ids outside the vocabulary", function()
    for _, id in ipairs {0, 13, -1, 1.5} do
      assert.equal(("WordPiece.decode: ids[2] must be an integer in 1..12, got "
        .. "%s"):format(id), message(t.decode, t, {1, id}))
      assert.equal(("WordPiece.token: id must be an integer in 1..12, got %s")
        :format(id), message(t.token, t, id))
    end
  end)
end)

describe("WordPiece.from_vocab", function()
  local function write(text)
    local name = os.tmpname()
    local out = assert(io.open(name, "wb"))
    out:write(text)
    out:close()
    return name
  end

  it("numbers the lines of a file from 1", function()
    for _, text in ipairs {"[UNK]\na\n##b\n", "[UNK]\na\n##b",
        "[UNK]\r\na\r\n##b\r\n"} do
      local name = write(text)
      local t = assert(WordPiece.from_vocab(name))
      os.remove(name)
      assert.equal(3, #t)
      assert.same({2, 3}, t:encode "ab")
      assert.equal(1, t.unk)
    end
  end)

  it("gives nil for a file that is no vocabulary", function()
    assert.equal("WordPiece.save: no/such.json: cannot be written: No such " ..
      "file or directory", message(WordPiece.save,
        WordPiece.train({"a"}), "no/such.json"))
    local t, text = WordPiece.from_vocab("no/such.txt")
    assert.is_nil(t)
    assert.equal("WordPiece.from_vocab: no/such.txt: No such file or directory",
      text)
    local name = write "a\nb\n"
    t, text = WordPiece.from_vocab(name)
    os.remove(name)
    assert.is_nil(t)
    assert.equal(("WordPiece.from_vocab: %s: tokens must hold \"[UNK]\"")
      :format(name), text)
  end)

  it("refuses wrong arguments", function()
    assert.equal('WordPiece.from_vocab: tokens[3]: "a" is there twice',
      message(WordPiece.from_vocab, {"[UNK]", "a", "a"}))
    assert.equal('WordPiece.from_vocab: tokens[2]: "\\xFF" is not UTF-8',
      message(WordPiece.from_vocab, {"[UNK]", "\xFF"}))
    assert.equal("WordPiece.from_vocab: tokens[2] must be a string, got 3",
      message(WordPiece.from_vocab, {"[UNK]", 3}))
    assert.equal('WordPiece.from_vocab: specials[1]: "<s>" is not among the '
      .. "tokens", message(WordPiece.from_vocab, {"[UNK]"},
        {specials = {"<s>"}}))
    assert.equal("WordPiece.from_vocab: lowercase must be a boolean, got 1",
      message(WordPiece.from_vocab, {"[UNK]"}, {lowercase = 1}))
  end)
end)

describe("WordPiece.train", function()
  -- "aab" 3 times, "ab" twice: characters a ##a ##b; pairs: a ##a 3, ##a ##b 3,
  -- a ##b 2. Of the first two "##a ##b" is smaller by its bytes: ##ab; then
  -- a ##ab 3: aab; then a ##b 2: ab.
  local TEXTS <const> = {"aab ab aab", "AAB", "\u{E0}b"}

  it("joins the most frequent pairs", function()
    local t = WordPiece.train(TEXTS, {vocab_size = 11, specials = {"[UNK]"}})
    local tokens = {}
    for id = 1, #t do tokens[id] = t:token(id) end
    assert.same({"[UNK]", "##a", "##b", "a", "##ab", "aab", "ab"}, tokens)
    assert.same({"aab", "ab", "[UNK]", "aab", "##b"},
      t:tokens "aab ab c aabb")
  end)

  it("stops at the size, and at rare pairs", function()
    local o = {vocab_size = 5, specials = {"[UNK]"}}
    assert.equal(5, #WordPiece.train(TEXTS, o))
    o = {vocab_size = 99, min_frequency = 3, specials = {"[UNK]"}}
    local t = WordPiece.train(TEXTS, o)
    assert.is_nil(t:id "ab")
    assert.is_truthy(t:id "aab")
  end)

  it("spells every word of its texts", function()
    local t = WordPiece.train(golden.texts, {vocab_size = 900})
    for i = 1, 14 do
      for _, id in ipairs(t:encode(golden.texts[i])) do
        assert.is_true(id ~= t.unk)
      end
    end
  end)

  it("refuses a size that is too small", function()
    assert.equal("WordPiece.train: vocab_size must be at least 4 (1 specials, "
      .. "3 characters), got 3", message(WordPiece.train, TEXTS,
        {vocab_size = 3, specials = {"[UNK]"}}))
    assert.equal('WordPiece.train: specials must hold "[UNK]"',
      message(WordPiece.train, TEXTS, {specials = {}}))
    assert.equal("WordPiece.train: texts[1] must be a string, got 3",
      message(WordPiece.train, {3}))
  end)
end)

describe("WordPiece.from_table", function()
  it("gives back what to_table was called on", function()
    local t = WordPiece.from_vocab(SMALL, {lowercase = false})
    local again = WordPiece.from_table(cjson.decode(cjson.encode(
      t:to_table())))
    assert.same(t:to_table(), again:to_table())
    assert.same(t:encode "ab [MASK] AB", again:encode "ab [MASK] AB")
    assert.equal("WordPiece(12 tokens: 5 specials)", tostring(again))
  end)

  it("says what is wrong with a table", function()
    local function text(change)
      local t = WordPiece.from_vocab(SMALL):to_table()
      for key, value in pairs(change) do t[key] = value end
      return message(WordPiece.from_table, t)
    end
    local head = "WordPiece.from_table: "
    assert.equal(head .. 'format must be "heed.wordpiece", got "x"',
      text({format = "x"}))
    assert.equal(head .. "version must be 1, got 2", text({version = 2}))
    assert.equal(head .. "lowercase must be a boolean, got 1",
      text({lowercase = 1}))
    assert.equal(head .. "tokens must be a list, got 1", text({tokens = 1}))
    assert.equal(head .. "specials must be a list, got 1",
      text({specials = 1}))
  end)
end)
