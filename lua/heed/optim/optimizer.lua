--- What all optimisers share: groups of parameters with their settings, and a
-- state for each parameter.
--
-- An optimiser sees a list of tensors and nothing of the network. Its groups
-- are tables that hold `params` and the settings (`lr` ...): schedules and
-- scripts may change these between steps.

local check = require "heed.check"
local core = require "heed.core"
local gradient_list = require "heed.optim.gradients"
local read_params = require "heed.optim.params"

local zeros <const> = core.ops.zeros

local Optimizer = {}
Optimizer.__index = Optimizer
Optimizer.__name = "Optimizer"

--- Makes a class of optimisers. What is still to be set:
--
--     class:update(group, tensors, step, phase)  makes a step: `tensors` is one
--                              list, of n parameters, n gradients and n tensors
--                              of each state in use, and `step` its number
--
-- and what may be:
--
--     class:check_group(group) checks settings
--     class:used(group, p)     the keys of the state in use, in order; all
--     class:start(group, p, key, state)  makes a tensor of the state; zeros
--     class:shape_of(key, p)   its shape; that of the parameter
--     class:phase(group, p, state)  parameters in the same phase (a number,
--                              text or boolean) make their step in one call;
--                              those at the same step
-- @tparam string name
-- @tparam table defaults settings with their defaults
-- @tparam table state list of {key of a tensor of the state, its name when
-- saved}
-- @treturn table class
function Optimizer.extend(name, defaults, state)
  local class = {
    __name = name, defaults = defaults, buffers = state, keys = {},
    __tostring = Optimizer.__tostring,
  }
  for i, pair in ipairs(state) do class.keys[i] = pair[1] end
  class.__index = class
  return setmetatable(class, {
    __index = Optimizer,
    __call = function(self, params, options)
      return Optimizer.new(self, params, options)
    end,
  })
end

local FLOATS <const> = {float32 = true, float64 = true}

local function check_params(name, params)
  read_params(name, params)
  if #params == 0 then check.fail("%s: params is empty", name) end
  for i = 1, #params do
    local p = params[i]
    if not check.is_tensor(p) then
      check.fail("%s: params[%d] must be a tensor, got %s", name, i,
        check.show(p))
    end
    if not FLOATS[p.dtype] or not p.is_leaf then
      check.fail("%s: params[%d] must be a float32 or float64 tensor that " ..
        "no op made, got %s", name, i,
        p.is_leaf and check.show(p) or "a result")
    end
  end
end

--- Makes an optimiser of a class.
-- @tparam table class
-- @tparam table params list of tensors, or list of groups: tables that hold
-- such a list as `params`, and settings of their own
-- @tparam[opt] table options settings for all groups that have none
function Optimizer.new(class, params, options)
  local name = class.__name
  local settings = check.options(name, options, class.defaults)
  read_params(name, params)
  local self = setmetatable({groups = {}, state = {}}, class)
  local grouped = type(params[1]) == "table"
  for _, group in ipairs(grouped and params or {{params = params}}) do
    self:add_group(group, settings)
  end
  if not grouped and #params == 0 then check_params(name, params) end
  return self
end

-- What a class has nothing to say about.
-- luacheck: push ignore self

function Optimizer:check_group() end

function Optimizer:used() return self.keys end

function Optimizer:shape_of(_, p) return p.shape end

function Optimizer:start(_, p, key)
  return zeros(self:shape_of(key, p), p.dtype)
end

function Optimizer:phase(_, _, state) return state.step end

-- luacheck: pop

-- A setting of its own: lists are copied.
local function copy(value)
  return type(value) == "table" and table.move(value, 1, #value, 1, {}) or
    value
end

--- Adds a group of parameters.
-- @tparam table group `params` and settings
-- @tparam[opt] table settings for what the group leaves out; the class's
-- defaults by default
-- @raise for a parameter that is there already, and for unknown settings
-- @usage
-- local body, head = nn.Linear(4, 8), nn.Linear(8, 2)
-- local optimizer = optim.SGD(body:parameters(), {lr = 0.1})
-- optimizer:add_group {params = head:parameters(), lr = 1.0}
function Optimizer:add_group(group, settings)
  local name = self.__name
  check.kind(name, "group", group, "table")
  check_params(name, group.params)
  local taken = {}
  for _, other in ipairs(self.groups) do
    for _, p in ipairs(other.params) do taken[p] = true end
  end
  local made, own = {}, {}
  for key, value in pairs(group) do
    if key ~= "params" then own[key] = value end
  end
  for key, value in pairs(check.options(name, own, settings or
    self.defaults)) do
    made[key] = copy(value)
  end
  made.params = {}
  for i, p in ipairs(group.params) do
    if taken[p] then
      check.fail("%s: params[%d] is given twice", name, i)
    end
    taken[p] = true
    made.params[i] = p
  end
  check.number(name, "lr", made.lr, 0)
  self:check_group(made)
  self.groups[#self.groups + 1] = made
end

--- Forgets the gradients of all parameters.
-- @usage
-- local w = heed.ones({2}, {requires_grad = true})
-- local optimizer = optim.SGD({w}, {lr = 0.1})
-- w:sum():backward()
-- optimizer:zero_grad() -- before the next backward, which would add to it
-- assert(w.grad == nil or w.grad:eq(0):all():item())
function Optimizer:zero_grad()
  for _, group in ipairs(self.groups) do
    for _, p in ipairs(group.params) do p.grad = nil end
  end
end

-- The parameters of a group that have a gradient, by the phase they are in:
-- list of {phase =, params =, grads =, states =}.
local function batches(self, group, grads)
  local list, by_phase = {}, {}
  for _, p in ipairs(group.params) do
    local grad = p.grad
    if grad then
      grads[#grads + 1] = grad
      local state = self.state[p] or {step = 0}
      self.state[p] = state
      local phase = self:phase(group, p, state)
      local batch = by_phase[phase]
      if not batch then
        batch = {phase = phase, params = {}, grads = {}, states = {}}
        by_phase[phase] = batch
        list[#list + 1] = batch
      end
      local i = #batch.params + 1
      batch.params[i], batch.grads[i], batch.states[i] = p, grad, state
    end
  end
  return list
end

-- All tensors of a batch in one list; what is missing of its state is made.
local function flatten(self, group, batch)
  local n = #batch.params
  local tensors = table.move(batch.params, 1, n, 1, {})
  table.move(batch.grads, 1, n, n + 1, tensors)
  local at = 2 * n
  for _, key in ipairs(self:used(group, batch.params[1])) do
    for i, state in ipairs(batch.states) do
      if not state[key] then
        state[key] = self:start(group, batch.params[i], key, state)
      end
      tensors[at + i] = state[key]
    end
    at = at + n
  end
  return tensors
end

--- Changes every parameter that has a gradient; the others keep their state. A
-- schedule of the rate takes its step after this one.
-- @usage
-- local w = heed.ones({2}, {requires_grad = true})
-- local optimizer = optim.SGD({w}, {lr = 0.1})
-- w:sum():backward()
-- optimizer:step()
-- return w --> 0.9 0.9
function Optimizer:step()
  local _ <close> = core.no_grad()
  for _, group in ipairs(self.groups) do
    -- closed at once: the optimiser must not keep gradients alive that the
    -- next backward makes anew
    local grads <close> = gradient_list()
    for _, batch in ipairs(batches(self, group, grads)) do
      local step = batch.states[1].step + 1
      self:update(group, flatten(self, group, batch), step, batch.phase)
      for _, state in ipairs(batch.states) do state.step = state.step + 1 end
    end
  end
end

-- Goes through all parameters with their number, from 1.
local function each(self)
  local list = {}
  for _, group in ipairs(self.groups) do
    for _, p in ipairs(group.params) do list[#list + 1] = p end
  end
  return ipairs(list)
end

--- Settings and state, for saving. Tensors share memory with the optimiser's.
-- @treturn table `settings`: numbers, strings and lists only (JSON can hold
-- them); `tensors`: by names such as `1.exp_avg`, the first parameter's
-- @usage
-- local path, state = os.tmpname(), optimizer:state_dict()
-- heed.save_safetensors(path, state.tensors)
-- os.remove(path)
function Optimizer:state_dict()
  local settings = {kind = self.__name, groups = {}, steps = {}}
  for g, group in ipairs(self.groups) do
    local saved = {count = #group.params}
    for key, value in pairs(group) do
      if key ~= "params" then saved[key] = copy(value) end
    end
    settings.groups[g] = saved
  end
  local tensors = {}
  for i, p in each(self) do
    local state = self.state[p]
    settings.steps[i] = state and state.step or 0
    for _, buffer in ipairs(self.buffers) do
      local key, name = buffer[1], buffer[2]
      if state and state[key] then
        tensors[i .. "." .. name] = state[key]
      end
    end
  end
  return {settings = settings, tensors = tensors}
end

local LOAD <const> = "load_state_dict"

local function check_state(self, settings)
  local function refuse(format, ...) check.fail(LOAD .. ": " .. format, ...) end
  if settings.kind ~= self.__name then
    refuse("the state is of %s, not of %s", check.show(settings.kind),
      self.__name)
  end
  check.kind(LOAD, "settings.groups", settings.groups, "table")
  check.kind(LOAD, "settings.steps", settings.steps, "table")
  if #settings.groups ~= #self.groups then
    refuse("the state has %d groups, the optimiser %d", #settings.groups,
      #self.groups)
  end
  for g, group in ipairs(self.groups) do
    local saved = check.kind(LOAD, ("settings.groups[%d]"):format(g),
      settings.groups[g], "table")
    if saved.count ~= #group.params then
      refuse("group %d has %s parameters in the state, %d here", g,
        check.show(saved.count), #group.params)
    end
  end
end

-- The group as the state has it: its parameters are those of here.
local function read_group(self, group, saved)
  local made = {}
  for key, value in pairs(group) do made[key] = value end
  for key, value in pairs(saved) do
    if key ~= "count" and key ~= "params" then made[key] = copy(value) end
  end
  check.number(LOAD, "lr", made.lr) -- a schedule may have it below 0
  self:check_group(made)
  return made
end

-- The state of parameter i, or nil when it has made no step.
local function read_state(self, state, i, p)
  local step = check.integer(LOAD, ("settings.steps[%d]"):format(i),
    state.settings.steps[i], 0)
  if step == 0 then return nil end
  local made = {step = step}
  for _, buffer in ipairs(self.buffers) do
    local key, name = buffer[1], buffer[2]
    local tensor = state.tensors[i .. "." .. name]
    if tensor ~= nil then
      local shape = check.shape(self:shape_of(key, p))
      check.tensor(LOAD, i .. "." .. name, tensor)
      if check.shape(tensor.shape) ~= shape then
        check.fail("load_state_dict: %d.%s must be %s for a parameter %s, " ..
          "got %s", i, name, shape, check.shape(p.shape),
          check.shape(tensor.shape))
      end
      made[key] = tensor:to(p.dtype):clone()
    end
  end
  return made
end

--- Takes over settings and state, as copies. Nothing is changed when it
-- raises.
-- @tparam table state from `state_dict` of an optimiser of this kind, with as
-- many parameters
-- @raise when the state is of another kind of optimiser, or other sizes
-- @usage
-- local saved = optimizer:state_dict()
-- optimizer:load_state_dict(saved)
function Optimizer:load_state_dict(state)
  check.kind(LOAD, "state", state, "table")
  check.kind(LOAD, "settings", state.settings, "table")
  check.kind(LOAD, "tensors", state.tensors, "table")
  check_state(self, state.settings)
  local states, groups = {}, {}
  for i, p in each(self) do states[p] = read_state(self, state, i, p) end
  for g, group in ipairs(self.groups) do
    groups[g] = read_group(self, group, state.settings.groups[g])
  end
  for g, group in ipairs(self.groups) do
    for key, value in pairs(groups[g]) do group[key] = value end
  end
  self.state = states
end

function Optimizer:__tostring()
  local lines = {}
  for g, group in ipairs(self.groups) do
    local parts = {}
    for key, value in pairs(group) do
      if type(value) == "table" and key ~= "params" then
        local shown = {}
        for i, item in ipairs(value) do shown[i] = tostring(item) end
        value = "{" .. table.concat(shown, ", ") .. "}"
      end
      if key ~= "params" then
        parts[#parts + 1] = ("%s = %s"):format(key, value)
      end
    end
    table.sort(parts)
    lines[g] = ("%s: %d parameters, %s"):format(self.__name, #group.params,
      table.concat(parts, ", "))
  end
  return table.concat(lines, "\n")
end

return Optimizer
