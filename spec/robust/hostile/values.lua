--- values: what no function expects. A list of {name, make}; each is made anew
-- for each call, since a call may have closed or written to it.

local heed = require "heed"

local values = {}

local function add(name, make)
  values[#values + 1] = {name = name, make = make}
end
local function plain(name, value) add(name, function() return value end) end

-- -- numbers and strings -----------------------------------------------------

plain("nil", nil)
plain("false", false)
plain("true", true)
for name, v in pairs {
  ["0"] = 0, ["1"] = 1, ["2"] = 2, ["3"] = 3, ["-1"] = -1, ["-2"] = -2,
  ["9"] = 9, ["2^31"] = 1 << 31, ["2^53"] = 1 << 53,
  ["2^53 + 1"] = (1 << 53) + 1, ["2^62"] = 1 << 62,
  maxinteger = math.maxinteger, mininteger = math.mininteger,
  ["0.5"] = 0.5, ["-0.0"] = -0.0, ["2.0"] = 2.0, ["1e300"] = 1e300,
  ["-1e300"] = -1e300, nan = 0 / 0, inf = math.huge, ["-inf"] = -math.huge,
  ['""'] = "", ['"x"'] = "x", ['"sum"'] = "sum", ['"\\0"'] = "a\0b",
  ['"float64"'] = "float64", ['"bool"'] = "bool", ['"3"'] = "3",
  ['"%s%n"'] = "%s%n%99999d", ['"\\xff"'] = "\xff\xfe\x80",
} do plain(name, v) end
plain("a long string", ("x"):rep(100000))

-- -- tables ------------------------------------------------------------------

for name, list in pairs {
  ["{}"] = {}, ["{1}"] = {1}, ["{1, 2}"] = {1, 2}, ["{2, 3}"] = {2, 3},
  ["{1, 1}"] = {1, 1}, ["{-1}"] = {-1}, ["{0}"] = {0}, ["{1.5}"] = {1.5},
  ["{2^31, 2^31}"] = {1 << 31, 1 << 31}, ["{2^62, 4}"] = {1 << 62, 4},
  ["{0, 2^62, 2^62}"] = {0, 1 << 62, 1 << 62},
  ["{mininteger}"] = {math.mininteger}, ["{nan}"] = {0 / 0},
  ["{'x'}"] = {"x"}, ["{false}"] = {false}, ["{{}}"] = {{}},
  ["{{1}, {2, 3}}"] = {{1}, {2, 3}}, ["{1, 2, 3, 4, 5, 6, 7, 8, 9}"] =
  {1, 2, 3, 4, 5, 6, 7, 8, 9}, ["{dtype = 3}"] = {dtype = 3},
  ["{dim = 1}"] = {dim = 1}, ["{1, dim = 1}"] = {1, dim = 1},
  ["{[0] = 1}"] = {[0] = 1}, ["{unknown = 1}"] = {unknown = 1},
} do
  add(name, function()
    local copy = {}
    for k, v in pairs(list) do copy[k] = v end
    return copy
  end)
end
add("a table in itself", function()
  local t = {}
  t[1], t.self, t[2] = t, t, 1
  return t
end)
add("a list with a hole", function() return {1, nil, 3, nil, 5} end)
add("a deep table", function()
  local t = {}
  for _ = 1, 300 do t = {t} end
  return t
end)

-- What happens when it is looked at.
local function trap(name, event, f)
  add(("a table whose %s %s"):format(event, name), function()
    return setmetatable({1, 2}, {[event] = f})
  end)
end
for _, event in ipairs {
  "__index", "__newindex", "__len", "__call", "__pairs", "__tostring",
  "__eq", "__lt", "__concat", "__unm", "__add",
} do
  trap("raises", event, function() error({"trap"}, 0) end)
end
trap("lies", "__len", function() return 1 << 40 end)
trap("lies", "__index", function() return 1 << 40 end)
trap("is no string", "__tostring", function() return {} end)
plain("a table without end", setmetatable({}, {
  __index = function(_, k) return math.type(k) and k or nil end,
  __len = function() return math.maxinteger end,
}))
add("a table with a locked metatable", function()
  return setmetatable({}, {__metatable = false, __name = 5})
end)

-- -- functions, threads, userdata --------------------------------------------

plain("print", print)
plain("a function that raises", function() error("trap", 0) end)
plain("a function", function(...) return ... end)
plain("a function that yields", function(...)
  if coroutine.isyieldable() then return coroutine.yield(...) end
end)
add("a dead coroutine", function()
  local co = coroutine.create(function() end)
  coroutine.resume(co)
  return co
end)
add("a coroutine", function()
  return coroutine.create(function() coroutine.yield(1) end)
end)
add("a closed file", function()
  local file = io.tmpfile()
  file:close()
  return file
end)
add("a generator", function() return heed.Generator(1) end)

-- The tensor, given up.
local function close(t)
  local given <close> = t
  return given
end

-- -- tensors -----------------------------------------------------------------

for _, dtype in ipairs {
  "bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32",
  "float64",
} do
  add(dtype .. " [2 3]", function()
    return heed.ones({2, 3}, {dtype = dtype})
  end)
end
add("float32 []", function() return heed.tensor(1.5) end)
add("int64 []", function() return heed.tensor(2) end)
add("float32 [3]", function() return heed.tensor {0.5, -1.0, 2} end)
add("int64 [3]", function() return heed.tensor {1, 2, 1} end)
add("int64 far off", function()
  return heed.tensor {math.maxinteger, math.mininteger, 0}
end)
add("float32 [0]", function() return heed.zeros {0} end)
add("float32 [2 0 3]", function() return heed.zeros {2, 0, 3} end)
add("nan and inf", function()
  return heed.tensor {{0 / 0, math.huge}, {-math.huge, 1}}
end)
add("float32 [2 2 2]", function() return heed.ones {2, 2, 2} end)
add("float32 [1 2 3 3]", function() return heed.ones {1, 2, 3, 3} end)
add("8 dimensions", function() return heed.ones {1, 1, 1, 1, 1, 1, 1, 2} end)
add("an expanded tensor", function() return heed.ones({1}):expand(4, 3) end)
add("a transposed tensor", function()
  return heed.ones({3, 2}):transpose(1, 2)
end)
add("a leaf", function() return heed.ones({2, 3}, {requires_grad = true}) end)
add("a result", function()
  return heed.ones({2, 3}, {requires_grad = true}) * 2
end)
add("a closed tensor", function()
  return close(heed.ones {2, 3})
end)
add("a list of tensors", function()
  return {heed.ones {2, 3}, heed.ones {2, 3}}
end)
add("a list with a closed tensor", function()
  return {heed.ones {2, 3}, close(heed.ones {2, 3})}
end)
-- whoever asks for a length or a field has the tensor beside it closed
add("a table that closes a tensor", function()
  local t = heed.ones {2, 3}
  return setmetatable({t}, {
    __index = function() close(t) end,
    __len = function()
      close(t)
      return 1
    end,
  })
end)

table.sort(values, function(a, b) return a.name < b.name end)

return values
