--- Norms over channels: BatchNorm1d and BatchNorm2d, GroupNorm, InstanceNorm1d
-- and InstanceNorm2d.

local check = require "heed.check"
local core = require "heed.core"
local functional = require "heed.nn.functional.norm"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"

local ops <const> = core.ops

local layers = {}

local function check_input(self, x, layout, ...)
  check.tensor(self.__name, "x", x)
  for _, ndim in ipairs {...} do
    if x.ndim == ndim and x:size(2) == self.num_features then return end
  end
  check.fail("%s: x must be %s with %d channels, got %s", self.__name, layout,
    self.num_features, check.show(x))
end

-- -- batch norm --------------------------------------------------------------

local BATCH <const> = {
  eps = 1e-5, momentum = 0.1, affine = true, track_running_stats = true,
}

local BatchNorm <const> = Module:extend("BatchNorm")

function BatchNorm:init(num_features, options)
  local name <const> = self.__name
  local o = check.options(name, options, BATCH)
  self.num_features = check.integer(name, "num_features", num_features, 1)
  self.eps = check.number(name, "eps", o.eps, 0)
  self.momentum = o.momentum and
    check.number(name, "momentum", o.momentum, 0, 1)
  if o.affine then
    self.weight = parameter.ones(num_features)
    self.bias = parameter.zeros(num_features)
  end
  if o.track_running_stats then
    self:register_buffer("running_mean", ops.zeros {num_features})
    self:register_buffer("running_var", ops.ones {num_features})
    self:register_buffer("num_batches_tracked", ops.zeros({}, "int64"))
  end
end

-- How far the running statistics move towards those of a batch.
local function next_momentum(self)
  if not self.num_batches_tracked then return 0.0 end
  local _ <close> = core.no_grad()
  self.num_batches_tracked:add_(1)
  return self.momentum or 1 / self.num_batches_tracked:item()
end

function BatchNorm:normalise(x)
  local training <const> = self.training or self.running_mean == nil
  local momentum = 0.0
  if self.training then momentum = next_momentum(self) end
  return functional.batch_norm(x, self.running_mean, self.running_var,
    self.weight, self.bias,
    {training = training, momentum = momentum, eps = self.eps})
end

function BatchNorm:extra() return ("%d"):format(self.num_features) end

--- Makes a layer for [N C] or [N C L]; see `BatchNorm2d`.
-- @function BatchNorm1d
-- @tparam integer num_features channels
-- @tparam[opt] table options as for `BatchNorm2d`
-- @raise in training, when a channel has a single element
-- @usage local y = nn.BatchNorm1d(8)(heed.randn(4, 8)) -- [N 8]
local BatchNorm1d <const> = BatchNorm:extend("BatchNorm1d")
layers.BatchNorm1d = BatchNorm1d

function BatchNorm1d:forward(x)
  check_input(self, x, "[N C] or [N C L]", 2, 3)
  return self:normalise(x)
end

--- Makes a layer that brings channels to mean 0 and variance 1, times weight
-- (1), plus bias (0): in training of the batch, in evaluation of what was seen
-- in training, `running_mean` (0) and `running_var` (1).
-- @function BatchNorm2d
-- @tparam integer num_features channels
-- @tparam[opt] table options `eps` (1e-5); `momentum` (0.1) with which the
-- running statistics move towards those of a batch, or `false`: they are the
-- mean over all batches; `affine = false`: no weight and bias;
-- `track_running_stats = false`: those of the batch in evaluation too
-- @raise in training, when a channel has a single element
-- @usage local y = nn.BatchNorm2d(8)(heed.randn(2, 8, 4, 4)) -- [N 8 H W]
local BatchNorm2d <const> = BatchNorm:extend("BatchNorm2d")
layers.BatchNorm2d = BatchNorm2d

function BatchNorm2d:forward(x)
  check_input(self, x, "[N C H W]", 4)
  return self:normalise(x)
end

-- -- group norm --------------------------------------------------------------

local GROUP <const> = {eps = 1e-5, affine = true}

local GroupNorm <const> = Module:extend("GroupNorm")
layers.GroupNorm = GroupNorm

--- Makes a layer that brings groups of channels to mean 0 and variance 1, for
-- each element of the batch, times weight (1), plus bias (0).
-- @function GroupNorm
-- @tparam integer num_groups
-- @tparam integer num_channels a multiple of it
-- @tparam[opt] table options `eps` (1e-5); `affine = false`: no weight and bias
-- @raise when num_groups does not divide num_channels
-- @usage local y = nn.GroupNorm(4, 32)(heed.randn(2, 32, 5)) -- [N 32 ..]
function GroupNorm:init(num_groups, num_channels, options)
  local o = check.options("GroupNorm", options, GROUP)
  self.num_groups = check.integer("GroupNorm", "num_groups", num_groups, 1)
  self.num_channels = check.integer("GroupNorm", "num_channels", num_channels,
    1)
  if num_channels % num_groups ~= 0 then
    check.fail("GroupNorm: num_channels %d must be a multiple of num_groups " ..
      "%d", num_channels, num_groups)
  end
  self.eps = check.number("GroupNorm", "eps", o.eps, 0)
  if o.affine then
    self.weight = parameter.ones(num_channels)
    self.bias = parameter.zeros(num_channels)
  end
end

function GroupNorm:forward(x)
  check.tensor("GroupNorm", "x", x)
  if x.ndim < 2 or x:size(2) ~= self.num_channels then
    check.fail("GroupNorm: x must be [N C ..] with %d channels, got %s",
      self.num_channels, check.show(x))
  end
  return ops.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)
end

function GroupNorm:extra()
  return ("%d, %d"):format(self.num_groups, self.num_channels)
end

-- -- instance norm -----------------------------------------------------------

local INSTANCE <const> = {eps = 1e-5, affine = false}

-- A class for x of `ndim` dimensions, or one fewer without batch.
local function instance_norm(name, ndim, layout)
  local class <const> = Module:extend(name)
  function class:init(num_features, options)
    local o = check.options(name, options, INSTANCE)
    self.num_features = check.integer(name, "num_features", num_features, 1)
    self.eps = check.number(name, "eps", o.eps, 0)
    if o.affine then
      self.weight = parameter.ones(num_features)
      self.bias = parameter.zeros(num_features)
    end
  end
  function class:forward(x)
    check_input(self, x, layout, ndim)
    return functional.instance_norm(x, self.weight, self.bias,
      {eps = self.eps})
  end
  function class:extra() return ("%d"):format(self.num_features) end
  layers[name] = class
end

--- Makes a layer that brings each channel of each element of the batch to mean
-- 0 and variance 1. It keeps no running statistics.
-- @function InstanceNorm2d
-- @tparam integer num_features channels
-- @tparam[opt] table options `eps` (1e-5); `affine` (false): weight and bias.
-- `InstanceNorm1d` is the same for [N C L]
-- @usage local y = nn.InstanceNorm2d(8)(heed.randn(2, 8, 4, 4)) -- [N 8 H W]
-- @usage local y = nn.InstanceNorm1d(8)(heed.randn(2, 8, 4)) -- [N 8 L]
instance_norm("InstanceNorm1d", 3, "[N C L]")
instance_norm("InstanceNorm2d", 4, "[N C H W]")

return layers
