--- Adamax (Kingma and Ba, 2015): Adam by the largest gradients instead of their
-- squares.
--
--     m += (1 - beta1) (g - m)    u = max(beta2 u, |g| + eps)
--     p -= lr / (1 - beta1^t) * m / u

local core = require "heed.core"
local Optimizer = require "heed.optim.optimizer"
local settings = require "heed.optim.settings"

local adamax_ <const> = core.ops.adamax_

--- Makes an Adamax: Adam by the largest gradients instead of their squares
-- (Kingma and Ba, 2015).
-- @function Adamax
-- @tparam table params list of tensors or of groups
-- @tparam[opt] table options `lr`, 2e-3 by default; `betas`, {0.9, 0.999};
-- `eps`, 1e-8; `weight_decay`, 0; `maximize`, false
-- @usage local optimizer = optim.Adamax(net:parameters(), {lr = 1e-3})
local Adamax = Optimizer.extend("Adamax", {
  lr = 2e-3, betas = {0.9, 0.999}, eps = 1e-8, weight_decay = 0.0,
  maximize = false,
}, {{"m", "exp_avg"}, {"u", "exp_inf"}})

-- luacheck: push ignore self

function Adamax:check_group(group)
  settings.betas("Adamax", group)
  settings.positive("Adamax", group, "eps", "weight_decay")
end

function Adamax:update(group, tensors, step)
  adamax_(tensors, step, group.lr, group.betas[1], group.betas[2], group.eps,
    group.weight_decay, group.maximize)
end

-- luacheck: pop

return Adamax
