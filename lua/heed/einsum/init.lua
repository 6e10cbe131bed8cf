--- einsum: sums of products of tensors, in the letter notation of Einstein.
--
-- An equation (equation.lua) becomes a plan once: for every operand the
-- diagonals of repeated letters; then pairs of operands in an order that costs
-- little (order.lua), each pair as one matrix product of views (pair.lua).
-- Plans are kept for each equation and ranks; with three or more operands, for
-- the sizes too, since the order depends on them.

local check = require "heed.check"
local core = require "heed.core"
local equation = require "heed.einsum.equation"
local labels = require "heed.einsum.labels"
local order = require "heed.einsum.order"
local pair = require "heed.einsum.pair"

local ops <const> = core.ops
local fail <const> = equation.fail
local getmetatable <const>, tensor <const> = debug.getmetatable, core.metatable

local KEPT <const> = 512  -- equations and plans that are remembered
local RANKS <const> = 9   -- from 0 to 8
local RANKED <const> = 19 -- so many of them fit into an integer

-- Repeated letters: a function for each operand that has some, and the labels
-- of all operands afterwards.
local function diagonals(parts)
  local prepare, after = {}, {}
  for i, part in ipairs(parts) do
    local steps, rest, seen, d = {}, labels.join(part), {}, 1
    while d <= #rest do
      local label = rest[d]
      if seen[label] then
        local first = seen[label]
        steps[#steps + 1] = {first, d}
        table.remove(rest, d)
        table.remove(rest, first)
        rest[#rest + 1] = label
        seen, d = {}, 0
      else
        seen[label] = d
      end
      d = d + 1
    end
    after[i] = rest
    if #steps > 0 then
      prepare[i] = function(t)
        for _, step in ipairs(steps) do
          t = ops.diagonal(t, 0, step[1], step[2])
        end
        return t
      end
    end
  end
  return prepare, after
end

-- The tree as a function of the operands and sizes, with the labels of its
-- result, and whether it looks at sizes; `needed` are labels that are needed
-- outside of it.
local function compile(tree, parts, needed, output)
  if math.type(tree) then
    return function(operands) return operands[tree] end, parts[tree]
  end
  local function labels_of(node, set)
    if math.type(node) then
      for _, label in ipairs(parts[node]) do set[label] = true end
    else
      labels_of(node[1], set)
      labels_of(node[2], set)
    end
    return set
  end
  local function also(node)
    local set = labels_of(node, {})
    for label in pairs(needed) do set[label] = true end
    return set
  end
  local first, a, sized_a = compile(tree[1], parts, also(tree[2]), output)
  local second, b, sized_b = compile(tree[2], parts, also(tree[1]), output)
  local run, result, sized = pair.join(a, b, needed, output)
  sized = sized or sized_a or sized_b
  if math.type(tree[1]) and math.type(tree[2]) then
    local i, j = tree[1], tree[2]
    return function(operands, size)
      return run(operands[i], operands[j], size)
    end, result, sized
  end
  return function(operands, size)
    return run(first(operands, size), second(operands, size), size)
  end, result, sized
end

local function build(parts, output, size)
  local prepare, after = diagonals(parts)
  local needed = labels.set(output)
  local run, result, sized = compile(order.find(after, output, size), after,
    needed, output)
  local sum
  result, sum = pair.summer(result, needed)
  local arrange = pair.arranger(result, output)
  if next(prepare) or sum or arrange then
    local inner = run
    run = function(operands, sizes)
      for i, f in pairs(prepare) do operands[i] = f(operands[i]) end
      local y = inner(operands, sizes)
      if sum then y = sum(y) end
      return arrange and arrange(y) or y
    end
  end
  return {run = run, sized = sized}
end

-- A table that forgets everything when it has grown large.
local function memory() return {count = 0, list = {}} end

local function remember(m, key, value)
  if m.count >= KEPT then m.count, m.list = 0, {} end
  m.count, m.list[key] = m.count + 1, value
  return value
end

local equations <const>, plans <const> = memory(), memory()

-- The labels of all dimensions, for operands of these ranks.
local function spread(e, shapes)
  local dots, parts = 0, {}
  for i, part in ipairs(e.inputs) do
    local ndim, letters, open = #shapes[i], #part, false
    for _, label in ipairs(part) do open = open or label == 0 end
    if open then letters = letters - 1 end
    if open and ndim < letters or not open and ndim ~= letters then
      fail(e.equation, "operand %d %s has %d dimensions, its letters name " ..
        "%s%d", i, check.shape(shapes[i]), ndim,
        open and "at least " or "", letters)
    end
    if open then dots = math.max(dots, ndim - letters) end
    parts[i] = equation.widen(part, ndim - letters)
  end
  return {parts = parts, output = equation.widen(e.output, dots)}
end

local function key_of(parts, output, size)
  local text = {}
  for i, part in ipairs(parts) do
    text[i] = table.concat(part, " ")
    for _, label in ipairs(part) do
      if size then text[i] = text[i] .. ":" .. size[label] end
    end
  end
  return table.concat(text, ",") .. ">" .. table.concat(output, " ")
end

-- Sizes differ: fine where one of them is 1, except within an operand.
local function mismatch(e, shapes, label, i, n, first, m)
  local name = equation.label_name(label)
  if i == first then
    fail(e.equation, "%s has sizes %d and %d in operand %d %s", name, m, n, i,
      check.shape(shapes[i]))
  elseif n ~= 1 and m ~= 1 then
    fail(e.equation, "%s has size %d in operand %d %s, and %d in operand " ..
      "%d %s", name, m, first, check.shape(shapes[first]), n, i,
      check.shape(shapes[i]))
  end
end

-- Pairs of dimensions that have one label: operand and dimension of either.
local function pairs_of(parts)
  local list, first = {}, {}
  for i, part in ipairs(parts) do
    for d, label in ipairs(part) do
      local at = first[label]
      if at then
        local n = #list
        list[n + 1], list[n + 2], list[n + 3], list[n + 4] = at[1], at[2], i, d
      else
        first[label] = {i, d}
      end
    end
  end
  return list
end

local function agree(list, shapes)
  for k = 1, #list, 4 do
    if shapes[list[k]][list[k + 1]] ~= shapes[list[k + 2]][list[k + 3]] then
      return false
    end
  end
  return true
end

local function same_shapes(a, b)
  for i = 1, #a do
    local p, q = a[i], b[i]
    for d = 1, #p do
      if p[d] ~= q[d] then return false end
    end
  end
  return true
end

-- Is the plan made for operands of these shapes? With more than two operands,
-- of these very shapes.
local function fits(plan, shapes)
  if not plan.run then return false end
  if plan.shapes then return same_shapes(plan.shapes, shapes) end
  return agree(plan.pairs, shapes)
end

-- The size of each label; does any have to stretch from 1?
local function read_sizes(e, parts, shapes)
  local size, from, stretch = {}, {}, false
  for i = 1, #parts do
    local part, shape = parts[i], shapes[i]
    for d = 1, #part do
      local label, n = part[d], shape[d]
      local m = size[label]
      if m == nil then
        size[label], from[label] = n, i
      elseif m ~= n then
        mismatch(e, shapes, label, i, n, from[label], m)
        stretch = true
        if m == 1 then size[label], from[label] = n, i end
      end
    end
  end
  return size, stretch
end

-- Drops dimensions of size 1 whose letter has another size elsewhere.
local function drop_ones(e, parts, operands, shapes, size)
  local rest = {}
  for i, part in ipairs(parts) do
    local dropped = {}
    rest[i] = {}
    for d = #part, 1, -1 do
      local label = part[d]
      if shapes[i][d] == 1 and size[label] ~= 1 then
        operands[i] = ops.select(operands[i], d, 1)
        dropped[label] = true
      else
        table.insert(rest[i], 1, label)
      end
    end
    for _, label in ipairs(rest[i]) do
      if dropped[label] then
        mismatch(e, shapes, label, i, size[label], i, 1)
      end
    end
  end
  return rest
end

-- The operands as a list, their shapes, and a key for their ranks.
local function read_operands(e, ...)
  local operands, shapes, rank = {...}, {}, 0
  local n = select("#", ...)
  if n == 1 and type(operands[1]) == "table" then
    n = #operands[1]
    operands = table.move(operands[1], 1, n, 1, {})
  end
  for i = 1, n do
    local t = operands[i]
    if getmetatable(t) ~= tensor then
      fail(e.equation, "operand %d must be a tensor, got %s", i, check.show(t))
    end
    local shape = t.shape
    shapes[i], rank = shape, rank * RANKS + #shape
  end
  if n ~= #e.inputs then
    fail(e.equation, "it names %d operand%s, got %d", #e.inputs,
      #e.inputs == 1 and "" or "s", n)
  end
  return operands, shapes, n <= RANKED and rank
end

--- The sum of the products of tensors, in letter notation: every dimension has
-- a letter, dimensions with one letter have one size, and what is not in the
-- output is summed over.
--
-- `"ij,jk->ik"` is a matrix product, `"bhqd,bhkd->bhqk"` the scores of
-- attention, `"ii->i"` a diagonal, `"ij->"` a sum. `...` stands for any number
-- of dimensions, which broadcast. Without `->`, the output has the dimensions
-- of `...`, then the letters that occur once, in the order of the alphabet
-- (capitals first). Sizes of 1 stretch. Spaces do not count.
-- @tparam string text the equation
-- @param ... tensors, or one list of them
-- @return tensor; a view of the operand where nothing has to be computed
-- @raise when the equation cannot be read, or does not fit the operands
-- @usage heed.einsum("ij,jk->ik", heed.ones(2, 3), heed.ones(3, 4))
local function einsum(text, ...)
  local e = equations.list[text]
  if not e then
    check.kind("einsum", "equation", text, "string")
    e = remember(equations, text, equation.read(text))
  end
  local operands, shapes, rank = read_operands(e, ...)
  local plan = e.by_rank[rank]
  if not plan then
    plan = spread(e, shapes)
    if rank then e.by_rank[rank] = plan end
  end
  if fits(plan, shapes) then
    return plan.run(operands, plan.sized and read_sizes(e, plan.parts, shapes))
  end
  local size, stretch = read_sizes(e, plan.parts, shapes)
  local parts = plan.parts
  if stretch then parts = drop_ones(e, parts, operands, shapes, size) end
  local many = #parts > 2
  local key = key_of(parts, plan.output, many and size)
  local built = plans.list[key] or
    remember(plans, key, build(parts, plan.output, size))
  if not stretch then
    plan.run, plan.sized = built.run, built.sized
    plan.shapes = many and shapes or nil
    plan.pairs = plan.pairs or pairs_of(parts)
  end
  return built.run(operands, size)
end

return einsum
