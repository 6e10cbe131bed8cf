--- nn: the cases of layers and losses. Masks come here as heed has them, true
-- where looking is allowed; labels and ids still count from 0.

local api = require "spec.support.golden.api"
local heed = require "heed"

local nn = {}

local function F(name, ...) return api.call("functional." .. name, ...) end

-- -- single functions --------------------------------------------------------

for _, name in ipairs {"relu", "silu"} do
  nn[name] = function(c) return {out = F(name, c.input.x)} end
end

function nn.gelu(c)
  local approximate = c.stored.what:find("tanh") and "tanh" or "none"
  return {out = F("gelu", c.input.x, approximate)}
end

local function along_axes(name)
  return function(c)
    local results = {}
    if c.wants.softmax then
      return {
        softmax = F("softmax", c.input.x, -1),
        log_softmax = F("log_softmax", c.input.x, -1),
      }
    end
    for want in pairs(c.wants) do
      local d = tonumber(want:match("^axis(%d+)$"))
      results[want] = F(name, c.input.x, d and d + 1 or -1)
    end
    return results
  end
end
nn.softmax, nn.log_softmax = along_axes "softmax", along_axes "log_softmax"

function nn.dropout(c)
  local p = c.params
  local layer = api.call("nn.Dropout", p.p):train(p.training)
  return {out = layer(c.input.x)}
end

nn.linear = {
  function(c)
    return {out = F("linear", c.input.x, c.weight.weight, c.weight.bias)}
  end,
  function(c)
    local size = c.weight.weight.shape
    local layer = c.load(api.call("nn.Linear", size[2], size[1],
      {bias = c.params.bias}))
    return {out = layer(c.input.x)}
  end,
}

nn.layernorm = {
  function(c)
    return {out = F("layer_norm", c.input.x, c.params.normalized_shape,
      c.weight.weight, c.weight.bias, c.params.eps)}
  end,
  function(c)
    local p = c.params
    local layer = c.load(api.call("nn.LayerNorm", p.normalized_shape,
      {eps = p.eps, elementwise_affine = p.affine}))
    return {out = layer(c.input.x)}
  end,
}

function nn.rmsnorm(c)
  return {out = F("rms_norm", c.input.x, c.weight.weight.shape,
    c.weight.weight, c.params.eps)}
end

-- The padding's id from 1, or nil.
local function padding_of(c)
  local n = c.params.padding_idx
  return n and (n >= 0 and n + 1 or n + #c.weight.weight + 1)
end

nn.embedding = {
  function(c)
    return {out = F("embedding", c.input.ids + 1, c.weight.weight,
      padding_of(c))}
  end,
  function(c)
    local size = c.weight.weight.shape
    local layer = c.load(api.call("nn.Embedding", size[1], size[2],
      {padding_idx = padding_of(c)}))
    return {out = layer(c.input.ids + 1)}
  end,
}

-- -- losses ------------------------------------------------------------------

function nn.cross_entropy(c)
  local p, target = c.params, c.input.target
  local ignore = p.ignore_index
  -- labels from 1; the one that is ignored, if it is none, stays
  local label = heed.where(target:eq(ignore), ignore, target + 1)
  if ignore >= 0 then label, ignore = target + 1, ignore + 1 end
  return {out = F("cross_entropy", c.input.x, label, {
    weight = c.input.class_weight, ignore_index = ignore,
    label_smoothing = p.label_smoothing, reduction = p.reduction,
  })}
end

function nn.mse(c)
  return {out = F("mse_loss", c.input.x, c.input.target,
    {reduction = c.params.reduction})}
end

function nn.bce_logits(c)
  return {out = F("binary_cross_entropy_with_logits", c.input.x,
    c.input.target, {reduction = c.params.reduction})}
end

function nn.kl(c)
  return {out = F("kl_div", c.input.x, c.input.target, {
    reduction = c.params.reduction, log_target = c.params.log_target,
  })}
end

-- -- images ------------------------------------------------------------------

function nn.conv2d(c)
  local p = c.params
  return {out = F("conv2d", c.input.x, c.weight.weight, c.weight.bias,
    {stride = p.stride, padding = p.padding, groups = p.groups})}
end

function nn.maxpool2d(c)
  local p = c.params
  return {out = F("max_pool2d", c.input.x, p.kernel,
    {stride = p.stride, padding = p.padding})}
end

function nn.avgpool2d(c)
  local p = c.params
  return {out = F("avg_pool2d", c.input.x, p.kernel,
    {stride = p.stride, padding = p.padding,
      count_include_pad = p.count_include_pad})}
end

function nn.batchnorm2d(c)
  local p, i = c.params, c.input
  local layer = api.call("nn.BatchNorm2d", #c.weight.weight,
    {eps = p.eps, momentum = p.momentum}):to(c.dtype):train(p.training)
  layer:load_state_dict({
    weight = c.weight.weight:detach(), bias = c.weight.bias:detach(),
    running_mean = i.running_mean, running_var = i.running_var,
  }, {strict = false})
  c.leaves.weight, c.leaves.bias = layer.weight, layer.bias
  local out = layer(i.x)
  return {
    out = out, running_mean_after = layer.running_mean,
    running_var_after = layer.running_var,
  }
end

local function rope(c)
  local p = c.params
  return {out = F("rotary_embedding", c.input.x,
    {style = p.style, base = p.base, offset = p.offset})}
end
nn.rope_half, nn.rope_interleaved = rope, rope

-- -- attention layers --------------------------------------------------------

-- Puts a mask of a file into options whose names start with `prefix`: boolean
-- ones are masks, float ones are added to the scores. [B * H, T, S] becomes
-- [B H T S].
local function mask_option(options, prefix, mask, heads)
  if not mask then return end
  if mask.ndim == 3 then
    local size = mask.shape
    mask = mask:reshape {size[1] // heads, heads, size[2], size[3]}
  end
  options[prefix .. (mask.dtype == "bool" and "mask" or "bias")] = mask
end

-- The masks of one attention of a transformer: `src`, `tgt` or `memory`.
local function part_options(c, part, options, prefix)
  mask_option(options, prefix, c.input[part .. "_mask"], c.params.nhead)
  options[prefix .. "key_mask"] = c.input[part .. "_key_padding_mask"]
end

-- Writes a causal mask of the target as `causal`, if it is one.
local function shorten(options)
  local mask = options.tgt_mask
  if mask and mask:eq(heed.ones(mask.shape, "bool"):tril()):all():item() then
    options.tgt_mask, options.causal = nil, true
  end
end

local function multi_head(need_weights)
  return function(c)
    local p, i = c.params, c.input
    local layer = c.load(api.call("nn.MultiHeadAttention", p.embed_dim,
      p.num_heads, {
        bias = p.bias, kdim = p.kdim, vdim = p.vdim, dropout = p.dropout,
        add_bias_kv = p.add_bias_kv, add_zero_attn = p.add_zero_attn,
        batch_first = p.batch_first,
      }))
    local options = {
      key_mask = i.key_padding_mask,
      need_weights = need_weights and p.need_weights,
      average_weights = p.average_attn_weights,
    }
    mask_option(options, "", i.attn_mask, p.num_heads)
    local out, weights = layer(i.query, i.key, i.value, options)
    return {out = out, attn_weights = weights}
  end
end
nn.mha = {multi_head(true), multi_head(false)}

local function layer_options(p)
  return {
    dim_feedforward = p.dim_feedforward, dropout = p.dropout,
    activation = p.activation, norm_first = p.norm_first,
    layer_norm_eps = p.eps, batch_first = p.batch_first,
  }
end

function nn.encoder_layer(c)
  local p, options = c.params, {}
  local layer = c.load(api.call("nn.TransformerEncoderLayer", p.d_model,
    p.nhead, layer_options(p)))
  part_options(c, "src", options, "")
  return {out = layer(c.input.src, options)}
end

local function decoder_layer(short)
  return function(c)
    local p, options = c.params, {}
    local layer = c.load(api.call("nn.TransformerDecoderLayer", p.d_model,
      p.nhead, layer_options(p)))
    part_options(c, "tgt", options, "tgt_")
    part_options(c, "memory", options, "memory_")
    if short then shorten(options) end
    return {out = layer(c.input.tgt, c.input.memory, options)}
  end
end
nn.decoder_layer = {decoder_layer(false), decoder_layer(true)}

local function transformer(short)
  return function(c)
    local p, made, options = c.params, layer_options(c.params), {}
    made.num_encoder_layers = p.num_encoder_layers
    made.num_decoder_layers = p.num_decoder_layers
    local model = c.load(api.call("nn.Transformer", p.d_model, p.nhead, made))
    for _, part in ipairs {"src", "tgt", "memory"} do
      part_options(c, part, options, part .. "_")
    end
    if short then shorten(options) end
    return {out = model(c.input.src, c.input.tgt, options)}
  end
end
nn.transformer = {transformer(false), transformer(true)}

for _, part in ipairs {"loss", "recurrent"} do
  for op, ways in pairs(require("spec.support.golden." .. part)) do
    nn[op] = ways
  end
end

return nn
