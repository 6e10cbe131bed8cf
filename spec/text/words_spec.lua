local cjson = require "cjson"
local heed = require "heed"
local message = require "spec.support.message"
local Words = heed.text.Words

describe("Words", function()
  it("numbers words by falling frequency behind the specials", function()
    local t = Words.train({"A rose is a rose.", "a"}, {lowercase = true})
    assert.equal(8, #t)
    assert.same({5, 6, 8, 7}, t:encode "a rose is.")
    assert.same({1, 2, 3, 4}, {t.pad, t.bos, t.eos, t.unk})
    assert.equal("Words(8 words: 4 specials)", tostring(t))
  end)

  it("cuts at white space and punctuation, in every script", function()
    local t = Words.train({"don't stop\u{A0}\u{3000}now \u{E9}t\u{E9}, "
      .. "\u{43C}\u{438}\u{440}! 10,5"})
    assert.same({"don", "'", "t", "stop", "now", "\u{E9}t\u{E9}", ",",
      "\u{43C}\u{438}\u{440}", "!", "10", ",", "5"},
      t:tokens("don't stop now e\u{301}te\u{301}, \u{43C}\u{438}\u{440}! 10,5"))
  end)

  it("gives <unk> for unknown words, also for specials in a text", function()
    local t = Words.train({"a b a b b c"}, {min_frequency = 2})
    assert.same({6, 4, 5, 4}, t:encode "a c b \xFF")
    assert.equal("a <unk> b <unk>", t:decode(t:encode "a c b \xFF"))
    t = Words.train({"a"}, {specials = {"<unk>"}})
    assert.same({1, 1, 1, 2}, t:encode "<unk>a")
  end)

  it("leaves specials out of the text", function()
    local t = Words.train({"a b"})
    assert.equal("a b", t:decode({2, 5, 6, 3, 1}))
    assert.equal("a b", t:decode(heed.tensor {5, 6}))
  end)

  it("comes back from its table", function()
    local t = Words.train({"A b"}, {lowercase = true})
    local again = Words.from_table(cjson.decode(cjson.encode(t:to_table())))
    assert.same(t:encode "B A x", again:encode "B A x")
    assert.same(t:to_table(), again:to_table())
  end)

  it("refuses wrong arguments", function()
    local t = Words.train({"a"})
    assert.equal("Words.decode: ids[2] must be an integer in 1..5, got 6",
      message(t.decode, t, {1, 6}))
    assert.equal("Words.train: texts[2] must be a string, got 3",
      message(Words.train, {"a", 3}))
    assert.equal('Words.train: specials must hold "<unk>"',
      message(Words.train, {"a"}, {specials = {}}))
    local function text(change)
      local state = t:to_table()
      for key, value in pairs(change) do state[key] = value end
      return message(Words.from_table, state)
    end
    local head = "Words.from_table: "
    assert.equal(head .. 'format must be "heed.words", got nil',
      message(Words.from_table, {}))
    assert.equal(head .. "lowercase must be a boolean, got 1",
      text({lowercase = 1}))
    assert.equal(head .. 'words[1]: "<unk>" is there twice',
      text({words = {"<unk>"}}))
    assert.equal(head .. 'specials must hold "<unk>"',
      text({specials = {"<pad>"}}))
  end)
end)
