--- Statistics out of other ops: all of these are functions of heed and methods
-- of tensors.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops
local fail <const> = check.fail

local statistics = {}

local function want_float(func, x)
  check.tensor(func, "x", x)
  if not x.dtype:find "float" then
    fail("%s: x must be a float tensor, got %s", func, check.show(x))
  end
end

-- -- extremes, means, order --------------------------------------------------

--- The smallest and the largest value over some or all dimensions, as `amin`
-- and `amax`.
-- @param x tensor
-- @param[opt] dim one dimension or a list; all by default
-- @param[opt] keepdim keep the reduced dimensions with size 1; false by default
-- @return tensor of the smallest values
-- @return tensor of the largest values
-- @raise when a dimension is out of range or there are no elements
-- @usage local low, high = heed.tensor {3, 1, 2}:aminmax() --> 1, 3
function statistics.aminmax(x, ...)
  return ops.amin(x, ...), (ops.amax(x, ...))
end

--- The mean of the elements that are not NaN; NaN where there are none.
-- @param x tensor; bools and integers are taken as float32
-- @param[opt] dim one dimension or a list; all by default
-- @param[opt] keepdim keep the reduced dimensions with size 1; false by default
-- @return tensor without the reduced dimensions
-- @raise when a dimension is out of range
-- @usage heed.tensor {1, 0 / 0, 2}:nanmean() --> 1.5
function statistics.nanmean(x, ...)
  check.tensor("nanmean", "x", x)
  local dim, keepdim = check.arguments("nanmean", {"dim", "keepdim"}, ...)
  keepdim = keepdim or false
  return ops.div(ops.nansum(x, dim, keepdim),
    ops.sum(ops.eq(x, x), dim, keepdim))
end

--- The positions that put the values along a dimension in order, as `sort`
-- gives them.
-- @param x tensor
-- @tparam[opt=-1] integer dim dimension
-- @tparam[opt=false] boolean descending from the greatest to the smallest?
-- @return int64 tensor of the shape of x
-- @raise when dim is out of range
-- @usage heed.tensor {3, 1, 2}:argsort() --> 2 3 1
function statistics.argsort(x, ...)
  local _, positions = ops.sort(x, ...)
  return positions
end

--- The values along the first dimension in order.
-- @param x tensor
-- @return tensor like x
-- @raise when x has no dimensions
-- @usage heed.tensor {{3, 1}, {2, 4}}:msort() --> 2 1, 3 4
function statistics.msort(x)
  local values = ops.sort(x, 1)
  return values
end

-- -- quantiles ---------------------------------------------------------------

-- From a position between two values to a position, or a part of the way from
-- the value below to that above.
local between <const> = {
  linear = function(part) return part end,
  lower = function() return 0 end,
  higher = function() return 1 end,
  midpoint = function() return 0.5 end,
  -- the even one of two that are equally near
  nearest = function(part, below)
    if part == 0.5 then return below % 2 end
    return part < 0.5 and 0 or 1
  end,
}

local function read_q(func, q)
  local list, single = q, type(q) == "number"
  if check.is_tensor(q) then
    if q.ndim > 1 then
      fail("%s: q must have at most one dimension, got %s", func,
        check.show(q))
    end
    single = q.ndim == 0
    list = single and {q:item()} or q:totable()
  elseif single then
    list = {q}
  end
  local n, problem = check.list(list, "number")
  if not n then fail("%s: q%s", func, problem) end
  for _, v in ipairs(list) do
    if not (v >= 0 and v <= 1) then
      fail("%s: q must be from 0 to 1, got %s", func, check.show(v))
    end
  end
  return list, single
end

-- The values of a sorted line at a number from 0, which may have a fraction.
local function value_at(sorted, dim, place, way)
  local below = place // 1 | 0
  local part = place - below
  local low = ops.select(sorted, dim, below + 1)
  part = part > 0 and way(part, below) or 0
  if part == 0 then return low end
  local high = ops.select(sorted, dim, below + 2)
  if part == 1 then return high end
  return ops.add(low, ops.mul(ops.sub(high, low), part))
end

-- The same where each line has its own count of numbers, with NaNs behind.
local function value_among(sorted, dim, count, q, way)
  local place = ops.clamp(ops.mul(ops.sub(count, 1), q), 0)
  local below = ops.floor(place)
  local part = ops.sub(place, below)
  local function at(position)
    local index = ops.to(ops.add(position, 1), "int64")
    return ops.gather(sorted, dim, index)
  end
  local low, high = at(below), at(ops.ceil(place))
  if way == between.linear then
    part = ops.to(part, sorted.dtype)
  elseif way == between.nearest then
    part = ops.to(ops.sub(ops.round(place), below), sorted.dtype)
  else
    part = ops.mul(ops.to(ops.gt(part, 0), sorted.dtype), way())
  end
  local value = ops.add(low, ops.mul(ops.sub(high, low), part))
  return ops.squeeze(ops.where(ops.eq(part, 0), low, value), dim)
end

local function quantiles(func, x, skip_nan, ...)
  want_float(func, x)
  local q, dim, keepdim, interpolation = check.arguments(func,
    {"q", "dim", "keepdim", "interpolation"}, ...)
  local list, single = read_q(func, q)
  interpolation = interpolation or "linear"
  local way = between[interpolation]
  if not way then
    fail("%s: interpolation must be one of %s, got %s", func,
      check.names(between), check.show(interpolation))
  end
  local flat = dim == nil and ops.reshape(x, -1) or x
  local axis = dim == nil and 1 or check.dim(func, x, dim)
  local n = flat.shape[axis]
  if n == 0 then
    fail("%s: x %s has no elements to choose from", func,
      check.shape(x.shape))
  end
  local sorted = ops.sort(flat, axis)
  local last = ops.select(sorted, axis, -1)
  local count = skip_nan and
    ops.to(ops.sum(ops.eq(flat, flat), axis, true), "float64")
  local values = {}
  for i, v in ipairs(list) do
    values[i] = skip_nan and value_among(sorted, axis, count, v, way) or
      ops.where(ops.isnan(last), last,
        value_at(sorted, axis, v * (n - 1), way))
    if keepdim and dim ~= nil then
      values[i] = ops.unsqueeze(values[i], axis)
    elseif keepdim then
      local ones = {}
      for d = 1, x.ndim do ones[d] = 1 end
      values[i] = ops.reshape(values[i], ones)
    end
  end
  return single and values[1] or ops.stack(values, 1)
end

--- The values below which a part q of the elements lie; NaN where there is one.
-- @param x float tensor
-- @param q number from 0 to 1, or a list or tensor (m) of them
-- @tparam[opt] integer dim dimension; all by default
-- @tparam[opt=false] boolean keepdim keep the reduced dimensions with size 1
-- @tparam[opt="linear"] string interpolation between two elements: `"linear"`,
-- `"lower"`, `"higher"`, `"midpoint"`, `"nearest"`
-- @return tensor without the reduced dimension; for several q with m in front
-- @raise when x is not float, q is out of range or there are no elements
-- @usage heed.tensor {1.0, 2.0, 4.0}:quantile({0.5, 0.75}) --> 2 3
function statistics.quantile(x, ...)
  return quantiles("quantile", x, false, ...)
end

--- As `quantile`, of the elements that are not NaN; NaN where there are none.
-- @param x float tensor
-- @param q number from 0 to 1, or a list or tensor (m) of them
-- @tparam[opt] integer dim dimension; all by default
-- @tparam[opt=false] boolean keepdim keep the reduced dimensions with size 1
-- @tparam[opt="linear"] string interpolation as for `quantile`
-- @return tensor without the reduced dimension; for several q with m in front
-- @raise when x is not float, q is out of range or there are no elements
-- @usage heed.tensor {1.0, 0 / 0, 4.0}:nanquantile(0.5) --> 2.5
function statistics.nanquantile(x, ...)
  return quantiles("nanquantile", x, true, ...)
end

-- -- differences and areas ---------------------------------------------------

-- Elements first .. last along a dimension, none when last is below first.
local function part(x, dim, first, last)
  local n = x.shape[dim]
  if n == 0 then return x end
  if last < first then first, last = n + 1, n end
  return ops.slice(x, dim, first, last)
end

--- The differences of neighbours along a dimension, n times.
-- @param x tensor; of bools: whether they differ
-- @tparam[opt=1] integer n how often
-- @tparam[opt=-1] integer dim dimension
-- @param[opt] prepend tensor, what stands before x
-- @param[opt] append tensor, what stands behind it
-- @return tensor, n shorter along the dimension
-- @raise when dim is out of range or n is negative
-- @usage heed.tensor {1, 4, 9}:diff() --> 3 5
function statistics.diff(x, ...)
  check.tensor("diff", "x", x)
  local n, dim, prepend, append = check.arguments("diff",
    {"n", "dim", "prepend", "append"}, ...)
  n = check.integer("diff", "n", n or 1, 0)
  dim = check.dim("diff", x, dim or -1)
  if prepend then
    x = ops.cat({check.tensor("diff", "prepend", prepend), x}, dim)
  end
  if append then
    x = ops.cat({x, check.tensor("diff", "append", append)}, dim)
  end
  -- more than there are elements changes nothing
  for _ = 1, math.min(n, x.shape[dim]) do
    local size = x.shape[dim]
    local minus = x.dtype == "bool" and ops.ne or ops.sub
    x = minus(part(x, dim, 2, size), part(x, dim, 1, size - 1))
  end
  return x
end

-- The areas under the lines between neighbours.
local function strips(func, y, x, options)
  want_float(func, y)
  local o = check.types(func, options, {dx = "number", dim = "number"})
  local dim = check.dim(func, y, o.dim or -1)
  local n = y.shape[dim]
  if n < 2 then return part(y, dim, 1, n - 1), dim end
  local sums = ops.add(part(y, dim, 1, n - 1), part(y, dim, 2, n))
  if x == nil then return ops.mul(sums, (o.dx or 1) / 2), dim end
  check.tensor(func, "x", x)
  local along = x.ndim == 1 and 1 or dim
  if x.shape[along] ~= n or x.ndim ~= 1 and x.ndim ~= y.ndim then
    fail("%s: x %s must have %d elements along dim %d of y %s", func,
      check.shape(x.shape), n, dim, check.shape(y.shape))
  end
  local width = statistics.diff(x, 1, along)
  if x.ndim == 1 then
    local shape = {}
    for d = 1, y.ndim do shape[d] = d == dim and n - 1 or 1 end
    width = ops.reshape(width, shape)
  end
  return ops.mul(ops.mul(sums, width), 0.5), dim
end

--- The area under the values along a dimension, by the rule of trapezoids.
-- @param y float tensor of values
-- @param[opt] x tensor of the places of the values, (n) or like y
-- @tparam[opt] table options `dx`, 1: the distance between places; `dim`, -1
-- @return tensor without the dimension
-- @raise when y is not float, sizes do not fit or dim is out of range
-- @usage heed.tensor {1.0, 2.0, 3.0}:trapezoid() --> 4
function statistics.trapezoid(y, x, options)
  if type(x) == "table" then x, options = nil, x end
  local areas, dim = strips("trapezoid", y, x, options)
  return ops.sum(areas, dim)
end

--- The areas under the values along a dimension up to each but the first, by
-- the rule of trapezoids.
-- @param y float tensor of values
-- @param[opt] x tensor of the places of the values, (n) or like y
-- @tparam[opt] table options `dx`, 1: the distance between places; `dim`, -1
-- @return tensor, shorter by one along the dimension
-- @raise when y is not float, sizes do not fit or dim is out of range
-- @usage heed.tensor {1.0, 2.0, 3.0}:cumulative_trapezoid() --> 1.5 4
function statistics.cumulative_trapezoid(y, x, options)
  if type(x) == "table" then x, options = nil, x end
  local areas, dim = strips("cumulative_trapezoid", y, x, options)
  return ops.cumsum(areas, dim)
end

-- -- covariance --------------------------------------------------------------

local function read_weights(func, name, weights, n)
  if weights == nil then return nil end
  check.tensor(func, name, weights)
  if weights.ndim ~= 1 or weights.shape[1] ~= n then
    fail("%s: %s must have the shape [%d], got %s", func, name, n,
      check.show(weights))
  end
  return weights
end

--- The covariances of variables, with one in each row and their observations
-- in the columns.
-- @param x float tensor (variables, n); (n) for a single variable
-- @tparam[opt] table options `correction`, 1: sums are divided by
-- n - correction; `fweights`: tensor (n), how often each observation occurs;
-- `aweights`: tensor (n), how much each counts
-- @return tensor (variables, variables), without dimensions for a single one
-- @raise when x is not float or has more dimensions, or weights do not fit
-- @usage heed.tensor {{0.0, 1.0, 2.0}, {2.0, 1.0, 0.0}}:cov() --> 1 -1, -1 1
function statistics.cov(x, options)
  want_float("cov", x)
  if x.ndim > 2 then
    fail("cov: x must have at most 2 dimensions, got %s", check.show(x))
  end
  local o = check.options("cov", options, {correction = 1,
    fweights = check.NONE, aweights = check.NONE})
  local rows = x.ndim == 2 and x or ops.reshape(x, 1, x:numel())
  local n = rows.shape[2]
  local correction = check.integer("cov", "correction", o.correction)
  local often = read_weights("cov", "fweights", o.fweights, n)
  local heavy = read_weights("cov", "aweights", o.aweights, n)
  local weights = often and heavy and ops.mul(often, heavy) or often or heavy
  local total, lost = n, correction
  if weights then
    weights = ops.to(weights, x.dtype)
    total = ops.sum(weights)
    if heavy then
      lost = ops.div(ops.mul(ops.sum(ops.mul(weights, heavy)), correction),
        total)
    end
  end
  local mean = weights and
    ops.div(ops.sum(ops.mul(rows, weights), 2, true), total) or
    ops.mean(rows, 2, true)
  local off = ops.sub(rows, mean)
  local right = weights and ops.mul(off, weights) or off
  local c = ops.matmul(off, ops.transpose(right))
  local over = weights and ops.clamp(ops.sub(total, lost), 0) or
    math.max(total - lost, 0)
  c = ops.div(c, over)
  return x.ndim == 2 and c or ops.reshape(c, {})
end

--- The correlations of variables, with one in each row and their observations
-- in the columns.
-- @param x float tensor (variables, n); (n) for a single variable
-- @return tensor (variables, variables), without dimensions for a single one
-- @raise when x is not float or has more dimensions
-- @usage heed.tensor {{0.0, 1.0}, {2.0, 1.0}}:corrcoef() --> 1 -1, -1 1
function statistics.corrcoef(x)
  local c = statistics.cov(x)
  if c.ndim == 0 then return ops.div(c, c) end
  local root = ops.sqrt(ops.diagonal(c))
  c = ops.div(ops.div(c, ops.unsqueeze(root, 2)), ops.unsqueeze(root, 1))
  return ops.clamp(c, -1, 1)
end

return {functions = statistics, methods = statistics}
