--- Losses as modules: each holds the options of its function in
-- `nn.functional`, by the same names and defaults, and is called with the
-- tensors.
--
--     local loss = nn.CrossEntropyLoss({label_smoothing = 0.1})(x, labels)

local check = require "heed.check"
local F = require "heed.nn.functional"
local Module = require "heed.nn.module"
local reduction = require "heed.nn.reduction"

local loss = {}

-- The options of a module, in full: its buffers are read anew, as they may
-- have been put into another dtype.
local function options_of(self)
  local o = {}
  for key, value in pairs(self.options) do o[key] = value end
  for _, key in ipairs(self.tensors) do o[key] = self[key] end
  return o
end

-- A module for a function of tensors and options. `tensors` are the names of
-- options that are tensors, and so become buffers.
local function define(name, func, defaults, tensors)
  local class = Module:extend(name)
  loss[name] = class
  local f <const>, known <const> = F[func], {reduction = "mean"}
  for key, value in pairs(defaults or {}) do known[key] = value end
  for _, key in ipairs(tensors or {}) do known[key] = check.NONE end

  function class:init(options)
    self.options = check.options(name, options, known)
    self.tensors = tensors or {}
    for _, key in ipairs(self.tensors) do
      local t = self.options[key]
      self.options[key] = nil
      if t ~= nil then self:register_buffer(key, t) end
    end
    reduction.read(name, self.options.reduction,
      func == "kl_div" and "batchmean")
  end

  -- Tensors in the order of the function.
  function class:forward(...)
    local args = table.pack(...)
    args[args.n + 1] = options_of(self)
    return f(table.unpack(args, 1, args.n + 1))
  end

  function class:extra()
    return ("reduction = %s"):format(self.options.reduction)
  end
end

-- -- of classes --------------------------------------------------------------

--- Cross-entropy of scores and labels or probabilities, see
-- `F.cross_entropy`.
-- @function CrossEntropyLoss
-- @tparam[opt] table options `weight`, `ignore_index`, `label_smoothing`,
-- `reduction`
-- @usage local loss = nn.CrossEntropyLoss {label_smoothing = 0.1}
-- local y = loss(heed.randn(2, 5), heed.tensor {1, 5})
define("CrossEntropyLoss", "cross_entropy",
  {ignore_index = -100, label_smoothing = 0.0}, {"weight"})

--- Negative log-likelihood of log-probabilities and labels, see `F.nll_loss`.
-- @function NLLLoss
-- @tparam[opt] table options `weight`, `ignore_index`, `reduction`
-- @usage local x = heed.randn(2, 5):log_softmax()
-- local y = nn.NLLLoss()(x, heed.tensor {1, 5})
define("NLLLoss", "nll_loss", {ignore_index = -100}, {"weight"})

--- Cross-entropy of probabilities, see `F.binary_cross_entropy`.
-- @function BCELoss
-- @tparam[opt] table options `weight`, `reduction`
-- @usage local y = nn.BCELoss()(heed.rand(2, 3), heed.zeros(2, 3))
define("BCELoss", "binary_cross_entropy", nil, {"weight"})

--- Cross-entropy of scores, see `F.binary_cross_entropy_with_logits`.
-- @function BCEWithLogitsLoss
-- @tparam[opt] table options `weight`, `pos_weight`, `reduction`
-- @usage local y = nn.BCEWithLogitsLoss()(heed.randn(2, 3), heed.zeros(2, 3))
define("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", nil,
  {"weight", "pos_weight"})

--- Divergence of distributions, see `F.kl_div`.
-- @function KLDivLoss
-- @tparam[opt] table options `log_target`, `reduction`
-- @usage local loss = nn.KLDivLoss {reduction = "batchmean"}
-- local y = loss(heed.randn(2, 3):log_softmax(), heed.randn(2, 3):softmax())
define("KLDivLoss", "kl_div", {log_target = false})

--- Connectionist temporal classification, see `F.ctc_loss`.
-- @function CTCLoss
-- @tparam[opt] table options `blank`, `zero_infinity`, `reduction`
-- @usage local x = heed.randn(6, 1, 4):log_softmax() -- [T N C]
-- local y = nn.CTCLoss()(x, heed.tensor {{2, 4}}, {6}, {2})
define("CTCLoss", "ctc_loss", {blank = 1, zero_infinity = false})

-- -- of numbers --------------------------------------------------------------

--- Mean squared error, see `F.mse_loss`.
-- @function MSELoss
-- @tparam[opt] table options `reduction`
-- @usage local y = nn.MSELoss()(heed.ones(3), heed.zeros(3)) --> 1
define("MSELoss", "mse_loss")

--- Mean absolute error, see `F.l1_loss`.
-- @function L1Loss
-- @tparam[opt] table options `reduction`
-- @usage local y = nn.L1Loss()(heed.ones(3), heed.zeros(3)) --> 1
define("L1Loss", "l1_loss")

--- Squared, then absolute error, see `F.smooth_l1_loss`.
-- @function SmoothL1Loss
-- @tparam[opt] table options `beta`, `reduction`
-- @usage local loss = nn.SmoothL1Loss {beta = 2}
-- local y = loss(heed.ones(3), heed.zeros(3)) --> 0.25
define("SmoothL1Loss", "smooth_l1_loss", {beta = 1.0})

--- Squared, then absolute error, see `F.huber_loss`.
-- @function HuberLoss
-- @tparam[opt] table options `delta`, `reduction`
-- @usage local loss = nn.HuberLoss {delta = 2}
-- local y = loss(heed.ones(3), heed.zeros(3)) --> 0.5
define("HuberLoss", "huber_loss", {delta = 1.0})

--- Counts of a Poisson distribution, see `F.poisson_nll_loss`.
-- @function PoissonNLLLoss
-- @tparam[opt] table options `log_input`, `full`, `eps`, `reduction`
-- @usage local y = nn.PoissonNLLLoss()(heed.zeros(3), heed.ones(3)) --> 1
define("PoissonNLLLoss", "poisson_nll_loss",
  {log_input = true, full = false, eps = 1e-8})

--- Normal distributions, see `F.gaussian_nll_loss`.
-- @function GaussianNLLLoss
-- @tparam[opt] table options `full`, `eps`, `reduction`
-- @usage local loss = nn.GaussianNLLLoss()
-- local y = loss(heed.ones(3), heed.zeros(3), 1.0) --> 0.5
define("GaussianNLLLoss", "gaussian_nll_loss", {full = false, eps = 1e-6})

-- -- of vectors --------------------------------------------------------------

--- Pairs of vectors by their angle, see `F.cosine_embedding_loss`.
-- @function CosineEmbeddingLoss
-- @tparam[opt] table options `margin`, `reduction`
-- @usage local y = nn.CosineEmbeddingLoss()(heed.ones(2, 3), heed.ones(2, 3),
--   heed.tensor {1, 1}) --> 0
define("CosineEmbeddingLoss", "cosine_embedding_loss", {margin = 0.0})

--- Triplets of vectors by their distances, see `F.triplet_margin_loss`.
-- @function TripletMarginLoss
-- @tparam[opt] table options `margin`, `p`, `eps`, `swap`, `reduction`
-- @usage local loss = nn.TripletMarginLoss {margin = 0.5}
-- local y = loss(heed.ones(2, 3), heed.ones(2, 3), heed.zeros(2, 3)) --> 0
define("TripletMarginLoss", "triplet_margin_loss",
  {margin = 1.0, p = 2.0, eps = 1e-6, swap = false})

--- Which of two numbers is above the other, see `F.margin_ranking_loss`.
-- @function MarginRankingLoss
-- @tparam[opt] table options `margin`, `reduction`
-- @usage local y = nn.MarginRankingLoss()(heed.ones(3), heed.zeros(3),
--   heed.full({3}, -1)) --> 1
define("MarginRankingLoss", "margin_ranking_loss", {margin = 0.0})

--- Distances that should be small or large, see `F.hinge_embedding_loss`.
-- @function HingeEmbeddingLoss
-- @tparam[opt] table options `margin`, `reduction`
-- @usage local loss = nn.HingeEmbeddingLoss()
-- local y = loss(heed.zeros(3), heed.full({3}, -1)) --> 1
define("HingeEmbeddingLoss", "hinge_embedding_loss", {margin = 1.0})

--- Scores of two classes, see `F.soft_margin_loss`.
-- @function SoftMarginLoss
-- @tparam[opt] table options `reduction`
-- @usage local y = nn.SoftMarginLoss()(heed.zeros(3), heed.ones(3)) --> 0.6931
define("SoftMarginLoss", "soft_margin_loss")

-- -- distances ---------------------------------------------------------------

--- Cosine of the angle of vectors, see `F.cosine_similarity`.
-- @function CosineSimilarity
-- @tparam[opt] table options `dim`, 2 by default; `eps`
-- @usage local a, b = heed.randn(2, 3), heed.randn(2, 3)
-- local y = nn.CosineSimilarity()(a, b) -- [2]
local CosineSimilarity = Module:extend("CosineSimilarity")
loss.CosineSimilarity = CosineSimilarity

function CosineSimilarity:init(options)
  self.options = check.options("CosineSimilarity", options,
    {dim = 2, eps = 1e-8})
end

function CosineSimilarity:forward(a, b)
  return F.cosine_similarity(a, b, self.options)
end

--- Distance of vectors in the last dimension, see `F.pairwise_distance`.
-- @function PairwiseDistance
-- @tparam[opt] table options `p`, `eps`, `keepdim`
-- @usage local a, b = heed.randn(2, 3), heed.randn(2, 3)
-- local y = nn.PairwiseDistance()(a, b) -- [2]
local PairwiseDistance = Module:extend("PairwiseDistance")
loss.PairwiseDistance = PairwiseDistance

function PairwiseDistance:init(options)
  self.options = check.options("PairwiseDistance", options,
    {p = 2.0, eps = 1e-6, keepdim = false})
end

function PairwiseDistance:forward(a, b)
  return F.pairwise_distance(a, b, self.options)
end

return loss
