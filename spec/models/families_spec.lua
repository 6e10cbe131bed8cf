-- Pretrained families: what the reference implementation makes of small random
-- models (golden/make.py), with and without caches and padding.

local heed = require "heed"
require "heed.testing"
local with_folder = require "spec.support.with_folder"
local nn = heed.nn

local FOLDER <const> = "spec/models/golden/"

local function read(name)
  local want = heed.load_safetensors(FOLDER .. name .. "/expected.safetensors")
  for _, key in ipairs {"ids", "src", "tgt", "greedy", "beam1", "beam4"} do
    if want[key] then want[key] = want[key] + 1 end
  end
  return heed.models.load(FOLDER .. name, {tokenizer = false}).network, want
end

local TOLERANCE <const> = {rtol = 1e-4, atol = 2e-5}

describe("a model that reads texts", function()
  for _, name in ipairs {"bert", "roberta"} do
    it(("gives the reference's numbers: %s"):format(name), function()
      local network, want = read(name)
      local x = heed.no_grad(network, want.ids, {lens = want.lens})
      for i, n in ipairs(want.lens:totable()) do -- the rest is of padding
        assert.tensors_close(x[{i, {1, n}}], want.hidden[{i, {1, n}}],
          TOLERANCE)
      end
      assert.tensors_close(heed.no_grad(network.pool, network, x), want.pooled,
        TOLERANCE)
    end)
  end
end)

describe("a model that goes on with texts", function()
  for _, name in ipairs {"gpt2", "llama", "mistral", "qwen2"} do
    it(("gives the reference's numbers: %s"):format(name), function()
      local network, want = read(name)
      local logits = heed.no_grad(network, want.ids)
      assert.tensors_close(logits, want.logits, TOLERANCE)
    end)

    it(("gives the same with a cache: %s"):format(name), function()
      local network, want = read(name)
      local cache = nn.KeyValueCache()
      local parts = {}
      heed.no_grad(function()
        parts[1] = network(want.ids[{{}, {1, 4}}], {cache = cache})
        for i = 5, 10 do
          parts[#parts + 1] = network(want.ids[{{}, {i, i}}], {cache = cache})
        end
      end)
      assert.tensors_close(heed.cat(parts, 2), want.logits, TOLERANCE)
    end)

    it(("goes on as the reference does: %s"):format(name), function()
      local network, want = read(name)
      local ids = want.ids[{{}, {1, 4}}]
      heed.no_grad(function()
        for _ = 1, 16 do
          local best = network(ids)[{{}, -1}]:argmax(-1, true)
          ids = heed.cat({ids, best}, 2)
        end
      end)
      assert.is_true(ids:equal(want.greedy))
    end)
  end

  it("has no more positions than its table", function()
    local network = read "gpt2"
    assert.error_matches(function() network(heed.ones({1, 25}, "int64")) end,
      "Gpt2: the network has 24 positions, got 25", 1, true)
    local bert = read "bert"
    assert.error_matches(function() bert(heed.ones({1, 13}, "int64")) end,
      "Bert: ids must be [B T] with at most 12 positions, got tensor int64 "
      .. "[1 13]", 1, true)
  end)
end)

describe("a model that makes one text of another", function()
  -- without the start, and what follows the end
  local function tail(row, eos)
    local ids = {}
    for i = 2, #row do
      if row[i] == eos then break end
      ids[#ids + 1] = row[i]
    end
    return ids
  end

  for _, name in ipairs {"marian", "t5", "t5_gated"} do
    it(("gives the reference's numbers: %s"):format(name), function()
      local network, want = read(name)
      local memory = heed.no_grad(network.encode, network, want.src, want.lens)
      for i, n in ipairs(want.lens:totable()) do
        assert.tensors_close(memory[{i, {1, n}}], want.memory[{i, {1, n}}],
          TOLERANCE)
      end
      local logits = heed.no_grad(network, want.src, want.tgt,
        {lens = want.lens})
      assert.tensors_close(logits, want.logits, TOLERANCE)
    end)

    it(("writes as the reference does: %s"):format(name), function()
      local network, want = read(name)
      local found = network:generate(want.src, {lens = want.lens,
        max_length = 12})
      for i = 1, 2 do
        assert.same(tail(want.beam1[i]:totable(), network.eos), found[i])
      end
    end)
  end
end)

describe("models.load", function()
  local load <const> = heed.models.load

  local function bytes_of(path)
    local file = assert(io.open(path, "rb"))
    local bytes = file:read "a"
    file:close()
    return bytes
  end

  it("makes weights of a dtype", function()
    for _, dtype in ipairs {"float64", "bfloat16"} do
      local network = load(FOLDER .. "llama", {dtype = dtype,
        tokenizer = false}).network
      for _, p in network:named_parameters() do
        assert.equal(dtype, p.dtype)
        assert.is_true(p.requires_grad)
      end
    end
  end)

  it("leaves weights in the file", function()
    local copied = read "gpt2"
    local mapped = load(FOLDER .. "gpt2", {mapped = true,
      tokenizer = false}).network
    local ids = heed.tensor {{3, 7, 20}}
    assert.is_true(heed.no_grad(copied, ids):equal(heed.no_grad(mapped, ids)))
  end)

  it("keeps tied weights one", function()
    local network = read "qwen2"
    assert.is_true(rawequal(network.lm_head.weight,
      network.model.embed_tokens.weight))
  end)

  it("loads a tied head that the file holds twice", function()
    local c <const> = '{"model_type": "llama", "vocab_size": 20, '
      .. '"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, '
      .. '"intermediate_size": 16, "tie_word_embeddings": true}'
    local made = heed.models.Llama(require "cjson".decode(c))
    with_folder({["config.json"] = c}, function(folder)
      heed.save_safetensors(folder .. "/model.safetensors",
        made:state_dict {aliases = true})
      local network = load(folder).network
      assert.is_true(rawequal(network.lm_head.weight,
        network.model.embed_tokens.weight))
      local ids = heed.tensor {{3, 7, 20}}
      assert.is_true(heed.no_grad(network, ids):equal(
        heed.no_grad(made, ids)))
    end)
  end)

  it("can be trained, and made from a config alone", function()
    local network = heed.models.Llama {vocab_size = 20, hidden_size = 8,
      num_hidden_layers = 1, num_attention_heads = 2, intermediate_size = 8}
    local ids = heed.tensor {{1, 5, 7, 2}}
    local optimizer = heed.optim.AdamW(network:parameters(), {lr = 0.01})
    local first, last
    for _ = 1, 30 do
      local loss = nn.functional.cross_entropy(
        network(ids)[{{}, {1, 3}}]:flatten(1, 2), ids[{1, {2, 4}}])
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
      first, last = first or loss:item(), loss:item()
    end
    assert.is_true(last < 0.2 * first)
  end)

  it("says what is missing and what does not fit", function()
    with_folder({}, function(folder)
      assert.error_matches(function() load(folder) end,
        "models.load: there is no " .. folder .. "/config.json", 1, true)
    end)
    with_folder({["config.json"] = '{"model_type": "mamba"}'},
      function(folder)
        assert.error_matches(function() load(folder) end, "models.load: "
          .. folder .. "/config.json: model_type must be one of bert, gpt2, "
          .. "llama, marian, mistral, mt5, qwen2, roberta, t5, xlm-roberta, "
          .. 'got "mamba"', 1, true)
      end)
    with_folder({["config.json"] = bytes_of(FOLDER .. "llama/config.json")},
      function(folder)
        assert.error_matches(function() load(folder) end, "models.load: "
          .. folder .. " has none of model.safetensors, "
          .. "model.safetensors.index.json", 1, true)
      end)
    with_folder({["config.json"] = bytes_of(FOLDER .. "llama/config.json"),
      ["model.safetensors"] = bytes_of(FOLDER .. "mistral/model.safetensors")},
      function(folder)
        local ok, fault = pcall(load, folder, {tokenizer = false})
        assert.is_false(ok)
        assert.matches("does not fit the network\n  other shapes: .*"
          .. "model.layers.0.self_attn.q_proj.weight is %[16 16%] here and "
          .. "%[24 16%] there", fault)
      end)
    with_folder({["config.json"] = '{"model_type": "llama"}',
      ["model.safetensors"] = bytes_of(FOLDER .. "llama/model.safetensors")},
      function(folder)
        assert.error_matches(function() load(folder) end, "Llama: config has "
          .. "no ", 1, true)
      end)
    assert.error_matches(function() load("x", {dtype = "int8"}) end,
      "models.load: dtype must be one of bfloat16, float16, float32, float64, "
      .. 'got "int8"', 1, true)
  end)

  it("refuses a .bin that is none", function()
    local path = os.tmpname() .. ".bin"
    for bytes, fault in pairs {
      [("x"):rep(20)] = "is too short for a .bin file of llama2.c",
      [string.pack("<i4i4i4i4i4i4i4", 64, 172, 5, 8, 4, 512, 0)] =
        "seq_len must be from 1 to 268435456, got 0",
      [string.pack("<i4i4i4i4i4i4i4", 64, 172, 5, 8, 3, 512, 512)] =
        "dim 64, n_heads 8 and n_kv_heads 3 do not fit",
      [string.pack("<i4i4i4i4i4i4i4", 64, 172, 5, 8, 4, 512, 512)] =
        "must hold model.embed_tokens.weight [512 64] at byte 28, got 28 bytes",
    } do
      local file = assert(io.open(path, "wb"))
      file:write(bytes)
      file:close()
      assert.error_matches(function() load(path) end,
        ("models.load: %s: %s"):format(path, fault), 1, true)
    end
    os.remove(path)
  end)
end)
