--- Module: a part of a network that holds parameters, buffers and other
-- modules in its fields.
--
--     local Net = nn.Module:extend("Net")
--
--     function Net:init(width)
--       self.hidden = nn.Linear(4, width)
--       self.out = nn.Linear(width, 2)
--     end
--
--     function Net:forward(x)                  -- x [B 4]
--       return self.out(F.relu(self.hidden(x)))  -- [B 2]
--     end
--
--     local net = Net(16)
--     local y = net(x)
--
-- A field that holds a tensor with `requires_grad` is a parameter, and stays
-- one when it is frozen; a buffer is made by `register_buffer`. Everything is
-- found in the order in which the fields were first set. Names are those of
-- PyTorch: `layers[1].weight` is called `layers.0.weight`.

local check = require "heed.check"
local core = require "heed.core"
local call = require "heed.nn.call"
local hooks = require "heed.nn.hooks"
local match_state = require "heed.nn.match_state"
local tree = require "heed.nn.tree"

--- The class that all modules extend; see `heed.nn` for how one is written.
-- @function Module
-- @usage
-- local Double = nn.Module:extend("Double")
-- function Double:forward(x) return 2 * x end
-- local y = Double()(heed.ones(2)) --> 2 2
local Module = {}
Module.__index = Module
Module.__name = "Module"
Module.__call = call.module
Module.__newindex = tree.set
Module.__tostring = require "heed.nn.describe".tree

local function construct(class, ...)
  local self = tree.new(class)
  self:init(...)
  return self
end

local function class_name(class) return "class " .. class.__name end

local is_class <const> = {__call = construct, __tostring = class_name}

--- Makes a class of modules below this one. `init` is its constructor, called
-- as `Class(...)`; `Class.super` is the class above.
-- @tparam string name as it shall stand in messages and in print
-- @treturn table the class
-- @usage local Net = nn.Module:extend("Net")
function Module:extend(name)
  check.kind("extend", "name", name, "string")
  local class = {__name = name, super = self}
  for _, event in ipairs {"__call", "__newindex", "__tostring", "__pairs",
    "__len"} do
    class[event] = rawget(self, event)
  end
  class.__index = self.make_index and self.make_index(class) or class
  return setmetatable(class, {
    __index = self, __call = construct, __tostring = class_name,
  })
end

setmetatable(Module, is_class)

--- The constructor of a class that has none: takes nothing, sets nothing.
function Module:init() end -- luacheck: ignore self

--- What calling the module computes. Every class has its own.
-- @raise for a class that has none
-- @usage
-- local Twice = nn.Module:extend("Twice")
-- function Twice:forward(x) return x * 2 end
-- Twice()(heed.ones(2)) --> 2 2
function Module:forward()
  check.fail("%s: has no forward", self.__name)
end

--- A short text for print, such as "20, 8": what a class adds in brackets.
-- @treturn string
-- @usage print(nn.Linear(20, 8):extra()) -- 20, 8
function Module:extra() return "" end -- luacheck: ignore self

-- -- what is inside ----------------------------------------------------------

--- The parameters, each once, also when several fields hold it.
-- @treturn table list of tensors
-- @usage local optimizer = optim.Adam(net:parameters())
function Module:parameters()
  local list = {}
  for i, entry in ipairs(tree.tensors(self, "parameter")) do
    list[i] = entry.tensor
  end
  return list
end

local function pairs_of(entries, field)
  local i = 0
  return function()
    i = i + 1
    local entry = entries[i]
    if entry then return entry.name, entry[field] end
  end
end

--- Goes through names and parameters, each once.
-- @treturn function iterator
-- @usage for name, p in net:named_parameters() do print(name, p) end
function Module:named_parameters()
  return pairs_of(tree.tensors(self, "parameter"), "tensor")
end

--- Goes through names and buffers.
-- @treturn function iterator
-- @usage
-- for name in nn.BatchNorm1d(4):named_buffers() do print(name) end
function Module:named_buffers()
  return pairs_of(tree.tensors(self, "buffer"), "tensor")
end

--- Goes through the keys and values of the fields that are modules.
-- @treturn function iterator
-- @usage for key, child in net:named_children() do print(key) end
function Module:named_children()
  return pairs_of(tree.children(self), "module")
end

--- The modules in the fields.
-- @treturn table list
-- @usage print(#net:children())
function Module:children()
  local list = {}
  for i, entry in ipairs(tree.children(self)) do list[i] = entry.module end
  return list
end

--- Goes through this module, by the name "", and all below it, each once.
-- @treturn function iterator
-- @usage
-- for name, module in net:named_modules() do print(name, module) end
function Module:named_modules()
  return pairs_of(tree.modules(self), "module")
end

--- This module and all below it, each once.
-- @treturn table list
-- @usage print(#net:modules())
function Module:modules()
  local list = {}
  for i, entry in ipairs(tree.modules(self)) do list[i] = entry.module end
  return list
end

--- How many numbers the parameters hold.
-- @tparam[opt] table options `trainable = true`: only those that want
-- gradients
-- @treturn integer
-- @usage nn.Linear(20, 8):num_parameters() --> 168
function Module:num_parameters(options)
  check.keys("num_parameters", options, {trainable = false})
  local count = 0
  for _, p in ipairs(self:parameters()) do
    if not (options and options.trainable) or p.requires_grad then
      count = count + p:numel()
    end
  end
  return count
end

--- Makes a field a buffer: a tensor that belongs to the module's state but is
-- not trained.
-- @tparam string name of the field
-- @param tensor its value
-- @tparam[opt] table options `persistent = false` leaves it out of
-- `state_dict`
-- @usage self:register_buffer("running_mean", heed.zeros(8))
function Module:register_buffer(name, tensor, options)
  local o = check.options("register_buffer", options, {persistent = true})
  check.kind("register_buffer", "name", name, "string")
  check.tensor("register_buffer", name, tensor)
  tree.set_buffer(self, name, tensor, o.persistent)
end

-- -- changes to all of it ----------------------------------------------------

local function apply(self, f, above)
  if above[self] then return end
  above[self] = true
  for _, entry in ipairs(tree.children(self)) do
    apply(entry.module, f, above)
  end
  above[self] = nil
  f(self)
end

--- Calls a function with every module, those inside before those around them;
-- with one that stands in several places once for each.
-- @tparam function f takes a module
-- @return the module
-- @usage net:apply(function(m) m.training = false end)
function Module:apply(f)
  check.callable("apply", "f", f)
  apply(self, f, {})
  return self
end

--- Sets the module and all below it to training or to evaluation.
-- @tparam[opt=true] boolean mode
-- @return the module
-- @usage net:train()
function Module:train(mode)
  if mode == nil then mode = true end
  check.kind("train", "mode", mode, "boolean")
  for _, entry in ipairs(tree.modules(self)) do
    rawset(entry.module, "training", mode)
  end
  return self
end

--- Sets the module and all below it to evaluation: dropout does nothing.
-- @return the module
-- @usage net:eval()
function Module:eval() return self:train(false) end

--- Forgets the gradients of all parameters.
-- @usage
-- net(heed.randn(2, 4)):sum():backward()
-- net:zero_grad()
function Module:zero_grad()
  for _, p in ipairs(self:parameters()) do p.grad = nil end
end

--- Turns gradients of all parameters on or off.
-- @tparam[opt=true] boolean on
-- @return the module
-- @usage net[1]:requires_grad_(false)
function Module:requires_grad_(on)
  if on == nil then on = true end
  check.kind("requires_grad_", "on", on, "boolean")
  for _, p in ipairs(self:parameters()) do p.requires_grad = on end
  return self
end

--- Turns gradients of all parameters off; they stay parameters.
-- @return the module
-- @usage net[1]:freeze()
function Module:freeze() return self:requires_grad_(false) end

--- Turns gradients of all parameters on.
-- @return the module
-- @usage net[1]:freeze():unfreeze()
function Module:unfreeze() return self:requires_grad_(true) end

local FLOATS <const> = {
  float16 = true, bfloat16 = true, float32 = true, float64 = true,
}

--- Puts parameters and buffers of floats into another dtype. The fields hold
-- new tensors afterwards: make the optimiser after this, not before. In the
-- halves `"float16"` and `"bfloat16"` the model takes half the memory, but
-- computes and returns float32, and optimisers refuse it.
-- @tparam string dtype of floats
-- @return the module
-- @raise when dtype is no float
-- @usage net:to("float64")
function Module:to(dtype)
  if not FLOATS[dtype] then
    check.fail('to: dtype must be "float16", "bfloat16", "float32" or ' ..
      '"float64", got %s', check.show(dtype))
  end
  tree.replace(self, function(tensor)
    if tensor.dtype == dtype or not FLOATS[tensor.dtype] then
      return tensor
    end
    local new = tensor:detach():to(dtype)
    new.requires_grad = tensor.requires_grad
    return new
  end)
  return self
end

--- A copy with tensors of its own. What is shared inside stays shared inside.
-- @return module
-- @usage local teacher = net:clone():freeze()
function Module:clone() return tree.clone(self) end

-- -- hooks -------------------------------------------------------------------

--- Runs a function before every forward of the module: `f(module, ...)` with
-- what the module was called with. What it returns, unless that begins with
-- nil, stands in place of that. Calls of `module:forward` itself run no hooks.
-- @tparam function f
-- @return handle; `handle:remove()` ends it
-- @usage local handle = net:register_forward_pre_hook(function(_, x)
--   return x * 2
-- end)
function Module:register_forward_pre_hook(f)
  check.callable("register_forward_pre_hook", "f", f)
  return hooks.add(self, "before", f)
end

--- Runs a function after every forward of the module: `f(module, args, ...)`
-- with a list of what the module was called with (`args.n` values), and what
-- forward returned. What it returns, unless that begins with nil, stands in
-- place of that. The gradient of a result is seen by the result's own
-- `register_hook`.
-- @tparam function f
-- @return handle; `handle:remove()` ends it
-- @usage local shapes = {}
-- net:register_forward_hook(function(m, _, y) shapes[m] = y.shape end)
function Module:register_forward_hook(f)
  check.callable("register_forward_hook", "f", f)
  return hooks.add(self, "after", f)
end

-- -- weights in and out ------------------------------------------------------

--- Parameters and persistent buffers by name. The tensors share memory with
-- the module's; `pairs` gives them in order. A tensor that several fields
-- share is listed once, by its first name.
-- @tparam[opt] table options `aliases = true` lists shared tensors by all of
-- their names, which PyTorch wants when it loads them
-- @treturn table tensors by name
-- @usage
-- local path = os.tmpname()
-- heed.save_safetensors(path, net:state_dict())
-- os.remove(path)
function Module:state_dict(options)
  check.keys("state_dict", options, {aliases = false})
  local state = tree.ordered()
  local entries = tree.tensors(self, "state", options and options.aliases)
  for _, entry in ipairs(entries) do
    tree.add(state, entry.name, entry.tensor:detach())
  end
  return state
end

--- Copies tensors into the parameters and buffers of these names. Nothing is
-- changed when it raises.
-- @tparam table state tensors by name, as from `state_dict` or
-- `heed.load_safetensors`
-- @tparam[opt] table options `strict = false` allows missing and unexpected
-- names
-- @treturn table missing names
-- @treturn table unexpected names
-- @raise one error that lists all missing and unexpected names and all shapes
-- that differ
-- @usage
-- local path = os.tmpname()
-- heed.save_safetensors(path, net:state_dict())
-- net:load_state_dict(heed.load_safetensors(path))
-- os.remove(path)
function Module:load_state_dict(state, options)
  local o = check.options("load_state_dict", options, {strict = true})
  check.kind("load_state_dict", "state", state, "table")
  local plan, missing, unexpected = match_state(self, state, o.strict)
  local _ <close> = core.no_grad()
  for _, pair in ipairs(plan) do pair[1]:copy_(pair[2]) end
  return missing, unexpected
end

return Module
