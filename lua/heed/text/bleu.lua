--- Corpus BLEU (Papineni, Roukos, Ward and Zhu 2002), the numbers that
-- sacrebleu gives by default.
--
--     BLEU = BP * exp(sum_n log(p_n) / N),   n = 1..N
--     p_n  = 100 * matched n-grams / n-grams of the hypotheses
--     BP   = 1 if h >= r, else exp(1 - r / h)
--
-- h and r are the lengths of all hypotheses and of the references closest to
-- them. An n-gram is matched at most as often as one reference holds it. An
-- order without a match counts as 1/2, 1/4, ... of one ("exp" smoothing).

local check = require "heed.check"

-- White space beyond ASCII, as patterns: U+0085 U+00A0, U+1680, U+2000..200A
-- U+2028 U+2029 U+202F, U+205F, U+3000.
local WIDE_SPACES <const> = {
  "\xC2[\x85\xA0]", "\xE1\x9A\x80", "\xE2\x80[\x80-\x8A\xA8\xA9\xAF]",
  "\xE2\x81\x9F", "\xE3\x80\x80",
}

-- Every white space but the line feed as a plain space; none at the end.
local function plain_spaces(s)
  s = s:gsub("[\t\v\f\r\x1C-\x1F]", " ")
  if s:find("[\x80-\xFF]") then
    for _, pattern in ipairs(WIDE_SPACES) do s = s:gsub(pattern, " ") end
  end
  return s:match("^.*[^ \n]") or ""
end

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

-- The precisions in percent, how many orders count, and whether there is any
-- match at all. Orders longer than every hypothesis stay 0.
local function precisions_of(matched, total, effective_order)
  local precisions, orders, found = {}, #matched, false
  for n = 1, #matched do
    precisions[n] = 0.0
    found = found or matched[n] > 0
  end
  if not found then return precisions, orders, false end
  local smooth = 1.0
  for n = 1, #matched do
    if total[n] == 0 then break end
    if effective_order then orders = n end
    if matched[n] == 0 then smooth = smooth / 2 end
    precisions[n] = 100 * (matched[n] > 0 and matched[n] or smooth) / total[n]
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

--- Returns the BLEU of translations, 0 to 100, and what it is made of: a table
-- with `precisions` (percent, by order), `brevity_penalty`, `hyp_length` and
-- `ref_length` (tokens).
--
-- @tparam {string,...} hypotheses not tokenised
-- @tparam {{string,...},...} references for each hypothesis one or more
-- @tparam[opt] table options
-- @tparam[opt="13a"] string options.tokenize `"13a"`, or `"none"` for texts
-- whose tokens have spaces between them
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
  local o = check.options("bleu", options, {
    tokenize = "13a", max_order = 4, effective_order = false,
  })
  local tokenize = TOKENIZERS[o.tokenize]
  if not tokenize then
    error('bleu: tokenize must be "13a" or "none", got '
      .. check.show(o.tokenize), 2)
  end
  local max_order = check.integer("bleu", "max_order", o.max_order, 1)
  check.kind("bleu", "effective_order", o.effective_order, "boolean")
  local fault = fault_of(hypotheses, references)
  if fault then error("bleu: " .. fault, 2) end

  local matched, total, h, r = {}, {}, 0, 0
  for n = 1, max_order do matched[n], total[n] = 0, 0 end
  for i, hypothesis in ipairs(hypotheses) do
    local counts, length = count_ngrams(hypothesis, tokenize, max_order)
    local most, closest = count_references(references[i], length, tokenize,
      max_order)
    add_matches(counts, most, matched, total)
    h, r = h + length, r + closest
  end

  local precisions, orders, found = precisions_of(matched, total,
    o.effective_order)
  local penalty = brevity_penalty(h, r)
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
    hyp_length = h,
    ref_length = r,
  }
end

return bleu
