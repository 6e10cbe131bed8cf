--- VisionTransformer: an encoder over the patches of an image (Dosovitskiy et
-- al., 2021).
--
--     x = class token, then a linear map of each patch; plus learned positions
--     logits = head(norm(layers(x)) at the class token)

local check = require "heed.check"
local Conv2d = require("heed.nn.convolution").Conv2d
local core = require "heed.core"
local Dropout = require "heed.nn.dropout"
local encoder = require "heed.nn.transformer_encoder"
local initialise = require "heed.nn.initialise"
local LayerNorm = require "heed.nn.layer_norm"
local Linear = require "heed.nn.linear"
local Module = require "heed.nn.module"
local ModuleList = require "heed.nn.module_list"
local parameter = require "heed.nn.parameter"
local transformer_options = require "heed.nn.transformer_options"
local window = require "heed.nn.window"

local ops <const> = core.ops
local NAME <const> = "VisionTransformer"

local VisionTransformer = Module:extend(NAME)

local OPTIONS <const> = {
  image_size = 224, patch_size = 16, in_channels = 3, num_classes = 1000,
  d_model = 256, nhead = 4, num_layers = 4, dim_feedforward = check.NONE,
  dropout = 0.0, activation = "gelu", norm_first = true,
  layer_norm_eps = 1e-6, pool = "class", generator = check.NONE,
}

local function read(options)
  local o <const> = check.options(NAME, options, OPTIONS)
  check.integer(NAME, "in_channels", o.in_channels, 1)
  check.integer(NAME, "num_classes", o.num_classes, 1)
  check.integer(NAME, "num_layers", o.num_layers, 0)
  transformer_options.heads(NAME, o.d_model, o.nhead)
  if o.pool ~= "class" and o.pool ~= "mean" then
    check.fail('%s: pool must be "class" or "mean", got %s', NAME,
      check.show(o.pool))
  end
  return o
end

--- Makes a model.
-- @function VisionTransformer
-- @tparam[opt] table options
--
-- * `image_size` (224) and `patch_size` (16): integers or {down, across}
-- * `in_channels` (3), `num_classes` (1000)
-- * `d_model` (256), `nhead` (4), `num_layers` (4), `dim_feedforward`
--   (4 d_model): sizes
-- * `pool` ("class"): what goes into the head: the class token, or "mean" of
--   the patches, without such a token
-- * `dropout` (0), `activation` ("gelu"), `norm_first` (true),
--   `layer_norm_eps` (1e-6), `generator`
-- @raise when patches do not fill the image, or nhead does not divide d_model
-- @usage
-- local model = nn.VisionTransformer {image_size = 8, patch_size = 4,
--   num_classes = 10, d_model = 16, nhead = 2, num_layers = 1}
-- local logits = model(heed.randn(2, 3, 8, 8)) -- [2 10]
function VisionTransformer:init(options)
  local o <const> = read(options)
  self.image_size = window.pair(NAME, "image_size", o.image_size, 1)
  self.patch_size = window.pair(NAME, "patch_size", o.patch_size, 1)
  for d = 1, 2 do
    if self.image_size[d] % self.patch_size[d] ~= 0 then
      check.fail("%s: image_size must be a multiple of patch_size, got %d " ..
        "and %d", NAME, self.image_size[d], self.patch_size[d])
    end
  end
  self.in_channels, self.num_classes = o.in_channels, o.num_classes
  local drawn <const> = {generator = o.generator}
  self.conv_proj = Conv2d(o.in_channels, o.d_model, self.patch_size,
    {stride = self.patch_size, generator = o.generator})
  local places = self.image_size[1] // self.patch_size[1] *
    (self.image_size[2] // self.patch_size[2])
  if o.pool == "class" then
    self.class_token = parameter.zeros(1, 1, o.d_model)
    places = places + 1
  end
  self.pos_embedding = parameter.zeros(1, places, o.d_model)
  initialise.normal_(self.pos_embedding, 0.0, 0.02, drawn)
  self.dropout = Dropout(o.dropout, drawn)
  self.layers = ModuleList()
  for _ = 1, o.num_layers do
    self.layers:append(encoder.TransformerEncoderLayer(o.d_model, o.nhead, {
      dim_feedforward = o.dim_feedforward or 4 * o.d_model,
      dropout = o.dropout, activation = o.activation,
      norm_first = o.norm_first, layer_norm_eps = o.layer_norm_eps,
      generator = o.generator,
    }))
  end
  self.norm = LayerNorm(o.d_model, {eps = o.layer_norm_eps})
  self.head = Linear(o.d_model, o.num_classes, drawn)
end

--- @param x float tensor [B in_channels H W] of image_size
-- @tparam[opt] table options `need_weights`: the attention of each layer keeps
-- its weights in `attention_weights`
-- @return the scores of the classes, tensor [B num_classes]
-- @raise when x is not [B in_channels H W] of image_size
-- @usage
-- local model = nn.VisionTransformer {image_size = 8, patch_size = 4,
--   num_classes = 10, d_model = 16, nhead = 2, num_layers = 1}
-- local logits = model(heed.randn(2, 3, 8, 8), {need_weights = true})
function VisionTransformer:forward(x, options)
  check.keys(NAME, options, {need_weights = true})
  check.tensor(NAME, "x", x)
  local size <const> = self.image_size
  if x.ndim ~= 4 or x:size(2) ~= self.in_channels or x:size(3) ~= size[1] or
     x:size(4) ~= size[2] then
    check.fail("%s: x must be [B %d %d %d], got %s", NAME, self.in_channels,
      size[1], size[2], check.shape(x.shape))
  end
  -- [B C down across] -> [B T C]
  x = ops.transpose(ops.flatten(self.conv_proj(x), -2, -1), -1, -2)
  if self.class_token then
    local token = ops.expand(self.class_token, {x:size(1), 1, x:size(3)})
    x = ops.cat({token, x}, 2)
  end
  x = self.dropout(ops.add(x, self.pos_embedding))
  for i = 1, #self.layers do x = self.layers[i](x, options) end
  x = self.norm(x)
  x = self.class_token and ops.select(x, 2, 1) or ops.mean(x, 2)
  return self.head(x)
end

function VisionTransformer:extra()
  return ("%dx%d, patch = %dx%d, %d"):format(self.image_size[1],
    self.image_size[2], self.patch_size[1], self.patch_size[2],
    self.num_classes)
end

return VisionTransformer
