--- ops: the cases of tensor ops. Files count axes and places from 0.

local api = require "spec.support.golden.api"

local ops = {}

-- An axis of a file as heed counts it; nil stays nil.
local function axis(n)
  if n == nil then return nil end
  return n >= 0 and n + 1 or n
end

local function axes(list)
  local shifted = {}
  for i, n in ipairs(list) do shifted[i] = axis(n) end
  return shifted
end

-- Places: from the files' counting to heed's and back.
local function places(t) return t + 1 end
local function to_file(t) return t - 1 end

local function call(name, ...) return api.call(name, ...) end

for _, name in ipairs {
  "abs", "cos", "exp", "log", "neg", "rsqrt", "sigmoid", "sin", "sqrt",
  "tanh",
} do
  ops[name] = function(c) return {out = call(name, c.input.x)} end
end

for _, name in ipairs {"add", "sub", "mul", "div"} do
  ops[name] = function(c) return {out = call(name, c.input.a, c.input.b)} end
end

function ops.matmul(c)
  local a, b = c.input.a, c.input.b
  if c.stored.name:find("transposed") then
    a, b = a:transpose(), b:transpose()
  end
  return {out = call("matmul", a, b)}
end

-- The exponent in a result's name: p2, p05 (a half), pm1 (minus one).
local function exponent(name)
  local sign, digits = name:match("^p(m?)(%d+)$")
  local value = digits and tonumber((digits:gsub("^0(%d)", "0.%1")))
  return value and (sign == "m" and -value or value)
end

function ops.pow(c)
  local pow, a, results = api.need "pow", c.input.a, {}
  if c.input.b then return {out = pow(a, c.input.b)} end
  for name in pairs(c.wants) do
    local base = name:match("^base(%d+)$")
    results[name] = base and pow(tonumber(base), a) or pow(a, exponent(name))
  end
  return results
end

function ops.sigmoid_tanh(c)
  return {
    sigmoid = call("sigmoid", c.input.x), tanh = call("tanh", c.input.x),
  }
end

function ops.clamp(c)
  return {out = call("clamp", c.input.x, c.params.min, c.params.max)}
end

ops.clamp_min = ops.clamp

function ops.where(c)
  return {out = call("where", c.input.cond, c.input.a, c.input.b)}
end

function ops.masked_fill(c)
  return {out = call("masked_fill", c.input.x, c.input.mask, c.params.value)}
end

-- -- reductions --------------------------------------------------------------

-- What the name of a result says: `d02_keep` is over axes 0 and 2, kept as
-- size 1; `dlast` over the last one, `all` over all of them.
local function read_name(name)
  local digits = name:match("^d(%d+)")
  local dim = name:find("^dlast") and -1 or nil
  if digits then
    dim = {}
    for n in digits:gmatch("%d") do dim[#dim + 1] = axis(tonumber(n)) end
  end
  return dim, name:find("_keep") ~= nil
end

-- All results that the file has, by reduce(x, dim, keepdim).
local function over_axes(c, reduce)
  local results = {}
  for name in pairs(c.wants) do
    results[name] = reduce(c.input.x, read_name(name))
  end
  return results
end

for _, name in ipairs {"mean", "std", "prod", "logsumexp"} do
  ops[name] = function(c)
    local f = api.need(name)
    if c.wants.out then return {out = f(c.input.x, -1)} end -- of each row
    return over_axes(c, f)
  end
end

function ops.sum(c)
  local sum = api.need "sum"
  if c.wants.sum then
    return {sum = sum(c.input.x), mean = call("mean", c.input.x)}
  end
  return over_axes(c, sum)
end

function ops.var(c)
  local var = api.need "var"
  local correction = c.params.unbiased and 1 or 0
  return over_axes(c, function(x, dim, keepdim)
    return var(x, {dim = dim, keepdim = keepdim, correction = correction})
  end)
end

-- The order of a norm stands in words only.
function ops.norm(c)
  local norm = api.need "norm"
  local order = c.stored.what:match("norm(%w+)")
  local p = order == "inf" and math.huge or tonumber(order)
  return over_axes(c, function(x, dim, keepdim)
    return norm(x, {p = p, dim = dim, keepdim = keepdim})
  end)
end

local function extremes(name)
  return function(c)
    local f, results = api.need(name), {}
    for want in pairs(c.wants) do
      local values, index = f(c.input.x, read_name(want))
      results[want] = want:find("_index") and to_file(index) or values
    end
    return results
  end
end
ops.max, ops.min = extremes "max", extremes "min"

local function arg_extremes(name)
  return function(c)
    local f = api.need(name)
    return over_axes(c, function(...) return to_file(f(...)) end)
  end
end
ops.argmax, ops.argmin = arg_extremes "argmax", arg_extremes "argmin"

function ops.cumsum(c)
  local f = api.need "cumsum"
  return over_axes(c, function(x, dim) return f(x, dim[1]) end)
end

-- -- shapes ------------------------------------------------------------------

local function joined(name)
  return function(c)
    local i = c.input
    return {out = call(name, {i.a, i.b, i.c}, axis(c.params.dim))}
  end
end
ops.cat, ops.stack = joined "cat", joined "stack"

function ops.expand(c)
  return {out = call("expand", c.input.x, c.wants.out.shape)}
end

function ops.flip(c)
  return {out = call("flip", c.input.x, axes(c.params.dims))}
end

function ops.permute_reshape(c)
  return {out = call("reshape", call("permute", c.input.x, {3, 1, 2}),
    c.wants.out.shape)}
end

function ops.squeeze_unsqueeze(c)
  local x = c.input.x
  return {sq = call("squeeze", x), un = call("unsqueeze", x, -1)}
end

-- x[:, 1::2], transposed, times 2, as one row
function ops.view_ops_chain(c)
  local x = call("slice", c.input.x, 2, 2, -1, 2)
  return {out = call("reshape", call("transpose", x, 1, 2) * 2,
    c.wants.out.shape)}
end

function ops.split(c)
  local p = c.params
  local parts = call("split", c.input.x, p.size or p.sizes, axis(p.dim))
  local results = {}
  for i, part in ipairs(parts) do results["part" .. i - 1] = part end
  return results
end

function ops.tril_triu(c)
  local x, d = c.input.x, c.params.diagonal
  return {tril = call("tril", x, d), triu = call("triu", x, d)}
end

-- -- places ------------------------------------------------------------------

function ops.gather(c)
  return {out = call("gather", c.input.x, axis(c.params.dim),
    places(c.input.index))}
end

function ops.index_select(c)
  return {out = call("index_select", c.input.x, places(c.input.index),
    axis(c.params.dim))}
end

function ops.scatter_add(c)
  return {out = call("scatter_add", c.input.x, axis(c.params.dim),
    places(c.input.index), c.input.src)}
end

function ops.one_hot(c)
  return {out = call("functional.one_hot", places(c.input.ids),
    c.params.num_classes)}
end

function ops.sort(c)
  local values, indices = call("sort", c.input.x, axis(c.params.dim or -1),
    c.params.descending)
  return {values = values, indices = to_file(indices)}
end

function ops.topk(c)
  local values, indices = call("topk", c.input.x, c.params.k,
    axis(c.params.dim or -1), c.params.largest)
  return {values = values, indices = to_file(indices)}
end

function ops.einsum(c)
  return {out = call("einsum", c.params.equation, c.input.a, c.input.b)}
end

return ops
