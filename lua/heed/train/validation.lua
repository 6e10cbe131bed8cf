--- The validation of a run: results without gradients, and the best of them.

local check = require "heed.check"
local core = require "heed.core"
local loader = require "heed.train.loader"

local pack <const>, unpack <const> = table.pack, table.unpack

local validation = {}

local function fail(format, ...) check.fail("fit: " .. format, ...) end

--- Returns the value of a loss, and how many examples it is a mean of; raises
-- for what else `loss` may have returned.
function validation.check_loss(loss, more)
  if not check.is_tensor(loss) or loss:numel() ~= 1 then
    fail("loss must return a tensor with one element, got %s",
      check.show(loss))
  end
  if more ~= nil and type(more) ~= "table" then
    fail("the second result of loss must be a table, got %s",
      check.show(more))
  end
  local count = more and more.count or 1
  if check.is_tensor(count) then count = count:item() end
  return loss:item(), check.number("fit", "count", count, 0)
end

local Modes = {}
function Modes:__close()
  for _, mode in ipairs(self) do rawset(mode[1], "training", mode[2]) end
end

-- Runs f in evaluation without gradients; then all modules are in the mode in
-- which they were.
local function in_evaluation(model, f)
  local modes <close> = setmetatable({}, Modes)
  for i, module in ipairs(model:modules()) do
    modes[i] = {module, module.training}
  end
  model:eval()
  core.no_grad(f)
end

local function update_metrics(metrics, more)
  for name, metric in pairs(metrics or {}) do
    if not more or more.output == nil or more.target == nil then
      fail("metrics.%s needs a second result of loss, {output = , target = }",
        name)
    end
    metric:update(more.output, more.target)
  end
end

local function run_valid(self, results)
  local o = self.options
  local sum, total = 0.0, 0
  for _, metric in pairs(o.metrics or {}) do metric:reset() end
  local next_batch, closing = loader.open(o.valid, self.epoch)
  local _ <close> = closing
  while true do
    local batch = pack(next_batch())
    if batch[1] == nil then break end
    local loss, more = o.loss(self.model, unpack(batch, 1, batch.n))
    local value, count = validation.check_loss(loss, more)
    sum, total = sum + value * count, total + count
    update_metrics(o.metrics, more)
  end
  if total == 0 then fail("valid has no batch") end
  results.loss = sum / total
  for name, metric in pairs(o.metrics or {}) do
    results[name] = metric:compute()
  end
end

--- Returns the results of the validation of the epoch, or nil when none is
-- asked for.
function validation.run(self)
  local o = self.options
  if o.valid == nil and o.evaluate == nil then return nil end
  local results = {}
  in_evaluation(self.model, function()
    if o.valid ~= nil then run_valid(self, results) end
    if o.evaluate then
      local more = o.evaluate(self.model, self)
      check.kind("fit", "the result of evaluate", more, "table")
      for name, value in pairs(more) do results[name] = value end
    end
  end)
  return results
end

--- The number of a record that says how good the model is.
function validation.monitored(self, record)
  local o = self.options
  local from = record.valid or record
  local value = from[o.monitor]
  if value == nil and o.monitor == "loss" then value = record.loss end
  if type(value) ~= "number" then
    fail("monitor must name a number, one of %s, got %s",
      check.names(record.valid or {loss = true}), check.show(o.monitor))
  end
  return value
end

--- Notes whether the monitored value is the best so far, and keeps the weights
-- if it is.
function validation.keep_best(self, value)
  local o = self.options
  local better = self.best == nil
  if not better and o.mode == "min" then
    better = value < self.best - o.min_delta
  elseif not better then
    better = value > self.best + o.min_delta
  end
  if value ~= value then better = false end
  if better then
    self.best, self.best_epoch, self.waited = value, self.epoch, 0
    if o.best then core.save_safetensors(o.best, self.model:state_dict()) end
  else
    self.waited = self.waited + 1
  end
end

return validation
