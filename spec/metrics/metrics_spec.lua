local heed = require "heed"
local message = require "spec.support.message"

local metrics <const> = heed.metrics

-- 12 of 3 classes; predicted, of class 1: 1 1 1 2; of 2: 2 2 3 1 2; of 3: 3 1 3
local TARGET <const> = heed.tensor {1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3}
local OUTPUT <const> = heed.tensor {1, 1, 1, 2, 2, 2, 3, 1, 2, 3, 1, 3}

-- Scores whose greatest are the predictions.
local function scores_of(labels, classes)
  return heed.nn.functional.one_hot(labels, classes):to("float32") + 0.25
end

local function near(want, got)
  assert.equal(#want, #got)
  for i, value in ipairs(want) do assert.near(value, got[i], 1e-15) end
end

describe("accuracy", function()
  it("is the part that is right", function()
    assert.equal(8 / 12, metrics.accuracy(OUTPUT, TARGET))
    assert.equal(8 / 12, metrics.accuracy(scores_of(OUTPUT, 3), TARGET))
  end)

  it("counts the k greatest scores", function()
    local scores = heed.tensor {{0.1, 0.4, 0.3, 0.2}, {9, 8, 7, 6.0}}
    local target = heed.tensor {3, 4}
    assert.equal(0, metrics.accuracy(scores, target))
    assert.equal(0.5, metrics.accuracy(scores, target, {top_k = 2}))
    assert.equal(0.5, metrics.accuracy(scores, target, {top_k = 3}))
    assert.equal(1, metrics.accuracy(scores, target, {top_k = 4}))
  end)

  it("leaves ignored targets out, and takes any shape", function()
    local target = heed.tensor {{1, -100, 2}, {2, -100, -100}}
    local output = heed.tensor {{1, 1, 1}, {2, 2, 2}}
    assert.equal(2 / 3, metrics.accuracy(output, target))
    assert.equal(2 / 3, metrics.accuracy(scores_of(output, 2), target))
    assert.equal(1, metrics.accuracy(output, heed.tensor {{1, 5, 5},
      {2, 5, 5}}, {ignore_index = 5}))
  end)

  it("takes booleans", function()
    assert.equal(0.75, metrics.accuracy(
      heed.tensor({0.9, 0.2, 0.6, 0.4}):gt(0.5),
      heed.tensor {true, false, false, false}))
  end)
end)

describe("the confusion matrix", function()
  it("has a row for each actual class", function()
    local want = heed.tensor {{3, 1, 0}, {1, 3, 1}, {1, 0, 2}}
    assert.is_true(want:equal(metrics.confusion_matrix(OUTPUT, TARGET)))
    assert.is_true(want:equal(metrics.confusion_matrix(scores_of(OUTPUT, 3),
      TARGET)))
  end)

  it("grows with the labels, up to num_classes", function()
    local matrix = metrics.ConfusionMatrix()
    matrix:update(heed.tensor {1}, heed.tensor {1})
    assert.same({1, 1}, matrix:compute().shape)
    matrix:update(heed.tensor {3}, heed.tensor {1})
    matrix:update(heed.tensor {1}, heed.tensor {2})
    assert.is_true(heed.tensor({{1, 0, 1}, {1, 0, 0}, {0, 0, 0}})
      :equal(matrix:compute()))
    local fixed = metrics.confusion_matrix(heed.tensor {1}, heed.tensor {1},
      {num_classes = 4})
    assert.same({4, 4}, fixed.shape)
  end)
end)

-- Of the matrix above: right 3 3 2, predicted 5 4 3, actual 4 5 3.
describe("precision, recall and F1", function()
  local function all(options)
    return metrics.precision(OUTPUT, TARGET, options),
      metrics.recall(OUTPUT, TARGET, options),
      metrics.f1(OUTPUT, TARGET, options)
  end

  it("are those of each class", function()
    local p, r, f = all({average = "none"})
    near({3 / 5, 3 / 4, 2 / 3}, p)
    near({3 / 4, 3 / 5, 2 / 3}, r)
    near({6 / 9, 6 / 9, 4 / 6}, f)
  end)

  it("are means over classes, by default", function()
    near({(3 / 5 + 3 / 4 + 2 / 3) / 3, (3 / 4 + 3 / 5 + 2 / 3) / 3, 2 / 3},
      {all()})
  end)

  it("are means over targets", function()
    near({(4 * 3 / 5 + 5 * 3 / 4 + 3 * 2 / 3) / 12,
      (4 * 3 / 4 + 5 * 3 / 5 + 3 * 2 / 3) / 12, 2 / 3},
      {all({average = "weighted"})})
  end)

  it("are those of all counts, which is the accuracy", function()
    near({8 / 12, 8 / 12, 8 / 12}, {all({average = "micro"})})
  end)

  it("are those of one class", function()
    near({3 / 4, 3 / 5, 6 / 9}, {all({average = "binary"})})
    near({3 / 5, 3 / 4, 6 / 9}, {all({average = "binary", positive = 1})})
    local output = heed.tensor {true, true, false}
    local target = heed.tensor {true, false, false}
    assert.equal(1 / 2, metrics.precision(output, target,
      {average = "binary"}))
    -- never there, never predicted
    assert.equal(0.0, metrics.f1(heed.tensor {1}, heed.tensor {1},
      {average = "binary"}))
  end)

  it("count a class that was never predicted as 0, and leave out one that is "
    .. "nowhere", function()
    local output, target = heed.tensor {1, 1, 4}, heed.tensor {1, 3, 4}
    -- classes 1, 3 and 4; there is no 2
    assert.near((1 / 2 + 0 + 1) / 3, metrics.precision(output, target), 1e-15)
    assert.near((1 + 0 + 1) / 3, metrics.recall(output, target), 1e-15)
    assert.near((2 / 3 + 0 + 1) / 3, metrics.f1(output, target), 1e-15)
    near({1 / 2, 0, 0, 1, 0}, metrics.precision(output, target,
      {average = "none", num_classes = 5}))
  end)
end)

describe("perplexity", function()
  it("is the exponential of the mean cross-entropy", function()
    local scores = heed.tensor({{{0.0, 0.0}, {1.0, 0.0}}})
    local target = heed.tensor {{1, 2}}
    -- -log p: log 2, and log(1 + e)
    assert.near(((2 * (1 + math.exp(1)))) ^ 0.5,
      metrics.perplexity(scores, target), 1e-6)
    assert.near(2, metrics.perplexity(scores, heed.tensor {{1, -100}}), 1e-6)
    assert.near(1, metrics.perplexity(heed.tensor {{100.0, 0.0}},
      heed.tensor {1}), 1e-6)
  end)
end)

describe("every metric", function()
  local float = scores_of(OUTPUT, 3)

  it("gives the same batch by batch, and again after reset", function()
    for name, f in pairs {Accuracy = metrics.accuracy, F1 = metrics.f1,
      Precision = metrics.precision, Recall = metrics.recall,
      ConfusionMatrix = metrics.confusion_matrix,
      Perplexity = metrics.perplexity} do
      local object = metrics[name]()
      for _ = 1, 2 do
        for first = 1, 12, 5 do
          local rows = {{first, math.min(first + 4, 12)}}
          object:update(float[rows], TARGET[rows])
        end
        local want, got = f(float, TARGET), object:compute()
        if type(want) == "number" then
          assert.near(want, got, 1e-12, name)
        else
          assert.is_true(want:equal(got), name)
        end
        object:reset()
      end
    end
  end)

  it("has BLEU and chrF batch by batch too", function()
    local h = {"The cat sleeps on the red sofa.", "We ate bread and cheese."}
    local r = {{"The cat is sleeping on the red sofa."},
      {"We had bread and some cheese for lunch."}}
    for name, f in pairs {BLEU = heed.text.bleu, CHRF = heed.text.chrf} do
      local object = metrics[name]()
      for _ = 1, 2 do
        for i = 1, 2 do object:update({h[i]}, {r[i]}) end
        assert.equal((f(h, r)), (object:compute()))
        object:reset()
      end
      assert.equal((name == "BLEU" and "bleu" or "chrf") ..
        ": there is nothing to compute", message(object.compute, object))
    end
  end)

  it("says what is wrong", function()
    local one = heed.tensor {1}
    local none = heed.tensor {-100}
    for _, name in ipairs {"Accuracy", "Precision", "Recall", "F1"} do
      local f = metrics[name:lower()]
      assert.equal(name .. ": there is nothing to compute: no target was " ..
        "counted", message(f, one, none))
      assert.equal(name .. ": output must be a tensor, got 1",
        message(f, 1, one))
      assert.equal(name .. ": target must be a tensor, got nil",
        message(f, one))
      assert.equal(name .. ": output tensor int64 [1] and target tensor " ..
        "int64 [2] must be scores [.. C] and labels [..], or labels of one " ..
        "shape", message(f, one, heed.tensor {1, 2}))
      assert.equal(name .. ": output tensor int64 [1] and target tensor " ..
        "float32 [1] must be scores [.. C] and labels [..], or labels of " ..
        "one shape", message(f, one, heed.ones(1)))
      assert.equal(name .. ": output tensor float32 [1] and target tensor " ..
        "int64 [1] must be scores [.. C] and labels [..], or labels of one " ..
        "shape", message(f, heed.ones(1), one))
      assert.equal(name .. ": target must be labels from 1 to 3, got 4",
        message(f, heed.ones(1, 3), heed.tensor {4}))
      assert.equal(name .. ": target must be labels from 1, got 0",
        message(f, one, heed.tensor {0}))
      assert.equal(name .. ": output must be labels from 1, got -1",
        message(f, heed.tensor {-1}, one))
      assert.equal(name .. ": ignore_index must be an integer, got 0.5",
        message(f, one, one, {ignore_index = 0.5}))
    end
    assert.equal("Accuracy: top_k 4 needs as many scores, got tensor " ..
      "float32 [1 3]", message(metrics.accuracy, heed.ones(1, 3), one,
        {top_k = 4}))
    assert.equal("Accuracy: top_k 2 needs as many scores, got tensor int64 [1]",
      message(metrics.accuracy, one, one, {top_k = 2}))
    assert.equal("Accuracy: top_k must be an integer of at least 1, got 0",
      message(metrics.Accuracy, {top_k = 0}))
    assert.equal('F1: average must be "macro", "micro", "weighted", ' ..
      '"binary" or "none", got "mean"', message(metrics.F1,
        {average = "mean"}))
    assert.equal("F1: positive must be an integer of at least 1, got 0",
      message(metrics.F1, {positive = 0}))
    assert.equal("ConfusionMatrix: there are 3 classes, more than " ..
      "num_classes 2", message(metrics.confusion_matrix, heed.tensor {3}, one,
        {num_classes = 2}))
    assert.equal("ConfusionMatrix: num_classes must be an integer of at " ..
      "least 1, got 0", message(metrics.ConfusionMatrix, {num_classes = 0}))
    assert.equal("Perplexity: output must be scores, got tensor int64 [1]",
      message(metrics.perplexity, one, one))
    assert.equal("Perplexity: there is nothing to compute: no target was " ..
      "counted", message(metrics.perplexity, heed.ones(1, 2), none))
    assert.equal('Accuracy: unknown option "k"; known: ignore_index, top_k',
      message(metrics.accuracy, one, one, {k = 2}))
  end)
end)
