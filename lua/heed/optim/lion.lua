--- Lion (Chen et al., 2023): every element moves by the rate.
--
--     p = (1 - lr weight_decay) p - lr * sign(beta1 m + (1 - beta1) g)
--     m += (1 - beta2) (g - m)

local core = require "heed.core"
local Optimizer = require "heed.optim.optimizer"
local settings = require "heed.optim.settings"

local lion_ <const> = core.ops.lion_

--- Makes a Lion: every element moves by the rate, in the direction of its mean
-- gradient (Chen et al., 2023). The authors advise a rate of a third to a tenth
-- of that for AdamW, and a decay as many times larger.
-- @function Lion
-- @tparam table params list of tensors or of groups
-- @tparam[opt] table options `lr`, 1e-4 by default; `betas`, {0.9, 0.99};
-- `weight_decay`, 0; `maximize`, false
-- @usage local optimizer = optim.Lion(net:parameters(), {weight_decay = 0.1})
local Lion = Optimizer.extend("Lion", {
  lr = 1e-4, betas = {0.9, 0.99}, weight_decay = 0.0, maximize = false,
}, {{"m", "exp_avg"}})

-- luacheck: push ignore self

function Lion:check_group(group)
  settings.betas("Lion", group)
  settings.positive("Lion", group, "weight_decay")
end

-- The formula is the same at every step.
function Lion:phase() return true end

function Lion:update(group, tensors)
  lion_(tensors, group.lr, group.betas[1], group.betas[2], group.weight_decay,
    group.maximize)
end

-- luacheck: pop

return Lion
