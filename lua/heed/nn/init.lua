--- nn: parts of networks. Read module.lua first.
--
--     local nn = require "heed.nn"
--     local net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
--
-- `nn.functional` holds the functions without parameters, `nn.init` the first
-- values of parameters.

require "heed" -- tensors have their methods and operators from there

local activation = require "heed.nn.activation"
local decoder = require "heed.nn.transformer_decoder"
local encoder = require "heed.nn.transformer_encoder"
local heads = require "heed.nn.heads"
local loss = require "heed.nn.loss"
local recurrent = require "heed.nn.recurrent"
local recurrent_cell = require "heed.nn.recurrent_cell"

local nn = {
  Module = require "heed.nn.module",
  Parameter = require "heed.nn.parameter".of,
  functional = require "heed.nn.functional",
  init = require "heed.nn.initialise",
  is_module = require "heed.nn.tree".is_module,

  Sequential = require "heed.nn.sequential",
  ModuleList = require "heed.nn.module_list",
  ModuleDict = require "heed.nn.module_dict",
  ParameterList = require "heed.nn.parameter_list",
  summary = require "heed.nn.summary",

  Linear = require "heed.nn.linear",
  Bilinear = require "heed.nn.bilinear",
  Embedding = require "heed.nn.embedding",
  LayerNorm = require "heed.nn.layer_norm",
  RMSNorm = require "heed.nn.rms_norm",
  Dropout = require "heed.nn.dropout",
  PositionalEncoding = require "heed.nn.positional_encoding",
  LearnedPositionalEncoding = require "heed.nn.learned_positional_encoding",
  RotaryEmbedding = require "heed.nn.rotary_embedding",
  RelativePositionBias = require "heed.nn.relative_position_bias",

  MultiHeadAttention = require "heed.nn.multi_head_attention",
  KeyValueCache = require "heed.nn.cache",
  collect_attention = require "heed.nn.collect_attention",
  DotProductAttention = require "heed.nn.dot_product_attention",
  AdditiveAttention = require "heed.nn.additive_attention",
  ImageSelfAttention = require "heed.nn.image_self_attention",
  LinearAttention = require "heed.nn.linear_attention",
  AdaptiveSpanAttention = require "heed.nn.adaptive_span_attention",
  transpose_qkv = heads.transpose_qkv,
  transpose_output = heads.transpose_output,
  TransformerEncoderLayer = encoder.TransformerEncoderLayer,
  TransformerEncoder = encoder.TransformerEncoder,
  TransformerDecoderLayer = decoder.TransformerDecoderLayer,
  TransformerDecoder = decoder.TransformerDecoder,
  Transformer = require "heed.nn.transformer",
  GPT = require "heed.nn.gpt",
  VisionTransformer = require "heed.nn.vision_transformer",

  RNN = recurrent.RNN,
  LSTM = recurrent.LSTM,
  GRU = recurrent.GRU,
  RNNCell = recurrent_cell.RNNCell,
  LSTMCell = recurrent_cell.LSTMCell,
  GRUCell = recurrent_cell.GRUCell,
}
nn.MultiheadAttention = nn.MultiHeadAttention -- PyTorch's spelling

for name, class in pairs(activation) do
  if name ~= "read" then nn[name] = class end
end
for name, class in pairs(loss) do nn[name] = class end
for _, family in ipairs {
  "convolution", "pooling", "reshaping", "channel_norm", "channel_dropout",
} do
  for name, class in pairs(require("heed.nn." .. family)) do
    nn[name] = class
  end
end

return nn
