--- Lists of gradients that are let go of at once, so that the next backward can
-- free them.

local core = require "heed.core"

local close <const> = core.metatable.__close

local closing <const> = {
  __close = function(list)
    for i = 1, #list do close(list[i]) end
  end,
}

--- An empty list, for a `<close>` variable.
return function() return setmetatable({}, closing) end
