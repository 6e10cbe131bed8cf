--- What `train.fit` takes: the options, checked and with their defaults.

local check = require "heed.check"
local loader = require "heed.train.loader"
local tree = require "heed.nn.tree"

local function fail(format, ...) check.fail("fit: " .. format, ...) end

local OPTIONS <const> = {
  model = "table", data = "any", optimizer = "table", loss = "any",
  epochs = "number", max_steps = "number", schedule = "table",
  schedule_every = "string", accumulate = "number", clip_norm = "number",
  clip_value = "number", valid = "any", evaluate = "any", metrics = "table",
  monitor = "string", mode = "string", min_delta = "number",
  patience = "number", best = "string", checkpoint = "string",
  checkpoint_every = "number", resume = "boolean", parts = "table",
  on_start = "any", on_step = "any", on_epoch = "any",
  progress = "boolean|table|userdata",
}

local function one_of(name, value, ...)
  local words = {...}
  for i, word in ipairs(words) do
    if value == word then return end
    words[i] = '"' .. word .. '"'
  end
  fail("%s must be %s, got %s", name, table.concat(words, " or "),
    check.show(value))
end

local function check_objects(o)
  if not tree.is_module(o.model) then
    fail("model must be a module, got %s", check.show(o.model))
  end
  if type(o.optimizer) ~= "table" or type(o.optimizer.groups) ~= "table" then
    fail("optimizer must be an optimiser, got %s", check.show(o.optimizer))
  end
  if o.schedule and type(o.schedule.step) ~= "function" then
    fail("schedule must be a schedule, got %s", check.show(o.schedule))
  end
  loader.check("fit", "data", o.data)
  if o.valid ~= nil then loader.check("fit", "valid", o.valid) end
  check.callable("fit", "loss", o.loss)
  for _, name in ipairs {"evaluate", "on_start", "on_step", "on_epoch"} do
    if o[name] ~= nil then check.callable("fit", name, o[name]) end
  end
  for name, metric in pairs(o.metrics or {}) do
    if type(metric) ~= "table" or not metric.update then
      fail("metrics.%s must be a metric, got %s", name, check.show(metric))
    end
  end
  if o.metrics and o.valid == nil then fail("metrics need valid") end
end

--- Returns the options with their defaults; raises for what is wrong in them.
local function read(options)
  check.kind("fit", "options", options, "table")
  check.types("fit", options, OPTIONS)
  local o = setmetatable({
    accumulate = options.accumulate or 1,
    checkpoint_every = options.checkpoint_every or math.huge,
    max_steps = options.max_steps or math.huge,
    schedule_every = options.schedule_every or "step",
    mode = options.mode or "min", min_delta = options.min_delta or 0.0,
    monitor = options.monitor or "loss",
  }, {__index = options})
  check_objects(o)
  check.integer("fit", "epochs", o.epochs, 0)
  check.integer("fit", "accumulate", o.accumulate, 1)
  for _, name in ipairs {"checkpoint_every", "max_steps", "patience"} do
    if options[name] then check.integer("fit", name, o[name], 1) end
  end
  for _, name in ipairs {"clip_norm", "clip_value", "min_delta"} do
    if options[name] then check.number("fit", name, o[name], 0) end
  end
  one_of("schedule_every", o.schedule_every, "step", "epoch", "value")
  one_of("mode", o.mode, "min", "max")
  if o.checkpoint_every < math.huge and not o.checkpoint then
    fail("checkpoint_every needs checkpoint, the path of the file")
  end
  return o
end

return read
