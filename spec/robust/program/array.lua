--- array: a plain tensor in Lua, for the reference that random programs are
-- compared with: a list of numbers, and strides over it. Slow on purpose: each
-- element is found by itself.
--
-- Booleans are 0 and 1; integers are Lua's, floats hold what their dtype can.

local array = {}

local Array = {}
Array.__index = Array

array.ranks = {
  bool = 1, uint8 = 2, int32 = 3, int64 = 4, float16 = 5, bfloat16 = 5,
  float32 = 6, float64 = 7,
}

function array.is_float(dtype) return array.ranks[dtype] >= 5 end

-- -- numbers of each dtype ---------------------------------------------------

local function to_integer(v)
  if math.type(v) == "integer" then return v end
  if v ~= v then return 0 end
  if v >= 0x1p63 then return math.maxinteger end
  if v < -0x1p63 then return math.mininteger end
  return math.tointeger(v < 0 and math.ceil(v) or math.floor(v))
end

-- To the nearest float32 of `digits` bits and least exponent, ties to even.
local function to_half(v, digits, least, most)
  v = string.unpack("f", string.pack("f", v))
  if v ~= v or v == 0 or v == math.huge or v == -math.huge then return v end
  local exponent = math.max(math.floor(math.log(math.abs(v), 2)), least)
  if 2.0 ^ (exponent + 1) <= math.abs(v) then exponent = exponent + 1 end
  local unit <const> = 2.0 ^ (exponent - digits + 1)
  local n = v / unit
  local low = math.floor(n)
  local rest = n - low
  if rest > 0.5 or rest == 0.5 and low % 2 == 1 then low = low + 1 end
  local r = low * unit
  if math.abs(r) > most then r = r > 0 and math.huge or -math.huge end
  return r == 0 and v < 0 and -0.0 or r
end

local casts <const> = {
  bool = function(v) return v ~= 0 and 1 or 0 end,
  uint8 = function(v) return to_integer(v) & 0xff end,
  int32 = function(v)
    return ((to_integer(v) + 0x80000000) & 0xffffffff) - 0x80000000
  end,
  int64 = to_integer,
  float16 = function(v) return to_half(v, 11, -14, 65504.0) end,
  bfloat16 = function(v) return to_half(v, 8, -126, 0x1.fep127) end,
  float32 = function(v) return (string.unpack("f", string.pack("f", v))) end,
  float64 = function(v) return v * 1.0 end -- -0.0 stays,
}

--- A number or boolean as the dtype holds it.
function array.cast(v, dtype)
  if v == true then v = 1 elseif v == false then v = 0 end
  return casts[dtype](v)
end

-- -- shapes ------------------------------------------------------------------

function array.count(shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return n
end

--- The strides of elements that lie row by row.
function array.dense(shape)
  local stride, n = {}, 1
  for k = #shape, 1, -1 do
    stride[k] = n
    n = n * shape[k]
  end
  return stride
end

--- Calls f(index, i) for each element, row by row; `index` is used again.
function array.walk(shape, f)
  local index = {}
  for k = 1, #shape do index[k] = 1 end
  for i = 1, array.count(shape) do
    f(index, i)
    for k = #shape, 1, -1 do
      index[k] = index[k] + 1
      if index[k] <= shape[k] then break end
      index[k] = 1
    end
  end
end

--- The shape that both broadcast to, or nil.
function array.broadcast(a, b)
  local shape, n = {}, math.max(#a, #b)
  for k = 1, n do
    local p = a[#a - n + k] or 1
    local q = b[#b - n + k] or 1
    if p ~= q and p ~= 1 and q ~= 1 then return nil end
    shape[k] = p == 1 and q or p
  end
  return shape
end

function array.same_shape(a, b)
  return table.concat(a, " ") == table.concat(b, " ")
end

-- -- arrays ------------------------------------------------------------------

--- A new array of a list of numbers or booleans, row by row.
function array.new(dtype, shape, values)
  local store = {}
  for i = 1, array.count(shape) do store[i] = array.cast(values[i], dtype) end
  return array.view(dtype, shape, store, array.dense(shape), 1)
end

--- A new array of f(index, i), see `walk`.
function array.make(dtype, shape, f)
  local values = {}
  array.walk(shape, function(index, i) values[i] = f(index, i) end)
  return array.new(dtype, shape, values)
end

--- An array over an existing list; `offset` is the place of its first element.
function array.view(dtype, shape, store, stride, offset)
  return setmetatable({dtype = dtype, shape = {table.unpack(shape)},
    store = store, stride = {table.unpack(stride)}, offset = offset}, Array)
end

function array.is(value) return getmetatable(value) == Array end

--- Another view of the same numbers.
function Array:with(shape, stride, offset)
  return array.view(self.dtype, shape, self.store, stride,
    offset or self.offset)
end

--- The place of an element in `store`; `index` may be longer than the shape,
-- as that of a shape that the array is broadcast to.
function Array:place(index)
  local at, more = self.offset, #index - #self.shape
  for k, size in ipairs(self.shape) do
    if size > 1 then at = at + (index[more + k] - 1) * self.stride[k] end
  end
  return at
end

function Array:get(index) return self.store[self:place(index)] end

--- The places of all elements, row by row.
function Array:places()
  local list = {}
  array.walk(self.shape, function(index, i) list[i] = self:place(index) end)
  return list
end

--- The numbers of all elements, row by row.
function Array:values()
  local list = self:places()
  for i, at in ipairs(list) do list[i] = self.store[at] end
  return list
end

function Array:count() return array.count(self.shape) end
function Array:is_float() return array.is_float(self.dtype) end

--- A copy in a dtype, row by row.
function Array:to(dtype) return array.new(dtype, self.shape, self:values()) end

function Array:is_dense()
  local n = 1
  for k = #self.shape, 1, -1 do
    if self.shape[k] > 1 and self.stride[k] ~= n then return false end
    n = n * self.shape[k]
  end
  return true
end

--- Are two of the elements one number?
function Array:overlaps()
  local seen = {}
  for _, at in ipairs(self:places()) do
    if seen[at] then return true end
    seen[at] = true
  end
  return false
end

--- Writes the numbers of another array of the same shape.
function Array:write(from)
  local values = from:values()
  for i, at in ipairs(self:places()) do
    self.store[at] = array.cast(values[i], self.dtype)
  end
end

return array
