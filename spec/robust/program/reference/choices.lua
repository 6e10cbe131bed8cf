--- choices: ops of three operands, and of which one is chosen.

local array = require "spec.robust.program.array"
local elementwise = require "spec.robust.program.reference.elementwise"
local refuse = require "spec.robust.program.refuse"
local rows = require "spec.ops.rows"

local ops = {}

local NAN <const> = 0 / 0
local common <const>, map <const> = elementwise.common, elementwise.map
local run_of <const>, reader <const> = elementwise.run_of, elementwise.reader
local joint_shape <const> = elementwise.joint_shape

local function binary(...) elementwise.binary(ops, ...) end

-- -- three operands ----------------------------------------------------------

ops.lerp = {
  draw = function(d)
    local a, b = table.unpack(d:operands {kind = "float", tensors = true,
      tame = true})
    return {a, b, d:chance(0.5) and 0.25 or
      d:tensor {shape = d:under(d:array(a).shape), kind = "float",
        tame = true}}
  end,
  run = run_of("float", 3, rows.lerp.value),
}

local function combined(name, kind, f)
  ops[name] = {
    draw = function(d)
      local a, b = table.unpack(d:operands {kind = kind, tensors = true,
        tame = true})
      local c = d:tensor {shape = d:under(d:array(a).shape), kind = kind,
        tame = true, positive = true}
      return {a, b, c, d:pick {1, 2, -3}}
    end,
    run = run_of(kind, 3, f),
  }
end
combined("addcmul", "arith", function(x, a, b, v) return x + v * a * b end)
combined("addcdiv", "float", function(x, a, b, v) return x + v * a / b end)

-- -- choices -----------------------------------------------------------------

local function extreme(better)
  return function(a, b)
    if a ~= a then return a elseif b ~= b then return b end
    return better(a, b) and a or b
  end
end
local most <const> = extreme(function(a, b) return a > b end)
local least <const> = extreme(function(a, b) return a < b end)
binary("maximum", "all", most)
binary("minimum", "all", least)
binary("copysign", "float", function(a, b)
  local negative = b < 0 or b == 0 and 1 / b < 0
  return negative and -math.abs(a) or math.abs(a)
end, {tame = true})
binary("heaviside", "float", function(a, b)
  if a ~= a then return a end
  return a > 0 and 1 or a < 0 and 0 or b
end, {tame = true})
ops.heaviside.rough = true -- no gradient, but a slope where a is 0

-- The next number: its bits, counted.
local function next_of(format, bits)
  return function(a, b)
    if a ~= a or b ~= b then return NAN end
    if a == b then return b end
    local n = string.unpack(bits, string.pack(format, a))
    if a == 0 then
      n = 1
      if b < 0 then return -(string.unpack(format, string.pack(bits, n))) end
    elseif (b > a) == (a > 0) then
      n = n + 1
    else
      n = n - 1
    end
    return (string.unpack(format, string.pack(bits, n)))
  end
end
local next32 <const>, next64 <const> = next_of("f", "i4"), next_of("d", "i8")
ops.nextafter = {
  rough = true, -- it has no gradient, but a slope
  draw = function(d) return d:operands {kind = "float"} end,
  run = function(a, b)
    local dtype = elementwise.kinds.float(common {a, b})
    return map({a, b}, dtype, dtype, dtype == "float32" and next32 or next64)
  end,
}

ops.clamp = {
  draw = function(d)
    local x = d:tensor {kind = "arith"}
    local whole = not d:array(x):is_float()
    local function bound(v)
      if d:chance(0.5) then return whole and v or v + 0.5 end
      return d:tensor {shape = d:under(d:array(x).shape), kind = "arith"}
    end
    if d:chance(0.3) then return {x, bound(-2)} end
    return {x, bound(-2), bound(3)}
  end,
  run = function(x, low, high)
    return run_of("arith", high and 3 or 2, function(v, a, b)
      v = most(v, a)
      return b and least(v, b) or v
    end)(x, low, high)
  end,
}

-- One of two, by a condition: halves stay.
local function moved(list)
  local dtype
  for _, x in ipairs(list) do
    if array.is(x) then
      refuse.unless(not dtype or x.dtype == dtype)
      dtype = x.dtype
    end
  end
  return dtype
end
ops.where = {
  draw = function(d)
    local condition = d:tensor {dtype = "bool"}
    local shape = d:array(condition).shape
    local a = d:tensor {shape = d:under(shape)}
    local b = d:tensor {shape = d:under(shape), dtype = d:array(a).dtype}
    return {condition, a, b}
  end,
  run = function(condition, a, b)
    refuse.unless(condition.dtype == "bool")
    local shape = joint_shape {condition, a, b}
    local dtype = moved {a, b}
    local p, q = reader(a, dtype), reader(b, dtype)
    return array.make(dtype, shape, function(index)
      return condition:get(index) ~= 0 and p(index) or q(index)
    end)
  end,
}
ops.masked_fill = {
  draw = function(d)
    local x = d:tensor {}
    local a = d:array(x)
    local value = a.dtype == "bool" or a:is_float() and 1.5 or 7
    if d:chance(0.3) then value = d:tensor {shape = {}, dtype = a.dtype} end
    return {x, d:tensor {shape = d:under(a.shape), dtype = "bool"}, value}
  end,
  run = function(x, mask, value)
    refuse.unless(array.same_shape(array.broadcast(x.shape, mask.shape) or {0},
      x.shape))
    local v = reader(value, x.dtype)
    return array.make(x.dtype, x.shape, function(index)
      return mask:get(index) ~= 0 and v(index) or x:get(index)
    end)
  end,
}

return {ops = ops}
