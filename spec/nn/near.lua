--- near(got, want [, limit]): tensors or nested tables of one shape whose
-- numbers differ by no more than `limit`, 1e-5 by default.

local close = require "spec.support.close"

return function(got, want, limit)
  close.check("numbers", got, want, {atol = limit or 1e-5})
end
