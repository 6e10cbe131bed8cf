--- LAMB (You et al., 2020): Adam for large batches, whose rate follows the size
-- of each parameter.
--
--     m += (1 - beta1) (g - m)    v += (1 - beta2) (g^2 - v)
--     r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay p
--     p -= lr * |p| / |r| * r, where a norm is 0 p -= lr * r

local core = require "heed.core"
local Optimizer = require "heed.optim.optimizer"
local settings = require "heed.optim.settings"

local lamb_ <const> = core.ops.lamb_

--- Makes a LAMB: Adam for large batches, whose rate follows the size of each
-- parameter (You et al., 2020).
-- @function LAMB
-- @tparam table params list of tensors or of groups
-- @tparam[opt] table options `lr`, 1e-3 by default; `betas`, {0.9, 0.999};
-- `eps`, 1e-6; `weight_decay`, 0; `maximize`, false
-- @usage local optimizer = optim.LAMB(net:parameters(), {weight_decay = 0.01})
local LAMB = Optimizer.extend("LAMB", {
  lr = 1e-3, betas = {0.9, 0.999}, eps = 1e-6, weight_decay = 0.0,
  maximize = false,
}, {{"m", "exp_avg"}, {"v", "exp_avg_sq"}})

-- luacheck: push ignore self

function LAMB:check_group(group)
  settings.betas("LAMB", group)
  settings.positive("LAMB", group, "eps", "weight_decay")
end

function LAMB:update(group, tensors, step)
  lamb_(tensors, step, group.lr, group.betas[1], group.betas[2], group.eps,
    group.weight_decay, group.maximize)
end

-- luacheck: pop

return LAMB
