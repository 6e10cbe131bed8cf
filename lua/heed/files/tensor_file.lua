--- TensorFile: a file of named tensors, read as they are asked for.
--
-- `heed.open_safetensors` and `heed.open_npz` give one. Its fields: `path`;
-- `names`, a list in the order of the file; `metadata`, a table of strings.
-- `#file` is the number of tensors, `for name, tensor in pairs(file)` reads one
-- after the other. It closes at the end of a `<close>` variable, by `close`, or
-- when it is collected.

local check = require "heed.check"
local shards = require "heed.files.shards"

local TensorFile = {__name = "TensorFile"}
TensorFile.__index = TensorFile

-- Where the tensors lie: readers and positions in them, by name.
local function places_of(parts)
  local places, names, metadata = {}, {}, {}
  for _, reader in ipairs(parts) do
    for i, name in ipairs(reader:names()) do
      names[#names + 1] = name
      places[name] = {reader = reader, at = i}
    end
    for key, value in pairs(reader:metadata()) do metadata[key] = value end
  end
  return places, names, metadata
end

--- Opens a file, or all files of an index; `func` is the function that messages
-- name; `mapped` is for safetensors.
function TensorFile.open(func, path, mapped)
  local parts <const> = shards.open(func, path, mapped)
  local places <const>, names <const>, metadata <const> = places_of(parts)
  return setmetatable({path = path, names = names, metadata = metadata,
    parts = parts, places = places}, TensorFile)
end

local function find(self, func, name)
  check.kind(func, "name", name, "string")
  if not self.parts then
    check.fail("%s: the file %s is closed", func, self.path)
  end
  local place <const> = self.places[name]
  if not place then
    check.fail("%s: name %s is not in %s", func, check.show(name), self.path)
  end
  return place
end

--- What a tensor is, without reading its elements.
-- @tparam string name
-- @treturn string dtype
-- @treturn table shape
-- @raise when there is no tensor of this name
-- @usage
-- local path = os.tmpname()
-- heed.save_safetensors(path, {w = heed.ones {2, 3}})
-- local dtype, shape = heed.open_safetensors(path):info "w"; dtype --> float32
function TensorFile:info(name)
  local place <const> = find(self, "info", name)
  return place.reader:info(place.at)
end

-- Rows first .. last of n, counted from 1 or from the end.
local function check_rows(n, first, last)
  local from = check.integer("get", "first", first)
  local to = check.integer("get", "last", last == nil and first or last)
  if from < 0 then from = from + n + 1 end
  if to < 0 then to = to + n + 1 end
  if from < 1 or to > n or from > to + 1 then
    check.fail("get: rows %d to %d must lie within the %d there are", first,
      last or first, n)
  end
  return from, to
end

--- Reads a tensor, or only some of its rows from a safetensors file. Of a
-- mapped file it is a view of it, and nothing is read yet.
-- @tparam string name
-- @tparam[opt] integer first row, from 1 or negative from the end
-- @tparam[opt] integer last row, `first` by default
-- @return tensor
-- @raise when there is no tensor of this name, or there are no such rows; when
-- the file was cut short
-- @usage
-- local path = os.tmpname()
-- heed.save_safetensors(path, {w = heed.tensor {{1, 2}, {3, 4}, {5, 6}}})
-- heed.open_safetensors(path):get("w", 2, -1) --> 3 4 5 6
function TensorFile:get(name, first, last)
  local place <const> = find(self, "get", name)
  if first == nil then return place.reader:load(place.at) end
  local _, shape = place.reader:info(place.at)
  if self.path:find "%.npz$" then
    check.fail("get: rows alone are read of safetensors, got %s", self.path)
  elseif #shape == 0 then
    check.fail("get: %s has no rows, its shape is []", check.show(name))
  end
  local from <const>, to <const> = check_rows(shape[1], first, last)
  return place.reader:load(place.at, from, to - from + 1)
end

--- Closes the file; tensors that were read stay.
-- @usage
-- local path = os.tmpname()
-- heed.save_safetensors(path, {})
-- heed.open_safetensors(path):close()
function TensorFile:close()
  for _, reader in ipairs(self.parts or {}) do reader:close() end
  self.parts = nil
end

TensorFile.__close = TensorFile.close

function TensorFile:__len() return #self.names end

function TensorFile:__pairs()
  local i = 0
  return function()
    i = i + 1
    local name <const> = self.names[i]
    if name then return name, self:get(name) end
    return nil
  end
end

function TensorFile:__tostring()
  return ("TensorFile %s (%d tensors)"):format(self.path, #self.names)
end

return TensorFile
