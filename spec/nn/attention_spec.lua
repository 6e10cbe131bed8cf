local heed = require "heed"
local message = require "spec.support.message"
local nn = require "heed.nn"
local F = nn.functional
local near = dofile "spec/nn/near.lua"
local attend <const> = F.scaled_dot_product_attention

-- q, k and v [B H T D] that want gradients
local function qkv(b, heads, tq, tk, d, kv_heads)
  local g = heed.Generator(tq * 100 + tk)
  local function draw(...)
    return heed.randn({...}, {requires_grad = true, generator = g})
  end
  return draw(b, heads, tq, d), draw(b, kv_heads or heads, tk, d),
    draw(b, kv_heads or heads, tk, d)
end

-- The keys that each query sees, from weights [1 1 Tq Tk].
local function seen(options, tq, tk)
  options.need_weights = true
  local _, w = attend(heed.ones(1, 1, tq, 4), heed.ones(1, 1, tk, 4),
    heed.ones(1, 1, tk, 4), options)
  local rows = {}
  for i, row in ipairs(w[1][1]:totable()) do
    local keys = {}
    for j, weight in ipairs(row) do
      if weight > 0 then keys[#keys + 1] = j end
    end
    rows[i] = table.concat(keys, " ")
  end
  return rows
end

local functions <const> = {
  same = function(s) return s end,
}

describe("attention", function()
  it("is softmax(q k^T / sqrt(d)) v", function()
    local q, k, v = qkv(2, 3, 4, 5, 8)
    local w = (q:matmul(k:transpose(-1, -2)) * 8 ^ -0.5):softmax(-1)
    near(attend(q, k, v), w:matmul(v))
    local out, weights = attend(q, k, v, {need_weights = true})
    near(out, w:matmul(v))
    near(weights, w)
  end)

  it("takes tensors without heads", function()
    local q, k, v = qkv(1, 1, 4, 5, 8)
    near(attend(q[1][1], k[1][1], v[1][1]), attend(q, k, v)[1][1])
    local _, w = attend(q[1][1], k[1][1], v[1][1], {need_weights = true})
    assert.same({4, 5}, w.shape)
  end)

  it("aligns causal to the last key, or to the first", function()
    assert.same({"1 2 3 4"}, seen({causal = true}, 1, 4))
    assert.same({"1"}, seen({causal = "top-left"}, 1, 4))
    assert.same({"1 2", "1 2 3"}, seen({causal = "bottom-right"}, 2, 3))
    assert.same({"", "", "", "1", "1 2"}, seen({causal = true}, 5, 2))
    assert.same({"1 2"}, seen({causal = false}, 1, 2))
  end)

  it("counts the query in a window", function()
    assert.same({"1", "1 2", "1 2 3", "2 3 4", "3 4 5", "4 5 6"},
      seen({causal = true, window = 3}, 6, 6))
    assert.same({"1 2", "1 2 3", "2 3 4", "3 4"}, seen({window = 2}, 4, 4))
    assert.same({"1 2 3", "1 2 3 4", "2 3 4", "3 4"},
      seen({window = {1, 2}}, 4, 4))
  end)

  it("takes lengths, key masks and masks together", function()
    assert.same({"1 2", "1 2"}, seen({valid_lens = {2}}, 2, 4))
    assert.same({"1", "", "1 2 3"},
      seen({valid_lens = {{1, 0, 3}}}, 3, 4))
    local keys = heed.tensor {{true, false, true, true}}
    assert.same({"1 3", "3"}, seen({key_mask = keys, causal = true,
      valid_lens = heed.tensor {3}, mask = heed.tensor {
        {true, true, true, true}, {true, true, true, false}},
      window = {2, 0}}, 2, 4))
    assert.same({"1 3", "3 4"}, seen({key_mask = keys, mask = heed.tensor {
      {true, true, true, false}, {false, true, true, true}}}, 2, 4))
  end)

  it("gives the same on the fused and on the open path", function()
    local cases = {
      {}, {causal = true}, {causal = "top-left"}, {window = 2},
      {causal = true, window = 2}, {valid_lens = {5, 2}},
      {valid_lens = {{1, 2, 3, 4}, {0, 5, 1, 2}}}, {alibi = true},
      {alibi = {0.5, 0.25, 0, 1}, causal = true}, {softcap = 2},
      {sinks = heed.tensor {0.5, -1, 0, 2}, causal = true}, {scale = 0.3},
      {bias = heed.randn(4, 4, 5)},
      {mask = heed.rand(2, 1, 4, 5):lt(0.6)},
      {key_mask = heed.rand(2, 5):lt(0.6), softcap = 1.5, alibi = true},
    }
    for _, o in ipairs(cases) do
      local q, k, v = qkv(2, 4, 4, 5, 8, 2)
      local up = heed.randn(2, 4, 4, 8)
      local fused = attend(q, k, v, o)
      ;(fused * up):sum():backward()
      local grads = {q.grad, k.grad, v.grad}
      q.grad, k.grad, v.grad = nil, nil, nil
      o.score = functions.same
      local open = attend(q, k, v, o)
      near(open, fused, 2e-5)
      ;(open * up):sum():backward()
      near(q.grad, grads[1], 5e-5)
      near(k.grad, grads[2], 5e-5)
      near(v.grad, grads[3], 5e-5)
      o.score, o.need_weights = nil, true
      local out, w = attend(q, k, v, o)
      near(out, fused, 0)
      local clear = w:matmul(v:reshape(2, 2, 1, 5, 8):expand(2, 2, 2, 5, 8)
        :reshape(2, 4, 5, 8))
      near(clear, fused, 2e-5)
    end
  end)

  it("gives zeros to a row that may attend to nothing", function()
    for _, score in ipairs {false, functions.same} do
      local q, k, v = qkv(1, 2, 3, 4, 4)
      local o = {valid_lens = {{2, 0, 4}}, score = score or nil,
        need_weights = true}
      local out, w = attend(q, k, v, o)
      near(out[1][1][2], {0, 0, 0, 0}, 0)
      near(w[1][1][2], {0, 0, 0, 0}, 0)
      ;(out:sum() + w:sum()):backward()
      near(q.grad[1][1][2], {0, 0, 0, 0}, 0)
      assert.is_true(k.grad:isfinite():all():item())
    end
  end)

  it("is not reached by NaN behind a mask", function()
    for _, o in ipairs {{}, {score = functions.same}, {need_weights = true}} do
      o.valid_lens = {3}
      local q, k, v = qkv(1, 2, 3, 4, 4)
      local clean = attend(q, k, v, o)
      local function spoil(t)
        local bad = t:detach():clone()
        bad[{{}, {}, 4}] = 0 / 0
        bad.requires_grad = true
        return bad
      end
      k, v = spoil(k), spoil(v)
      local out, w = attend(q, k, v, o)
      near(out, clean, 1e-6)
      out:sum():backward({retain_graph = true})
      assert.is_true(q.grad:isfinite():all():item())
      if w then
        w[{{}, {}, {}, 1}]:sum():backward()
        assert.is_true(q.grad:isfinite():all():item())
      end
    end
  end)

  it("repeats grouped heads, not tiles them", function()
    local q = heed.ones(1, 4, 1, 1)
    local k = heed.ones(1, 2, 1, 1)
    local v = heed.tensor {{{{1.}}, {{2.}}}}
    near(attend(q, k, v):reshape(4), {1, 1, 2, 2})
    near(attend(q, k, v, {score = functions.same}):reshape(4), {1, 1, 2, 2})
  end)

  it("has the slopes of the paper for any number of heads", function()
    local mask = require "heed.nn.attention_mask"
    near(mask.alibi_slopes(4, "float64"),
      {2. ^ -2, 2. ^ -4, 2. ^ -6, 2. ^ -8}, 0)
    near(mask.alibi_slopes(6, "float64"), {2. ^ -2, 2. ^ -4, 2. ^ -6,
      2. ^ -8, 2. ^ -1, 2. ^ -3}, 0)
    near(mask.alibi_slopes(1, "float64"), {2. ^ -8}, 0)
  end)

  it("shows weights from before dropout", function()
    local q, k, v = qkv(1, 1, 3, 50, 4)
    local o = {dropout = 0.5, need_weights = true,
      generator = heed.Generator(1)}
    local out, w = attend(q, k, v, o)
    near(w:sum(-1), {{{1, 1, 1}}})
    assert.is_true((out - w:matmul(v)):abs():max():item() > 1e-3)
    o.training = false
    near(attend(q, k, v, o), w:matmul(v))
  end)

  it("drops by its generator", function()
    local q, k, v = qkv(1, 2, 3, 50, 4)
    local function run(seed)
      return attend(q, k, v, {dropout = 0.5,
        generator = heed.Generator(seed)})
    end
    near(run(1), run(1), 0)
    assert.is_true((run(1) - run(2)):abs():max():item() > 1e-3)
    near(attend(q, k, v, {dropout = 1}), heed.zeros(1, 2, 3, 4), 0)
  end)

  it("lets a function change the scores", function()
    local q, k, v = qkv(1, 1, 3, 4, 4)
    near(attend(q, k, v, {score = function(s) return s * 0 end}),
      v:mean(-2, true):expand(1, 1, 3, 4))
  end)

  it("works with sizes of 0", function()
    assert.same({0, 2, 3, 4}, attend(heed.ones(0, 2, 3, 4),
      heed.ones(0, 2, 5, 4), heed.ones(0, 2, 5, 4)).shape)
    for _, o in ipairs {{}, {need_weights = true, causal = true},
        {need_weights = true, sinks = {1.5}}} do
      near(attend(heed.ones(1, 1, 2, 4), heed.ones(1, 1, 0, 4),
        heed.ones(1, 1, 0, 4), o), heed.zeros(1, 1, 2, 4), 0)
    end
  end)

  it("refuses masks of numbers and biases of booleans", function()
    local q, k, v = qkv(1, 1, 2, 2, 4)
    local function said(o) return message(attend, q, k, v, o) end
    assert.equal("scaled_dot_product_attention: mask must be a bool tensor, " ..
      "true where attending is allowed, got tensor float32 [2 2]; numbers " ..
      "to add to the scores are a bias", said {mask = heed.ones(2, 2)})
    assert.equal("scaled_dot_product_attention: key_mask must be a bool " ..
      "tensor, true where attending is allowed, got tensor int64 [1 2]; " ..
      "numbers to add to the scores are a bias",
      said {key_mask = heed.ones({1, 2}, {dtype = "int64"})})
    assert.equal("scaled_dot_product_attention: bias must be a float " ..
      "tensor, added to the scores, got tensor bool [2 2]; where attending " ..
      "is allowed is a mask", said {bias = heed.ones({2, 2}, "bool")})
  end)

  it("says on every path what align = \"valid\" needs", function()
    local q, k, v = qkv(1, 1, 2, 2, 4)
    local each = heed.tensor({{2, 2}}, {dtype = "int64"})
    for _, path in ipairs {{}, {need_weights = true},
        {score = function(s) return s end}} do
      local function said(o)
        o.align = "valid"
        o.need_weights, o.score = path.need_weights, path.score
        return message(attend, q, k, v, o)
      end
      local needs <const> = 'attention: align = "valid" needs valid_lens ' ..
        "[1], one number a batch entry, got "
      assert.equal(needs .. "none", said {causal = true})
      assert.equal(needs .. "[1 2]", said {causal = true, valid_lens = each})
      assert.equal('attention: align = "valid" puts the last query beside ' ..
        'the last valid key, causal = "top-left" the first beside the first ' ..
        "key: only one can be", said {causal = "top-left", valid_lens = {1}})
    end
  end)

  it("refuses more queries or keys than it can count", function()
    local q = heed.zeros(1, 1, 2, 1)
    local much = heed.zeros(1, 1, 1, 1):expand {1, 1, 1 << 31, 1}
    assert.equal("attention: k [1 1 2147483648 1]: time must be at most " ..
      "1073741824", message(attend, q, much, much))
    assert.equal("attention: q [1 1 2147483648 1]: time must be at most " ..
      "1073741824", message(attend, much, q, q))
  end)

  it("refuses other options that make no sense", function()
    local q, k, v = qkv(1, 1, 2, 2, 4)
    local function said(o) return message(attend, q, k, v, o) end
    assert.equal('scaled_dot_product_attention: causal must be true, ' ..
      'false, "bottom-right" or "top-left", got "left"',
      said {causal = "left"})
    assert.equal('scaled_dot_product_attention: align must be "keys" or ' ..
      '"valid", got "left"', said {align = "left"})
    assert.equal("scaled_dot_product_attention: window must be a number of " ..
      "keys, the query's own counted, or {before, behind}, got 0",
      said {window = 0})
    assert.equal("scaled_dot_product_attention: valid_lens must be a tensor " ..
      "or a list, got 3", said {valid_lens = 3})
    assert.equal("scaled_dot_product_attention: valid_lens must be " ..
      "integers, got 1.5", said {valid_lens = {1.5}})
    assert.equal("scaled_dot_product_attention: valid_lens must be " ..
      "integers, got nan", said {valid_lens = {{1, 0 / 0}}})
    assert.equal('scaled_dot_product_attention: dropout must be a number, ' ..
      'got "0.5"', said {dropout = "0.5"})
    assert.equal('scaled_dot_product_attention: unknown option "casual"; ' ..
      "known: alibi, align, bias, causal, cu_seqlens, cu_seqlens_k, " ..
      "dropout, generator, key_mask, mask, need_weights, scale, score, " ..
      "sinks, softcap, training, valid_lens, window", said {casual = true})
  end)
end)
