--- The options of pooling with their defaults, for functions and modules.

local check = require "heed.check"

return {
  MAX = {
    stride = check.NONE, padding = 0, dilation = 1, ceil_mode = false,
    return_indices = false,
  },
  AVG = {
    stride = check.NONE, padding = 0, ceil_mode = false,
    count_include_pad = true, divisor_override = check.NONE,
  },
}
