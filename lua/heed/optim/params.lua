--- Parameters as they are given to `optim`: a list of tensors. A module is no
-- such list, though it may count 0 entries like an empty one.

local check = require "heed.check"

--- Returns `params` when it can be a list of parameters; raises if not.
return function(func, params)
  check.kind(func, "params", params, "table")
  if not check.is_tensor(params[1]) and
    type(params.parameters) == "function" then
    check.fail("%s: params must be a list of tensors, got %s; " ..
      "its parameters() is one", func, check.show(params))
  end
  return params
end
