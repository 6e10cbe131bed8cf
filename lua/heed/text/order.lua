--- The order of strings by their bytes. `<` asks the locale, and a vocabulary
-- must not depend on it.

local order = {}

--- Returns whether string `a` stands before string `b`.
function order.less(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = a:byte(i), b:byte(i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

return order
