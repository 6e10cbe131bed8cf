local heed = require "heed"
local models, nn, text = heed.models, heed.nn, heed.text

local function small(options)
  heed.manual_seed(3)
  local config = {
    src_vocab = 11, tgt_vocab = 11, d_model = 8, heads = 2,
    encoder_layers = 2, decoder_layers = 2, ff = 16, dropout = 0,
    max_length = 12,
  }
  for key, value in pairs(options or {}) do config[key] = value end
  return models.Translator(config)
end

local function ids(rows) return heed.tensor(rows, {dtype = "int64"}) end

-- The largest difference of two tensors.
local function distance(a, b) return (a - b):abs():max():item() end

describe("Translator", function()
  it("scores every id at every position of the target", function()
    local y = small()(ids {{4, 5, 6}, {7, 8, 1}}, ids {{2, 4}, {2, 9}},
      ids {3, 2})
    assert.same({2, 2, 11}, y.shape)
  end)

  it("does not see what pads the source", function()
    local model = small()
    local long = model(ids {{4, 5, 1, 1}}, ids {{2, 4}}, ids {2})
    local other = model(ids {{4, 5, 9, 3}}, ids {{2, 4}}, ids {2})
    local short = model(ids {{4, 5}}, ids {{2, 4}})
    assert.equal(0, distance(long, other))
    assert.is_true(distance(long, short) < 1e-5)
  end)

  it("does not see the target's future", function()
    local model = small()
    local a = model(ids {{4, 5}}, ids {{2, 4, 6}})
    local b = model(ids {{4, 5}}, ids {{2, 4, 9}})
    assert.equal(0, distance(a[{{}, {1, 2}}], b[{{}, {1, 2}}]))
    assert.is_true(distance(a[{{}, 3}], b[{{}, 3}]) > 1e-3)
  end)

  it("gives the same scores step by step with a cache", function()
    local model = small():eval()
    local src, lens = ids {{4, 5, 6}, {7, 8, 1}}, ids {3, 2}
    local tgt = ids {{2, 4, 9, 5}, {2, 6, 6, 7}}
    local whole = model(src, tgt, lens)
    local guard <close> = heed.no_grad()
    local memory = model:encode(src, lens)
    local cache = nn.KeyValueCache()
    for t = 1, 4 do
      local step = model:decode(tgt[{{}, {t, t}}], memory, lens,
        {cache = cache})
      assert.is_true(distance(step[{{}, 1}], whole[{{}, t}]) < 1e-5)
    end
    assert.equal("userdata", type(guard))
  end)

  it("translates greedily as without a cache", function()
    local model = small():eval()
    local src = ids {{4, 5, 6}}
    local found = model:translate(src, nil, {bos = 2, eos = 3, max_length = 6})
    local tgt = {2}
    for _ = 1, 6 do
      local y = model(src, ids {tgt})
      local best = y[{1, -1}]:argmax():item()
      if best == 3 then break end
      tgt[#tgt + 1] = best
    end
    assert.same(table.move(tgt, 2, #tgt, 1, {}), found[1])
  end)

  it("translates a batch as each sentence alone", function()
    local model = small():eval()
    local options = {bos = 2, eos = 3, beam = 3, max_length = 6}
    local both = model:translate(ids {{4, 5, 6, 7}, {8, 9, 1, 1}}, ids {4, 2},
      options)
    assert.same(model:translate(ids {{4, 5, 6, 7}}, nil, options)[1], both[1])
    assert.same(model:translate(ids {{8, 9}}, nil, options)[1], both[2])
  end)

  it("goes back to training after a translation", function()
    local model = small():train()
    model:translate(ids {{4}}, nil, {bos = 2, eos = 3})
    assert.is_true(model.training)
  end)

  it("shows what the target attended to, as rows that sum to 1", function()
    local weights = small():attention(ids {4, 5, 6}, ids {2, 4})
    assert.equal(2, #weights)
    for _, w in ipairs(weights) do
      assert.same({2, 3}, w.shape)
      assert.is_true(distance(w:sum(2), heed.ones(2)) < 1e-6)
    end
  end)

  it("has one matrix for embeddings and head when tied", function()
    local model = small {tied = true}
    assert.is_true(model.src_embedding.weight == model.head.weight)
    assert.equal(small():num_parameters() - 2 * 11 * 8,
      model:num_parameters())
    model(ids {{4}}, ids {{2}}):sum():backward()
    assert.same({11, 8}, model.head.weight.grad.shape)
  end)

  it("learns to copy", function()
    local model = small {d_model = 16, ff = 32, tied = true}
    local optimizer = heed.optim.Adam(model:parameters(), {lr = 5e-3})
    for _ = 1, 600 do -- every seed tried has learnt it by then
      local src = heed.randint(4, 11, {16, 3})
      local bos, eos = heed.full({16, 1}, 2, "int64"),
        heed.full({16, 1}, 3, "int64")
      local y = model(src, heed.cat({bos, src}, 2))
      local loss = nn.functional.cross_entropy(y:flatten(1, 2),
        heed.cat({src, eos}, 2):flatten())
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
    end
    local found = model:translate(ids {{7, 4, 9}, {10, 10, 5}}, nil,
      {bos = 2, eos = 3})
    assert.same({{7, 4, 9}, {10, 10, 5}}, found)
  end)

  it("checks its sizes", function()
    for _, case in ipairs {
      {{heads = 3}, "Translator: d_model 8 must be a multiple of heads 3"},
      {{src_vocab = 0},
        "Translator: src_vocab must be an integer of at least 1, got 0"},
      {{tied = true, tgt_vocab = 12}, "Translator: tied needs one "
        .. "vocabulary, got src_vocab 11 and tgt_vocab 12"},
      {{layers = 3}, 'Translator: unknown option "layers"; known: '},
    } do
      assert.error_matches(function() small(case[1]) end, case[2], 1, true)
    end
  end)

  it("says so when a sentence is longer than its positions", function()
    assert.error_matches(function()
      small {max_length = 3}(ids {{4, 5, 6, 7}}, ids {{2}})
    end, "length 4 exceeds max_length 3", 1, true)
  end)
end)

describe("Translation", function()
  local corpus = {"a cat sat", "a dog sat", "the cat ran", "the dog ran"}
  local path

  local function translation()
    local bpe = text.BPE.train(corpus, {vocab_size = 300, min_frequency = 1})
    local model = small {src_vocab = #bpe, tgt_vocab = #bpe}
    return models.Translation(model, bpe)
  end

  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  local function fault(f, ...)
    local ok, message = pcall(f, ...)
    assert.is_false(ok)
    return (message:gsub("^[^\n]-:%d+: ", ""))
  end

  local function write(content)
    local file = assert(io.open(path, "wb"))
    file:write(content)
    file:close()
  end

  it("translates texts of any length and number", function()
    local t = translation()
    assert.same({}, t:translate {})
    local found = t:translate({"a cat", "", "the dog ran"}, {max_length = 5})
    assert.equal(3, #found)
    assert.equal("", found[2])
  end)

  it("is the same after saving and loading", function()
    local t = translation()
    t:save(path)
    local loaded = models.Translation.load(path)
    assert.same(t.model.config, loaded.model.config)
    assert.same(t:translate(corpus, {max_length = 8}),
      loaded:translate(corpus, {max_length = 8}))
    local there = loaded.model:state_dict()
    for name, tensor in pairs(t.model:state_dict()) do
      assert.same(tensor:totable(), there[name]:totable())
    end
  end)

  it("names the tokens that attention is shown for", function()
    local a = translation():attention("a cat", {max_length = 4})
    assert.same({#a.target, #a.source}, a.weights.shape)
    assert.equal("<eos>", a.target[#a.target])
  end)

  it("gives the attention of all layers and heads", function()
    local t <const> = translation()
    local a <const> = t:attention("a cat", {max_length = 4})
    local names = {}
    for i, one in ipairs(a.attentions) do
      names[i] = one.name
      local keys <const> = one.keys or one.tokens
      for _, w in ipairs(one.weights) do
        assert.same({1, t.model.config.heads, #one.tokens, #keys}, w.shape)
      end
    end
    assert.same({"encoder", "decoder", "decoder to encoder"}, names)
    local encoder <const>, decoder <const>, cross <const> =
      table.unpack(a.attentions)
    assert.equal(t.model.config.encoder_layers, #encoder.weights)
    assert.same(a.source, encoder.tokens)
    assert.equal("<bos>", decoder.tokens[1])
    assert.same({table.unpack(a.target, 1, #a.target - 1)},
      {table.unpack(decoder.tokens, 2)})
    assert.same(a.target, cross.tokens)
    assert.same(a.source, cross.keys)
    local last <const> = cross.weights[#cross.weights]:squeeze(1):mean(1)
    assert.same(a.weights:totable(), last:totable())
    assert.is_string(heed.plot.attention_html(a.attentions))
  end)

  it("shows the attention of a translation that fills the positions",
    function()
      -- a model that never ends: what it says spells more bytes than it has
      -- positions
      local t = translation()
      heed.no_grad(function() t.model.head.bias[t.tokenizer.eos] = -1e4 end)
      local a = t:attention("a cat")
      assert.equal(12, #a.target)
      assert.same({12, #a.source}, a.weights.shape)
    end)

  it("refuses a text with more tokens than positions", function()
    assert.matches("^translate: texts%[2%] has %d+ tokens, more than the 12 "
      .. "positions of this model: ", fault(translation().translate,
      translation(), {"a", ("z"):rep(40)}))
  end)

  it("refuses text that is not UTF-8", function()
    assert.matches("^translate: texts%[1%]: ",
      fault(translation().translate, translation(), {"a\xff"}))
  end)

  it("refuses a file that is cut short", function()
    translation():save(path)
    local file = assert(io.open(path, "rb"))
    local content = file:read("a")
    file:close()
    for _, n in ipairs {0, 5, 100, #content - 1} do
      write(content:sub(1, n))
      assert.matches(path, fault(models.Translation.load, path), 1, true)
    end
  end)

  it("refuses a file of another kind", function()
    heed.save_safetensors(path, {w = heed.zeros(2)}, {})
    assert.equal(("Translation.load: %s: format must be "
      .. '"heed.translation.1", got nil'):format(path),
      fault(models.Translation.load, path))
  end)

  it("refuses the weights of another model", function()
    local t = translation()
    t.model.config.ff = 17
    t:save(path)
    assert.matches("linear1.weight is [17 8] here and [16 8] there",
      fault(models.Translation.load, path), 1, true)
  end)

  it("leaves the old file as it was when it cannot be written", function()
    local missing = path .. ".d/model.safetensors"
    assert.matches(missing, fault(translation().save, translation(), missing),
      1, true)
  end)

  it("wants a tokenizer of the model's size", function()
    assert.matches("^Translation: the tokenizer has %d+ tokens, the model "
      .. "wants 11 and 11", fault(models.Translation, small(),
      translation().tokenizer))
  end)
end)
