--- near(got, want [, limit]): tensors or nested tables of one shape whose
-- numbers differ by no more than `limit`, 1e-5 by default.

local close = require "spec.support.close"

return function(got, want, limit)
  local text = close.difference(got, want, {atol = limit or 1e-5})
  if text then error(text, 2) end
end
