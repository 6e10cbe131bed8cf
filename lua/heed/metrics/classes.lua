--- Which class is taken for which: the confusion matrix, and precision, recall
-- and F1 of it.
--
--     precision = tp / (tp + fp)    recall = tp / (tp + fn)
--     F1 = 2 tp / (2 tp + fp + fn)
--
-- A quotient of 0 and 0 counts as 0.

local check = require "heed.check"
local core = require "heed.core"
local metric = require "heed.metrics.metric"

local ops <const> = core.ops

local classes = {}

-- -- the matrix --------------------------------------------------------------

local ConfusionMatrix = metric.class("ConfusionMatrix")
classes.ConfusionMatrix = ConfusionMatrix

local MATRIX <const> = {num_classes = check.NONE, ignore_index = -100}

-- The options that all of these take.
local function read_options(self, options)
  self.ignore_index = check.integer(self.__name, "ignore_index",
    options.ignore_index)
  if options.num_classes ~= nil then
    self.num_classes = check.integer(self.__name, "num_classes",
      options.num_classes, 1)
  end
end

--- Makes a confusion matrix.
-- The function of all at once is `metrics.confusion_matrix`.
-- @function ConfusionMatrix
-- @tparam[opt] table options `num_classes`: by default as many as there are
-- scores, or as the greatest label; `ignore_index` (-100)
-- @usage
-- local matrix = heed.metrics.ConfusionMatrix()
-- matrix:update(heed.tensor {1, 2, 2}, heed.tensor {1, 2, 1})
-- return matrix:compute() --> 1 1 0 1
function ConfusionMatrix:init(options)
  read_options(self, check.options("ConfusionMatrix", options, MATRIX))
end

--- Forgets all batches.
-- @usage
-- local matrix = heed.metrics.ConfusionMatrix {num_classes = 2}
-- matrix:update(heed.tensor {2}, heed.tensor {2})
-- matrix:reset()
-- return matrix:compute() --> 0 0 0 0
function ConfusionMatrix:reset()
  local n = self.num_classes or 0
  self.counts = ops.zeros({n, n}, "int64") -- [actual predicted]
end

-- Makes room for n classes.
local function grow(self, n)
  local old = #self.counts
  if n <= old then return end
  local counts = ops.zeros({n, n}, "int64")
  if old > 0 then counts[{{1, old}, {1, old}}] = self.counts end
  self.counts = counts
end

local function largest(x) return #x > 0 and x:max():item() or 0 end

--- Adds a batch.
-- @param output scores [.. C], or predictions [..]
-- @param target labels [..]
-- @raise when the shapes do not fit, or there are more classes than
-- `num_classes`
-- @usage
-- local matrix = heed.metrics.ConfusionMatrix()
-- matrix:update(heed.tensor {1, 1}, heed.tensor {1, 2})
-- matrix:update(heed.tensor {2, 2}, heed.tensor {1, 2})
-- return matrix:compute() --> 1 1 1 1
function ConfusionMatrix:update(output, target)
  local name = self.__name
  local scores, predictions, labels = metric.read(name, output, target,
    self.ignore_index)
  local n = scores and scores:size(2) or
    math.max(largest(predictions), largest(labels))
  if self.num_classes and n > self.num_classes then
    check.fail("%s: there are %d classes, more than num_classes %d", name, n,
      self.num_classes)
  end
  grow(self, n)
  if #labels == 0 then return end
  n = #self.counts
  predictions = predictions or scores:argmax(-1)
  -- the cell of each pair, counted through the rows from 1
  local cells = (labels - 1) * n + predictions
  self.counts = self.counts +
    ops.bincount(cells, nil, n * n):reshape(n, n)
end

--- How often each class was taken for each.
-- @treturn tensor int64 [C C]: row i holds what the targets of class i were
-- predicted as
-- @usage
-- local matrix = heed.metrics.ConfusionMatrix()
-- matrix:update(heed.tensor {2, 2, 1}, heed.tensor {1, 2, 1})
-- return matrix:compute() --> 1 1 0 1
function ConfusionMatrix:compute() return self.counts:clone() end

-- -- precision, recall, F1 ---------------------------------------------------

local AVERAGES <const> = {
  macro = true, micro = true, weighted = true, binary = true, none = true,
}

local OPTIONS <const> = {
  average = "macro", positive = 2, num_classes = check.NONE,
  ignore_index = -100,
}

local function ratio(a, b) return b > 0 and a / b or 0.0 end

-- The numbers of a class, or of all, from its counts: right, predicted, actual.
local formulas <const> = {
  Precision = function(tp, predicted) return ratio(tp, predicted) end,
  Recall = function(tp, _, actual) return ratio(tp, actual) end,
  F1 = function(tp, predicted, actual)
    return ratio(2 * tp, predicted + actual)
  end,
}

-- The mean over classes that there are, predicted or not.
local function macro(f, tp, predicted, actual)
  local sum, n = 0.0, 0
  for i = 1, #tp do
    if predicted[i] + actual[i] > 0 then
      sum, n = sum + f(tp[i], predicted[i], actual[i]), n + 1
    end
  end
  return sum / n
end

local function weighted(f, tp, predicted, actual)
  local sum, n = 0.0, 0
  for i = 1, #tp do
    sum = sum + actual[i] * f(tp[i], predicted[i], actual[i])
    n = n + actual[i]
  end
  return sum / n
end

local function total(list)
  local sum = 0
  for i = 1, #list do sum = sum + list[i] end
  return sum
end

--- The precision, recall or F1 of all batches so far.
-- @return number from 0 to 1; with `average = "none"` a list of them
-- @raise when no target was counted
-- @usage
-- local f1 = heed.metrics.F1 {average = "binary"}
-- f1:update(heed.tensor {1, 2, 2}, heed.tensor {1, 2, 1})
-- return f1:compute() --> 0.6667
local function compute(self)
  local name, f = self.__name, formulas[self.__name]
  local counts = self.counts
  metric.check_counted(name, #counts > 0 and counts:sum():item() or 0)
  local tp = counts:diagonal():totable()
  local predicted, actual = counts:sum(1):totable(), counts:sum(2):totable()
  local average = self.average
  if average == "macro" then return macro(f, tp, predicted, actual) end
  if average == "weighted" then return weighted(f, tp, predicted, actual) end
  if average == "micro" then
    return f(total(tp), total(predicted), total(actual))
  end
  local each = {}
  for i = 1, #tp do each[i] = f(tp[i], predicted[i], actual[i]) end
  if average == "binary" then return each[self.positive] or 0.0 end
  return each
end

local function make(name)
  local class = metric.class(name)
  class.reset, class.update = ConfusionMatrix.reset, ConfusionMatrix.update
  class.compute = compute

  function class:init(options)
    local o = check.options(name, options, OPTIONS)
    read_options(self, o)
    if not AVERAGES[o.average] then
      check.fail('%s: average must be "macro", "micro", "weighted", ' ..
        '"binary" or "none", got %s', name, check.show(o.average))
    end
    self.average = o.average
    self.positive = check.integer(name, "positive", o.positive, 1)
  end

  return class
end

--- Makes a precision: the part of what was predicted as a class that is of it.
-- The function of all at once is `metrics.precision`.
-- @function Precision
-- @tparam[opt] table options `average`: `"macro"` (default), the mean over the
-- classes that there are; `"weighted"`, the mean over the targets; `"micro"`,
-- that of all counts, which is the accuracy; `"none"`, a list of numbers, one a
-- class; `"binary"`, that of the class `positive` (2) alone. `num_classes`:
-- length of the list at least; `ignore_index` (-100)
-- @raise when `average` is none of these
-- @usage
-- local precision = heed.metrics.Precision {average = "binary"}
-- precision:update(heed.tensor {1, 2}, heed.tensor {1, 2}) -- the first batch
-- precision:update(heed.tensor {2}, heed.tensor {1})       -- and the second
-- return precision:compute() --> 0.5
classes.Precision = make("Precision")

--- Makes a recall: the part of a class that was predicted as it. Options as for
-- `Precision`.
-- The function of all at once is `metrics.recall`.
-- @function Recall
-- @tparam[opt] table options
-- @raise when `average` is none of these
-- @usage
-- local recall = heed.metrics.Recall {average = "binary"}
-- recall:update(heed.tensor {1, 2}, heed.tensor {1, 2}) -- the first batch
-- recall:update(heed.tensor {2}, heed.tensor {1})       -- and the second
-- return recall:compute() --> 1
classes.Recall = make("Recall")

--- Makes an F1: the harmonic mean of precision and recall. Options as for
-- `Precision`.
-- The function of all at once is `metrics.f1`.
-- @function F1
-- @tparam[opt] table options
-- @raise when `average` is none of these
-- @usage
-- local f1 = heed.metrics.F1 {average = "binary"}
-- f1:update(heed.tensor {1, 2}, heed.tensor {1, 2}) -- the first batch
-- f1:update(heed.tensor {2}, heed.tensor {1})       -- and the second
-- return f1:compute() --> 0.6667
classes.F1 = make("F1")

return classes
