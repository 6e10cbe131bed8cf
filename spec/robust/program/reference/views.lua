--- views: the same elements in another shape, and parts of them.

local array = require "spec.robust.program.array"
local refuse = require "spec.robust.program.refuse"

local ops = {}

-- A dimension from 1.
local function axis_of(k, n)
  refuse.unless(k ~= 0 and k <= n and k >= -n)
  return k < 0 and k + n + 1 or k
end

local function copy_of(t) return {table.unpack(t)} end

-- -- the same elements in another shape --------------------------------------

-- Strides that show x in another shape, or nil where it would need a copy:
-- runs of dimensions with as many elements are matched from the left, and
-- those of x must lie one behind the other.
local function strides_for(x, shape)
  local old, stride = {}, {}
  for k, size in ipairs(x.shape) do
    if size ~= 1 then
      old[#old + 1], stride[#stride + 1] = size, x.stride[k]
    end
  end
  local fresh, i, j = {}, 1, 1
  while i <= #old do
    local last, next = i, j
    local n, m = old[i], shape[j]
    while n ~= m do
      if m < n then
        next = next + 1
        m = m * shape[next]
      else
        last = last + 1
        n = n * old[last]
      end
    end
    for k = i, last - 1 do
      if stride[k] ~= old[k + 1] * stride[k + 1] then return nil end
    end
    local step = stride[last]
    for k = next, j, -1 do
      fresh[k] = step
      step = step * shape[k]
    end
    i, j = last + 1, next + 1
  end
  for k = j, #shape do fresh[k] = 1 end
  return fresh
end

local function complete(x, shape)
  shape = copy_of(shape)
  local known, open = 1, nil
  for k, size in ipairs(shape) do
    if size == -1 then
      refuse.unless(not open)
      open = k
    else
      known = known * size
    end
  end
  if open then
    refuse.unless(known > 0 and x:count() % known == 0)
    shape[open] = x:count() // known
  end
  refuse.unless(array.count(shape) == x:count())
  return shape
end

local function seen_as(x, shape)
  if x:count() == 0 then return x:with(shape, array.dense(shape)) end
  local stride = strides_for(x, shape)
  return stride and x:with(shape, stride)
end

local function reshape(x, shape)
  shape = complete(x, shape)
  return seen_as(x, shape) or array.new(x.dtype, shape, x:values())
end

-- Another shape of as many elements.
local function other_shape(d, n)
  if n == 0 then return d:pick {{0}, {2, 0}, {0, 1, 3}} end
  local shape = {}
  while n > 1 and #shape < 3 and d:chance(0.8) do
    local divisors = {}
    for k = 1, n do
      if n % k == 0 then divisors[#divisors + 1] = k end
    end
    local size = d:pick(divisors)
    shape[#shape + 1], n = size, n // size
  end
  shape[#shape + 1] = n
  if d:chance(0.2) then table.insert(shape, d:int(1, #shape + 1), 1) end
  if d:chance(0.2) then shape[d:int(1, #shape)] = -1 end
  return shape
end

local function draw_reshape(d)
  local x = d:tensor {}
  return {x, other_shape(d, d:array(x):count())}
end
ops.reshape = {draw = draw_reshape, run = reshape}
ops.view = {draw = draw_reshape, run = function(x, shape)
  local y = seen_as(x, complete(x, shape))
  refuse.unless(y)
  return y
end}

ops.flatten = {
  draw = function(d)
    local x = d:tensor {ndim = 1}
    local n = #d:array(x).shape
    local first = d:int(1, n)
    return {x, first, d:int(first, n)}
  end,
  run = function(x, first, last)
    local shape = {table.unpack(x.shape, 1, first - 1)}
    local n = 1
    for k = first, last do n = n * x.shape[k] end
    shape[#shape + 1] = n
    table.move(x.shape, last + 1, #x.shape, #shape + 1, shape)
    return reshape(x, shape)
  end,
}

-- -- views -------------------------------------------------------------------

ops.permute = {
  draw = function(d)
    local x = d:tensor {ndim = 1}
    local n, dims = #d:array(x).shape, {}
    for k = 1, n do table.insert(dims, d:int(1, k), k) end
    if d:chance(0.3) then dims[1] = dims[1] - n - 1 end
    return {x, dims}
  end,
  run = function(x, dims)
    local shape, stride = {}, {}
    for i, k in ipairs(dims) do
      k = axis_of(k, #x.shape)
      shape[i], stride[i] = x.shape[k], x.stride[k]
    end
    return x:with(shape, stride)
  end,
}
ops.transpose = {
  draw = function(d)
    local x = d:tensor {ndim = 2}
    local a = d:array(x)
    return {x, d:axis(a), d:axis(a)}
  end,
  run = function(x, p, q)
    local n = #x.shape
    local dims = {}
    for k = 1, n do dims[k] = k end
    p, q = axis_of(p, n), axis_of(q, n)
    dims[p], dims[q] = dims[q], dims[p]
    return ops.permute.run(x, dims)
  end,
}
ops.expand = {
  draw = function(d)
    local x = d:tensor {}
    local shape = copy_of(d:array(x).shape)
    for k, size in ipairs(shape) do
      if size == 1 then shape[k] = d:int(1, 3) end
    end
    if #shape < 4 and d:chance(0.3) then table.insert(shape, 1, d:int(1, 3)) end
    return {x, shape}
  end,
  run = function(x, shape)
    local joint = array.broadcast(x.shape, shape)
    refuse.unless(joint and array.same_shape(joint, shape))
    local stride, more = {}, #shape - #x.shape
    for k = 1, #shape do
      local own = x.shape[k - more]
      stride[k] = own == shape[k] and x.stride[k - more] or 0
    end
    return x:with(shape, stride)
  end,
}
ops.squeeze = {
  draw = function(d)
    local x = d:tensor {}
    return {x, d:axes(d:array(x))}
  end,
  run = function(x, dims)
    local on, shape, stride = {}, {}, {}
    if type(dims) == "number" then dims = {dims} end
    for _, k in ipairs(dims or {}) do on[axis_of(k, #x.shape)] = true end
    for k, size in ipairs(x.shape) do
      if size ~= 1 or dims and not on[k] then
        shape[#shape + 1], stride[#stride + 1] = size, x.stride[k]
      end
    end
    return x:with(shape, stride)
  end,
}
ops.unsqueeze = {
  draw = function(d)
    local x = d:tensor {}
    local n = #d:array(x).shape + 1
    local k = d:int(1, n)
    return {x, d:chance(0.4) and k - n - 1 or k}
  end,
  run = function(x, dim)
    local shape, stride = copy_of(x.shape), copy_of(x.stride)
    dim = axis_of(dim, #shape + 1)
    table.insert(shape, dim, 1)
    table.insert(stride, dim, 1)
    return x:with(shape, stride)
  end,
}

ops.slice = {
  draw = function(d)
    local x = d:tensor {ndim = 1, fits = function(a)
      return math.min(table.unpack(a.shape)) > 0
    end}
    local dim = d:axis(d:array(x))
    local n = d:array(x).shape[axis_of(dim, #d:array(x).shape)]
    if n == 0 then return nil end
    local first, last = d:int(1, n), d:int(1, n)
    if d:chance(0.3) then first = first - n - 1 end
    if d:chance(0.3) then last = last - n - 1 end
    return {x, dim, first, last, d:pick {1, 1, 2, 3, -1, -2}}
  end,
  run = function(x, dim, first, last, step)
    local shape, stride = copy_of(x.shape), copy_of(x.stride)
    dim = axis_of(dim, #shape)
    first, last = axis_of(first, shape[dim]), axis_of(last, shape[dim])
    local offset = x.offset + (first - 1) * stride[dim]
    shape[dim] = math.max((last - first) // step + 1, 0)
    stride[dim] = stride[dim] * step
    return x:with(shape, stride, offset)
  end,
}
ops.select = {
  draw = function(d)
    local x = d:tensor {ndim = 1, fits = function(a)
      return math.min(table.unpack(a.shape)) > 0
    end}
    local dim = d:axis(d:array(x))
    local n = d:array(x).shape[axis_of(dim, #d:array(x).shape)]
    if n == 0 then return nil end
    local k = d:int(1, n)
    return {x, dim, d:chance(0.3) and k - n - 1 or k}
  end,
  run = function(x, dim, k)
    local shape, stride = copy_of(x.shape), copy_of(x.stride)
    dim = axis_of(dim, #shape)
    k = axis_of(k, shape[dim])
    local offset = x.offset + (k - 1) * stride[dim]
    table.remove(shape, dim)
    table.remove(stride, dim)
    return x:with(shape, stride, offset)
  end,
}
ops.unfold = {
  draw = function(d)
    local x = d:tensor {ndim = 1, fits = function(a)
      return math.min(table.unpack(a.shape)) > 0 and #a.shape < 5
    end}
    local dim = d:axis(d:array(x))
    local n = d:array(x).shape[axis_of(dim, #d:array(x).shape)]
    if n == 0 then return nil end
    return {x, dim, d:int(1, n), d:int(1, 3)}
  end,
  run = function(x, dim, size, step)
    local shape, stride = copy_of(x.shape), copy_of(x.stride)
    dim = axis_of(dim, #shape)
    local n = shape[dim]
    refuse.unless(size >= 1 and size <= n)
    shape[dim] = (n - size) // step + 1
    shape[#shape + 1], stride[#stride + 1] = size, stride[dim]
    stride[dim] = stride[dim] * step
    return x:with(shape, stride)
  end,
}
ops.diagonal = {
  draw = function(d)
    local x = d:tensor {ndim = 2}
    local a = d:array(x)
    local p = d:axis(a)
    local q
    repeat q = d:axis(a) until (q - p) % #a.shape ~= 0 and
      axis_of(p, #a.shape) ~= axis_of(q, #a.shape)
    return {x, d:int(-2, 2), p, q}
  end,
  run = function(x, offset, p, q)
    local n = #x.shape
    p, q = axis_of(p, n), axis_of(q, n)
    refuse.unless(p ~= q)
    local rows, columns = x.shape[p], x.shape[q]
    local down, right = math.max(-offset, 0), math.max(offset, 0)
    local size = math.max(math.min(rows - down, columns - right), 0)
    local shape, stride = {}, {}
    for k = 1, n do
      if k ~= p and k ~= q then
        shape[#shape + 1], stride[#stride + 1] = x.shape[k], x.stride[k]
      end
    end
    shape[#shape + 1] = size
    stride[#stride + 1] = x.stride[p] + x.stride[q]
    return x:with(shape, stride, size == 0 and x.offset or
      x.offset + down * x.stride[p] + right * x.stride[q])
  end,
}

-- -- heads -------------------------------------------------------------------

-- n projections of all heads, one behind the other in the last dimension.
local function split(n)
  return {
    draw = function(d)
      local heads = d:int(1, 2)
      local shape = {d:int(1, 2), d:int(1, 3), n * heads * d:int(1, 2)}
      return {d:tensor {shape = shape, kind = "only_float"}, heads}
    end,
    run = function(x, heads)
      local B, T, W = table.unpack(x.shape)
      local D = W // (n * heads)
      local parts = {}
      if array.ranks[x.dtype] == 5 then x = x:to "float32" end
      for i = 1, n do
        local stride = {x.stride[1], x.stride[3] * D, x.stride[2], x.stride[3]}
        parts[i] = x:with({B, heads, T, D}, stride,
          x.offset + (i - 1) * heads * D * x.stride[3])
      end
      return table.unpack(parts)
    end,
  }
end
ops.split_heads, ops.split_kv, ops.split_qkv = split(1), split(2), split(3)

return {ops = ops, axis_of = axis_of, copy_of = copy_of}
