--- near(got, want [, limit]): tensors (or nested lists) of one shape whose
-- elements differ by no more than `limit`; else an error that shows the worst
-- place and both values.

local heed = require "heed"

local function tensor(x)
  if not heed.is_tensor(x) then x = heed.tensor(x) end
  return x:detach():to("float64")
end

local function text(sizes) return "[" .. table.concat(sizes, " ") .. "]" end

-- The position of the n-th element, from 1, row-major.
local function place(n, sizes)
  local at = {}
  n = n - 1
  for d = #sizes, 1, -1 do
    at[d] = n % sizes[d] + 1
    n = n // sizes[d]
  end
  return text(at)
end

return function(got, want, limit)
  got, want, limit = tensor(got), tensor(want), limit or 1e-5
  local shape = text(want.shape)
  if text(got.shape) ~= shape then
    error(("shape %s, wanted %s"):format(text(got.shape), shape), 2)
  end
  local worst, at = -1, 0
  local a, b = got:reshape(-1):totable(), want:reshape(-1):totable()
  for i = 1, #a do
    local off = math.abs(a[i] - b[i])
    if a[i] == b[i] then off = 0 end
    if off ~= off then off = math.huge end
    if off > worst then worst, at = off, i end
  end
  if worst > limit then
    error(("element %s of %s: %.9g, wanted %.9g"):format(place(at,
      want.shape), shape, a[at], b[at]), 2)
  end
end
