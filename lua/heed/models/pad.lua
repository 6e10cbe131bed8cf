--- Lists of ids as one tensor.

local core = require "heed.core"

--- Puts lists of ids below each other.
-- @tparam {{integer,...},...} lists
-- @tparam integer pad the id behind the shorter ones
-- @return int64 tensor [B T], T at least 1
-- @return int64 tensor [B]: how many ids each list has
return function(lists, pad)
  local lens, longest = {}, 1
  for i, ids in ipairs(lists) do
    lens[i], longest = #ids, math.max(longest, #ids)
  end
  local rows = {}
  for i, ids in ipairs(lists) do
    rows[i] = table.move(ids, 1, #ids, 1, {})
    for j = #ids + 1, longest do rows[i][j] = pad end
  end
  return core.tensor(rows, {dtype = "int64"}),
    core.tensor(lens, {dtype = "int64"})
end
