--- RMSprop (Tieleman and Hinton, 2012; centered: Graves, 2013), as PyTorch has
-- it.
--
--     v += (1 - alpha) (g^2 - v), centered a += (1 - alpha) (g - a)
--     d = g / (sqrt(v - a^2) + eps), with a momentum m = momentum m + d
--     p -= lr * m, without one p -= lr * d

local core = require "heed.core"
local Optimizer = require "heed.optim.optimizer"
local settings = require "heed.optim.settings"

local rmsprop_ <const> = core.ops.rmsprop_

--- Makes an RMSprop: gradients over the root of the mean of their squares
-- (Tieleman and Hinton, 2012).
-- @function RMSprop
-- @tparam table params list of tensors or of groups
-- @tparam[opt] table options `lr`, 1e-2 by default; `alpha`, 0.99; `eps`, 1e-8;
-- `weight_decay`, 0; `momentum`, 0; `centered`, false: divides by the root of
-- the variance of gradients; `maximize`, false
-- @usage local optimizer = optim.RMSprop(net:parameters(), {alpha = 0.9})
local RMSprop = Optimizer.extend("RMSprop", {
  lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0.0, momentum = 0.0,
  centered = false, maximize = false,
}, {{"v", "square_avg"}, {"mean", "grad_avg"}, {"m", "momentum_buffer"}})

-- luacheck: push ignore self

function RMSprop:check_group(group)
  settings.positive("RMSprop", group, "alpha", "eps", "weight_decay",
    "momentum")
end

function RMSprop:used(group)
  local keys = {"v"}
  if group.centered then keys[#keys + 1] = "mean" end
  if group.momentum ~= 0 then keys[#keys + 1] = "m" end
  return keys
end

-- The formula is the same at every step.
function RMSprop:phase() return true end

function RMSprop:update(group, tensors)
  rmsprop_(tensors, group.lr, group.alpha, group.eps, group.weight_decay,
    group.momentum, group.centered, group.maximize)
end

-- luacheck: pop

return RMSprop
