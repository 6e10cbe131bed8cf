#!/usr/bin/env heed
--[[
What did attention change? Three translators on the same sentences.

The first networks that translated read the source with an LSTM and kept only
its last state: a sentence of any length in one vector. Attention lets the
decoder look at all states of the encoder, h_1 .. h_S, at each step t, with its
own state s_t as the question:

    weights  a_t = softmax over i of score(s_t, h_i)          [S]
    context  c_t = sum over i of a_t,i h_i                    [C]
    state    s_t+1 = LSTM(embedding of token t and c_t, s_t)

    additive (Bahdanau et al., 2014):  score(s, h) = w . tanh(U s + V h)
    dot product (Luong et al., 2015):  score(s, h) = s . h

The third translator, a transformer (Vaswani et al., 2017), has nothing but
attention: no state goes from step to step, so that all positions are trained at
once, and a decoder reads its own past by attention, too.

All three have about as many parameters, and get the same tokens, the same
batches in the same order, and the same optimiser. Printed is how well they
translate sentences that they have not seen and what that took; drawn, how they
learned, and which source token each looked at.

Try:
    heed examples/seq2seq_compare.lua
    heed examples/seq2seq_compare.lua --model additive --model dot --epochs 30
    heed examples/seq2seq_compare.lua --data fra.txt --epochs 3
Then: --scaled, which divides the dot products by sqrt(C), as a transformer
does. The states of an LSTM lie between -1 and 1, so that their products are
small as they are: see how flat the weights become.
]]

local heed = require "heed"
local script = require "heed.script"
local nn, optim, data, text = heed.nn, heed.optim, heed.data, heed.text
local F <const> = nn.functional
local models <const>, plot <const> = heed.models, require "heed.plot"

local here <const> = arg[0]:match("^(.*[/\\])") or "./"

-- -- an LSTM with attention ---------------------------------------------------

local Recurrent = nn.Module:extend "Recurrent"

-- `attend` is called as attend(queries, keys, values, options), one of which
-- may be `scale`, the factor of all scores.
function Recurrent:init(vocab, width, attend, scale, o)
  -- what models.Translation asks for
  self.config = {src_vocab = vocab, tgt_vocab = vocab,
    max_length = o.max_length}
  self.src_embedding = nn.Embedding(vocab, width)
  self.tgt_embedding = nn.Embedding(vocab, width)
  -- two directions of half the width: h_i knows what is before and behind it
  self.encoder = nn.LSTM(width, width // 2, {bidirectional = true})
  self.attend, self.score_scale = attend, scale
  self.cell = nn.LSTMCell(2 * width, width)
  self.combine = nn.Linear(2 * width, width)
  self.dropout = nn.Dropout(o.dropout)
  self.head = nn.Linear(width, vocab)
  -- one matrix for both embeddings and the head, as the transformer has it
  nn.init.normal_(self.src_embedding.weight, 0, width ^ -0.5)
  self.tgt_embedding.weight = self.src_embedding.weight
  self.head.weight = self.src_embedding.weight
  nn.init.zeros_(self.head.bias)
  self.embedding_scale = width ^ 0.5
end

function Recurrent:embed(embedding, ids) -- [B T] -> [B T C]
  return self.dropout(embedding(ids) * self.embedding_scale)
end

-- The memory h_1 .. h_S [B S C], and the decoder's first state {s, cell}, each
-- [B C]: the last ones of both directions side by side.
function Recurrent:encode(src, lens)
  local memory, last = self.encoder(self:embed(self.src_embedding, src), nil,
    {valid_lens = lens}) -- [B S C], each of last [2 B C/2]
  local state = {}
  for i, both in ipairs(last) do
    state[i] = heed.cat({both[1], both[2]}, -1)
  end
  return self.dropout(memory), state
end

-- One step: the embedding of a token [B C] and the state; returns what the
-- scores are made of [B C], the new state and, if asked, the weights [B S].
-- Padding, behind `lens` of the source, gets the weight 0.
function Recurrent:step(x, state, memory, lens, need_weights)
  local query <const> = state[1]:unsqueeze(2) -- [B 1 C]
  local context, weights = self.attend(query, memory, memory,
    {valid_lens = lens, need_weights = need_weights, scale = self.score_scale})
  context = context:squeeze(2) -- [B C]
  local s, cell = self.cell(heed.cat({x, context}, -1), state)
  local y = self.combine(heed.cat({s, context}, -1)):tanh()
  return self.dropout(y), {s, cell}, weights and weights:squeeze(2)
end

-- The scores of what comes next at each position of the target: step by step,
-- because each state needs the one before it. Weights [B T S] if asked.
function Recurrent:decode(tgt, memory, state, lens, need_weights)
  local x <const> = self:embed(self.tgt_embedding, tgt)
  local outputs, weights = {}, {}
  for t = 1, tgt:size(2) do
    outputs[t], state, weights[t] = self:step(x:select(2, t), state, memory,
      lens, need_weights)
  end
  return self.head(heed.stack(outputs, 2)), state, -- [B T V]
    need_weights and heed.stack(weights, 2)
end

function Recurrent:forward(src, tgt, lens)
  local memory, state = self:encode(src, lens)
  return (self:decode(tgt, memory, state, lens))
end

-- The ids of translations, found by beam search, and their scores. Between its
-- steps the state is kept, and reordered with the beams.
function Recurrent:translate(src, lens, options)
  local was_training <const> = self.training
  self:eval()
  local _ <close> = heed.no_grad()
  local memory, state = self:encode(src, lens)
  local ids, scores = models.beam_search(src:size(1), {
    next = function(tokens) -- [N 1] -> [N V]
      local logits
      logits, state = self:decode(tokens, memory, state, lens)
      return logits:select(2, 1):log_softmax(-1)
    end,
    reorder = function(index)
      memory, lens = memory:index_select(index), lens:index_select(index)
      for i, part in ipairs(state) do state[i] = part:index_select(index) end
    end,
  }, self.config.max_length, options)
  self:train(was_training)
  return ids, scores
end

-- What each token of a target [T] attended to in a source [S]: a list of one
-- layer, [T S].
function Recurrent:attention(src, tgt)
  local was_training <const> = self.training
  self:eval()
  local _ <close> = heed.no_grad()
  local memory, state = self:encode(src:unsqueeze(1))
  local _, _, weights = self:decode(tgt:unsqueeze(1), memory, state, nil, true)
  self:train(was_training)
  return {weights:squeeze(1)}
end

-- -- the three ----------------------------------------------------------------

local MODELS <const> = {"additive", "dot", "transformer"}
local TITLE <const> = {
  additive = "LSTM, additive", dot = "LSTM, dot product",
  transformer = "transformer",
}
local make <const> = {}

function make.additive(o, vocab)
  return Recurrent(vocab, o.width,
    nn.AdditiveAttention(o.width, o.width, o.width), nil, o)
end

function make.dot(o, vocab)
  return Recurrent(vocab, o.width, nn.DotProductAttention(),
    o.scaled and o.width ^ -0.5 or 1.0, o)
end

function make.transformer(o, vocab)
  return models.Translator {
    src_vocab = vocab, tgt_vocab = vocab, d_model = o.d_model,
    heads = o.heads, encoder_layers = o.layers, decoder_layers = o.layers,
    ff = 4 * o.d_model, dropout = o.dropout, tied = true,
    max_length = o.max_length,
  }
end

-- -- options ------------------------------------------------------------------

local function make_parser()
  local parser = script.parser("seq2seq_compare", "Trains an LSTM with "
    .. "additive attention, one with dot-product attention, and a transformer "
    .. "to translate, and compares them.", {out = "."})
  parser:option("--model", "compare only this one; may be repeated")
    :argname "NAME":count "*":choices(MODELS)
  parser:option("--data", "train on this file: source<TAB>target, other "
    .. "columns ignored (the sentences that ship with heed)"):argname "FILE"
  parser:option("--test", "translate this file; several lines with one source "
    .. "are several references (200 sources of --data are held out otherwise)")
    :argname "FILE"
  parser:option("--sentence", "draw the attention of this one (one of the "
    .. "test)"):argname "TEXT"
  parser:whole("--vocab", "tokens of the vocabulary of both languages", 1000,
    1)
  parser:whole("--width", "of the LSTMs, even", 96, 2)
  parser:flag("--scaled", "divide dot products by sqrt(width)")
  parser:whole("--d-model", "width of the transformer", 64, 1)
  parser:whole("--heads", "its attention heads", 4, 1)
  parser:whole("--layers", "layers of its encoder, and of its decoder", 2, 1)
  parser:number("--dropout", "probability of dropout", 0.1, 0, 1)
  parser:whole("--max-length", "most tokens of a sentence", 64, 2)
  parser:whole("--epochs", "times to go through the data", 10, 1)
  parser:whole("--batch", "sentences of a batch", 32, 1)
  parser:number("--lr", "highest learning rate", 4e-3, 0)
  parser:whole("--warmup", "steps until it is reached", 100, 1)
  parser:number("--label-smoothing", "part of the target spread over all "
    .. "tokens", 0.1, 0, 1)
  parser:whole("--beam", "beam width of the search; 1 is greedy", 1, 1)
  return parser
end

local function settings()
  local o = script.start(make_parser())
  if o.width % 2 ~= 0 then
    script.fail("--width must be even, got %d: half of it for each direction "
      .. "of the encoder", o.width)
  end
  if not o.data then
    o.data = here .. "data/everyday-en-fr.train.tsv"
    o.test = o.test or here .. "data/everyday-en-fr.test.tsv"
  end
  if #o.model == 0 then o.model = MODELS end
  return o
end

-- -- the corpus ---------------------------------------------------------------

local function read_pairs(path)
  local pairs_, message = data.read_pairs(path)
  if not pairs_ then script.fail("%s", message) end
  print(("%s: %s"):format(path, data.describe_pairs(pairs_)))
  return pairs_
end

local HELD_OUT <const> = 200

-- Pairs to train on, and sources with references to test with.
local function read_corpus(o)
  local train <const> = read_pairs(o.data)
  if o.test then return train, data.group_references(read_pairs(o.test)) end
  local n <const> = math.min(HELD_OUT, data.group_references(train).n // 10)
  if n == 0 then
    script.fail("too few pairs to hold some out: give --test FILE")
  end
  return data.hold_out(train, n)
end

-- Each source of the test with its first reference, for the loss.
local function first_references(test)
  local targets = {}
  for i, references in ipairs(test.references) do targets[i] = references[1] end
  return {source = test.source, target = targets}
end

local function encode(o, pairs_, bpe)
  local ids, long = data.encode_pairs(pairs_, bpe, {max_length = o.max_length})
  if long > 0 then
    print(("%d pairs left out: longer than %d tokens"):format(long,
      o.max_length))
  end
  if #ids.source == 0 then
    script.fail("every pair is longer than --max-length %d tokens",
      o.max_length)
  end
  return ids
end

-- Batches of sentences of about one length. The same seed gives each model the
-- same ones, whatever numbers it draws itself.
local function make_loader(o, ids, pad, shuffle)
  local rows <const> = data.Dataset(#ids.target, function(i) return i end)
  return data.DataLoader(rows, {
    batch_size = o.batch, shuffle = shuffle, lengths = ids.target.lengths,
    generator = heed.Generator(o.seed),
    collate = function(list)
      local src, lens = ids.source:batch(list, {pad = pad}) -- [B S], [B]
      local tgt = ids.target:batch(list, {pad = pad}) -- [B T]
      return {
        src = src, lens = lens,
        seen = tgt:slice(2, 1, -2), -- [B T-1] <bos> a b c
        wanted = tgt:slice(2, 2, -1), -- [B T-1] a b c <eos>
      }
    end,
  })
end

-- -- training and measuring ---------------------------------------------------

-- A check with a known answer: what pads a sentence in a batch with a longer
-- one must not change its scores. Returns by how much it does.
local function moved_by_padding(model)
  local _ <close> = heed.no_grad()
  local ints <const> = {dtype = "int64"}
  local seen <const> = heed.tensor({{2, 7, 8}, {2, 9, 5}}, ints) -- [2 3]
  model:eval()
  local both = model(heed.tensor({{5, 6, 1, 1}, {7, 8, 9, 5}}, ints), seen,
    heed.tensor({2, 4}, ints)) -- [2 3 V]
  local alone = model(heed.tensor({{5, 6}}, ints), seen[{{1, 1}}],
    heed.tensor({2}, ints)) -- [1 3 V]
  model:train()
  return (both[1] - alone[1]):abs():max():item()
end

-- Trains a model and returns what fit returns, with the seconds that it took.
local function train(o, model, ids, pad)
  local loader <const> = make_loader(o, ids.train, pad, true)
  local optimizer <const> = optim.AdamW(model:parameters(),
    {lr = o.lr, betas = {0.9, 0.98}, eps = 1e-9, weight_decay = 0})
  local steps <const> = o.epochs * #loader
  local tokens = 0
  local start <const> = heed.core.time()
  local run = heed.train.fit {
    model = model, optimizer = optimizer, epochs = o.epochs, data = loader,
    valid = make_loader(o, ids.test, pad, false), progress = io.stdout,
    clip_norm = 1.0, schedule = optim.WarmupLinearLR(optimizer,
      math.max(math.min(o.warmup, steps - 1), 0), steps),
    loss = function(_, batch)
      local scores <const> = model(batch.src, batch.seen, batch.lens)
      local n <const> = batch.wanted:ne(pad):sum():item()
      if model.training then tokens = tokens + n end
      return F.cross_entropy(scores:flatten(1, 2), batch.wanted:flatten(), {
        ignore_index = pad,
        label_smoothing = model.training and o.label_smoothing or 0.0,
      }), {count = n}
    end,
  }
  run.seconds = heed.core.time() - start
  run.tokens_per_second = tokens / run.seconds
  return run
end

-- Makes, trains and measures a model.
local function compare(o, name, bpe, ids, test)
  heed.manual_seed(o.seed)
  local model <const> = make[name](o, #bpe)
  local moved <const> = moved_by_padding(model)
  print(("\n%s: padding moves its scores by %.0e"):format(TITLE[name], moved))
  if moved > 1e-4 then error "padding changes the scores" end
  local run <const> = train(o, model, ids, bpe.pad)
  local translation <const> = models.Translation(model, bpe)
  local start <const> = heed.core.time()
  local found <const> = translation:translate(test.source, {beam = o.beam})
  return {
    name = name, run = run, translation = translation, found = found,
    parameters = model:num_parameters(),
    translating = heed.core.time() - start,
    bleu = text.bleu(found, test.references),
    chrf = text.chrf(found, test.references),
  }
end

-- -- what came of it ----------------------------------------------------------

local HEAD <const> = {"", "parameters", "loss", "BLEU", "chrF", "training",
  "tokens/s", "translating"}
local LINE <const> = "%-18s %10s %6s %6s %6s %9s %9s %11s"

local function print_table(results, sentences)
  print(("\non %d sentences that no model has seen:"):format(sentences))
  print(LINE:format(table.unpack(HEAD)))
  for _, r in ipairs(results) do
    print(LINE:format(TITLE[r.name], r.parameters,
      ("%.3f"):format(r.run.history[#r.run.history].valid.loss),
      ("%.2f"):format(r.bleu), ("%.2f"):format(r.chrf),
      ("%.1f s"):format(r.run.seconds), ("%.0f"):format(
      r.run.tokens_per_second), ("%.1f s"):format(r.translating)))
  end
end

local SHOWN <const> = 4

local function print_translations(results, test)
  for i = 1, math.min(SHOWN, test.n) do
    print("\nsource             " .. test.source[i])
    print("reference          " .. table.concat(test.references[i], " | "))
    for _, r in ipairs(results) do
      print(("%-18s %s"):format(TITLE[r.name], r.found[i]))
    end
  end
  print()
end

local function draw_losses(o, results)
  local curves = {}
  for i, r in ipairs(results) do
    local losses = {}
    for epoch, record in ipairs(r.run.history) do
      losses[epoch] = record.valid.loss
    end
    curves[i] = {y = losses, label = TITLE[r.name]}
  end
  local file <const> = o.path "seq2seq_compare-training.png"
  plot.lines(curves, {file = file, xlabel = "epoch",
    ylabel = "loss of a token of the test", title = "Learning to translate"})
  print("written: " .. file)
end

-- A sentence that is neither too short nor too long to look at.
local function pick_sentence(sources)
  local best, distance = sources[1], math.huge
  for _, source in ipairs(sources) do
    local _, words = source:gsub("%S+", "")
    if math.abs(words - 8) < distance then
      best, distance = source, math.abs(words - 8)
    end
  end
  return best
end

-- The LSTMs have one attention: what it looks at is a kind of dictionary. The
-- transformer's are many; drawn is the mean of the heads of its last layer.
local function draw_attention(o, results, sentence)
  for _, r in ipairs(results) do
    local a <const> = r.translation:attention(sentence, {beam = o.beam})
    local file <const> = o.path("seq2seq_compare-" .. r.name .. ".png")
    plot.attention(a.target, a.weights, {keys = a.source, file = file,
      xlabel = "source", ylabel = "translation", vmin = 0, vmax = 1,
      title = TITLE[r.name]})
    print("written: " .. file)
  end
end

script.run("seq2seq_compare", function()
  local o <const> = settings()
  local pairs_ <const>, test <const> = read_corpus(o)
  local texts = table.move(pairs_.source, 1, pairs_.n, 1, {})
  table.move(pairs_.target, 1, pairs_.n, pairs_.n + 1, texts)
  local bpe <const> = text.BPE.train(texts, {vocab_size = o.vocab})
  local ids <const> = {
    train = encode(o, pairs_, bpe),
    test = encode(o, first_references(test), bpe),
  }
  print(("%d pairs, %d tokens"):format(#ids.train.source, #bpe))
  local results = {}
  for i, name in ipairs(o.model) do
    results[i] = compare(o, name, bpe, ids, test)
  end
  print_table(results, test.n)
  print_translations(results, test)
  draw_losses(o, results)
  draw_attention(o, results, o.sentence or pick_sentence(test.source))
end)
