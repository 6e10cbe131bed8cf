--- Losses as modules.

local check = require "heed.check"
local Module = require "heed.nn.module"
local F = require "heed.nn.functional"

local loss = {}

--- Cross-entropy of scores and labels, see `F.cross_entropy`.
-- @function CrossEntropyLoss
-- @tparam[opt] table options `weight`, tensor [C]; `ignore_index`, -100 by
-- default; `label_smoothing`, 0 by default; `reduction`, `"mean"` by default,
-- `"sum"` or `"none"`
-- @usage local loss = nn.CrossEntropyLoss({label_smoothing = 0.1})(x, labels)
local CrossEntropyLoss = Module:extend("CrossEntropyLoss")
loss.CrossEntropyLoss = CrossEntropyLoss

local OPTIONS <const> = {
  weight = check.NONE, ignore_index = -100, label_smoothing = 0.0,
  reduction = "mean",
}

function CrossEntropyLoss:init(options)
  local o = check.options("CrossEntropyLoss", options, OPTIONS)
  self.ignore_index = check.integer("CrossEntropyLoss", "ignore_index",
    o.ignore_index)
  self.label_smoothing = check.number("CrossEntropyLoss", "label_smoothing",
    o.label_smoothing, 0, 1)
  self.reduction = o.reduction
  if o.weight ~= nil then
    self:register_buffer("weight", o.weight)
  end
end

--- @param x float tensor [N C], [C] or [N C ..]: scores
-- @param target int64 tensor: labels from 1
function CrossEntropyLoss:forward(x, target)
  return F.cross_entropy(x, target, self.weight, self.ignore_index,
    self.label_smoothing, self.reduction)
end

--- Mean squared error, see `F.mse_loss`.
-- @function MSELoss
-- @tparam[opt] table options `reduction`, `"mean"` by default, `"sum"` or
-- `"none"`
local MSELoss = Module:extend("MSELoss")
loss.MSELoss = MSELoss

function MSELoss:init(options)
  self.options = check.options("MSELoss", options, {reduction = "mean"})
end

function MSELoss:forward(x, target)
  return F.mse_loss(x, target, self.options)
end

return loss
