--- Makes the tree of a failing example simpler, as long as it still fails.
-- Read `choices.lua` first.
--
-- Passes over the tree, in turn until none helps: whole parts become the
-- simplest there are; items of lists and slices of tensors are left out; what
-- is left moves to the front; single choices become simpler. Each step makes
-- the tree strictly simpler, so that it ends; a limit on the tries ends it
-- sooner.
local values = require "heed.testing.values"

local function is_leaf(entry) return entry.spec ~= nil end

-- Is everything in it the simplest choice?
local function is_trivial(entry)
  if is_leaf(entry) then
    local v, simplest = entry.value, entry.spec.simplest
    return v == simplest and (v ~= 0 or 1 / v == 1 / simplest)
  end
  for _, child in ipairs(entry) do
    if not is_trivial(child) then return false end
  end
  return true
end

-- -- trees that differ in one place ------------------------------------------

local function copy(node)
  local new = {}
  for key, value in next, node do new[key] = value end
  return new
end

-- The tree with another entry at a path; what is beside it is shared.
local function replaced(tree, path, entry, depth)
  depth = depth or 1
  if depth > #path then return entry end
  local new = copy(tree)
  new[path[depth]] = replaced(tree[path[depth]], path, entry, depth + 1)
  return new
end

-- Lists what `wanted(entry)` is true of, outer parts first, as
-- `{entry =, path =}`.
local function collect(entry, wanted, list, path)
  list, path = list or {}, path or {}
  if wanted(entry) then list[#list + 1] = {entry = entry, path = path} end
  if is_leaf(entry) then return list end
  for i, child in ipairs(entry) do
    local below = {table.unpack(path)}
    below[#below + 1] = i
    collect(child, wanted, list, below)
  end
  return list
end

-- -- what to try instead of an entry -----------------------------------------

local function leaf(old, value) return {value = value, spec = old.spec} end

-- A list without the items `first` to `last`.
local function without_items(node, first, last)
  local new = copy(node)
  for i = #node, 1, -1 do
    if i > first and i <= last + 1 then table.remove(new, i) end
  end
  new[1] = leaf(node[1], node[1].value - (last - first + 1))
  return new
end

-- Lists without halves, quarters ... and single items.
local function shorter_lists(node)
  local list, count = {}, #node - 1
  local size = count
  while size >= 1 do
    for first = 1, count, size do
      list[#list + 1] = without_items(node, first,
        math.min(count, first + size - 1))
    end
    size = size // 2
  end
  return list
end

-- A tensor whose elements `first` to `last` are the simplest.
local function blanked(node, first, last)
  local new = copy(node)
  for i = first, last do new[i] = {} end
  return new
end

local function blank_blocks(node)
  local first, list = node.grid.first, {}
  local size = #node - first + 1
  while size >= 2 do
    for at = first, #node, size do
      local last, blank = math.min(#node, at + size - 1), true
      for i = at, last do blank = blank and is_trivial(node[i]) end
      if not blank then list[#list + 1] = blanked(node, at, last) end
    end
    size = size // 2
  end
  return list
end

-- A tensor without slice k of dimension d, whose shape is a part of it.
local function without_slice(node, d, k)
  local grid, new = node.grid, {}
  for i = 1, grid.first - 1 do new[i] = node[i] end
  for n = 1, #node - grid.first + 1 do
    if values.place(grid.shape, n)[d] ~= k then
      new[#new + 1] = node[grid.first + n - 1]
    end
  end
  local shape = {table.unpack(grid.shape)}
  shape[d] = shape[d] - 1
  new.grid = {first = grid.first, shape = shape, shape_at = grid.shape_at}
  local sizes = copy(node[grid.shape_at])
  sizes[d + 1] = leaf(sizes[d + 1], shape[d])
  new[grid.shape_at] = sizes
  return new
end

local function fewer_slices(node)
  local grid, list = node.grid, {}
  local sizes = grid.shape_at and node[grid.shape_at]
  if not sizes or not sizes.list then return list end
  for d, size in ipairs(grid.shape) do
    for k = 1, size do list[#list + 1] = without_slice(node, d, k) end
  end
  return list
end

-- The elements that are not the simplest, moved to the first place that has
-- one that is.
local function nearer_front(node)
  local list, free = {}, nil
  for i = node.grid.first, #node do
    if is_trivial(node[i]) then
      free = free or i
    elseif free then
      local new = copy(node)
      new[free], new[i] = node[i], node[free]
      list[#list + 1] = new
    end
  end
  return list
end

local function simpler_leaves(entry)
  local list = {}
  for i, value in ipairs(entry.spec.simpler(entry.value)) do
    list[i] = leaf(entry, value)
  end
  return list
end

local passes <const> = {
  {
    wanted = function(entry) return not is_leaf(entry) and #entry > 0
      and not is_trivial(entry) end,
    tries = function() return {{}} end,
  },
  {
    wanted = function(entry) return entry.list and #entry > 1 end,
    tries = shorter_lists,
  },
  {
    wanted = function(entry) return entry.grid and not is_trivial(entry) end,
    tries = blank_blocks,
  },
  {wanted = function(entry) return entry.grid end, tries = fewer_slices},
  {
    wanted = function(entry)
      return is_leaf(entry) and not is_trivial(entry)
    end,
    tries = simpler_leaves,
  },
  {wanted = function(entry) return entry.grid end, tries = nearer_front},
}

-- -- the search --------------------------------------------------------------

-- The first try at an entry that fails too, as a tree; nil when none does.
local function step(search, one, tries)
  for _, entry in ipairs(tries(one.entry)) do
    if search.left == 0 then return nil end
    search.left = search.left - 1
    local tree = search.fails(replaced(search.tree, one.path, entry))
    if tree then return tree end
  end
end

-- Runs a pass over the tree; returns whether it helped.
local function run(search, pass)
  local at, helped = 1, false
  local list = collect(search.tree, pass.wanted)
  while list[at] and search.left > 0 do
    local tree = step(search, list[at], pass.tries)
    if tree then
      search.tree, search.steps, helped = tree, search.steps + 1, true
      list = collect(tree, pass.wanted)
    else
      at = at + 1
    end
  end
  return helped
end

--- Makes a tree simpler.
-- @tparam table tree of a failing example
-- @tparam function fails of a tree: that of the value it gives, when this one
-- fails too, else nil
-- @tparam integer limit how many trees are tried at most
-- @treturn table tree
-- @treturn integer how many steps were made
return function(tree, fails, limit)
  local search = {tree = tree, fails = fails, left = limit, steps = 0}
  local helped = true
  while helped and search.left > 0 do
    helped = false
    for _, pass in ipairs(passes) do
      helped = run(search, pass) or helped
    end
  end
  return search.tree, search.steps
end
