-- Tokenisers from the files that models ship: the ids of the reference
-- implementations (golden/make.py) on 5,000 lines in many scripts.

local heed = require "heed"
local lines = require "spec.text.lines"
local with_folder = require "spec.support.with_folder"
local text = heed.text

local FOLDER <const> = "spec/text/golden/"

local FILES <const> = {
  wordpiece = {"wordpiece.json", special = true},
  byte_level = {"byte_level.json", special = true},
  byte_level_split = {"byte_level_split.json", special = true},
  fallback = {"fallback.json", special = true},
  metaspace = {"metaspace.json", special = true},
  sp_unigram = {"unigram.model"}, sp_bpe = {"bpe.model"},
}

-- One number for all ids, counted from 0.
local function hash(ids)
  local h = 0
  for _, id in ipairs(ids) do h = (31 * h + id) & 0x7FFFFFFF end
  return h
end

local function load(name)
  return assert(text.load(FOLDER .. FILES[name][1]))
end

-- All lines in long runs, else some of each kind.
local STEP <const> = os.getenv "HEED_LONG" and 1 or 5

describe("a tokeniser of a model", function()
  local all = lines()
  local want <const> = heed.load_safetensors(FOLDER .. "ids.safetensors")

  for name, file in pairs(FILES) do
    it("gives the reference's ids: " .. name, function()
      local t = load(name)
      local hashes = want[name]:totable()
      for i = 1, #all, STEP do
        local line = all[i]
        local ids = t:encode(line, {special = file.special})
        if hash(ids) ~= hashes[i] then
          error(("line %d, %q: %s\n%s"):format(i, line,
            table.concat(ids, " "), table.concat(t:tokens(line), "|")))
        end
      end
    end)

    it("gives the reference's texts back: " .. name, function()
      local t = load(name)
      local hashes = want[name .. "_text"]:totable()
      for i = 1, #all, STEP do
        local decoded = t:decode((t:encode(all[i], {special = file.special})))
        local bytes = {decoded:byte(1, -1)}
        for j, byte in ipairs(bytes) do bytes[j] = byte + 1 end
        if hash(bytes) ~= hashes[i] then
          error(("line %d, %q: %q"):format(i, all[i], decoded))
        end
      end
    end)
  end
end)

describe("text.load of a model's files", function()
  it("reads GPT-2's two files, and the roles beside them", function()
    with_folder({["encoder.json"] =
      '{"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3}',
      ["vocab.bpe"] = "#version: 0.2\na b\n"}, function(folder)
      for _, path in ipairs {folder, folder .. "/encoder.json",
        folder .. "/vocab.bpe"} do
        local t = assert(text.load(path))
        assert.same({3, 4, 2}, (t:encode "ab<|endoftext|>b"))
        assert.equal("abb", t:decode {3, 4, 2})
        assert.equal("ab<|endoftext|>", t:decode({3, 4}, {special = true}))
        assert.equal(4, t.eos)
      end
    end)
  end)

  it("reads BERT's vocabulary, with its case and its pairs", function()
    local vocab <const> = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nHa\n##llo\nhallo\n"
    with_folder({["vocab.txt"] = vocab}, function(folder)
      local t = assert(text.load(folder))
      assert.same({3, 7, 4}, (t:encode("HALLO", {special = true})))
      local ids, types = t:encode("hallo", {special = true, pair = "hallo"})
      assert.same({3, 7, 4, 7, 4}, ids)
      assert.same({1, 1, 1, 2, 2}, types)
      assert.same({1, 3, 4}, {t.pad, t.cls, t.sep})
    end)
    with_folder({["vocab.txt"] = vocab,
      ["tokenizer_config.json"] = '{"do_lower_case": false}'},
      function(folder)
        assert.same({5, 6}, (assert(text.load(folder)):encode "Hallo"))
      end)
  end)

  it("numbers a Marian's pieces by vocab.json", function()
    local file = assert(io.open(FOLDER .. "unigram.model", "rb"))
    local model = file:read "a"
    file:close()
    with_folder({["source.spm"] = model, ["vocab.json"] =
      '{"</s>": 0, "<unk>": 1, "▁the": 2, "▁cat": 3, "<pad>": 4}'},
      function(folder)
        local t = assert(text.load(folder))
        assert.same({3, 4, 1}, (t:encode("the cat", {special = true})))
        assert.equal("the cat", t:decode {3, 4, 1})
        assert.same({2, 2, 1}, (t:encode("東", {special = true})))
        assert.same({1, 5, 2}, {t.eos, t.pad, t.unk})
      end)
  end)

  it("keeps all of it when it is saved", function()
    local path = os.tmpname()
    for name in pairs(FILES) do
      local t = load(name)
      t:save(path)
      local again = assert(text.load(path))
      for _, line in ipairs {"The cat, 東京 😀!", "  don't  x1234"} do
        assert.same(t:encode(line, {special = true}),
          again:encode(line, {special = true}))
      end
    end
    os.remove(path)
  end)

  it("names the part that it does not know", function()
    for json, fault in pairs {
      ['{"model": {"type": "WordLevel", "vocab": {}}}'] = "tokenizer: model "
        .. 'must be one of BPE, Unigram, WordPiece, got "WordLevel"',
      ['{"model": {"type": "WordPiece", "vocab": {"a": -1}}}'] = "tokenizer: "
        .. "model WordPiece: an id must be an integer from 0 to 16777215, "
        .. "got -1",
      ['{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}'] =
        'tokenizer: model BPE: merges[1]: "b" is not in vocab',
      ['{"model": {"type": "Unigram", "vocab": [["a"]]}}'] = "tokenizer: "
        .. "model Unigram: vocab[1] must be a token and its score, got a table",
      ['{"model": {"type": "WordPiece", "vocab": {"a": 0}},'
        .. '"normalizer": {"type": "Magic"}}'] =
        "tokenizer: normalizer must be one of BertNormalizer, Lowercase, NFC, "
        .. "NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, "
        .. 'SentencePiece, Sequence, Strip, StripAccents, got "Magic"',
      ['{"model": {"type": "WordPiece", "vocab": {"a": 0}},'
        .. '"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("},'
        .. '"behavior": "Isolated"}}'] =
        'tokenizer: pre_tokenizer Split: pattern "("',
    } do
      with_folder({["tokenizer.json"] = json}, function(folder)
        local t, said = text.load(folder)
        assert.is_nil(t)
        assert.equal(("text.load: %s: %s"):format(folder, fault),
          said:sub(1, #folder + #fault + 13))
      end)
    end
  end)

  it("refuses broken SentencePiece and llama2.c files", function()
    local file = assert(io.open(FOLDER .. "bpe.model", "rb"))
    local model = file:read "a"
    file:close()
    local path = os.tmpname()
    local function write(name, bytes)
      local out = assert(io.open(path .. name, "wb"))
      out:write(bytes)
      out:close()
      return text.load(path .. name)
    end
    for n = 1, 60 do -- cut short, and bytes that are others
      local at = n * 67 % #model + 1
      pcall(write, ".model", model:sub(1, at))
      pcall(write, ".model", model:sub(1, at - 1) ..
        string.char(n) .. model:sub(at + 1))
    end
    assert.same({nil, ("text.load: %s.model: must be a SentencePiece model")
      :format(path)}, {write(".model", "\xFF\xFF")})
    assert.same({nil, ("text.load: %s.bin: must be a tokeniser of llama2.c; "
      .. "token 0 is cut short"):format(path)},
      {write(".bin", ("\xFF"):rep(20))})
    os.remove(path .. ".model")
    os.remove(path .. ".bin")
    os.remove(path)
  end)

  it("survives tokenizer.json with other bytes in it", function()
    local file = assert(io.open(FOLDER .. "metaspace.json", "rb"))
    local json = file:read "a"
    file:close()
    with_folder({}, function(folder)
      for n = 1, 40 do
        local at = n * 7919 % #json + 1
        local out = assert(io.open(folder .. "/tokenizer.json", "wb"))
        out:write(json:sub(1, at - 1), ("[]{}:,\"0x"):sub(n % 9 + 1, n % 9 + 1),
          json:sub(at + 1))
        out:close()
        local t, said = text.load(folder)
        assert.is_true(t ~= nil or type(said) == "string")
        if t then pcall(t.encode, t, "the cat 東京") end
      end
    end)
  end)
end)
