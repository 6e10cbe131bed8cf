--- Modules that change shapes and sizes: Flatten, Unflatten, padding, Upsample,
-- PixelShuffle.

local check = require "heed.check"
local core = require "heed.core"
local functional = require "heed.nn.functional.padding"
local Module = require "heed.nn.module"

local ops <const> = core.ops

local layers = {}

-- -- Flatten and Unflatten ---------------------------------------------------

local Flatten <const> = Module:extend("Flatten")
layers.Flatten = Flatten

--- Makes one dimension of several, by default of all but the batch.
-- @function Flatten
-- @tparam[opt=2] integer first dimension
-- @tparam[opt=-1] integer last dimension
-- @usage local y = nn.Flatten()(heed.randn(2, 3, 4, 5)) -- [2 60]
function Flatten:init(first, last)
  self.first = check.integer("Flatten", "first", first == nil and 2 or first)
  self.last = check.integer("Flatten", "last", last == nil and -1 or last)
end

function Flatten:forward(x) return ops.flatten(x, self.first, self.last) end

function Flatten:extra() return ("%d, %d"):format(self.first, self.last) end

local Unflatten <const> = Module:extend("Unflatten")
layers.Unflatten = Unflatten

--- Makes several dimensions of one.
-- @function Unflatten
-- @tparam integer dim the dimension
-- @tparam table sizes what becomes of it; one may be -1, which follows from
-- the others
-- @usage local y = nn.Unflatten(2, {3, 4, -1})(heed.randn(2, 60)) -- [2 3 4 5]
function Unflatten:init(dim, sizes)
  self.dim = check.integer("Unflatten", "dim", dim)
  check.kind("Unflatten", "sizes", sizes, "table")
  for _, n in ipairs(sizes) do
    check.integer("Unflatten", "sizes", n, -1)
  end
  self.sizes = sizes
end

function Unflatten:forward(x)
  check.tensor("Unflatten", "x", x)
  local at <const>, shape = check.dim("Unflatten", x, self.dim), {}
  local size, known, open = x:size(at), 1, false
  for _, n in ipairs(self.sizes) do
    if n == -1 then open = true else known = known * n end
  end
  if open and (known == 0 or size % known ~= 0) or
    not open and known ~= size then
    check.fail("Unflatten: dim %d of x %s cannot become %s", at,
      check.shape(x.shape), check.shape(self.sizes))
  end
  for d = 1, at - 1 do shape[d] = x:size(d) end
  for _, n in ipairs(self.sizes) do
    shape[#shape + 1] = n == -1 and size // known or n
  end
  for d = at + 1, x.ndim do shape[#shape + 1] = x:size(d) end
  return ops.reshape(x, shape)
end

function Unflatten:extra()
  return ("%d, %s"):format(self.dim, check.shape(self.sizes))
end

-- -- padding -----------------------------------------------------------------

-- A module that pads by a number on all sides, or a list as of `F.pad`.
local function padding_layer(name, ndim, mode, valued)
  local class <const> = Module:extend(name)
  function class:init(padding, value)
    if type(padding) ~= "table" then
      local n = check.integer(name, "padding", padding)
      padding = {n, n, n, n}
      if ndim == 1 then padding = {n, n} end
    end
    if #padding ~= 2 * ndim then
      check.fail("%s: padding must be an integer or a list of %d, got a " ..
        "list of %d", name, 2 * ndim, #padding)
    end
    for _, n in ipairs(padding) do check.integer(name, "padding", n) end
    self.padding = padding
    if valued then self.value = check.number(name, "value", value) end
  end
  function class:forward(x)
    return functional.pad(x, self.padding, {mode = mode, value = self.value})
  end
  function class:extra() return table.concat(self.padding, ", ") end
  layers[name] = class
end

--- Padding around lines (`1d`: {left, right}) or images (`2d`: {left, right,
-- above, below}): zeros, a value, what `F.pad` fills in by its other modes.
-- `ZeroPad1d`, `ConstantPad1d`, `ConstantPad2d`, `ReflectionPad1d`,
-- `ReflectionPad2d`, `ReplicationPad1d`, `ReplicationPad2d`, `CircularPad1d`
-- and `CircularPad2d` are made alike.
-- @function ZeroPad2d
-- @param padding an integer for all sides, or a list
-- @tparam[opt] number value of `ConstantPad1d` and `ConstantPad2d`
-- @raise when a list has not 2 numbers a dimension
-- @usage local y = nn.ZeroPad1d(1)(heed.tensor {{1, 2}}) --> 0 1 2 0
-- @usage
-- local y = nn.ConstantPad1d({2, 0}, 9)(heed.tensor {{1, 2}}) --> 9 9 1 2
-- @usage
-- local y = nn.ReflectionPad1d(1)(heed.tensor {{1, 2, 3}}) --> 2 1 2 3 2
-- @usage local y = nn.ReplicationPad1d(1)(heed.tensor {{1, 2}}) --> 1 1 2 2
-- @usage local y = nn.CircularPad1d(1)(heed.tensor {{1, 2, 3}}) --> 3 1 2 3 1
-- @usage local y = nn.ZeroPad2d(1)(heed.randn(2, 3, 4, 5)) -- [2 3 6 7]
-- @usage
-- local y = nn.ConstantPad2d({0, 0, 1, 0}, 9)(heed.tensor {{{1, 2}}})
-- --> 9 9 1 2
-- @usage local pad = nn.ReflectionPad2d {1, 1, 2, 2}
-- local y = pad(heed.randn(2, 3, 4, 5)) -- [2 3 8 7]
-- @usage
-- local y = nn.ReplicationPad2d {0, 0, 0, 1}(heed.tensor {{{1, 2}}})
-- --> 1 2 1 2
-- @usage
-- local y = nn.CircularPad2d {1, 0, 0, 0}(heed.tensor {{{1, 2}}}) --> 2 1 2
for ndim = 1, 2 do
  local d <const> = ndim .. "d"
  padding_layer("ZeroPad" .. d, ndim, "constant")
  padding_layer("ConstantPad" .. d, ndim, "constant", true)
  padding_layer("ReflectionPad" .. d, ndim, "reflect")
  padding_layer("ReplicationPad" .. d, ndim, "replicate")
  padding_layer("CircularPad" .. d, ndim, "circular")
end

-- -- sizes of images ---------------------------------------------------------

local Upsample <const> = Module:extend("Upsample")
layers.Upsample = Upsample

local UPSAMPLE <const> = {
  size = true, scale_factor = true, mode = true, align_corners = true,
}

--- Another size of lines or images.
-- @function Upsample
-- @tparam table options `size` or `scale_factor`, `mode`, `align_corners`; see
-- `F.interpolate`
-- @usage local larger = nn.Upsample {scale_factor = 2}
-- local y = larger(heed.randn(2, 3, 4, 5)) -- [2 3 8 10]
function Upsample:init(options)
  check.kind("Upsample", "options", options, "table")
  check.keys("Upsample", options, UPSAMPLE)
  self.options = options
end

function Upsample:forward(x)
  return functional.interpolate(x, self.options)
end

function Upsample:extra() return self.options.mode or "nearest" end

-- A module for F.pixel_shuffle or its inverse.
local function pixels(name, f)
  local class <const> = Module:extend(name)
  function class:init(factor)
    self.factor = check.integer(name, "factor", factor, 1)
  end
  function class:forward(x) return f(x, self.factor) end
  function class:extra() return ("%d"):format(self.factor) end
  layers[name] = class
end

--- Pixels out of channels; `PixelUnshuffle` is the inverse.
-- @function PixelShuffle
-- @tparam integer factor see `F.pixel_shuffle`
-- @usage local y = nn.PixelShuffle(2)(heed.randn(2, 12, 4, 5)) -- [2 3 8 10]
-- @usage local y = nn.PixelUnshuffle(2)(heed.randn(2, 3, 8, 10)) -- [2 12 4 5]
pixels("PixelShuffle", functional.pixel_shuffle)
pixels("PixelUnshuffle", functional.pixel_unshuffle)

return layers
