--- Corpus BLEU (Papineni, Roukos, Ward and Zhu 2002), the numbers that
-- sacrebleu gives by default.
--
--     BLEU = BP * exp(sum_n log(p_n) / N),   n = 1..N
--     p_n  = 100 * matched n-grams / n-grams of the hypotheses
--     BP   = 1 if h >= r, else exp(1 - r / h)
--
-- h and r are the lengths of all hypotheses and of the references closest to
-- them. An n-gram is matched at most as often as one reference holds it. An
-- order without a match is smoothed (Chen and Cherry, 2014): counts as 1/2,
-- 1/4, ... of a match ("exp"), or as `smooth_value` of one ("floor"); or
-- `smooth_value` is added to matched and all n-grams of more than one token
-- ("add-k").

local check = require "heed.check"
local normal = require "heed.text.normal"

local plain_spaces <const> = normal.spaces

-- The rules of NIST's mteval-v13a for Western languages, in their order.
local function tokenize_13a(s)
  s = plain_spaces(s):gsub("<skipped>", ""):gsub("-\n", ""):gsub("\n", " ")
  s = s:gsub("&quot;", '"'):gsub("&amp;", "&"):gsub("&lt;", "<")
    :gsub("&gt;", ">")
  -- All ASCII punctuation but ' , - . stands alone.
  s = (" " .. s .. " "):gsub("[!-&(-+/:-@[-`{-~]", " %0 ")
  -- Full stop and comma too, unless between digits.
  s = s:gsub("([^0-9])([.,])", "%1 %2 "):gsub("([.,])([^0-9])", " %1 %2")
  -- A dash after a digit.
  return (s:gsub("([0-9])(%-)", "%1 %2 "))
end

local TOKENIZERS <const> = {
  ["13a"] = tokenize_13a,
  none = plain_spaces,
}

-- The n-grams of a text and how often each occurs, and the number of tokens.
-- Tokens hold no space, so joining them by spaces keeps n-grams apart.
local function count_ngrams(text, tokenize, max_order)
  local tokens = {}
  for token in tokenize(text):gmatch("[^ \n]+") do
    tokens[#tokens + 1] = token
  end
  local counts = {}
  for n = 1, max_order do
    local of_order = {}
    for i = 1, #tokens - n + 1 do
      local ngram = table.concat(tokens, " ", i, i + n - 1)
      of_order[ngram] = (of_order[ngram] or 0) + 1
    end
    counts[n] = of_order
  end
  return counts, #tokens
end

-- For each n-gram the most that one reference holds, and the length that is
-- closest to `length`, the shorter one of two.
local function count_references(list, length, tokenize, max_order)
  local most, closest = {}, nil
  for n = 1, max_order do most[n] = {} end
  for _, reference in ipairs(list) do
    local counts, m = count_ngrams(reference, tokenize, max_order)
    for n = 1, max_order do
      for ngram, count in pairs(counts[n]) do
        most[n][ngram] = math.max(most[n][ngram] or 0, count)
      end
    end
    local nearer = closest and math.abs(m - length) - math.abs(closest - length)
    if not closest or nearer < 0 or nearer == 0 and m < closest then
      closest = m
    end
  end
  return most, closest
end

-- Adds the matched and all n-grams of one hypothesis to the sums.
local function add_matches(counts, most, matched, total)
  for n, of_order in ipairs(counts) do
    for ngram, count in pairs(of_order) do
      total[n] = total[n] + count
      matched[n] = matched[n] + math.min(count, most[n][ngram] or 0)
    end
  end
end

-- What an order without a match counts as; `n` is how many there were.
local SMOOTH <const> = {
  exp = function(_, n) return 0.5 ^ n end,
  floor = function(value) return value end,
  ["add-k"] = function() return 0.0 end,
  none = function() return 0.0 end,
}

local SMOOTH_VALUES <const> = {floor = 0.1, ["add-k"] = 1.0}

-- The precisions in percent, how many orders count, and whether there is any
-- match at all. Orders longer than every hypothesis stay 0.
local function precisions_of(matched, total, o)
  local precisions, orders, found = {}, #matched, false
  for n = 1, #matched do
    precisions[n] = 0.0
    found = found or matched[n] > 0
  end
  if not found then return precisions, orders, false end
  local empty = 0
  for n = 1, #matched do
    local added = o.smooth == "add-k" and n > 1 and o.smooth_value or 0
    local hits, all = matched[n] + added, total[n] + added
    if all == 0 then break end
    if o.effective_order then orders = n end
    if hits == 0 then
      empty = empty + 1
      hits = SMOOTH[o.smooth](o.smooth_value, empty)
    end
    precisions[n] = 100 * hits / all
  end
  return precisions, orders, true
end

local function brevity_penalty(h, r)
  if h >= r then return 1.0 end
  return h > 0 and math.exp(1 - r / h) or 0.0
end

-- Returns what is wrong with the texts, or nil.
local function fault_of(hypotheses, references)
  local n, fault = check.list(hypotheses, "string")
  if fault then return "hypotheses" .. fault end
  if n == 0 then return "hypotheses must hold a string, got none" end
  local m
  m, fault = check.list(references, "table")
  if fault then return "references" .. fault end
  if m ~= n then
    return ("references must hold a list for each of the %d hypotheses, got %d")
      :format(n, m)
  end
  for i, list in ipairs(references) do
    m, fault = check.list(list, "string")
    if fault then return ("references[%d]%s"):format(i, fault) end
    if m == 0 then
      return ("references[%d] must hold a string, got none"):format(i)
    end
  end
end

local OPTIONS <const> = {
  tokenize = "13a", lowercase = false, smooth = "exp",
  smooth_value = check.NONE, max_order = 4, effective_order = false,
}

local function read_options(options)
  local o = check.options("bleu", options, OPTIONS)
  if not TOKENIZERS[o.tokenize] then
    check.fail('bleu: tokenize must be "13a" or "none", got %s',
      check.show(o.tokenize))
  end
  if not SMOOTH[o.smooth] then
    check.fail('bleu: smooth must be "exp", "floor", "add-k" or "none", ' ..
      "got %s", check.show(o.smooth))
  end
  if o.smooth_value ~= nil and not SMOOTH_VALUES[o.smooth] then
    check.fail('bleu: smooth_value goes with "floor" and "add-k", not with %s',
      check.show(o.smooth))
  end
  o.smooth_value = check.number("bleu", "smooth_value", o.smooth_value or
    SMOOTH_VALUES[o.smooth] or 0, 0)
  o.max_order = check.integer("bleu", "max_order", o.max_order, 1)
  local tokenize <const> = TOKENIZERS[o.tokenize]
  o.tokenize_text = o.lowercase and function(s)
    return tokenize(normal.lower(s))
  end or tokenize
  return o
end

local BLEU = {}
BLEU.__index = BLEU
BLEU.__name = "BLEU"

--- Makes a BLEU that takes its texts batch by batch.
-- @function BLEU
-- @tparam[opt] table options those of `text.bleu`
-- @usage
-- local bleu = heed.metrics.BLEU()
-- bleu:update({"The cat sat on the mat."}, {{"The cat sat on the mat."}})
-- return bleu:compute() --> 100
local function new(class, options)
  local self = setmetatable({options = read_options(options)}, class)
  self:reset()
  return self
end

--- Forgets all texts.
-- @usage
-- local bleu = heed.metrics.BLEU()
-- bleu:update({"Not this one."}, {{"Something else."}})
-- bleu:reset()
-- bleu:update({"A cat sat here."}, {{"A cat sat here."}})
-- return bleu:compute() --> 100
function BLEU:reset()
  self.matched, self.total, self.h, self.r = {}, {}, 0, 0
  for n = 1, self.options.max_order do
    self.matched[n], self.total[n] = 0, 0
  end
  self.texts = 0
end

--- Adds texts.
-- @tparam {string,...} hypotheses not tokenised
-- @tparam {{string,...},...} references for each hypothesis one or more
-- @raise when the lists differ in length, or hold something else
-- @usage
-- local bleu = heed.metrics.BLEU()
-- bleu:update({"A cat sat here."}, {{"A cat sat here.", "There sat a cat."}})
-- bleu:update({"It left us soon."}, {{"It left us soon."}})
-- return bleu:compute() --> 100
function BLEU:update(hypotheses, references)
  local fault = fault_of(hypotheses, references)
  if fault then check.fail("bleu: %s", fault) end
  local o = self.options
  for i, hypothesis in ipairs(hypotheses) do
    local counts, length = count_ngrams(hypothesis, o.tokenize_text,
      o.max_order)
    local most, closest = count_references(references[i], length,
      o.tokenize_text, o.max_order)
    add_matches(counts, most, self.matched, self.total)
    self.h, self.r = self.h + length, self.r + closest
  end
  self.texts = self.texts + #hypotheses
end

--- The BLEU of all texts so far, as `text.bleu` returns it.
-- @treturn number
-- @treturn table
-- @raise when there is none
-- @usage
-- local bleu = heed.metrics.BLEU()
-- bleu:update({"A cat sat here."}, {{"A cat sat here."}})
-- return bleu:compute() --> 100
function BLEU:compute()
  if self.texts == 0 then check.fail("bleu: there is nothing to compute") end
  local precisions, orders, found = precisions_of(self.matched, self.total,
    self.options)
  local penalty = brevity_penalty(self.h, self.r)
  local score = 0.0
  if found then
    local sum = 0.0
    for n = 1, orders do sum = sum + math.log(precisions[n]) end
    -- Rounding makes a perfect score a little more than 100.
    score = math.min(penalty * math.exp(sum / orders), 100.0)
  end
  return score, {
    precisions = precisions,
    brevity_penalty = penalty,
    hyp_length = self.h,
    ref_length = self.r,
  }
end

setmetatable(BLEU, {__call = new})

--- Returns the BLEU of translations, 0 to 100, and what it is made of: a table
-- with `precisions` (percent, by order), `brevity_penalty`, `hyp_length` and
-- `ref_length` (tokens).
--
-- @tparam {string,...} hypotheses not tokenised
-- @tparam {{string,...},...} references for each hypothesis one or more
-- @tparam[opt] table options
-- @tparam[opt="13a"] string options.tokenize `"13a"`, or `"none"` for texts
-- whose tokens have spaces between them
-- @tparam[opt=false] boolean options.lowercase whether case does not count
-- @tparam[opt="exp"] string options.smooth `"exp"`, `"floor"`, `"add-k"` or
-- `"none"`
-- @tparam[opt] number options.smooth_value of `"floor"` (0.1) and `"add-k"` (1)
-- @tparam[opt=4] integer options.max_order longest n-gram
-- @tparam[opt=false] boolean options.effective_order leaves out the orders that
-- are longer than every hypothesis, as is wanted for single sentences
-- @treturn number
-- @treturn table
-- @usage
-- local score, parts = text.bleu({"The cat sat on the mat."},
--   {{"The cat sat on the mat.", "A cat was on the mat."}})
-- assert(score > 99.99 and parts.hyp_length == 7)
local function bleu(hypotheses, references, options)
  local measure = BLEU(options)
  measure:update(hypotheses, references)
  return measure:compute()
end

return {bleu = bleu, BLEU = BLEU, fault_of = fault_of}
