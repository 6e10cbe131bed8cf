--- matrices: small linear algebra, by determinants.

local array = require "spec.robust.program.array"
local views = require "spec.robust.program.reference.views"

local ops = {}

local copy_of <const> = views.copy_of

local function matrix(x)
  local m = {}
  for i = 1, x.shape[1] do
    m[i] = {}
    for j = 1, x.shape[2] do m[i][j] = x:get {i, j} end
  end
  return m
end

-- By the first row; of few enough rows.
local function determinant(m)
  if #m == 0 then return 1.0 end
  local sum = 0.0
  for j = 1, #m do
    local rest = {}
    for i = 2, #m do
      rest[i - 1] = copy_of(m[i])
      table.remove(rest[i - 1], j)
    end
    sum = sum + (j % 2 == 1 and 1 or -1) * m[1][j] * determinant(rest)
  end
  return sum
end

-- Cramer's rule: column k of m becomes the right side.
local function solve(m, right)
  local whole, x = determinant(m), {}
  for k = 1, #m do
    local with = {}
    for i = 1, #m do
      with[i] = copy_of(m[i])
      with[i][k] = right[i]
    end
    x[k] = determinant(with) / whole
  end
  return x
end

-- A matrix whose diagonal is so large that it is far from singular.
local function draw_matrix(d, o)
  local n, values = d:int(1, 3), {}
  for i = 1, n * n do
    values[i] = (math.random() - 0.5) * 2
    if (i - 1) % (n + 1) == 0 then values[i] = values[i] + 3 end
  end
  local dtype = d.smooth and "float64" or d:pick {"float32", "float64"}
  if o and o.symmetric then
    for i = 1, n do
      for j = 1, i - 1 do values[(i - 1) * n + j] = values[(j - 1) * n + i] end
    end
  end
  for i, v in ipairs(values) do values[i] = array.cast(v, dtype) end
  return d:add_leaf(dtype, {n, n}, values), n, dtype
end

ops.det = {
  draw = function(d) return {(draw_matrix(d))} end,
  run = function(x)
    return array.new(x.dtype, {}, {determinant(matrix(x))})
  end,
}
ops.slogdet = {
  draw = function(d) return {(draw_matrix(d))} end,
  run = function(x)
    local v = determinant(matrix(x))
    return array.new(x.dtype, {}, {v > 0 and 1 or v < 0 and -1 or 0}),
      array.new(x.dtype, {}, {math.log(math.abs(v))})
  end,
}
local function solution(a, b)
  local m, columns, wide = matrix(a), {}, #b.shape == 2
  for j = 1, wide and b.shape[2] or 1 do
    local right = {}
    for i = 1, #m do right[i] = b:get(wide and {i, j} or {i}) end
    columns[j] = solve(m, right)
  end
  return array.make(a.dtype, b.shape, function(index)
    return columns[index[2] or 1][index[1]]
  end)
end
ops.solve = {
  draw = function(d)
    local a, n, dtype = draw_matrix(d)
    return {a, d:tensor {dtype = dtype, shape = d:pick {{n}, {n, 2}},
      tame = true}}
  end,
  run = solution,
}
ops.inv = {
  draw = function(d) return {(draw_matrix(d))} end,
  run = function(x)
    return solution(x, array.make(x.dtype, x.shape, function(index)
      return index[1] == index[2]
    end))
  end,
}
ops.solve_triangular = {
  draw = function(d)
    local a, n, dtype = draw_matrix(d)
    return {a, d:tensor {dtype = dtype, shape = {n, 2}, tame = true},
      d:chance(0.5)}
  end,
  run = function(a, b, upper)
    return solution(array.make(a.dtype, a.shape, function(index)
      local own = index[1] == index[2] or (index[1] < index[2]) == upper
      return own and a:get(index) or 0
    end), b)
  end,
}
ops.cholesky = {
  rough = true, -- its gradient is that of a symmetric matrix
  draw = function(d)
    return {(draw_matrix(d, {symmetric = true})), d:chance(0.3)}
  end,
  run = function(x, upper)
    local m, l = matrix(x), {}
    for i = 1, #m do
      l[i] = {}
      for j = 1, i do
        local s = m[i][j]
        for k = 1, j - 1 do s = s - l[i][k] * l[j][k] end
        l[i][j] = i == j and math.sqrt(s) or s / l[j][j]
      end
    end
    return array.make(x.dtype, x.shape, function(index)
      local i, j = index[1], index[2]
      if upper then i, j = j, i end
      return j <= i and l[i][j] or 0
    end)
  end,
}

return {ops = ops}
