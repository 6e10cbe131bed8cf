-- Losses: edges and messages. Values and gradients of PyTorch are in
-- spec/golden (nn_loss_*, nn_ctc_*, nn_cross_entropy_* ...).

local gradient = require "spec.support.gradient"
local heed = require "heed"
local message = require "spec.support.message"
local nn = require "heed.nn"
local sample = require "spec.support.sample"
local F = nn.functional
local near = dofile "spec/nn/near.lua"

local real <const>, other <const> = sample.real, sample.other

-- Compares the gradients of f(args ..) with differences.
local function check_gradient(f, args)
  gradient.check(function(list) return f(table.unpack(list)) end, args)
end

local function signs(shape)
  return sample.whole(shape, 0, 1) * 2 - 1
end

-- Losses of two tensors of one shape, by name: the second tensor.
local pairs_of <const> = {
  mse_loss = other, l1_loss = other, smooth_l1_loss = other,
  huber_loss = other, poisson_nll_loss = sample.positive,
  binary_cross_entropy_with_logits = function(shape)
    return other(shape):sigmoid()
  end,
  kl_div = function(shape) return other(shape):sigmoid() end,
  hinge_embedding_loss = signs, soft_margin_loss = signs,
}

for name, second in pairs(pairs_of) do
  describe(name, function()
    local f <const> = F[name]

    it("has the gradient of its values", function()
      for _, how in ipairs {"mean", "sum", "none"} do
        check_gradient(f, {real {2, 3}, second {2, 3}, {reduction = how}})
      end
      check_gradient(f, {real {1}, second {1}})
      check_gradient(f, {real {}, second {}})
    end)

    it("is 0 for no numbers", function()
      local x = heed.zeros({0, 3}, {requires_grad = true})
      local y = f(x, heed.zeros(0, 3))
      assert.equal(0, y:item())
      y:backward()
      assert.same({0, 3}, x.grad.shape)
      assert.same({0, 3}, f(x, x:detach(), {reduction = "none"}).shape)
    end)

    it("computes in float32 as in float64", function()
      local x, t = real {4, 5}, second {4, 5}
      near(f(x:to "float32", t:to "float32"), f(x, t):to "float32")
    end)

    it("refuses what makes no sense", function()
      assert.equal(name .. ": x [2 3] and target [3] must have one shape",
        message(f, real {2, 3}, second {3}))
      assert.equal(name .. ": x must be a tensor, got 1", message(f, 1, 2))
      assert.equal(name .. ": target must be a tensor, got nil",
        message(f, real {2}))
      assert.equal(name .. ': reduction must be ' ..
        (name == "kl_div" and '"batchmean", ' or "") ..
        '"mean", "sum" or "none", got "max"',
        message(f, real {2}, second {2}, {reduction = "max"}))
      assert.matches(name .. ': unknown option "weights"; known: ',
        message(f, real {2}, second {2}, {weights = 1}), 1, true)
    end)
  end)
end

describe("cross_entropy of probabilities", function()
  it("has the gradient of its values, also of the targets", function()
    local soft = other({3, 4}):softmax(-1)
    check_gradient(F.cross_entropy, {real {3, 4}, soft})
    check_gradient(F.cross_entropy, {real {3, 4}, soft,
      {weight = sample.positive {4}, label_smoothing = 0.3}})
    check_gradient(F.cross_entropy,
      {real {2, 3, 2}, other({2, 3, 2}):softmax(2), {reduction = "none"}})
  end)

  it("is that of labels where these are certain", function()
    local x, labels = real {3, 4}, heed.tensor {2, 4, 1}
    local certain = F.one_hot(labels, 4):to "float64"
    for _, how in ipairs {"mean", "sum", "none"} do
      for _, s in ipairs {0, 0.2} do
        local o = {reduction = how, label_smoothing = s}
        near(F.cross_entropy(x, certain, o), F.cross_entropy(x, labels, o),
          1e-12)
      end
    end
  end)

  it("takes its options by position too", function()
    local x, t = real {2, 3}, other({2, 3}):softmax(-1)
    local w = sample.positive {3}
    near(F.cross_entropy(x, t, w, nil, 0.1, "sum"), F.cross_entropy(x, t,
      {weight = w, label_smoothing = 0.1, reduction = "sum"}), 0)
    near(F.cross_entropy(x, t, {}), F.cross_entropy(x, t), 0)
  end)

  it("is 0 for no rows", function()
    assert.equal(0, F.cross_entropy(heed.zeros(0, 3), heed.zeros(0, 3)):item())
  end)

  it("refuses what makes no sense", function()
    local x = real {3, 4}
    assert.equal("cross_entropy: x [3 4] and target [3 3] must have one shape",
      message(F.cross_entropy, x, real {3, 3}))
    assert.equal("cross_entropy: target must be int64, got float64 [3]",
      message(F.cross_entropy, x, real {3}))
    assert.equal("cross_entropy: ignore_index is for labels, not for " ..
      "probabilities as in target [3 4]",
      message(F.cross_entropy, x, x, {ignore_index = 2}))
    assert.equal("cross_entropy: weight [3] must have one number for each " ..
      "of the 4 classes of x [3 4]",
      message(F.cross_entropy, x, x, {weight = real {3}}))
    assert.equal("cross_entropy: label_smoothing must be a number from 0 to " ..
      "1, got 2", message(F.cross_entropy, x, x, {label_smoothing = 2}))
    assert.equal('cross_entropy: reduction must be "mean", "sum" or "none", ' ..
      'got "max"', message(F.cross_entropy, x, x, {reduction = "max"}))
  end)
end)

describe("nll_loss", function()
  local labels = heed.tensor {2, 4, 1}

  it("has the gradient of its values", function()
    check_gradient(F.nll_loss, {real {3, 4}, labels})
    check_gradient(F.nll_loss, {real {3, 4}, labels,
      {weight = sample.positive {4}, ignore_index = 4}})
    check_gradient(F.nll_loss,
      {real {2, 3, 2}, heed.tensor {{1, 3}, {2, 2}}, {reduction = "none"}})
    check_gradient(F.nll_loss, {real {4}, heed.tensor(2)})
  end)

  it("is the cross-entropy of what log_softmax gives", function()
    local x, o = real {3, 4}, {weight = sample.positive {4}}
    near(F.nll_loss(x:log_softmax(-1), labels, o),
      F.cross_entropy(x, labels, o), 1e-12)
  end)

  it("is 0 with zero gradients when every label is ignored", function()
    for _, how in ipairs {"mean", "sum"} do
      local x = heed.full({2, 3}, -math.huge, {requires_grad = true})
      local y = F.nll_loss(x, heed.tensor {-100, -100}, {reduction = how})
      assert.equal(0, y:item())
      y:backward()
      near(x.grad, {{0, 0, 0}, {0, 0, 0}}, 0)
    end
  end)

  it("is 0 for no rows", function()
    local none = heed.zeros({0}, "int64")
    assert.equal(0, F.nll_loss(heed.zeros(0, 3), none):item())
    assert.same({0}, F.nll_loss(heed.zeros(0, 3), none,
      {reduction = "none"}).shape)
  end)

  it("refuses labels out of range, and says where they are", function()
    local x = real {3, 4}
    for _, bad in ipairs {0, 5, -4} do
      assert.equal(("nll_loss: target [3], row 2: must be 1..4 (a class " ..
        "of x [3 4]) or ignore_index -100, got %d"):format(bad),
        message(F.nll_loss, x, heed.tensor {2, bad, 1}))
    end
    assert.equal("nll_loss: target [2 2], position [2 1]: must be 1..3 (a " ..
      "class of x [2 3 2]) or ignore_index 9, got 4",
      message(F.nll_loss, real {2, 3, 2}, heed.tensor {{1, 9}, {4, 5}},
        {ignore_index = 9}))
    assert.equal("nll_loss: target [2] must be [3], x [3 4] without its " ..
      "classes, dimension 2", message(F.nll_loss, x, heed.tensor {1, 2}))
    assert.equal("nll_loss: target must be int64, got float64 [3]",
      message(F.nll_loss, x, real {3}))
    assert.equal("nll_loss: weight [3] must have one number for each of the " ..
      "4 classes of x [3 4]",
      message(F.nll_loss, x, labels, {weight = real {3}}))
  end)
end)

describe("binary_cross_entropy", function()
  local function chance(shape) return real(shape):sigmoid() end

  it("has the gradient of its values, also of the targets", function()
    local t = other({2, 3}):sigmoid()
    check_gradient(F.binary_cross_entropy, {chance {2, 3}, t})
    check_gradient(F.binary_cross_entropy, {chance {2, 3}, t,
      {weight = sample.positive {3}, reduction = "sum"}})
  end)

  it("has no infinite loss or gradient at the ends", function()
    local x = heed.tensor({0.0, 0.0, 1.0, 1.0}, {requires_grad = true})
    local y = F.binary_cross_entropy(x, heed.tensor {0.0, 1.0, 0.0, 1.0},
      {reduction = "none"})
    near(y, {0, 100, 100, 0}, 0)
    y:sum():backward()
    near(x.grad, {0, -1e12, 1e12, 0}, 1e6)
  end)

  it("agrees with the one of scores", function()
    local x, t = real {2, 3}, other({2, 3}):sigmoid()
    near(F.binary_cross_entropy(x:sigmoid(), t),
      F.binary_cross_entropy_with_logits(x, t), 1e-12)
  end)

  it("refuses what is no probability, and says where it is", function()
    assert.equal("binary_cross_entropy: x [3], row 2: must be a probability " ..
      "from 0 to 1, got 1.5",
      message(F.binary_cross_entropy, heed.tensor {0.5, 1.5, -1},
        heed.ones(3)))
    assert.equal("binary_cross_entropy: x [2] and target [3] must have one " ..
      "shape", message(F.binary_cross_entropy, heed.ones(2), heed.ones(3)))
  end)
end)

describe("binary_cross_entropy_with_logits", function()
  it("stays finite for scores of any size", function()
    local x = heed.tensor({-1000.0, 1000.0}, {requires_grad = true})
    local y = F.binary_cross_entropy_with_logits(x, heed.tensor {1.0, 0.0},
      {reduction = "sum"})
    assert.equal(2000, y:item())
    y:backward()
    near(x.grad, {-1, 1}, 0)
  end)

  it("has the gradient of its values with all weights", function()
    check_gradient(F.binary_cross_entropy_with_logits, {real {2, 3},
      other({2, 3}):sigmoid(), {weight = sample.positive {3},
        pos_weight = sample.positive {2, 1}}})
  end)

  it("refuses weights that are none", function()
    assert.equal("binary_cross_entropy_with_logits: pos_weight must be a " ..
      "tensor, got 2", message(F.binary_cross_entropy_with_logits, real {2},
      real {2}, {pos_weight = 2}))
  end)
end)

describe("kl_div", function()
  it("is 0 of a distribution from itself, zeros counted", function()
    local t = heed.tensor {{0.5, 0.5, 0}}
    local x = heed.tensor {{math.log(0.5), math.log(0.5), -7}}
    assert.is_true(F.kl_div(x, t, {reduction = "sum"}):abs():item() < 1e-7)
  end)

  it("refuses a batchmean of no batch", function()
    assert.equal('kl_div: reduction "batchmean" needs a batch, got x []',
      message(F.kl_div, real {}, real {}, {reduction = "batchmean"}))
  end)
end)

describe("huber_loss and smooth_l1_loss", function()
  it("meet in delta times the other", function()
    local x, t = real {3, 3}, other {3, 3}
    near(F.huber_loss(x, t, {delta = 0.7}),
      0.7 * F.smooth_l1_loss(x, t, {beta = 0.7}), 1e-12)
    near(F.smooth_l1_loss(x, t, {beta = 0}), F.l1_loss(x, t), 0)
  end)

  it("refuse a bound that is none", function()
    assert.equal("huber_loss: delta must be above 0, got 0",
      message(F.huber_loss, real {2}, real {2}, {delta = 0}))
    assert.equal("smooth_l1_loss: beta must be a number of at least 0, got -1",
      message(F.smooth_l1_loss, real {2}, real {2}, {beta = -1}))
  end)
end)

describe("gaussian_nll_loss", function()
  it("has the gradient of its values", function()
    check_gradient(F.gaussian_nll_loss,
      {real {2, 3}, other {2, 3}, sample.positive {2, 3}})
    check_gradient(F.gaussian_nll_loss, {real {2, 3}, other {2, 3},
      sample.positive {2}, {full = true, reduction = "none"}})
  end)

  it("refuses variances that do not fit, or are negative", function()
    assert.equal("gaussian_nll_loss: var [3] must be like x [2 3], or " ..
      "without its last dimension",
      message(F.gaussian_nll_loss, real {2, 3}, real {2, 3}, real {3}))
    assert.equal("gaussian_nll_loss: var [2], row 2: must be at least 0, " ..
      "got -1", message(F.gaussian_nll_loss, real {2}, real {2},
      heed.tensor {1.0, -1.0}))
  end)
end)

describe("cosine_similarity", function()
  it("has the gradient of its values", function()
    check_gradient(F.cosine_similarity, {real {3, 4}, other {3, 4}})
    check_gradient(F.cosine_similarity, {real {3, 4}, other {4}, 1})
  end)

  it("of a vector of zeros is 0, with finite gradients", function()
    local a = heed.zeros({1, 3}, {requires_grad = true})
    local y = F.cosine_similarity(a, heed.ones(1, 3))
    near(y, {0}, 0)
    y:sum():backward()
    assert.is_true(a.grad:isfinite():all():item())
  end)

  it("refuses a dimension that is not there", function()
    assert.equal("cosine_similarity: dim must be 1..1 or -1..-1 for x [3], " ..
      "got 2", message(F.cosine_similarity, real {3}, real {3}))
  end)
end)

describe("losses of vectors", function()
  it("have the gradients of their values", function()
    check_gradient(F.cosine_embedding_loss,
      {real {4, 3}, other {4, 3}, heed.tensor {1, -1, 1, -1}})
    check_gradient(F.margin_ranking_loss,
      {real {4}, other {4}, signs {4}, {margin = 0.5}})
    check_gradient(F.triplet_margin_loss, {real {4, 3}, other {4, 3},
      sample.positive {4, 3}, {swap = true, margin = 2.0}})
    check_gradient(F.pairwise_distance, {real {4, 3}, other {3}, {p = 3.0}})
  end)

  it("are 0 for no vectors", function()
    local none = heed.zeros(0, 3)
    assert.equal(0, F.triplet_margin_loss(none, none, none):item())
    assert.equal(0, F.cosine_embedding_loss(none, none, heed.zeros(0)):item())
    assert.equal(0, F.margin_ranking_loss(none, none, none):item())
  end)

  it("have finite gradients for vectors that are the same, or zeros",
    function()
      local a = heed.zeros({2, 3}, {requires_grad = true})
      local y = F.triplet_margin_loss(a, a, a) +
        F.cosine_embedding_loss(a, a, heed.tensor {1, -1})
      y:backward()
      assert.is_true(a.grad:isfinite():all():item())
    end)

  it("refuse what does not fit", function()
    local a = real {4, 3}
    assert.equal("cosine_embedding_loss: a [4 3] must be [N D] with a " ..
      "target [N], or [D] with one [], got target [3]",
      message(F.cosine_embedding_loss, a, a, real {3}))
    assert.equal("triplet_margin_loss: anchor [4 3] and negative [3] must " ..
      "have one shape", message(F.triplet_margin_loss, a, a, real {3}))
    assert.equal("margin_ranking_loss: a [4 3] and target [4] must have one " ..
      "shape", message(F.margin_ranking_loss, a, a, real {4}))
    assert.equal('margin_ranking_loss: margin must be a number, got "x"',
      message(F.margin_ranking_loss, a, a, a, {margin = "x"}))
  end)
end)

describe("ctc_loss", function()
  -- -log of the summed probability of all paths that read as the labels
  local function by_paths(p, labels, blank)
    local classes, total = #p[1], 0
    local function walk(t, chance, path)
      if t > #p then
        local read, last = {}, nil
        for _, c in ipairs(path) do
          if c ~= last and c ~= blank then read[#read + 1] = c end
          last = c
        end
        if table.concat(read, " ") == table.concat(labels, " ") then
          total = total + chance
        end
        return
      end
      for c = 1, classes do
        path[t] = c
        walk(t + 1, chance * p[t][c], path)
      end
      path[t] = nil
    end
    walk(1, 1, {})
    return -math.log(total)
  end

  it("sums over all paths", function()
    local p = real({5, 3}):softmax(-1)
    for _, labels in ipairs {{2}, {2, 3}, {2, 2}, {3, 3, 2}, {2, 3, 2, 3}} do
      local y = F.ctc_loss(p:log(), heed.tensor(labels), 5, #labels,
        {reduction = "sum"})
      near(y, by_paths(p:totable(), labels, 1), 1e-12)
    end
    near(F.ctc_loss(p:log(), heed.tensor {1, 2}, 5, 2,
      {reduction = "none", blank = 3}), by_paths(p:totable(), {1, 2}, 3),
      1e-12)
    near(F.ctc_loss(p:log(), heed.zeros({0}, "int64"), 5, 0),
      by_paths(p:totable(), {}, 1), 1e-12)
  end)

  it("means over losses through their target lengths", function()
    local p = real({4, 2, 3}):log_softmax(-1)
    local t = heed.tensor {{2, 3}, {3, 1}}
    local each = F.ctc_loss(p, t, {4, 4}, {2, 1}, {reduction = "none"})
    near(F.ctc_loss(p, t, {4, 4}, {2, 1}),
      (each[1]:item() / 2 + each[2]:item()) / 2, 1e-12)
  end)

  it("stays exact where probabilities are tiny", function()
    local p = heed.full({300, 1, 2}, -50.0, {requires_grad = true})
    local y = F.ctc_loss(p, heed.tensor {{2}}, {300}, {1}, {reduction = "sum"})
    -- 2 starts at i and ends at j >= i: 300 * 301 / 2 paths
    near(y, 15000 - math.log(45150), 1e-2)
    y:backward()
    near(p.grad:sum(), -300, 1e-3) -- a class at each step
  end)

  it("takes sequences too short for their labels as asked", function()
    local p = real({2, 2, 3}):log_softmax(-1):detach()
    p.requires_grad = true
    local t = heed.tensor {{2, 2}, {2, 3}}
    local y = F.ctc_loss(p, t, {2, 2}, {2, 2}, {reduction = "none"})
    assert.equal(math.huge, y[1]:item())
    y[2]:backward()
    assert.is_true(p.grad:select(2, 2):isfinite():all():item())
    p.grad = nil
    y = F.ctc_loss(p, t, {2, 2}, {2, 2},
      {reduction = "sum", zero_infinity = true})
    y:backward()
    assert.is_true(p.grad:select(2, 1):eq(0):all():item())
    assert.is_true(p.grad:select(2, 2):isfinite():all():item())
  end)

  it("gives no gradient behind the end of a sequence", function()
    local p = real({5, 1, 3}):log_softmax(-1):detach()
    p[{{4, 5}}] = 0 / 0
    p.requires_grad = true
    local y = F.ctc_loss(p, heed.tensor {{2}}, {3}, {1})
    y:backward()
    assert.is_true(y:isfinite():item())
    near(p.grad[{{4, 5}}], heed.zeros({2, 1, 3}, "float64"), 0)
    assert.is_true(p.grad:isfinite():all():item())
  end)

  it("is the same for any number of threads", function()
    local threads = heed.get_num_threads()
    local p = heed.randn {60, 9, 20}
    p = p:log_softmax(-1):detach()
    p.requires_grad = true
    local t = heed.randint(2, 20, {9, 12})
    local lens, labels = {}, {}
    for i = 1, 9 do lens[i], labels[i] = 50 + i, 3 + i end
    local function run(n)
      heed.set_num_threads(n)
      p.grad = nil
      local y = F.ctc_loss(p, t, lens, labels)
      y:backward()
      return y:item(), p.grad
    end
    local y, g = run(1)
    local y2, g2 = run(2)
    heed.set_num_threads(threads)
    assert.equal(y, y2)
    near(g, g2, 0)
  end)

  it("refuses what is no length", function()
    assert.equal('ctc_loss: input_lengths must be a tensor, got "x"',
      message(F.ctc_loss, real {2, 1, 3}, heed.tensor {{2}}, "x", {1}))
    assert.equal("ctc_loss: input_lengths must be [1], one for each " ..
      "sequence of log_probs [2 1 3], got [2]",
      message(F.ctc_loss, real {2, 1, 3}, heed.tensor {{2}}, {2, 2}, {1}))
  end)
end)

describe("loss modules", function()
  it("hold the options of their functions", function()
    local x, t = real {3, 4}, heed.tensor {1, 4, 2}
    local w = sample.positive {4}
    local module = nn.CrossEntropyLoss({weight = w, label_smoothing = 0.1})
    near(module(x, t),
      F.cross_entropy(x, t, {weight = w, label_smoothing = 0.1}), 0)
    near(nn.HuberLoss({delta = 0.5, reduction = "sum"})(x, x * 2),
      F.huber_loss(x, x * 2, {delta = 0.5, reduction = "sum"}), 0)
    assert.equal("KLDivLoss(reduction = batchmean)",
      tostring(nn.KLDivLoss({reduction = "batchmean"})))
  end)

  it("keep weights as buffers", function()
    local module = nn.BCEWithLogitsLoss({pos_weight = heed.ones(3)})
    assert.same({3}, module:state_dict().pos_weight.shape)
    module:to "float64"
    assert.equal("float64", module(real {2, 3}, real {2, 3}).dtype)
  end)

  it("refuse unknown options and reductions where they are made", function()
    assert.equal('MSELoss: unknown option "weight"; known: reduction',
      message(nn.MSELoss, {weight = 1}))
    assert.equal('L1Loss: reduction must be "mean", "sum" or "none", got ' ..
      '"avg"', message(nn.L1Loss, {reduction = "avg"}))
  end)
end)

describe("lengths of ctc_loss", function()
  it("are integers", function()
    local x, labels = heed.zeros(3, 1, 4), heed.tensor {{2}}
    assert.equal("ctc_loss: input_lengths must be integers, got 2.5",
      message(F.ctc_loss, x, labels, {2.5}, {1}))
    assert.equal("ctc_loss: target_lengths must be integers, got 0.5",
      message(F.ctc_loss, x:select(2, 1), labels[1], 3, 0.5))
  end)
end)
