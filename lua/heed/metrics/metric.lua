--- What all metrics of predictions share: they are updated batch by batch, and
-- computed at the end.
--
-- An `output` is a float tensor of scores [.. C], of which the greatest is the
-- prediction, or a tensor of predictions [..]: labels from 1 (int64), or
-- booleans, of which false is class 1 and true is class 2. A `target` is a
-- tensor [..] of labels, or booleans. Targets of `ignore_index` do not count.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local metric = {}

-- Labels [N] of a tensor of labels or booleans.
local function labels_of(x)
  if x.dtype == "bool" then return x:to("int64"):reshape(-1) + 1 end
  return x:to("int64"):reshape(-1)
end

local function same_shape(a, b, last)
  if #a ~= #b + last then return false end
  for i = 1, #b do
    if a[i] ~= b[i] then return false end
  end
  return true
end

local function check_labels(name, what, labels, classes)
  if #labels == 0 then return end
  local low, high = labels:min():item(), labels:max():item()
  local bad = low < 1 and low or high
  if low < 1 or classes and high > classes then
    check.fail("%s: %s must be labels from 1%s, got %d", name, what,
      classes and (" to %d"):format(classes) or "", bad)
  end
end

--- Reads an output and a target; raises for shapes and labels that do not fit.
-- @treturn tensor scores [N C], or nil where predictions are given
-- @treturn tensor predictions [N], or nil where scores are given
-- @treturn tensor target [N], those that count
function metric.read(name, output, target, ignore_index)
  check.tensor(name, "output", output)
  check.tensor(name, "target", target)
  local float = check.is_float(output)
  if check.is_float(target) or
     not same_shape(output.shape, target.shape, float and 1 or 0) then
    check.fail("%s: output %s and target %s must be scores [.. C] and " ..
      "labels [..], or labels of one shape", name, check.show(output),
      check.show(target))
  end
  output = output:detach()
  local classes = float and output:size(-1) or nil
  local scores = float and output:reshape(-1, classes) or nil
  local predictions = not float and labels_of(output) or nil
  target = labels_of(target)
  if ignore_index then
    local counts = ops.ne(target, ignore_index)
    if not counts:all():item() then
      local places = counts:nonzero():reshape(-1)
      target = target:index_select(places)
      scores = scores and scores:index_select(places)
      predictions = predictions and predictions:index_select(places)
    end
  end
  check_labels(name, "target", target, classes)
  if predictions then check_labels(name, "output", predictions) end
  return scores, predictions, target
end

--- Makes a class of metrics.
-- @tparam string name
-- @treturn table class, called as `Class(options)`; `init(options)`,
-- `reset()`, `update(output, target)` and `compute()` are still to be set
function metric.class(name)
  local class = {__name = name}
  class.__index = class
  return setmetatable(class, {__call = function(self, options)
    local made = setmetatable({}, self)
    made:init(options)
    made:reset()
    return made
  end})
end

--- The one-shot form of a class: f(output, target, options).
function metric.function_of(class)
  return function(output, target, options)
    local made = class(options)
    made:update(output, target)
    return made:compute()
  end
end

--- Raises unless something was counted.
function metric.check_counted(name, count)
  if count == 0 then
    check.fail("%s: there is nothing to compute: no target was counted", name)
  end
end

return metric
