--- The bins of a histogram, and what falls into them.
local check = require "heed.check"

local bins = {}

local most <const> = 256 -- bins that are chosen by the rule

-- The value below which a part of a sorted list lies, between its elements by
-- proportion.
local function quantile(sorted, part)
  local at = part * (#sorted - 1) + 1
  local k = math.floor(at)
  local low, high = sorted[k], sorted[math.min(k + 1, #sorted)]
  return low + (at - k) * (high - low)
end

--- Returns how many bins show some numbers well. Their width is that of
-- D. Freedman and P. Diaconis ("On the histogram as a density estimator", 1981)
-- 2 IQR / n^(1/3), but not below half the span / sqrt(n); it is at most that of
-- H. Sturges ("The choice of a class interval", 1926), span / (log2(n) + 1).
-- Bins of whole numbers are at least 1 wide. This is numpy's rule "auto", with
-- at most 256 bins.
-- @tparam {number,...} numbers finite
-- @tparam number low the least of them
-- @tparam number high the greatest
-- @treturn integer
-- @usage bins.count({1, 2, 3, 4, 5, 6, 7, 8}, 1, 8)  --> 4
function bins.count(numbers, low, high)
  local n = #numbers
  -- halves do not overflow
  local span = high / 2 - low / 2
  if n == 0 or span <= 0 then return 1 end
  local halves, is_whole = {}, true
  for i = 1, n do
    halves[i] = numbers[i] / 2
    is_whole = is_whole and numbers[i] % 1 == 0
  end
  table.sort(halves)
  local iqr = quantile(halves, 0.75) - quantile(halves, 0.25)
  local width = math.max(2 * iqr / n ^ (1 / 3), span / n ^ 0.5 / 2)
  width = math.min(width, span / (math.log(n, 2) + 1))
  if is_whole then width = math.max(width, 0.5) end -- half of 1
  return math.max(1, math.min(most, math.ceil(span / width)))
end

--- Returns edges at equal distances.
-- @tparam number low
-- @tparam number high
-- @tparam integer count of bins
-- @treturn {number,...} count + 1 of them, ascending; fewer where floats do not
--   lie close enough
function bins.edges(low, high, count)
  local out = {low}
  for i = 1, count - 1 do
    local part = i / count
    local edge = (1 - part) * low + part * high
    if edge > out[#out] and edge < high then out[#out + 1] = edge end
  end
  out[#out + 1] = high
  return out
end

--- Returns the edges that a user gives, checked.
-- @tparam string op what the user called, for messages
-- @tparam {number,...} list
-- @treturn {number,...}
-- @raise unless there are at least two, finite and ascending
function bins.given(op, list)
  if #list < 2 then
    check.fail("%s: bins must have at least 2 edges, got %d", op, #list)
  end
  for i = 1, #list do
    local edge = list[i]
    if type(edge) ~= "number" or edge - edge ~= 0 then
      check.fail("%s: bins[%d] must be a finite number, got %s", op, i,
        check.show(edge))
    end
    if i > 1 and edge <= list[i - 1] then
      check.fail("%s: bins must ascend, but bins[%d] is %s and bins[%d] is %s",
        op, i - 1, check.show(list[i - 1]), i, check.show(edge))
    end
  end
  return list
end

--- Returns how many numbers lie in each bin: from its lower edge to below its
-- upper one, the last bin with its upper edge.
-- @tparam {number,...} numbers finite
-- @tparam {number,...} edges ascending
-- @treturn {integer,...}
-- @treturn integer how many lie outside of all
-- @usage
-- local counts = bins.fill({0, 1, 1.5, 2}, {0, 1, 2})
-- return counts[2] --> 3
function bins.fill(numbers, edges)
  local counts, outside = {}, 0
  local n = #edges - 1
  for i = 1, n do counts[i] = 0 end
  local low, high = edges[1], edges[n + 1]
  for _, number in ipairs(numbers) do
    if number < low or number > high then
      outside = outside + 1
    else
      local from, to = 1, n -- the bin is one of these
      while from < to do
        local middle = (from + to + 1) // 2
        if number < edges[middle] then to = middle - 1 else from = middle end
      end
      counts[from] = counts[from] + 1
    end
  end
  return counts, outside
end

return bins
