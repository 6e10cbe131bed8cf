--- case: one file of reference values, read into what heed counts in.

local cjson = require "cjson"
local heed = require "heed"

local case = {}

local Case = {}
Case.__index = Case

-- Values of JSON as Lua's own: null is nil, a whole number an integer.
local function to_lua(value)
  if value == cjson.null then return nil end
  if type(value) == "number" then return math.tointeger(value) or value end
  if type(value) ~= "table" then return value end
  local copy = {}
  for k, v in pairs(value) do copy[k] = to_lua(v) end
  return copy
end

local roles = {
  input = true, weight = true, output = true, upstream = true, grad = true,
}

-- Sorts "role.name" into self.role[name].
local function sort_tensors(self, tensors)
  for role in pairs(roles) do self[role] = {} end
  self.index = {}
  for name, t in pairs(tensors) do
    local role, rest = name:match("^(%a+)%.(.+)$")
    if role == "index" then
      self.index[rest] = t
    elseif roles[role] then
      self[role][rest] = t
    else
      error(("%s: tensor %s has an unknown role"):format(self.name, name))
    end
  end
end

--- Reads a file.
-- @tparam string path
-- @tparam string name of the case
function case.read(path, name)
  local tensors, metadata = heed.load_safetensors(path)
  local self = setmetatable({
    name = name, op = metadata.op, family = metadata.family,
    what = metadata.what,
    params = to_lua(cjson.decode(metadata.params)),
    samples = metadata.samples and cjson.decode(metadata.samples) or {},
    tolerance = {
      atol = tonumber(metadata.atol), rtol = tonumber(metadata.rtol),
    },
    dtype = metadata.computed_in,
  }, Case)
  sort_tensors(self, tensors)
  return self
end

-- Fresh copies of inputs or weights in the dtype to compute in; those with a
-- gradient to check want one.
local function prepare(self, tensors, leaves)
  local ready = {}
  for name, t in pairs(tensors) do
    if t.dtype:find("^float") then
      t = heed.tensor(t, {
        dtype = self.dtype, requires_grad = self.grad[name] ~= nil,
      })
      leaves[name] = t
    elseif t.dtype == "bool" and self.family == "nn" then
      t = ~t -- there, true is blocked
    end
    ready[name] = t
  end
  return ready
end

--- The elements of a tensor that are stored: all, or some of a large one, whose
-- shape is checked.
function Case:sample(key, t)
  local index = self.index[key]
  if not index then return t end
  local got, want = t.shape, self.samples[key]
  for d = 1, math.max(#got, #want) do
    if got[d] ~= want[d] then
      error(("%s: got shape [%s], want [%s]"):format(key,
        table.concat(got, " "), table.concat(want, " ")), 0)
    end
  end
  return t:detach():flatten():index_select(index + 1)
end

--- What one call of the op works on: `input`, `weight`, `params`, `dtype`; the
-- case itself as `stored`; and `leaves`, where gradients will be looked for by
-- name.
function Case:fresh()
  local leaves = {}
  local fresh = {
    params = self.params, dtype = self.dtype, leaves = leaves,
    input = prepare(self, self.input, leaves),
    weight = prepare(self, self.weight, leaves),
    wants = self.output, samples = self.samples, stored = self,
  }

  --- Moves a module to the case's dtype and loads the weights whose names start
  -- with `prefix`; its parameters are where their gradients will be.
  function fresh.load(module, prefix)
    prefix = prefix or ""
    module:to(fresh.dtype)
    local state = {}
    for name, t in pairs(fresh.weight) do
      if name:sub(1, #prefix) == prefix then
        state[name:sub(#prefix + 1)] = t:detach()
      end
    end
    module:load_state_dict(state)
    for name, p in module:named_parameters() do leaves[prefix .. name] = p end
    return module
  end

  return fresh
end

return case
