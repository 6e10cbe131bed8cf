--- Convolutions of lines and images, and transposed ones.

local check = require "heed.check"
local core = require "heed.core"
local pad = require "heed.nn.functional.padding".pad
local window = require "heed.nn.window"

local ops <const> = core.ops

local WINDOW <const> = {stride = true, padding = true, dilation = true}
local CONV <const> = {
  stride = true, padding = true, dilation = true, groups = true,
}
local TRANSPOSED <const> = {
  stride = true, padding = true, dilation = true, groups = true,
  output_padding = true,
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

-- -- convolutions ------------------------------------------------------------

-- What x and weight must look like, by the number of dimensions.
local LAYOUT <const> = {
  {x = "[B C L]", weight = "[O C/groups k]", turned = "[C O/groups k]"},
  {x = "[B C H W]", weight = "[O C/groups kh kw]",
    turned = "[C O/groups kh kw]"},
}

local function check_ndim(func, x, weight, ndim, layout)
  check.tensor(func, "x", x)
  check.tensor(func, "weight", weight)
  local fits <const> = x.ndim == ndim + 2 or x.ndim == ndim + 1
  if not fits or weight.ndim ~= ndim + 2 then
    check.fail("%s: x must be %s and weight %s, got %s and %s", func,
      LAYOUT[ndim].x, LAYOUT[ndim][layout], check.show(x),
      check.show(weight))
  end
end

local function check_bias(func, bias, out)
  if bias == nil then return end
  check.tensor(func, "bias", bias)
  if bias.ndim ~= 1 or bias:size(1) ~= out then
    check.fail("%s: bias must be [%d], one for each channel of the result, " ..
      "got %s", func, out, check.show(bias))
  end
end

-- The channels that a weight takes and makes must fit to x.
local function check_channels(func, x, weight, groups, takes, makes)
  local channels <const> = x:size(x.ndim - weight.ndim + 2)
  if channels == takes and weight:size(1) % groups == 0 then return end
  check.fail("%s: x %s has %d channels, weight %s in %d group%s takes %d " ..
    "and makes %d", func, check.shape(x.shape), channels,
    check.shape(weight.shape), groups, groups == 1 and "" or "s", takes,
    makes)
end

local function convolve(func, x, weight, bias, options, ndim)
  check.keys(func, options, CONV)
  local o <const> = options or {}
  local groups <const> = check.integer(func, "groups", o.groups or 1, 1)
  check_ndim(func, x, weight, ndim, "weight")
  check_channels(func, x, weight, groups, weight:size(2) * groups,
    weight:size(1))
  check_bias(func, bias, weight:size(1))
  local image, back = window.images(func, x, ndim)
  if ndim == 1 then weight = ops.unsqueeze(weight, 3) end
  local kernel <const> = {weight:size(3), weight:size(4)}
  local stride, padding, dilation = window.read(func, kernel, o, ndim)
  window.fit(func, {image:size(3), image:size(4)}, kernel, padding, dilation,
    ndim)
  return back(ops.convolution(image, weight, bias, stride, padding, dilation,
    groups))
end

--- Returns the convolution of lines with kernels, as `F.conv2d` of images.
-- @tparam tensor x [B C L], or [C L]
-- @tparam tensor weight [O C/groups k]
-- @tparam[opt] tensor bias [O], added to each channel
-- @tparam[opt] table options `stride` (1), `padding` (0, or "valid", "same"),
-- `dilation` (1), `groups` (1)
-- @treturn tensor [B O OL], with OL = floor((L + 2 padding - dilation (k - 1) -
-- 1) / stride) + 1
-- @raise when sizes do not fit
-- @usage heed.nn.functional.conv1d(heed.tensor {{{1.0, 2, 4}}},
--   heed.tensor {{{-1.0, 1}}}) --> 1 2
function F.conv1d(x, weight, bias, options)
  return convolve("conv1d", x, weight, bias, options, 1)
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
--   heed.ones(4, 3, 3, 3), nil, {padding = "same"}) --> shape (1, 4, 8, 8)
function F.conv2d(x, weight, bias, options)
  return convolve("conv2d", x, weight, bias, options, 2)
end

-- -- transposed convolutions -------------------------------------------------

-- One direction of the result: its size; what of the padding is left below or
-- on the right, since output_padding takes it back first; and how many zeros
-- stand behind the end, where no kernel reaches.
local function grown(size, kernel, stride, padding, extra, dilation)
  local whole = (size - 1) * stride + dilation * (kernel - 1) + 1
  local after = math.max(padding - extra, 0)
  local beyond = math.max(extra - padding, 0)
  if beyond < stride then return whole - padding - after + beyond, after, 0 end
  return whole - padding - after, after, beyond
end

local function transposed(func, x, weight, bias, options, ndim)
  check.keys(func, options, TRANSPOSED)
  local o <const> = options or {}
  local groups <const> = check.integer(func, "groups", o.groups or 1, 1)
  check_ndim(func, x, weight, ndim, "turned")
  if type(o.padding) == "string" then
    check.fail("%s: padding must be an integer, got %s", func,
      check.show(o.padding))
  end
  local out <const> = weight:size(2) * groups
  check_channels(func, x, weight, groups, weight:size(1), out)
  check_bias(func, bias, out)
  local image, back = window.images(func, x, ndim)
  if ndim == 1 then weight = ops.unsqueeze(weight, 3) end
  local kernel <const> = {weight:size(3), weight:size(4)}
  local stride, padding, dilation = window.read(func, kernel, o, ndim)
  local extra <const> = window.pair(func, "output_padding",
    o.output_padding or 0, 0, ndim, 0)
  local size <const>, zeros <const> = {}, {}
  for d = 1, 2 do
    if extra[d] > 0 and extra[d] >= math.max(stride[d], dilation[d]) then
      check.fail("%s: output_padding must be less than stride or dilation, " ..
        "got %d", func, extra[d])
    end
    size[d], padding[d + 2], zeros[d] = grown(image:size(2 + d), kernel[d],
      stride[d], padding[d], extra[d], dilation[d])
    if size[d] < 1 or image:size(2 + d) < 1 then
      check.fail("%s: x %s gives no result with padding %d", func,
        check.shape(x.shape), padding[d])
    end
  end
  local y = ops.convolution_input(image, weight, size, stride, padding,
    dilation, groups)
  if zeros[1] + zeros[2] > 0 then y = pad(y, {0, zeros[2], 0, zeros[1]}) end
  if bias ~= nil then y = y + ops.reshape(bias, {out, 1, 1}) end
  return back(y)
end

--- Returns the transposed convolution of lines, as `F.conv_transpose2d` of
-- images.
-- @tparam tensor x [B C L], or [C L]
-- @tparam tensor weight [C O/groups k]
-- @tparam[opt] tensor bias [O], added to each channel
-- @tparam[opt] table options `stride` (1), `padding` (0), `output_padding`
-- (0), `dilation` (1), `groups` (1)
-- @treturn tensor [B O OL], with OL = (L - 1) stride - 2 padding + dilation
-- (k - 1) + output_padding + 1
-- @raise when sizes do not fit
-- @usage heed.nn.functional.conv_transpose1d(heed.tensor {{{1.0, 2}}},
--   heed.tensor {{{1.0, 10}}}, nil, {stride = 2}) --> 1 10 2 20
function F.conv_transpose1d(x, weight, bias, options)
  return transposed("conv_transpose1d", x, weight, bias, options, 1)
end

--- Returns the transposed convolution of images: each pixel puts its multiple
-- of the kernel into the result, and what meets is added. It is the gradient
-- of `F.conv2d` with the same weight and options.
-- @tparam tensor x [B C H W], or [C H W]
-- @tparam tensor weight [C O/groups kh kw]
-- @tparam[opt] tensor bias [O], added to each channel
-- @tparam[opt] table options `stride` (1), `padding` (0: so much is cut off
-- all around), `output_padding` (0: so much is added below and on the right),
-- `dilation` (1): integers or {down, across}; `groups` (1)
-- @treturn tensor [B O OH OW], with OH = (H - 1) stride - 2 padding + dilation
-- (kh - 1) + output_padding + 1
-- @raise when sizes do not fit
-- @usage heed.nn.functional.conv_transpose2d(heed.ones(1, 3, 8, 8),
--   heed.ones(3, 4, 2, 2), nil, {stride = 2}) --> shape (1, 4, 16, 16)
function F.conv_transpose2d(x, weight, bias, options)
  return transposed("conv_transpose2d", x, weight, bias, options, 2)
end

return F
