--- products: of matrices and of queries and keys, by their definitions.

local array = require "spec.robust.program.array"
local reductions = require "spec.robust.program.reference.reductions"
local refuse = require "spec.robust.program.refuse"
local views = require "spec.robust.program.reference.views"

local ops = {}

local copy_of <const> = views.copy_of

-- The dtype that two floats meet in.
local function meet(a, b)
  refuse.unless(a:is_float() and b:is_float())
  return (a.dtype == "float64" or b.dtype == "float64") and "float64" or
    "float32"
end

-- -- products ----------------------------------------------------------------

-- Two arrays of one float dtype; halves are read as float32, of which both
-- must be.
local function draw_two(d, first, second)
  local dtype = d.smooth and "float64" or d:pick {"float32", "float64"}
  return d:tensor {dtype = dtype, shape = first, tame = true},
    d:tensor {dtype = dtype, shape = second, tame = true}
end

local function matmul(a, b)
  local p, q = copy_of(a.shape), copy_of(b.shape)
  local row, column = #p == 1, #q == 1
  if row then table.insert(p, 1, 1) end
  if column then q[2] = 1 end
  local inner, n, m = p[#p], p[#p - 1], q[#q]
  refuse.unless(inner == q[#q - 1])
  local batch = array.broadcast({table.unpack(p, 1, #p - 2)},
    {table.unpack(q, 1, #q - 2)})
  refuse.unless(batch)
  local shape = copy_of(batch)
  if not row then shape[#shape + 1] = n end
  if not column then shape[#shape + 1] = m end
  return array.make(meet(a, b), shape, function(index)
    local at = copy_of(index)
    local j = not column and table.remove(at) or nil
    local i = not row and table.remove(at) or nil
    local left, right, s = copy_of(at), copy_of(at), 0.0
    if i then left[#left + 1] = i end
    for k = 1, inner do
      left[#at + (i and 2 or 1)] = k
      right[#at + 1], right[#at + 2] = k, j
      -- a vector has no batch: its place is found from the end
      s = s + a:get(row and {k} or left) * b:get(column and {k} or right)
    end
    return s
  end)
end

ops.matmul = {
  draw = function(d)
    local n, k, m = d:int(0, 3), d:int(0, 4), d:int(1, 3)
    if d.smooth then n, k = math.max(n, 1), math.max(k, 1) end
    local first, second = d:pick {{k}, {n, k}, {2, n, k}, {2, 1, n, k}},
      d:pick {{k}, {k, m}, {2, k, m}, {1, k, m}}
    return {draw_two(d, first, second)}
  end,
  run = matmul,
}
local function product(name, shapes_of)
  ops[name] = {
    draw = function(d)
      local n, k, m = d:int(0, 3), d:int(0, 4), d:int(1, 3)
      if d.smooth then n, k = math.max(n, 1), math.max(k, 1) end
      return {draw_two(d, shapes_of(n, k, m))}
    end,
    run = matmul,
  }
end
product("mm", function(n, k, m) return {n, k}, {k, m} end)
product("mv", function(n, k) return {n, k}, {k} end)
product("dot", function(_, k) return {k}, {k} end)
product("bmm", function(n, k, m) return {2, n, k}, {2, k, m} end)

local function added(name, batch)
  ops[name] = {
    draw = function(d)
      local n, k, m = d:int(1, 3), d:int(1, 4), d:int(1, 3)
      local a, b = draw_two(d, batch and {2, n, k} or {n, k},
        batch and {2, k, m} or {k, m})
      local x = d:tensor {dtype = d:array(a).dtype, tame = true,
        shape = d:under(batch and {2, n, m} or {n, m})}
      return {x, a, b, d:pick {0.5, 1, -2}, d:pick {1, -1.5}}
    end,
    run = function(x, a, b, beta, alpha)
      local y = matmul(a, b)
      return array.make(y.dtype, y.shape, function(index)
        return beta * x:get(index) + alpha * y:get(index)
      end)
    end,
  }
end
added("addmm", false)
added("baddbmm", true)

ops.linear = {
  draw = function(d)
    local n, k, m = d:int(1, 3), d:int(1, 4), d:int(1, 3)
    local x, w = draw_two(d, d:pick {{n, k}, {k}, {2, n, k}}, {m, k})
    if d:chance(0.4) then return {x, w} end
    return {x, w, d:tensor {dtype = d:array(x).dtype, shape = {m},
      tame = true}}
  end,
  run = function(x, w, bias)
    local y = matmul(x, w:with({w.shape[2], w.shape[1]},
      {w.stride[2], w.stride[1]}))
    if not bias then return y end
    return array.make(y.dtype, y.shape, function(index)
      return y:get(index) + bias:get {index[#index]}
    end)
  end,
}

ops.cdist = {
  draw = function(d)
    local n, m, k = d:int(1, 3), d:int(1, 3), d:int(1, 3)
    local a, b = draw_two(d, {n, k}, {m, k})
    return {a, b, d:pick {1, 2, 3, math.huge}}
  end,
  run = function(a, b, p)
    return array.make(meet(a, b), {a.shape[1], b.shape[1]}, function(index)
      local s, most = 0.0, 0.0
      for k = 1, a.shape[2] do
        local v = math.abs(a:get {index[1], k} - b:get {index[2], k})
        s, most = s + v ^ p, math.max(most, v)
      end
      return p == math.huge and most or s ^ (1 / p)
    end)
  end,
}

-- -- linear attention --------------------------------------------------------

local function draw_attention(d)
  local T, D, Dv = d:int(1, 3), d:int(1, 3), d:int(1, 2)
  local q, k = draw_two(d, {2, T, D}, {2, T, D})
  return q, k, d:tensor {dtype = d:array(q).dtype, shape = {2, T, Dv},
    tame = true}
end

-- The sum over the keys that a row sees of (f(q) . f(k)) v; with `weights`,
-- divided by the sum of the products and eps.
local function attend(q, k, v, f, sees, eps)
  return array.make(q.dtype, v.shape, function(index)
    local b, i, c = table.unpack(index)
    local sum, total = 0.0, eps or 0
    for j = 1, k.shape[2] do
      if sees(i, j) then
        local w = 0.0
        for h = 1, q.shape[3] do
          w = w + f(q:get {b, i, h}) * f(k:get {b, j, h})
        end
        sum, total = sum + w * v:get {b, j, c}, total + w
      end
    end
    return eps and sum / total or sum
  end)
end
ops.causal_product = {
  draw = function(d)
    local q, k, v = draw_attention(d)
    return {q, k, v, d:chance(0.5)}
  end,
  run = function(q, k, v, reverse)
    return attend(q, k, v, function(x) return x end, function(i, j)
      return reverse and j >= i or not reverse and j <= i
    end)
  end,
}
ops.linear_attention = {
  draw = function(d)
    local q, k, v = draw_attention(d)
    return {q, k, v, 1e-6, d:chance(0.5)}
  end,
  run = function(q, k, v, eps, causal)
    return attend(q, k, v, function(x)
      return x > 0 and x + 1 or math.exp(x)
    end, function(i, j) return not causal or j <= i end, eps)
  end,
}
ops.additive_scores = {
  draw = function(d)
    local q, k = draw_two(d, {2, d:int(1, 3), 3}, {2, d:int(1, 3), 3})
    return {q, k, d:tensor {dtype = d:array(q).dtype, shape = {3},
      tame = true}}
  end,
  run = function(q, k, w)
    local shape = {2, q.shape[2], k.shape[2]}
    return array.make(q.dtype, shape, function(index)
      local b, i, j = table.unpack(index)
      local s = 0.0
      for h = 1, 3 do
        local e = math.exp(2 * (q:get {b, i, h} + k:get {b, j, h}))
        s = s + w:get {h} * (1 - 2 / (e + 1))
      end
      return s
    end)
  end,
}

-- -- lists of tensors --------------------------------------------------------

local function draw_list(d)
  local dtype, list = d.smooth and "float64" or d:pick {"float32", "float64"},
    {}
  for i = 1, d:int(1, 3) do
    list[i] = d:tensor {dtype = dtype, tame = true, fits = reductions.not_empty}
  end
  return list
end
ops.joint_norm = {
  rough = true,
  draw = function(d) return {draw_list(d), d:pick {1, 2, math.huge}} end,
  run = function(list, p)
    local s, most = 0.0, 0.0
    for _, x in ipairs(list) do
      for _, v in ipairs(x:values()) do
        s, most = s + math.abs(v) ^ p, math.max(most, math.abs(v))
      end
    end
    return array.new("float64", {}, {p == math.huge and most or
      s ^ (1 / p)})
  end,
}

return {ops = ops}
