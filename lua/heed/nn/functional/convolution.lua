--- Convolutions of images, as matrix products over the columns of their
-- windows.

local check = require "heed.check"
local core = require "heed.core"
local window = require "heed.nn.window"

local ops <const> = core.ops

local WINDOW <const> = {stride = true, padding = true, dilation = true}
local CONV <const> = {
  stride = true, padding = true, dilation = true, groups = true,
}

local F = {}

--- Returns the windows of images as columns.
-- @tparam tensor x [B C H W]
-- @param kernel sizes of the window: an integer or {down, across}
-- @tparam[opt] table options `stride` (1), `padding` (0; "same": the places
-- are as many as the pixels), `dilation` (1): integers or {down, across}
-- @treturn tensor [B C*kh*kw L], a column for each of the L places
-- @raise when the window does not fit
-- @usage heed.nn.functional.unfold(heed.ones(1, 3, 8, 8), 3, {stride = 2})
function F.unfold(x, kernel, options)
  check.keys("unfold", options, WINDOW)
  kernel = window.pair("unfold", "kernel", kernel, 1)
  return ops.im2col(x, kernel,
    window.read("unfold", kernel, options or {}))
end

--- Returns the sum of columns, each pixel where `F.unfold` has taken it.
-- @tparam tensor columns [B C*kh*kw L]
-- @param size height and width of the images: an integer or {height, width}
-- @param kernel sizes of the window: an integer or {down, across}
-- @tparam[opt] table options as for `F.unfold`
-- @treturn tensor [B C H W]
-- @raise when the columns cannot come from such images
-- @usage heed.nn.functional.fold(heed.ones(1, 4, 4), 3, 2)
function F.fold(columns, size, kernel, options)
  check.keys("fold", options, WINDOW)
  kernel = window.pair("fold", "kernel", kernel, 1)
  return ops.col2im(columns, window.pair("fold", "size", size, 0), kernel,
    window.read("fold", kernel, options or {}))
end

-- x [B C H W], weight [O C/groups kh kw], both tensors; sizes that fit.
local function check_sizes(x, weight, bias, groups)
  check.tensor("conv2d", "x", x)
  check.tensor("conv2d", "weight", weight)
  if x.ndim ~= 4 or weight.ndim ~= 4 then
    check.fail("conv2d: x must be [B C H W] and weight [O C/groups kh kw], " ..
      "got %s and %s", check.show(x), check.show(weight))
  end
  local channels, out, inner = x:size(2), weight:size(1), weight:size(2)
  if channels ~= inner * groups or out % groups ~= 0 then
    check.fail("conv2d: x %s has %d channels, weight %s in %d group%s takes " ..
      "%d and makes %d", check.shape(x.shape), channels,
      check.shape(weight.shape), groups, groups == 1 and "" or "s",
      inner * groups, out)
  end
  if bias ~= nil then
    check.tensor("conv2d", "bias", bias)
    if bias.ndim ~= 1 or bias:size(1) ~= out then
      check.fail("conv2d: bias must be [%d], one for each channel of the " ..
        "result, got %s", out, check.show(bias))
    end
  end
end

-- The windows; a window of one pixel at every place is the image itself.
local function columns_of(x, kernel, o)
  local stride, padding, dilation = window.read("conv2d", kernel, o)
  local columns = ops.im2col
  if kernel[1] * kernel[2] * stride[1] * stride[2] == 1 and
    padding[1] + padding[2] == 0 then
    columns = function() return ops.flatten(x, 3, 4) end
  end
  local height = (x:size(3) + padding[1] + padding[3] -
    dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
  return columns(x, kernel, stride, padding, dilation), height
end

--- Returns the convolution of images with kernels: at each place the sum over
-- channels and pixels of the window of x times weight (cross-correlation, as
-- in PyTorch).
-- @tparam tensor x [B C H W], or [C H W]
-- @tparam tensor weight [O C/groups kh kw]
-- @tparam[opt] tensor bias [O], added to each channel
-- @tparam[opt] table options `stride` (1), `padding` (0, or "valid", "same"),
-- `dilation` (1): integers or {down, across}; `groups` (1): channels are
-- joined within each of that many groups only
-- @treturn tensor [B O OH OW], with OH = floor((H + 2 padding - dilation (kh -
-- 1) - 1) / stride) + 1
-- @raise when sizes do not fit
-- @usage heed.nn.functional.conv2d(heed.ones(1, 3, 8, 8),
--   heed.ones(4, 3, 3, 3), nil, {padding = "same"}) -- [1 4 8 8]
function F.conv2d(x, weight, bias, options)
  check.keys("conv2d", options, CONV)
  local o <const> = options or {}
  local groups = check.integer("conv2d", "groups", o.groups or 1, 1)
  if check.is_tensor(x) and x.ndim == 3 then
    return ops.squeeze(F.conv2d(ops.unsqueeze(x, 1), weight, bias, o), 1)
  end
  check_sizes(x, weight, bias, groups)
  local batch, out = x:size(1), weight:size(1)
  local kernel <const> = {weight:size(3), weight:size(4)}
  local columns, height = columns_of(x, kernel, o)
  local rows, places = columns:size(2), columns:size(3)
  local y
  if groups == 1 then
    y = ops.matmul(ops.reshape(weight, {out, rows}), columns) -- [B O L]
  else
    y = ops.matmul(
      ops.reshape(weight, {groups, out // groups, rows // groups}),
      ops.reshape(columns, {batch, groups, rows // groups, places}))
  end
  y = ops.reshape(y, {batch, out, height, places // height})
  if bias == nil then return y end
  return y + ops.reshape(bias, {out, 1, 1})
end

return F
