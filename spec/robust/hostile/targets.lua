--- targets: every function that heed offers, by its name, and argument lists
-- that it takes.

local heed = require "heed"
local rows = require "spec.ops.rows"

local targets = {}

-- Why a function is left out.
local LEFT_OUT <const> = {
  ["heed.core.set_home"] = "changes what messages say",
  ["heed.core.isatty"] = "closes no file, but wants one of the program",
}

-- Appends the functions of a table, and classes that can be called.
local function collect(t, path, found, seen)
  local keys = {}
  for key in pairs(t) do
    if type(key) == "string" then keys[#keys + 1] = key end
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    local value, name = t[key], path .. "." .. key
    local meta = type(value) == "table" and getmetatable(value)
    local callable = type(value) == "function" or
      type(meta) == "table" and rawget(meta, "__call")
    if callable and not seen[value] and not LEFT_OUT[name] then
      seen[value] = true
      found[#found + 1] = {name = name, call = value, cases = {}}
    end
  end
end

-- The rows of the op table are what ops take.
local function cases_of(name)
  local row = rows[name] or rows[name:sub(1, -2)]
  if not row then return {} end
  local list = {}
  for i, args in ipairs(row.cases) do
    list[i] = row.from and row.from(args) or args
  end
  return list
end

-- A copy of an argument list whose tensors may be written to and closed.
local function fresh(args)
  local copy = {n = args.n or #args}
  for key, value in pairs(args) do
    if heed.is_tensor(value) then
      copy[key] = value:clone()
    elseif type(value) == "table" then
      copy[key] = fresh(value)
      copy[key].n = nil
    elseif key ~= "n" then
      copy[key] = value
    end
  end
  return copy
end

-- A file being read, for the functions of its kind.
local function open_file()
  heed.save("hostile.safetensors", {x = heed.ones {2, 3}})
  return heed.core.file_open("open_safetensors", "hostile.safetensors")
end

--- A list of {name, call, cases}; `cases` are argument lists.
-- Writes a file into the current folder.
function targets.all()
  local found, seen = {}, {}
  for _, op in ipairs(heed.core.op_table) do
    local call = heed.core.ops[op.name]
    if call and not seen[call] then
      seen[call] = true
      found[#found + 1] = {name = op.name, call = call,
        cases = cases_of(op.name)}
    end
  end
  local function part(t, name) collect(t, name, found, seen) end
  part(heed.core.methods, "tensor")
  part(heed.core.metatable, "tensor")
  part(heed.core, "heed.core")
  part(heed.core.unicode, "heed.core.unicode")
  part(heed, "heed")
  part(heed.linalg, "heed.linalg")
  part(heed.nn.functional, "heed.nn.functional")
  for _, name in ipairs {
    "nn", "optim", "data", "text", "image", "metrics", "models", "autograd",
  } do part(heed[name], "heed." .. name) end
  for name, value in pairs {
    generator = heed.Generator(1), file = open_file(),
    cache = heed.nn.KeyValueCache(),
  } do
    local meta = getmetatable(value)
    part(meta, name)
    if type(meta.__index) == "table" then part(meta.__index, name) end
  end
  part(coroutine, "coroutine")
  return found
end

targets.fresh = fresh

return targets
