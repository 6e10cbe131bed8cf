local heed = require "heed"
local message = require "spec.support.message"
local text = heed.text

describe("text.load", function()
  local name

  before_each(function() name = os.tmpname() end)
  after_each(function() os.remove(name) end)

  local TEXTS <const> = {"a small text, \u{E9}t\u{E9}", "another small text"}

  for class, t in pairs {
    BPE = text.BPE.train(TEXTS, {vocab_size = 280}),
    Characters = text.Characters.train(TEXTS),
    WordPiece = text.WordPiece.train(TEXTS, {vocab_size = 60}),
    Words = text.Words.train(TEXTS),
  } do
    it("reads a " .. class .. " that save wrote", function()
      t:save(name)
      local again = assert(text.load(name))
      assert.equal(tostring(t), tostring(again))
      local sample = "a small \u{E9}t\u{E9}, another"
      assert.same(t:encode(sample), again:encode(sample))
      assert.same(t:tokens(sample), again:tokens(sample))
      assert.equal(t:decode(t:encode(sample)),
        again:decode(again:encode(sample)))
    end)
  end

  it("reads a Vocabulary", function()
    local v = text.Vocabulary.build({{"a", "b", "a"}})
    v:save(name)
    assert.same(v:to_table(), text.load(name):to_table())
  end)

  it("gives nil for a file that holds none", function()
    local function fault(content)
      local out = assert(io.open(name, "wb"))
      out:write(content)
      out:close()
      local t, said = text.load(name)
      assert.is_nil(t)
      return (said:gsub(name, "FILE", 1))
    end
    assert.equal("text.load: FILE: no JSON object: 3", fault "3")
    assert.equal("text.load: FILE: tokenizer: model is missing", fault "{}")
    assert.equal("text.load: FILE: no tokeniser: format is 7",
      fault '{"format": 7}')
    assert.equal("text.load: FILE: Words.from_table: version must be 1, got 9",
      fault '{"format": "heed.words", "version": 9}')
    assert.equal("text.load: FILE: no JSON object: ", fault("{"):sub(1, 33))
    local t, said = text.load("no/such.json")
    assert.is_nil(t)
    assert.equal("text.load: no/such.json: No such file or directory", said)
    assert.equal("text.load: path must be a string, got nil",
      message(text.load))
  end)
end)
