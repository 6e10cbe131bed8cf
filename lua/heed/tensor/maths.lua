--- Elementwise functions that are others put together: methods of tensors and
-- functions of heed.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local maths = {}

--- x in radians as degrees: x * 180 / pi.
-- @param x tensor; integers are taken as float32
-- @return float tensor of the shape of x
-- @usage heed.tensor{0, math.pi}:rad2deg() --> 0 180
function maths.rad2deg(x)
  return ops.mul(check.tensor("rad2deg", "x", x), 180 / math.pi)
end

--- x in degrees as radians: x * pi / 180.
-- @param x tensor; integers are taken as float32
-- @return float tensor of the shape of x
-- @usage heed.tensor{0, 180}:deg2rad() --> 0 3.1416
function maths.deg2rad(x)
  return ops.mul(check.tensor("deg2rad", "x", x), math.pi / 180)
end

--- x, or `min` where x is below it.
-- @param x tensor
-- @param min number or tensor
-- @return tensor of the broadcast shape
-- @raise without a bound
-- @usage heed.tensor{-1, 2}:clamp_min(0) --> 0 2
function maths.clamp_min(x, min)
  if min == nil then check.fail("clamp_min: min is missing") end
  return ops.clamp(check.tensor("clamp_min", "x", x), min)
end

--- x, or `max` where x is above it.
-- @param x tensor
-- @param max number or tensor
-- @return tensor of the broadcast shape
-- @raise without a bound
-- @usage heed.tensor{-1, 2}:clamp_max(0) --> -1 0
function maths.clamp_max(x, max)
  if max == nil then check.fail("clamp_max: max is missing") end
  return ops.clamp(check.tensor("clamp_max", "x", x), nil, max)
end

--- a * 2^b.
-- @param a tensor
-- @param b tensor or number
-- @return float tensor of the broadcast shape
-- @usage heed.tensor{1, 3}:ldexp(2) --> 4 12
function maths.ldexp(a, b)
  check.tensor("ldexp", "a", a)
  if check.is_tensor(b) then return ops.mul(a, ops.exp2(b)) end
  return ops.mul(a, 2.0 ^ check.number("ldexp", "b", b))
end

--- The power a ^ b in float64.
-- @param a tensor or number
-- @param b tensor or number
-- @return float64 tensor of the broadcast shape
-- @usage heed.tensor{2, 3}:float_power(-1) --> 0.5 0.3333
function maths.float_power(a, b)
  if check.is_tensor(a) then a = ops.to(a, "float64") end
  if check.is_tensor(b) then b = ops.to(b, "float64") end
  return ops.pow(a, b)
end

local CLOSE <const> = {rtol = 1e-5, atol = 1e-8, equal_nan = false}

local function are_close(func, a, b, options)
  check.tensor(func, "a", a)
  check.tensor(func, "b", b)
  local o = check.options(func, options, CLOSE)
  check.number(func, "rtol", o.rtol, 0)
  check.number(func, "atol", o.atol, 0)
  local off = ops.abs(ops.sub(ops.to(a, "float64"), ops.to(b, "float64")))
  local limit = ops.add(ops.mul(ops.abs(ops.to(b, "float64")), o.rtol),
    o.atol)
  -- equal infinities have no difference; against others it is infinite
  local close = ops.logical_or(ops.eq(a, b),
    ops.logical_and(ops.le(off, limit), ops.isfinite(off)))
  if o.equal_nan then
    close = ops.logical_or(close,
      ops.logical_and(ops.isnan(a), ops.isnan(b)))
  end
  return close
end

--- Is |a - b| <= atol + rtol |b|, element by element?
-- @param a tensor
-- @param b tensor that broadcasts with a
-- @tparam[opt] table options `rtol`, 1e-5 by default; `atol`, 1e-8;
-- `equal_nan`: does NaN equal NaN? false
-- @return bool tensor of the broadcast shape
-- @raise for a negative tolerance, and when the shapes do not fit
-- @usage heed.tensor{1.0, 2.0}:isclose(heed.tensor{1.0, 2.1}) --> true false
function maths.isclose(a, b, options)
  return are_close("isclose", a, b, options)
end

--- Are all elements close, as by `isclose`?
-- @param a tensor
-- @param b tensor that broadcasts with a
-- @tparam[opt] table options as of `isclose`
-- @treturn boolean
-- @usage heed.tensor{1.0}:allclose(heed.tensor{1.0 + 1e-9}) --> true
function maths.allclose(a, b, options)
  return ops.all(are_close("allclose", a, b, options)):item()
end

--- Have a and b the same shape and elements? NaN equals nothing.
-- @param a tensor
-- @param b tensor
-- @treturn boolean
-- @usage heed.tensor{1, 2}:equal(heed.tensor{1, 2}) --> true
function maths.equal(a, b)
  check.tensor("equal", "a", a)
  check.tensor("equal", "b", b)
  return check.shape(a.shape) == check.shape(b.shape) and
    ops.all(ops.eq(a, b)):item()
end

return {functions = maths, methods = maths}
