--- Norms over channels: batch norm and instance norm. `F.layer_norm`,
-- `F.rms_norm` and `F.group_norm` are ops.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local BATCH <const> = {training = false, momentum = 0.1, eps = 1e-5}

local F = {}

-- running = (1 - momentum) running + momentum now, without a graph.
local function update(running, now, momentum)
  local _ <close> = core.no_grad()
  running:copy_(ops.lerp(running, now, momentum))
end

-- Of this many elements; the running variance is the unbiased one.
local function update_both(x, mean, var, running_mean, running_var, momentum)
  local n <const> = x:numel() // x:size(2)
  if running_mean then update(running_mean, mean, momentum) end
  if running_var then update(running_var, var * (n / (n - 1)), momentum) end
end

--- x with each channel brought to mean 0 and variance 1 over batch and places
-- (Ioffe and Szegedy, 2015): (x - mean) / sqrt(var + eps) * weight + bias.
-- @tparam tensor x float [N C ..]
-- @tparam[opt] tensor running_mean [C]
-- @tparam[opt] tensor running_var [C]
-- @tparam[opt] tensor weight [C], ones by default
-- @tparam[opt] tensor bias [C], zeros by default
-- @tparam[opt] table options `training` (false): mean and variance are those of
-- x, and the running ones move towards them (the variance unbiased) by
-- `momentum` (0.1); else the running ones are used; `eps` (1e-5)
-- @treturn tensor like x
-- @raise when sizes do not fit, or channels of one element are to be trained
-- @usage heed.nn.functional.batch_norm(heed.tensor {{1.0}, {3}}, nil, nil, nil,
--   nil, {training = true, eps = 0}) --> -1 1
function F.batch_norm(x, running_mean, running_var, weight, bias, options)
  check.tensor("batch_norm", "x", x)
  local o = check.options("batch_norm", options, BATCH)
  check.number("batch_norm", "eps", o.eps, 0)
  check.number("batch_norm", "momentum", o.momentum)
  if x.ndim < 2 then
    check.fail("batch_norm: x must be [N C ..], got %s", check.show(x))
  end
  -- channels without places become lines along the batch
  local flat <const> = x.ndim == 2
  local lines <const> = flat and
    ops.unsqueeze(ops.contiguous(ops.transpose(x, 1, 2)), 1) or x
  local mean, var = running_mean, running_var
  if o.training then
    if x:numel() == x:size(2) then
      check.fail("batch_norm: x %s has one element in each channel: no " ..
        "variance to train with", check.shape(x.shape))
    end
    mean, var = ops.channel_moments(lines)
    update_both(x, mean, var, running_mean, running_var, o.momentum)
  elseif mean == nil or var == nil then
    check.fail("batch_norm: running_mean and running_var must be given " ..
      "unless training")
  end
  local y = ops.batch_norm(lines, mean, var, weight, bias, o.eps, o.training)
  return flat and ops.transpose(ops.squeeze(y, 1), 1, 2) or y
end

local INSTANCE <const> = {eps = 1e-5}

--- x with each channel of each element of the batch brought to mean 0 and
-- variance 1 (Ulyanov et al., 2016).
-- @tparam tensor x float [N C ..]
-- @tparam[opt] tensor weight [C], ones by default
-- @tparam[opt] tensor bias [C], zeros by default
-- @tparam[opt] table options `eps` (1e-5)
-- @treturn tensor like x
-- @raise when sizes do not fit
-- @usage heed.nn.functional.instance_norm(heed.tensor {{{1.0, 3}}}, nil, nil,
--   {eps = 0}) --> -1 1
function F.instance_norm(x, weight, bias, options)
  check.tensor("instance_norm", "x", x)
  local o = check.options("instance_norm", options, INSTANCE)
  check.number("instance_norm", "eps", o.eps, 0)
  if x.ndim < 3 then
    check.fail("instance_norm: x must be [N C ..] with places behind the " ..
      "channels, got %s", check.show(x))
  end
  return ops.group_norm(x, x:size(2), weight, bias, o.eps)
end

local NORMALIZE <const> = {p = 2.0, eps = 1e-12}

--- x with the vectors along a dimension brought to length 1:
-- x / max(|x|, eps).
-- @tparam tensor x float
-- @tparam[opt=-1] integer dim
-- @tparam[opt] table options `p` of the norm (2); `eps` (1e-12)
-- @treturn tensor like x
-- @usage heed.nn.functional.normalize(heed.tensor {{3.0, 4}}) --> 0.6 0.8
function F.normalize(x, dim, options)
  local name <const> = "normalize"
  check.tensor(name, "x", x)
  if type(dim) == "table" then dim, options = nil, dim end
  local o <const> = check.options(name, options, NORMALIZE)
  check.number(name, "p", o.p, 0)
  check.number(name, "eps", o.eps, 0)
  dim = check.dim(name, x, dim or -1)
  local length <const> = ops.vector_norm(x, o.p, {dim}, true)
  return ops.div(x, ops.clamp(length, o.eps))
end

return F
