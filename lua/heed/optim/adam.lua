--- Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019).
--
-- Adam adds the decay to the gradient, AdamW takes it from the parameter:
--
--     m += (1 - beta1) (g - m)    v += (1 - beta2) (g^2 - v)
--     p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)

local core = require "heed.core"
local Optimizer = require "heed.optim.optimizer"
local settings = require "heed.optim.settings"

local adam_ <const> = core.ops.adam_

local STATE <const> = {
  {"m", "exp_avg"}, {"v", "exp_avg_sq"}, {"vmax", "max_exp_avg_sq"},
}
local PLAIN <const> = {"m", "v"}

local function make(name, weight_decay, decoupled)
  local class = Optimizer.extend(name, {
    lr = 1e-3, betas = {0.9, 0.999}, eps = 1e-8, weight_decay = weight_decay,
    amsgrad = false, maximize = false,
  }, STATE)

  -- luacheck: push ignore self

  function class:check_group(group)
    settings.betas(name, group)
    settings.positive(name, group, "eps", "weight_decay")
  end

  function class:used(group) return group.amsgrad and self.keys or PLAIN end

  -- amsgrad may be switched on later: the largest v so far is then this one
  function class:start(group, p, key, state)
    if key == "vmax" then return state.v:clone() end
    return Optimizer.start(self, group, p, key)
  end

  function class:update(group, tensors, step)
    local betas = group.betas
    adam_(tensors, step, group.lr, betas[1], betas[2], group.eps,
      group.weight_decay, decoupled, group.amsgrad, group.maximize)
  end

  -- luacheck: pop

  return class
end

local adam = {}

--- Makes an Adam: each element moves by the mean of its gradients over the root
-- of the mean of their squares (Kingma and Ba, 2015).
-- @function Adam
-- @tparam table params list of tensors or of groups
-- @tparam[opt] table options `lr`, 1e-3 by default; `betas`, {0.9, 0.999};
-- `eps`, 1e-8; `weight_decay`, 0 (AdamW: 0.01); `amsgrad`, false: divides by
-- the largest v so far; `maximize`, false
-- @usage local optimizer = optim.Adam(net:parameters(), {lr = 3e-4})
adam.Adam = make("Adam", 0.0, false)

--- Makes an optimiser whose decay is apart from the gradient; options as for
-- `Adam`.
-- @function AdamW
-- @tparam table params list of tensors or of groups
-- @tparam[opt] table options
-- @usage local optimizer = optim.AdamW(net:parameters(), {weight_decay = 0.1})
adam.AdamW = make("AdamW", 0.01, true)

return adam
