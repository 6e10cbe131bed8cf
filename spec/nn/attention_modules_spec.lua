-- Attention as modules, besides MultiHeadAttention of transformer_spec.lua.

local heed = require "heed"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local nn <const> = heed.nn
local F <const> = nn.functional

local function float64(...) return heed.randn({...}, "float64") end

describe("transpose_qkv and transpose_output", function()
  it("put heads into the batch, and back", function()
    local x = heed.arange(1, 24):reshape {2, 3, 4}
    local y = nn.transpose_qkv(x, 2)
    assert.same({4, 3, 2}, y.shape)
    near(y[1], {{1, 2}, {5, 6}, {9, 10}}, 0)
    near(y[2], {{3, 4}, {7, 8}, {11, 12}}, 0)
    near(y[3], {{13, 14}, {17, 18}, {21, 22}}, 0)
    near(nn.transpose_output(y, 2), x, 0)
    assert.equal("transpose_qkv: x must be [B T C] with C, a multiple of " ..
      "num_heads 3, got [2 3 4]", message(nn.transpose_qkv, x, 3))
    assert.equal("transpose_output: x must be [B * heads T D] with B * " ..
      "heads, a multiple of num_heads 4, got [2 3 4]",
      message(nn.transpose_output, x, 4))
  end)
end)

describe("DotProductAttention", function()
  it("is scaled_dot_product_attention of one head", function()
    local q, k, v = float64(2, 3, 4), float64(2, 5, 4), float64(2, 5, 6)
    local w = q:matmul(k:transpose(-1, -2)) / 2
    local layer = nn.DotProductAttention()
    near(layer(q, k, v), w:softmax(-1):matmul(v), 1e-12)
    local lens = {2, 4}
    local y, weights = layer(q, k, v, {valid_lens = lens, need_weights = true})
    near(weights, F.masked_softmax(w, lens), 1e-12)
    near(y, weights:matmul(v), 1e-12)
    assert.is_true(layer.attention_weights == weights)
    layer(q, k, v)
    assert.is_nil(layer.attention_weights)
    lens = heed.tensor {{1, 0, 5}, {2, 2, 3}}
    near(layer(q, k, v, {valid_lens = lens}),
      F.masked_softmax(w, lens):matmul(v), 1e-12)
  end)

  it("takes masks and biases of sequences, and heads", function()
    local q, mask = float64(2, 3, 4), heed.randn(2, 3, 3):gt(0)
    local bias, layer = float64(2, 3, 3), nn.DotProductAttention()
    local want = F.masked_softmax(q:matmul(q:transpose(-1, -2)) / 2 + bias,
      mask):matmul(q)
    near(layer(q, q, q, {mask = mask, bias = bias}), want, 1e-12)
    local h = float64(2, 4, 3, 8)
    near(layer(h, h:narrow(2, 1, 2), h:narrow(2, 1, 2), {causal = true}),
      F.scaled_dot_product_attention(h, h:narrow(2, 1, 2), h:narrow(2, 1, 2),
        {causal = true}), 0)
  end)

  it("drops weights in training only", function()
    local layer, x = nn.DotProductAttention {dropout = 1.0}, float64(1, 3, 4)
    near(layer(x, x, x), heed.zeros(1, 3, 4), 0)
    near(layer:eval()(x, x, x), nn.DotProductAttention()(x, x, x), 0)
  end)

  it("says what is wrong", function()
    local x = heed.randn(2, 3, 4)
    assert.equal("DotProductAttention: queries, keys and values must be " ..
      "[B T D] or [B H T D], got [2 3 4], [3 4] and [2 3 4]",
      message(nn.DotProductAttention(), x, x[1], x))
    assert.equal("DotProductAttention: dropout must be a number from 0 to " ..
      "1, got 2", message(nn.DotProductAttention, {dropout = 2}))
  end)
end)

describe("AdditiveAttention", function()
  it("weighs values by a small network", function()
    local layer = nn.AdditiveAttention(5, 4, 6):to "float64"
    local q, k, v = float64(2, 3, 4), float64(2, 7, 5), float64(2, 7, 2)
    local hidden = (layer.W_q(q):unsqueeze(3) + layer.W_k(k):unsqueeze(2))
      :tanh() -- [2 3 7 6]
    local w = F.masked_softmax(layer.w_v(hidden):squeeze(-1), {3, 7})
    local y, weights = layer(q, k, v, {valid_lens = {3, 7},
      need_weights = true})
    near(weights, w, 1e-12)
    near(y, w:matmul(v), 1e-12)
    near(layer(q, k, v, {valid_lens = {3, 7}}), y, 1e-12)
    local each = heed.tensor {{1, 2, 0}, {7, 1, 4}}
    near(layer(q, k, v, {valid_lens = each})[1][3], {0, 0}, 0)
  end)

  it("has the names and draws of d2l.ai", function()
    local names = {}
    for name, p in nn.AdditiveAttention(2, 20, 8):named_parameters() do
      names[#names + 1] = name .. " " .. table.concat(p.shape, " ")
    end
    assert.same({"W_k.weight 8 2", "W_q.weight 8 20", "w_v.weight 1 8"},
      names)
  end)

  it("names itself with its path in a model", function()
    local Seq = nn.Module:extend "Seq"
    function Seq:init() self.attend = nn.AdditiveAttention(2, 3, 4) end
    function Seq:forward(x) return self.attend(x, x, x) end
    assert.equal("Seq.attend.W_q.Linear: x [1 2 2] must end in 3, the input " ..
      "size of weight [4 3]", message(Seq(), heed.zeros(1, 2, 2)))
    assert.equal("AdditiveAttention: num_hiddens must be an integer of at " ..
      "least 1, got 0", message(nn.AdditiveAttention, 2, 3, 0))
  end)
end)

describe("ImageSelfAttention", function()
  it("lets every pixel attend to all", function()
    local layer = nn.ImageSelfAttention(3, 5, {qk_channels = 2, scale = 0.7})
      :to "float64"
    local x = float64(2, 3, 2, 4)
    local function pixels(conv)
      return conv(x):flatten(-2, -1):transpose(-1, -2)
    end
    local w = (pixels(layer.query):matmul(pixels(layer.key):transpose(-1, -2))
      * 0.7):softmax(-1)
    local want = w:matmul(pixels(layer.value)):transpose(-1, -2)
      :reshape {2, 5, 2, 4}
    near(layer(x), want, 1e-12)
    local y, weights = layer(x, {need_weights = true})
    near(y, want, 1e-12)
    near(weights, w, 1e-12)
    assert.is_true(layer.attention_weights == weights)
  end)

  it("starts as the image itself where it has a gate", function()
    local layer, x = nn.ImageSelfAttention(4, {qk_channels = 1,
      residual = true}), heed.randn(1, 4, 3, 3)
    near(layer(x), x, 0)
    layer(x):sum():backward()
    assert.is_true(layer.gamma.grad:item() ~= 0)
    heed.no_grad(function() layer.gamma:fill_(2) end)
    local plain = nn.ImageSelfAttention(4, {qk_channels = 1})
    plain:load_state_dict(layer:state_dict(), {strict = false})
    near(layer(x), plain(x) * 2 + x, 1e-6)
  end)

  it("says what is wrong", function()
    assert.equal("ImageSelfAttention: residual needs as many out_channels " ..
      "as in_channels, got 4 and 3",
      message(nn.ImageSelfAttention, 3, 4, {residual = true}))
    assert.equal("ImageSelfAttention: x must be [B 3 H W], got [1 2 4 4]",
      message(nn.ImageSelfAttention(3), heed.zeros(1, 2, 4, 4)))
  end)
end)

describe("LinearAttention", function()
  it("is linear_attention of projected heads", function()
    local layer = nn.LinearAttention(8, 2):to "float64"
    local x = float64(2, 5, 8)
    local q, k, v = heed.core.ops.split_qkv(heed.core.ops.linear(x,
      layer.in_proj_weight, layer.in_proj_bias), 2)
    local keep = heed.tensor {{true, true, false, true, true},
      {true, false, false, false, false}}
    for _, options in ipairs {{}, {causal = true}, {key_mask = keep},
      {valid_lens = {4, 1}}} do
      local y = F.linear_attention(q, k, v, options)
      near(layer(x, options),
        layer.out_proj(y:transpose(2, 3):flatten(-2, -1)), 1e-12)
    end
    near(layer(x[1]), layer(x)[1], 1e-12)
    local relu = nn.LinearAttention(8, 2, {feature = F.relu, eps = 1e-3})
      :to "float64"
    relu:load_state_dict(layer:state_dict())
    local y = F.linear_attention(q, k, v, {feature = F.relu, eps = 1e-3})
    near(relu(x), layer.out_proj(y:transpose(2, 3):flatten(-2, -1)), 1e-12)
  end)

  it("shows and keeps weights when asked", function()
    local layer = nn.LinearAttention(8, 2):to "float64"
    local x = float64(2, 5, 8)
    local q, k = heed.core.ops.split_qkv(heed.core.ops.linear(x,
      layer.in_proj_weight, layer.in_proj_bias), 2)
    local products = (F.elu(q) + 1):matmul((F.elu(k) + 1):transpose())
    local keep = heed.tensor {{true, true, false, true, true},
      {true, false, false, false, false}}
    local seen = {{}, {causal = true}, {key_mask = keep}}
    for i, p in ipairs {products, products:tril(),
      products * keep:reshape(2, 1, 1, 5):to "float64"} do
      local options = seen[i]
      local y = layer(x, options)
      assert.is_nil(layer.attention_weights)
      options.need_weights = true
      local again, w = layer(x, options)
      near(again, y, 0)
      assert.equal(w, layer.attention_weights)
      near(w, p / (p:sum(-1, true) + 1e-6), 1e-12)
    end
    local _, w = layer(x[1], {need_weights = true})
    assert.same({2, 5, 5}, w.shape)

    local plain = nn.LinearAttention(8, {plain = true}):to "float64"
    local y, scores = plain(x, {need_weights = true})
    near(scores:matmul(x), y, 1e-12)
  end)

  it("draws as MultiHeadAttention does", function()
    heed.manual_seed(3)
    local a = nn.MultiHeadAttention(8, 2):state_dict()
    heed.manual_seed(3)
    for name, t in pairs(nn.LinearAttention(8, 2):state_dict()) do
      near(t, a[name], 0)
    end
  end)

  it("says what is wrong", function()
    assert.equal("LinearAttention: embed_dim must be a multiple of " ..
      "num_heads, got 8 and 3", message(nn.LinearAttention, 8, 3))
    assert.equal("LinearAttention: plain has one head, got num_heads 2",
      message(nn.LinearAttention, 8, 2, {plain = true}))
    assert.equal("LinearAttention: plain has no causal",
      message(nn.LinearAttention(4, {plain = true}), heed.zeros(1, 2, 4),
        {causal = true}))
    assert.equal("LinearAttention: x must be [B T 4] or [T 4], got [1 2 3]",
      message(nn.LinearAttention(4), heed.zeros(1, 2, 3)))
  end)
end)

describe("AdaptiveSpanAttention", function()
  it("fades out behind the span of each head", function()
    local layer = nn.AdaptiveSpanAttention(8, 2, {max_span = 10, ramp = 4})
      :to "float64"
    heed.no_grad(function() layer.span[2] = 0.2 end)
    near(layer:spans(), {0, 2}, 1e-12)
    near(layer:span_loss(), 1, 1e-12)
    local x = float64(1, 9, 8)
    local y, w = layer(x, {need_weights = true})
    local _, plain = layer.attention(x, {causal = true, need_weights = true,
      average_weights = false})
    -- weights of the softmax times the ramp, made to sum to 1 again
    local m = {}
    for h, z in ipairs {0, 2} do
      m[h] = {}
      for i = 1, 9 do
        m[h][i] = {}
        for j = 1, 9 do
          local share = (4 + z - (i - j)) / 4
          m[h][i][j] = j > i and 0.0 or math.max(0.0, math.min(1.0, share))
        end
      end
    end
    local masked = plain * heed.tensor(m, {dtype = "float64"})
    near(w, masked / masked:sum(-1, true), 1e-12)
    near(layer(x), y, 1e-12)
  end)

  it("learns its spans", function()
    heed.manual_seed(2)
    local layer = nn.AdaptiveSpanAttention(8, 2, {max_span = 6, ramp = 3,
      init_span = 0.55}):to "float64"
    local x, span = float64(2, 9, 8), layer.span
    local function loss() return layer(x):square():sum() end
    loss():backward()
    local g = span.grad:totable()
    for h = 1, 2 do -- the slope by differences
      local function at(value)
        return heed.no_grad(function()
          local before = span[h]:item()
          span[h] = before + value
          local y = loss():item()
          span[h] = before
          return y
        end)
      end
      near({g[h]}, {(at(1e-6) - at(-1e-6)) / 2e-6}, 1e-5)
    end
  end)

  describe("in blocks of a long sequence", function()
    local LENGTH <const> = 150 -- more than two blocks of 64

    -- Results and gradients of a layer whose heads see 3 and 12 keys.
    local function run(options)
      heed.manual_seed(3)
      local layer = nn.AdaptiveSpanAttention(8, 2, {max_span = 20, ramp = 3})
        :to "float64"
      heed.no_grad(function() layer.span[2] = 0.45 end)
      local x = float64(2, LENGTH, 8):requires_grad_(true)
      local y, w = layer(x, options)
      y:backward(float64(2, LENGTH, 8))
      return {y, x.grad, layer.span.grad, layer.attention.in_proj_weight.grad,
        layer.attention.out_proj.weight.grad}, w
    end

    for what, masks in pairs {
      ["without masks"] = {}, ["with lengths"] = {valid_lens = {LENGTH, 77}},
      ["with a mask"] = {key_mask = heed.arange(1, LENGTH):remainder(3):ne(0)},
      ["with both"] = {valid_lens = {0, 140},
        key_mask = heed.arange(1, 2 * LENGTH):remainder(7):gt(2)
          :view(2, LENGTH)},
    } do
      it("gives what all at once gives, " .. what, function()
        local blocks = run(masks)
        local all, w = run {need_weights = true, key_mask = masks.key_mask,
          valid_lens = masks.valid_lens}
        assert.same({2, 2, LENGTH, LENGTH}, w.shape)
        for i = 1, #all do near(blocks[i], all[i], 1e-11) end
      end)
    end

    it("takes no memory that grows with the square of the length", function()
      local layer = nn.AdaptiveSpanAttention(8, 2, {max_span = 16, ramp = 4})
      local function peak(t)
        local x = heed.zeros(1, t, 8)
        collectgarbage()
        heed.memory_reset_peak()
        local before = heed.memory_stats().used
        layer(x):sum():backward()
        return heed.memory_stats().peak - before
      end
      peak(512)
      assert.is_true(peak(4096) < 9 * peak(512))
    end)

    it("says what is wrong with lengths and masks", function()
      local layer = nn.AdaptiveSpanAttention(8, 2, {max_span = 20, ramp = 3})
      local x = heed.zeros(2, LENGTH, 8)
      assert.equal("AdaptiveSpanAttention: attention: valid_lens must lie in "
        .. "0..150, the number of keys, got 151",
        message(layer, x, {valid_lens = {3, 151}}))
      assert.equal("AdaptiveSpanAttention: key_mask must be a bool tensor, "
        .. "true where attending is allowed, got tensor float32 [150]; "
        .. "numbers to add to the scores are a bias",
        message(layer, x, {key_mask = heed.ones(LENGTH)}))
    end)
  end)

  it("keeps its spans within bounds, and can come back", function()
    local layer = nn.AdaptiveSpanAttention(4, 2, {max_span = 5})
    heed.no_grad(function() layer.span:copy_(heed.tensor {-0.5, 1.5}) end)
    near(layer:spans(), {0, 5}, 0)
    layer:span_loss():backward()
    near(layer.span.grad, {2.5, 2.5}, 0)
    layer:clamp_span()
    near(layer.span, {0, 1}, 0)
  end)

  it("says what is wrong", function()
    assert.equal("AdaptiveSpanAttention: x [1 6 2]: length 6 exceeds " ..
      "max_span 5", message(nn.AdaptiveSpanAttention(2, {plain = true,
        max_span = 5}), heed.zeros(1, 6, 2)))
    assert.equal("AdaptiveSpanAttention: x must be [B T 2], got [1 6 3]",
      message(nn.AdaptiveSpanAttention(2), heed.zeros(1, 6, 3)))
    assert.equal("AdaptiveSpanAttention: plain has one head, got num_heads 2",
      message(nn.AdaptiveSpanAttention, 4, 2, {plain = true}))
    local plain = nn.AdaptiveSpanAttention(2, {plain = true})
    assert.equal("AdaptiveSpanAttention: plain has no spans",
      message(plain.spans, plain))
    assert.equal("MultiHeadAttention: embed_dim must be a multiple of " ..
      "num_heads, got 4 and 3", message(nn.AdaptiveSpanAttention, 4, 3))
  end)
end)
