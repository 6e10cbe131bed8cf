local message = require "spec.support.message"
local text = require "heed.text"
local BPE, unicode = text.BPE, text.unicode

local function blame(f)
  return (select(2, pcall(f)))
end

-- White space as decode gives it back.
local function collapse(s)
  local joined = table.concat(unicode.words(s)):gsub("\u{2581}", " ")
  return (joined:gsub("^ ", ""))
end

-- A small generator of its own, so that no other spec moves the numbers.
local function new_random(seed)
  return function(n)
    seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
    return (seed >> 8) % n + 1
  end
end

local corpus = {
  "The cat sat on the mat.", "The dog sat on the log.",
  "L'été dernier, l'eau était très froide.", "Où était-elle l'été ?",
  "你好，世界。你好！", "the cats and the dogs", "The cat, the dog & the mat",
}

-- The learnt pairs, as "left right".
local function learnt(texts, vocab_size)
  local bpe = BPE.train(texts, {
    vocab_size = vocab_size, specials = {"<unk>"}, byte_fallback = false,
    min_frequency = 1,
  })
  return bpe:to_table().merges
end

-- The algorithm of the paper as it stands there: count all pairs anew for each
-- merge, and rewrite all words.
local function learn_plainly(texts, n)
  local words = {}
  for _, s in ipairs(texts) do
    for _, word in ipairs(unicode.words(s)) do
      local symbols = {}
      for _, code in utf8.codes(word) do
        symbols[#symbols + 1] = utf8.char(code)
      end
      words[#words + 1] = symbols
    end
  end
  local merges = {}
  while #merges < n do
    local count, best = {}, nil
    for _, symbols in ipairs(words) do
      for i = 1, #symbols - 1 do
        local pair = symbols[i] .. " " .. symbols[i + 1]
        count[pair] = (count[pair] or 0) + 1
      end
    end
    for pair, c in pairs(count) do
      if not best or c > count[best] or c == count[best] and pair < best then
        best = pair
      end
    end
    if not best then break end
    merges[#merges + 1] = best
    local left, right = best:match("(.+) (.+)")
    for w, symbols in ipairs(words) do
      local new, i = {}, 1
      while i <= #symbols do
        if symbols[i] == left and symbols[i + 1] == right then
          new[#new + 1], i = left .. right, i + 2
        else
          new[#new + 1], i = symbols[i], i + 1
        end
      end
      words[w] = new
    end
  end
  return merges
end

describe("BPE.train", function()
  it("merges the most frequent pair first", function()
    assert.same({"b c", "bc d"}, learnt({"abcd xbcd ybc"}, 10))
  end)

  it("merges the smaller one of equally frequent pairs", function()
    -- In byte order U+2581 stands behind the letters.
    assert.same({"a b", "c d", "▁ ab"}, learnt({"cd ab"}, 1 + 5 + 3))
  end)

  it("merges from the left", function()
    assert.same({"a a", "aa a"}, learnt({"xaaa xaaa xaaa"}, 1 + 3 + 2))
  end)

  it("never merges across words", function()
    assert.same({"▁ a"}, learnt({"a.b a.b"}, 100))
  end)

  it("learns what the plain algorithm learns", function()
    local random = new_random(11)
    for _ = 1, 30 do
      local texts = {}
      for i = 1, 6 do
        local letters = {}
        for k = 1, 25 do
          letters[k] = ({"a", "b", "c", "é", " "})[random(5)]
        end
        texts[i] = table.concat(letters)
      end
      local plain = learn_plainly(texts, 12)
      local got = learnt(texts, 1 + 5 + 12)
      for i = 1, 12 do assert.equal(plain[i], got[i]) end
    end
  end)

  it("stops at vocab_size, or when no pair is frequent", function()
    assert.equal(300, #BPE.train(corpus, {vocab_size = 300}))
    local bpe = BPE.train({"ab ab"}, {vocab_size = 1000})
    assert.equal("BPE(265 pieces: 4 specials, 256 bytes, 3 characters, "
      .. "2 learnt)", tostring(bpe))
  end)

  it("takes a list and an iterator alike", function()
    local i = 0
    local from_iterator = BPE.train(function()
      i = i + 1
      return corpus[i]
    end)
    assert.same(BPE.train(corpus):to_table(), from_iterator:to_table())
  end)

  it("puts specials, bytes, characters and learnt pieces in order", function()
    local bpe = BPE.train({"ba ba"}, {vocab_size = 264})
    local got = {}
    for id = 257, 264 do got[#got + 1] = bpe:token(id) end
    assert.same({"<0xFC>", "<0xFD>", "<0xFE>", "<0xFF>", "a", "b", "▁", "ba"},
      got)
    assert.same({1, 2, 3, 4}, {bpe.pad, bpe.bos, bpe.eos, bpe.unk})
    assert.equal(5, bpe:id("<0x00>"))
  end)

  it("gives rare characters no token when bytes can spell them", function()
    local texts = {"aaa z"}
    assert.is_nil(BPE.train(texts):id("z"))
    local bpe = BPE.train(texts, {byte_fallback = false})
    assert.equal("z", bpe:token(bpe:id("z")))
  end)

  it("keeps the length of pieces in bounds", function()
    local bpe = BPE.train({("a"):rep(5000), ("a"):rep(5000)})
    assert.equal(128, #bpe:token(#bpe))
  end)

  local wrong = {
    {{{}}, "texts must hold a word, got none in 0 texts"},
    {{{"", " \n"}}, "texts must hold a word, got none in 2 texts"},
    {{"a text"}, 'texts must be a list or an iterator, got "a text"'},
    {{{"a", {}}}, "texts[2] must be a string, got a table"},
    {{{"abab"}, {vocab_size = 0}}, "vocab_size must be at least 263 "
      .. "(4 specials, 256 byte tokens, 3 characters), got 0"},
    {{{"abc"}, {vocab_size = 4, byte_fallback = false}}, "vocab_size must be "
      .. "at least 8 (4 specials, 0 byte tokens, 4 characters), got 4"},
    {{{"a"}, {vocab_size = 2.5}}, "vocab_size must be an integer, got 2.5"},
    {{{"a"}, {min_frequency = 0}},
      "min_frequency must be an integer of at least 1, got 0"},
    {{{"a"}, {byte_fallback = 1}}, "byte_fallback must be a boolean, got 1"},
    {{{"a"}, {size = 1}}, 'unknown option "size"; known: '
      .. "byte_fallback, min_frequency, specials, vocab_size"},
    {{{"a"}, {specials = "<pad>"}}, 'specials must be a list, got "<pad>"'},
    {{{"a"}, {specials = {"<pad>", 1}}}, "specials[2] must be a string, got 1"},
    {{{"a"}, {specials = {"<pad>", "<pad>"}}},
      'specials[2]: "<pad>" is there twice'},
    {{{"a"}, {specials = {"pad"}}}, 'specials[1]: "pad" could be a piece of a '
      .. 'text; wanted a form such as "<pad>"'},
    {{{"a"}, {specials = {"<\xFF>"}}}, 'specials[1]: "<\\xFF>" is not UTF-8'},
    {{{"a"}, {specials = {"<0x41>"}}}, 'specials[1]: "<0x41>" is a byte token'},
    {{{"a"}, {specials = {"<pad>"}, byte_fallback = false}},
      'specials must hold "<unk>" when byte_fallback is false'},
  }
  for _, case in ipairs(wrong) do
    it("says that " .. case[2], function()
      assert.equal("BPE.train: " .. case[2],
        message(BPE.train, table.unpack(case[1])))
    end)
  end

  it("blames the line of the caller", function()
    assert.matches("^[^\n]*bpe_spec.lua:%d+: BPE.train: texts",
      blame(function() local _ = BPE.train({}) end))
    assert.matches("^[^\n]*bpe_spec.lua:%d+: BPE.train: texts",
      blame(function() local _ = BPE.train({1}) end))
    assert.matches("^[^\n]*bpe_spec.lua:%d+: BPE.train: vocab_size",
      blame(function() local _ = BPE.train({"a"}, {vocab_size = {}}) end))
  end)
end)

describe("BPE.encode", function()
  local bpe = BPE.train(corpus, {vocab_size = 340})

  it("gives the merges in the order in which they were learnt", function()
    local small = BPE.from_table({
      format = "heed.bpe", version = 1, byte_fallback = false,
      specials = {"<unk>"}, characters = {"a", "b", "c", "▁"},
      merges = {"b c", "a b", "ab c"}, size = 8,
    })
    -- "a b" is possible first, from the left, but "b c" is older.
    assert.same({"▁", "a", "bc", "ab", "a", "bc", "bc"},
      small:tokens("abcabab" .. "cbc"))
    assert.same({"▁", "ab", "ab", "<unk>", "ab"}, small:tokens("ababxab"))
  end)

  it("agrees with merging one pair at a time", function()
    local rank = {}
    for i, pair in ipairs(bpe:to_table().merges) do rank[pair] = i end
    local function plainly(word)
      local symbols = {}
      for _, code in utf8.codes(word) do
        symbols[#symbols + 1] = utf8.char(code)
      end
      while true do
        local best, at
        for i = 1, #symbols - 1 do
          local r = rank[symbols[i] .. " " .. symbols[i + 1]]
          if r and (not best or r < best) then best, at = r, i end
        end
        if not best then return symbols end
        symbols[at] = symbols[at] .. table.remove(symbols, at + 1)
      end
    end
    local random = new_random(5)
    for _ = 1, 300 do
      local letters = {}
      for k = 1, random(20) do
        letters[k] = ({"t", "h", "e", "a", "o", "s", "d", "g", "'"})[random(9)]
      end
      local s = table.concat(letters)
      local want = {}
      for _, word in ipairs(unicode.words(s)) do
        for _, piece in ipairs(plainly(word)) do want[#want + 1] = piece end
      end
      assert.same(want, bpe:tokens(s))
    end
  end)

  it("gives the same ids again from its cache", function()
    local ids = bpe:encode("the the dog")
    ids[1] = -1
    assert.equal(bpe:id("▁the"), bpe:encode("the the dog")[1])
  end)

  it("stays right when the cache forgets", function()
    local ids = bpe:encode("the dog")
    for i = 1, 65000 do bpe:encode("w" .. i) end
    assert.same(ids, bpe:encode("the dog"))
  end)

  it("never takes text for a special or a byte token", function()
    for _, id in ipairs(bpe:encode("<pad><unk> <0x41>")) do
      assert.is_true(id > 4)
      assert.are_not.equal(bpe:id("<0x41>"), id)
    end
    assert.equal("<pad><unk> <0x41>",
      bpe:decode(bpe:encode("<pad><unk> <0x41>")))
  end)

  it("spells an unknown character in bytes", function()
    assert.same({"▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"},
      bpe:tokens("\u{1F600}"))
  end)

  it("gives nothing for nothing", function()
    assert.same({}, bpe:encode(""))
    assert.same({}, bpe:encode(" \t\u{A0}"))
  end)

  it("takes a word of 340,000 letters", function()
    local s = ("thecatsatonthemat"):rep(20000)
    assert.equal(s, bpe:decode(bpe:encode(s)))
  end)

  it("wants a string", function()
    assert.equal("BPE.encode: text must be a string, got a table",
      message(bpe.encode, bpe, {}))
    assert.equal("BPE.tokens: text must be a string, got 3",
      message(bpe.tokens, bpe, 3))
  end)
end)

describe("BPE.decode", function()
  local bpe = BPE.train(corpus, {vocab_size = 340})

  it("gives back the text", function()
    for _, s in ipairs(corpus) do
      assert.equal(s, bpe:decode(bpe:encode(s)))
    end
    for _, s in ipairs {
      "naïve café, cafe\u{301}", "世界你好", "👩\u{200D}👩\u{200D}👧 ❤\u{FE0F}",
      "a\0b", "e\u{301}\u{327}\u{345}", "\u{200B}x\u{FEFF}", "<bos> & <0xFF>",
    } do
      assert.equal(s, bpe:decode(bpe:encode(s)))
    end
  end)

  it("collapses white space", function()
    assert.equal("the cat . x",
      bpe:decode(bpe:encode(" the\n\ncat\u{A0}.\tx ")))
  end)

  it("gives back random text but for white space", function()
    local random = new_random(3)
    local ranges = {
      {0x00, 0x7F}, {0x20, 0x7E}, {0x80, 0x24F}, {0x300, 0x36F},
      {0x370, 0x5FF}, {0x900, 0x97F}, {0x1100, 0x11FF}, {0x2000, 0x206F},
      {0x2580, 0x259F}, {0x3000, 0x30FF}, {0x4E00, 0x4FFF}, {0xE000, 0xFFFF},
      {0x1F300, 0x1F9FF}, {0x10000, 0x10FFFF}, {0x20, 0x20},
    }
    for _ = 1, 2000 do
      local chars = {}
      for k = 1, random(30) - 1 do
        local range = ranges[random(#ranges)]
        chars[k] = utf8.char(range[1] + random(range[2] - range[1] + 1) - 1)
      end
      local s = table.concat(chars)
      assert.equal(collapse(s), bpe:decode(bpe:encode(s)))
    end
  end)

  it("gives back random bytes, those that are no UTF-8 as U+FFFD", function()
    local random = new_random(8)
    for _ = 1, 2000 do
      local bytes = {}
      for k = 1, random(20) - 1 do
        local kind = random(3)
        bytes[k] = string.char(kind == 1 and random(128) - 1
          or kind == 2 and 0x7F + random(64) or 0xBF + random(64))
      end
      local s = table.concat(bytes)
      assert.equal(unicode.repair(collapse(s)), bpe:decode(bpe:encode(s)))
    end
  end)

  it("loses nothing of text that it has seen, without byte tokens", function()
    local plain = BPE.train(corpus, {byte_fallback = false})
    for _, s in ipairs(corpus) do
      assert.equal(s, plain:decode(plain:encode(s)))
    end
    assert.equal("a t", plain:decode(plain:encode("a \u{1F600}t")))
  end)

  it("skips specials", function()
    local ids = bpe:encode("the cat")
    table.insert(ids, 1, bpe.bos)
    table.move({bpe.eos, bpe.pad, bpe.unk}, 1, 3, #ids + 1, ids)
    assert.equal("the cat", bpe:decode(ids))
    assert.equal("", bpe:decode({}))
  end)

  it("makes U+FFFD of bytes that do not make a character", function()
    local e2, ac = bpe:id("<0xE2>"), bpe:id("<0xAC>")
    assert.equal("\u{FFFD}t\u{FFFD}", bpe:decode({e2, bpe:id("t"), ac}))
    assert.equal("\u{20AC}", bpe:decode({e2, bpe:id("<0x82>"), ac}))
  end)

  it("takes integers that are floats", function()
    assert.equal("t", bpe:decode({bpe:id("t") + 0.0}))
  end)

  it("refuses ids outside the vocabulary", function()
    local small = BPE.train({"a"}, {byte_fallback = false}) -- 4 and ▁, a
    for _, case in ipairs {
      {0, "0"}, {7, "7"}, {-1, "-1"}, {1.5, "1.5"}, {"5", '"5"'},
      {{}, "a table"}, {0 / 0, "nan"},
    } do
      assert.equal("BPE.decode: ids[2] must be an integer in 1..6, got "
        .. case[2], message(small.decode, small, {1, case[1]}))
    end
    assert.equal("BPE.decode: ids must be a table, got 7",
      message(bpe.decode, bpe, 7))
    assert.equal("BPE.token: id must be an integer in 1..6, got 7",
      message(small.token, small, 7))
  end)
end)
