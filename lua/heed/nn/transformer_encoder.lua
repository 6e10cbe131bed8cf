--- TransformerEncoderLayer and TransformerEncoder (Vaswani et al., 2017).
--
--     norm last:   x = norm1(x + attend(x));  x = norm2(x + feed(x))
--     norm first:  x = x + attend(norm1(x));  x = x + feed(norm2(x))
--     feed(x) = linear2(activation(linear1(x)))

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

local Layer = Module:extend("TransformerEncoderLayer")

--- Makes a layer: attention of a sequence to itself and a part that looks at
-- each step alone, each added to what goes in.
-- @function TransformerEncoderLayer
-- @tparam integer d_model width; a multiple of nhead
-- @tparam integer nhead heads of the attention
-- @tparam[opt] table options `dim_feedforward`, 2048 by default; `dropout`,
-- 0.1; `activation`, `"relu"` (default), `"gelu"` or any function;
-- `layer_norm_eps`, 1e-5; `batch_first`, true; `norm_first`, false; `bias`,
-- true; `num_kv_heads` and `rotary`: see `MultiHeadAttention`; `generator`
-- @usage local layer = nn.TransformerEncoderLayer(16, 4)
-- local y = layer(heed.randn(2, 5, 16)) -- [B T 16]
function Layer:init(d_model, nhead, options)
  local o = read.layer("TransformerEncoderLayer", d_model, nhead, options)
  local linear = {bias = o.bias, generator = o.generator}
  local norm = {bias = o.bias, eps = o.layer_norm_eps}
  local drop = {generator = o.generator}
  self.self_attn = MultiHeadAttention(d_model, nhead, {bias = o.bias,
    dropout = o.dropout, batch_first = o.batch_first,
    num_kv_heads = o.num_kv_heads, rotary = o.rotary,
    generator = o.generator})
  self.linear1 = Linear(d_model, o.dim_feedforward, linear)
  self.dropout = Dropout(o.dropout, drop)
  self.linear2 = Linear(o.dim_feedforward, d_model, linear)
  self.norm1 = LayerNorm(d_model, norm)
  self.norm2 = LayerNorm(d_model, norm)
  self.dropout1 = Dropout(o.dropout, drop)
  self.dropout2 = Dropout(o.dropout, drop)
  self.activation = activation.read("TransformerEncoderLayer", o.activation)
  self.norm_first = o.norm_first
end

local function attend(self, x, options)
  return self.dropout1((self.self_attn(x, x, x, options)))
end

local function feed(self, x)
  x = self.dropout(self.activation(self.linear1(x)))
  return self.dropout2(self.linear2(x))
end

--- @param x tensor [B T d_model], or [T d_model]
-- @tparam[opt] table options those of `MultiHeadAttention`
-- @return tensor like x
-- @usage
-- local layer = nn.TransformerEncoderLayer(16, 4)
-- local y = layer(heed.randn(2, 5, 16), {valid_lens = heed.tensor {5, 3}})
function Layer:forward(x, options)
  if self.norm_first then
    x = x + attend(self, self.norm1(x), options)
    return x + feed(self, self.norm2(x))
  end
  x = self.norm1(x + attend(self, x, options))
  return self.norm2(x + feed(self, x))
end

local Encoder = Module:extend("TransformerEncoder")

--- Makes a stack of copies of a layer.
-- @function TransformerEncoder
-- @param layer module that is copied num_layers times
-- @tparam integer num_layers
-- @tparam[opt] table options `norm`: module for the result
-- @raise when layer is no module
-- @usage
-- local encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4), 2)
-- local x = heed.randn(2, 5, 16)
-- return encoder(x, {valid_lens = {3, 5}}) --> shape (2, 5, 16)
function Encoder:init(layer, num_layers, options)
  local o = check.options("TransformerEncoder", options, {norm = check.NONE})
  if not tree.is_module(layer) then
    check.fail("TransformerEncoder: layer must be a module, got %s",
      check.show(layer))
  end
  check.integer("TransformerEncoder", "num_layers", num_layers, 0)
  self.layers = ModuleList()
  for _ = 1, num_layers do self.layers:append(layer:clone()) end
  self.norm = o.norm
end

--- @param x tensor [B T d_model], or [T d_model]
-- @tparam[opt] table options those of `MultiHeadAttention`, for all layers
-- @return tensor like x
-- @usage
-- local encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4), 2)
-- local y = encoder(heed.randn(2, 5, 16), {valid_lens = heed.tensor {5, 3}})
function Encoder:forward(x, options)
  for i = 1, #self.layers do x = self.layers[i](x, options) end
  return self.norm and self.norm(x) or x
end

return {TransformerEncoderLayer = Layer, TransformerEncoder = Encoder}
