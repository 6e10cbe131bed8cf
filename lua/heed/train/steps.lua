--- What `fit` does with a batch: loss and gradients, and the step.

local check = require "heed.check"
local checkpoint = require "heed.train.checkpoint"
local clip = require "heed.optim.clip"
local core = require "heed.core"
local fault = require "heed.train.fault"
local validation = require "heed.train.validation"

local unpack <const> = table.unpack

local steps = {}

local function fail(format, ...) check.fail("fit: " .. format, ...) end

local function place(self)
  return ("in step %d (epoch %d, batch %d)"):format(self.step + 1, self.epoch,
    self.batch)
end

-- Computes the loss of the batch again, from the same random numbers.
local function again(self, batch, before)
  return function()
    checkpoint.set_generators(self.generators, before)
    return (self.options.loss(self.model, unpack(batch, 1, batch.n)))
  end
end

--- Computes the loss of a batch and adds its gradients.
function steps.forward_backward(self, batch)
  local o = self.options
  self.recompute = again(self, batch,
    checkpoint.get_generators(self.generators))
  local loss, more = o.loss(self.model, unpack(batch, 1, batch.n))
  local value, count = validation.check_loss(loss, more)
  if value ~= value or math.abs(value) == math.huge then
    fail("the loss is %s %s: %s", value ~= value and "NaN" or value,
      place(self), fault.explain(self.model, batch, value == value,
        self.recompute))
  end
  if o.accumulate > 1 then loss = loss / o.accumulate end
  loss:backward()
  self.loss = value
  self.loss_sum = self.loss_sum + value * count
  self.loss_count = self.loss_count + count
end

-- The parameters that the optimiser changes.
local function trained(optimizer)
  local list = {}
  for _, group in ipairs(optimizer.groups) do
    table.move(group.params, 1, #group.params, #list + 1, list)
  end
  return list
end

-- The gradients of fewer batches than `accumulate`: the mean over those.
local function scale_gradients(params, factor)
  local _ <close> = core.no_grad()
  for _, p in ipairs(params) do
    local grad <close> = p.grad
    if grad then grad:mul_(factor) end
  end
end

local function clip_gradients(self, params)
  local o = self.options
  if o.clip_value then clip.clip_grad_value_(params, o.clip_value) end
  if not o.clip_norm then return end
  local norm = clip.clip_grad_norm_(params, o.clip_norm)
  self.grad_norm = norm
  if norm ~= norm or norm == math.huge then
    fail("the norm of the gradients is %s %s: %s",
      norm ~= norm and "NaN" or norm, place(self),
      fault.explain_gradient(function() self.recompute():backward() end))
  end
end

--- Makes a step with the gradients of the pending batches.
function steps.step(self)
  local o = self.options
  local params = trained(o.optimizer)
  if self.pending < o.accumulate then
    scale_gradients(params, o.accumulate / self.pending)
  end
  clip_gradients(self, params)
  o.optimizer:step()
  o.optimizer:zero_grad()
  if o.schedule and o.schedule_every == "step" then o.schedule:step() end
  self.step, self.pending = self.step + 1, 0
  if o.on_step then o.on_step(self) end
  if self.step >= o.max_steps then self:stop("max_steps") end
  if self.step % o.checkpoint_every == 0 then self:save() end
end

return steps
