--- script: a program as a Lua script that shows what it does.

local draw = require "spec.robust.program.draw"

local script = {}

local function number(v)
  if v ~= v then return "0/0" end
  if v == math.huge then return "math.huge" end
  if v == -math.huge then return "-math.huge" end
  if math.type(v) == "integer" then
    return v == math.mininteger and "math.mininteger" or tostring(v)
  end
  local text = ("%.17g"):format(v)
  if tonumber(("%.9g"):format(v)) == v then text = ("%.9g"):format(v) end
  return text:find "[%.e]" and text or text .. ".0"
end

local function list(values)
  local texts = {}
  for i, v in ipairs(values) do texts[i] = script.value(v) end
  return "{" .. table.concat(texts, ", ") .. "}"
end

--- An argument as Lua code.
function script.value(v)
  if draw.is_ref(v) then return "v" .. v.var end
  if type(v) == "number" then return number(v) end
  if type(v) == "string" then return ("%q"):format(v) end
  if type(v) ~= "table" then return tostring(v) end
  if #v > 0 or next(v) == nil then return list(v) end
  local keys, texts = {}, {}
  for key in pairs(v) do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do
    texts[i] = key .. " = " .. script.value(v[key])
  end
  return "{" .. table.concat(texts, ", ") .. "}"
end

local function leaf(s, smooth)
  local values = s.values
  if s.dtype == "bool" then
    values = {}
    for i, v in ipairs(s.values) do values[i] = v ~= 0 end
  end
  local shape = script.value(s.shape)
  local made = #values == 0 and
    ("heed.zeros(%s, {dtype = %q})"):format(shape, s.dtype) or
    ("heed.tensor(%s, {dtype = %q}):reshape(%s)"):format(
      list(values), s.dtype, shape)
  local name = s.out[1]
  if not smooth or s.dtype ~= "float64" then
    return ("local v%d = %s"):format(name, made)
  end
  return ("local x%d = %s\nx%d.requires_grad = true\nlocal v%d = x%d:clone()")
    :format(name, made, name, name, name)
end

local function call(s)
  local args, names = {}, {}
  for i = 1, s.args.n or #s.args do args[i] = script.value(s.args[i]) end
  local code = ("ops.%s(%s)"):format(s.op, table.concat(args, ", "))
  if s.refused then return ("print(pcall(ops.%s, %s)) -- to be refused")
    :format(s.op, table.concat(args, ", "))
  end
  for k, var in ipairs(s.out) do names[k] = "v" .. var end
  local first = draw.is_ref(s.args[1]) and s.args[1].var
  if s.out[1] == first then return code end
  return ("local %s = %s"):format(table.concat(names, ", "), code)
end

--- The script of a list of statements; with `smooth`, leaves want gradients.
function script.of(statements, smooth)
  local lines = {
    'local heed = require "heed"', "local ops = heed.core.ops",
  }
  for _, s in ipairs(statements) do
    lines[#lines + 1] = s.leaf and leaf(s, smooth) or call(s)
  end
  return table.concat(lines, "\n")
end

return script
