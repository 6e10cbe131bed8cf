--- lines: ops along one or several dimensions: reductions, running sums,
-- orders, softmax.

local array = require "spec.robust.program.array"
local refuse = require "spec.robust.program.refuse"
local shapes = require "spec.robust.program.reference.shapes"

local axis_of <const>, copy_of <const> = shapes.axis_of, shapes.copy_of

local ops = {}

local NAN <const> = 0 / 0

-- -- reductions --------------------------------------------------------------

local function marked(x, dims)
  local on = {}
  if type(dims) == "number" then dims = {dims} end
  if not dims then
    for k = 1, #x.shape do on[k] = true end
    return on
  end
  for _, k in ipairs(dims) do
    k = axis_of(k, #x.shape)
    refuse.unless(not on[k])
    on[k] = true
  end
  return on
end

-- How many numbers each result is made of.
local function size_of(x, dims)
  local n = 1
  for k in pairs(marked(x, dims)) do n = n * x.shape[k] end
  return n
end

-- The numbers that each result is made of, by its place; and its shape.
local function groups(x, dims, keepdim)
  local on = marked(x, dims)
  local kept, dropped, lists = {}, {}, {}
  for k, size in ipairs(x.shape) do
    kept[k] = on[k] and 1 or size
    if not on[k] then dropped[#dropped + 1] = size end
  end
  for i = 1, array.count(kept) do lists[i] = {} end
  local stride = array.dense(kept)
  array.walk(x.shape, function(index)
    local at = 1
    for k = 1, #kept do
      if not on[k] then at = at + (index[k] - 1) * stride[k] end
    end
    table.insert(lists[at], x:get(index))
  end)
  return lists, keepdim and kept or dropped
end

local function reduced(x, dims, keepdim, dtype, f)
  local lists, shape = groups(x, dims, keepdim)
  local values = {}
  for i, list in ipairs(lists) do values[i] = f(list) end
  return array.new(dtype, shape, values)
end

-- What is summed: integers as int64, halves as float32.
local function summed(dtype)
  if not array.is_float(dtype) then return "int64" end
  return dtype == "float64" and dtype or "float32"
end
local function as_float(dtype)
  return dtype == "float64" and dtype or "float32"
end
local function as_is(dtype)
  return array.ranks[dtype] == 5 and "float32" or dtype
end
local function always(dtype) return function() return dtype end end

local function not_empty(a) return not a.store or a:count() > 0 end

local function draw_reduction(o)
  return function(d)
    local x = d:tensor {tame = o.tame, kind = o.kind,
      fits = o.some and not_empty or nil}
    local dims = d:axes(d:array(x))
    if o.one and type(dims) == "table" then dims = dims[1] end
    if dims == nil and d:chance(0.5) then return {x} end
    return {x, dims, d:chance(0.4), n = 3}
  end
end

local function reduction(name, dtype_of, f, o)
  o = o or {}
  ops[name] = {
    draw = draw_reduction(o),
    run = function(x, dims, keepdim)
      refuse.unless(o.kind ~= "only_float" or x:is_float())
      refuse.unless(not o.some or size_of(x, dims) > 0)
      local dtype = dtype_of(x.dtype)
      return reduced(x, dims, keepdim, dtype, function(list)
        return f(list, dtype)
      end)
    end,
  }
end

local function sum(list)
  local s = 0
  for _, v in ipairs(list) do s = s + v end
  return s
end
local function mean(list)
  return #list == 0 and NAN or sum(list) / #list
end
local function product(list)
  local p = 1
  for _, v in ipairs(list) do p = p * v end
  return p
end

reduction("sum", summed, sum)
reduction("nansum", summed, function(list)
  local s = 0
  for _, v in ipairs(list) do if v == v then s = s + v end end
  return s
end)
reduction("mean", as_float, mean)
reduction("prod", summed, product, {tame = true})
reduction("count_nonzero", always "int64", function(list)
  local n = 0
  for _, v in ipairs(list) do if v ~= 0 then n = n + 1 end end
  return n
end)
reduction("any", always "bool", function(list)
  for _, v in ipairs(list) do if v ~= 0 then return true end end
  return false
end)
reduction("all", always "bool", function(list)
  for _, v in ipairs(list) do if v == 0 then return false end end
  return true
end)

-- The best of a list and the first place of it; a NaN is better than all.
local function best(list, better)
  refuse.unless(#list > 0)
  local at = 1
  for i, v in ipairs(list) do
    local w = list[at]
    if w == w and (v ~= v or better(v, w)) then at = i end
  end
  return list[at], at
end
local function greater(a, b) return a > b end
local function less(a, b) return a < b end

-- `first` and `second`: what is read of the best.
local function extreme(name, better)
  reduction("a" .. name, as_is, function(list)
    return (best(list, better))
  end, {some = true})
  reduction("arg" .. name, always "int64", function(list)
    return (select(2, best(list, better)))
  end, {some = true, one = true})
  ops[name] = {
    draw = draw_reduction {some = true, one = true},
    run = function(x, dims, keepdim)
      local y = ops["a" .. name].run(x, dims, keepdim)
      if dims == nil then return y end
      return y, ops["arg" .. name].run(x, dims, keepdim)
    end,
  }
end
extreme("max", greater)
extreme("min", less)

local function variance(list, correction)
  local m, s = mean(list), 0.0
  for _, v in ipairs(list) do s = s + (v - m) ^ 2 end
  local n = math.max(#list - correction, 0)
  return s / n
end
local function moments(name, what)
  ops[name] = {
    draw = function(d)
      local args = draw_reduction {tame = true} (d)
      if #args == 1 then return args end
      args[4], args.n = d:int(0, 1), 4
      return args
    end,
    run = function(x, dims, keepdim, correction)
      local dtype = as_float(x.dtype)
      local y = reduced(x, dims, keepdim, dtype, function(list)
        local v = variance(list, correction or 1)
        return what == "std" and math.sqrt(v) or v
      end)
      if not name:find "mean" then return y end
      return y, reduced(x, dims, keepdim, dtype, mean)
    end,
  }
end
moments("var", "var")
moments("std", "std")
moments("var_mean", "var")
moments("std_mean", "std")

local function log_sum(list)
  local most = -math.huge
  for _, v in ipairs(list) do most = math.max(most, v) end
  if most == -math.huge then return most end
  local s = 0.0
  for _, v in ipairs(list) do s = s + math.exp(v - most) end
  return most + math.log(s)
end
reduction("logsumexp", as_float, log_sum, {kind = "only_float", tame = true})

ops.vector_norm = {
  draw = function(d)
    local x = d:tensor {tame = true, kind = "only_float", fits = not_empty}
    return {x, d:pick {1, 2, 3, 0.5, math.huge, -math.huge, 0},
      d:axes(d:array(x)), d:chance(0.4), n = 4}
  end,
  run = function(x, ord, dims, keepdim)
    refuse.unless(math.abs(ord) < math.huge or size_of(x, dims) > 0)
    return reduced(x, dims, keepdim, as_float(x.dtype), function(list)
      local s, big, small = 0.0, 0.0, math.huge
      for _, v in ipairs(list) do
        v = math.abs(v)
        big, small = math.max(big, v), math.min(small, v)
        s = s + (ord == 0 and (v ~= 0 and 1 or 0) or v ^ ord)
      end
      if ord == math.huge then return big end
      if ord == -math.huge then return small end
      return ord == 0 and s or s ^ (1 / ord)
    end)
  end,
}

-- -- along one dimension -----------------------------------------------------

-- Lines of x along `dim`: f(list) gives one or two lists, put into arrays of
-- `dtypes`; they may be longer or shorter than the lines of x.
local function along(x, dim, dtypes, f)
  dim = axis_of(dim, #x.shape)
  local outer = copy_of(x.shape)
  local n = table.remove(outer, dim)
  local results, size = {}, nil
  for k = 1, #dtypes do results[k] = {} end
  local places = {}
  array.walk(outer, function(index)
    local at = copy_of(index)
    table.insert(at, dim, 1)
    local line = {}
    for i = 1, n do
      at[dim] = i
      line[i] = x:get(at)
    end
    local lists = {f(line)}
    size = #lists[1]
    places[#places + 1] = lists
  end)
  if #places == 0 then
    local some = {}
    for i = 1, n do some[i] = 0 end
    size = #(f(some))
  end
  local shape = copy_of(x.shape)
  shape[dim] = size
  for k, dtype in ipairs(dtypes) do
    results[k] = array.make(dtype, shape, function(index)
      local row, stride = 1, array.dense(outer)
      for j = 1, #outer do
        row = row + (index[j < dim and j or j + 1] - 1) * stride[j]
      end
      return places[row][k][index[dim]]
    end)
  end
  return table.unpack(results)
end

local function draw_line(o)
  return function(d)
    local x = d:tensor {ndim = 1, tame = o.tame, kind = o.kind,
      fits = o.some and not_empty or nil}
    return {x, d:axis(d:array(x))}
  end
end

-- Each line by f of the whole line.
local function line(name, dtype_of, f, o)
  o = o or {}
  ops[name] = {
    draw = draw_line(o),
    run = function(x, dim)
      refuse.unless(o.kind ~= "only_float" or x:is_float())
      local n = x.shape[axis_of(dim, #x.shape)]
      if x:count() == 0 then return array.new(dtype_of(x.dtype), x.shape, {}) end
      refuse.unless(n >= 0)
      return along(x, dim, {dtype_of(x.dtype)}, f)
    end,
  }
end

-- Each prefix of a line by f.
local function prefixes(f)
  return function(list)
    local result, part = {}, {}
    for i, v in ipairs(list) do
      part[i] = v
      result[i] = f(part)
    end
    return result
  end
end

line("cumsum", summed, prefixes(sum))
line("cumprod", summed, prefixes(product), {tame = true})
line("logcumsumexp", as_float, prefixes(log_sum), {kind = "only_float",
  tame = true})

-- The last of several equal ones, as PyTorch has it.
local function running(name, better)
  ops[name] = {
    draw = draw_line {tame = true},
    run = function(x, dim)
      local dtypes = {as_is(x.dtype), "int64"}
      if x:count() == 0 then
        axis_of(dim, #x.shape)
        return array.new(dtypes[1], x.shape, {}),
          array.new("int64", x.shape, {})
      end
      return along(x, dim, dtypes, function(list)
        local values, at = {}, {}
        for i, v in ipairs(list) do
          local take = i == 1 or not better(values[i - 1], v)
          values[i] = take and v or values[i - 1]
          at[i] = take and i or at[i - 1]
        end
        return values, at
      end)
    end,
  }
end
running("cummax", greater)
running("cummin", less)

line("softmax", as_float, function(list)
  local total, r = log_sum(list), {}
  for i, v in ipairs(list) do r[i] = math.exp(v - total) end
  return r
end, {kind = "only_float", tame = true})
line("log_softmax", as_float, function(list)
  local total, r = log_sum(list), {}
  for i, v in ipairs(list) do r[i] = v - total end
  return r
end, {kind = "only_float", tame = true})

ops.masked_softmax = {
  draw = function(d)
    local x = d:tensor {ndim = 1, tame = true, kind = "only_float",
      fits = not_empty}
    local a = d:array(x)
    return {x, d:tensor {dtype = "bool", shape = d:under(a.shape)}, d:axis(a)}
  end,
  run = function(x, mask, dim)
    local held = array.make(x.dtype, x.shape, function(index)
      return mask:get(index) ~= 0 and x:get(index) or -math.huge
    end)
    return along(held, dim, {as_float(x.dtype)}, function(list)
      local total, r = log_sum(list), {}
      for i, v in ipairs(list) do
        r[i] = total == -math.huge and 0.0 or math.exp(v - total)
      end
      return r
    end)
  end,
}

-- -- orders ------------------------------------------------------------------

-- The places of a line in order; equal ones stay in theirs, NaN is largest.
local function order(list, descending)
  local at = {}
  for i = 1, #list do at[i] = i end
  local function before(i, j)
    local a, b = list[i], list[j]
    if a ~= a or b ~= b then
      if a ~= a and b ~= b then return i < j end
      return descending == (a ~= a)
    end
    if a == b then return i < j end
    if descending then return a > b end
    return a < b
  end
  table.sort(at, before)
  local values = {}
  for i, place in ipairs(at) do values[i] = list[place] end
  return values, at
end

ops.sort = {
  draw = function(d)
    local x = d:tensor {ndim = 1, tame = true}
    return {x, d:axis(d:array(x)), d:chance(0.5)}
  end,
  run = function(x, dim, descending)
    return along(x, dim, {as_is(x.dtype), "int64"}, function(list)
      return order(list, descending)
    end)
  end,
}
ops.topk = {
  draw = function(d)
    local x = d:tensor {ndim = 1, tame = true, fits = not_empty}
    local dim = d:axis(d:array(x))
    local n = d:array(x).shape[axis_of(dim, #d:array(x).shape)]
    return n > 0 and {x, d:int(1, n), dim, d:chance(0.6)}
  end,
  run = function(x, k, dim, largest)
    return along(x, dim, {as_is(x.dtype), "int64"}, function(list)
      local values, at = order(list, largest)
      return {table.unpack(values, 1, k)}, {table.unpack(at, 1, k)}
    end)
  end,
}

-- One of each line, dropped or kept as a dimension of size 1.
local function chosen(x, dim, keepdim, pick)
  local y, at = along(x, dim, {as_is(x.dtype), "int64"}, function(list)
    local v, i = pick(list)
    return {v}, {i}
  end)
  if keepdim then return y, at end
  local function drop(a)
    local shape = copy_of(a.shape)
    table.remove(shape, axis_of(dim, #shape))
    return array.new(a.dtype, shape, a:values())
  end
  return drop(y), drop(at)
end

ops.kthvalue = {
  draw = function(d)
    local x = d:tensor {ndim = 1, tame = true, fits = not_empty}
    local dim = d:axis(d:array(x))
    local n = d:array(x).shape[axis_of(dim, #d:array(x).shape)]
    return n > 0 and {x, d:int(1, n), dim, d:chance(0.4)}
  end,
  run = function(x, k, dim, keepdim)
    return chosen(x, dim, keepdim, function(list)
      local values, at = order(list, false)
      return values[k], at[k]
    end)
  end,
}
local function middle(list)
  refuse.unless(#list > 0)
  local values, at = order(list, false)
  local k = (#list + 1) // 2
  return values[k], at[k]
end
for _, name in ipairs {"median", "nanmedian"} do
  ops[name] = {
    draw = draw_reduction {some = true, one = true, tame = true},
    run = function(x, dim, keepdim)
      if dim == nil then
        return reduced(x, nil, keepdim, as_is(x.dtype), function(list)
          return (middle(list))
        end)
      end
      return chosen(x, dim, keepdim, middle)
    end,
  }
end
-- The smallest of the most frequent ones, and its last place.
ops.mode = {
  draw = function(d)
    local x = d:tensor {ndim = 1, tame = true, fits = not_empty}
    return {x, d:axis(d:array(x)), d:chance(0.4)}
  end,
  run = function(x, dim, keepdim)
    return chosen(x, dim, keepdim, function(list)
      refuse.unless(#list > 0)
      local count, top = {}, nil
      for _, v in ipairs(list) do count[v] = (count[v] or 0) + 1 end
      for v, n in pairs(count) do
        if not top or n > count[top] or n == count[top] and v < top then
          top = v
        end
      end
      for i = #list, 1, -1 do if list[i] == top then return list[i], i end end
    end)
  end,
}

return {ops = ops, along = along, groups = groups, as_float = as_float,
  log_sum = log_sum, not_empty = not_empty}
