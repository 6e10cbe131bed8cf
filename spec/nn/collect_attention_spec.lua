local heed = require "heed"
local message = require "spec.support.message"
local nn, F = heed.nn, heed.nn.functional

local collect <const> = nn.collect_attention

local function near(expected, actual, tolerance)
  assert.same(expected.shape, actual.shape)
  local worst <const> = (expected - actual):abs():max():item()
  assert.is_true(worst <= (tolerance or 1e-6), "differs by " .. worst)
end

local function shapes(list)
  local out = {}
  for i, w in ipairs(list) do out[i] = table.concat(w.shape, " ") end
  return out
end

describe("nn.collect_attention", function()
  before_each(function() heed.manual_seed(5) end)

  it("gives the weights of every head, those of the formula", function()
    local layer <const> = nn.MultiHeadAttention(8, 2)
    local x <const> = heed.randn(3, 5, 8)
    local found <const>, y <const> = collect(layer, function()
      return layer(x, {causal = true})
    end)
    assert.equal(1, #found)
    assert.equal("", found[1].name)
    -- softmax(q k^T / sqrt(D)), by hand
    local qkv <const> = F.linear(x, layer.in_proj_weight, layer.in_proj_bias)
    local function heads(first) -- [3 2 5 4]
      return qkv[{{}, {}, {first, first + 7}}]:reshape(3, 5, 2, 4)
        :transpose(2, 3)
    end
    local scores <const> = heads(1):matmul(heads(9):transpose(-2, -1)) / 2
    local ahead <const> = heed.ones(5, 5):triu(1):to "bool"
    near(scores:masked_fill(ahead, -math.huge):softmax(-1),
      found[1].weights[1])
    near(layer(x, {causal = true}), y, 0)
  end)

  it("names the stacks of a transformer, in their order", function()
    local model <const> = nn.Transformer(16, 4, {num_encoder_layers = 2,
      num_decoder_layers = 3, dim_feedforward = 32})
    local found <const> = collect(model, function()
      model(heed.randn(2, 6, 16), heed.randn(2, 5, 16), {causal = true})
    end)
    local names = {}
    for i, stack in ipairs(found) do names[i] = stack.name end
    assert.same({"encoder.layers.*.self_attn", "decoder.layers.*.self_attn",
      "decoder.layers.*.multihead_attn"}, names)
    assert.same({"2 4 6 6", "2 4 6 6"}, shapes(found[1].weights))
    assert.same({"2 4 5 5", "2 4 5 5", "2 4 5 5"}, shapes(found[2].weights))
    assert.same({"2 4 5 6", "2 4 5 6", "2 4 5 6"}, shapes(found[3].weights))
  end)

  it("keeps the layers of a stack in their order", function()
    local model <const> = nn.GPT(20, {d_model = 16, nhead = 2, num_layers = 3,
      dropout = 0.0})
    local ids <const> = heed.tensor {{3, 1, 4, 1}}
    local found <const> = collect(model, function() model(ids) end)
    model(ids, {need_weights = true})
    assert.equal("layers.*.self_attn", found[1].name)
    for i, w in ipairs(found[1].weights) do
      near(model.layers[i].self_attn.attention_weights, w:mean(2))
    end
  end)

  it("takes other attentions, with and without heads", function()
    local x <const> = heed.randn(2, 5, 8)
    local additive <const> = nn.AdditiveAttention(8, 8, 4)
    local dot <const> = nn.DotProductAttention()
    local span <const> = nn.AdaptiveSpanAttention(8, 2, {max_span = 4})
    local plain <const> = nn.AdaptiveSpanAttention(8,
      {plain = true, max_span = 9})
    local image <const> = nn.ImageSelfAttention(3, 4)
    for _, case in ipairs {
      {additive, "2 5 5", function() additive(x, x, x) end},
      {dot, "2 5 5", function() dot(x, x, x, {valid_lens = {2, 5}}) end},
      {span, "2 2 5 5", function() span(x) end, "attention"},
      {plain, "2 5 5", function() plain(x) end},
      {image, "1 6 6", function() image(heed.randn(1, 3, 2, 3)) end},
    } do
      local found <const> = collect(case[1], case[3])
      assert.same({case[2]}, shapes(found[1].weights))
      assert.equal(case[4] or "", found[1].name)
      local sums <const> = found[1].weights[1]:sum(-1)
      near(heed.ones(sums.shape), sums, 1e-5)
    end
  end)

  it("takes the weights of every call", function()
    local layer <const> = nn.MultiHeadAttention(8, 2)
    local found <const> = collect(layer, function()
      for t = 1, 3 do layer(heed.randn(1, t, 8)) end
    end)
    assert.same({"1 2 1 1", "1 2 2 2", "1 2 3 3"}, shapes(found[1].weights))
  end)

  it("changes nothing for those who call the module", function()
    local layer <const> = nn.MultiHeadAttention(8, 2)
    local x <const> = heed.randn(2, 5, 8)
    local options <const> = {causal = true}
    collect(layer, function()
      assert.equal(1, select("#", layer(x, x, x, options)))
      assert.is_nil(layer.attention_weights)
      local _, mean = layer(x, {need_weights = true})
      assert.same({2, 5, 5}, mean.shape)
      assert.is_true(mean.requires_grad)
      assert.same(mean:totable(), layer.attention_weights:totable())
      local _, all = layer(x, nil, nil,
        {need_weights = true, average_weights = false})
      assert.same({2, 2, 5, 5}, all.shape)
    end)
    assert.same({causal = true}, options)
    assert.equal(1, select("#", layer(x, options)))
  end)

  it("gives weights from before dropout, without gradients", function()
    local layer <const> = nn.MultiHeadAttention(8, 2, {dropout = 0.5})
    local x <const> = heed.randn(2, 5, 8)
    local found <const>, y <const> = collect(layer,
      function() return (layer(x)) end)
    near(heed.ones(2, 2, 5), found[1].weights[1]:sum(-1), 1e-5)
    assert.is_false(found[1].weights[1].requires_grad)
    y:sum():backward()
    assert.is_not_nil(layer.in_proj_weight.grad)
  end)

  it("ends with the function, also when that raises", function()
    local layer <const> = nn.MultiHeadAttention(8, 2)
    local x <const> = heed.randn(2, 5, 8)
    local calls = 0
    assert.has_error(function()
      collect(layer, function()
        layer(x)
        calls = calls + 1
        error "stop"
      end)
    end)
    assert.equal(1, calls)
    layer(x)
    assert.is_nil(layer.attention_weights)
  end)

  it("says what it cannot use", function()
    assert.equal("collect_attention: model must be a module, got 3",
      message(collect, 3, print))
    assert.equal("collect_attention: f must be a function, got nil",
      message(collect, nn.MultiHeadAttention(8, 2)))
    assert.equal("collect_attention: Linear has no attention that returns "
      .. "weights", message(collect, nn.Linear(2, 2), print))
  end)
end)
