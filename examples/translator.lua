#!/usr/bin/env heed
--[[
A translator, from scratch: how does a network learn to translate?

An encoder reads the source sentence; a decoder writes the target one token at
a time, and at each step attends to what it has written and to the encoder's
result. Training shows it the target shifted by one token (teacher forcing) and
asks for the next one at every position at once:

    loss = cross-entropy(head(decoder(target[1 .. T-1], encoder(source))),
                         target[2 .. T])

Try:
    heed examples/translator.lua --demo
    heed examples/translator.lua --data fra.txt --save en-fr.safetensors
    heed examples/translator.lua --load en-fr.safetensors \
      --translate "How are you?" --beam 4
]]

local argparse = require "argparse"
local cjson = require "cjson"
local heed = require "heed"
local nn, optim, data, text = heed.nn, heed.optim, heed.data, heed.text
local F <const> = nn.functional
local models <const> = heed.models

local here <const> = arg[0]:match("^(.*[/\\])") or "./"

-- -- options ------------------------------------------------------------------

-- What --demo changes: a small corpus wants a small vocabulary and many epochs.
local DEMO <const> = {
  data = here .. "data/everyday-en-fr.train.tsv",
  test = here .. "data/everyday-en-fr.test.tsv",
  vocab = 1200, d_model = 128, ff = 512, dropout = 0.1, max_length = 64,
  epochs = 20, batch = 32, lr = 2e-3, warmup = 200,
  picture = "translator-attention.svg",
}

local DEFAULTS <const> = {
  d_model = 192, heads = 4, layers = 2, ff = 768, dropout = 0.0, vocab = 4000,
  max_length = 128, epochs = 3, batch = 64, lr = 1.5e-3, warmup = 500,
  schedule = "linear", label_smoothing = 0.1, clip = 1.0,
  weight_decay = 0.0, beam = 1, seed = 0,
}

local function read_arguments()
  local parser = argparse("translator", "Trains a translator on pairs of "
    .. "sentences, shows what it learned, and translates.")
  local function option(name, help, default)
    if default ~= nil then help = help .. " (" .. default .. ")" end
    return parser:option(name, help):argname "N"
  end
  local function number(name, help)
    local key = name:sub(3):gsub("-", "_")
    return option(name, help, DEFAULTS[key]):convert(tonumber)
  end
  parser:flag("--demo", "train on the sentences that ship with heed")
  option("--data", "train on this file: source<TAB>target, other columns "
    .. "ignored"):argname "FILE"
  option("--test", "measure BLEU on this file; several lines with one source "
    .. "are several references (200 sources of --data are held out "
    .. "otherwise)"):argname "FILE"
  option("--save", "write the trained model here"):argname "FILE"
  option("--load", "use this model instead of training"):argname "FILE"
  option("--translate", "translate this text; may be repeated")
    :argname "TEXT":count "*"
  option("--picture", "write the attention of one sentence here (.svg, .png "
    .. "or .pdf)"):argname "FILE"
  option("--output", "write all translations of --test here, one a line")
    :argname "FILE"
  number("--vocab", "tokens of the vocabulary of both languages")
  number("--d-model", "width of the model")
  number("--heads", "attention heads")
  number("--layers", "layers of the encoder, and of the decoder")
  number("--ff", "width of the feed-forward parts")
  number("--dropout", "probability of dropout")
  number("--max-length", "most tokens of a sentence")
  parser:flag("--post-norm", "norms behind each part, as in the paper of 2017")
  parser:flag("--untied", "separate matrices for both embeddings and the head")
  number("--epochs", "times to go through the data")
  number("--steps", "stop after so many batches")
  number("--batch", "sentences of a batch")
  number("--lr", "highest learning rate")
  number("--warmup", "steps until it is reached")
  option("--schedule", "what it does then", DEFAULTS.schedule)
    :choices {"inverse_sqrt", "linear", "constant"}
  number("--label-smoothing", "part of the target spread over all tokens")
  number("--clip", "largest norm of the gradients")
  number("--weight-decay", "of AdamW")
  number("--beam", "beam width of the search; 1 is greedy")
  number("--seed", "of all random numbers")
  number("--threads", "threads to compute with")
  option("--export", "write the run for bench/translator_torch.py and stop")
    :argname "FILE"
  return parser:parse()
end

-- What is wrong in what the user gave: said without a traceback, exit code 1.
local function stop(format, ...)
  error({message = format:format(...)}, 0)
end

local WHOLE <const> = {
  vocab = 1, d_model = 1, heads = 1, layers = 1, ff = 1, max_length = 2,
  epochs = 1, steps = 1, batch = 1, warmup = 0, beam = 1, seed = 0,
  threads = 1,
}

local function settings()
  local o = read_arguments()
  for _, defaults in ipairs {o.demo and DEMO or {}, DEFAULTS} do
    for key, value in pairs(defaults) do
      if o[key] == nil then o[key] = value end
    end
  end
  for name, low in pairs(WHOLE) do
    local value = o[name]
    local whole = math.tointeger(value)
    if value ~= nil and (not whole or whole < low) then
      stop("--%s must be a whole number of at least %d, got %s",
        name:gsub("_", "-"), low, value)
    end
    o[name] = whole
  end
  if not (o.data or o.load) then
    stop("nothing to do: give --demo, --data FILE or --load FILE")
  end
  return o
end

-- A target that cannot be written should be known before hours of training.
local function check_writable(path)
  if not path then return end
  local probe <const> = path .. ".part"
  local file, message = io.open(probe, "ab")
  if not file then
    stop("cannot write %s: %s", path, (message:gsub("^.-: ", "")))
  end
  file:close()
  os.remove(probe)
end

-- -- the corpus ---------------------------------------------------------------

local function read_pairs(path)
  local pairs_, message = data.read_pairs(path)
  if not pairs_ then stop("%s", message) end
  local skipped = {}
  for _, reason in ipairs {"empty", "malformed", "invalid_utf8"} do
    local n <const> = pairs_.skipped[reason]
    if n > 0 then
      skipped[#skipped + 1] = ("%d %s (first: line %d)"):format(n,
        (reason:gsub("_", " ")), pairs_.first[reason])
    end
  end
  io.write(("%s: %d pairs"):format(path, pairs_.n))
  if #skipped > 0 then
    io.write("; lines left out: ", table.concat(skipped, ", "))
  end
  io.write("\n")
  return pairs_
end

local HELD_OUT <const> = 200

-- Takes sources with all their targets out of the pairs, by chance.
local function hold_out(pairs_)
  local all <const> = data.group_references(pairs_)
  local n <const> = math.min(HELD_OUT, all.n // 10)
  if n == 0 then stop("too few pairs to hold some out: give --test FILE") end
  local held, test = {}, {source = {}, references = {}, n = n}
  for i, row in ipairs(heed.randperm(all.n):totable()) do
    if i > n then break end
    held[all.source[row]] = true
    test.source[i], test.references[i] = all.source[row], all.references[row]
  end
  local train = {source = {}, target = {}, n = 0}
  for i = 1, pairs_.n do
    if not held[pairs_.source[i]] then
      train.n = train.n + 1
      train.source[train.n] = pairs_.source[i]
      train.target[train.n] = pairs_.target[i]
    end
  end
  return train, test
end

local function read_corpus(o)
  local train = read_pairs(o.data)
  if o.test then return train, data.group_references(read_pairs(o.test)) end
  return hold_out(train)
end

-- Both sides of every pair, one after the other.
local function sides(pairs_)
  return coroutine.wrap(function()
    for i = 1, pairs_.n do
      coroutine.yield(pairs_.source[i])
      coroutine.yield(pairs_.target[i])
    end
  end)
end

-- Pairs as ids: the source as it is, the target between <bos> and <eos>.
local function encode(pairs_, bpe, longest)
  local source, target, long = {}, {}, 0
  for i = 1, pairs_.n do
    local src, tgt = bpe:encode(pairs_.source[i]), bpe:encode(pairs_.target[i])
    if #src > longest or #tgt + 1 > longest then
      long = long + 1
    else
      table.insert(tgt, 1, bpe.bos)
      tgt[#tgt + 1] = bpe.eos
      source[#source + 1], target[#target + 1] = src, tgt
    end
  end
  if long > 0 then
    print(("%d pairs left out: longer than %d tokens"):format(long, longest))
  end
  if #source == 0 then
    stop("every pair is longer than --max-length %d tokens", longest)
  end
  return {source = data.Ragged(source), target = data.Ragged(target)}
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

-- The batches of all epochs, as many as --steps.
local function plan(o, corpus)
  local loader <const> = data.DataLoader(corpus.target, {
    batch_size = o.batch, shuffle = true, lengths = corpus.target.lengths,
  })
  local batches = {}
  for _ = 1, o.epochs do
    if o.steps and #batches >= o.steps then break end
    for rows in loader:rows() do batches[#batches + 1] = rows end
  end
  for i = #batches, (o.steps or #batches) + 1, -1 do batches[i] = nil end
  return batches
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

-- One batch: source [B S] with lengths, target in and out, both [B T].
local function load_batch(corpus, rows, pad)
  local src, lens = corpus.source:batch(rows, {pad = pad})
  local tgt = corpus.target:batch(rows, {pad = pad})
  return src, lens, tgt:slice(2, 1, -2), tgt:slice(2, 2, -1)
end

local function train(o, model, corpus, batches, pad)
  local parameters <const> = model:parameters()
  local optimizer = optim.AdamW(parameters,
    {lr = o.lr, betas = {0.9, 0.98}, eps = 1e-9, weight_decay = o.weight_decay})
  local schedule = make_schedule(o, optimizer, #batches)
  local lengths <const> = corpus.target.lengths:totable()
  local loss_options <const> =
    {ignore_index = pad, label_smoothing = o.label_smoothing}
  local bar <close> = heed.progress.new {total = #batches, title = "training",
    file = io.stdout}
  local start <const> = heed.core.time()
  local tokens, smooth = 0, nil
  model:train()
  for step, rows in ipairs(batches) do
    local src, lens, seen, wanted = load_batch(corpus, rows, pad)
    local logits = model(src, seen, lens) -- [B T V]
    local loss = F.cross_entropy(logits:flatten(1, 2), wanted:flatten(),
      loss_options)
    optimizer:zero_grad()
    loss:backward()
    if o.clip > 0 then optim.clip_grad_norm_(parameters, o.clip) end
    optimizer:step()
    schedule:step()

    local value <const> = loss:item()
    if value ~= value then stop("the loss is NaN in step %d", step) end
    smooth = smooth and 0.98 * smooth + 0.02 * value or value
    for _, row in ipairs(rows) do tokens = tokens + lengths[row] - 1 end
    bar:update(step, {loss = smooth,
      rate = tokens / (heed.core.time() - start), unit = "tok/s"})
  end
  bar:finish()
  return {tokens = tokens, seconds = heed.core.time() - start, loss = smooth}
end

-- -- what it learned ----------------------------------------------------------

local function evaluate(o, translation, test)
  local start <const> = heed.core.time()
  local found <const> = translation:translate(test.source, {beam = o.beam})
  local score <const> = text.bleu(found, test.references)
  print(("BLEU %.2f on %d sentences (%s, %.1f s)"):format(score, test.n,
    o.beam == 1 and "greedy" or "beam " .. o.beam,
    heed.core.time() - start))
  if o.output then
    heed.core.write_file_atomic(o.output, table.concat(found, "\n") .. "\n")
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
  heed.plot.show(a.weights, {row_labels = a.target, col_labels = a.source,
    title = "What each word attended to: " .. source, file = io.stdout})
  if o.picture then
    heed.plot.attention(a.target, a.weights, {keys = a.source,
      xlabel = "source", ylabel = "target", file = o.picture,
      title = source .. " / " .. a.text})
    print("picture: " .. o.picture)
  end
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

local function export(o, model, bpe, corpus, batches, test)
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
      warmup = math.max(math.min(o.warmup, #batches - 1), 1),
      steps = #batches, clip = o.clip, weight_decay = o.weight_decay,
      betas = {0.9, 0.98}, eps = 1e-9, schedule = o.schedule, seed = o.seed,
      pad = bpe.pad, bos = bpe.bos, eos = bpe.eos,
    },
  })
  print(("exported %d steps to %s"):format(#batches, o.export))
end

-- -- all together -------------------------------------------------------------

-- The tokeniser, the corpus as ids and the test; the text itself can go.
local function prepare(o)
  local pairs_, test = read_corpus(o)
  local bpe <const> = text.BPE.train(sides(pairs_), {vocab_size = o.vocab})
  return bpe, encode(pairs_, bpe, o.max_length), test
end

local function train_translation(o)
  local bpe, corpus, test = prepare(o)
  local model <const> = make_model(o, #bpe)
  local batches <const> = plan(o, corpus)
  print(("%d pairs, %d tokens, %d parameters, %d steps"):format(
    #corpus.source, #bpe, model:num_parameters(), #batches))
  if o.export then
    export(o, model, bpe, corpus, batches, test)
    return nil
  end
  local stats <const> = train(o, model, corpus, batches, bpe.pad)
  print(("trained on %d tokens in %.1f s: %.0f tokens/s"):format(stats.tokens,
    stats.seconds, stats.tokens / stats.seconds))
  local translation <const> = models.Translation(model, bpe)
  if o.save then
    translation:save(o.save)
    print("saved: " .. o.save)
  end
  return translation, test
end

local function main()
  local o <const> = settings()
  if o.threads then heed.set_num_threads(o.threads) end
  heed.manual_seed(o.seed)
  for _, path in ipairs {o.save or false, o.picture or false,
      o.output or false, o.export or false} do
    check_writable(path)
  end
  local translation, test
  if o.load then
    translation = models.Translation.load(o.load)
    if o.test then test = data.group_references(read_pairs(o.test)) end
  else
    translation, test = train_translation(o)
  end
  if not translation then return end
  if test then
    local found <const> = evaluate(o, translation, test)
    show_translations(test, found)
    show_attention(o, translation, pick_sentence(test.source))
  end
  if #o.translate > 0 then
    for _, found in ipairs(translation:translate(o.translate,
        {beam = o.beam})) do
      print(found)
    end
  end
end

-- A mistake of the user's is one line; a fault of ours keeps its traceback.
local ok, failure = xpcall(main, function(e)
  if type(e) == "table" then return e end
  local said <const> = tostring(e):gsub("^[^\n]-:%d+: ", "")
  if os.getenv "HEED_TRACEBACK" then return debug.traceback(e, 2) end
  return {message = said}
end)
if not ok then
  io.stderr:write("translator: ",
    type(failure) == "table" and failure.message or tostring(failure), "\n")
  os.exit(1)
end
