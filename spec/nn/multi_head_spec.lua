-- Heads that share keys, and heads that turn. For the rest of
-- MultiHeadAttention see transformer_spec.lua.

local heed = require "heed"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local nn <const> = heed.nn
local F <const> = nn.functional

local function float64(...) return heed.randn({...}, "float64") end

describe("MultiHeadAttention with fewer heads of keys", function()
  -- The same layer with every head of keys and values written out.
  local function widened(layer)
    local full = nn.MultiHeadAttention(layer.embed_dim, layer.num_heads)
      :to "float64"
    local e, d = layer.embed_dim, layer.head_dim
    local function widen(t) -- rows of q, k, v
      local kv = layer.kv_dim
      local parts = {t:narrow(1, 1, e)}
      for i = 1, 2 do
        local rows = t:narrow(1, e + (i - 1) * kv + 1, kv)
        parts[i + 1] = rows:reshape {layer.num_kv_heads, d, -1}
          :repeat_interleave(layer.num_heads // layer.num_kv_heads, 1)
          :reshape {e, -1}
      end
      return heed.cat(parts, 1)
    end
    full:load_state_dict {
      in_proj_weight = widen(layer.in_proj_weight:detach()),
      in_proj_bias = widen(layer.in_proj_bias:detach():unsqueeze(2))
        :squeeze(2),
      ["out_proj.weight"] = layer.out_proj.weight:detach(),
      ["out_proj.bias"] = layer.out_proj.bias:detach(),
    }
    return full
  end

  it("shares each among as many heads of queries", function()
    for _, kv in ipairs {1, 2, 4} do
      local layer = nn.MultiHeadAttention(16, 4, {num_kv_heads = kv})
        :to "float64"
      assert.same({16 + 8 * kv, 16}, layer.in_proj_weight.shape)
      heed.nn.init.normal_(layer.in_proj_bias)
      local full, x, memory = widened(layer), float64(2, 5, 16),
        float64(2, 3, 16)
      near(layer(x, {causal = true}), full(x, {causal = true}), 1e-12)
      near(layer(x, memory), full(x, memory), 1e-12)
      near(layer(x, memory, memory * 2), full(x, memory, memory * 2), 1e-12)
      local options = {need_weights = true, average_weights = false}
      local y, w = layer(x, options)
      local y2, w2 = full(x, options)
      near(y, y2, 1e-12)
      near(w, w2, 1e-12)
    end
  end)

  it("goes with other widths, added keys, and a cache", function()
    local layer = nn.MultiHeadAttention(8, 4, {num_kv_heads = 2, kdim = 6,
      vdim = 5, add_bias_kv = true, add_zero_attn = true})
    assert.same({4, 6}, layer.k_proj_weight.shape)
    assert.same({1, 1, 4}, layer.bias_k.shape)
    local _, w = layer(heed.randn(2, 3, 8), heed.randn(2, 5, 6),
      heed.randn(2, 5, 5), {need_weights = true})
    assert.same({2, 3, 7}, w.shape)
    layer = nn.MultiHeadAttention(8, 4, {num_kv_heads = 2}):to "float64"
    local x, cache = float64(2, 6, 8), nn.KeyValueCache()
    local want = layer(x, {causal = true})
    heed.no_grad(function()
      near(layer(x:narrow(2, 1, 4), {causal = true, cache = cache}),
        want:narrow(2, 1, 4), 1e-12)
      near(layer(x:narrow(2, 5, 2), {causal = true, cache = cache}),
        want:narrow(2, 5, 2), 1e-12)
    end)
  end)

  it("says which heads do not divide what", function()
    assert.equal("MultiHeadAttention: embed_dim must be a multiple of " ..
      "num_heads, got 10 and 4", message(nn.MultiHeadAttention, 10, 4))
    assert.equal("MultiHeadAttention: num_heads must be a multiple of " ..
      "num_kv_heads, got 4 and 3",
      message(nn.MultiHeadAttention, 8, 4, {num_kv_heads = 3}))
    assert.equal("MultiHeadAttention(8, 4, num_kv_heads = 2)", tostring(
      nn.MultiHeadAttention(8, 4, {num_kv_heads = 2})):match "^[^:\n]+")
  end)
end)

describe("MultiHeadAttention with rotary", function()
  local function by_hand(layer, x, options)
    local q, k, v = heed.core.ops.split_qkv(heed.core.ops.linear(x,
      layer.in_proj_weight, layer.in_proj_bias), layer.num_heads)
    local y = F.scaled_dot_product_attention(F.rotary_embedding(q, options),
      F.rotary_embedding(k, options), v, {causal = true})
    return layer.out_proj(y:transpose(2, 3):flatten(-2, -1))
  end

  it("turns queries and keys", function()
    local x = float64(2, 5, 16)
    local layer = nn.MultiHeadAttention(16, 2, {rotary = true}):to "float64"
    near(layer(x, {causal = true}), by_hand(layer, x), 1e-12)
    layer = nn.MultiHeadAttention(16, 2, {rotary = {base = 100,
      style = "interleaved"}}):to "float64"
    near(layer(x, {causal = true}), by_hand(layer, x, {base = 100,
      style = "interleaved"}), 1e-12)
    layer = nn.MultiHeadAttention(16, 2, {rotary = nn.RotaryEmbedding(4)})
      :to "float64"
    near(layer(x, {causal = true}), by_hand(layer, x, {dims = 4}), 1e-12)
  end)

  it("goes on behind a cache, also of different lengths", function()
    local layer = nn.MultiHeadAttention(16, 4, {rotary = true,
      num_kv_heads = 2}):to "float64"
    local x = float64(2, 6, 16)
    local want = layer(x, {causal = true})
    local _ <close> = heed.no_grad()
    local cache = nn.KeyValueCache()
    local options = {causal = true, cache = cache}
    near(layer(x:narrow(2, 1, 3), options), want:narrow(2, 1, 3), 1e-12)
    near(layer(x:narrow(2, 4, 3), options), want:narrow(2, 4, 3), 1e-12)
    -- the second sequence goes on from its fourth step
    cache:trim {5, 3}
    local next_ = heed.stack({x[1]:narrow(1, 6, 1), x[2]:narrow(1, 4, 1)}, 1)
    local y = layer(next_, options)
    near(y[1], want[1]:narrow(1, 6, 1), 1e-12)
    near(y[2], want[2]:narrow(1, 4, 1), 1e-12)
  end)

  it("puts the last query beside the last key", function()
    local layer = nn.MultiHeadAttention(16, 4, {rotary = true}):to "float64"
    local x = float64(2, 6, 16)
    near(layer(x:narrow(2, 5, 2), x, {causal = true}),
      layer(x, {causal = true}):narrow(2, 5, 2), 1e-12)
    assert.equal("MultiHeadAttention: rotary has no positions of a memory, " ..
      "static_kv",
      message(layer, x, x, {cache = nn.KeyValueCache(), static_kv = true}))
    assert.equal("MultiHeadAttention: rotary has no positions of keys of " ..
      "their own, cu_seqlens_k", message(layer, x, x,
        {cu_seqlens = {0, 2, 6}, cu_seqlens_k = {0, 3, 6}}))
  end)

  it("takes packed sequences", function()
    local layer = nn.MultiHeadAttention(16, 4, {rotary = true}):to "float64"
    local x = float64(1, 6, 16)
    local y = layer(x, {causal = true, cu_seqlens = {0, 2, 6}})
    near(y:narrow(2, 3, 4), layer(x:narrow(2, 3, 4), {causal = true}), 1e-12)
  end)

  it("has gradients", function()
    local layer = nn.MultiHeadAttention(8, 2, {rotary = true}):to "float64"
    local x = float64(1, 4, 8)
    x.requires_grad = true
    layer(x, {causal = true}):square():sum():backward()
    local got = x.grad
    x.grad = nil
    by_hand(layer, x):square():sum():backward()
    near(got, x.grad, 1e-12)
  end)
end)

describe("MultiHeadAttention", function()
  it("says which of its tensors is none", function()
    local layer, x = nn.MultiHeadAttention(8, 2), heed.zeros(1, 3, 8)
    assert.equal("MultiHeadAttention: query must be a tensor, got nil",
      message(layer))
    assert.equal("MultiHeadAttention: key must be a tensor, got 3",
      message(layer, x, 3))
    assert.equal('MultiHeadAttention: value must be a tensor, got "x"',
      message(layer, x, x, "x"))
  end)
end)
