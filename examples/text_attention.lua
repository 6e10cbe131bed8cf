#!/usr/bin/env heed
--[[
Attention over a sentence: which words look at which?

The plainest attention there is: no weights to learn, and every token stands for
itself as a row of zeros with a single 1 (one-hot). Two tokens fit by 1 if they
are the same word, by 0 if not, and a softmax over each row makes weights:

    X       = one-hot rows of the tokens             [T V]
    weights = softmax(X X^T)                         [T T]

So a word attends to itself and to its repetitions, and a little to all others.
In a sentence of T tokens, a word that stands there c times gives each of its c
places e / (c e + T - c), and each other place 1 / (c e + T - c): the known
answer that the script is held against.

A network learns better rows than one-hot ones, and matrices that turn them into
queries, keys and values. The second picture shows the same sentence with random
queries and keys: what an untrained network attends to, which is nothing in
particular.

Any language will do. Words are cut as BERT cuts them: at spaces and around
punctuation, and Chinese into single characters. Where a language puts no spaces
(Thai, say), --by characters takes what a reader calls characters.

Try:
    heed examples/text_attention.lua
    heed examples/text_attention.lua "Wenn Fliegen hinter Fliegen fliegen"
    heed examples/text_attention.lua "四是四，十是十"
    heed examples/text_attention.lua --by characters "abracadabra"

Next: examples/sentiment.lua, where the rows and matrices are learned, and the
words that are attended to mean something.
]]

local heed = require "heed"
local plot, script, unicode = heed.plot, heed.script, heed.text.unicode
local F <const> = heed.nn.functional

local SENTENCE <const> = "The cat sat on the mat"
local WIDTH <const> = 8 -- of the random queries and keys

local function settings()
  local parser <const> = script.parser("text_attention", "What the tokens of "
    .. "a sentence attend to.", {out = "."})
  parser:argument("sentence", "any UTF-8 text (default: " .. SENTENCE .. ")")
    :args "*"
  parser:option("--by", "what a token is", "words")
    :choices {"words", "characters"}
  local o <const> = script.start(parser)
  if #o.sentence == 0 then o.sentence = {SENTENCE} end
  o.sentence = table.concat(o.sentence, " ")
  return o
end

-- Raises if two tensors differ by more than rounding; says what was compared.
local function check(what, got, want)
  assert(got:allclose(want, {atol = 1e-5}), what)
  print("checked: " .. what)
end

-- -- tokens -------------------------------------------------------------------

-- Is it punctuation or Chinese? BERT cuts on both sides of such a character.
local function stands_alone(character)
  return #unicode.bert_words("a" .. character .. "a") == 3
end

-- The tokens of the sentence, in lower case, as a list. BERT itself would drop
-- the invisible joiners that Persian words and some emoji are written with.
local function tokenise(o)
  if not unicode.valid(o.sentence) then
    script.fail("the sentence is no UTF-8")
  end
  local tokens, word = {}, ""
  local function finish(token)
    if token ~= "" then tokens[#tokens + 1] = token end
    word = ""
  end
  -- composed, so that an accented letter has one spelling
  local sentence <const> = unicode.lower(unicode.nfc(o.sentence))
  for _, character in ipairs(unicode.graphemes(sentence)) do
    if unicode.trim(character) == "" then
      finish(word)
    elseif o.by == "characters" or stands_alone(character) then
      finish(word)
      finish(character)
    else
      word = word .. character
    end
  end
  finish(word)
  if #tokens == 0 then script.fail("the sentence is empty") end
  return tokens
end

-- The id of each token [T], numbered as they first appear, and how many ids.
local function number(tokens)
  local ids, known, n = {}, {}, 0
  for i, token in ipairs(tokens) do
    if not known[token] then
      n = n + 1
      known[token] = n
    end
    ids[i] = known[token]
  end
  return heed.tensor(ids), n
end

-- -- weights ------------------------------------------------------------------

local function onehot_attention(tokens)
  local ids, n = number(tokens) -- [T]
  local x = F.one_hot(ids, n):to "float32" -- [T V]
  local weights = x:matmul(x:t()):softmax(-1) -- [T T]
  print("\nOne-hot attention: weights")
  print(weights)

  local same = ids:unsqueeze(2):eq(ids) -- [T T]: the same word?
  local c = same:sum(-1, true) -- [T 1]: how often it stands there
  local e <const> = math.exp(1)
  local share = heed.where(same, e, 1.0) / (c * e + #tokens - c)
  check("e or 1, over the sum of the row", weights, share)
  return weights
end

-- query [B Tq D], key [B Tk D], value [B Tk Dv]: result [B Tq Dv] and weights.
local function compute_attention(query, key, value)
  local scores = query:matmul(key:transpose(-1, -2)) -- [B Tq Tk]
  local weights = (scores / math.sqrt(query:size(-1))):softmax(-1)
  return weights:matmul(value), weights
end

local function random_attention(tokens)
  local size <const> = {1, #tokens, WIDTH} -- [B T D]
  local query, key, value = heed.randn(size), heed.randn(size),
    heed.randn(size)
  local found, weights = compute_attention(query, key, value)
  print("\nRandom queries, keys and values: weights")
  print(weights[1])
  -- the library's call wants a dimension of heads: here one head
  local same, same_weights = F.scaled_dot_product_attention(query:unsqueeze(2),
    key:unsqueeze(2), value:unsqueeze(2), {need_weights = true})
  check("F.scaled_dot_product_attention gives the same", same:squeeze(2), found)
  check("and the same weights", same_weights:squeeze(2), weights)
  return weights[1]
end

-- -- all together -------------------------------------------------------------

local function main()
  local o <const> = settings()
  local tokens <const> = tokenise(o)
  print("tokens: " .. table.concat(tokens, " | "))
  local function draw(what, title, weights)
    local file <const> = o.path("text_attention-" .. what .. ".png")
    plot.attention(tokens, weights, {file = file, title = title, cmap = "Reds"})
    print("written: " .. file)
  end
  draw("onehot", "One-hot attention", onehot_attention(tokens))
  draw("random", "Attention before training", random_attention(tokens))
end

script.run("text_attention", main)
