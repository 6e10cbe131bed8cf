--- Adagrad (Duchi et al., 2011).
--
--     v += g^2    p -= lr / (1 + (t - 1) lr_decay) * g / (sqrt(v) + eps)

local core = require "heed.core"
local Optimizer = require "heed.optim.optimizer"
local settings = require "heed.optim.settings"

local adagrad_ <const>, full <const> = core.ops.adagrad_, core.ops.full

--- Makes an Adagrad: rates that fall with all gradients so far (Duchi et al.,
-- 2011).
-- @function Adagrad
-- @tparam table params list of tensors or of groups
-- @tparam[opt] table options `lr`, 1e-2 by default; `lr_decay`, 0;
-- `weight_decay`, 0; `initial_accumulator_value`, 0: v before the first step;
-- `eps`, 1e-10; `maximize`, false
-- @usage local optimizer = optim.Adagrad(net:parameters(), {lr = 0.1})
local Adagrad = Optimizer.extend("Adagrad", {
  lr = 1e-2, lr_decay = 0.0, weight_decay = 0.0,
  initial_accumulator_value = 0.0, eps = 1e-10, maximize = false,
}, {{"v", "sum"}})

-- luacheck: push ignore self

function Adagrad:check_group(group)
  settings.positive("Adagrad", group, "lr_decay", "weight_decay",
    "initial_accumulator_value", "eps")
end

function Adagrad:start(group, p)
  return full(p.shape, group.initial_accumulator_value, p.dtype)
end

-- Without a decay the formula is the same at every step.
function Adagrad:phase(group, _, state)
  return group.lr_decay ~= 0 and state.step
end

function Adagrad:update(group, tensors, step)
  adagrad_(tensors, group.lr / (1 + (step - 1) * group.lr_decay), group.eps,
    group.weight_decay, group.maximize)
end

-- luacheck: pop

return Adagrad
