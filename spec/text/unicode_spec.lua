local unicode = require "heed.core".unicode

local function message(f, ...)
  local ok, text = pcall(f, ...)
  assert.is_false(ok)
  return text
end

describe("unicode.nfc", function()
  it("composes a letter and its accent", function()
    assert.equal("\u{E9}t\u{E9}", unicode.nfc("e\u{301}te\u{301}"))
  end)

  it("orders marks by their class before it composes", function()
    -- The cedilla (202) stands before the acute accent (230).
    assert.equal("\u{1E09}", unicode.nfc("c\u{301}\u{327}"))
    assert.equal("q\u{323}\u{307}", unicode.nfc("q\u{307}\u{323}"))
  end)

  it("composes Hangul", function()
    assert.equal("\u{D55C}", unicode.nfc("\u{1112}\u{1161}\u{11AB}"))
  end)

  it("replaces what has a canonical form of its own", function()
    assert.equal("\u{3A9}K", unicode.nfc("\u{2126}\u{212A}"))
    assert.equal("\u{915}\u{93C}", unicode.nfc("\u{958}"))
  end)

  it("leaves compatibility characters alone", function()
    assert.equal("\u{FB01}\u{2460}", unicode.nfc("\u{FB01}\u{2460}"))
  end)

  it("keeps zero bytes and the empty string", function()
    assert.equal("a\0\u{E9}\0", unicode.nfc("a\0e\u{301}\0"))
    assert.equal("", unicode.nfc(""))
  end)

  it("takes a million marks on one letter", function()
    local s = unicode.nfc("a" .. ("\u{345}\u{327}"):rep(500000))
    assert.equal("a" .. ("\u{327}"):rep(500000), s:sub(1, 1000001))
  end)

  it("says where a string is not UTF-8", function()
    local s, text = unicode.nfc("caf\xE9")
    assert.is_nil(s)
    assert.equal("unicode.nfc: s: invalid UTF-8 at byte 4", text)
  end)

  it("refuses what is no string", function()
    assert.equal("unicode.nfc: s must be a string, got no value",
      message(unicode.nfc))
    assert.equal("unicode.nfc: s must be a string, got number",
      message(unicode.nfc, 12))
  end)
end)

describe("unicode.valid", function()
  it("accepts each length of character, and zero bytes", function()
    assert.is_true(unicode.valid("a\0\u{E9}\u{20AC}\u{1F600}\u{10FFFF}"))
    assert.is_true(unicode.valid(""))
  end)

  local cases = {
    {"a stray continuation", "ab\x80", 3},
    {"a cut character", "ab\xE2\x82", 3},
    {"a form longer than needed", "\xC0\xAF", 1},
    {"a longer form of three bytes", "x\xE0\x80\x80", 2},
    {"a surrogate", "\xED\xA0\x80", 1},
    {"a code point past the last", "\xF4\x90\x80\x80", 1},
    {"a byte that never occurs", "ok \xFF", 4},
  }
  for _, case in ipairs(cases) do
    it("finds " .. case[1], function()
      local ok, position = unicode.valid(case[2])
      assert.is_false(ok)
      assert.equal(case[3], position)
    end)
  end
end)

describe("unicode.repair", function()
  it("puts one U+FFFD for the longest start of a character", function()
    -- The example of the Unicode standard, table 3-8.
    assert.equal("a\u{FFFD}\u{FFFD}\u{FFFD}b\u{FFFD}c\u{FFFD}\u{FFFD}d",
      unicode.repair("a\xF1\x80\x80\xE1\x80\xC2b\x80c\x80\xBFd"))
  end)

  it("leaves valid text alone", function()
    assert.equal("\u{4F60}\u{597D}\0", unicode.repair("\u{4F60}\u{597D}\0"))
  end)
end)

describe("unicode.lower", function()
  it("knows letters beyond ASCII", function()
    assert.equal("\u{E9}cole \u{3C3}\u{434} 1\u{DF}",
      unicode.lower("\u{C9}COLE \u{3A3}\u{414} 1\u{DF}"))
  end)

  it("keeps bytes that are not UTF-8", function()
    assert.equal("\xC3a\xFF\0", unicode.lower("\xC3A\xFF\0"))
  end)
end)

describe("unicode.trim", function()
  it("takes every white space from the ends, none from within", function()
    assert.equal("a\u{A0}b",
      unicode.trim("\u{3000}\t a\u{A0}b\u{202F}\u{85}\r\n"))
    assert.equal("", unicode.trim(" \u{2029}"))
    assert.equal("", unicode.trim(""))
    assert.equal("\xFF", unicode.trim(" \xFF "))
  end)
end)

describe("unicode.words", function()
  local function words(s) return table.concat(unicode.words(s), "|") end

  it("marks what follows white space or starts the text", function()
    assert.equal("▁The|▁cat|.", words("The cat."))
    assert.equal("▁a|▁b", words("  a \t\n b "))
    assert.equal("", words(" \u{A0} "))
    assert.equal("", words(""))
  end)

  it("splits at apostrophes and every other punctuation", function()
    assert.equal("▁L|'|eau|▁n|’|est|-|elle|▁pas|▁?|!",
      words("L'eau n’est-elle pas ?!"))
    assert.equal("▁1|,|000|.|5|▁€", words("1,000.5 €"))
  end)

  it("keeps marks with what they stand on", function()
    assert.equal("▁e\u{301}te\u{301}", words("e\u{301}te\u{301}"))
    assert.equal("▁❤\u{FE0F}|ok", words("❤\u{FE0F}ok"))
    assert.equal("▁\u{301}a", words("\u{301}a"))
  end)

  it("does not split writing without spaces", function()
    assert.equal("▁你好|。|▁नमस्ते", words("你好。 नमस्ते"))
  end)

  it("takes emoji one by one", function()
    assert.equal("▁👩|\u{200D}|💻", words("👩\u{200D}💻"))
  end)

  it("takes U+2581 of the text as white space", function()
    assert.equal("▁a|▁b", words("a\u{2581}b\u{2581}"))
  end)

  it("keeps bytes that are not UTF-8 as pieces", function()
    assert.equal("▁a|\xE2\x82|b|▁\x80", words("a\xE2\x82b \x80"))
  end)
end)
