--- refuse: what the reference raises for a call that heed must refuse, too.

local REFUSED <const> = setmetatable({}, {
  __tostring = function() return "the reference refuses the call" end,
})

local refuse = {}

--- Ends a call of the reference; a condition that must hold may be given.
function refuse.unless(holds) if not holds then error(REFUSED, 0) end end

function refuse.is(value) return rawequal(value, REFUSED) end

return refuse
