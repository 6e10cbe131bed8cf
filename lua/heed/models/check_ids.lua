--- The ids that a network reads.

local check = require "heed.check"

--- Raises unless ids are an int64 tensor [B T] with no more positions, behind
-- `before` others, than the network has.
-- @param network module with the field `max_length`, or nil: as many as there
-- are
-- @tparam string name of the argument
-- @param ids
-- @tparam integer before
return function(network, name, ids, before)
  check.tensor(network.__name, name, ids)
  local most <const> = network.max_length
  if ids.ndim ~= 2 or most and before + ids:size(2) > most then
    check.fail("%s: %s must be [B T]%s, got %s", network.__name, name,
      most and (" with at most %d positions"):format(most) or "",
      check.show(ids))
  end
end
