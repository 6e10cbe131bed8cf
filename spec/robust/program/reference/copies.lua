--- copies: in another dtype or order, joined of several, made of nothing.

local array = require "spec.robust.program.array"
local refuse = require "spec.robust.program.refuse"
local views = require "spec.robust.program.reference.views"

local ops = {}

local axis_of <const>, copy_of <const> = views.axis_of, views.copy_of

-- -- copies ------------------------------------------------------------------

local function any(d) return {d:tensor {}} end

ops.clone = {draw = any, run = function(x) return x:to(x.dtype) end}
ops.contiguous = {draw = any, run = function(x)
  if x:is_dense() then return x:with(x.shape, x.stride) end
  return x:to(x.dtype)
end}
ops.detach = {rough = true, draw = any, run = function(x)
  return x:with(x.shape, x.stride)
end}
ops.to = {
  rough = true,
  draw = function(d) return {d:tensor {}, d:dtype()} end,
  run = function(x, dtype)
    if x.dtype == dtype then return x:with(x.shape, x.stride) end
    return x:to(dtype)
  end,
}

local function writable(d)
  return d:tensor {fits = function(a)
    return not a.store or not a:overlaps()
  end}
end

ops.copy_ = {
  in_place = true,
  draw = function(d)
    local x = writable(d)
    local a = d:array(x)
    if d:chance(0.2) then return {x, a.dtype == "bool" or 3} end
    return {x, d:tensor {shape = d:under(a.shape)}}
  end,
  run = function(x, from)
    refuse.unless(not x:overlaps())
    if array.is(from) then
      local shape = array.broadcast(x.shape, from.shape)
      refuse.unless(shape and array.same_shape(shape, x.shape))
    end
    x:write(array.make(x.dtype, x.shape, function(index)
      if not array.is(from) then return from end
      return from:get(index)
    end))
    return x
  end,
}
ops.fill_ = {
  in_place = true,
  draw = function(d)
    local x = writable(d)
    local a = d:array(x)
    return {x, a.dtype == "bool" and d:chance(0.5) or a:is_float() and
      d:pick {0.5, -2, 1e5} or d:int(0, 200)}
  end,
  run = function(x, value)
    refuse.unless(not x:overlaps())
    x:write(array.make(x.dtype, x.shape, function() return value end))
    return x
  end,
}

-- -- new arrays of elements of others ----------------------------------------

ops.flip = {
  draw = function(d)
    local x = d:tensor {}
    return {x, d:axes(d:array(x))}
  end,
  run = function(x, dims)
    local on = {}
    if type(dims) == "number" then dims = {dims} end
    for _, k in ipairs(dims or {}) do on[axis_of(k, #x.shape)] = true end
    return array.make(x.dtype, x.shape, function(index)
      local at = copy_of(index)
      for k = 1, #at do
        if not dims or on[k] then at[k] = x.shape[k] + 1 - at[k] end
      end
      return x:get(at)
    end)
  end,
}

ops.cat = {
  draw = function(d)
    local x = d:tensor {ndim = 1}
    local a, list = d:array(x), {x}
    local dim = d:axis(a)
    for i = 2, d:int(1, 3) do
      local shape = copy_of(a.shape)
      shape[axis_of(dim, #shape)] = d:int(0, 3)
      list[i] = d:tensor {dtype = a.dtype, shape = shape}
    end
    return {list, dim}
  end,
  run = function(list, dim)
    local shape = copy_of(list[1].shape)
    dim = axis_of(dim, #shape)
    shape[dim] = 0
    for _, x in ipairs(list) do shape[dim] = shape[dim] + x.shape[dim] end
    return array.make(list[1].dtype, shape, function(index)
      local at, i = copy_of(index), 1
      while at[dim] > list[i].shape[dim] do
        at[dim] = at[dim] - list[i].shape[dim]
        i = i + 1
      end
      return list[i]:get(at)
    end)
  end,
}
ops.stack = {
  draw = function(d)
    local x = d:tensor {}
    local a, list = d:array(x), {x}
    for i = 2, d:int(1, 3) do
      list[i] = d:tensor {dtype = a.dtype, shape = a.shape}
    end
    local n = #a.shape + 1
    return {list, d:int(1, n) - (d:chance(0.4) and n + 1 or 0)}
  end,
  run = function(list, dim)
    local shape = copy_of(list[1].shape)
    dim = axis_of(dim, #shape + 1)
    table.insert(shape, dim, #list)
    return array.make(list[1].dtype, shape, function(index)
      local at = copy_of(index)
      return list[table.remove(at, dim)]:get(at)
    end)
  end,
}

ops.diag_embed = {
  draw = function(d)
    local x = d:tensor {ndim = 1}
    return {x, d:int(-1, 1)}
  end,
  run = function(x, offset)
    local shape = copy_of(x.shape)
    local n = table.remove(shape) + math.abs(offset)
    shape[#shape + 1], shape[#shape + 2] = n, n
    local down, right = math.max(-offset, 0), math.max(offset, 0)
    return array.make(x.dtype, shape, function(index)
      local at = copy_of(index)
      local j, i = table.remove(at), table.remove(at)
      if j - i ~= offset then return 0 end
      at[#at + 1] = i - down
      return offset >= 0 and j - right == at[#at] and x:get(at) or
        offset < 0 and x:get(at) or 0
    end)
  end,
}
local function triangle(keep)
  return {
    draw = function(d) return {d:tensor {ndim = 2}, d:int(-2, 2)} end,
    run = function(x, diagonal)
      return array.make(x.dtype, x.shape, function(index)
        local n = #index
        return keep(index[n] - index[n - 1], diagonal) and x:get(index) or 0
      end)
    end,
  }
end
ops.tril = triangle(function(j, d) return j <= d end)
ops.triu = triangle(function(j, d) return j >= d end)

-- -- from nothing ------------------------------------------------------------

local function filled(value)
  return {
    draw = function(d) return {d:shape(0), d:dtype()} end,
    run = function(shape, dtype)
      return array.make(dtype, shape, function() return value end)
    end,
  }
end
ops.zeros, ops.ones = filled(0), filled(1)
ops.full = {
  rough = true,
  draw = function(d)
    local dtype = d:dtype()
    return {d:shape(0), dtype == "bool" or d:int(0, 9), dtype}
  end,
  run = function(shape, value, dtype)
    return array.make(dtype, shape, function() return value end)
  end,
}
ops.eye = {
  draw = function(d) return {d:int(0, 4), d:int(0, 4), d:dtype()} end,
  run = function(n, m, dtype)
    return array.make(dtype, {n, m}, function(index)
      return index[1] == index[2]
    end)
  end,
}
ops.arange = {
  rough = true,
  draw = function(d)
    local dtype = d:dtype "arith"
    return {dtype == "uint8" and 0 or d:int(-4, 4), d:int(4, 9), d:int(1, 3),
      dtype}
  end,
  run = function(first, last, step, dtype)
    local values = {}
    for v = first, last, step do values[#values + 1] = v end
    return array.new(dtype, {#values}, values)
  end,
}
ops.linspace = {
  draw = function(d)
    return {d:int(-4, 4), d:int(-4, 9), d:int(0, 6), d:dtype("only_float")}
  end,
  run = function(first, last, steps, dtype)
    return array.make(dtype, {steps}, function(_, i)
      return steps == 1 and first or
        first + (last - first) * (i - 1) / (steps - 1)
    end)
  end,
}

return {ops = ops}
