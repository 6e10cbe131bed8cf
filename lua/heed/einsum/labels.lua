--- labels: lists and sets of the labels of dimensions, for einsum.

local labels = {}

--- The set of all labels of several lists.
function labels.set(...)
  local set = {}
  for _, list in ipairs {...} do
    for _, label in ipairs(list) do set[label] = true end
  end
  return set
end

--- The labels of a list for which `keep` holds.
function labels.select(list, keep)
  local kept = {}
  for _, label in ipairs(list) do
    if keep(label) then kept[#kept + 1] = label end
  end
  return kept
end

--- Several lists one behind the other.
function labels.join(...)
  local list = {}
  for _, part in ipairs {...} do
    table.move(part, 1, #part, #list + 1, list)
  end
  return list
end

--- The product of the sizes of a list.
function labels.count(list, size)
  local n = 1
  for _, label in ipairs(list) do n = n * size[label] end
  return n
end

return labels
