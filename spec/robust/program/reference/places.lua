--- places: ops that take positions.

local array = require "spec.robust.program.array"
local refuse = require "spec.robust.program.refuse"
local views = require "spec.robust.program.reference.views"

local ops = {}

local axis_of <const>, copy_of <const> = views.axis_of, views.copy_of

local function not_empty(a) return math.min(1, table.unpack(a.shape)) > 0 end

-- What an op computes with: halves are read as float32.
local function as_number(x)
  return x:to(array.ranks[x.dtype] == 5 and "float32" or x.dtype)
end

-- A position that may count from the end, in a dimension of n.
local function position(v, n)
  refuse.unless(v ~= 0 and v <= n and v >= -n)
  return v < 0 and v + n + 1 or v
end

-- -- along one dimension -----------------------------------------------------

-- Draws x, a dimension, and positions in it of a shape of one dimension.
local function draw_index(d, o)
  local x = d:tensor {ndim = 1, dtype = o and o.dtype, kind = o and o.kind,
    tame = o and o.tame, fits = function(a)
      return not_empty(a)
    end}
  local a = d:array(x)
  local dim = d:axis(a)
  local n = a.shape[axis_of(dim, #a.shape)]
  if n == 0 then return nil end
  return x, a, dim, n
end

ops.index_select = {
  draw = function(d)
    local x, _, dim, n = draw_index(d)
    if not x then return nil end
    return {x, d:positions({d:int(0, 4)}, n, true), dim}
  end,
  run = function(x, index, dim)
    dim = axis_of(dim, #x.shape)
    local shape = copy_of(x.shape)
    shape[dim] = index.shape[1]
    return array.make(x.dtype, shape, function(at)
      local from = copy_of(at)
      from[dim] = position(index:get {at[dim]}, x.shape[dim])
      return x:get(from)
    end)
  end,
}

-- Writes into a copy of x: put(old, new) of what source has at each place.
local function written(x, dim, index, source, put)
  local y = x:to(x.dtype)
  dim = axis_of(dim, #x.shape)
  local shape = copy_of(x.shape)
  shape[dim] = index.shape[1]
  array.walk(shape, function(at)
    local to = copy_of(at)
    to[dim] = position(index:get {at[dim]}, x.shape[dim])
    local place = y:place(to)
    local value = source
    if array.is(source) then value = source:get(at) end
    y.store[place] = array.cast(put(y.store[place], value), y.dtype)
  end)
  return y
end

local function second(_, v) return v end
local function total(old, v) return old + v end

local function writing(name, put, kind)
  ops[name] = {
    draw = function(d)
      local x, a, dim, n = draw_index(d, {kind = kind, tame = true})
      if not x then return nil end
      local count, shape = d:int(0, 4), copy_of(a.shape)
      shape[axis_of(dim, #shape)] = count
      return {x, dim, d:positions({count}, n, true),
        d:tensor {shape = shape, dtype = a.dtype, tame = true}}
    end,
    run = function(x, dim, index, source)
      if kind then x, source = as_number(x), as_number(source) end
      return written(x, dim, index, source, put)
    end,
  }
end
writing("index_add", total, "arith")
writing("index_copy", second)
ops.index_fill = {
  draw = function(d)
    local x, a, dim, n = draw_index(d)
    if not x then return nil end
    return {x, dim, d:positions({d:int(0, 3)}, n, true),
      a.dtype == "bool" or d:int(0, 9)}
  end,
  run = function(x, dim, index, value)
    return written(x, dim, index, value, second)
  end,
}

-- -- a position for each element ---------------------------------------------

local function draw_gather(d, o)
  local x, a, dim, n = draw_index(d, o)
  if not x then return nil end
  local shape, k = {}, axis_of(dim, #a.shape)
  for i, size in ipairs(a.shape) do
    shape[i] = i == k and d:int(0, 4) or d:int(math.min(size, 1), size)
  end
  return x, a, dim, d:positions(shape, n, true), shape
end
ops.gather = {
  draw = function(d)
    local x, _, dim, index = draw_gather(d)
    return x and {x, dim, index}
  end,
  run = function(x, dim, index)
    dim = axis_of(dim, #x.shape)
    return array.make(x.dtype, index.shape, function(at)
      local from = copy_of(at)
      from[dim] = position(index:get(at), x.shape[dim])
      return x:get(from)
    end)
  end,
}

local function scatter(x, dim, index, source, put)
  local y = x:to(x.dtype)
  dim = axis_of(dim, #x.shape)
  array.walk(index.shape, function(at)
    local to = copy_of(at)
    to[dim] = position(index:get(at), x.shape[dim])
    local place = y:place(to)
    local value = source
    if array.is(source) then value = source:get(at) end
    y.store[place] = array.cast(put(y.store[place], value, place), y.dtype)
  end)
  return y
end
local function scattering(name, put, kind)
  ops[name] = {
    draw = function(d)
      local x, a, dim, index, shape = draw_gather(d, {kind = kind,
        tame = true})
      if not x then return nil end
      return {x, dim, index, d:tensor {shape = shape, dtype = a.dtype,
        tame = true}}
    end,
    run = function(x, dim, index, source)
      if kind then x, source = as_number(x), as_number(source) end
      return scatter(x, dim, index, source, put)
    end,
  }
end
scattering("scatter", second)
scattering("scatter_add", total, "arith")

local reduces <const> = {
  sum = total, prod = function(a, b) return a * b end,
  amax = math.max, amin = math.min,
}
ops.scatter_reduce = {
  draw = function(d)
    local x, a, dim, index, shape = draw_gather(d, {kind = "arith",
      tame = true})
    if not x then return nil end
    return {x, dim, index, d:tensor {shape = shape, dtype = a.dtype,
      tame = true}, d:pick {"sum", "prod", "amax", "amin"}, d:chance(0.5)}
  end,
  run = function(x, dim, index, source, reduce, include)
    local seen, f = {}, reduces[reduce]
    x, source = as_number(x), as_number(source)
    return scatter(x, dim, index, source, function(old, v, place)
      if not include and not seen[place] then
        seen[place] = true
        return v
      end
      return f(old, v)
    end)
  end,
}

-- -- several indices ---------------------------------------------------------

-- Draws positions of one shape in one or two neighbouring dimensions from the
-- first.
local function draw_several(d, o)
  local x = d:tensor {ndim = 1, kind = o and o.kind, tame = true,
    fits = not_empty}
  local a = d:array(x)
  local shape, list, dims = {d:int(0, 3)}, {}, {}
  for k = 1, d:int(1, math.min(2, #a.shape)) do
    list[k], dims[k] = d:positions(shape, a.shape[k], true), k
  end
  return x, a, list, dims, shape
end
local function taken_shape(x, list)
  local shape = copy_of(list[1].shape)
  table.move(x.shape, #list + 1, #x.shape, #shape + 1, shape)
  return shape
end
-- Where in x the element of the result is.
local function source_of(x, list, at)
  local from, n = {}, #list[1].shape
  local key = {table.unpack(at, 1, n)}
  for k, index in ipairs(list) do
    from[k] = position(index:get(key), x.shape[k])
  end
  table.move(at, n + 1, #at, #from + 1, from)
  return from
end
ops.index = {
  draw = function(d)
    local x, _, list, dims = draw_several(d)
    return {x, list, dims}
  end,
  run = function(x, list)
    return array.make(x.dtype, taken_shape(x, list), function(at)
      return x:get(source_of(x, list, at))
    end)
  end,
}
local function putting(name, put, kind)
  ops[name] = {
    draw = function(d)
      local x, a, list, dims = draw_several(d, {kind = kind})
      local arrays = {}
      for k, ref in ipairs(list) do arrays[k] = d:array(ref) end
      local shape = d:under(taken_shape(a, arrays))
      return {x, d:tensor {shape = shape, dtype = a.dtype, tame = true}, list,
        dims}
    end,
    run = function(x, value, list)
      local y = kind and as_number(x) or x:to(x.dtype)
      local shape = taken_shape(x, list)
      local joint = array.broadcast(shape, value.shape)
      refuse.unless(joint and array.same_shape(joint, shape))
      array.walk(shape, function(at)
        local place = y:place(source_of(x, list, at))
        y.store[place] = array.cast(put(y.store[place], value:get(at)),
          y.dtype)
      end)
      return y
    end,
  }
end
putting("index_put", second)
putting("index_put_add", total, "arith")

return {ops = ops}
