--- SGD: gradient descent with momentum (Sutskever et al., 2013, as PyTorch
-- has it).
--
--     m = momentum m + (1 - dampening) g, at first m = g
--     p -= lr * m, with nesterov p -= lr * (g + momentum m)

local check = require "heed.check"
local core = require "heed.core"
local Optimizer = require "heed.optim.optimizer"
local settings = require "heed.optim.settings"

local sgd_ <const> = core.ops.sgd_

local NONE <const> = {}

--- Makes an optimiser.
-- @function SGD
-- @tparam table params list of tensors or of groups
-- @tparam[opt] table options `lr`, 1e-3 by default; `momentum`, 0;
-- `dampening`, 0; `weight_decay`, 0; `nesterov`, false; `maximize`, false
-- @usage local optimizer = optim.SGD(net:parameters(), {lr = 0.1})
local SGD = Optimizer.extend("SGD", {
  lr = 1e-3, momentum = 0.0, dampening = 0.0, weight_decay = 0.0,
  nesterov = false, maximize = false,
}, {{"m", "momentum_buffer"}})

-- luacheck: push ignore self

function SGD:check_group(group)
  settings.positive("SGD", group, "momentum", "weight_decay")
  check.number("SGD", "dampening", group.dampening)
  if group.nesterov and (group.momentum == 0 or group.dampening ~= 0) then
    check.fail("SGD: nesterov needs a momentum and no dampening, got %g " ..
      "and %g", group.momentum, group.dampening)
  end
end

function SGD:used(group) return group.momentum ~= 0 and self.keys or NONE end

-- Is it the first step with a momentum?
function SGD:phase(_, _, state) return state.m == nil end

function SGD:update(group, tensors, _, first)
  sgd_(tensors, group.lr, group.momentum, group.dampening,
    group.weight_decay, group.nesterov, first, group.maximize)
end

-- luacheck: pop

return SGD
