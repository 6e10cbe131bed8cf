--- Conv2d: images through a window with learned weights.

local check = require "heed.check"
local convolution = require "heed.nn.functional.convolution"
local initialise = require "heed.nn.initialise"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"
local window = require "heed.nn.window"

local conv2d <const> = convolution.conv2d

local Conv2d = Module:extend("Conv2d")

local OPTIONS <const> = {
  stride = 1, padding = 0, dilation = 1, groups = 1, bias = true,
  generator = check.NONE,
}

local function sizes(kernel)
  if type(kernel) ~= "table" then kernel = {kernel, kernel} end
  return check.integer("Conv2d", "kernel", kernel[1], 1),
    check.integer("Conv2d", "kernel", kernel[2], 1)
end

--- Makes a layer; weight [out in/groups kh kw] and bias [out] are uniform in
-- +-1 / sqrt(in/groups kh kw), as in PyTorch.
-- @function Conv2d
-- @tparam integer in_channels of the images
-- @tparam integer out_channels of the result
-- @param kernel sizes of the window: an integer or {down, across}
-- @tparam[opt] table options `stride` (1), `padding` (0, or "valid", "same"),
-- `dilation` (1), `groups` (1), `bias` (true), `generator`; see `F.conv2d`
-- @raise when the channels cannot be cut into groups
-- @usage local y = nn.Conv2d(3, 8, 3, {padding = 1})(x) -- [B 3 H W]: [B 8 H W]
function Conv2d:init(in_channels, out_channels, kernel, options)
  self.in_channels = check.integer("Conv2d", "in_channels", in_channels, 1)
  self.out_channels = check.integer("Conv2d", "out_channels", out_channels, 1)
  local down, across = sizes(kernel)
  local o = check.options("Conv2d", options, OPTIONS)
  local groups = check.integer("Conv2d", "groups", o.groups, 1)
  if in_channels % groups ~= 0 or out_channels % groups ~= 0 then
    check.fail("Conv2d: in_channels %d and out_channels %d must be " ..
      "multiples of groups %d", in_channels, out_channels, groups)
  end
  window.read("Conv2d", {down, across}, o) -- refuses what is wrong now
  self.kernel = {down, across}
  self.options = {stride = o.stride, padding = o.padding,
    dilation = o.dilation, groups = groups}
  self.weight = parameter.zeros(out_channels, in_channels // groups, down,
    across)
  initialise.kaiming_uniform_(self.weight,
    {a = 5.0 ^ 0.5, generator = o.generator})
  if o.bias then
    self.bias = parameter.zeros(out_channels)
    local bound = 1 / (in_channels // groups * down * across) ^ 0.5
    initialise.uniform_(self.bias, -bound, bound, {generator = o.generator})
  end
end

function Conv2d:forward(x)
  return conv2d(x, self.weight, self.bias, self.options)
end

function Conv2d:extra()
  return ("%d, %d, %dx%d"):format(self.in_channels, self.out_channels,
    self.kernel[1], self.kernel[2])
end

return Conv2d
