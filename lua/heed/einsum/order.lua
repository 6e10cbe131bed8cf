--- order: in which order einsum joins its operands.
--
-- An order is a tree: the number of an operand, or {first, second}.

local labels = require "heed.einsum.labels"

local EXACT <const> = 6 -- so many operands: the best of all orders

local order = {}

-- Operands as sets of bits; which labels are left of a set once joined.
local function remaining(parts, subset, output)
  local inside, outside = {}, labels.set(output)
  for i, part in ipairs(parts) do
    for _, label in ipairs(part) do
      if subset & 1 << i - 1 ~= 0 then inside[label] = true
      else outside[label] = true end
    end
  end
  local left = {}
  for label in pairs(inside) do
    if outside[label] then left[#left + 1] = label end
  end
  return left
end

-- As a float, which does not overflow.
local function count(list, size)
  local n = 1.0
  for _, label in ipairs(list) do n = n * size[label] end
  return n
end

local function cost_of(first, second, size)
  local seen = labels.set(first)
  local new = labels.select(second, function(l) return not seen[l] end)
  return count(first, size) * count(new, size)
end

-- The order with the fewest multiplications, as a tree of operand numbers.
local function best_order(parts, output, size)
  local best, left, all = {}, {}, (1 << #parts) - 1
  for subset = 1, all do
    left[subset] = remaining(parts, subset, output)
    if subset & subset - 1 == 0 then
      for i = 1, #parts do
        if subset == 1 << i - 1 then
          best[subset] = {cost = 0, tree = i}
          left[subset] = parts[i]
        end
      end
    else
      local found
      local part = subset - 1 & subset
      while part > 0 do
        local other = subset ~ part
        if part > other then
          local cost = best[part].cost + best[other].cost +
            cost_of(left[part], left[other], size)
          if not found or cost <= found.cost then
            found = {cost = cost, tree = {best[other].tree, best[part].tree}}
          end
        end
        part = part - 1 & subset
      end
      best[subset] = found
    end
  end
  return best[all].tree
end

-- The labels of nodes i and j together that the output or another node has.
local function still_needed(nodes, i, j, output)
  local others = labels.set(output)
  for k, node in ipairs(nodes) do
    if k ~= i and k ~= j then
      for _, label in ipairs(node.labels) do others[label] = true end
    end
  end
  local list = {}
  for label in pairs(labels.set(nodes[i].labels, nodes[j].labels)) do
    if others[label] then list[#list + 1] = label end
  end
  return list
end

-- With many operands: always the pair whose result is smallest beside what it
-- takes in, and of those the cheapest.
local function greedy_order(parts, output, size)
  local nodes = {}
  for i, part in ipairs(parts) do nodes[i] = {tree = i, labels = part} end
  while #nodes > 1 do
    local best
    for j = 2, #nodes do
      for i = 1, j - 1 do
        local a, b = nodes[i].labels, nodes[j].labels
        local left = still_needed(nodes, i, j, output)
        local gain = count(left, size) - count(a, size) - count(b, size)
        local cost = cost_of(a, b, size)
        if not best or gain < best.gain or
          gain == best.gain and cost < best.cost then
          best = {i = i, j = j, gain = gain, cost = cost, labels = left}
        end
      end
    end
    local b = table.remove(nodes, best.j)
    local a = nodes[best.i]
    nodes[best.i] = {tree = {a.tree, b.tree}, labels = best.labels}
  end
  return nodes[1].tree
end

--- Returns the tree for operands with the labels `parts`, when a label has the
-- size `size[label]`.
function order.find(parts, output, size)
  if #parts == 1 then return 1 end
  if #parts == 2 then return {1, 2} end
  if #parts <= EXACT then return best_order(parts, output, size) end
  return greedy_order(parts, output, size)
end

return order
