--- reductions: ops over one or several dimensions.

local array = require "spec.robust.program.array"
local refuse = require "spec.robust.program.refuse"
local views = require "spec.robust.program.reference.views"

local ops = {}

local axis_of <const> = views.axis_of
local NAN <const> = 0 / 0

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

return {
  ops = ops, reduced = reduced, draw = draw_reduction, not_empty = not_empty,
  summed = summed, as_float = as_float, as_is = as_is, sum = sum,
  product = product, log_sum = log_sum, greater = greater, less = less,
}
