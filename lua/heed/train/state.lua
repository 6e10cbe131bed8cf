--- The state of objects as one file: safetensors, with what is no tensor as
-- JSON in its metadata. Nothing is lost: floats, integers and bytes come back
-- bit for bit. Loading runs no code.
--
-- In the JSON a string that begins with a mark stands for something else:
--
--     "@name"       the tensor of this name in the file
--     "=0x1.8p+1"   a number that JSON would round: every float (in base 16,
--                   inf, nan), and integers of more than 14 digits
--     "#00ff"       bytes that are not UTF-8, such as a generator's state
--     "'text"       text that itself begins with a mark

local cjson = require "cjson".new()
local check = require "heed.check"
local core = require "heed.core"
local files = require "heed.files"
local hex = require "heed.hex"

local state = {}

local MARKS <const> = "^[@=#']"

-- cjson writes 14 digits
local LARGEST <const> = 10 ^ 14

-- -- values as JSON ----------------------------------------------------------

local function pack_string(s)
  if not core.unicode.valid(s) then return "#" .. hex.encode(s) end
  return s:find(MARKS) and "'" .. s or s
end

local function pack_number(n)
  if math.type(n) == "integer" then
    return math.abs(n) < LARGEST and n ~= math.mininteger and n or "=" .. n
  end
  return ("=%a"):format(n)
end

local pack

-- A list, or names with values; other keys have no place in JSON.
local function pack_table(value, path, tensors)
  local packed = {}
  local n = #value
  for key, inner in pairs(value) do
    local whole = math.type(key) == "integer" and key >= 1 and key <= n
    local name = n == 0 and type(key) == "string" and core.unicode.valid(key)
    if not (whole or name) then
      check.fail("save: %s must be a list or have names as keys, got the " ..
        "key %s", path, check.show(key))
    end
    packed[key] = pack(inner, path .. "." .. key, tensors)
  end
  return packed
end

function pack(value, path, tensors)
  local kind = type(value)
  if check.is_tensor(value) then
    local name = path
    while tensors[name] do name = name .. "_" end
    tensors[name] = value:detach()
    return "@" .. name
  elseif kind == "string" then return pack_string(value)
  elseif kind == "number" then return pack_number(value)
  elseif kind == "boolean" then return value
  elseif kind == "table" then return pack_table(value, path, tensors)
  end
  check.fail("save: %s must be a number, text, boolean, tensor or a table " ..
    "of them, got %s", path, check.show(value))
end

local special <const> = {
  inf = math.huge, ["-inf"] = -math.huge, nan = 0.0 / 0.0,
  ["-nan"] = -(0.0 / 0.0),
}

local unpackers <const> = {
  ["="] = function(text) return special[text] or tonumber(text) end,
  ["#"] = hex.decode,
  ["'"] = function(text) return text end,
  ["@"] = function(text, tensors) return tensors[text] end,
}

local function unpack_value(value, tensors)
  if type(value) == "string" then
    local f = unpackers[value:sub(1, 1)]
    if not f then return value end
    local found = f(value:sub(2), tensors)
    if found == nil then
      error(("its state holds %s, which stands for nothing"):format(
        check.show(value)), 0)
    end
    return found
  elseif type(value) == "number" then
    return math.tointeger(value) or value
  elseif type(value) == "table" then
    for key, inner in pairs(value) do
      value[key] = unpack_value(inner, tensors)
    end
  end
  return value
end

-- -- files -------------------------------------------------------------------

--- Writes a table of values and tensors into a file, which is whole or not
-- there.
function state.write(path, format, values)
  local tensors = {}
  local packed = {}
  for key, value in pairs(values) do
    packed[key] = pack(value, key, tensors)
  end
  core.save_safetensors(path, tensors,
    {format = format, state = cjson.encode(packed)})
end

--- Reads what `write` wrote; raises for a file of another format.
function state.read(path, format)
  local tensors, metadata = files.load_safetensors(path)
  if metadata.format ~= format then
    check.fail("load: %s: format must be %s, got %s", path,
      check.show(format), check.show(metadata.format))
  end
  local ok, values = pcall(cjson.decode, metadata.state or "")
  if ok and type(values) ~= "table" then
    ok, values = false, "its state is no JSON object"
  end
  if ok then ok, values = pcall(unpack_value, values, tensors) end
  if ok then return values end
  check.fail("load: %s is damaged: %s", path, values)
end

return state
