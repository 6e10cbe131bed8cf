--- fit: a training loop, with validation, checkpoints and exact resume.
--
--     for each epoch
--       for each batch: loss(model, batch):backward(); every `accumulate`-th
--         time clip, optimizer:step(), schedule:step(), checkpoint
--       validate, keep the best, stop early, checkpoint
--
-- Read loader.lua first: where batches come from; then checkpoint.lua.

local check = require "heed.check"
local checkpoint = require "heed.train.checkpoint"
local display = require "heed.train.display"
local loader = require "heed.train.loader"
local read_options = require "heed.train.options"
local steps = require "heed.train.steps"
local validation = require "heed.train.validation"

local pack <const> = table.pack

local Run = {}
Run.__index = Run
Run.__name = "heed.train.run"

local function fail(format, ...) check.fail("fit: " .. format, ...) end

-- -- checkpoints -------------------------------------------------------------

-- What of the run is kept besides its parts.
local KEPT <const> = {
  "step", "epochs_done", "batch", "loss_sum", "loss_count", "batches",
  "history", "best", "best_epoch", "waited", "user", "epoch_generators",
  "drained",
}

local function parts_of(o)
  local parts = {}
  for name, part in pairs(o.parts or {}) do parts[name] = part end
  for _, name in ipairs {"model", "optimizer", "schedule", "data"} do
    if parts[name] then
      fail("parts.%s: the name is taken by the run's own", name)
    end
    parts[name] = o[name]
  end
  if not loader.has_state(o.data) then parts.data = nil end
  return parts
end

--- Writes the checkpoint now. Between the batches of one step (`accumulate`)
-- there is nothing whole to write, and it is an error.
-- @raise without the option `checkpoint`
-- @usage
-- local layer, path = heed.nn.Linear(2, 1), os.tmpname()
-- os.remove(path) -- it would go on from there
-- heed.train.fit {
--   model = layer, data = {heed.randn(8, 2)}, epochs = 1, progress = false,
--   optimizer = heed.optim.SGD(layer:parameters(), {lr = 0.1}),
--   loss = function(model, x) return model(x):pow(2):mean() end,
--   checkpoint = path, on_step = function(run) run:save() end,
-- }
-- os.remove(path)
function Run:save()
  local path = self.options.checkpoint
  if not path then fail("save needs the option checkpoint") end
  if self.pending > 0 then
    fail("save in the middle of a step, after %d of its %d batches",
      self.pending, self.options.accumulate)
  end
  local values = {}
  for _, key in ipairs(KEPT) do values[key] = self[key] end
  checkpoint.save(path, self.parts, values)
end

-- Is there a file? One that cannot be read is an error: to begin anew would
-- overwrite it.
local function exists(path)
  local file, message, code = io.open(path, "rb")
  if file then file:close() end
  if not file and code ~= 2 then -- ENOENT
    fail("checkpoint cannot be read: %s", message)
  end
  return file ~= nil
end

-- What cannot be written should be known before hours of training.
local function check_writable(path)
  local probe = path .. ".part"
  local file, message = io.open(probe, "ab")
  if not file then fail("best cannot be written: %s", message) end
  file:close()
  os.remove(probe)
end

local function is_count(n) return math.type(n) == "integer" and n >= 0 end
local function is_number(n) return type(n) == "number" end
local function is_table(t) return type(t) == "table" end

-- What every run keeps: a file without it is of no run.
local ALWAYS <const> = {
  {"step", is_count}, {"epochs_done", is_count}, {"batch", is_count},
  {"waited", is_count}, {"loss_sum", is_number}, {"loss_count", is_number},
  {"history", is_table}, {"user", is_table},
}

local function check_kept(path, values)
  for _, pair in ipairs(ALWAYS) do
    local key, fits = pair[1], pair[2]
    if not fits(values[key]) then
      fail("checkpoint %s was not written by fit: its %s is %s", path, key,
        check.show(values[key]))
    end
  end
end

local function resume(self)
  local path = self.options.checkpoint
  if not path or self.options.resume == false or not exists(path) then
    return
  end
  local values = checkpoint.load(path, self.parts)
  check_kept(path, values)
  for _, key in ipairs(KEPT) do self[key] = values[key] end
  self.resumed = true
  local file = display.output(self)
  if file then
    file:write(("goes on from %s, behind step %d\n"):format(path, self.step))
  end
end

-- -- one epoch ---------------------------------------------------------------

-- Opens the batches of the epoch, behind those that the run has had.
local function open(self)
  local data, had = self.options.data, self.batch
  self.generators = checkpoint.find_generators(self.parts)
  local now = checkpoint.get_generators(self.generators)
  local next_batch, closing
  if had == 0 then
    self.epoch_generators = not loader.has_state(data) and now or nil
    next_batch, closing, self.total = loader.open(data, self.epoch)
    return next_batch, closing
  end
  local start = self.epoch_generators
  if start then checkpoint.set_generators(self.generators, start) end
  next_batch, closing, self.total = loader.open(data, self.epoch)
  for i = 1, start and had or 0 do
    if next_batch() == nil then
      fail("epoch %d had %d batches before, and now %d", self.epoch, had,
        i - 1)
    end
  end
  checkpoint.set_generators(self.generators, now)
  return next_batch, closing
end

local function run_batches(self)
  local next_batch, closing = open(self)
  local _ <close> = closing
  while true do
    local batch = pack(next_batch())
    if batch[1] == nil then break end
    self.batch = self.batch + 1
    steps.forward_backward(self, batch)
    self.pending = self.pending + 1
    local whole = self.pending == self.options.accumulate
    if whole then steps.step(self) end
    display.update(self)
    if whole and self.stopped then return end
  end
  -- said before the last step, whose checkpoint finds data at the next epoch
  self.drained = true
end

local function train_epoch(self)
  self.epoch = self.epochs_done + 1
  if not self.drained then run_batches(self) end
  if self.batch == 0 then fail("epoch %d has no batch", self.epoch) end
  if self.pending > 0 then steps.step(self) end
end

-- -- after an epoch ----------------------------------------------------------

local function finish_epoch(self)
  local o = self.options
  local record = {
    epoch = self.epoch, step = self.step, lr = o.optimizer.groups[1].lr,
    loss = self.loss_sum / self.loss_count, valid = validation.run(self),
  }
  local value = validation.monitored(self, record)
  validation.keep_best(self, value)
  if o.schedule and o.schedule_every == "epoch" then o.schedule:step() end
  if o.schedule and o.schedule_every == "value" then o.schedule:step(value) end
  self.history[#self.history + 1] = record
  display.finish(self, record)
  self.epochs_done, self.batches, self.batch = self.epoch, self.batch, 0
  self.loss_sum, self.loss_count = 0.0, 0
  self.epoch_generators, self.drained = nil, false
  if o.patience and self.waited >= o.patience then self:stop("patience") end
  if o.on_epoch then o.on_epoch(self, record) end
  if o.checkpoint then self:save() end
end

-- -- the run -----------------------------------------------------------------

--- Ends the run behind the step or the epoch that is at work. With a
-- checkpoint, the next run goes on from there.
-- @tparam[opt] string reason kept in `run.stopped`
-- @usage
-- local layer = heed.nn.Linear(2, 1)
-- local run = heed.train.fit {
--   model = layer, data = {heed.randn(8, 2)}, epochs = 9, progress = false,
--   optimizer = heed.optim.SGD(layer:parameters(), {lr = 0.1}),
--   loss = function(model, x) return model(x):pow(2):mean() end,
--   on_epoch = function(run) if run.epoch == 2 then run:stop "enough" end end,
-- }
-- return run.stopped --> enough
function Run:stop(reason) self.stopped = reason or "stop" end

local function new_run(options)
  local o = read_options(options)
  return setmetatable({
    options = o, model = o.model, optimizer = o.optimizer,
    parts = parts_of(o), step = 0, epochs_done = 0, epoch = 0, batch = 0,
    pending = 0, loss_sum = 0.0, loss_count = 0, history = {}, waited = 0,
    user = {}, drained = false,
  }, Run)
end

-- What ended an earlier run for good ends this one before it begins.
local function is_over(self)
  local o = self.options
  if self.step >= o.max_steps then self:stop("max_steps") end
  if o.patience and self.waited >= o.patience then self:stop("patience") end
  return self.stopped or self.epochs_done >= o.epochs
end

--- Trains a model.
--
-- What is needed: `model`; `data`, a loader, a list of batches or a function
-- (see loader.lua); `optimizer`; `loss(model, ...)`, a function of the model
-- and the values of a batch that returns a tensor with one element, and may
-- return a table besides: `count`, how many examples or tokens the loss is a
-- mean of (1; it weighs batches in the means that are reported), `output` and
-- `target`, for metrics; `epochs`.
--
-- What may be: `max_steps` (steps of the optimiser); `schedule` and
-- `schedule_every`: `"step"` (default), `"epoch"`, or `"value"`, which is after
-- an epoch with the monitored value (ReduceLROnPlateau); `accumulate`: batches
-- a step, whose losses are averaged (1); `clip_norm`, `clip_value`; `valid`,
-- batches to validate on after each epoch, and `metrics` (heed.metrics by name)
-- of them; `evaluate(model, run)`, which returns further results by name; both
-- in evaluation and without gradients.
--
-- `monitor`: the result that says how good the model is, `"loss"` by default,
-- of the validation if there is one; `mode`: `"min"` (default) or `"max"`;
-- `best`: a file for the weights of the best epoch so far (safetensors);
-- `patience`: stops after so many epochs without an improvement of more than
-- `min_delta` (0).
--
-- `checkpoint`: a file that is written at the start, after each epoch, each
-- `checkpoint_every` steps and at the end. **When it is there, the run goes on
-- from it**, unless `resume = false`: bit for bit as if it had never stopped.
-- `parts`: what else has a state, by name (`state_dict` and `load_state_dict`,
-- or a Generator). Functions are called as `on_start(run)`, also when the run
-- goes on, `on_step(run)` and `on_epoch(run, record)`. `progress`: false shows
-- none, a file is written to (io.stderr).
--
-- The run that is returned, and given to functions, has `model`, `optimizer`,
-- `step`, `epoch`, `batch` (place in the epoch), `loss` (of the last batch),
-- `grad_norm` (with `clip_norm`), `history` (a record an epoch: `epoch`,
-- `step`, `loss`, `lr`, `valid`), `best`, `best_epoch`, `stopped` (nil or the
-- reason), `resumed`, `user` (a table of your own that is kept in checkpoints),
-- and the methods `stop(reason)` and `save()`.
-- @function fit
-- @tparam table options
-- @treturn table the run
-- @raise when the loss is NaN or infinite, with the step and the module that
-- first made it so; when a checkpoint does not fit
-- @usage
-- local net = heed.nn.Linear(2, 1)
-- local run = heed.train.fit {
--   model = net, data = {heed.randn(8, 2), heed.randn(8, 2)}, epochs = 2,
--   optimizer = heed.optim.SGD(net:parameters(), {lr = 0.1}),
--   loss = function(model, x) return (model(x) - x:sum(-1, true)):pow(2):mean()
--   end, progress = false,
-- }
-- return run.step --> 4
local function fit(options)
  local self = new_run(options)
  local o = self.options
  self.model:train()
  o.optimizer:zero_grad()
  if o.best then check_writable(o.best) end
  resume(self)
  if o.on_start then o.on_start(self) end
  if o.checkpoint and not self.resumed then self:save() end
  while not is_over(self) do
    train_epoch(self)
    if self.stopped then
      display.finish(self, "stopped: " .. self.stopped)
      if o.checkpoint then self:save() end
      break
    end
    finish_epoch(self)
  end
  self.recompute = nil
  return self
end

return fit
