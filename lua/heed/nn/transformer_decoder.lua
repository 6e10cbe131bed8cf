--- TransformerDecoderLayer and TransformerDecoder (Vaswani et al., 2017).
--
-- As an encoder layer, with attention to the memory between the attention to
-- itself and the feed-forward part.

local activation = require "heed.nn.activation"
local check = require "heed.check"
local Dropout = require "heed.nn.dropout"
local LayerNorm = require "heed.nn.layer_norm"
local Linear = require "heed.nn.linear"
local Module = require "heed.nn.module"
local ModuleList = require "heed.nn.module_list"
local MultiHeadAttention = require "heed.nn.multi_head_attention"
local read = require "heed.nn.transformer_options"
local tree = require "heed.nn.tree"

local Layer = Module:extend("TransformerDecoderLayer")

--- Makes a layer; the options are those of `TransformerEncoderLayer`.
-- @function TransformerDecoderLayer
-- @tparam integer d_model width; a multiple of nhead
-- @tparam integer nhead heads of both attentions
-- @tparam[opt] table options
-- @usage local layer = nn.TransformerDecoderLayer(16, 4)
-- local y = layer(heed.randn(2, 5, 16), heed.randn(2, 6, 16)) -- [B T 16]
function Layer:init(d_model, nhead, options)
  local o = read.layer("TransformerDecoderLayer", d_model, nhead, options)
  local linear = {bias = o.bias, generator = o.generator}
  local norm = {bias = o.bias, eps = o.layer_norm_eps}
  local drop = {generator = o.generator}
  local attention = {bias = o.bias, dropout = o.dropout,
    batch_first = o.batch_first, num_kv_heads = o.num_kv_heads,
    generator = o.generator}
  attention.rotary = o.rotary -- a memory has no distances
  self.self_attn = MultiHeadAttention(d_model, nhead, attention)
  attention.rotary = nil
  self.multihead_attn = MultiHeadAttention(d_model, nhead, attention)
  self.linear1 = Linear(d_model, o.dim_feedforward, linear)
  self.dropout = Dropout(o.dropout, drop)
  self.linear2 = Linear(o.dim_feedforward, d_model, linear)
  self.norm1 = LayerNorm(d_model, norm)
  self.norm2 = LayerNorm(d_model, norm)
  self.norm3 = LayerNorm(d_model, norm)
  self.dropout1 = Dropout(o.dropout, drop)
  self.dropout2 = Dropout(o.dropout, drop)
  self.dropout3 = Dropout(o.dropout, drop)
  self.activation = activation.read("TransformerDecoderLayer", o.activation)
  self.norm_first = o.norm_first
end

local function attend(self, x, options)
  return self.dropout1((self.self_attn(x, x, x, options)))
end

local function attend_memory(self, x, memory, options)
  return self.dropout2((self.multihead_attn(x, memory, memory, options)))
end

local function feed(self, x)
  x = self.dropout(self.activation(self.linear1(x)))
  return self.dropout3(self.linear2(x))
end

--- @param x tensor [B T d_model], or [T d_model]
-- @param memory tensor [B S d_model], or [S d_model]
-- @tparam[opt] table options the descriptions of
-- `F.scaled_dot_product_attention` with `tgt_` or `memory_` before their names
-- (`tgt_key_mask`, `memory_valid_lens` ...); `causal`, short for `tgt_causal`;
-- `cache`: an `nn.KeyValueCache`; `need_weights`: both attentions keep theirs
-- in `attention_weights`
-- @return tensor like x
-- @usage
-- local layer = nn.TransformerDecoderLayer(16, 4)
-- local y = layer(heed.randn(2, 5, 16), heed.randn(2, 6, 16), {causal = true})
function Layer:forward(x, memory, options)
  local o = read.decoder("TransformerDecoderLayer", options)
  check.tensor("TransformerDecoderLayer", "memory", memory)
  if self.norm_first then
    x = x + attend(self, self.norm1(x), o.tgt)
    x = x + attend_memory(self, self.norm2(x), memory, o.memory)
    return x + feed(self, self.norm3(x))
  end
  x = self.norm1(x + attend(self, x, o.tgt))
  x = self.norm2(x + attend_memory(self, x, memory, o.memory))
  return self.norm3(x + feed(self, x))
end

local Decoder = Module:extend("TransformerDecoder")

--- Makes a stack of copies of a layer.
-- @function TransformerDecoder
-- @param layer module that is copied num_layers times
-- @tparam integer num_layers
-- @tparam[opt] table options `norm`: module for the result
-- @raise when layer is no module
-- @usage
-- local decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4), 2)
-- local x, memory = heed.randn(2, 5, 16), heed.randn(2, 6, 16)
-- return decoder(x, memory, {causal = true}) --> shape (2, 5, 16)
function Decoder:init(layer, num_layers, options)
  local o = check.options("TransformerDecoder", options, {norm = check.NONE})
  if not tree.is_module(layer) then
    check.fail("TransformerDecoder: layer must be a module, got %s",
      check.show(layer))
  end
  check.integer("TransformerDecoder", "num_layers", num_layers, 0)
  self.layers = ModuleList()
  for _ = 1, num_layers do self.layers:append(layer:clone()) end
  self.norm = o.norm
end

--- @param x tensor [B T d_model], or [T d_model]
-- @param memory tensor [B S d_model], or [S d_model]
-- @tparam[opt] table options those of `TransformerDecoderLayer`
-- @return tensor like x
-- @usage
-- local decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4), 2)
-- local y = decoder(heed.randn(2, 5, 16), heed.randn(2, 6, 16),
--   {causal = true, memory_valid_lens = heed.tensor {6, 4}})
function Decoder:forward(x, memory, options)
  local o = read.decoder("TransformerDecoder", options)
  check.tensor("TransformerDecoder", "memory", memory)
  for i = 1, #self.layers do x = self.layers[i](x, memory, o) end
  return self.norm and self.norm(x) or x
end

return {TransformerDecoderLayer = Layer, TransformerDecoder = Decoder}
