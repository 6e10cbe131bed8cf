--- torch_models: the models of tools/torch_weights.py, made by heed: how to
-- make each, and what it gives of its inputs.

local heed = require "heed"
local nn <const> = heed.nn

local models = {}

local function attention(options)
  return {
    build = function() return nn.MultiheadAttention(8, 2, options) end,
    run = function(model, t)
      local out, weights = model(t.query, t.key, t.value, {
        key_mask = t.keep, need_weights = true, average_weights = false,
      })
      return {out = out, weights = weights}
    end,
    shapes = {
      query = {2, 3, 8}, key = {2, 5, options.kdim or 8},
      value = {2, 5, options.vdim or 8}, keep = {5, 3},
    },
  }
end

models.attention = attention {}
models.attention_no_bias = attention {bias = false}
models.attention_widths = attention {kdim = 6, vdim = 4}
models.attention_extra = attention {add_bias_kv = true, add_zero_attn = true}

local function layer(norm_first, activation)
  return {
    dim_feedforward = 12, dropout = 0.0, activation = activation,
    norm_first = norm_first,
  }
end

local function encoder(norm_first, activation)
  return {
    build = function()
      return nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, layer(norm_first, activation)), 2,
        {norm = norm_first and nn.LayerNorm(8) or nil})
    end,
    run = function(model, t) return {out = model(t.x, {key_mask = t.keep})} end,
    shapes = {x = {2, 5, 8}, keep = {4, 5}},
  }
end

models.encoder = encoder(false, "relu")
models.encoder_norm_first = encoder(true, heed.nn.functional.gelu)

local function decoder(norm_first)
  return {
    build = function()
      return nn.TransformerDecoder(
        nn.TransformerDecoderLayer(8, 2, layer(norm_first, "gelu")), 2,
        {norm = norm_first and nn.LayerNorm(8) or nil})
    end,
    run = function(model, t)
      return {out = model(t.x, t.memory,
        {causal = true, memory_key_mask = t.keep})}
    end,
    shapes = {x = {2, 4, 8}, memory = {2, 5, 8}, keep = {2, 5}},
  }
end

models.decoder = decoder(false)
models.decoder_norm_first = decoder(true)

local function transformer(norm_first)
  return {
    build = function()
      local options = layer(norm_first, "gelu")
      options.num_encoder_layers, options.num_decoder_layers = 2, 1
      return nn.Transformer(8, 2, options)
    end,
    run = function(model, t)
      return {out = model(t.src, t.tgt, {
        causal = true, src_key_mask = t.keep, memory_key_mask = t.keep,
      })}
    end,
    shapes = {src = {2, 5, 8}, tgt = {2, 4, 8}, keep = {5, 3}},
  }
end

models.transformer = transformer(false)
models.transformer_norm_first = transformer(true)

models.gpt = {
  build = function()
    return nn.GPT(11, {d_model = 8, nhead = 2, num_layers = 2,
      dim_feedforward = 16, max_length = 6, dropout = 0.0})
  end,
  run = function(model, t) return {out = model(t.ids)} end,
  shapes = {ids = {2, 6}},
}

return models
