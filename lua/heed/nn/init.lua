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
local loss = require "heed.nn.loss"

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
  Conv2d = require "heed.nn.conv2d",
  Embedding = require "heed.nn.embedding",
  LayerNorm = require "heed.nn.layer_norm",
  Dropout = require "heed.nn.dropout",
  PositionalEncoding = require "heed.nn.positional_encoding",

  MultiHeadAttention = require "heed.nn.multi_head_attention",
  KeyValueCache = require "heed.nn.cache",
  TransformerEncoderLayer = encoder.TransformerEncoderLayer,
  TransformerEncoder = encoder.TransformerEncoder,
  TransformerDecoderLayer = decoder.TransformerDecoderLayer,
  TransformerDecoder = decoder.TransformerDecoder,
  Transformer = require "heed.nn.transformer",

  CrossEntropyLoss = loss.CrossEntropyLoss,
  MSELoss = loss.MSELoss,
}
nn.MultiheadAttention = nn.MultiHeadAttention -- PyTorch's spelling

for name, class in pairs(activation) do
  if name ~= "read" then nn[name] = class end
end

return nn
