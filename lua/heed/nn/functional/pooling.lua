--- Pooling: the largest or the mean of each window, and its inverse.

local check = require "heed.check"
local core = require "heed.core"
local pooling = require "heed.nn.pooling_options"
local window = require "heed.nn.window"

local ops <const> = core.ops

local MAX <const>, AVG <const> = pooling.MAX, pooling.AVG
local ADAPTIVE <const> = {return_indices = false}
local UNPOOL <const> = {
  stride = check.NONE, padding = 0, output_size = check.NONE,
}

local F = {}

-- The sizes, steps and padding of a window; padding is at most half of it.
local function read(func, kernel, o, ndim)
  kernel = window.pair(func, "kernel", kernel, 1, ndim, 1)
  local stride = o.stride == nil and kernel or
    window.pair(func, "stride", o.stride, 1, ndim, 1)
  local padding = window.pair(func, "padding", o.padding, 0, ndim, 0)
  local dilation = window.pair(func, "dilation", o.dilation or 1, 1, ndim, 1)
  for d = 1, 2 do
    local most = (dilation[d] * (kernel[d] - 1) + 1) // 2
    if padding[d] > most then
      check.fail("%s: padding must be at most half of the window, %d for a " ..
        "kernel of %d, got %d", func, most, kernel[d], padding[d])
    end
  end
  return kernel, stride, padding, dilation
end

local function fit(func, x, kernel, padding, dilation, ndim)
  window.fit(func, {x:size(3), x:size(4)}, kernel,
    {padding[1], padding[2], padding[1], padding[2]}, dilation, ndim)
end

local function max_pool(func, x, kernel, options, ndim)
  local o <const> = check.options(func, options, MAX)
  local image, back = window.images(func, x, ndim)
  local size, stride, padding, dilation = read(func, kernel, o, ndim)
  fit(func, image, size, padding, dilation, ndim)
  local y, at = ops.max_pool(image, size, stride, padding, dilation,
    o.ceil_mode)
  if o.return_indices then return back(y), back(at) end
  return back(y)
end

local function avg_pool(func, x, kernel, options, ndim)
  local o <const> = check.options(func, options, AVG)
  local divisor = o.divisor_override == nil and 0 or
    check.integer(func, "divisor_override", o.divisor_override, 1)
  local image, back = window.images(func, x, ndim)
  local size, stride, padding, dilation = read(func, kernel, o, ndim)
  fit(func, image, size, padding, dilation, ndim)
  return back(ops.avg_pool(image, size, stride, padding, o.ceil_mode,
    o.count_include_pad, divisor))
end

--- Returns the largest element of each window of lines, as `F.max_pool2d` of
-- images.
-- @tparam tensor x [B C L], or [C L]
-- @tparam integer kernel size of the window
-- @tparam[opt] table options as for `F.max_pool2d`
-- @treturn tensor [B C OL]
-- @treturn tensor with `return_indices`, int64: which element of its line
-- each is, from 1
-- @raise when the window does not fit
-- @usage heed.nn.functional.max_pool1d(heed.tensor {{1.0, 3, 2, 0}}, 2)
--   --> 3 2
function F.max_pool1d(x, kernel, options)
  return max_pool("max_pool1d", x, kernel, options, 1)
end

--- Returns the largest element of each window of images.
-- @tparam tensor x [B C H W], or [C H W]
-- @param kernel sizes of the window: an integer or {down, across}
-- @tparam[opt] table options `stride` (the kernel), `padding` (0; at most half
-- of the window; nothing is found in it), `dilation` (1): integers or {down,
-- across}; `ceil_mode` (false): a last window that reaches over the end counts
-- too; `return_indices` (false)
-- @treturn tensor [B C OH OW], with OH = floor((H + 2 padding - dilation (kh -
-- 1) - 1) / stride) + 1 (with `ceil_mode`, rounded up)
-- @treturn tensor with `return_indices`, int64: which element of the H W of
-- its image each is, row by row from 1
-- @raise when the window does not fit
-- @usage heed.nn.functional.max_pool2d(heed.ones(1, 3, 8, 8), 2)
--   --> shape (1, 3, 4, 4)
function F.max_pool2d(x, kernel, options)
  return max_pool("max_pool2d", x, kernel, options, 2)
end

--- Returns the mean of each window of lines, as `F.avg_pool2d` of images.
-- @tparam tensor x [B C L], or [C L]
-- @tparam integer kernel size of the window
-- @tparam[opt] table options as for `F.avg_pool2d`
-- @treturn tensor [B C OL]
-- @raise when the window does not fit
-- @usage heed.nn.functional.avg_pool1d(heed.tensor {{1.0, 3, 2, 0}}, 2)
--   --> 2 1
function F.avg_pool1d(x, kernel, options)
  return avg_pool("avg_pool1d", x, kernel, options, 1)
end

--- Returns the mean of each window of images.
-- @tparam tensor x [B C H W], or [C H W]
-- @param kernel sizes of the window: an integer or {down, across}
-- @tparam[opt] table options `stride` (the kernel), `padding` (0; at most half
-- of the window): integers or {down, across}; `ceil_mode` (false);
-- `count_include_pad` (true): zeros of the padding count in the mean;
-- `divisor_override`: divides the sums by this instead
-- @treturn tensor [B C OH OW], of the sizes of `F.max_pool2d`
-- @raise when the window does not fit
-- @usage heed.nn.functional.avg_pool2d(heed.ones(1, 3, 8, 8), 2)
--   --> shape (1, 3, 4, 4)
function F.avg_pool2d(x, kernel, options)
  return avg_pool("avg_pool2d", x, kernel, options, 2)
end

-- -- as many windows as are asked for ----------------------------------------

local function adaptive(func, op, x, size, options, ndim)
  local o <const> = check.options(func, options, ADAPTIVE)
  local image, back = window.images(func, x, ndim)
  size = window.pair(func, "size", size, 0, ndim, 1)
  if image:size(3) * image:size(4) == 0 then
    check.fail("%s: x %s has no elements to take windows of", func,
      check.shape(x.shape))
  end
  local y, at = op(image, size)
  if o.return_indices then return back(y), back(at) end
  return back(y)
end

--- Returns the mean of `size` even parts of each line, as
-- `F.adaptive_avg_pool2d` of images.
-- @tparam tensor x [B C L], or [C L]
-- @tparam integer size parts
-- @treturn tensor [B C size]
-- @raise when x has no elements
-- @usage heed.nn.functional.adaptive_avg_pool1d(heed.tensor {{1.0, 3, 5}}, 2)
--   --> 2 4
function F.adaptive_avg_pool1d(x, size)
  return adaptive("adaptive_avg_pool1d", ops.adaptive_avg_pool, x, size, nil,
    1)
end

--- Returns the mean of each of `size` even parts of images: part i of n goes
-- from floor(i H / n) to ceil((i + 1) H / n), counted from 0.
-- @tparam tensor x [B C H W], or [C H W]
-- @param size parts: an integer or {down, across}
-- @treturn tensor [B C size]
-- @raise when x has no elements
-- @usage heed.nn.functional.adaptive_avg_pool2d(heed.ones(1, 3, 7, 5), 1)
--   --> 1 1 1
function F.adaptive_avg_pool2d(x, size)
  return adaptive("adaptive_avg_pool2d", ops.adaptive_avg_pool, x, size, nil,
    2)
end

--- Returns the largest element of `size` even parts of each line, as
-- `F.adaptive_max_pool2d` of images.
-- @tparam tensor x [B C L], or [C L]
-- @tparam integer size parts
-- @tparam[opt] table options `return_indices` (false)
-- @treturn tensor [B C size]
-- @treturn tensor with `return_indices`, int64, as of `F.max_pool1d`
-- @raise when x has no elements
-- @usage heed.nn.functional.adaptive_max_pool1d(heed.tensor {{1.0, 3, 5}}, 2)
--   --> 3 5
function F.adaptive_max_pool1d(x, size, options)
  return adaptive("adaptive_max_pool1d", ops.adaptive_max_pool, x, size,
    options, 1)
end

--- Returns the largest element of each of `size` even parts of images, which
-- are cut as by `F.adaptive_avg_pool2d`.
-- @tparam tensor x [B C H W], or [C H W]
-- @param size parts: an integer or {down, across}
-- @tparam[opt] table options `return_indices` (false)
-- @treturn tensor [B C size]
-- @treturn tensor with `return_indices`, int64, as of `F.max_pool2d`
-- @raise when x has no elements
-- @usage heed.nn.functional.adaptive_max_pool2d(heed.ones(1, 3, 7, 5), 1)
--   --> 1 1 1
function F.adaptive_max_pool2d(x, size, options)
  return adaptive("adaptive_max_pool2d", ops.adaptive_max_pool, x, size,
    options, 2)
end

-- -- back --------------------------------------------------------------------

local function unpool(func, x, index, kernel, options, ndim)
  local o <const> = check.options(func, options, UNPOOL)
  local image, back = window.images(func, x, ndim)
  local at <const> = window.images(func, index, ndim)
  local size, stride, padding = read(func, kernel, o, ndim)
  local whole
  if o.output_size == nil then
    whole = {}
    for d = 1, 2 do
      whole[d] = (image:size(2 + d) - 1) * stride[d] - 2 * padding[d] +
        size[d]
    end
  else
    whole = window.pair(func, "output_size", o.output_size, 0, ndim, 1)
  end
  return back(ops.max_unpool(image, at, whole))
end

--- Returns zeros with the elements of x at the places in lines that
-- `F.max_pool1d` has found them at.
-- @tparam tensor x [B C OL], or [C OL]
-- @tparam tensor index int64, of the shape of x: elements of a line, from 1
-- @tparam integer kernel size of the window
-- @tparam[opt] table options `stride` (the kernel), `padding` (0);
-- `output_size`: how long lines are, if it is not what follows from these
-- @treturn tensor [B C L]; what meets in one place is added
-- @raise when sizes do not fit, or an index lies outside
-- @usage heed.nn.functional.max_unpool1d(heed.tensor {{3.0, 2}},
--   heed.tensor {{2, 3}}, 2) --> 0 3 2 0
function F.max_unpool1d(x, index, kernel, options)
  return unpool("max_unpool1d", x, index, kernel, options, 1)
end

--- Returns zeros with the elements of x at the places in images that
-- `F.max_pool2d` has found them at.
-- @tparam tensor x [B C OH OW], or [C OH OW]
-- @tparam tensor index int64, of the shape of x: elements of an image, row by
-- row from 1
-- @param kernel sizes of the window: an integer or {down, across}
-- @tparam[opt] table options `stride` (the kernel), `padding` (0): integers or
-- {down, across}; `output_size`: {height, width}, if it is not what follows
-- from these
-- @treturn tensor [B C H W]; what meets in one place is added
-- @raise when sizes do not fit, or an index lies outside
-- @usage heed.nn.functional.max_unpool2d(heed.tensor {{{7.0}}},
--   heed.tensor {{{4}}}, 2) --> 0 0 0 7
function F.max_unpool2d(x, index, kernel, options)
  return unpool("max_unpool2d", x, index, kernel, options, 2)
end

return F
