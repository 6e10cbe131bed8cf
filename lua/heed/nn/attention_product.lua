--- The two products of attention, on the paths that hold all weights.
--
-- A key that a query may not attend to has a weight of 0, and so has what goes
-- back to its score; but 0 * NaN is NaN. Where keys or values are finite the
-- products are plain ones, else such factors shut out what they meet.

local autograd = require "heed.autograd"
local core = require "heed.core"

local ops <const> = core.ops

local product = {}

local function turn(t) return ops.transpose(t, -1, -2) end

--- Whether no element is NaN or infinite.
function product.finite(t) return ops.all(ops.isfinite(t)):item() end

-- a b, but 0 for 0 * NaN and 0 * inf, where the 0 is in a: the plain product
-- stands only where a number of b that is not finite meets another one.
local function shut(a, b)
  local bad = ops.logical_not(ops.isfinite(b))
  local met = ops.matmul(ops.to(ops.ne(a, 0), a.dtype), ops.to(bad, a.dtype))
  return ops.where(ops.gt(met, 0), ops.matmul(a, b),
    ops.matmul(a, ops.where(bad, 0, b)))
end

-- Scores: what goes back is 0 for keys that are not attended to.
local score = autograd.Function {
  name = "scores",
  forward = function(ctx, q, k)
    ctx:save(q, k)
    return ops.matmul(q, k)
  end,
  backward = function(ctx, g)
    local q, k = ctx:saved()
    return shut(g, turn(k)), ops.matmul(turn(q), g)
  end,
}

-- Means of the values: the weights are 0.
local weigh = autograd.Function {
  name = "weighted values",
  forward = function(ctx, w, v)
    ctx:save(w, v)
    return shut(w, v)
  end,
  backward = function(ctx, g)
    local w, v = ctx:saved()
    local back = ops.matmul(g, turn(v))
    return ops.where(ops.eq(w, 0), 0, back), ops.matmul(turn(w), g)
  end,
}

-- f(a, b) where each head of b serves several of a: a [.. H M K],
-- b [.. Hk K N].
local function grouped(f, a, b)
  local heads, shared = a:size(-3), b:size(-3)
  if heads == shared then return f(a, b) end
  local shape = a.shape
  local n, rows = #shape, shape[#shape - 1]
  shape[n - 2], shape[n - 1] = shared, heads // shared * rows
  local y = f(ops.reshape(a, shape), b)
  shape[n - 2], shape[n - 1], shape[n] = heads, rows, b:size(-1)
  return ops.reshape(y, shape)
end

--- q k^T.
-- @param q tensor [.. H Tq D]
-- @param k tensor [.. Hk Tk D]
-- @tparam boolean finite whether k is
-- @return tensor [.. H Tq Tk]
function product.scores(q, k, finite)
  return grouped(finite and ops.matmul or score, q, turn(k))
end

--- w v.
-- @param w tensor [.. H Tq Tk]
-- @param v tensor [.. Hk Tk Dv]
-- @return tensor [.. H Tq Dv]
function product.values(w, v)
  return grouped(product.finite(v) and ops.matmul or weigh, w, v)
end

return product
