#!/usr/bin/env heed
--[[
Does a review praise or complain, and which of its words say so?

A network reads the words of a sentence, lets each of them look at the others,
and then looks once more at all of them to make up its mind. Both looks are
attention, and the second one can be shown: it says which words it went by.

    word      x_t = mean of the vectors of the parts of word t           [C]
    context   h_t = x_t + what word t finds in all words (self-attention)
    pooling   a   = softmax over t of  w . tanh(W_q q + W_k h_t)        [T]
              y   = sum over t of  a_t h_t                              [C]
    label     p   = softmax(W y + b)                                    [2]

A sentence is as long as it likes. To make a batch, short ones are filled up
(padded), and the attention is told each length, so that nobody looks there.

A few thousand reviews are little to learn words from: half of them stand there
once. So a word is the mean of itself and of its pieces of 3 to 5 letters
(Bojanowski et al., 2017): who has read "unfunny" and "hopeless" can guess
"humourless". And the network must not learn the reviews by heart: words and
pieces of vectors are dropped by chance, labels are softened, and the weights
that are used are the average of those of the last steps.

Is it worth it? --baseline trains what it has to beat: a logistic regression on
which words (and pairs of words) are there, without their order.

Try:
    heed examples/sentiment.lua
    heed examples/sentiment.lua --save reviews.safetensors
    heed examples/sentiment.lua --load reviews.safetensors --interactive
    heed examples/sentiment.lua --data train.tsv --valid valid.tsv \
      --test test.tsv --baseline

Next: read a longer text and look at what it attends to; take the self-attention
out (--heads 0) and see what it was good for; a second layer.
]]

local cjson = require "cjson"
local heed = require "heed"
local nn, optim, data, script = heed.nn, heed.optim, heed.data, heed.script
local metrics, plot, unicode = heed.metrics, heed.plot, heed.text.unicode
local F <const> = nn.functional

local here <const> = arg[0]:match("^(.*[/\\])") or "./"

local CLASSES <const> = {"negative", "positive"}
local LABELS <const> = {["0"] = 1, ["1"] = 2, negative = 1, positive = 2}
local PAD <const>, UNKNOWN <const> = 1, 2 -- ids

local FEW <const> = {epochs = 30} -- for the sentences that ship
local MANY <const> = {epochs = 6}

local function settings()
  local parser <const> = script.parser("sentiment", "Learns whether reviews "
    .. "praise or complain, and shows the words it goes by.", {out = "."})
  local function file(name, help)
    parser:option(name, help):argname "FILE"
  end
  file("--data", "learn from these reviews: label<TAB>text, where the label "
    .. "is 0 or negative, 1 or positive, and the text the last column "
    .. "(default: some that ship with heed)")
  file("--test", "measure on these (default: every tenth of --data)")
  file("--valid", "measure on these after each epoch; the baseline chooses "
    .. "its strength by them")
  file("--save", "write the trained network here")
  file("--load", "use this network instead of training one")
  parser:option("--sentence", "judge this; may be repeated"):argname "TEXT"
    :count "*"
  parser:flag("--interactive", "judge the lines of standard input")
  parser:flag("--baseline", "train a bag of words too")
  parser:whole("--width", "of the vectors; a multiple of --heads", 64, 1)
  parser:whole("--heads", "of the self-attention; 0: none", 4, 0)
  parser:number("--dropout", "of parts of vectors", 0.5, 0, 1)
  parser:number("--word-dropout", "of words", 0.3, 0, 1)
  parser:whole("--epochs", ("times to read the reviews (default: %d, of those "
    .. "that ship %d)"):format(MANY.epochs, FEW.epochs), nil, 1)
  parser:whole("--batch", "reviews of a step", 32, 1)
  parser:number("--lr", "highest learning rate", 2e-3, 0)
  parser:whole("--max-words", "words of a review that are read", 256, 1)
  local o <const> = script.start(parser)
  if o.heads > 0 and o.width % o.heads ~= 0 then
    script.fail("--width %d must be a multiple of --heads %d", o.width, o.heads)
  end
  if not o.data and not o.load then
    o.data = here .. "data/reviews.train.tsv"
    o.test = o.test or here .. "data/reviews.test.tsv"
    o.epochs = o.epochs or FEW.epochs
  end
  o.epochs = o.epochs or MANY.epochs
  if o.load and not (o.test or o.interactive or #o.sentence > 0) then
    script.fail("nothing to do: with --load give --test, --sentence or "
      .. "--interactive")
  end
  script.check_writable(o.save)
  return o
end

-- -- reviews ------------------------------------------------------------------

local ENDINGS <const> = {"n't", "'s", "'re", "'ve", "'ll", "'d", "'m"}

-- The words of a text in lower case: marks alone, "don't" as "do n't".
local function split(text)
  local s = unicode.lower(unicode.nfc(unicode.repair(text)))
  s = s:gsub("\u{2019}", "'")
  for _, ending in ipairs(ENDINGS) do
    s = s:gsub("(%w)" .. ending .. "%f[^%w]", "%1 " .. ending)
  end
  s = s:gsub("[^%w%s'%-\x80-\xFF]+", " %0 ")
  local words = {}
  for word in s:gmatch "%S+" do words[#words + 1] = word end
  return words
end

-- A list of {words = , label = } from a file.
local function read_reviews(path, o)
  local rows <const>, message = data.read_pairs(path, {columns = {1, -1}})
  if not rows then script.fail("%s", message) end
  local reviews, cut = {}, 0
  for i = 1, rows.n do
    local label <const> = LABELS[rows.source[i]:lower()]
    if not label then
      script.fail("%s: the label of review %d must be 0, 1, negative or "
        .. "positive, got %q", path, i, rows.source[i])
    end
    local words = split(rows.target[i])
    if #words > o.max_words then
      words, cut = table.move(words, 1, o.max_words, 1, {}), cut + 1
    end
    reviews[i] = {words = words, label = label}
  end
  local skipped <const> = rows.lines - rows.n
  print(("%s: %d reviews%s%s"):format(path, #reviews,
    skipped > 0 and (", %d lines left out"):format(skipped) or "",
    cut > 0 and (", %d cut to %d words"):format(cut, o.max_words) or ""))
  return reviews
end

-- Every tenth review is for the test, the others to learn from.
local function hold_out(reviews)
  local train, test = {}, {}
  for i, review in ipairs(reviews) do
    local list <const> = i % 10 == 0 and test or train
    list[#list + 1] = review
  end
  if #test == 0 then
    script.fail("%d reviews are too few to hold some out: give --test",
      #reviews)
  end
  return train, test
end

-- -- words and their parts ----------------------------------------------------

local SHORT <const>, LONG <const> = 3, 5 -- letters of a part
local MOST <const> = 64 -- parts of a word: no line of noise shall fill a batch

-- The word itself and its parts, "_" at its ends: _no_; _no no_
local function spell(word)
  local letters <const> = unicode.characters("_" .. word .. "_")
  local parts, seen = {}, {}
  local function add(first, last)
    local part <const> = table.concat(letters, "", first, last)
    if not seen[part] and #parts < MOST then
      parts[#parts + 1], seen[part] = part, true
    end
  end
  add(1, #letters)
  for n = SHORT, LONG do
    for first = 1, #letters - n + 1 do add(first, first + n - 1) end
  end
  return parts
end

-- Numbers what is worth a vector: words that are there twice, and parts of
-- three different words.
local function learn_parts(reviews)
  local words, count, kept = {}, {}, {}
  for _, review in ipairs(reviews) do
    for _, word in ipairs(review.words) do
      words[word] = (words[word] or 0) + 1
    end
  end
  for word, times in pairs(words) do
    local parts <const> = spell(word)
    if times >= 2 then kept[#kept + 1] = parts[1] end
    for i = 2, #parts do count[parts[i]] = (count[parts[i]] or 0) + 1 end
  end
  for part, times in pairs(count) do
    if times >= 3 then kept[#kept + 1] = part end
  end
  return heed.text.Vocabulary.build({kept}, {specials = {"<pad>", "<unk>"}})
end

-- Sets `parts` of each review: for each word the ids of its known parts.
local function encode(reviews, vocabulary)
  local of_word = {}
  for _, review in ipairs(reviews) do
    review.parts = {}
    for t, word in ipairs(review.words) do
      local ids = of_word[word]
      if not ids then
        ids = {}
        for _, part in ipairs(spell(word)) do
          ids[#ids + 1] = vocabulary:id(part)
        end
        if #ids == 0 then ids[1] = UNKNOWN end
        of_word[word] = ids
      end
      review.parts[t] = ids
    end
  end
  return reviews
end

-- A batch of B reviews: `parts` [B T S], filled up in both directions, how many
-- words each has [B], and the labels [B].
local function collate(reviews)
  local longest, most, flat, lengths, labels = 0, 0, {}, {}, {}
  for _, review in ipairs(reviews) do
    longest = math.max(longest, #review.parts)
    for _, ids in ipairs(review.parts) do most = math.max(most, #ids) end
  end
  for i, review in ipairs(reviews) do
    for t = 1, longest do
      local ids <const> = review.parts[t] or {}
      local at <const> = #flat
      for s = 1, most do flat[at + s] = ids[s] or PAD end
    end
    lengths[i], labels[i] = #review.parts, review.label
  end
  return {
    reviews = reviews,
    parts = heed.tensor(flat):reshape(#reviews, longest, most),
    lengths = heed.tensor(lengths), labels = heed.tensor(labels),
  }
end

-- Batches of reviews of about one length.
local function load_batches(reviews, size, shuffle)
  local lengths = {}
  for i, review in ipairs(reviews) do lengths[i] = #review.words end
  return data.DataLoader(reviews, {batch_size = size, shuffle = shuffle,
    lengths = lengths, collate = collate})
end

-- -- the network --------------------------------------------------------------

local Judge <const> = nn.Module:extend "Judge"

function Judge:init(o)
  local C <const> = o.width
  self.parts = nn.Embedding(o.parts, C, {padding_idx = PAD})
  self.parts.weight:detach():mul_(0.1) -- small next to the place
  self.drop_words = nn.Dropout1d(o.word_dropout) -- whole rows of [B T C]
  self.dropout = nn.Dropout(o.dropout)
  if o.heads > 0 then
    self.place = nn.PositionalEncoding(C)
    self.norm1, self.norm2 = nn.LayerNorm(C), nn.LayerNorm(C)
    self.attend = nn.MultiHeadAttention(C, o.heads, {dropout = o.dropout})
    self.feed = nn.Sequential(nn.Linear(C, 2 * C), nn.GELU(),
      nn.Dropout(o.dropout), nn.Linear(2 * C, C))
  end
  self.norm = nn.LayerNorm(C)
  self.query = nn.Parameter(heed.randn(1, 1, C) * 0.1) -- the same for all
  self.pool = nn.AdditiveAttention(C, C, C)
  self.label = nn.Linear(C, 2)
end

-- Where every word finds what it needs in the others. x [B T C]
function Judge:read(x, lengths)
  x = self.place(x * math.sqrt(x:size(-1)))
  local look <const> = self.norm1(x)
  local found, weights = self.attend(look, look, look,
    {valid_lens = lengths, need_weights = not self.training})
  x = x + self.dropout(found)
  x = x + self.dropout(self.feed(self.norm2(x)))
  return x, weights -- [B T C], [B T T]
end

-- Scores of the classes [B 2]; in evaluation also the weights of the words
-- [B T] and those of the self-attention [B T T], the mean of its heads.
function Judge:forward(batch)
  local parts <const>, lengths <const> = batch.parts, batch.lengths
  local n = parts:ne(PAD):sum(-1, true):clamp(1) -- [B T 1] parts of each word
  local x = self.parts(parts):sum(3) / n -- [B T S C] -> [B T C]
  x = self.dropout(self.drop_words(x))
  local seen
  if self.attend then x, seen = self:read(x, lengths) end
  x = self.norm(x)
  local query <const> = self.query:expand(x:size(1), 1, x:size(3)) -- [B 1 C]
  local y, a = self.pool(query, x, x,
    {valid_lens = lengths, need_weights = not self.training})
  return self.label(self.dropout(y:squeeze(2))), a and a:squeeze(2), seen
end

local function make_judge(o, vocabulary)
  local config <const> = {
    width = o.width, heads = o.heads, dropout = o.dropout,
    word_dropout = o.word_dropout, parts = #vocabulary,
  }
  return {model = Judge(config), vocabulary = vocabulary, config = config}
end

-- -- judging ------------------------------------------------------------------

-- Sets `positive`, the probability, and `weights`, one for each word.
local function judge(judge_, reviews)
  local model <const> = judge_.model
  encode(reviews, judge_.vocabulary)
  model:eval()
  for batch in load_batches(reviews, 64):batches() do
    local scores, weights = heed.no_grad(model, batch)
    local p <const> = scores:softmax(-1):totable()
    weights = weights:totable()
    for i, review in ipairs(batch.reviews) do
      review.positive = p[i][2]
      review.weights = table.move(weights[i], 1, #review.words, 1, {})
    end
  end
  return reviews
end

local function is_positive(review) return review.positive > 0.5 end

-- Labels that were given, and those that are right, [N].
local function labels_of(reviews, given)
  local found, right = {}, {}
  for i, review in ipairs(reviews) do
    found[i] = given and given[i] or is_positive(review) and 2 or 1
    right[i] = review.label
  end
  return heed.tensor(found), heed.tensor(right)
end

local BINARY <const> = {average = "binary"} -- F1 of class 2, positive

-- -- training -----------------------------------------------------------------

local function train(o, judge_, reviews, valid)
  local model <const> = judge_.model
  local loader <const> = load_batches(encode(reviews, judge_.vocabulary),
    o.batch, true)
  local steps <const> = o.epochs * #loader
  local optimizer <const> = optim.AdamW(model:parameters(),
    {lr = o.lr, betas = {0.9, 0.98}, weight_decay = 0.3})
  local average <const> =
    optim.ExponentialMovingAverage(model:parameters(), {decay = 0.99})
  local bar <close> = heed.progress.new {total = steps, title = "training",
    file = io.stdout}
  local run <const> = heed.train.fit {
    model = model, data = loader, optimizer = optimizer, epochs = o.epochs,
    loss = function(_, batch)
      local loss = F.cross_entropy(model(batch), batch.labels,
        {label_smoothing = 0.1})
      return loss, {count = #batch.reviews}
    end,
    schedule = steps > 1 and optim.WarmupLinearLR(optimizer,
      math.max(1, steps // 10), steps + 1) or nil,
    clip_norm = 1.0,
    on_step = function(now)
      average:update()
      bar:update(now.step, {loss = now.loss})
    end,
    evaluate = valid and function()
      average:use(judge, judge_, valid)
      return {accuracy = metrics.accuracy(labels_of(valid))}
    end,
    progress = false,
  }
  average:copy_to()
  bar:finish()
  return run
end

-- -- files --------------------------------------------------------------------

local FORMAT <const> = "heed.sentiment.1"

local function save(path, judge_)
  heed.save_safetensors(path, judge_.model:state_dict(), {
    format = FORMAT, config = cjson.encode(judge_.config),
    vocabulary = cjson.encode(judge_.vocabulary:to_table()),
  })
  print("written: " .. path)
end

local function load(path)
  local tensors, metadata = heed.load_safetensors(path)
  if metadata.format ~= FORMAT then
    script.fail("%s was not written by this script", path)
  end
  local ok, result = pcall(function()
    local config <const> = cjson.decode(metadata.config)
    local vocabulary <const> = heed.text.Vocabulary.from_table(
      cjson.decode(metadata.vocabulary))
    assert(config.parts == #vocabulary, "sizes differ")
    local model <const> = Judge(config)
    model:load_state_dict(tensors)
    return {model = model, vocabulary = vocabulary, config = config}
  end)
  if not ok then
    script.fail("%s is damaged: %s", path,
      tostring(result):gsub("^[^\n]-:%d+: ", ""):match "[^\n]*")
  end
  return result
end

-- -- the baseline -------------------------------------------------------------

-- The different words of a review, and its pairs of neighbours.
local function bag(words, with_pairs)
  local list, seen = {}, {}
  local function add(what)
    if not seen[what] then list[#list + 1], seen[what] = what, true end
  end
  for i, word in ipairs(words) do
    add(word)
    if with_pairs and i > 1 then add(words[i - 1] .. " " .. word) end
  end
  return list
end

-- Logistic regression on bags [N K] of ids from 1 to `size`:
--     p = sigmoid(b + sum of the weights of what is in the bag)
--     minimise  mean log loss + |w|^2 / (2 strength N)
-- Returns a function from bags to labels.
local function regress(bags, labels, size, strength)
  local w, b = nn.Parameter(heed.zeros(size, 1)), nn.Parameter(heed.zeros(1))
  local function score(ids) return F.embedding(ids, w, PAD):sum({2, 3}) + b end
  local target <const> = labels:eq(2):to "float32"
  local optimizer <const> = optim.Adam({w, b}, {lr = 0.1})
  local schedule <const> = optim.CosineAnnealingLR(optimizer, 200)
  for _ = 1, 200 do
    local loss = F.binary_cross_entropy_with_logits(score(bags), target)
      + w:square():sum() / (2 * strength * #labels)
    optimizer:zero_grad()
    loss:backward()
    optimizer:step()
    schedule:step()
  end
  return function(ids)
    return heed.no_grad(score, ids):gt(0):to "int64" + 1
  end
end

-- Accuracy and F1 on `test`; the strength is the best of some on `valid`.
local function measure_bags(train_, valid, test, with_pairs)
  local function bags_of(reviews)
    local bags = {}
    for i, review in ipairs(reviews) do
      bags[i] = bag(review.words, with_pairs)
    end
    return bags
  end
  local bags <const> = bags_of(train_)
  local vocabulary <const> =
    heed.text.Vocabulary.build(bags, {specials = {"<pad>", "<unk>"}})
  -- ids [N K] and labels [N]
  local function numbers(reviews, given)
    local lists, labels = {}, {}
    for i, list in ipairs(given or bags_of(reviews)) do
      lists[i], labels[i] = vocabulary:encode(list), reviews[i].label
    end
    return (data.pad_sequence(lists, {pad = PAD})), heed.tensor(labels)
  end

  local ids, labels = numbers(train_, bags)
  local best, strength, found = -1, nil, nil
  for _, c in ipairs(valid and {0.1, 0.3, 1, 3, 10} or {1}) do
    local predict <const> = regress(ids, labels, #vocabulary, c)
    local right = 0
    if valid then
      local valid_ids, valid_labels = numbers(valid)
      right = metrics.accuracy(predict(valid_ids), valid_labels)
    end
    if right > best then best, strength, found = right, c, predict end
  end
  local test_ids, test_labels = numbers(test)
  local labels_found <const> = found(test_ids)
  return metrics.accuracy(labels_found, test_labels),
    metrics.f1(labels_found, test_labels, BINARY), strength
end

-- -- what it goes by ----------------------------------------------------------

-- The words that drew the most attention in reviews judged to be of a class:
-- the sum of what each got beyond an even share, 1 / T.
local function attended(reviews, class, most)
  local sums, words = {}, {}
  for _, review in ipairs(reviews) do
    if (is_positive(review) and 2 or 1) == class then
      for t, word in ipairs(review.words) do
        sums[word] = (sums[word] or 0) + review.weights[t] - 1 / #review.words
      end
    end
  end
  for word in pairs(sums) do words[#words + 1] = word end
  table.sort(words, function(a, b)
    if sums[a] ~= sums[b] then return sums[a] > sums[b] end
    return a < b
  end)
  return table.move(words, 1, math.min(most, #words), 1, {}), sums
end

local function show(judge_, review)
  local p <const> = review.positive
  print(("%s, probability %.2f"):format(CLASSES[p > 0.5 and 2 or 1],
    math.max(p, 1 - p)))
  plot.words(review.words, review.weights)
  local new = {}
  for _, word in ipairs(review.words) do
    local first <const> = spell(word)[1]
    if not judge_.vocabulary:id(first) then new[#new + 1] = word end
  end
  if #new > 0 then print("not learned: " .. table.concat(new, " ")) end
end

local function judge_text(o, judge_, text)
  local words = split(text)
  if #words == 0 then return nil end
  words = table.move(words, 1, math.min(#words, o.max_words), 1, {})
  return judge(judge_, {{words = words, label = 1}})[1]
end

local function interact(o, judge_)
  local asks <const> = heed.core.isatty(io.stdin)
  if asks then print("A sentence a line; end of file (Ctrl-D) ends it.") end
  while true do
    if asks then io.write("> ") end
    io.flush()
    local line <const> = io.read("L")
    if not line then break end
    local review <const> = judge_text(o, judge_, line)
    if review then
      if not asks then print("> " .. table.concat(review.words, " ")) end
      show(judge_, review)
    else
      print("the sentence is empty")
    end
  end
  if asks then print() end
end

-- -- the test -----------------------------------------------------------------

-- A review means the same alone and beside longer ones: padding has no weight.
local function check_padding(judge_, reviews)
  local longest = reviews[1]
  for _, review in ipairs(reviews) do
    if #review.words > #longest.words then longest = review end
  end
  local short <const> = reviews[1]
  local _ <close> = heed.no_grad()
  local alone = judge_.model(collate {short})
  local beside, weights = judge_.model(collate {short, longest})
  assert(beside[1]:allclose(alone[1], {atol = 1e-4}), "padding was read")
  assert(weights[1]:slice(1, #short.words + 1, -1):eq(0):all():item(),
    "padding has weight")
  print("checked: padding changes nothing and has no weight")
end

local function measure(o, judge_, sets)
  local test <const> = judge(judge_, sets.test)
  check_padding(judge_, test)
  local found <const>, right <const> = labels_of(test)
  print(("\n%-26s %8s %8s"):format(#test .. " reviews", "accuracy", "F1"))
  local function row(name, accuracy, f1)
    print(("%-26s %8.4f %8.4f"):format(name, accuracy, f1))
  end
  row("attention", metrics.accuracy(found, right),
    metrics.f1(found, right, BINARY))
  if o.baseline and sets.train then
    for _, with_pairs in ipairs {false, true} do
      local accuracy, f1, c = measure_bags(sets.train, sets.valid, test,
        with_pairs)
      row(("bag of words%s (C %g)"):format(with_pairs and ", pairs" or "", c),
        accuracy, f1)
    end
  end
  local counts <const> =
    metrics.confusion_matrix(found, right, {num_classes = 2}):totable()
  print(("\n%-10s %9s %9s"):format("", "judged -", "judged +"))
  for class, name in ipairs(CLASSES) do
    print(("%-10s %9d %9d"):format(name, table.unpack(counts[class])))
  end
  return test
end

local SHOWN <const> = 12

-- Prints the words of both classes and draws them.
local function show_words(o, reviews)
  local labels, values, both, drawn = {}, {}, {}, {}
  for class, name in ipairs(CLASSES) do
    both[class] = {attended(reviews, class, SHOWN)}
    print(("\nAttended to when it says %s:\n  %s"):format(name,
      table.concat(both[class][1], " ")))
  end
  for class = 1, 2 do
    for _, word in ipairs(both[class][1]) do
      if not drawn[word] then
        labels[#labels + 1], drawn[word] = word, true
        values[#values + 1] = {both[1][2][word] or 0, both[2][2][word] or 0}
      end
    end
  end
  if #labels == 0 then return end
  local file <const> = o.path "sentiment-words.png"
  plot.bars(values, {labels = labels, groups = CLASSES, file = file,
    title = "Words attended to, by what was said of the review",
    ylabel = "attention beyond an even share"})
  print("written: " .. file)
end

-- Draws the self-attention over a review: the mean of the heads.
local function draw_attention(o, judge_, review)
  if not judge_.model.attend then return end
  judge_.model:eval()
  local _, _, seen = heed.no_grad(judge_.model, collate {review})
  local file <const> = o.path "sentiment-attention.png"
  plot.attention(review.words, seen[1], {file = file, cmap = "Reds",
    title = "Self-attention, mean of the heads",
    ylabel = "the word that looks", xlabel = "the word looked at"})
  print("written: " .. file)
end

-- The review of at most 14 words that is judged best, rather one of at least 8;
-- nil if all are longer.
local function pick(reviews)
  local best, most = nil, -1
  for _, review in ipairs(reviews) do
    local n <const>, p <const> = #review.words, review.positive
    local good <const> = (review.label == 2 and p or 1 - p)
      + (n >= 8 and 1 or 0)
    if n <= 14 and good > most then best, most = review, good end
  end
  return best
end

-- -- all together -------------------------------------------------------------

local function read_sets(o)
  local sets = {}
  for _, name in ipairs {"data", "valid", "test"} do
    if o[name] then sets[name] = read_reviews(o[name], o) end
  end
  sets.train = sets.data
  if sets.data and not sets.test then
    sets.train, sets.test = hold_out(sets.data)
  end
  return sets
end

local function learn(o, sets)
  local vocabulary <const> = learn_parts(sets.train)
  local judge_ <const> = make_judge(o, vocabulary)
  print(("%d parts of words, %d parameters"):format(#vocabulary,
    judge_.model:num_parameters()))
  local start <const> = heed.core.time()
  local run <const> = train(o, judge_, sets.train, sets.valid)
  print(("trained in %.1f s"):format(heed.core.time() - start))
  if sets.valid then
    local accuracies = {}
    for i, record in ipairs(run.history) do
      accuracies[i] = ("%.4f"):format(record.valid.accuracy)
    end
    print("accuracy on --valid, by epoch: " .. table.concat(accuracies, " "))
  end
  if o.save then save(o.save, judge_) end
  return judge_, run.history
end

local function draw_training(o, history)
  local file <const> = o.path "sentiment-training.png"
  plot.lines(history, {file = file, xlabel = "epoch", ylabel = "loss",
    title = "Training"})
  print("written: " .. file)
end

local function main()
  local o <const> = settings()
  for i, sentence in ipairs(o.sentence) do
    if #split(sentence) == 0 then
      script.fail("--sentence number %d is empty", i)
    end
  end
  local judge_, history = o.load and load(o.load), nil
  local sets <const> = read_sets(o)
  if not judge_ then judge_, history = learn(o, sets) end
  if sets.test then
    local test <const> = measure(o, judge_, sets)
    show_words(o, test)
    local review <const> = pick(test)
    if review then
      draw_attention(o, judge_, review)
      print()
      show(judge_, review)
    end
  end
  if history then draw_training(o, history) end
  for _, sentence in ipairs(o.sentence) do
    print()
    show(judge_, judge_text(o, judge_, sentence))
  end
  if o.interactive then interact(o, judge_) end
end

script.run("sentiment", main)
