local heed = require "heed"
local message = require "spec.support.message"
local nn = require "heed.nn"
local near = dofile "spec/nn/near.lua"

local function names(module)
  local list = {}
  for name in pairs(module:state_dict()) do list[#list + 1] = name end
  return table.concat(list, " ")
end

describe("MultiHeadAttention", function()
  it("has PyTorch's parameters", function()
    assert.equal("in_proj_weight in_proj_bias out_proj.weight out_proj.bias",
      names(nn.MultiHeadAttention(8, 2)))
    assert.equal("in_proj_weight out_proj.weight",
      names(nn.MultiHeadAttention(8, 2, {bias = false})))
    assert.equal("q_proj_weight k_proj_weight v_proj_weight in_proj_bias " ..
      "bias_k bias_v out_proj.weight out_proj.bias", names(
      nn.MultiheadAttention(8, 2, {kdim = 3, vdim = 5, add_bias_kv = true})))
  end)

  it("is attention between projections", function()
    local layer = nn.MultiHeadAttention(8, 2)
    local x = heed.randn(3, 5, 8)
    local joint = x:matmul(layer.in_proj_weight:transpose()) +
      layer.in_proj_bias
    local function heads(i)
      return joint[{{}, {}, {8 * i - 7, 8 * i}}]:reshape(3, 5, 2, 4)
        :transpose(2, 3)
    end
    local y = nn.functional.scaled_dot_product_attention(heads(1), heads(2),
      heads(3))
    near(layer(x), layer.out_proj(y:transpose(2, 3):reshape(3, 5, 8)))
  end)

  it("does the same with one, two and three inputs", function()
    local layer = nn.MultiHeadAttention(8, 2)
    local x = heed.randn({3, 5, 8}, {requires_grad = true})
    layer(x):sum():backward()
    local grad, weight = x.grad, layer.in_proj_weight.grad
    for _, copies in ipairs {{x, x * 1}, {x, x * 1, x * 1}} do
      x.grad = nil
      layer:zero_grad()
      local y = layer(table.unpack(copies))
      near(y, layer(x))
      y:sum():backward()
      near(x.grad, grad)
      near(layer.in_proj_weight.grad, weight, 1e-4)
    end
  end)

  it("takes options after any input", function()
    local layer = nn.MultiHeadAttention(8, 2)
    local x = heed.randn(3, 5, 8)
    near(layer(x, {causal = true}), layer(x, x, x, {causal = true}))
    near(layer(x, x, {causal = true}), layer(x, x, x, {causal = true}))
  end)

  it("takes inputs without a batch, and length first", function()
    local layer = nn.MultiHeadAttention(8, 2)
    local first = nn.MultiHeadAttention(8, 2, {batch_first = false})
    first:load_state_dict(layer:state_dict())
    local x, m = heed.randn(3, 5, 8), heed.randn(3, 4, 8)
    near(layer(x[1], m[1]), layer(x, m)[1])
    local y, w = first(x:transpose(1, 2), m:transpose(1, 2),
      {need_weights = true})
    local y2, w2 = layer(x, m, {need_weights = true})
    near(y:transpose(1, 2), y2)
    near(w, w2)
    near(first(x:transpose(1, 2)):transpose(1, 2), layer(x))
  end)

  it("shows and keeps weights when asked", function()
    local layer = nn.MultiHeadAttention(8, 2)
    local x = heed.randn(3, 5, 8)
    local _, w = layer(x, {need_weights = true})
    local _, each = layer(x, {need_weights = true, average_weights = false})
    assert.same({3, 5, 5}, w.shape)
    assert.same({3, 2, 5, 5}, each.shape)
    near(each:mean(2), w)
    assert.equal(each, layer.attention_weights)
    layer(x)
    assert.is_nil(layer.attention_weights)
  end)

  it("drops weights in training only", function()
    local layer = nn.MultiHeadAttention(8, 2, {dropout = 0.5})
    local x = heed.randn(3, 50, 8)
    assert.is_true((layer(x) - layer(x)):abs():max():item() > 1e-4)
    layer:eval()
    near(layer(x), layer(x), 0)
  end)

  it("keeps masks to the keys that were there before add_bias_kv", function()
    local layer = nn.MultiHeadAttention(8, 2, {add_bias_kv = true,
      add_zero_attn = true})
    local _, w = layer(heed.randn(1, 3, 8), {causal = true,
      need_weights = true})
    local row = w[1][1]:totable()
    assert.equal(5, #row)
    assert.is_true(row[1] > 0 and row[4] > 0 and row[5] > 0)
    assert.same({0, 0}, {row[2], row[3]})
    assert.matches("alibi has no distance", message(function()
      layer(heed.randn(1, 3, 8), {alibi = true})
    end))
  end)

  it("gives the output's bias to a row that may attend to nothing", function()
    local layer = nn.MultiHeadAttention(8, 2)
    local x = heed.randn({1, 2, 8}, {requires_grad = true})
    local y = layer(x, {valid_lens = {0}})
    near(y[1][1], layer.out_proj.bias)
    y:sum():backward()
    near(x.grad, heed.zeros(1, 2, 8), 0)
    near(layer.in_proj_weight.grad, heed.zeros(24, 8), 0)
  end)

  it("refuses what makes no sense", function()
    assert.equal("MultiHeadAttention: embed_dim must be a multiple of " ..
      "num_heads, got 10 and 4", message(nn.MultiHeadAttention, 10, 4))
    local layer = nn.MultiHeadAttention(8, 2)
    assert.equal("MultiHeadAttention: query, key and value must be [B T E] " ..
      "or [T E], got [8], [8] and [8]",
      message(function() layer(heed.ones(8)) end))
    local x = heed.ones(1, 2, 8)
    assert.equal("MultiHeadAttention: query [1 2 7] must end in 8, the " ..
      "layer's embed_dim", message(layer, heed.ones(1, 2, 7)))
    assert.equal("MultiHeadAttention: key [1 2 7] must end in 8, the " ..
      "layer's kdim", message(layer, x, heed.ones(1, 2, 7)))
    assert.equal("MultiHeadAttention: value [1 2 7] must end in 8, the " ..
      "layer's vdim", message(layer, x, x, heed.ones(1, 2, 7)))
    assert.equal("MultiHeadAttention: mask must be a bool tensor, true " ..
      "where attending is allowed, got tensor float32 [2 2]; numbers to " ..
      "add to the scores are a bias", message(function()
        layer(heed.ones(1, 2, 8), {mask = heed.ones(2, 2)})
      end))
  end)
end)

describe("transformers", function()
  it("name the module, with its path, that got what it cannot take",
    function()
      local net = nn.Transformer(8, 2, {num_encoder_layers = 1,
        num_decoder_layers = 1, dim_feedforward = 8})
      local x = heed.zeros(1, 2, 8)
      assert.equal("Transformer.encoder.layers[1].self_attn." ..
        "MultiHeadAttention: query, key and value must be [B T E] or [T E], " ..
        "got [8], [8] and [8]", message(net, x[1][1], x))
      assert.equal("Transformer.decoder.layers[1].self_attn." ..
        "MultiHeadAttention: query [1 2 7] must end in 8, the layer's " ..
        "embed_dim", message(net, x, heed.zeros(1, 2, 7)))
      assert.equal("Transformer.encoder.layers[1].self_attn." ..
        "MultiHeadAttention: attention: mask [3 3] does not broadcast to " ..
        "[1 2 2 2]",
        message(net, x, x, {src_mask = heed.ones({3, 3}, "bool")}))
      for _, name in ipairs {"Transformer", "TransformerEncoderLayer",
        "TransformerDecoderLayer"} do
        assert.equal(name .. ": d_model must be a multiple of nhead, got " ..
          "10 and 4", message(nn[name], 10, 4))
      end
    end)
end)

describe("a transformer", function()
  local function make(options)
    options.num_encoder_layers, options.num_decoder_layers = 2, 2
    options.dim_feedforward, options.dropout = 12, 0
    return nn.Transformer(8, 2, options)
  end

  it("has layers that start alike but for what is drawn anew", function()
    local t = make {}
    local one, two = t.encoder.layers[1], t.encoder.layers[2]
    near(one.linear1.bias, two.linear1.bias, 0)
    assert.is_true((one.linear1.weight - two.linear1.weight):abs():max()
      :item() > 0)
    assert.is_false(one.linear1.bias:shares(two.linear1.bias))
    assert.equal(2 * 12 + 2 * 18 + 4, #t:parameters())
  end)

  it("takes sizes in the options, too", function()
    local t = nn.Transformer {d_model = 8, nhead = 2, num_encoder_layers = 1,
      num_decoder_layers = 0, dim_feedforward = 4, final_norm = false}
    assert.is_nil(t.encoder.norm)
    assert.equal(1, #t.encoder.layers)
  end)

  it("takes activations by name, as functions and as modules", function()
    local x = heed.randn(1, 3, 8)
    for _, f in ipairs {"gelu", nn.functional.gelu, nn.GELU()} do
      local layer = nn.TransformerEncoderLayer(8, 2, {activation = f,
        dropout = 0, dim_feedforward = 4, generator = heed.Generator(1)})
      local other = nn.TransformerEncoderLayer(8, 2, {activation = "gelu",
        dropout = 0, dim_feedforward = 4, generator = heed.Generator(1)})
      near(layer(x), other(x), 0)
    end
    assert.equal("TransformerEncoderLayer: activation must be a function or " ..
      'one of gelu, relu, sigmoid, silu, tanh, got "x"',
      message(nn.TransformerEncoderLayer, 8, 2, {activation = "x"}))
  end)

  it("does not let the decoder see ahead", function()
    for _, norm_first in ipairs {false, true} do
      local t = make {norm_first = norm_first}
      local src, tgt = heed.randn(1, 4, 8), heed.randn(1, 5, 8)
      local y = t(src, tgt, {causal = true})
      local changed = tgt:clone()
      changed[{1, {4, 5}}] = 7
      local z = t(src, changed, {causal = true})
      near(z[{1, {1, 3}}], y[{1, {1, 3}}], 1e-6)
      assert.is_true((z - y)[{1, {4, 5}}]:abs():min():item() > 0)
    end
  end)

  it("does not let padding of the source through", function()
    local t = make {}
    local src, tgt = heed.randn(2, 6, 8), heed.randn(2, 3, 8)
    local o = {src_valid_lens = {4, 4}, memory_valid_lens = {4, 4}}
    local y = t(src, tgt, o)
    near(y, t(src[{{}, {1, 4}}], tgt), 1e-5)
    src[{{}, {5, 6}}] = 0 / 0
    assert.same({2, 6, 8}, t.encoder(src, {valid_lens = {4, 4}}).shape)
    near(t(src, tgt, o), y, 1e-5)
  end)

  it("keeps weights of all layers when asked", function()
    local t = make {}
    t(heed.randn(1, 4, 8), heed.randn(1, 3, 8), {need_weights = true})
    for i = 1, 2 do
      local layer = t.decoder.layers[i]
      assert.same({1, 3, 4}, layer.multihead_attn.attention_weights.shape)
      assert.same({1, 3, 3}, layer.self_attn.attention_weights.shape)
      assert.same({1, 4, 4},
        t.encoder.layers[i].self_attn.attention_weights.shape)
    end
  end)

  it("wants a memory", function()
    local layer = nn.TransformerDecoderLayer(8, 2, {dim_feedforward = 8})
    assert.equal("TransformerDecoderLayer: memory must be a tensor, got nil",
      message(layer, heed.ones(1, 3, 8)))
    assert.equal("TransformerDecoder: memory must be a tensor, got a table",
      message(nn.TransformerDecoder(layer, 0), heed.ones(1, 3, 8),
        {causal = true}))
  end)

  it("names what it does not know", function()
    local t = make {}
    local said = message(function()
      t(heed.ones(1, 2, 8), heed.ones(1, 2, 8), {tgt_maks = true})
    end)
    assert.matches('^Transformer: unknown option "tgt_maks"; known: cache, ' ..
      'causal, memory_alibi,', said)
    said = message(function()
      t(heed.ones(1, 2, 8), heed.ones(1, 2, 7))
    end)
    assert.equal("Transformer.decoder.layers[1].self_attn." ..
      "MultiHeadAttention: query [1 2 7] must end in 8, the layer's " ..
      "embed_dim", said)
  end)

  it("draws from a generator of its own", function()
    local function weights(seed)
      return make({generator = heed.Generator(seed)}):parameters()
    end
    local state = heed.get_generator_state()
    local a, b = weights(5), weights(5)
    for i = 1, #a do near(a[i], b[i], 0) end
    assert.equal(state, heed.get_generator_state())
  end)
end)

describe("a cache", function()
  local function decoder(norm_first)
    return nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2,
      {dim_feedforward = 12, norm_first = norm_first}), 2):eval()
  end

  it("decodes step by step what one call gives", function()
    for _, recorded in ipairs {false, true} do
      local net = decoder(true)
      local x, memory = heed.randn(3, 40, 8), heed.randn(3, 6, 8)
      local function run()
        local o = {causal = true, memory_valid_lens = {6, 2, 4},
          cache = nn.KeyValueCache()}
        local steps = {}
        for t = 1, 40 do
          assert.equal(t - 1, o.cache:length())
          steps[t] = net(x[{{}, {t, t}}], memory, o)
        end
        return heed.cat(steps, 2)
      end
      local y = recorded and run() or heed.no_grad(run)
      near(y, net(x, memory, {causal = true, memory_valid_lens = {6, 2, 4}}),
        1e-5)
    end
  end)

  it("takes several steps at once", function()
    local net = decoder(false)
    local x, memory = heed.randn(1, 7, 8), heed.randn(1, 3, 8)
    heed.no_grad(function()
      local o = {causal = true, cache = nn.KeyValueCache()}
      local head = net(x[{{}, {1, 4}}], memory, o)
      local tail = net(x[{{}, {5, 7}}], memory, o)
      near(heed.cat({head, tail}, 2), net(x, memory, {causal = true}), 1e-5)
    end)
  end)

  it("computes keys and values of the memory once", function()
    local layer = nn.MultiHeadAttention(8, 2):eval()
    local cache = nn.KeyValueCache()
    local q, memory = heed.randn(1, 1, 8), heed.randn(1, 3, 8)
    local o = {cache = cache, static_kv = true}
    local y = layer(q, memory, o)
    near(layer(q, heed.zeros(1, 3, 8), o), y, 0)
    assert.equal(0, cache:length())
  end)

  it("goes on with the sequences that are picked", function()
    local net = decoder(true)
    local memory = heed.randn(1, 3, 8):expand(2, 3, 8)
    local x = heed.randn(2, 3, 8)
    heed.no_grad(function()
      local o = {causal = true, cache = nn.KeyValueCache()}
      net(x[{{}, {1, 2}}], memory, o)
      o.cache:reorder(heed.tensor {2, 2, 1})
      local last = heed.stack({x[2][3], x[1][3], x[1][3]}):unsqueeze(2)
      local y = net(last, memory, o)
      local function whole(first, third)
        return net(heed.cat({x[first][{{1, 2}}], x[third][{{3, 3}}]})
          :unsqueeze(1), memory[{{1, 1}}], {causal = true})[1][3]
      end
      near(y[1][1], whole(2, 2))
      near(y[2][1], whole(2, 1))
      near(y[3][1], whole(1, 1))
    end)
  end)

  it("passes gradients through all steps", function()
    local layer = nn.MultiHeadAttention(8, 2)
    local x = heed.randn({1, 4, 8}, {requires_grad = true})
    layer(x, {causal = true}):sum():backward()
    local want = x.grad
    x.grad = nil
    local o, total = {causal = true, cache = nn.KeyValueCache()}, 0
    for t = 1, 4 do total = total + layer(x[{{}, {t, t}}], o):sum() end
    total:backward()
    near(x.grad, want)
  end)
end)
