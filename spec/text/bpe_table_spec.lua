local cjson = require "cjson"
local BPE = require "heed.text".BPE
local message = require "spec.support.message"

local function blame(f)
  return (select(2, pcall(f)))
end

local texts = {"L'été, l'eau était froide.", "the cat, the dog, the mat"}

describe("BPE.to_table", function()
  for _, byte_fallback in ipairs {true, false} do
    it("comes back the same through JSON, byte_fallback = "
      .. tostring(byte_fallback), function()
      local bpe = BPE.train(texts, {byte_fallback = byte_fallback})
      local again = BPE.from_table(cjson.decode(cjson.encode(bpe:to_table())))
      assert.same(bpe:to_table(), again:to_table())
      assert.equal(#bpe, #again)
      assert.equal(bpe.eos, again.eos)
      for id = 1, #bpe do assert.equal(bpe:token(id), again:token(id)) end
      for _, s in ipairs {texts[1], texts[2], "a théâtre \u{1F600}"} do
        assert.same(bpe:encode(s), again:encode(s))
      end
    end)
  end

  it("is a copy", function()
    local bpe = BPE.train(texts)
    bpe:to_table().characters[1] = "?"
    assert.are_not.equal("?", bpe:to_table().characters[1])
  end)
end)

describe("BPE.from_table", function()
  local function small()
    return {
      format = "heed.bpe", version = 1, byte_fallback = false,
      specials = {"<pad>", "<unk>"}, characters = {"a", "b", "▁"},
      merges = {"a b", "▁ ab"}, size = 7,
    }
  end

  it("numbers the pieces in their order", function()
    local bpe = BPE.from_table(small())
    local got = {}
    for id = 1, #bpe do got[id] = bpe:token(id) end
    assert.same({"<pad>", "<unk>", "a", "b", "▁", "ab", "▁ab"}, got)
    assert.same({7, 6, 2}, bpe:encode("ababc"))
  end)

  it("takes two merges that make the same piece", function()
    local t = small()
    t.merges = {"a b", "ab a", "b a", "a ba"}
    t.size = 8
    local bpe = BPE.from_table(t)
    assert.equal("aba", bpe:token(7))
    assert.equal("ba", bpe:token(8))
  end)

  it("keeps no hold of the table", function()
    local t = small()
    local bpe = BPE.from_table(t)
    t.characters[1], t.specials[1] = "x", "<x>"
    assert.same(small(), bpe:to_table())
  end)

  local two_pieces = "must be two earlier pieces with a space between, got "
  local wrong = {
    {"format", "other", 'format must be "heed.bpe", got "other"'},
    {"format", nil, 'format must be "heed.bpe", got nil'},
    {"version", 2.0, "version must be 1, got 2"},
    {"byte_fallback", "yes", 'byte_fallback must be a boolean, got "yes"'},
    {"specials", 3, "specials must be a list, got 3"},
    {"specials", {"<pad>"},
      'specials must hold "<unk>" when byte_fallback is false'},
    {"specials", {"<unk>", "pad"}, 'specials[2]: "pad" could be a piece of a '
      .. 'text; wanted a form such as "<pad>"'},
    {"characters", "x", 'characters must be a list, got "x"'},
    {"characters", {"ab"}, 'characters[1]: "ab" is not one character'},
    {"characters", {"a", "\xFF"},
      'characters[2]: "\\xFF" is not one character'},
    {"characters", {""}, 'characters[1]: "" is not one character'},
    {"characters", {"a", "\n"}, 'characters[2]: "\\x0A" is white space'},
    {"characters", {"a", "a"}, 'characters[2]: "a" is there twice'},
    {"characters", {"a", first = "b"},
      'characters must be a list, got the key "first"'},
    {"characters", {"a", [3] = "b", [5] = "c"},
      "characters must be a list, got the key "},
    {"merges", nil, "merges must be a list, got nil"},
    {"merges", {"a b", 5}, "merges[2] must be a string, got 5"},
    {"merges", {"ab"}, "merges[1] " .. two_pieces .. '"ab"'},
    {"merges", {"a  b"}, "merges[1] " .. two_pieces .. '"a  b"'},
    {"merges", {"a b "}, "merges[1] " .. two_pieces .. '"a b "'},
    {"merges", {"a b", "a c"}, "merges[2] " .. two_pieces .. '"a c"'},
    {"merges", {"<pad> a"}, "merges[1] " .. two_pieces .. '"<pad> a"'},
    {"merges", {"a b", "a b"}, 'merges[2]: "a b" is there twice'},
    {"size", 12, "size must be 7, the number of pieces, got 12"},
    {"size", nil, "size must be 7, the number of pieces, got nil"},
  }
  for _, case in ipairs(wrong) do
    it("says that " .. case[3], function()
      local t = small()
      t[case[1]] = case[2]
      local want = "BPE.from_table: " .. case[3]
      -- Which of two keys past a hole is met first is not fixed.
      assert.equal(want, message(BPE.from_table, t):sub(1, #want))
    end)
  end

  it("never lets a merge use a byte token", function()
    local t = small()
    t.byte_fallback, t.merges = true, {"a <0x41>"}
    assert.equal("BPE.from_table: merges[1] " .. two_pieces .. '"a <0x41>"',
      message(BPE.from_table, t))
  end)

  it("refuses pieces that double without end", function()
    local t = small()
    t.merges = {}
    local piece = "a"
    for i = 1, 60 do
      t.merges[i] = piece .. " " .. piece
      if #piece < 1000 then piece = piece .. piece end
    end
    assert.equal("BPE.from_table: merges[8] makes a piece of 256 bytes, more "
      .. "than 128", message(BPE.from_table, t))
  end)

  it("wants a table", function()
    assert.equal("BPE.from_table: t must be a table, got nil",
      message(BPE.from_table))
  end)

  it("blames the line of the caller", function()
    assert.matches("^[^\n]*bpe_table_spec.lua:%d+: BPE.from_table: format",
      blame(function() local _ = BPE.from_table({}) end))
  end)
end)
