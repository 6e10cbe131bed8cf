-- json: a text of JSON with one thing in it changed, which stays JSON.

local cjson = require "cjson".new()
cjson.decode_max_depth(100)
cjson.encode_sparse_array(true, 1)
-- a version that knows how keeps empty lists apart from empty objects
if cjson.decode_array_with_array_mt then
  cjson.decode_array_with_array_mt(true)
end

local function pick(list) return list[math.random(#list)] end

-- Values that readers may not expect.
local ODD <const> = {0, 1, -1, 0.5, 1e300, -2 ^ 53, 2 ^ 31, 2 ^ 32, 1e15, "",
  "a", "\0", "\xff", "[", "(", "\u{10ffff}", ("a"):rep(300), true, false,
  cjson.null, cjson.empty_array or {}, {x = 1}, {1}, {{1}}}

-- Tables within `value`, and itself.
local function tables(value, list)
  if type(value) ~= "table" then return list end
  list[#list + 1] = value
  for _, item in pairs(value) do tables(item, list) end
  return list
end

-- The keys of a table, in an order that does not change.
local function keys_of(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

local function change(root)
  local all <const> = tables(root, {})
  local t <const> = pick(all)
  local keys <const> = keys_of(t)
  if #keys == 0 then
    t[pick {1, "x", "type"}] = pick(ODD)
    return
  end
  local key <const> = pick(keys)
  local way <const> = math.random(6)
  if way == 1 then
    if type(key) == "number" then table.remove(t, key) else t[key] = nil end
  elseif way == 2 then
    t[key] = pick(ODD)
  elseif way == 3 then -- what stands elsewhere
    local other <const> = pick(all)
    local names <const> = keys_of(other)
    local value <const> = #names > 0 and other[pick(names)]
    -- not what it lies in: JSON has no circles
    t[key] = type(value) == "table" and cjson.decode(cjson.encode(value)) or
      value
  elseif way == 4 and type(key) == "number" then
    table.insert(t, key, t[key])
  elseif way == 5 and type(key) == "string" then
    t[pick {key .. "x", key:sub(2), "type", ""}], t[key] = t[key], nil
  elseif type(t[key]) == "number" then
    t[key] = t[key] + pick {1, -1, 0.5, 1e6}
  elseif type(t[key]) == "string" then
    local s <const> = t[key]
    local at <const> = math.random(0, #s)
    t[key] = s:sub(1, at) .. pick {"", "\0", "\xff", "é", "  ", "\\p{", "#",
      "x"} .. s:sub(at + math.random(3))
  end
end

--- Changes a text; one that is no JSON gives none.
return function(text, seed)
  math.randomseed(seed)
  local value <const> = cjson.decode(text)
  for _ = 1, math.random(3) do change(value) end
  return cjson.encode(value)
end
