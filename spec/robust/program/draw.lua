--- draw: what a random program is made of: sizes, numbers, tensors, operands.
--
-- A program is a list of statements:
--
--     {leaf = true, dtype =, shape =, values =, out = {1}}
--     {op = "softmax", args = {ref, -1, n = 2}, out = {2}}
--
-- A ref stands for the tensor of a number. While a program is drawn the
-- reference runs along, so that a drawer knows all shapes and numbers.

local array = require "spec.robust.program.array"

local draw = {}

local Ref = {}
Ref.__index = Ref

function draw.ref(var) return setmetatable({var = var}, Ref) end
function draw.is_ref(value) return getmetatable(value) == Ref end

local Drawer = {}
Drawer.__index = Drawer

--- A drawer of an empty program. `smooth`: of float64 only, and without what
-- has no gradient, so that it can be compared with differences.
function draw.new(smooth)
  return setmetatable({smooth = smooth, statements = {}, arrays = {},
    nvar = 0}, Drawer)
end

-- -- numbers and sizes -------------------------------------------------------

function Drawer.chance(_, p) return math.random() < p end
function Drawer.int(_, low, high) return math.random(low, high) end
function Drawer.pick(_, list) return list[math.random(#list)] end

function Drawer:size()
  return self:pick {0, 1, 1, 2, 2, 3, 3, 3, 4, 5, 7}
end

--- A shape of `low` to `high` dimensions, of few elements.
function Drawer:shape(low, high)
  local shape = {}
  for k = 1, self:int(low, math.max(low, high or 3)) do
    local size = self:size()
    if size == 0 and (self.smooth or self:chance(0.7)) then size = 2 end
    if array.count(shape) * size > 60 then size = 1 end
    shape[k] = size
  end
  return shape
end

--- A shape that broadcasts to `shape` and not beyond it.
function Drawer:under(shape)
  local part = {}
  for k = self:chance(0.3) and self:int(1, #shape + 1) or 1, #shape do
    part[#part + 1] = self:chance(0.25) and 1 or shape[k]
  end
  return part
end

--- A dimension of an array, from 1 or from the end.
function Drawer:axis(a)
  local n = #a.shape
  local k = self:int(1, n)
  return self:chance(0.4) and k - n - 1 or k
end

--- Nothing for all dimensions, one, or a list of some.
function Drawer:axes(a)
  local n = #a.shape
  if n == 0 or self:chance(0.3) then return nil end
  if self:chance(0.6) then return self:axis(a) end
  local list = {}
  for k = 1, n do
    if self:chance(0.5) then
      list[#list + 1] = self:chance(0.5) and k or k - n - 1
    end
  end
  return #list > 0 and list or nil
end

-- -- tensors -----------------------------------------------------------------

local DTYPES <const> = {
  "bool", "uint8", "int32", "int64", "int64", "float16", "bfloat16",
  "float32", "float32", "float32", "float64", "float64",
}

-- May an op of the kind take the dtype, by its own rules?
local function fits(kind, dtype)
  if kind == "arith" then return dtype ~= "bool" end
  if kind == "only_float" then return array.is_float(dtype) end
  if kind == "only_whole" then return not array.is_float(dtype) end
  return true
end

-- While programs are smooth, floats are what is wanted where they may be.
local function wanted(d, kind)
  if kind == "only_whole" then return function(t) return fits(kind, t) end end
  if d.smooth then return function(t) return t == "float64" end end
  return function(t) return fits(kind, t) end
end

function Drawer:dtype(kind)
  local fitting = wanted(self, kind)
  if self.smooth and kind ~= "only_whole" then return "float64" end
  local dtype
  repeat dtype = self:pick(DTYPES) until fitting(dtype)
  return dtype
end

local SPECIAL <const> = {
  0 / 0, math.huge, -math.huge, -0.0, 1e30, -1e30, 1e-30, 0.5,
}

local function number(d, dtype, o)
  if dtype == "bool" then return d:int(0, 1) end
  if not array.is_float(dtype) then
    local low = dtype == "uint8" and 0 or o.positive and 1 or -9
    return d:int(o.positive and math.max(low, 1) or low, 9)
  end
  local v = d.smooth and math.random() * 4 - 2 or
    d:chance(0.3) and d:int(-3, 3) + 0.0 or math.random() * 8 - 4
  if o.positive then v = math.abs(v) + 0.25 end
  return array.cast(v, dtype)
end

--- A new tensor with random numbers; `o` as in `tensor`.
function Drawer:leaf(dtype, shape, o)
  local values, odd = {}, not self.smooth and not o.tame and
    not o.positive and array.is_float(dtype) and self:chance(0.15)
  for i = 1, array.count(shape) do
    values[i] = odd and self:chance(0.3) and
      array.cast(self:pick(SPECIAL), dtype) or number(self, dtype, o)
  end
  return self:add_leaf(dtype, shape, values)
end

function Drawer:add_leaf(dtype, shape, values)
  self.nvar = self.nvar + 1
  self.arrays[self.nvar] = array.new(dtype, shape, values)
  table.insert(self.statements, {leaf = true, dtype = dtype, shape = shape,
    values = values, out = {self.nvar}})
  return draw.ref(self.nvar)
end

--- The array that a ref stands for, as it is now.
function Drawer:array(ref) return self.arrays[ref.var] end

local function is_tame(a, o)
  local least <const> = o.positive and 0.1 or -20
  for _, v in ipairs(a:values()) do
    local inside = v >= least and v <= 20 -- not NaN
    if not inside then return false end
  end
  return true
end

--- A tensor that is there, if one fits, or a new one. Options: `kind` of op,
-- `dtype`; `shape`; `ndim`, at least so many dimensions; `tame`, moderate
-- numbers; `positive`, above 0.1; `fits`, a function of the array.
function Drawer:tensor(o)
  local dtypes = o.dtype and function(t) return t == o.dtype end or
    wanted(self, o.kind)
  local found = {}
  for var, a in pairs(self.arrays) do
    if dtypes(a.dtype) and #a.shape >= (o.ndim or 0) and
        (not o.shape or array.same_shape(a.shape, o.shape)) and
        (not o.fits or o.fits(a)) and
        (not (o.tame or o.positive) or is_tame(a, o)) then
      found[#found + 1] = var
    end
  end
  if #found > 0 and self:chance(0.8) then
    table.sort(found)
    return draw.ref(self:pick(found))
  end
  local shape = o.shape
  if not shape then
    local tries = 0
    repeat
      shape = self:shape(o.ndim or 0)
      tries = tries + 1
    until not o.fits or tries > 50 or o.fits {shape = shape}
  end
  return self:leaf(o.dtype or self:dtype(o.kind), shape, o)
end

--- Integers from `low` to `high`, or negative ones that count from the end of
-- `high` where `ends` says so.
function Drawer:positions(shape, high, ends)
  local values = {}
  for i = 1, array.count(shape) do
    local v = self:int(1, high)
    if ends and self:chance(0.3) then v = v - high - 1 end
    values[i] = v
  end
  return self:add_leaf("int64", shape, values)
end

-- The second operand of an op that is particular about it.
local function second(d, what, whole)
  if what == "exponent" then
    return whole and d:int(0, 3) or d:pick {2, 3, 0.5, -1.0, 2.0, 0}
  end
  if what == "shift" then return d:int(0, 9) end
  return whole and d:pick {2, 3, -4, 7} or d:pick {1.5, -0.75, 2}
end

--- Two operands that broadcast; one of them may be a number. Options: `kind`,
-- `tame`; `second`, "exponent", "divisor" or "shift"; `tensors`: no numbers,
-- and the second one broadcasts to the first.
function Drawer:operands(o)
  local x = self:tensor {kind = o.kind, tame = o.tame}
  local a = self:array(x)
  local whole = not a:is_float()
  if o.second then
    if self:chance(0.6) then return {x, second(self, o.second, whole)} end
    return {x, self:tensor {kind = whole and "only_whole" or o.kind,
      shape = self:under(a.shape), tame = true,
      positive = o.second ~= "shift"}}
  end
  if not o.tensors and self:chance(0.25) then
    local n = whole and self:int(-3, 3) or self:pick {0.5, -1.25, 2, 3.0}
    if o.kind == "only_whole" and a.dtype == "uint8" then n = 3 end
    if o.kind ~= "arith" and self:chance(0.1) then n = self:chance(0.5) end
    if math.type(n) and self:chance(0.3) and o.kind ~= "only_whole" then
      return {n, x}
    end
    return {x, n}
  end
  local other = self:tensor {kind = o.kind, tame = o.tame,
    shape = self:under(a.shape)}
  if not o.tensors and self:chance(0.3) then return {other, x} end
  return {x, other}
end

return draw
