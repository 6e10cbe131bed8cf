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

for _, name in ipairs {"add", "sub", "mul", "div", "matmul"} do
  ops[name] = function(c) return {out = call(name, c.input.a, c.input.b)} end
end

function ops.pow(c)
  local pow, a = api.need "pow", c.input.a
  if c.input.b then return {out = pow(a, c.input.b)} end
  return {
    p0 = pow(a, 0), p2 = pow(a, 2), p3 = pow(a, 3), p05 = pow(a, 0.5),
    pm1 = pow(a, -1), base2 = pow(2, a),
  }
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

-- Results over axis 1, the last one kept, (0, 2) and all, as far as the file
-- has them.
local function over_axes(c, reduce)
  local x, results = c.input.x, {}
  local function add(name, ...)
    if c.wants[name] then results[name] = reduce(x, ...) end
  end
  add("d1", 2, false)
  add("dlast_keep", -1, true)
  add("d02", {1, 3}, false)
  add("all")
  return results
end

for _, name in ipairs {"mean", "std", "prod", "logsumexp"} do
  ops[name] = function(c) return over_axes(c, api.need(name)) end
end

local plain_logsumexp <const> = ops.logsumexp
function ops.logsumexp(c)
  if not c.wants.out then return plain_logsumexp(c) end
  return {out = call("logsumexp", c.input.x, -1)}
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

-- The order of a norm stands in the case's name only.
function ops.norm(c)
  local order = c.stored.name:match("norm(%w+)$")
  local norm = api.need "norm"
  local p = order == "inf" and math.huge or tonumber(order)
  return over_axes(c, function(x, dim, keepdim)
    return norm(x, {p = p, dim = dim, keepdim = keepdim})
  end)
end

local function extremes(name)
  return function(c)
    local f, x = api.need(name), c.input.x
    local d1, d1_index = f(x, 2)
    local last, last_index = f(x, -1, true)
    return {
      d1 = d1, d1_index = to_file(d1_index), dlast_keep = last,
      dlast_keep_index = to_file(last_index), all = (f(x)),
    }
  end
end
ops.max, ops.min = extremes "max", extremes "min"

local function arg_extremes(name)
  return function(c)
    local f, x = api.need(name), c.input.x
    return {
      d0 = to_file(f(x, 1)), dlast = to_file(f(x, -1)), all = to_file(f(x)),
    }
  end
end
ops.argmax, ops.argmin = arg_extremes "argmax", arg_extremes "argmin"

function ops.cumsum(c)
  local f, x = api.need "cumsum", c.input.x
  return {d0 = f(x, 1), d1 = f(x, 2), d2 = f(x, 3)}
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
  return {out = call("expand", c.input.x, {5, 2, 3, 4})}
end

function ops.flip(c)
  return {out = call("flip", c.input.x, axes(c.params.dims))}
end

function ops.permute_reshape(c)
  return {out = call("reshape", call("permute", c.input.x, {3, 1, 2}),
    {4, 6})}
end

function ops.squeeze_unsqueeze(c)
  local x = c.input.x
  return {sq = call("squeeze", x, 2), un = call("unsqueeze", x, -1)}
end

-- x[:, 1::2], transposed, times 2, as one row
function ops.view_ops_chain(c)
  local x = call("slice", c.input.x, 2, 2, -1, 2)
  return {out = call("reshape", call("transpose", x, 1, 2) * 2, {9})}
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
