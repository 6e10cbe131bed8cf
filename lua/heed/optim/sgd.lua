--- SGD: gradient descent with momentum (Sutskever et al., 2013, as PyTorch
-- has it).
--
--     m = momentum m + (1 - dampening) g, at first m = g
--     p -= lr * m, with nesterov p -= lr * (g + momentum m)

local check = require "heed.check"
local core = require "heed.core"
local Optimizer = require "heed.optim.optimizer"

local sgd_ <const>, zeros <const> = core.ops.sgd_, core.ops.zeros

--- Makes an optimiser.
-- @function SGD
-- @tparam table params list of tensors or of groups
-- @tparam[opt] table options `lr`, 1e-3 by default; `momentum`, 0;
-- `dampening`, 0; `weight_decay`, 0; `nesterov`, false; `maximize`, false
-- @usage local optimizer = optim.SGD(net:parameters(), {lr = 0.1})
local SGD = Optimizer.extend("SGD", {
  lr = 1e-3, momentum = 0.0, dampening = 0.0, weight_decay = 0.0,
  nesterov = false, maximize = false,
}, {m = "momentum_buffer"})

function SGD:check_group(group) -- luacheck: ignore self
  check.number("SGD", "momentum", group.momentum, 0)
  check.number("SGD", "dampening", group.dampening)
  check.number("SGD", "weight_decay", group.weight_decay, 0)
  if group.nesterov and (group.momentum == 0 or group.dampening ~= 0) then
    check.fail("SGD: nesterov needs a momentum and no dampening, got %g " ..
      "and %g", group.momentum, group.dampening)
  end
end

function SGD:update(group, p, grad, state) -- luacheck: ignore self
  local first = not state.m
  if first and group.momentum ~= 0 then
    state.m = zeros(p.shape, p.dtype)
  end
  sgd_(p, grad, group.momentum ~= 0 and state.m or nil, group.lr,
    group.momentum, group.dampening, group.weight_decay, group.nesterov,
    first, group.maximize)
end

return SGD
