--- elementwise: what the references of ops of single elements share.
--
-- An op of the reference is {draw =, run =}: `draw(d)` makes an argument list
-- (see draw.lua), `run(...)` takes arrays and plain values and gives arrays.

local array = require "spec.robust.program.array"
local refuse = require "spec.robust.program.refuse"
local rows = require "spec.ops.rows"

local elementwise = {}

-- -- dtypes ------------------------------------------------------------------

-- The dtype that tensors and plain numbers meet in, see docs/dtypes.md.
function elementwise.common(list)
  local dtype, rank
  for _, x in ipairs(list) do
    if array.is(x) then
      local own = x.dtype
      if own == "float16" or own == "bfloat16" then own = "float32" end
      if not rank or array.ranks[own] > rank then
        dtype, rank = own, array.ranks[own]
      end
    end
  end
  for _, x in ipairs(list) do
    if math.type(x) == "float" and not array.is_float(dtype) then
      dtype = "float32"
    elseif math.type(x) == "integer" and dtype == "bool" then
      dtype = "int64"
    end
  end
  return dtype
end

-- Each operand as a function of a place, in a dtype.
function elementwise.reader(x, dtype)
  if not array.is(x) then
    x = array.cast(x, dtype)
    return function() return x end
  end
  return function(index) return array.cast(x:get(index), dtype) end
end

function elementwise.joint_shape(list)
  local shape = {}
  for _, x in ipairs(list) do
    if array.is(x) then
      shape = array.broadcast(shape, x.shape)
      refuse.unless(shape)
    end
  end
  return shape
end

-- f of the elements of all operands, read in `dtype`, given in `result`.
function elementwise.map(list, dtype, result, f)
  local read = {}
  for i, x in ipairs(list) do read[i] = elementwise.reader(x, dtype) end
  return array.make(result, elementwise.joint_shape(list), function(index)
    local v = {}
    for i = 1, #read do v[i] = read[i](index) end
    return f(table.unpack(v))
  end)
end

-- -- kinds of ops ------------------------------------------------------------

-- What an op does with the elementwise.common dtype of its operands.
elementwise.kinds = {
  arith = function(dtype)
    refuse.unless(dtype ~= "bool")
    return dtype, dtype
  end,
  all = function(dtype) return dtype, dtype end,
  float = function(dtype)
    if not array.is_float(dtype) then dtype = "float32" end
    return dtype, dtype
  end,
  only_float = function(dtype)
    refuse.unless(array.is_float(dtype))
    return dtype, dtype
  end,
  only_whole = function(dtype)
    refuse.unless(not array.is_float(dtype))
    return dtype, dtype
  end,
  bool = function(dtype) return dtype, "bool" end,
}

function elementwise.run_of(kind, count, f, whole)
  return function(...)
    local list, more = {}, {}
    for i = 1, select("#", ...) do
      local into = i <= count and list or more
      into[#into + 1] = (select(i, ...))
    end
    local dtype, result = elementwise.kinds[kind](elementwise.common(list))
    local g = whole and not array.is_float(dtype) and whole or f
    return elementwise.map(list, dtype, result, function(...)
      local v = {...}
      v[#v + 1] = #more > 0 and more[1] or nil
      for i = 2, #more do v[#v + 1] = more[i] end
      return g(table.unpack(v))
    end)
  end
end

-- `tame`: only finite numbers of moderate size; `whole`: f for integers.
function elementwise.unary(ops, name, kind, f, options)
  options = options or {}
  ops[name] = {
    draw = function(d)
      local x = d:tensor {tame = options.tame, kind = kind}
      return {x, table.unpack(options.more and options.more(d) or {})}
    end,
    run = elementwise.run_of(kind, 1, f or rows[name].value, options.whole),
  }
end

function elementwise.binary(ops, name, kind, f, options)
  options = options or {}
  ops[name] = {
    draw = function(d)
      return d:operands {tame = options.tame, kind = kind,
        second = options.second}
    end,
    run = elementwise.run_of(kind, 2, f or rows[name].value, options.whole),
  }
end

return elementwise
