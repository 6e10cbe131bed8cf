-- Patterns of attention: adaptive spans and block-sparse masks.

local heed = require "heed"
local F = require "heed.nn".functional
local gradient = require "spec.support.gradient"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"

describe("span_bias", function()
  it("is the logarithm of the soft mask", function()
    -- (2 + z - distance) / 2 within 0 .. 1, for z = 0 and 1.5; the queries
    -- stand beside keys 2 to 4
    local span = heed.tensor {{{0.0}}, {{1.5}}}
    near(F.span_bias(span, 3, 4, {ramp = 2}):exp(), {
      {{0.5, 1, 0.5, 0}, {0, 0.5, 1, 0.5}, {0, 0, 0.5, 1}},
      {{1, 1, 1, 0.75}, {0.75, 1, 1, 1}, {0.25, 0.75, 1, 1}},
    })
    assert.same({2, 2}, F.span_bias(heed.tensor {1.0}, 2).shape)
  end)

  it("weighs keys by the soft mask", function()
    local g = heed.Generator(3)
    local q = heed.randn({1, 2, 6, 4}, {generator = g})
    local span = heed.tensor {{{0.5}}, {{2.0}}}
    local bias = F.span_bias(span, 6, {ramp = 3})
    local w = (q:matmul(q:transpose(-1, -2)) / 2):exp() * bias:exp()
    w = w:tril()
    near(F.scaled_dot_product_attention(q, q, q,
      {causal = true, bias = bias}), (w / w:sum(-1, true)):matmul(q))
    -- nothing is left beyond a window of the largest span and the ramp
    near(F.scaled_dot_product_attention(q, q, q,
      {causal = true, bias = bias, window = 5}),
      (w / w:sum(-1, true)):matmul(q))
  end)

  it("lets the span be learnt", function()
    local g = heed.Generator(3)
    local q = heed.randn({1, 2, 6, 4}, {dtype = "float64", generator = g})
    local span = heed.tensor({{{0.6}}, {{1.7}}}, {dtype = "float64"})
    gradient.check(function(args)
      return F.scaled_dot_product_attention(q, q, q, {causal = true,
        bias = F.span_bias(args[1], 6, 6, {ramp = 2})})
    end, {span})
  end)

  it("refuses what does not fit", function()
    local span = heed.tensor {1.0}
    assert.are.equal("span_bias: span must be a tensor, got 1",
      message(F.span_bias, 1, 2))
    assert.are.equal("span_bias: tq must be an integer, got nil",
      (message(F.span_bias, span):gsub(" of at least 0", "")))
    assert.are.equal("span_bias: ramp must be positive, got 0",
      message(F.span_bias, span, 2, {ramp = 0}))
    assert.are.equal('span_bias: unknown option "R"; known: ramp',
      message(F.span_bias, span, 2, {R = 1}))
  end)
end)

describe("block_mask", function()
  it("makes blocks of the elements of a layout", function()
    local layout = heed.tensor {{true, false}, {true, true}}
    assert.same({
      {true, true, false}, {true, true, false}, {true, true, true},
      {true, true, true},
    }, F.block_mask(layout, 2, 4, 3):totable())
    assert.same({2, 6, 6},
      F.block_mask(layout:expand(2, 2, 2), 3).shape)
    assert.same({0, 0}, F.block_mask(heed.zeros({0, 0}, "bool"), 3).shape)
  end)

  it("refuses what does not fit", function()
    local layout = heed.tensor {{true, false}, {true, true}}
    assert.are.equal("block_mask: tk 5 takes 3 blocks of 2, layout has 2",
      message(F.block_mask, layout, 2, 4, 5))
    assert.are.equal("block_mask: tq 2 takes 1 blocks of 2, layout has 2",
      message(F.block_mask, layout, 2, 2))
    assert.are.equal("block_mask: layout must be a bool tensor [.. Nq Nk], " ..
      "got tensor float32 [2 2]", message(F.block_mask, heed.ones(2, 2), 2))
    assert.are.equal("block_mask: block must be an integer of at least 1, " ..
      "got 0", message(F.block_mask, layout, 0))
  end)
end)
