#!/usr/bin/env heed
--[[
How does a network learn to translate?

An encoder reads the source sentence; a decoder writes the target one token at
a time, and at each step attends to what it has written and to the encoder's
result. Training shows it the target shifted by one token (teacher forcing) and
asks for the next one at every position at once:

    memory = encoder(source)                                  [B S C]
    scores = head(decoder(target[1 .. T-1], memory))          [B T-1 V]
    loss   = cross-entropy(scores, target[2 .. T])

Without --data it trains on the sentences that ship with heed, measures itself
on others that it has not seen, and draws its loss and what it attended to.

Try:
    heed examples/translator.lua
    heed examples/translator.lua --data fra.txt --save en-fr.safetensors
    heed examples/translator.lua --load en-fr.safetensors \
      --translate "How are you?" --beam 4
Then: --layers 1, or --heads 1; --beam 4; --post-norm, which is how the paper
had it, and which wants a lower --lr. examples/seq2seq_compare.lua trains two
recurrent networks on the same sentences.
]]

local cjson = require "cjson"
local heed = require "heed"
local script = require "heed.script"
local nn, optim, data, text = heed.nn, heed.optim, heed.data, heed.text
local F <const> = nn.functional
local models <const>, plot <const> = heed.models, require "heed.plot"

local here <const> = arg[0]:match("^(.*[/\\])") or "./"

-- -- options ------------------------------------------------------------------

-- What --demo changes: a small corpus wants a small vocabulary and many epochs.
local DEMO <const> = {
  data = here .. "data/everyday-en-fr.train.tsv",
  test = here .. "data/everyday-en-fr.test.tsv",
  vocab = 1200, d_model = 128, ff = 512, dropout = 0.1, max_length = 64,
  epochs = 16, batch = 32, lr = 2e-3, warmup = 200,
}

local DEFAULTS <const> = {
  d_model = 192, heads = 4, layers = 2, ff = 768, dropout = 0.0, vocab = 4000,
  max_length = 128, epochs = 3, batch = 64, lr = 1.5e-3, warmup = 500,
  schedule = "linear", label_smoothing = 0.1, clip = 1.0,
  weight_decay = 0.0, beam = 1,
}

local function make_parser()
  local parser = script.parser("translator", "Trains a translator on pairs of "
    .. "sentences, shows what it learned, and translates.", {out = "."})
  local function file(name, help)
    return parser:option(name, help):argname "FILE"
  end
  -- defaults are filled in later: they depend on --demo
  local function shown(name, help)
    return ("%s (%s)"):format(help, DEFAULTS[name:sub(3):gsub("-", "_")])
  end
  local function whole(name, help, low)
    parser:whole(name, shown(name, help), nil, low)
  end
  local function number(name, help, low, high)
    parser:number(name, shown(name, help), nil, low, high)
  end
  parser:flag("--demo", "the sentences that ship with heed, and sizes that "
    .. "suit so few; so it is without --data and --load")
  file("--data", "train on this file: source<TAB>target, other columns "
    .. "ignored")
  file("--test", "measure BLEU and chrF on this file; several lines with one "
    .. "source are several references (200 sources of --data are held out "
    .. "otherwise)")
  file("--save", "write the trained model here")
  file("--load", "use this model instead of training")
  parser:option("--translate", "translate this text; may be repeated")
    :argname "TEXT":count "*"
  file("--output", "write all translations of --test here, one a line")
  whole("--vocab", "tokens of the vocabulary of both languages", 1)
  whole("--d-model", "width of the model", 1)
  whole("--heads", "attention heads", 1)
  whole("--layers", "layers of the encoder, and of the decoder", 1)
  whole("--ff", "width of the feed-forward parts", 1)
  number("--dropout", "probability of dropout", 0, 1)
  whole("--max-length", "most tokens of a sentence", 2)
  parser:flag("--post-norm", "norms behind each part, as in the paper of 2017")
  parser:flag("--untied", "separate matrices for both embeddings and the head")
  whole("--epochs", "times to go through the data", 1)
  parser:whole("--steps", "stop after so many batches", nil, 1)
  whole("--batch", "sentences of a batch", 1)
  number("--lr", "highest learning rate", 0)
  whole("--warmup", "steps until it is reached", 0)
  parser:option("--schedule", shown("--schedule", "what it does then"))
    :choices {"inverse_sqrt", "linear", "constant"}
  number("--label-smoothing", "part of the target spread over all tokens", 0,
    1)
  number("--clip", "largest norm of the gradients; 0: any", 0)
  number("--weight-decay", "of AdamW", 0)
  whole("--beam", "beam width of the search; 1 is greedy", 1)
  file("--export", "write the run for bench/translator_torch.py and stop")
  return parser
end

local function settings()
  local o = script.start(make_parser())
  if not (o.data or o.load) then o.demo = true end
  for _, defaults in ipairs {o.demo and DEMO or {}, DEFAULTS} do
    for key, value in pairs(defaults) do
      if o[key] == nil then o[key] = value end
    end
  end
  if o.load then o.data = nil end
  -- what cannot be written should be known before hours of training
  script.check_writable(o.save)
  script.check_writable(o.output)
  script.check_writable(o.export)
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

local function read_corpus(o)
  local train <const> = read_pairs(o.data)
  if o.test then return train, data.group_references(read_pairs(o.test)) end
  local n <const> = math.min(HELD_OUT, data.group_references(train).n // 10)
  if n == 0 then
    script.fail("too few pairs to hold some out: give --test FILE")
  end
  return data.hold_out(train, n)
end

-- The tokeniser, the corpus as ids and the test; the text itself can go.
local function prepare(o)
  local pairs_ <const>, test <const> = read_corpus(o)
  local texts = table.move(pairs_.source, 1, pairs_.n, 1, {})
  table.move(pairs_.target, 1, pairs_.n, pairs_.n + 1, texts)
  local bpe <const> = text.BPE.train(texts, {vocab_size = o.vocab})
  local corpus <const>, long <const> =
    data.encode_pairs(pairs_, bpe, {max_length = o.max_length})
  if long > 0 then
    print(("%d pairs left out: longer than %d tokens"):format(long,
      o.max_length))
  end
  if #corpus.source == 0 then
    script.fail("every pair is longer than --max-length %d tokens",
      o.max_length)
  end
  return bpe, corpus, test
end

-- The batches: sentences of about one length, in another order in each epoch.
-- The order has a generator of its own, so that dropout does not change it.
local function make_loader(o, corpus, pad)
  local order <const> = heed.Generator()
  order:set_state(heed.get_generator_state())
  local rows <const> = data.Dataset(#corpus.target, function(i) return i end)
  return data.DataLoader(rows, {
    batch_size = o.batch, shuffle = true, lengths = corpus.target.lengths,
    generator = order,
    collate = function(list)
      local src, lens = corpus.source:batch(list, {pad = pad}) -- [B S], [B]
      local tgt = corpus.target:batch(list, {pad = pad}) -- [B T]
      return {
        src = src, lens = lens,
        seen = tgt:slice(2, 1, -2), -- [B T-1] <bos> a b c
        wanted = tgt:slice(2, 2, -1), -- [B T-1] a b c <eos>
      }
    end,
  })
end

-- -- training -----------------------------------------------------------------

local function make_model(o, vocab)
  return models.Translator {
    src_vocab = vocab, tgt_vocab = vocab, d_model = o.d_model,
    heads = o.heads, encoder_layers = o.layers, decoder_layers = o.layers,
    ff = o.ff, dropout = o.dropout, norm_first = not o.post_norm,
    tied = not o.untied, max_length = o.max_length,
  }
end

-- What is known before training. The scores of a position must not change with
-- the tokens behind it, or training would show the model its own answers. And a
-- model that gives each of V tokens the probability 1 / V has a loss of ln V;
-- one whose scores are chance, with variance 1, has about 1/2 more.
local function check_untrained(model, batch, pad)
  local _ <close> = heed.no_grad()
  model:eval()
  local scores <const> = model(batch.src, batch.seen, batch.lens) -- [B T V]
  local other = batch.seen:clone()
  other[{{}, -1}] = other[{{}, -1}] % 9 + 1
  local changed <const> = model(batch.src, other, batch.lens)
  local before <const> = {{}, {1, -2}}
  local moved <const> = batch.seen:size(2) > 1
    and (scores[before] - changed[before]):abs():max():item() or 0.0
  if moved > 1e-4 then
    error(("scores moved by %g with a token behind them"):format(moved))
  end
  local vocab <const> = scores:size(3)
  print(("scores [%s]; another last token moves those before it by %g"):format(
    table.concat(scores.shape, " "), moved))
  print(("before training: loss %.2f; ln %d + 1/2 is %.2f"):format(
    F.cross_entropy(scores:flatten(1, 2), batch.wanted:flatten(),
      {ignore_index = pad}):item(), vocab,
    math.log(vocab) + 0.5))
  model:train()
end

local function make_schedule(o, optimizer, steps)
  local warmup <const> = math.max(math.min(o.warmup, steps - 1), 1)
  if o.schedule == "linear" and steps > 1 then
    return optim.WarmupLinearLR(optimizer, warmup, steps)
  elseif o.schedule == "inverse_sqrt" then
    return optim.WarmupInverseSqrtLR(optimizer, warmup)
  end
  return optim.LambdaLR(optimizer, function(t)
    return math.min(1, (t + 1) / warmup)
  end)
end

local function count_steps(o, loader)
  return math.min(o.steps or math.maxinteger, o.epochs * #loader)
end

-- Returns the loss of each step.
local function train(o, model, loader, pad)
  local optimizer = optim.AdamW(model:parameters(),
    {lr = o.lr, betas = {0.9, 0.98}, eps = 1e-9, weight_decay = o.weight_decay})
  local loss_options <const> =
    {ignore_index = pad, label_smoothing = o.label_smoothing}
  local tokens, losses = 0, {}
  local start <const> = heed.core.time()
  heed.train.fit {
    model = model, optimizer = optimizer, data = loader, epochs = o.epochs,
    max_steps = o.steps, clip_norm = o.clip > 0 and o.clip or nil,
    schedule = make_schedule(o, optimizer, count_steps(o, loader)),
    progress = io.stdout,
    loss = function(_, batch)
      local logits = model(batch.src, batch.seen, batch.lens) -- [B T-1 V]
      local n <const> = batch.wanted:ne(pad):sum():item()
      tokens = tokens + n
      return F.cross_entropy(logits:flatten(1, 2), batch.wanted:flatten(),
        loss_options), {count = n}
    end,
    on_step = function(run) losses[#losses + 1] = run.loss end,
  }
  local seconds <const> = heed.core.time() - start
  print(("trained on %d tokens in %.1f s: %.0f tokens/s"):format(tokens,
    seconds, tokens / seconds))
  return losses
end

-- -- what it learned ----------------------------------------------------------

local function evaluate(o, translation, test)
  local start <const> = heed.core.time()
  local found <const> = translation:translate(test.source, {beam = o.beam})
  print(("BLEU %.2f, chrF %.2f on %d sentences (%s, %.1f s)"):format(
    text.bleu(found, test.references), text.chrf(found, test.references),
    test.n, o.beam == 1 and "greedy" or "beam " .. o.beam,
    heed.core.time() - start))
  if o.output then
    heed.core.write_file_atomic(o.output, table.concat(found, "\n") .. "\n")
    print(o.output)
  end
  return found
end

local SHOWN <const> = 10

local function show_translations(test, found)
  print()
  for i = 1, math.min(SHOWN, test.n) do
    local at <const> = (i - 1) * (test.n // math.min(SHOWN, test.n)) + 1
    print("source      " .. test.source[at])
    print("reference   " .. table.concat(test.references[at], " | "))
    print("translation " .. found[at] .. "\n")
  end
end

-- A sentence that is neither too short nor too long to look at.
local function pick_sentence(sources)
  local best, distance = sources[1], math.huge
  for _, source in ipairs(sources) do
    local _, words = source:gsub("%S+", "")
    if math.abs(words - 6) < distance then
      best, distance = source, math.abs(words - 6)
    end
  end
  return best
end

local function show_attention(o, translation, source)
  local a <const> = translation:attention(source, {beam = o.beam})
  plot.show(a.weights, {row_labels = a.target, col_labels = a.source,
    title = "What each word attended to: " .. source})
  local file <const> = o.path "translator-attention.png"
  plot.attention(a.target, a.weights, {keys = a.source, file = file,
    xlabel = "source", ylabel = "translation", title = source})
  print("written: " .. file)
  local page <const> = o.path "translator-attention.html" -- all heads
  plot.attention_html(a.attentions,
    {file = page, title = source .. " / " .. a.text})
  print("written: " .. page)
end

-- The mean of the last steps says more than each of them.
local function smooth(losses)
  local curve, mean = {}, losses[1]
  for i, loss in ipairs(losses) do
    mean = 0.95 * mean + 0.05 * loss
    curve[i] = mean
  end
  return curve
end

local function draw_losses(o, losses)
  local file <const> = o.path "translator-training.png"
  plot.lines(smooth(losses), {file = file, xlabel = "step",
    ylabel = "loss (mean of about 20 steps)", title = "Training"})
  print("written: " .. file)
end

-- -- the run for another library ----------------------------------------------

-- A Ragged as flat ids and bounds from 0, without the first and last `cut` ids.
local function flatten(ragged, cut)
  local flat, bounds = {}, {0}
  for i = 1, #ragged do
    local list <const> = ragged[i]
    table.move(list, 1 + cut, #list - cut, #flat + 1, flat)
    bounds[i + 1] = #flat
  end
  local ints <const> = {dtype = "int64"}
  return heed.tensor(flat, ints), heed.tensor(bounds, ints)
end

local function export(o, model, bpe, corpus, loader, test)
  local batches, steps = {}, count_steps(o, loader)
  while #batches < steps do
    for rows in loader:rows() do
      if #batches < steps then batches[#batches + 1] = rows end
    end
  end
  local tensors, sources = {}, {}
  for i, source in ipairs(test.source) do sources[i] = bpe:encode(source) end
  for name, ragged in pairs {["train.src"] = {corpus.source, 0},
      ["train.tgt"] = {corpus.target, 1}, batches = {data.Ragged(batches), 0},
      ["test.src"] = {data.Ragged(sources), 0}} do
    local bounds <const> =
      (name == "batches" and "batch" or name) .. "_offsets"
    tensors[name], tensors[bounds] = flatten(table.unpack(ragged))
  end
  for name, tensor in pairs(model:state_dict()) do
    tensors["weight." .. name] = tensor
  end
  local vocab = {}
  for id = 1, #bpe do vocab[id] = bpe:token(id) end
  local c <const> = model.config
  heed.save_safetensors(o.export, tensors, {
    vocab = cjson.encode(vocab),
    config = cjson.encode {
      d_model = c.d_model, heads = c.heads, encoder_layers = c.encoder_layers,
      decoder_layers = c.decoder_layers, ff = c.ff, dropout = c.dropout,
      norm_first = c.norm_first, tied = c.tied, vocab = #bpe,
      label_smoothing = o.label_smoothing, lr = o.lr,
      warmup = math.max(math.min(o.warmup, steps - 1), 1),
      steps = steps, clip = o.clip, weight_decay = o.weight_decay,
      betas = {0.9, 0.98}, eps = 1e-9, schedule = o.schedule, seed = o.seed,
      pad = bpe.pad, bos = bpe.bos, eos = bpe.eos,
    },
  })
  print(("exported %d steps to %s"):format(steps, o.export))
end

-- -- all together -------------------------------------------------------------

-- Returns what translates, or nil, the test, and the losses of training.
local function train_translation(o)
  local bpe <const>, corpus <const>, test <const> = prepare(o)
  local model <const> = make_model(o, #bpe)
  local loader <const> = make_loader(o, corpus, bpe.pad)
  print(("%d pairs, %d tokens, %d parameters, %d steps"):format(
    #corpus.source, #bpe, model:num_parameters(), count_steps(o, loader)))
  if o.export then
    export(o, model, bpe, corpus, loader, test)
    return nil
  end
  check_untrained(model, loader.collate {1, math.min(2, #corpus.source)},
    bpe.pad)
  local losses <const> = train(o, model, loader, bpe.pad)
  local translation <const> = models.Translation(model, bpe)
  if o.save then
    translation:save(o.save)
    print("saved: " .. o.save)
  end
  return translation, test, losses
end

script.run("translator", function()
  local o <const> = settings()
  local translation, test, losses
  if o.load then
    translation = models.Translation.load(o.load)
    if o.test then test = data.group_references(read_pairs(o.test)) end
  else
    translation, test, losses = train_translation(o)
  end
  if not translation then return end
  if test then
    local found <const> = evaluate(o, translation, test)
    show_translations(test, found)
    if losses then draw_losses(o, losses) end
    show_attention(o, translation, pick_sentence(test.source))
  end
  if #o.translate > 0 then
    for _, found in ipairs(translation:translate(o.translate,
        {beam = o.beam})) do
      print(found)
    end
  end
end)
