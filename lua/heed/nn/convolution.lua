--- Convolutions and transposed convolutions of lines and images, with learned
-- weights.

local check = require "heed.check"
local convolution = require "heed.nn.functional.convolution"
local initialise = require "heed.nn.initialise"
local Module = require "heed.nn.module"
local padding = require "heed.nn.functional.padding"
local parameter = require "heed.nn.parameter"
local window = require "heed.nn.window"

local layers = {}

-- -- what they share ---------------------------------------------------------

local Layer <const> = Module:extend("Convolution")

local SHOWN <const> = {
  {"stride", "1"}, {"padding", "0"}, {"output_padding", "0"},
  {"dilation", "1"}, {"groups", "1"}, {"padding_mode", "zeros"},
}

-- The options that are not their defaults, as print shows them.
local function shown(o)
  local text = ""
  for _, pair in ipairs(SHOWN) do
    local key <const>, value = pair[1], o[pair[1]]
    if type(value) == "table" then value = table.concat(value, "x") end
    if value and tostring(value) ~= pair[2] then
      text = ("%s, %s = %s"):format(text, key, value)
    end
  end
  return text
end

-- Channels and groups that fit; the window; weight and bias as PyTorch draws
-- them. `turned`: the weight goes from input to output channels.
local function make(self, in_channels, out_channels, kernel, o, turned)
  local name <const>, ndim <const> = self.__name, self.ndim
  self.in_channels = check.integer(name, "in_channels", in_channels, 1)
  self.out_channels = check.integer(name, "out_channels", out_channels, 1)
  self.kernel = window.pair(name, "kernel", kernel, 1, ndim, 1)
  self.groups = check.integer(name, "groups", o.groups, 1)
  self.shown = shown(o)
  if in_channels % o.groups ~= 0 or out_channels % o.groups ~= 0 then
    check.fail("%s: in_channels %d and out_channels %d must be multiples of " ..
      "groups %d", name, in_channels, out_channels, o.groups)
  end
  local first, second = out_channels, in_channels // o.groups
  if turned then first, second = in_channels, out_channels // o.groups end
  local down, across = self.kernel[1], self.kernel[2]
  self.weight = ndim == 1 and parameter.zeros(first, second, across) or
    parameter.zeros(first, second, down, across)
  initialise.kaiming_uniform_(self.weight,
    {a = 5.0 ^ 0.5, generator = o.generator})
  if o.bias then
    self.bias = parameter.zeros(out_channels)
    local bound = 1 / (second * down * across) ^ 0.5
    initialise.uniform_(self.bias, -bound, bound, {generator = o.generator})
  end
end

function Layer:extra()
  local size = self.ndim == 1 and ("%d"):format(self.kernel[2]) or
    ("%dx%d"):format(self.kernel[1], self.kernel[2])
  return ("%d, %d, %s%s"):format(self.in_channels, self.out_channels, size,
    self.shown)
end

-- -- convolutions ------------------------------------------------------------

local CONV <const> = {
  stride = 1, padding = 0, dilation = 1, groups = 1, bias = true,
  padding_mode = "zeros", generator = check.NONE,
}

local modes <const> = {
  zeros = true, reflect = true, replicate = true, circular = true,
}

-- How much F.pad is to add, the last dimension first.
local function around(self, o)
  local _, p = window.read(self.__name, self.kernel, o, self.ndim)
  if self.ndim == 1 then return {p[2], p[4]} end
  return {p[2], p[4], p[1], p[3]}
end

local function convolution_layer(name, ndim)
  local class <const> = Layer:extend(name)
  local conv <const> = convolution["conv" .. ndim .. "d"]
  class.ndim = ndim

  function class:init(in_channels, out_channels, kernel, options)
    local o = check.options(name, options, CONV)
    if not modes[o.padding_mode] then
      check.fail('%s: padding_mode must be "zeros", "reflect", "replicate" ' ..
        'or "circular", got %s', name, check.show(o.padding_mode))
    end
    self.padding_mode = o.padding_mode
    local pair = window.pair(name, "kernel", kernel, 1, ndim, 1)
    window.read(name, pair, o, ndim) -- refuses what is wrong now
    make(self, in_channels, out_channels, kernel, o)
    self.options = {stride = o.stride, padding = o.padding,
      dilation = o.dilation, groups = o.groups}
    if o.padding_mode ~= "zeros" then
      self.around = around(self, o)
      self.options.padding = 0
    end
  end

  function class:forward(x)
    if self.around then
      x = padding.pad(x, self.around, {mode = self.padding_mode})
    end
    return conv(x, self.weight, self.bias, self.options)
  end

  layers[name] = class
end

--- Makes a layer for lines; weight [out in/groups k] and bias [out] are
-- uniform in +-1 / sqrt(in/groups k), as in PyTorch.
-- @function Conv1d
-- @tparam integer in_channels of the lines
-- @tparam integer out_channels of the result
-- @tparam integer kernel size of the window
-- @tparam[opt] table options as for `Conv2d`
-- @raise when the channels cannot be cut into groups
-- @usage local layer = nn.Conv1d(3, 8, 5, {padding = "same"})
-- local y = layer(heed.randn(2, 3, 9)) -- [B 3 L]: [B 8 L]
convolution_layer("Conv1d", 1)

--- Makes a layer for images; weight [out in/groups kh kw] and bias [out] are
-- uniform in +-1 / sqrt(in/groups kh kw), as in PyTorch.
-- @function Conv2d
-- @tparam integer in_channels of the images
-- @tparam integer out_channels of the result
-- @param kernel sizes of the window: an integer or {down, across}
-- @tparam[opt] table options `stride` (1), `padding` (0, or "valid", "same"),
-- `dilation` (1), `groups` (1), `bias` (true), `padding_mode` ("zeros"; or
-- "reflect", "replicate", "circular", see `F.pad`), `generator`; see `F.conv2d`
-- @raise when the channels cannot be cut into groups
-- @usage local layer = nn.Conv2d(3, 8, 3, {padding = 1})
-- local y = layer(heed.randn(2, 3, 6, 6)) -- [B 3 H W]: [B 8 H W]
convolution_layer("Conv2d", 2)

-- -- transposed convolutions -------------------------------------------------

local TRANSPOSED <const> = {
  stride = 1, padding = 0, output_padding = 0, dilation = 1, groups = 1,
  bias = true, generator = check.NONE,
}

local function transposed_layer(name, ndim)
  local class <const> = Layer:extend(name)
  local conv <const> = convolution["conv_transpose" .. ndim .. "d"]
  class.ndim = ndim

  function class:init(in_channels, out_channels, kernel, options)
    local o = check.options(name, options, TRANSPOSED)
    local pair = window.pair(name, "kernel", kernel, 1, ndim, 1)
    window.read(name, pair, o, ndim) -- refuses what is wrong now
    window.pair(name, "output_padding", o.output_padding, 0, ndim, 0)
    make(self, in_channels, out_channels, kernel, o, true)
    self.options = {stride = o.stride, padding = o.padding,
      output_padding = o.output_padding, dilation = o.dilation,
      groups = o.groups}
  end

  function class:forward(x)
    return conv(x, self.weight, self.bias, self.options)
  end

  layers[name] = class
end

--- Makes a layer for lines, as `ConvTranspose2d` for images; weight
-- [in out/groups k].
-- @function ConvTranspose1d
-- @tparam integer in_channels of the lines
-- @tparam integer out_channels of the result
-- @tparam integer kernel size of the window
-- @tparam[opt] table options as for `ConvTranspose2d`
-- @raise when the channels cannot be cut into groups
-- @usage local layer = nn.ConvTranspose1d(3, 8, 2, {stride = 2})
-- local y = layer(heed.randn(2, 3, 5)) -- [B 3 L]: [B 8 2L]
transposed_layer("ConvTranspose1d", 1)

--- Makes a layer for images; weight [in out/groups kh kw] and bias [out] are
-- uniform in +-1 / sqrt(out/groups kh kw), as in PyTorch.
-- @function ConvTranspose2d
-- @tparam integer in_channels of the images
-- @tparam integer out_channels of the result
-- @param kernel sizes of the window: an integer or {down, across}
-- @tparam[opt] table options `stride` (1), `padding` (0), `output_padding`
-- (0), `dilation` (1), `groups` (1), `bias` (true), `generator`; see
-- `F.conv_transpose2d`
-- @raise when the channels cannot be cut into groups
-- @usage local layer = nn.ConvTranspose2d(3, 8, 2, {stride = 2})
-- local y = layer(heed.randn(2, 3, 4, 4)) -- [B 3 H W]: [B 8 2H 2W]
transposed_layer("ConvTranspose2d", 2)

return layers
