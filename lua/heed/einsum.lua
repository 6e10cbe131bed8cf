--- einsum: sums of products of tensors, in the letter notation of Einstein.
--
-- An equation becomes a plan once: for every operand the diagonals of repeated
-- letters; then pairs of operands in an order that costs little, each pair as
-- one matrix product of views. Letters of a pair are
--
--     batch   in both and still needed     left    in the first only
--     inner   in both and not needed       right   in the second only
--
-- so that the product is [batch.. left inner] x [batch.. inner right]. Plans
-- are kept for each equation and ranks; with three or more operands, for the
-- sizes too, since the order depends on them.
--
-- Labels of dimensions are numbers: the byte of a letter, or for the dimensions
-- that "..." stands for 1 (the last), 2, and so on.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops
local getmetatable <const>, tensor <const> = debug.getmetatable, core.metatable

local EXACT <const> = 6  -- so many operands: the best of all orders
local KEPT <const> = 512 -- equations and orders that are remembered
local MATMUL_BATCH <const> = 6
local RANKS <const> = 9   -- from 0 to 8
local RANKED <const> = 19 -- so many of them fit into an integer

local FLOAT <const> = {
  float16 = true, bfloat16 = true, float32 = true, float64 = true,
}

local function fail(equation, format, ...)
  check.fail('einsum: "%s": ' .. format, equation, ...)
end

-- -- reading an equation -----------------------------------------------------

local function label_name(label)
  return label < 65 and ('dimension -%d of "..."'):format(label) or
    "letter " .. string.char(label)
end

-- One part of an equation: the labels, with 0 for "...".
local function read_part(equation, what, text)
  local labels, dots, at = {}, false, 1
  while at <= #text do
    if text:sub(at, at + 2) == "..." then
      if dots then fail(equation, '%s has "..." twice', what) end
      labels[#labels + 1], dots, at = 0, true, at + 3
    elseif text:find("^%a", at) then
      labels[#labels + 1], at = text:byte(at), at + 1
    else
      fail(equation, "%s has %s, which is no letter", what,
        check.show(text:sub(at, utf8.offset(text, 2, at) - 1)))
    end
  end
  return labels, dots
end

local function read_output(equation, text, inputs)
  local labels, dots = read_part(equation, "the output", text)
  local known, seen = {}, {}
  for _, part in ipairs(inputs) do
    for _, label in ipairs(part) do known[label] = true end
  end
  for _, label in ipairs(labels) do
    if label ~= 0 and not known[label] then
      fail(equation, "the output has letter %c, which no operand has", label)
    end
    if seen[label] then
      fail(equation, "the output has letter %c twice", label)
    end
    seen[label] = true
  end
  return labels, dots
end

-- Without an output: "...", then the letters that occur once, sorted.
local function implied_output(inputs)
  local count, labels = {}, {}
  for _, part in ipairs(inputs) do
    for _, label in ipairs(part) do
      if label ~= 0 then count[label] = (count[label] or 0) + 1 end
    end
  end
  for label, n in pairs(count) do
    if n == 1 then labels[#labels + 1] = label end
  end
  table.sort(labels)
  table.insert(labels, 1, 0)
  return labels
end

local function read_equation(equation)
  local text = equation:gsub("%s", "")
  local left, right = text:match("^(.-)%->(.*)$")
  left = left or text
  local inputs = {}
  for part in (left .. ","):gmatch("([^,]*),") do
    local what = "operand " .. #inputs + 1
    inputs[#inputs + 1] = read_part(equation, what, part)
  end
  return {
    equation = equation, inputs = inputs,
    output = right and read_output(equation, right, inputs) or
      implied_output(inputs),
    by_rank = {},
  }
end

-- The labels of a part, with `dots` numbers in the place of 0.
local function widen(labels, dots)
  local list = {}
  for _, label in ipairs(labels) do
    if label == 0 then
      for d = dots, 1, -1 do list[#list + 1] = d end
    else
      list[#list + 1] = label
    end
  end
  return list
end

-- -- one pair ----------------------------------------------------------------

local function set_of(...)
  local set = {}
  for _, labels in ipairs {...} do
    for _, label in ipairs(labels) do set[label] = true end
  end
  return set
end

local function select_labels(labels, keep)
  local list = {}
  for _, label in ipairs(labels) do
    if keep(label) then list[#list + 1] = label end
  end
  return list
end

local function joined(...)
  local list = {}
  for _, labels in ipairs {...} do
    table.move(labels, 1, #labels, #list + 1, list)
  end
  return list
end

-- Where the labels `to` stand in `from`; nil when they stand there so already.
local function order(from, to)
  local place, list, same = {}, {}, #from == #to
  for d, label in ipairs(from) do place[label] = d end
  for d, label in ipairs(to) do
    list[d] = place[label]
    same = same and list[d] == d
  end
  return not same and list or nil
end

-- A function that puts a tensor's dimensions in an order, if need be.
local function arranger(from, to)
  local dims = order(from, to)
  if not dims then return nil end
  if #dims == 2 then return ops.transpose end
  return function(t) return ops.permute(t, dims) end
end

-- Sums over the labels that are not needed: the rest, and a function or nil.
local function summer(labels, needed)
  local dims = {}
  for d, label in ipairs(labels) do
    if not needed[label] then dims[#dims + 1] = d end
  end
  if #dims == 0 then return labels, nil end
  return select_labels(labels, function(label) return needed[label] end),
    function(t) return ops.sum(t, dims) end
end

local function product_size(labels, size)
  local n = 1
  for _, label in ipairs(labels) do n = n * size[label] end
  return n
end

-- Makes one dimension of each group of labels; nil when they are single.
local function grouper(batch, first, second)
  if #first == 1 and #second == 1 and #batch <= MATMUL_BATCH then
    return nil
  end
  return function(t, size)
    local shape = {}
    if #batch > MATMUL_BATCH then
      shape[1] = product_size(batch, size)
    else
      for d, label in ipairs(batch) do shape[d] = size[label] end
    end
    shape[#shape + 1] = product_size(first, size)
    shape[#shape + 1] = product_size(second, size)
    return ops.reshape(t, shape)
  end
end

-- A function that gives a tensor with `from` the dimensions `to`, of size 1
-- where it has none.
local function spreader(from, to)
  local has = set_of(from)
  local own = select_labels(to, function(label) return has[label] end)
  local arrange, missing, seen = arranger(from, own), {}, false
  for d, label in ipairs(to) do
    if has[label] then
      seen = true
    elseif seen then
      missing[#missing + 1] = d - #to - 1 -- those in front are implied
    end
  end
  return function(t)
    if arrange then t = arrange(t) end
    for k = #missing, 1, -1 do t = ops.unsqueeze(t, missing[k]) end
    return t
  end
end

-- a * b, summed over the last `inner` of `labels`.
local function by_product(a, b, labels, inner)
  local left, right, dims = spreader(a, labels), spreader(b, labels), {}
  for k = 1, inner do dims[k] = -k end
  return function(t, u)
    local y = ops.mul(left(t), right(u))
    return inner > 0 and ops.sum(y, dims) or y
  end
end

-- A product of matrices; also returns whether it looks at sizes.
local function by_matmul(a, b, batch, left, inner, right)
  local arrange_a = arranger(a, joined(batch, left, inner))
  local arrange_b = arranger(b, joined(batch, inner, right))
  local group_a = grouper(batch, left, inner)
  local group_b = grouper(batch, inner, right)
  -- what was grouped comes apart again
  local labels = joined(batch, left, right)
  local ungroup = #left ~= 1 or #right ~= 1 or #batch > MATMUL_BATCH
  local plain = by_product(a, b, joined(labels, inner), #inner)
  return function(t, u, size)
    if not (FLOAT[t.dtype] or FLOAT[u.dtype]) then return plain(t, u) end
    if arrange_a then t = arrange_a(t) end
    if arrange_b then u = arrange_b(u) end
    if group_a then t = group_a(t, size) end
    if group_b then u = group_b(u, size) end
    local y = ops.matmul(t, u)
    if not ungroup then return y end
    local shape = {}
    for d, label in ipairs(labels) do shape[d] = size[label] end
    return ops.reshape(y, shape)
  end, group_a or group_b or ungroup
end

-- Do labels of `right` come before those of `left` in the output?
local function comes_first(right, left, output)
  for _, label in ipairs(output) do
    for _, l in ipairs(left) do if l == label then return false end end
    for _, l in ipairs(right) do if l == label then return true end end
  end
  return false
end

-- The step that joins operands with labels a and b, of which `needed` are
-- needed later: a function of both tensors and the sizes, the labels of its
-- result, and whether it looks at the sizes.
local function join(a, b, needed, output)
  local in_a, in_b = set_of(a), set_of(b)
  local wanted = setmetatable({}, {__index = needed})
  for label in pairs(in_a) do
    if in_b[label] then wanted[label] = true end
  end
  local sum_a, sum_b
  a, sum_a = summer(a, wanted)
  b, sum_b = summer(b, wanted)
  local batch = select_labels(a, function(l) return in_b[l] and needed[l] end)
  local inner = select_labels(a, function(l)
    return in_b[l] and not needed[l]
  end)
  local left = select_labels(a, function(l) return not in_b[l] end)
  local right = select_labels(b, function(l) return not in_a[l] end)
  local run, labels, sized
  if #inner == 0 or #left + #right == 0 then
    local all = set_of(batch, left, right)
    labels = joined(batch, left, right)
    local ordered = select_labels(output, function(l) return all[l] end)
    if #ordered == #labels then labels = ordered end
    run = by_product(a, b, joined(labels, inner), #inner)
  elseif comes_first(right, left, output) then
    labels = joined(batch, right, left)
    local swapped
    swapped, sized = by_matmul(b, a, batch, right, inner, left)
    run = function(t, u, size) return swapped(u, t, size) end
  else
    labels = joined(batch, left, right)
    run, sized = by_matmul(a, b, batch, left, inner, right)
  end
  if not (sum_a or sum_b) then return run, labels, sized end
  return function(t, u, size)
    if sum_a then t = sum_a(t) end
    if sum_b then u = sum_b(u) end
    return run(t, u, size)
  end, labels, sized
end

-- -- the order of pairs ------------------------------------------------------

-- Operands as sets of bits; which labels are left of a set once joined.
local function remaining(parts, subset, output)
  local inside, outside = {}, set_of(output)
  for i, labels in ipairs(parts) do
    for _, label in ipairs(labels) do
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

local function cost_of(first, second, size)
  local all, n = set_of(first, second), 1.0
  for label in pairs(all) do n = n * size[label] end
  return n
end

-- The order with the fewest multiplications, as a tree of operand numbers.
local function best_order(parts, output, size)
  local best, labels, all = {}, {}, (1 << #parts) - 1
  for subset = 1, all do
    labels[subset] = remaining(parts, subset, output)
    if subset & subset - 1 == 0 then
      for i = 1, #parts do
        if subset == 1 << i - 1 then
          best[subset] = {cost = 0, tree = i}
          labels[subset] = parts[i]
        end
      end
    else
      local found
      local part = subset - 1 & subset
      while part > 0 do
        local other = subset ~ part
        if part > other then
          local cost = best[part].cost + best[other].cost +
            cost_of(labels[part], labels[other], size)
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

-- With many operands: always the pair whose result is smallest beside what it
-- takes in, and of those the cheapest.
local function greedy_order(parts, output, size)
  local nodes = {}
  for i, labels in ipairs(parts) do
    nodes[i] = {tree = i, set = 1 << i - 1, labels = labels}
  end
  while #nodes > 1 do
    local best
    for j = 2, #nodes do
      for i = 1, j - 1 do
        local a, b = nodes[i], nodes[j]
        local left = remaining(parts, a.set | b.set, output)
        local gain = product_size(left, size) -
          product_size(a.labels, size) - product_size(b.labels, size)
        local cost = cost_of(a.labels, b.labels, size)
        if not best or gain < best.gain or
          gain == best.gain and cost < best.cost then
          best = {i = i, j = j, gain = gain, cost = cost, labels = left}
        end
      end
    end
    local b = table.remove(nodes, best.j)
    local a = nodes[best.i]
    nodes[best.i] = {
      tree = {a.tree, b.tree}, set = a.set | b.set, labels = best.labels,
    }
  end
  return nodes[1].tree
end

-- -- plans -------------------------------------------------------------------

-- Repeated letters: a function for each operand that has some, and the labels
-- of all operands afterwards.
local function diagonals(parts)
  local prepare, after = {}, {}
  for i, labels in ipairs(parts) do
    local steps, rest, seen, d = {}, joined(labels), {}, 1
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
  local run, labels, sized = join(a, b, needed, output)
  sized = sized or sized_a or sized_b
  if math.type(tree[1]) and math.type(tree[2]) then
    local i, j = tree[1], tree[2]
    return function(operands, size)
      return run(operands[i], operands[j], size)
    end, labels, sized
  end
  return function(operands, size)
    return run(first(operands, size), second(operands, size), size)
  end, labels, sized
end

local function order_for(parts, output, size)
  if #parts == 1 then return 1 end
  if #parts == 2 then return {1, 2} end
  if #parts <= EXACT then return best_order(parts, output, size) end
  return greedy_order(parts, output, size)
end

local function build(parts, output, size)
  local prepare, after = diagonals(parts)
  local needed = set_of(output)
  local run, labels, sized = compile(order_for(after, output, size), after,
    needed, output)
  local sum, arrange
  labels, sum = summer(labels, needed)
  arrange = arranger(labels, output)
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
local function memory()
  return {count = 0, list = {}}
end
local function remember(m, key, value)
  if m.count >= KEPT then m.count, m.list = 0, {} end
  m.count, m.list[key] = m.count + 1, value
  return value
end

local equations <const>, orders <const> = memory(), memory()

-- The labels of all dimensions, for operands of these ranks.
local function spread(e, shapes)
  local dots, parts = 0, {}
  for i, labels in ipairs(e.inputs) do
    local ndim, letters, open = #shapes[i], #labels, false
    for _, label in ipairs(labels) do open = open or label == 0 end
    if open then letters = letters - 1 end
    if open and ndim < letters or not open and ndim ~= letters then
      fail(e.equation, "operand %d %s has %d dimensions, its letters name " ..
        "%s%d", i, check.shape(shapes[i]), ndim, open and "at least " or "",
        letters)
    end
    if open then dots = math.max(dots, ndim - letters) end
    parts[i] = widen(labels, ndim - letters)
  end
  return {parts = parts, output = widen(e.output, dots)}
end

local function key_of(parts, output, size)
  local text = {}
  for i, labels in ipairs(parts) do
    text[i] = table.concat(labels, " ")
    for _, label in ipairs(labels) do
      if size then text[i] = text[i] .. ":" .. size[label] end
    end
  end
  return table.concat(text, ",") .. ">" .. table.concat(output, " ")
end

-- Sizes differ: fine where one of them is 1, except within an operand.
local function mismatch(e, shapes, label, i, n, first, m)
  if i == first then
    fail(e.equation, "%s has sizes %d and %d in operand %d %s",
      label_name(label), m, n, i, check.shape(shapes[i]))
  elseif n ~= 1 and m ~= 1 then
    fail(e.equation, "%s has size %d in operand %d %s, and %d in operand " ..
      "%d %s", label_name(label), m, first, check.shape(shapes[first]), n, i,
      check.shape(shapes[i]))
  end
end

-- Pairs of dimensions that have one label: operand and dimension of either.
local function pairs_of(parts)
  local list, first = {}, {}
  for i, labels in ipairs(parts) do
    for d, label in ipairs(labels) do
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

-- The size of each label; does any have to stretch from 1?
local function read_sizes(e, parts, shapes)
  local size, from, stretch = {}, {}, false
  for i = 1, #parts do
    local labels, shape = parts[i], shapes[i]
    for d = 1, #labels do
      local label, n = labels[d], shape[d]
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
local function drop_ones(parts, operands, shapes, size)
  local rest = {}
  for i, labels in ipairs(parts) do
    rest[i] = {}
    for d = #labels, 1, -1 do
      if shapes[i][d] == 1 and size[labels[d]] ~= 1 then
        operands[i] = ops.select(operands[i], d, 1)
      else
        table.insert(rest[i], 1, labels[d])
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
-- @tparam string equation
-- @param ... tensors, or one list of them
-- @return tensor; a view of the operand where nothing has to be computed
-- @raise when the equation cannot be read, or does not fit the operands
-- @usage heed.einsum("ij,jk->ik", heed.ones(2, 3), heed.ones(3, 4))
local function einsum(equation, ...)
  local e = equations.list[equation]
  if not e then
    check.kind("einsum", "equation", equation, "string")
    e = remember(equations, equation, read_equation(equation))
  end
  local operands, shapes, rank = read_operands(e, ...)
  local plan = e.by_rank[rank]
  if not plan then
    plan = spread(e, shapes)
    if rank then e.by_rank[rank] = plan end
  end
  if plan.run and agree(plan.pairs, shapes) then
    return plan.run(operands, plan.sized and read_sizes(e, plan.parts, shapes))
  end
  local size, stretch = read_sizes(e, plan.parts, shapes)
  local parts = plan.parts
  if stretch then parts = drop_ones(parts, operands, shapes, size) end
  local many = #parts > 2
  local key = key_of(parts, plan.output, many and size)
  local built = orders.list[key] or
    remember(orders, key, build(parts, plan.output, size))
  if not stretch and not many then
    plan.run, plan.sized, plan.pairs = built.run, built.sized, pairs_of(parts)
  end
  return built.run(operands, size)
end

return einsum
