--- Clipping of gradients.

local check = require "heed.check"
local core = require "heed.core"
local gradient_list = require "heed.optim.gradients"
local read_params = require "heed.optim.params"

local ops <const> = core.ops

local clip = {}

-- The gradients that there are, for a `<close>` variable.
local function gradients(func, params)
  if check.is_tensor(params) then params = {params} end
  read_params(func, params)
  local list = gradient_list()
  for i = 1, #params do
    list[#list + 1] = check.tensor(func, "params", params[i]).grad
  end
  return list
end

local OPTIONS <const> = {error_if_nonfinite = false}

--- Scales all gradients together so that their joint norm is at most
-- `max_norm`; returns the norm from before.
-- @param params list of tensors, or one
-- @tparam number max_norm
-- @tparam[opt=2] number norm_type p of the p-norm; `math.huge`: the largest
-- element
-- @tparam[opt] table options `error_if_nonfinite`: raises when the norm is NaN
-- or infinite
-- @treturn number norm of all gradients before scaling
-- @raise when norm_type is not above 0, and see `error_if_nonfinite`
-- @usage local norm = optim.clip_grad_norm_(net:parameters(), 1.0)
function clip.clip_grad_norm_(params, max_norm, norm_type, options)
  local name <const> = "clip_grad_norm_"
  check.number(name, "max_norm", max_norm, 0)
  if norm_type == nil then norm_type = 2.0 end
  if check.number(name, "norm_type", norm_type) <= 0 then
    check.fail("%s: norm_type must be above 0, got %g", name, norm_type)
  end
  check.keys(name, options, OPTIONS)
  local grads <close> = gradients(name, params)
  local norm = ops.joint_norm(grads, norm_type):item()
  local finite = norm == norm and norm < math.huge
  if options and options.error_if_nonfinite and not finite then
    check.fail("%s: the norm of the gradients is %g", name, norm)
  end
  local factor = max_norm / (norm + 1e-6)
  if #grads > 0 and (factor < 1 or factor ~= factor) then -- NaN stays NaN
    local _ <close> = core.no_grad()
    ops.joint_scale_(grads, factor)
  end
  return norm
end

--- Cuts every element of the gradients to -limit .. limit.
-- @param params list of tensors, or one
-- @tparam number limit
-- @usage optim.clip_grad_value_(net:parameters(), 0.5)
function clip.clip_grad_value_(params, limit)
  check.number("clip_grad_value_", "limit", limit, 0)
  local _ <close> = core.no_grad()
  local grads <close> = gradients("clip_grad_value_", params)
  if #grads > 0 then ops.joint_clamp_(grads, limit) end
end

return clip
