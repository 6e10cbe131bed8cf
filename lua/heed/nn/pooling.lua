--- Pooling as modules: see the functions of the same names in `F`.

local check = require "heed.check"
local functional = require "heed.nn.functional.pooling"
local Module = require "heed.nn.module"
local options = require "heed.nn.pooling_options"
local window = require "heed.nn.window"

local layers = {}

local function text(value)
  if type(value) ~= "table" then return tostring(value) end
  return table.concat(value, "x")
end

-- A module for a function of x, a size and options.
local function define(name, what, f, ndim, defaults)
  local class <const> = Module:extend(name)
  function class:init(size, given)
    window.pair(name, what, size, 1, ndim, 1)
    self.options = check.options(name, given, defaults)
    self[what] = size
  end
  function class:forward(x) return f(x, self[what], self.options) end
  function class:extra() return text(self[what]) end
  layers[name] = class
end

local UNPOOL <const> = {stride = check.NONE, padding = 0}
local INDICES <const> = {return_indices = false}

--- The largest element of each window.
-- @function MaxPool2d
-- @param kernel sizes of the window: an integer or {down, across}
-- @tparam[opt] table options `stride` (the kernel), `padding`, `dilation`,
-- `ceil_mode`, `return_indices`; see `F.max_pool2d`. `MaxPool1d` is the same
-- for lines
-- @usage local y = nn.MaxPool2d(2)(heed.randn(2, 3, 4, 4)) -- [2 3 2 2]
-- @usage
-- local y = nn.MaxPool1d(2)(heed.tensor {{3.0, 1.0, 2.0, 5.0}}) --> 3 5

--- The mean of each window.
-- @function AvgPool2d
-- @param kernel sizes of the window: an integer or {down, across}
-- @tparam[opt] table options `stride` (the kernel), `padding`, `ceil_mode`,
-- `count_include_pad`, `divisor_override`; see `F.avg_pool2d`. `AvgPool1d` is
-- the same for lines
-- @usage local layer = nn.AvgPool2d(3, {stride = 1, padding = 1})
-- local y = layer(heed.randn(2, 3, 4, 4)) -- [2 3 4 4]
-- @usage
-- local y = nn.AvgPool1d(2)(heed.tensor {{3.0, 1.0, 2.0, 5.0}}) --> 2 3.5

--- The mean of each of `size` even parts.
-- @function AdaptiveAvgPool2d
-- @param size an integer or {down, across}; `AdaptiveAvgPool1d` is the same
-- for lines
-- @usage local y = nn.AdaptiveAvgPool2d(1)(heed.randn(2, 3, 7, 5)) -- [2 3 1 1]
-- @usage
-- local x = heed.tensor {{3.0, 1.0, 2.0, 5.0}}
-- return nn.AdaptiveAvgPool1d(2)(x) --> 2 3.5

--- The largest element of each of `size` even parts.
-- @function AdaptiveMaxPool2d
-- @param size an integer or {down, across}
-- @tparam[opt] table options `return_indices`; `AdaptiveMaxPool1d` is the same
-- for lines
-- @usage local y = nn.AdaptiveMaxPool2d(1)(heed.randn(2, 3, 7, 5)) -- [2 3 1 1]
-- @usage
-- local x = heed.tensor {{3.0, 1.0, 2.0, 5.0}}
-- return nn.AdaptiveMaxPool1d(2)(x) --> 3 5
for ndim = 1, 2 do
  local d <const> = ndim .. "d"
  define("MaxPool" .. d, "kernel", functional["max_pool" .. d], ndim,
    options.MAX)
  define("AvgPool" .. d, "kernel", functional["avg_pool" .. d], ndim,
    options.AVG)
  define("AdaptiveAvgPool" .. d, "size", functional["adaptive_avg_pool" .. d],
    ndim, {})
  define("AdaptiveMaxPool" .. d, "size", functional["adaptive_max_pool" .. d],
    ndim, INDICES)
end

--- Puts elements back to where a maximum was found.
-- @function MaxUnpool2d
-- @param kernel sizes of the window: an integer or {down, across}
-- @tparam[opt] table options `stride`, `padding`; see `F.max_unpool2d`.
-- `MaxUnpool1d` is the same for lines
-- @usage local pool = nn.MaxPool2d(2, {return_indices = true})
-- local y, index = pool(heed.randn(2, 3, 4, 4))
-- local x = nn.MaxUnpool2d(2)(y, index) -- [2 3 4 4]
-- @usage
-- local pool = nn.MaxPool1d(2, {return_indices = true})
-- local y, index = pool(heed.tensor {{3.0, 1.0, 2.0, 5.0}})
-- local x = nn.MaxUnpool1d(2)(y, index) --> 3 0 0 5
for ndim = 1, 2 do
  local name <const> = ("MaxUnpool%dd"):format(ndim)
  local unpool <const> = functional[("max_unpool%dd"):format(ndim)]
  define(name, "kernel", nil, ndim, UNPOOL)
  local class <const> = layers[name]
  function class:forward(x, index, output_size)
    return unpool(x, index, self.kernel, {stride = self.options.stride,
      padding = self.options.padding, output_size = output_size})
  end
end

return layers
