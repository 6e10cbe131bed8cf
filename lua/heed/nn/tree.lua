--- The fields of modules: which are parameters, buffers and modules, and in
-- which order they were set. For module.lua and what shows modules.

local check = require "heed.check"
local core = require "heed.core"

local tree = {}

-- Keys of a module that no user has: the list of its fields, and what each is:
-- "parameter", "buffer", "transient" (a buffer outside of the state), "field".
local FIELDS <const> = setmetatable({}, {__name = "fields"})
local KINDS <const> = setmetatable({}, {__name = "kinds"})

--- The key of a module's hooks, see hooks.lua; false: it has none.
tree.HOOKS = setmetatable({}, {__name = "hooks"})
local HOOKS <const> = tree.HOOKS

local is_tensor <const> = check.is_tensor

--- A module of a class, without fields.
function tree.new(class)
  local self = {[FIELDS] = {}, [KINDS] = {}, [HOOKS] = false, training = true}
  return setmetatable(self, class)
end

--- Is the value a module?
-- @usage print(heed.nn.is_module(net)) -- true
function tree.is_module(value)
  return type(value) == "table" and rawget(value, FIELDS) ~= nil
end

local is_module <const> = tree.is_module

local function is_parameter(value)
  return is_tensor(value) and value.requires_grad and value.is_leaf
end

-- Notes that a field exists, and what it is.
local function note(self, key, kind)
  local kinds = self[KINDS]
  if kinds[key] == nil then
    local fields = self[FIELDS]
    fields[#fields + 1] = key
  end
  kinds[key] = kind
end

--- Sets a field that is not there yet (`__newindex`).
function tree.set(self, key, value)
  rawset(self, key, value)
  local kind = self[KINDS][key]
  if is_parameter(value) then
    note(self, key, "parameter")
  elseif kind == nil then
    note(self, key, "field")
  end
end

--- Sets a field and makes it a buffer.
function tree.set_buffer(self, key, value, persistent)
  rawset(self, key, value)
  note(self, key, persistent and "buffer" or "transient")
end

-- What a field is now. One that has been a parameter stays one, frozen or
-- not, and one that became one after it was set is found here.
local function kind_of(self, key, value)
  if is_module(value) then return "module" end
  if not is_tensor(value) then return "field" end
  local kinds = self[KINDS]
  if kinds[key] == "field" and is_parameter(value) then
    kinds[key] = "parameter"
  end
  if kinds[key] == "parameter" and not value.is_leaf then return "field" end
  return kinds[key]
end

-- Goes through key, value and kind of the fields, in order.
local function fields_of(self)
  local fields, i = self[FIELDS], 0
  return function()
    local value
    repeat
      i = i + 1
      value = rawget(self, fields[i])
    until value ~= nil or i > #fields
    if i <= #fields then
      return fields[i], value, kind_of(self, fields[i], value)
    end
  end
end

-- The name of a field below a prefix: positions count from 0, as in PyTorch.
function tree.join(prefix, key)
  if math.type(key) == "integer" then key = key - 1 end
  return prefix == "" and tostring(key) or prefix .. "." .. tostring(key)
end

--- The modules in the fields of a module, {name = key, module =}.
function tree.children(self)
  local list = {}
  for key, value, kind in fields_of(self) do
    if kind == "module" then list[#list + 1] = {name = key, module = value} end
  end
  return list
end

local function add_modules(self, prefix, list, seen)
  if seen[self] then return end
  seen[self] = true
  list[#list + 1] = {name = prefix, module = self}
  for key, value, kind in fields_of(self) do
    if kind == "module" then
      add_modules(value, tree.join(prefix, key), list, seen)
    end
  end
end

--- A module and all below it, each once, {name =, module =}.
function tree.modules(self)
  local list = {}
  add_modules(self, "", list, {})
  return list
end

local wanted <const> = {
  parameter = {parameter = true},
  buffer = {buffer = true, transient = true},
  state = {parameter = true, buffer = true},
}

-- `above` holds the modules that the walk is inside of: one that holds a
-- module above itself must not send it round in circles.
local function add_tensors(self, prefix, walk, above)
  if above[self] then return end
  above[self] = true
  for key, value, kind in fields_of(self) do
    if kind == "module" then
      add_tensors(value, tree.join(prefix, key), walk, above)
    elseif walk.wanted[kind] and (walk.aliases or not walk.seen[value]) then
      walk.seen[value] = true
      walk.list[#walk.list + 1] = {
        name = tree.join(prefix, key), tensor = value, module = self, key = key}
    end
  end
  above[self] = nil
end

--- The tensors of a kind ("parameter", "buffer", or "state" for what is
-- saved), {name =, tensor =, module =, key =}; each once, or by all names.
function tree.tensors(self, kind, aliases)
  if not is_module(self) then
    check.fail("Module: a method was called on %s; with a colon, as in "
      .. "net:parameters(), it gets its module", check.show(self))
  end
  local walk = {wanted = wanted[kind], aliases = aliases, list = {},
    seen = {}}
  add_tensors(self, "", walk, {})
  return walk.list
end

--- Puts f(tensor) in the place of every parameter and buffer; what was shared
-- stays shared.
function tree.replace(self, f)
  local new = {}
  for _, kind in ipairs {"parameter", "buffer"} do
    for _, entry in ipairs(tree.tensors(self, kind, true)) do
      local old = entry.tensor
      new[old] = new[old] or f(old)
      rawset(entry.module, entry.key, new[old])
    end
  end
end

local keys <const> = {[FIELDS] = true, [KINDS] = true, [HOOKS] = true}

-- Classes, of modules as of others, are tables that index themselves, or
-- what their kind of module looks things up with.
local function is_class(value)
  return rawget(value, "__index") ~= nil
end

local function copy(value, copies)
  if copies[value] ~= nil then return copies[value] end
  if is_tensor(value) then
    local new = value:detach():clone()
    if value.is_leaf then new.requires_grad = value.requires_grad end
    copies[value] = new
    return new
  end
  if type(value) ~= "table" or keys[value] or is_class(value) then
    return value
  end
  local new = {}
  copies[value] = new
  for key, inner in next, value do
    new[copy(key, copies)] = copy(inner, copies)
  end
  return setmetatable(new, getmetatable(value))
end

--- A deep copy of a module; classes, functions and generators are shared, and
-- so are the tensors of the list `shared`.
function tree.clone(self, shared)
  local copies = {}
  for _, tensor in ipairs(shared or {}) do copies[tensor] = tensor end
  return copy(self, copies)
end

local generator_meta <const> = debug.getmetatable(core.Generator(0))

local function add_generators(value, list, seen)
  if seen[value] then return end
  if debug.getmetatable(value) == generator_meta then
    seen[value] = true
    list[#list + 1] = value
  elseif type(value) == "table" and not is_class(value) then
    seen[value] = true
    if is_module(value) then
      for _, inner in fields_of(value) do
        add_generators(inner, list, seen)
      end
    else
      for _, inner in next, value do add_generators(inner, list, seen) end
    end
  end
end

--- The random generators in the fields of a module and below, each once.
function tree.generators(self)
  local list = {}
  add_generators(self, list, {})
  return list
end

local function find(self, below, path, seen)
  if seen[self] then return false end
  seen[self] = true
  for _, child in ipairs(tree.children(self)) do
    path[#path + 1] = math.type(child.name) == "integer" and
      ("[%d]"):format(child.name) or "." .. tostring(child.name)
    if child.module == below or find(child.module, below, path, seen) then
      return true
    end
    path[#path] = nil
  end
  return false
end

--- Where a module stands below another, as `.layers[2]`, or "".
function tree.path(self, below)
  local path = {}
  find(self, below, path, {})
  return table.concat(path)
end

-- -- tables whose pairs come in order ----------------------------------------

local names_of <const> = setmetatable({}, {__mode = "k"})

local ordered <const> = {__name = "heed.state"}

function ordered.__pairs(state)
  local names, i = names_of[state], 0
  return function()
    i = i + 1
    if names[i] then return names[i], state[names[i]] end
  end
end

--- An empty table that `tree.add` fills and whose `pairs` come in that order.
function tree.ordered()
  local state = setmetatable({}, ordered)
  names_of[state] = {}
  return state
end

--- Adds a value under a new name.
function tree.add(state, name, value)
  local names = names_of[state]
  names[#names + 1] = name
  state[name] = value
end

return tree
