--- How a window slides over images: its options, read in one place.

local check = require "heed.check"

local window = {}

--- A number for both directions, or {down, across}: the latter.
function window.pair(func, name, value, least)
  if type(value) ~= "table" then value = {value, value} end
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
function window.read(func, kernel, o)
  local stride = window.pair(func, "stride", o.stride or 1, 1)
  local dilation = window.pair(func, "dilation", o.dilation or 1, 1)
  local padding = o.padding or 0
  if padding == "valid" then padding = 0 end
  if padding ~= "same" then
    local p = window.pair(func, "padding", padding, 0)
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

return window
