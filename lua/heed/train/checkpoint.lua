--- Checkpoints: the state of a model, its optimiser and all else that a run
-- goes on from, in one file.
--
--     train.save("run.safetensors", {model = net, optimizer = optimizer},
--       {epoch = 3})
--     local values = train.load("run.safetensors", {model = net,
--       optimizer = optimizer})
--
-- The state of the default random generator, and of all generators in the
-- fields of modules, goes along. The file is written beside the old one, synced
-- and renamed: a kill at any moment leaves one that is whole.

local check = require "heed.check"
local core = require "heed.core"
local state = require "heed.train.state"
local tree = require "heed.nn.tree"

local FORMAT <const> = "heed.train.1"

local checkpoint = {}

local is_generator <const> = check.is_generator

local function has_state(part)
  return type(part) == "table" and type(part.state_dict) == "function" and
    type(part.load_state_dict) == "function"
end

local function check_parts(func, parts)
  check.kind(func, "parts", parts, "table")
  for name, part in pairs(parts) do
    check.kind(func, "the name of a part", name, "string")
    if not is_generator(part) and not has_state(part) then
      check.fail("%s: parts.%s must have state_dict and load_state_dict, or " ..
        "be a Generator, got %s", func, name, check.show(part))
    end
  end
end

--- The generators among the parts and in the fields of modules: lists by name.
function checkpoint.find_generators(parts)
  local lists = {}
  for name, part in pairs(parts) do
    if is_generator(part) then
      lists[name] = {part}
    elseif tree.is_module(part) then
      lists[name] = tree.generators(part)
    end
  end
  return lists
end

--- The states of the default generator and of those that were found.
function checkpoint.get_generators(lists)
  local states = {default = core.get_generator_state(), inner = {}}
  for name, list in pairs(lists) do
    local inner = {}
    for i, generator in ipairs(list) do inner[i] = generator:get_state() end
    states.inner[name] = inner
  end
  return states
end

--- Sets them again. Raises when there are others.
function checkpoint.set_generators(lists, states)
  for name, list in pairs(lists) do
    local inner = states.inner[name]
    if type(inner) ~= "table" then inner = {} end
    if #inner ~= #list then
      error(("%s has %d random generators there and %d here"):format(name,
        #inner, #list), 0)
    end
    for i, generator in ipairs(list) do generator:set_state(inner[i]) end
  end
  core.set_generator_state(states.default)
end

--- Writes the state of all parts and random generators into one file.
-- @tparam string path
-- @tparam table parts objects by name: with `state_dict` and `load_state_dict`
-- (modules, optimisers, schedules, loaders), or Generators
-- @tparam[opt] table values what else to keep: numbers, texts, booleans,
-- tensors and tables of them
-- @raise when the file cannot be written (the old one stays), or for a value
-- that cannot be kept
-- @usage
-- local path, net = os.tmpname(), heed.nn.Linear(2, 2)
-- heed.train.save(path, {model = net}, {epoch = 3})
-- local epoch = heed.train.load(path, {model = net}).epoch
-- os.remove(path)
-- return epoch --> 3
function checkpoint.save(path, parts, values)
  check.kind("save", "path", path, "string")
  check_parts("save", parts)
  if values ~= nil then check.kind("save", "values", values, "table") end
  local saved = {}
  for name, part in pairs(parts) do
    if not is_generator(part) then saved[name] = part:state_dict() end
  end
  state.write(path, FORMAT, {parts = saved, values = values or {},
    generators = checkpoint.get_generators(
      checkpoint.find_generators(parts))})
end

-- Names of parts in the order in which they are loaded: optimisers last, since
-- a schedule sets the rates that it would have had, and the optimiser those
-- that it had.
local function in_order(parts)
  local names = {}
  for name, part in pairs(parts) do
    if not is_generator(part) then names[#names + 1] = name end
  end
  table.sort(names, function(a, b)
    local x, y = parts[a].groups ~= nil, parts[b].groups ~= nil
    if x ~= y then return y end
    return a < b
  end)
  return names
end

-- What a part raises is said of the file.
local function about(what, f, ...)
  local ok, text = pcall(f, ...)
  if not ok then
    check.fail("load: %s: %s", what,
      (tostring(text):gsub("^[^\n]-:%d+: ", "")))
  end
end

--- Reads a file of `save` into parts of the same names and kinds, and sets the
-- random generators: what is drawn next is what would have been drawn then.
-- @tparam string path
-- @tparam table parts as for `save`
-- @treturn table the values of `save`
-- @raise when the file cannot be read, is damaged, or does not fit the parts
-- @usage
-- local path, noise = os.tmpname(), heed.Generator(1)
-- heed.train.save(path, {noise = noise})
-- local first = heed.randn(3, {generator = noise})
-- heed.train.load(path, {noise = noise})
-- os.remove(path)
-- return first:equal(heed.randn(3, {generator = noise})) --> true
function checkpoint.load(path, parts)
  check.kind("load", "path", path, "string")
  check_parts("load", parts)
  local kept = state.read(path, FORMAT)
  if type(kept.parts) ~= "table" or type(kept.values) ~= "table" or
     type(kept.generators) ~= "table" or
     type(kept.generators.inner) ~= "table" then
    check.fail("load: %s is damaged: a part of its state is missing", path)
  end
  local names = in_order(parts)
  for _, name in ipairs(names) do
    if kept.parts[name] == nil then
      check.fail("load: %s holds no state of %s; it holds: %s", path, name,
        check.names(kept.parts))
    end
  end
  for _, name in ipairs(names) do
    about(path .. ": " .. name, parts[name].load_state_dict, parts[name],
      kept.parts[name])
  end
  about(path, checkpoint.set_generators, checkpoint.find_generators(parts),
    kept.generators)
  return kept.values
end

return checkpoint
