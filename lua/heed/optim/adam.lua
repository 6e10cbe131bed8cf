--- Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019).
--
-- Adam adds the decay to the gradient, AdamW takes it from the parameter:
--
--     m += (1 - beta1) (g - m)    v += (1 - beta2) (g^2 - v)
--     p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)

local check = require "heed.check"
local core = require "heed.core"
local Optimizer = require "heed.optim.optimizer"

local adam_ <const>, zeros <const> = core.ops.adam_, core.ops.zeros

local BUFFERS <const> = {
  m = "exp_avg", v = "exp_avg_sq", vmax = "max_exp_avg_sq",
}

local function make(name, weight_decay, decoupled)
  local class = Optimizer.extend(name, {
    lr = 1e-3, betas = {0.9, 0.999}, eps = 1e-8, weight_decay = weight_decay,
    amsgrad = false, maximize = false,
  }, BUFFERS)

  function class:check_group(group) -- luacheck: ignore self
    local betas = check.kind(name, "betas", group.betas, "table")
    for i = 1, 2 do
      local beta = check.number(name, ("betas[%d]"):format(i), betas[i], 0)
      if beta >= 1 then
        check.fail("%s: betas[%d] must be below 1, got %g", name, i, beta)
      end
    end
    group.betas = {betas[1], betas[2]}
    check.number(name, "eps", group.eps, 0)
    check.number(name, "weight_decay", group.weight_decay, 0)
  end

  function class:update(group, p, grad, state) -- luacheck: ignore self
    if not state.m then
      state.m = zeros(p.shape, p.dtype)
      state.v = zeros(p.shape, p.dtype)
    end
    if group.amsgrad and not state.vmax then
      state.vmax = state.v:clone()
    end
    local betas = group.betas
    adam_(p, grad, state.m, state.v, group.amsgrad and state.vmax or nil,
      state.step, group.lr, betas[1], betas[2], group.eps,
      group.weight_decay, decoupled, group.maximize)
  end

  return class
end

local adam = {}

--- Makes an optimiser.
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
adam.AdamW = make("AdamW", 0.01, true)

return adam
