--- How a window slides over lines or images: its options, read in one place.
--
-- Lines [B C L] are images [B C 1 L] to what computes: what is read here has
-- two numbers in either case, {down, across}.

local check = require "heed.check"

local window = {}

--- Sizes for both directions, or for the only one: {down, across}. `ndim` is 1
-- for lines, whose place down is `down`; 2 for images (default).
function window.pair(func, name, value, least, ndim, down)
  if ndim == 1 then
    if type(value) == "table" then
      if #value ~= 1 then
        check.fail("%s: %s must be an integer, got a list of %d", func, name,
          #value)
      end
      value = value[1]
    end
    return {down, check.integer(func, name, value, least)}
  end
  if type(value) == "number" then value = {value, value} end
  if type(value) ~= "table" then
    check.fail("%s: %s must be an integer or {down, across}, got %s", func,
      name, check.show(value))
  end
  if #value ~= 2 then
    check.fail("%s: %s must be an integer or {down, across}, got a list of %d",
      func, name, #value)
  end
  return {check.integer(func, name, value[1], least),
    check.integer(func, name, value[2], least)}
end

--- Reads the options of a window: `stride`, `padding` (also "valid", "same")
-- and `dilation`, each an integer or {down, across}. Returns stride, the
-- padding above, left, below and right, and dilation.
function window.read(func, kernel, o, ndim)
  local stride = window.pair(func, "stride", o.stride or 1, 1, ndim, 1)
  local dilation = window.pair(func, "dilation", o.dilation or 1, 1, ndim, 1)
  local padding = o.padding or 0
  if padding == "valid" then padding = 0 end
  if padding ~= "same" then
    local p = window.pair(func, "padding", padding, 0, ndim, 0)
    return stride, {p[1], p[2], p[1], p[2]}, dilation
  end
  if stride[1] ~= 1 or stride[2] ~= 1 then
    check.fail('%s: padding "same" needs a stride of 1', func)
  end
  local down = dilation[1] * (kernel[1] - 1)
  local across = dilation[2] * (kernel[2] - 1)
  return stride, {down // 2, across // 2, down - down // 2,
    across - across // 2}, dilation
end

-- {3, 5} as "3 x 5", of lines as "5".
local function sizes(pair, ndim)
  if ndim == 1 then return ("%d"):format(pair[2]) end
  return ("%d x %d"):format(pair[1], pair[2])
end

--- Raises unless the window fits into images of a size {height, width}.
function window.fit(func, size, kernel, padding, dilation, ndim)
  for d = 1, 2 do
    if size[d] + padding[d] + padding[d + 2] <=
      dilation[d] * (kernel[d] - 1) then
      check.fail("%s: a window of %s, dilated by %s, does not fit into %s " ..
        "of %s with padding", func, sizes(kernel, ndim),
        sizes(dilation, ndim), ndim == 1 and "lines" or "images",
        sizes(size, ndim))
    end
  end
end

--- A sequence of 1 or 2 dimensions behind batch and channels, as images
-- [B C H W], and the function that makes the result what was given: without
-- batch, of lines.
function window.images(func, x, ndim)
  local layout <const> = ndim == 1 and "[B C L] or [C L]" or
    "[B C H W] or [C H W]"
  check.tensor(func, "x", x)
  local one <const> = x.ndim == ndim + 1
  if not one and x.ndim ~= ndim + 2 then
    check.fail("%s: x must be %s, got %s", func, layout, check.show(x))
  end
  if one then x = x:unsqueeze(1) end
  if ndim == 1 then x = x:unsqueeze(3) end
  return x, function(y)
    if ndim == 1 then y = y:squeeze(3) end
    if one then y = y:squeeze(1) end
    return y
  end
end

return window
