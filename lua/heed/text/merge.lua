--- Joins the pieces of a word by the pairs that were learnt.

local Heap = require "heed.text.heap"

--- Merges the ids of a word. A heap holds the pairs that can be merged, as rank
-- and place in one number: the earliest learnt goes first, of equals the
-- leftmost, in n log n steps.
-- @tparam {integer,...} ids are lost
-- @tparam table rank of pairs `a << 32 | b`: their places in `learnt`
-- @tparam table learnt lists `{a, b, c}`: c becomes of a and b
-- @treturn {integer,...} the ids that remain
return function(ids, rank, learnt)
  local n = #ids
  local before, after = {}, {}
  for i = 1, n do before[i], after[i] = i - 1, i + 1 end
  local heap = Heap.new(math.ult)
  local function offer(i, j)
    local r = i >= 1 and j <= n and rank[ids[i] << 32 | ids[j]]
    if r then heap:push(r << 32 | i) end
  end
  for i = 1, n - 1 do offer(i, i + 1) end

  for entry in heap.pop, heap do
    local pair, i = learnt[entry >> 32], entry & 0xFFFFFFFF
    local j = after[i]
    -- Stale if another merge has taken one of the two.
    if ids[i] == pair[1] and ids[j] == pair[2] then
      local k = after[j]
      ids[i], ids[j] = pair[3], 0
      after[i] = k
      if k <= n then before[k] = i end
      offer(before[i], i)
      offer(i, k)
    end
  end

  local result = {}
  for i = 1, n do
    if ids[i] ~= 0 then result[#result + 1] = ids[i] end
  end
  return result
end
