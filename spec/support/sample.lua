--- sample: small tensors with fixed values for the rows of spec/ops.

local heed = require "heed"

local sample = {}

local function make(shape, dtype, value)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  local flat = {}
  for i = 1, n do flat[i] = value(i) end
  if n == 0 then return heed.zeros(shape, {dtype = dtype}) end
  return heed.tensor(flat, {dtype = dtype}):reshape(shape)
end

-- A number of (0, 1) from i, spread out and never twice the same.
local function spread(i) return (i * 0.6180339887498949 + 0.137) % 1 end

--- Float64 numbers between -2 and 2, all different, none near 0.
function sample.real(shape)
  return make(shape, "float64", function(i)
    local v = spread(i) * 4 - 2
    return v + (v < 0 and -0.05 or 0.05)
  end)
end

--- The same with other numbers, for second inputs.
function sample.other(shape)
  return make(shape, "float64", function(i)
    local v = spread(i + 31) * 3 - 1.5
    return v + (v < 0 and -0.04 or 0.04)
  end)
end

--- Float64 numbers between 0.2 and 2.2.
function sample.positive(shape)
  return make(shape, "float64", function(i) return spread(i) * 2 + 0.2 end)
end

--- Int64 numbers from `low` to `high`.
function sample.whole(shape, low, high)
  return make(shape, "int64", function(i)
    return low + math.floor(spread(i) * (high - low + 1))
  end)
end

--- Booleans, two thirds of them true.
function sample.bool(shape)
  return make(shape, "bool", function(i) return spread(i) > 0.34 end)
end

--- A view with the same values that does not lie in one piece.
function sample.scattered(t)
  if t.ndim == 0 then return t end
  if t.ndim > 1 and t:size(1) > 1 then
    return t:transpose(1, -1):contiguous():transpose(1, -1)
  end
  return heed.stack({t, t}, -1):select(-1, 1)
end

local function is_float(t) return t.dtype:find("^float") ~= nil end

--- A copy of an argument list with every tensor in it changed by
-- f(tensor, key); lists of tensors and tables of options are gone through.
function sample.map(args, f)
  local copy = {n = args.n}
  for key, value in pairs(args) do
    if heed.is_tensor(value) then
      copy[key] = f(value, key)
    elseif type(value) == "table" then
      copy[key] = sample.map(value, f)
    else
      copy[key] = value
    end
  end
  return copy
end

--- All float tensors of an argument list, with where they stand:
-- {args, key, tensor}.
function sample.floats(args, list)
  list = list or {}
  local keys = {}
  for key in pairs(args) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    local value = args[key]
    if heed.is_tensor(value) then
      if is_float(value) then
        list[#list + 1] = {args = args, key = key, tensor = value}
      end
    elseif type(value) == "table" then
      sample.floats(value, list)
    end
  end
  return list
end

--- Copies in another float dtype.
function sample.cast(args, dtype)
  return sample.map(args, function(t)
    return is_float(t) and t:to(dtype) or t
  end)
end

return sample
