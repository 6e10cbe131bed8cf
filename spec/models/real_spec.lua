-- Models that were really trained: a Llama and a GPT-2 that are tiny, BERT's
-- files, and a sentence embedder.

local cjson = require "cjson"
local heed = require "heed"
require "heed.testing"
local real_data = require "spec.support.real_data"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read "a"
  file:close()
  return bytes
end

-- A test with the path of a file that may not be there.
local function case(name, file, f)
  it(name, function()
    local path, why = real_data.path(file)
    if not path then return pending(why) end
    f(path)
  end)
end

describe("stories260k, a trained Llama", function()
  local BIN <const> = "stories260k/stories260K.bin"

  case("gives the reference's scores, step by step", BIN, function(path)
    local network = heed.models.load(path).network
    local cache = heed.nn.KeyValueCache {capacity = 512}
    local steps = 0
    local _ <close> = heed.no_grad()
    for line in io.lines(real_data.path "stories260k/greedy_steps.tsv") do
      local id, best, score = line:match "^%d+\t(%d+)\t(%d+)\t(%S+)"
      if id then
        local scores = network(heed.tensor {{tonumber(id) + 1}},
          {cache = cache})[{1, 1}]
        assert.equal(tonumber(best) + 1, scores:argmax():item())
        assert.near(tonumber(score), scores:max():item(), 1e-4)
        steps = steps + 1
      end
    end
    assert.equal(256, steps)
  end)

  case("gives all scores after a text", BIN, function(path)
    local model = heed.models.load(path)
    local scores = model:logits "Once upon a time"
    local n = 0
    for line in io.lines(
        real_data.path "stories260k/logits_once_upon_a_time.tsv") do
      local id, score = line:match "^(%d+)\t(%S+)"
      if id then
        assert.near(tonumber(score), scores[{-1, tonumber(id) + 1}]:item(),
          1e-4)
        n = n + 1
      end
    end
    assert.equal(512, n)
  end)

  case("writes the reference's text, whole and in pieces", BIN, function(path)
    local model = heed.models.load(path)
    local want = read(real_data.path "stories260k/greedy.txt")
    local text, why = model:generate("", {max_tokens = 256})
    assert.equal(want, text)
    assert.equal("length", why)
    local pieces = {}
    for piece in model:stream("", {max_tokens = 256}) do
      pieces[#pieces + 1] = piece
    end
    assert.equal(want, table.concat(pieces))
    assert.is_true(#pieces > 100)
  end)

  case("goes on with several texts as with each alone", BIN, function(path)
    local model = heed.models.load(path)
    local texts = {"Once upon a time", "Tim", "The big dog was"}
    local together = model:generate(texts, {max_tokens = 20})
    for i, text in ipairs(texts) do
      assert.equal((model:generate(text, {max_tokens = 20})), together[i])
    end
  end)

  case("ends before a text to stop at", BIN, function(path)
    local model = heed.models.load(path)
    local whole = model:generate("Once upon a time", {max_tokens = 60})
    local said = {}
    local text, why = model:generate("Once upon a time", {max_tokens = 60,
      stop = {"play outside", "park."},
      on_text = function(piece) said[#said + 1] = piece end})
    assert.equal("stop", why)
    assert.equal(whole:sub(1, whole:find("play outside", 1, true) - 1), text)
    assert.equal(text, table.concat(said))
  end)
end)

describe("gpt-nano-sort, a trained GPT-2", function()
  local ALPHABET <const> =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

  local function decode(text)
    local value, bytes, bits, n = {["="] = 0}, {}, 0, 0
    for i = 1, 64 do value[ALPHABET:sub(i, i)] = i - 1 end
    local padding = #text:match "=*$"
    for char in text:gmatch "." do
      bits, n = bits << 6 | value[char], n + 1
      if n % 4 == 0 then
        bytes[#bytes + 1] = (">I3"):pack(bits & 0xFFFFFF)
        bits = 0
      end
    end
    return table.concat(bytes):sub(1, -1 - padding)
  end

  local function tensors(path)
    local result = {}
    for name, item in pairs(cjson.decode(read(path))) do
      if type(item) == "table" and item.data then
        local shape = {}
        for i, n in ipairs(item.shape) do shape[i] = math.tointeger(n) end
        result[name] = heed.frombytes(decode(item.data), shape,
          {dtype = "float32"})
      end
    end
    return result
  end

  case("gives the reference's values on the way, and sorts",
    "gpt-nano-sort/model.json", function(path)
      local network = heed.models.Gpt2 {vocab_size = 3, n_embd = 48,
        n_layer = 3, n_head = 3, n_positions = 11,
        tie_word_embeddings = false}
      local state = {}
      for name, tensor in pairs(tensors(path)) do
        local own = heed.models.Gpt2.rename(name)
        if own then state[own] = tensor end
      end
      network:load_state_dict(state)
      network:eval()
      local want = tensors(real_data.path "gpt-nano-sort/partials.json")
      local ids = want.idx:to("int64") + 1
      local seen = {}
      for i, layer in ipairs(network.h:children()) do
        layer:register_forward_hook(function(_, _, y) seen[i] = y end)
      end
      local hidden = heed.no_grad(network.hidden, network, ids)
      local close = {atol = 2e-5, rtol = 1e-4}
      for i = 1, 3 do
        assert.tensors_close(seen[i], want["block" .. i - 1], close)
      end
      assert.tensors_close(hidden, want.ln_f, close)
      assert.tensors_close(heed.no_grad(network.score, network, hidden),
        want.lm_head, close)

      -- six letters in, the same in order out, each for the next place
      local letters = heed.randint(1, 3, {40, 6})
      local all = letters
      heed.no_grad(function()
        for _ = 1, 6 do
          all = heed.cat({all, network(all)[{{}, -1}]:argmax(-1, true)}, 2)
        end
      end)
      assert.is_true(all[{{}, {7, 12}}]:equal((letters:sort(-1))))
    end)
end)

describe("BERT's files", function()
  case("give the reference's numbers", "bert-random-fixture/config.json",
    function(path)
      local folder = path:match "^(.*)/"
      local want = heed.load_safetensors(
        "spec/models/golden/bert_fixture.safetensors")
      local model = heed.models.load(folder)
      local x = heed.no_grad(model.network, want.ids + 1,
        {lens = heed.tensor {6, 3}})
      assert.tensors_close(x[1], want.hidden[1], {atol = 1e-5, rtol = 1e-5})
      assert.tensors_close(x[{2, {1, 3}}], want.hidden[{2, {1, 3}}],
        {atol = 1e-5, rtol = 1e-5})
    end)
end)

describe("all-MiniLM-L6-v2, a sentence embedder", function()
  it("gives the reference's vectors", function()
    local folder, why = real_data.minilm()
    if not folder then return pending(why) end
    local sentences = {}
    for line in io.lines "spec/models/golden/sentences.txt" do
      sentences[#sentences + 1] = line
    end
    local want = heed.load_safetensors(
      "spec/models/golden/minilm.safetensors").vectors
    local model = heed.models.load(folder)
    local vectors = model:embed(sentences)
    assert.tensors_close(vectors, want, {atol = 1e-4})
    assert.tensors_close(model:embed(sentences[3]), want[3], {atol = 1e-4})
    assert.tensors_close(model:embed(sentences, {batch_size = 1}), want,
      {atol = 1e-4})

    -- pairs of sentences in the same order
    local function order(v)
      local n = #sentences
      local places = heed.triu(heed.ones {n, n}, 1):gt(0)
      return v:matmul(v:t())[places]:argsort(-1, true)
    end
    assert.is_true(order(vectors):equal(order(want)))
  end)
end)
