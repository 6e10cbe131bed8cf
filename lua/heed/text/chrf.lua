--- Corpus chrF and chrF++ (Popović 2015, 2017), the numbers that sacrebleu
-- gives by default.
--
--     chrF = 100 (1 + beta^2) P R / (beta^2 P + R)
--
-- P and R are the means, over the orders of n-grams, of the part of the
-- hypotheses' n-grams that are matched and the part of the references'. The
-- n-grams are of characters, white space left out, and for chrF++ of words too.
-- Of several references that counts whose sentence scores best.

local check = require "heed.check"
local core = require "heed.core"
local fault_of = require "heed.text.bleu".fault_of
local normal = require "heed.text.normal"

-- -- n-grams -----------------------------------------------------------------

local PUNCTUATION <const> = "[!-/:-@%[-`{-~]"

-- Words, with one punctuation mark at an end taken off; at the end before at
-- the start.
local function words_of(s)
  local words = {}
  for word in s:gmatch("[^ \n]+") do
    local body, mark = word:match("^(.+)(" .. PUNCTUATION .. ")$")
    if not body then
      body, mark = word:match("^(" .. PUNCTUATION .. ")(.+)$")
    end
    words[#words + 1] = body or word
    words[#words + 1] = mark
  end
  return words
end

local function characters_of(s)
  local characters = {}
  for character in s:gmatch(utf8.charpattern) do
    characters[#characters + 1] = character
  end
  return characters
end

-- Adds to `list`, for each order, how often each n-gram occurs and how many
-- there are. `between` keeps words apart.
local function add_orders(list, tokens, orders, between)
  for n = 1, orders do
    local counts = {}
    for i = 1, #tokens - n + 1 do
      local ngram = table.concat(tokens, between, i, i + n - 1)
      counts[ngram] = (counts[ngram] or 0) + 1
    end
    list[#list + 1] = {counts = counts, total = math.max(#tokens - n + 1, 0)}
  end
end

local function ngrams_of(s, o)
  if o.lowercase then s = normal.lower(s) end
  local spaced = normal.spaces(s)
  local list = {}
  add_orders(list, characters_of(o.whitespace and s or
    spaced:gsub("[ \n]", "")), o.char_order, "")
  if o.word_order > 0 then
    add_orders(list, words_of(spaced), o.word_order, " ")
  end
  return list
end

-- For each order the n-grams of the hypothesis, of the reference, and matched.
local function compare(hypothesis, reference)
  local statistics = {}
  for i, of in ipairs(reference) do
    local matched = 0
    for ngram, count in pairs(hypothesis[i].counts) do
      matched = matched + math.min(count, of.counts[ngram] or 0)
    end
    -- an order that the reference is too short for does not count
    local n = of.total > 0 and hypothesis[i].total or 0
    statistics[i] = {n, of.total, matched}
  end
  return statistics
end

-- -- the score ---------------------------------------------------------------

local EPSILON <const> = 1e-16

-- The mean of the scores of all orders, one without n-grams nearly 0: as the
-- first programs for chrF, Moses and NLTK compute it.
local function mean_of_scores(statistics, factor)
  local sum = 0.0
  for _, s in ipairs(statistics) do
    local p = s[1] > 0 and s[3] / s[1] or EPSILON
    local r = s[2] > 0 and s[3] / s[2] or EPSILON
    local below = factor * p + r
    sum = sum + (below > 0 and (1 + factor) * p * r / below or EPSILON)
  end
  return 100 * sum / #statistics
end

local function score_of(statistics, o)
  local factor <const> = o.beta ^ 2
  if o.eps_smoothing then return mean_of_scores(statistics, factor) end
  local precision, recall, orders = 0.0, 0.0, 0
  for _, s in ipairs(statistics) do
    if s[1] > 0 and s[2] > 0 then
      precision, recall = precision + s[3] / s[1], recall + s[3] / s[2]
      orders = orders + 1
    end
  end
  if precision + recall == 0 then return 0.0 end
  precision, recall = precision / orders, recall / orders
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall)
end

-- -- the measure -------------------------------------------------------------

local OPTIONS <const> = {
  char_order = 6, word_order = 0, beta = 2, lowercase = false,
  whitespace = false, eps_smoothing = false,
}

local function read_options(options)
  local o = check.options("chrf", options, OPTIONS)
  o.char_order = check.integer("chrf", "char_order", o.char_order, 1)
  o.word_order = check.integer("chrf", "word_order", o.word_order, 0)
  check.number("chrf", "beta", o.beta, 0)
  return o
end

local CHRF = {}
CHRF.__index = CHRF
CHRF.__name = "CHRF"

--- Makes a chrF that takes its texts batch by batch.
-- @function CHRF
-- @tparam[opt] table options those of `text.chrf`
-- @usage
-- local chrf = heed.metrics.CHRF({word_order = 2})
-- chrf:update({"The cat sat on the mat."}, {{"The cat sat on the mat."}})
-- return chrf:compute() --> 100
local function new(class, options)
  local self = setmetatable({options = read_options(options)}, class)
  self:reset()
  return self
end

--- Forgets all texts.
-- @usage
-- local chrf = heed.metrics.CHRF()
-- chrf:update({"Not this one."}, {{"Something else."}})
-- chrf:reset()
-- chrf:update({"A cat sat here."}, {{"A cat sat here."}})
-- return chrf:compute() --> 100
function CHRF:reset()
  self.sums, self.texts = {}, 0
  for i = 1, self.options.char_order + self.options.word_order do
    self.sums[i] = {0, 0, 0}
  end
end

-- The statistics of the reference whose score is best, the first one of these.
local function best_of(hypothesis, references, o)
  local found, best = nil, -1.0
  local ngrams = ngrams_of(hypothesis, o)
  for _, reference in ipairs(references) do
    local statistics = compare(ngrams, ngrams_of(reference, o))
    local score = score_of(statistics, o)
    if score > best then found, best = statistics, score end
  end
  return found
end

local function check_utf8(hypotheses, references)
  for i, hypothesis in ipairs(hypotheses) do
    if not core.unicode.valid(hypothesis) then
      check.fail("chrf: hypotheses[%d] must be UTF-8, got %s", i,
        check.show(hypothesis))
    end
    for j, reference in ipairs(references[i]) do
      if not core.unicode.valid(reference) then
        check.fail("chrf: references[%d][%d] must be UTF-8, got %s", i, j,
          check.show(reference))
      end
    end
  end
end

--- Adds texts.
-- @tparam {string,...} hypotheses not tokenised
-- @tparam {{string,...},...} references for each hypothesis one or more
-- @raise when the lists differ in length, or hold something else, or no UTF-8
-- @usage
-- local chrf = heed.metrics.CHRF()
-- chrf:update({"A cat sat here."}, {{"A cat sat here.", "There sat a cat."}})
-- chrf:update({"It left us soon."}, {{"It left us soon."}})
-- return chrf:compute() --> 100
function CHRF:update(hypotheses, references)
  local fault = fault_of(hypotheses, references)
  if fault then check.fail("chrf: %s", fault) end
  check_utf8(hypotheses, references)
  for i, hypothesis in ipairs(hypotheses) do
    for k, s in ipairs(best_of(hypothesis, references[i], self.options)) do
      local sum = self.sums[k]
      for j = 1, 3 do sum[j] = sum[j] + s[j] end
    end
  end
  self.texts = self.texts + #hypotheses
end

--- The chrF of all texts so far.
-- @treturn number 0 to 100
-- @raise when there is none
-- @usage
-- local chrf = heed.metrics.CHRF()
-- chrf:update({"A cat sat here."}, {{"A cat sat here."}})
-- return chrf:compute() --> 100
function CHRF:compute()
  if self.texts == 0 then check.fail("chrf: there is nothing to compute") end
  return score_of(self.sums, self.options)
end

setmetatable(CHRF, {__call = new})

--- Returns the chrF of translations, 0 to 100; with `word_order = 2` it is
-- chrF++.
-- @tparam {string,...} hypotheses not tokenised, UTF-8
-- @tparam {{string,...},...} references for each hypothesis one or more
-- @tparam[opt] table options
-- @tparam[opt=6] integer options.char_order longest n-gram of characters
-- @tparam[opt=0] integer options.word_order longest n-gram of words
-- @tparam[opt=2] number options.beta how much recall counts
-- @tparam[opt=false] boolean options.lowercase whether case does not count
-- @tparam[opt=false] boolean options.whitespace whether white space counts
-- @tparam[opt=false] boolean options.eps_smoothing the mean of the scores of
-- the orders instead of the score of the means
-- @treturn number
-- @usage
-- local score = text.chrf({"The cat sat."}, {{"The cat sat."}})
-- assert(score == 100)
local function chrf(hypotheses, references, options)
  local measure = CHRF(options)
  measure:update(hypotheses, references)
  return measure:compute()
end

return {chrf = chrf, CHRF = CHRF}
