--- A binary heap: gives back its items in order, least first.

local Heap = {}
Heap.__index = Heap

--- Returns an empty heap whose order is `less(a, b)`.
function Heap.new(less)
  return setmetatable({n = 0, less = less}, Heap)
end

function Heap:push(item)
  local less = self.less
  local i = self.n + 1
  self.n = i
  while i > 1 do
    local up = i // 2
    if not less(item, self[up]) then break end
    self[i] = self[up]
    i = up
  end
  self[i] = item
end

--- Removes and returns the least item, or nil when there is none.
function Heap:pop()
  local n, less = self.n, self.less
  if n == 0 then return nil end
  local top, last = self[1], self[n]
  self[n] = nil
  n = n - 1
  self.n = n
  if n == 0 then return top end

  local i = 1 -- the place that `last` sinks to
  while 2 * i <= n do
    local down = 2 * i
    if down < n and less(self[down + 1], self[down]) then down = down + 1 end
    if not less(self[down], last) then break end
    self[i] = self[down]
    i = down
  end
  self[i] = last
  return top
end

return Heap
