--- heed.autograd: what goes beyond `t:backward()`.
--
-- Functions with a backward rule in Lua, recomputing instead of keeping,
-- products with Jacobians and Hessians, and a mode that finds the first NaN.

local check = require "heed.check"
local core = require "heed.core"

local autograd = {
  grad = core.grad, no_grad = core.no_grad, enable_grad = core.enable_grad,
  is_grad_enabled = core.is_grad_enabled,
}

local is_tensor <const> = check.is_tensor

-- The tensors of a list of any values, and where they stand.
local function tensors_of(list)
  local tensors, at = {}, {}
  for i = 1, list.n do
    if is_tensor(list[i]) then
      tensors[#tensors + 1] = list[i]
      at[#at + 1] = i
    end
  end
  return tensors, at
end

-- -- functions with a rule of their own --------------------------------------

local Context = {}
Context.__index = Context

--- Keeps tensors for the backward pass, where `ctx:saved()` gives them back.
-- Inputs and results may be saved; other values are simply set as fields.
-- @param ... tensors
-- @usage local double = heed.autograd.Function {
--   forward = function(ctx, x) ctx:save(x) return x * 2 end,
--   backward = function(_, g) return g * 2 end,
-- }
-- return double(heed.ones(2)) --> 2 2
function Context:save(...)
  local list = table.pack(...)
  for i = 1, list.n do check.tensor("save", "tensor " .. i, list[i]) end
  list.n = nil
  self.list = list
end

--- Returns the tensors of `ctx:save`, in their order. It is an error when one
-- has been overwritten since.
-- @usage local square = heed.autograd.Function {
--   forward = function(ctx, x) ctx:save(x) return x * x end,
--   backward = function(ctx, g) return 2 * g * ctx:saved() end,
-- }
-- local x = heed.full({1}, 3.0, {requires_grad = true})
-- square(x):backward()
-- return x.grad --> 6
function Context:saved()
  return table.unpack(self.kept or self.list or {})
end

local Function = {}
Function.__index = Function

-- Backward gives a gradient for each argument; C wants those of tensors only.
local function pick(at, ...)
  local gradients = {}
  local given <const> = select("#", ...)
  for k, i in ipairs(at) do
    gradients[k] = i <= given and (select(i, ...)) or nil
  end
  return table.unpack(gradients, 1, #at)
end

local function rule_of(self, at)
  return function(context, kept, _, ...)
    context.kept = kept
    return pick(at, self.backward(context, ...))
  end
end

--- Runs the forward rule and, when an input wants gradients, records the call.
-- @param ... arguments of forward; gradients go to the tensors among them
-- @return what forward returns: 1 to 4 tensors
function Function:__call(...)
  local args = table.pack(...)
  local inputs, at = tensors_of(args)
  local context = setmetatable({}, Context)
  local results = table.pack(core.no_grad(self.forward, context, ...))
  local wanted = false
  for _, t in ipairs(inputs) do wanted = wanted or t.requires_grad end
  if not wanted or not core.is_grad_enabled() then
    return table.unpack(results, 1, results.n)
  end
  for k = 1, results.n do
    check.tensor(self.name, "result " .. k .. " of forward", results[k])
  end
  local saved <const> = context.list or {}
  context.list = nil
  return core.custom(inputs, {table.unpack(results, 1, results.n)}, saved,
    {rule_of(self, at), context})
end

--- Returns a function with a backward rule of its own, for what cannot be
-- composed of ops or is better differentiated by hand.
-- @tparam table rules `forward(ctx, ...)`: returns 1 to 4 tensors, runs
-- without recording; `backward(ctx, gradient, ...)`: takes a gradient for each
-- result, returns one, or nil, for each argument of forward. It may be
-- differentiated again if it is written with ops. `name`: for messages,
-- "Function" by default
-- @return a callable
-- @raise when a rule is missing; backward raises when a gradient does not have
-- the shape and dtype of its input
-- @usage local cube = heed.autograd.Function {
--   forward = function(ctx, x) ctx:save(x) return x ^ 3 end,
--   backward = function(ctx, g) return g * 3 * ctx:saved() ^ 2 end,
-- }
-- local x = heed.tensor({2}, {dtype = "float32", requires_grad = true})
-- cube(x):sum():backward()
-- return x.grad --> 12
function autograd.Function(rules)
  check.types("Function", rules, {
    forward = "function", backward = "function", name = "string",
  })
  check.kind("Function", "forward", (rules or {}).forward, "function")
  check.kind("Function", "backward", rules.backward, "function")
  return setmetatable({
    forward = rules.forward, backward = rules.backward,
    name = rules.name or "Function",
  }, Function)
end

-- -- checkpoints -------------------------------------------------------------

-- The function again, on inputs cut off from the graph, with the random
-- numbers of the first time.
local function recompute(context, inputs, args, at)
  local state <const> = core.get_generator_state()
  core.set_generator_state(context.state)
  for k, i in ipairs(at) do
    local copy = inputs[k]:detach()
    copy.requires_grad = inputs[k].requires_grad
    args[i] = copy
  end
  local results = table.pack(core.enable_grad(context.f,
    table.unpack(args, 1, args.n)))
  core.set_generator_state(state)
  return results
end

local function checkpoint_rule(context, kept, wants_leaves, ...)
  if not wants_leaves then
    check.fail("checkpoint: works with backward, not with heed.grad, which "
      .. "would miss the parameters that the function uses")
  end
  local args <const> = context.args
  local results = recompute(context, kept, args, context.at)
  local outputs, gradients = {}, {}
  for k = 1, results.n do
    if results[k].requires_grad then
      outputs[#outputs + 1] = results[k]
      gradients[#gradients + 1] = (select(k, ...))
    end
  end
  core.backward_all(outputs, gradients)
  local found = {}
  for k, i in ipairs(context.at) do
    found[k] = args[i].grad
    args[i] = false
  end
  return table.unpack(found, 1, #context.at)
end

--- Runs f(...) without keeping what is inside for the backward pass, which
-- runs f once more instead: memory for time (Chen et al., 2016). Random
-- numbers of the default generator, so dropout, come out the same.
-- @tparam function f returns 1 to 4 tensors; tensors with a history must be
-- arguments, parameters may be used from outside
-- @param ... any values: its arguments
-- @return what f returns
-- @raise when f returns something else; in backward by `heed.grad`
-- @usage local x = heed.ones({2}, {requires_grad = true})
-- heed.autograd.checkpoint(function(t) return t:exp():sin() end, x)
--   :sum():backward()
function autograd.checkpoint(f, ...)
  check.callable("checkpoint", "f", f)
  if not core.is_grad_enabled() then return f(...) end
  local args = table.pack(...)
  local inputs, at = tensors_of(args)
  local context = {f = function(...) return f(...) end, args = args, at = at,
    state = core.get_generator_state()}
  local results = table.pack(core.no_grad(context.f, ...))
  for k = 1, results.n do
    check.tensor("checkpoint", "result " .. k .. " of f", results[k])
  end
  -- parameters that f uses from outside are seen by nobody, so that the call
  -- must be recorded in any case: through an input that wants a gradient
  inputs[#inputs + 1] = core.ops.zeros({}, {requires_grad = true})
  local saved = {table.unpack(inputs, 1, #at)}
  for _, i in ipairs(at) do args[i] = false end
  return core.custom(inputs, {table.unpack(results, 1, results.n)}, saved,
    {checkpoint_rule, context})
end

-- -- products with Jacobians -------------------------------------------------

-- f's tensor results, and its inputs as leaves that want gradients.
local function run_on_leaves(name, f, inputs)
  check.callable(name, "f", f)
  if is_tensor(inputs) then inputs = {inputs} end
  if type(inputs) ~= "table" then
    check.fail("%s: inputs must be a tensor or a list of tensors, got %s",
      name, check.show(inputs))
  end
  local leaves = {}
  for i, t in ipairs(inputs) do
    check.tensor(name, "input " .. i, t)
    leaves[i] = t:detach()
    leaves[i].requires_grad = true
  end
  local y = core.enable_grad(f, table.unpack(leaves))
  check.tensor(name, "the result of f", y)
  return y, leaves
end

local function or_zeros(gradients, leaves)
  for i, x in ipairs(leaves) do
    gradients[i] = gradients[i] or
      core.ops.zeros(x.shape, {dtype = x.dtype})
  end
  return gradients
end

local function single(inputs, list)
  if is_tensor(inputs) then return list[1] end
  return list
end

--- Returns f(inputs) and v times its Jacobian: the gradients of sum(v * f).
-- @tparam function f of tensors, gives one tensor
-- @param inputs a tensor, or a list of tensors
-- @tparam[opt] tensor v of the shape of the result; may be left out when that
-- has one element
-- @treturn tensor f(inputs)
-- @return the product: a tensor like the input, or a list of them
-- @usage local y, g = heed.autograd.vjp(function(x) return x ^ 2 end,
--   heed.tensor {1.0, 2.0}, heed.tensor {1.0, 1.0}) --> 1 4, 2 4
function autograd.vjp(f, inputs, v)
  local y, leaves = run_on_leaves("vjp", f, inputs)
  if not y.requires_grad then return y, single(inputs, or_zeros({}, leaves)) end
  local found = {core.grad(y, leaves, {gradient = v})}
  return y:detach(), single(inputs, or_zeros(found, leaves))
end

--- Returns f(inputs) and its Jacobian times v: how the result changes when the
-- inputs move along v. Found by differentiating vjp by its v, so everything in
-- f must be twice differentiable.
-- @tparam function f of tensors, gives one tensor
-- @param inputs a tensor, or a list of tensors
-- @param v a tensor like the input, or a list of them
-- @treturn tensor f(inputs)
-- @treturn tensor the product, of the shape of the result
-- @raise when v has not one tensor for each input
-- @usage local y, d = heed.autograd.jvp(function(x) return x ^ 2 end,
--   heed.tensor {1.0, 2.0}, heed.tensor {1.0, 0.0}) --> 1 4, 2 0
function autograd.jvp(f, inputs, v)
  local y, leaves = run_on_leaves("jvp", f, inputs)
  local directions <const> = is_tensor(v) and {v} or v
  if type(directions) ~= "table" or #directions ~= #leaves then
    check.fail("jvp: v must have one tensor for each of the %d inputs",
      #leaves)
  end
  local zeros = core.ops.zeros(y.shape, {dtype = y.dtype})
  if not y.requires_grad then return y, zeros end
  -- the product is linear in u: its gradient by u is the one wanted
  local u = zeros:clone()
  u.requires_grad = true
  local products = {core.grad(y, leaves, {gradient = u, create_graph = true})}
  local tracked, gradients = {}, {}
  for i = 1, #leaves do
    if products[i] and products[i].requires_grad then
      tracked[#tracked + 1] = products[i]
      gradients[#gradients + 1] = directions[i]
    end
  end
  if #tracked == 0 then return y:detach(), zeros end
  return y:detach(), core.grad(tracked, u, {gradient = gradients}) or zeros
end

-- One row of a Jacobian for each element of y.
local function rows(y, leaves, options)
  local n <const> = y:numel()
  local lists = {}
  for i = 1, #leaves do lists[i] = {} end
  for at = 1, n do
    local one = core.ops.zeros({n}, {dtype = y.dtype})
    one[at] = 1
    options.gradient = one:reshape(y.shape)
    local found = y.requires_grad and {core.grad(y, leaves, options)} or {}
    for i, g in ipairs(or_zeros(found, leaves)) do lists[i][at] = g end
  end
  return lists
end

--- Returns the Jacobian of f: for each input a tensor of the shape of the
-- result followed by that of the input.
-- @tparam function f of tensors, gives one tensor
-- @param inputs a tensor, or a list of tensors
-- @tparam[opt] table options `create_graph`: the result can be differentiated
-- (false)
-- @return a tensor, or a list of them
-- @usage heed.autograd.jacobian(function(x) return x ^ 2 end,
--   heed.tensor {1.0, 2.0}) --> 2 0, 0 4
function autograd.jacobian(f, inputs, options)
  options = check.options("jacobian", options, {create_graph = false})
  local y, leaves = run_on_leaves("jacobian", f, inputs)
  local lists = rows(y, leaves, {retain_graph = true,
    create_graph = options.create_graph})
  local found = {}
  for i, x in ipairs(leaves) do
    local shape = {table.unpack(y.shape)}
    table.move(x.shape, 1, #x.shape, #shape + 1, shape)
    found[i] = #lists[i] > 0 and core.ops.stack(lists[i], 1):reshape(shape)
      or core.ops.zeros(shape, {dtype = y.dtype})
  end
  return single(inputs, found)
end

--- Returns the Hessian of f, whose result has one element: the second
-- derivatives by one input, a tensor of its shape twice over.
-- @tparam function f of one tensor, gives a tensor with one element
-- @tparam tensor input
-- @treturn tensor
-- @raise when the result has more than one element
-- @usage heed.autograd.hessian(function(x) return (x ^ 3):sum() end,
--   heed.tensor {1.0, 2.0}) --> 6 0, 0 12
function autograd.hessian(f, input)
  check.callable("hessian", "f", f)
  check.tensor("hessian", "input", input)
  return autograd.jacobian(function(x)
    local y = f(x)
    check.tensor("hessian", "the result of f", y)
    if y:numel() ~= 1 then
      check.fail("hessian: the result of f must have one element, got %s",
        check.show(y))
    end
    if not y.requires_grad then
      return core.ops.zeros(x.shape, {dtype = x.dtype})
    end
    return core.grad(y, x, {create_graph = true}) or
      core.ops.zeros(x.shape, {dtype = x.dtype})
  end, input)
end

-- -- the first NaN -----------------------------------------------------------

local Guard = {}
Guard.__index = Guard
function Guard:__close() core.set_anomaly(self.was) end

--- Switches on a mode in which the first NaN is an error: the op whose result
-- holds NaN, from inputs that do not, is named with the line of the script
-- that called it; so is an op whose gradient does. Every result is read, so
-- it is slow.
-- @tparam[opt] function f runs in that mode; without it the mode lasts until
-- the guard that is returned is closed
-- @param ... any values: the arguments of f
-- @return what f returns, or a guard for `local _ <close> =`
-- @usage heed.autograd.detect_anomaly(function()
--   return heed.tensor {1.0}:log()
-- end)
function autograd.detect_anomaly(f, ...)
  if f ~= nil then check.callable("detect_anomaly", "f", f) end
  local guard <close> = setmetatable({was = core.set_anomaly(true)}, Guard)
  if f then return f(...) end
  local later = setmetatable({was = guard.was}, Guard)
  guard.was = true
  return later
end

return autograd
