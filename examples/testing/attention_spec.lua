-- attention_spec - a small attention layer, tested in every way that heed has.
--
--     busted examples/testing

local heed = require "heed"
local testing = require "heed.testing"

-- the layer beside this file
local here <const> = debug.getinfo(1, "S").source:match "^@(.*/)" or ""
local Attention <const> = dofile(here .. "attention.lua")

local WIDTH <const> = 6

describe("Attention", function()
  local layer, x, lengths

  before_each(function()
    heed.manual_seed(1)
    layer = Attention(WIDTH, 4)
    x = heed.randn(2, 5, WIDTH)                               -- [B T width]
    lengths = heed.tensor {5, 3}
  end)

  it("keeps shape and dtype, and gives weights of queries and keys", function()
    local y, weights = layer(x, lengths)
    assert.has_shape(y, {2, 5, WIDTH})
    assert.has_shape(weights, {2, "T", "T"})
    assert.has_dtype(y, "float32")
    assert.finite {y = y, weights = weights}
  end)

  it("gives weights that sum to 1, and none beyond the length", function()
    local _, weights = layer(x, lengths)
    assert.tensors_close(weights:sum(-1), heed.ones({2, 5}))
    assert.tensors_close(weights[{2, {}, {4, 5}}], heed.zeros({5, 2}))
  end)

  it("agrees with heed's own attention", function()
    local q, k, v = layer.query(x), layer.key(x), layer.value(x)
    local want = heed.nn.functional.scaled_dot_product_attention(
      q:unsqueeze(2), k:unsqueeze(2), v:unsqueeze(2), {valid_lens = lengths})
    assert.tensors_close(layer(x, lengths), want:squeeze(2))
  end)

  it("has right gradients, by its input and its parameters", function()
    layer:to("float64")
    assert.gradients_ok(function(input) return layer(input, lengths) end,
      heed.randn(2, 5, WIDTH), {parameters = layer})
  end)

  it("does not look beyond the length", function()
    local sequence = testing.custom(function(draw)
      local b = draw(testing.integer(1, 3))
      local t = draw(testing.integer(1, 7))
      return {
        x = draw(testing.tensor {shape = {b, t, WIDTH}, views = true}),
        lengths = draw(testing.tensor {dtype = "int64", shape = {b},
          values = testing.integer(1, t)}),
      }
    end)
    testing.property(function(s)
      local changed = s.x:clone()
      for row, length in ipairs(s.lengths:totable()) do
        if length < s.x:size(2) then
          changed[{row, {length + 1, -1}}] = 1e4
        end
      end
      local inside = heed.arange(s.x:size(2)):reshape(1, -1, 1)
        :le(s.lengths:reshape(-1, 1, 1))
      local function masked(input)
        return layer(input, s.lengths):masked_fill(~inside, 0)
      end
      assert.tensors_close(masked(changed), masked(s.x))
    end, {sequence}, {examples = 50, seed = 1})
  end)

  it("gives the same bits in every run and for every thread count", function()
    assert.deterministic(function() return layer(x, lengths) end)
  end)

  it("gives what it gave before", function()
    local y, weights = layer(x, lengths)
    assert.matches_golden("attention", {y = y, weights = weights})
  end)
end)
