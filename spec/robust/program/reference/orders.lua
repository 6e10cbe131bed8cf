--- orders: ops along one dimension: running sums, softmax, sorting.

local array = require "spec.robust.program.array"
local reductions = require "spec.robust.program.reference.reductions"
local refuse = require "spec.robust.program.refuse"
local views = require "spec.robust.program.reference.views"

local ops = {}

local axis_of <const>, copy_of <const> = views.axis_of, views.copy_of

local as_float <const>, as_is <const> = reductions.as_float, reductions.as_is
local greater <const>, less <const> = reductions.greater, reductions.less
local log_sum <const>, not_empty <const> = reductions.log_sum,
  reductions.not_empty

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
      local dtype = dtype_of(x.dtype)
      if n == 0 then return array.new(dtype, x.shape, {}) end
      return along(x, dim, {dtype}, f)
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

line("cumsum", reductions.summed, prefixes(reductions.sum))
line("cumprod", reductions.summed, prefixes(reductions.product),
  {tame = true})
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
    draw = reductions.draw {some = true, one = true, tame = true},
    run = function(x, dim, keepdim)
      if dim == nil then
        return reductions.reduced(x, nil, keepdim, as_is(x.dtype),
          function(list) return (middle(list)) end)
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

return {ops = ops}
