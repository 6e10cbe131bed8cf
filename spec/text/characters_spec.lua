local cjson = require "cjson"
local heed = require "heed"
local message = require "spec.support.message"
local Characters = heed.text.Characters

local FAMILY <const> = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}"

local function list_of(t)
  local list = {}
  for id = 1, #t do list[id] = t:token(id) end
  return list
end

describe("Characters", function()
  it("numbers specials, bytes, then the characters in byte order", function()
    local t = Characters.train({"ba", "\u{E9}b"}, {specials = {"<pad>"}})
    assert.equal(1 + 256 + 3, #t)
    assert.equal(1, t.pad)
    assert.equal("<0x00>", t:token(2))
    assert.equal("<0xFF>", t:token(257))
    assert.equal(258, t:id "a")
    assert.equal(260, t:id "\u{E9}")
    assert.same({259, 258}, t:encode "ba")
    assert.equal("Characters(260 ids: 1 specials, 256 bytes, 3 codepoints)",
      tostring(t))
  end)

  it("gives back every text, byte by byte", function()
    for _, unit in ipairs {"codepoint", "grapheme"} do
      local t = Characters.train({"a b\nc", FAMILY}, {unit = unit})
      for _, text in ipairs {"", "a b\nc", " \t\r\n", "\u{E9}e\u{301}", FAMILY,
          "\0\xFF\xC0\xE2\x82", "<pad><0x41>", "\u{2581}x"} do
        assert.equal(text, t:decode(t:encode(text)))
      end
    end
  end)

  it("takes code points, or graphemes", function()
    local text = "e\u{301}" .. FAMILY
      .. "\u{1F1EB}\u{1F1F7}\r\n\u{1112}\u{1161}"
    local o = {unit = "grapheme", byte_fallback = false}
    local t = Characters.train({text}, o)
    assert.same({"e\u{301}", FAMILY, "\u{1F1EB}\u{1F1F7}", "\r\n",
      "\u{1112}\u{1161}"}, t:tokens(text))
    o.unit = "codepoint"
    assert.equal(13, #Characters.train({text}, o):encode(text))
  end)

  it("leaves rare characters to the bytes, or to <unk>", function()
    local t = Characters.train({"aab"}, {min_frequency = 2})
    assert.is_nil(t:id "b")
    assert.same({"a", "<0x62>"}, t:tokens "ab")
    t = Characters.train({"aab"}, {min_frequency = 2, byte_fallback = false})
    assert.same({"a", "<unk>"}, t:tokens "ab")
    assert.same({"<unk>"}, t:tokens "\xFF")
    assert.equal("a", t:decode(t:encode "ab"))
    t = Characters.train({"abbccc"}, {max_size = 3, byte_fallback = false,
      specials = {"<unk>"}})
    assert.same({"<unk>", "b", "c"}, list_of(t))
  end)

  it("comes back from its table", function()
    local t = Characters.train({"hello \u{E9}"}, {unit = "grapheme"})
    local again = Characters.from_table(cjson.decode(cjson.encode(
      t:to_table())))
    assert.same(list_of(t), list_of(again))
    assert.same(t:encode "hello x", again:encode "hello x")
  end)

  it("says what is wrong with a table", function()
    local function text(change)
      local t = Characters.train({"ab"}):to_table()
      for key, value in pairs(change) do t[key] = value end
      return message(Characters.from_table, t)
    end
    local head = "Characters.from_table: "
    assert.equal(head .. 'unit must be "codepoint" or "grapheme", got "word"',
      text({unit = "word"}))
    assert.equal(head .. 'characters[1]: "ab" is not one codepoint',
      text({characters = {"ab"}}))
    assert.equal(head .. 'characters[2]: "a" is there twice',
      text({characters = {"a", "a"}}))
    assert.equal(head .. 'specials must hold "<unk>" when byte_fallback is '
      .. "false", text({specials = {}, byte_fallback = false}))
  end)

  it("refuses wrong arguments", function()
    local t = Characters.train({"ab"})
    assert.equal("Characters.encode: text must be a string, got 3",
      message(t.encode, t, 3))
    assert.equal("Characters.decode: ids[1] must be an integer in 1..262, got "
      .. "263", message(t.decode, t, {263}))
    assert.equal("Characters.decode: ids[1] must be an integer in 1..262, got "
      .. "0", message(t.decode, t, {0}))
    assert.equal('Characters.train: unit must be "codepoint" or "grapheme", '
      .. 'got "byte"', message(Characters.train, {"a"}, {unit = "byte"}))
    assert.equal("Characters.train: max_size must be an integer of at least "
      .. "260, got 5", message(Characters.train, {"a"}, {max_size = 5}))
    assert.equal("Characters.train: texts[2] must be a string, got 3",
      message(Characters.train, {"a", 3}))
  end)
end)

describe("unicode.characters and unicode.graphemes", function()
  local unicode = heed.text.unicode

  it("take bytes that are not UTF-8 in the pieces that repair takes", function()
    local text = "a\xE2\x82\u{301}\xFF\xFFb"
    local want = {"a", "\xE2\x82", "\u{301}", "\xFF", "\xFF", "b"}
    assert.same(want, unicode.characters(text))
    assert.same(want, unicode.graphemes(text))
    assert.same({}, unicode.characters "")
    assert.same({}, unicode.graphemes "")
  end)

  it("refuse what is no string", function()
    for _, name in ipairs {"characters", "graphemes", "bert_words"} do
      assert.equal(("unicode.%s: s must be a string, got number"):format(name),
        message(unicode[name], 3))
    end
  end)
end)
