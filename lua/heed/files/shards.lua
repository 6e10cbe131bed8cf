--- Shards: tensors in several safetensors files, and the index that names them,
-- such as `model.safetensors.index.json`: `{"weight_map": {name: file}}`.

local check = require "heed.check"
local core = require "heed.core"
local read_file = require "heed.read_file"

local shards = {}

-- An index is small; a large file is none.
local MAX_INDEX <const> = 100000000

--- Is it the path of an index?
function shards.is_index(path)
  return type(path) == "string" and path:find "%.index%.json$" ~= nil
end

local function fail(func, path, format, ...)
  check.fail("%s: %s: %s", func, path, format:format(...))
end

-- The name of a file beside the index, and nothing that leads elsewhere.
local function is_plain(name)
  return type(name) == "string" and name ~= "" and name ~= "." and
    name ~= ".." and not name:find "[/\\%z]"
end

local function read_index(func, path)
  local file <const> = io.open(path, "rb")
  local size <const> = file and file:seek "end"
  if file then file:close() end
  if size and size > MAX_INDEX then
    fail(func, path, "an index must be at most %d bytes, got %d", MAX_INDEX,
      size)
  end
  local text <const>, reason = read_file(func, path)
  if not text then check.fail("%s", reason) end
  local index <const> = require "cjson.safe".decode(text)
  local map <const> = type(index) == "table" and index.weight_map
  if type(map) ~= "table" then
    fail(func, path, "must be a JSON object with an object weight_map")
  end
  return map
end

-- File names in order, and of each how many tensors the index gives it.
local function files_of(func, path, map)
  local counts <const>, list <const> = {}, {}
  for name, file in pairs(map) do
    if type(name) ~= "string" or not is_plain(file) then
      fail(func, path, "weight_map must name a file beside it for %q, got %q",
        name, tostring(file))
    end
    if not counts[file] then list[#list + 1] = file end
    counts[file] = (counts[file] or 0) + 1
  end
  table.sort(list)
  return list, counts
end

-- Every tensor must lie where the index says, and the files hold no others.
local function check_shard(func, path, file, names, map, count)
  for _, name in ipairs(names) do
    if map[name] ~= file then
      fail(func, path, "%s holds %q, which weight_map %s", file, name,
        map[name] and "gives to " .. map[name] or "lacks")
    end
  end
  if #names ~= count then
    local held <const> = {}
    for _, name in ipairs(names) do held[name] = true end
    for name, of in pairs(map) do
      if of == file and not held[name] then
        fail(func, path, "%s lacks %q, which weight_map gives it", file, name)
      end
    end
  end
end

--- The readers of all files of an index, or of the one file.
function shards.open(func, path, mapped)
  if not shards.is_index(path) then
    return {core.file_open(func, path, mapped)}
  end
  local map <const> = read_index(func, path)
  local list <const>, counts <const> = files_of(func, path, map)
  local folder <const> = path:match "^(.*/)" or ""
  local parts <const> = {}
  for i, file in ipairs(list) do
    parts[i] = core.file_open(func, folder .. file, mapped)
    check_shard(func, path, file, parts[i]:names(), map, counts[file])
  end
  return parts
end

return shards
