--- ImageSelfAttention: every pixel attends to all pixels, as in SAGAN (Zhang et
-- al., 2019).
--
--     q, k, v = pixels of three 1x1 convolutions of the image
--     y = softmax(scale q k^T) v, as an image;  with `residual`: gamma y + x

local attend = require "heed.nn.attend"
local check = require "heed.check"
local Conv2d = require("heed.nn.convolution").Conv2d
local core = require "heed.core"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"

local ops <const> = core.ops
local NAME <const> = "ImageSelfAttention"

local ImageSelfAttention = Module:extend(NAME)

local OPTIONS <const> = {
  qk_channels = check.NONE, scale = 1.0, residual = false, bias = true,
  dropout = 0.0, generator = check.NONE,
}

--- Makes a layer.
-- @function ImageSelfAttention
-- @tparam integer in_channels of the image
-- @tparam[opt] integer out_channels of the result, in_channels by default
-- @tparam[opt] table options `qk_channels` of queries and keys, out_channels by
-- default (SAGAN: in_channels / 8); `scale` of the products, 1 by default;
-- `residual`: adds the result, times a learned number `gamma` that starts at 0,
-- to the image, false by default; `bias` of the convolutions, true by default;
-- `dropout` of the weights, 0 by default; `generator`
-- @raise when a residual has other channels than the image
-- @usage local layer = nn.ImageSelfAttention(3, 8)
-- local y = layer(heed.randn(2, 3, 4, 4)) -- [B 3 H W]: [B 8 H W]
function ImageSelfAttention:init(in_channels, out_channels, options)
  if type(out_channels) == "table" then
    out_channels, options = nil, out_channels
  end
  local o <const> = check.options(NAME, options, OPTIONS)
  check.integer(NAME, "in_channels", in_channels, 1)
  out_channels = check.integer(NAME, "out_channels",
    out_channels or in_channels, 1)
  local inner <const> = check.integer(NAME, "qk_channels",
    o.qk_channels or out_channels, 1)
  if o.residual and in_channels ~= out_channels then
    check.fail("%s: residual needs as many out_channels as in_channels, got " ..
      "%d and %d", NAME, out_channels, in_channels)
  end
  local conv <const> = {bias = o.bias, generator = o.generator}
  self.in_channels, self.out_channels = in_channels, out_channels
  self.query = Conv2d(in_channels, inner, 1, conv)
  self.key = Conv2d(in_channels, inner, 1, conv)
  self.value = Conv2d(in_channels, out_channels, 1, conv)
  if o.residual then self.gamma = parameter.zeros(1) end
  self.scale = check.number(NAME, "scale", o.scale)
  self.dropout = check.number(NAME, "dropout", o.dropout, 0, 1)
  self.generator = o.generator
end

-- The pixels of an image [B C H W], as one head: [B 1 H*W C].
local function pixels(image)
  return ops.unsqueeze(ops.transpose(ops.flatten(image, -2, -1), -1, -2), 2)
end

--- @param x float tensor [B in_channels H W]
-- @tparam[opt] table options `need_weights`: returns the weights and keeps them
-- in `attention_weights`
-- @return tensor [B out_channels H W]
-- @return with `need_weights`, the weights [B H*W H*W]
-- @raise when x is not [B in_channels H W]
-- @usage
-- local layer = nn.ImageSelfAttention(8)
-- local y, w = layer(heed.randn(1, 8, 4, 4), {need_weights = true})
-- print(w.shape[2], w.shape[3]) -- 16 16
function ImageSelfAttention:forward(x, options)
  check.keys(NAME, options, {need_weights = true})
  check.tensor(NAME, "x", x)
  if x.ndim ~= 4 or x:size(2) ~= self.in_channels then
    check.fail("%s: x must be [B %d H W], got %s", NAME, self.in_channels,
      check.shape(x.shape))
  end
  local dropout <const> = self.training and self.dropout or 0.0
  local y, w = attend(NAME, pixels(self.query(x)), pixels(self.key(x)),
    pixels(self.value(x)), {scale = self.scale,
    need_weights = options and options.need_weights}, dropout, self.generator)
  y = ops.reshape(ops.transpose(ops.squeeze(y, 2), -1, -2),
    {x:size(1), self.out_channels, x:size(3), x:size(4)})
  if self.gamma then y = ops.add(ops.mul(y, self.gamma), x) end
  self.attention_weights = w and ops.squeeze(w, 2)
  if w then return y, self.attention_weights end
  return y
end

function ImageSelfAttention:extra()
  return ("%d, %d"):format(self.in_channels, self.out_channels)
end

return ImageSelfAttention
