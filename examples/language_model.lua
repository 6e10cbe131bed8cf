#!/usr/bin/env heed
--[[
How does a machine write? It guesses the next token, and the next, and the next.

A language model gives each token of a text a probability, from those before it
alone. A transformer does so for all positions at once: in each layer a position
attends to itself and to what is before it, never to what comes (causal):

    p(token t+1 | tokens 1 .. t) = softmax(head(layers(embedding(tokens)))_t)
    loss       = mean of -ln p(token that really came)    in nats per token
    perplexity = exp(loss)       between how many tokens the model hesitates

To write, a token is drawn from these probabilities, added to the text, and so
on. A low --temperature makes probable tokens more probable still; --top-k and
--top-p leave out improbable ones.

Tokens may be characters or pieces of words; a perplexity of characters says
nothing about one of pieces. Bits per byte do, the loss spread over the bytes of
the text that was read:

    bits per byte = loss * tokens / bytes / ln 2

Try:
    heed examples/language_model.lua
    heed examples/language_model.lua --data book.txt --steps 4000 \
      --save book.safetensors
    heed examples/language_model.lua --load book.safetensors \
      --prompt "Once" --length 500 --temperature 0.7
Then: --tokens bpe, and compare the bits per byte; --temperature 0.2, then 2;
--layers 1, which can only look up, not combine; --context 8.
]]

local cjson = require "cjson"
local heed = require "heed"
local script = require "heed.script"
local nn, optim, text = heed.nn, heed.optim, heed.text
local F <const> = nn.functional
local metrics <const>, plot <const> = heed.metrics, require "heed.plot"

local here <const> = arg[0]:match("^(.*[/\\])") or "./"

-- -- options ------------------------------------------------------------------

local function make_parser()
  local parser = script.parser("language_model", "Trains a small transformer "
    .. "on a text, measures how well it guesses another, and writes.",
    {out = "."})
  local function file(name, help)
    parser:option(name, help):argname "FILE"
  end
  file("--data", "train on this text (a story that ships with heed)")
  file("--test", "measure on this text (the last tenth of --data)")
  file("--save", "write the trained model here")
  file("--load", "use this model instead of training")
  parser:option("--tokens", "what a token is", "characters")
    :choices {"characters", "bpe"}
  parser:whole("--vocab", "tokens of bpe, at most", 800, 1)
  parser:whole("--context", "tokens that the model sees", 64, 1)
  parser:whole("--d-model", "width of the model", 128, 1)
  parser:whole("--heads", "attention heads", 4, 1)
  parser:whole("--layers", "layers", 3, 1)
  parser:number("--dropout", "probability of dropout", 0.1, 0, 1)
  parser:whole("--steps", "batches to train on", 300, 1)
  parser:whole("--every", "batches between measurements", 50, 1)
  parser:whole("--batch", "pieces of text of a batch", 32, 1)
  parser:number("--lr", "highest learning rate", 3e-3, 0)
  parser:option("--prompt", "what the text that it writes begins with (a new "
    .. "line)"):argname "TEXT"
  parser:whole("--length", "tokens that it writes", 400, 0)
  parser:number("--temperature", "0: always the most probable token", 0.8, 0)
  parser:whole("--top-k", "draw from so many most probable ones (all)", nil, 1)
  parser:number("--top-p", "draw from the most probable ones that have this "
    .. "probability together (1)", nil, 0, 1)
  return parser
end

local function settings()
  local o = script.start(make_parser())
  script.check_writable(o.save)
  if not (o.data or o.load) then
    o.data = here .. "data/lighthouse.train.txt"
    o.test = o.test or here .. "data/lighthouse.test.txt"
  end
  if o.load then o.data = nil end
  return o
end

-- -- text and tokens ----------------------------------------------------------

local function read_text(path)
  local file, reason = io.open(path, "rb")
  local content
  if file then
    content, reason = file:read("a")
    file:close()
  end
  if not content then
    script.fail("cannot read %s: %s", path, (reason:gsub("^.*: ", "")))
  end
  local _, place = utf8.len(content)
  if place then
    script.fail("%s is no UTF-8 text: byte %d", path, place)
  end
  if not content:find "%S" then script.fail("%s has no text", path) end
  return (content:gsub("\r\n", "\n"))
end

-- The last tenth of a text, from the start of a line where there is one.
local function split(content)
  local at <const> = #content * 9 // 10
  local start = content:find("\n", at, true)
  start = start and start + 1 or utf8.offset(content, 0, at)
  return content:sub(1, start - 1), content:sub(start)
end

local function make_tokenizer(o, content)
  if o.tokens == "characters" then return text.Characters.train {content} end
  return text.BPE.train({content}, {vocab_size = o.vocab})
end

-- A text as a list of ids. Pieces of words know nothing of lines: there the
-- end of a line is the token <eos>.
local function encode(o, tokenizer, content)
  if o.tokens == "characters" then return tokenizer:encode(content) end
  local ids = {}
  for line, ending in content:gmatch "([^\n]*)(\n?)" do
    local piece <const> = tokenizer:encode(line)
    table.move(piece, 1, #piece, #ids + 1, ids)
    if ending ~= "" then ids[#ids + 1] = tokenizer.eos end
  end
  return ids
end

-- The text of ids, a function that takes one at a time, and that returns what
-- can be shown of it already: a token may be a part of a character.
local function speller(tokenizer)
  local line, shown = {}, 0
  return function(id)
    if id == tokenizer.eos then
      line, shown = {}, 0
      return "\n"
    end
    line[#line + 1] = id
    local said <const> = text.unicode.repair(tokenizer:decode(line))
    local whole <const> = said:gsub("\u{FFFD}+$", "")
    local new <const> = whole:sub(shown + 1)
    shown = math.max(shown, #whole)
    if whole:sub(-1) == "\n" then line, shown = {}, 0 end
    return new
  end
end

local function count_bytes(tokenizer, ids)
  local spell <const>, bytes = speller(tokenizer), 0
  for _, id in ipairs(ids) do bytes = bytes + #spell(id) end
  return bytes
end

local INTS <const> = {dtype = "int64"}

local function encode_train(o, tokenizer, content)
  local ids <const> = encode(o, tokenizer, content)
  if #ids <= o.context then
    script.fail("%s has %d tokens to train on, --context %d needs more", o.data,
      #ids, o.context)
  end
  return ids
end

-- A text to measure on: `ids`, and the number of `bytes` that they spell.
local function encode_test(o, tokenizer, content)
  local ids <const> = encode(o, tokenizer, content)
  if #ids < 2 then
    script.fail("the text to measure on must have 2 tokens at least, got %d",
      #ids)
  end
  local bytes <const> = count_bytes(tokenizer, ids)
  if bytes < #content then
    print(("the tokens spell %d of %d bytes: all white space between words is "
      .. "one space"):format(bytes, #content))
  end
  return {ids = ids, bytes = bytes}
end

-- Pieces of a text, n tokens each from `starts` [B]: a tensor [B n].
local function pieces(flat, starts, n)
  local places <const> = starts:unsqueeze(2) + heed.arange(0, n - 1) -- [B n]
  return flat[places]
end

-- Batches [B context + 1] from places drawn by chance.
local function draw_batches(o, flat, n)
  local batches = {}
  for i = 1, n do
    batches[i] = pieces(flat, heed.randint(1, #flat - o.context, {o.batch}),
      o.context + 1)
  end
  return batches
end

-- The whole text in batches [B context + 1]: each token but the first is what
-- comes next exactly once. What is left behind full pieces is a batch of one.
local function cut_batches(o, ids)
  local flat <const>, batches = heed.tensor(ids, INTS), {}
  local full <const> = (#ids - 1) // o.context
  for first = 1, full, o.batch do
    local last <const> = math.min(first + o.batch - 1, full)
    local starts <const> = (heed.arange(first, last) - 1) * o.context + 1
    batches[#batches + 1] = pieces(flat, starts, o.context + 1)
  end
  local start <const> = full * o.context + 1
  if start < #ids then
    batches[#batches + 1] = flat[{{start, #ids}}]:unsqueeze(1)
  end
  return batches
end

-- -- what counting can do -----------------------------------------------------

-- The loss of a text under counts of another: of single tokens, and of pairs.
-- Each count is mixed with a little of what is known without it:
--     p1(b)     = (n(b) + 1) / (N + V)
--     p2(b | a) = (n(a b) + 5 p1(b)) / (n(a) + 5)
local function count_loss(train, test, vocab)
  local n1, n2 = {}, {}
  for i, b in ipairs(train) do
    n1[b] = (n1[b] or 0) + 1
    local a <const> = train[i - 1]
    if a then
      n2[a] = n2[a] or {}
      n2[a][b] = (n2[a][b] or 0) + 1
    end
  end
  local single, pair = 0.0, 0.0
  for i = 2, #test do
    local a <const>, b <const> = test[i - 1], test[i]
    local p1 <const> = ((n1[b] or 0) + 1) / (#train + vocab)
    local p2 <const> = ((n2[a] and n2[a][b] or 0) + 5 * p1)
      / ((n1[a] or 0) + 5)
    single, pair = single - math.log(p1), pair - math.log(p2)
  end
  return single / (#test - 1), pair / (#test - 1)
end

-- -- training and measuring ---------------------------------------------------

local function make_model(o, vocab)
  -- rotary positions say how far two tokens are from each other, so that the
  -- text that it writes may be longer than what it was trained on
  return nn.GPT(vocab, {d_model = o.d_model, nhead = o.heads,
    num_layers = o.layers, dropout = o.dropout, position = "rotary"})
end

-- ids [B T + 1] -> the scores of all but the first [B * T V], and these.
local function guess(model, ids)
  local scores <const> = model(ids:slice(2, 1, -2)) -- [B T V]
  return scores:flatten(1, 2), ids:slice(2, 2, -1):flatten()
end

local function measure(model, batches)
  local _ <close> = heed.no_grad()
  local perplexity <const> = metrics.Perplexity()
  model:eval()
  for _, ids in ipairs(batches) do perplexity:update(guess(model, ids)) end
  return math.log(perplexity:compute())
end

local function train(o, model, ids, batches)
  local flat <const> = heed.tensor(ids, INTS)
  local decayed, others = {}, {}
  for _, p in ipairs(model:parameters()) do
    table.insert(p.ndim > 1 and decayed or others, p)
  end
  local optimizer <const> = optim.AdamW({
    {params = decayed, weight_decay = 0.1}, {params = others,
      weight_decay = 0.0}}, {lr = o.lr, betas = {0.9, 0.99}})
  local warmup <const> = math.min(o.steps // 10, 100)
  local start <const> = heed.core.time()
  local run = heed.train.fit {
    model = model, optimizer = optimizer, valid = batches, clip_norm = 1.0,
    schedule = optim.WarmupLinearLR(optimizer, warmup, o.steps),
    -- an epoch is what lies between two measurements
    epochs = -(-o.steps // o.every), progress = io.stdout,
    data = function(epoch)
      return draw_batches(o, flat,
        math.min(o.every, o.steps - (epoch - 1) * o.every))
    end,
    loss = function(_, batch)
      local scores, wanted = guess(model, batch)
      return F.cross_entropy(scores, wanted), {count = #wanted}
    end,
  }
  local seconds <const> = heed.core.time() - start
  print(("trained on %d tokens in %.1f s"):format(
    o.steps * o.batch * o.context, seconds))
  return run
end

-- losses: a list of {name, loss of a token}.
local function print_table(o, test, vocab, losses)
  print(("\n%d tokens, %d bytes that were not trained on:"):format(#test.ids,
    test.bytes))
  print(("%-28s %6s %10s %13s"):format("", "loss", "perplexity",
    "bits per byte"))
  for _, line in ipairs(losses) do
    print(("%-28s %6.3f %10.2f %13.3f"):format(line[1], line[2],
      math.exp(line[2]), line[2] * #test.ids / test.bytes / math.log(2)))
  end
  if o.tokens == "characters" and vocab > 256 then
    print(("(%d characters, and 256 bytes for those that are none of them)")
      :format(vocab - 260))
  end
end

local function draw_losses(o, first, history)
  local seen = {x = {}, y = {}, label = "trained on"}
  local unseen = {x = {0}, y = {first}, label = "not trained on"}
  for _, record in ipairs(history) do
    table.insert(seen.x, record.step)
    table.insert(seen.y, record.loss)
    table.insert(unseen.x, record.step)
    table.insert(unseen.y, record.valid.loss)
  end
  local file <const> = o.path "language_model-training.png"
  plot.lines({seen, unseen}, {file = file, xlabel = "step",
    ylabel = "loss (nats per token)", title = "Guessing the next token"})
  print("written: " .. file)
end

local function read_corpus(o)
  local train_text <const> = read_text(o.data)
  if o.test then return train_text, read_text(o.test) end
  return split(train_text)
end

-- Trains a model and says how good it is.
local function make(o)
  local train_text <const>, test_text <const> = read_corpus(o)
  local tokenizer <const> = make_tokenizer(o, train_text)
  local ids <const> = encode_train(o, tokenizer, train_text)
  local test <const> = encode_test(o, tokenizer, test_text)
  local vocab <const> = #tokenizer
  local model <const> = make_model(o, vocab)
  print(("%s: %d tokens, vocabulary of %d; %d parameters"):format(o.data, #ids,
    vocab, model:num_parameters()))

  local batches <const> = cut_batches(o, test.ids)
  local before <const> = measure(model, batches)
  local run <const> = train(o, model, ids, batches)
  local single <const>, pair <const> = count_loss(ids, test.ids, vocab)
  -- a check: the first loss is ln V, and a model that knows nothing has it too
  print_table(o, test, vocab, {
    {"all tokens as probable", math.log(vocab)},
    {"the model before training", before},
    {"counts of tokens", single},
    {"counts of pairs of tokens", pair},
    {"the model", run.history[#run.history].valid.loss},
  })
  draw_losses(o, before, run.history)
  return model, tokenizer
end

-- -- files --------------------------------------------------------------------

local FORMAT <const> = "heed.language_model.1"
local KEPT <const> = {"tokens", "context", "d_model", "heads", "layers"}
local CLASS <const> = {characters = text.Characters, bpe = text.BPE}

local function save(o, model, tokenizer)
  local config = {}
  for _, name in ipairs(KEPT) do config[name] = o[name] end
  heed.save_safetensors(o.save, model:state_dict(), {
    format = FORMAT, config = cjson.encode(config),
    tokenizer = cjson.encode(tokenizer:to_table()),
  })
  print("saved: " .. o.save)
end

-- Reads what `save` wrote; its sizes go to the options.
local function load(o)
  local tensors <const>, metadata <const> = heed.load_safetensors(o.load)
  if metadata.format ~= FORMAT then
    script.fail("%s is no language model: its format is %s, not %s", o.load,
      metadata.format or "missing", FORMAT)
  end
  local config <const> = cjson.decode(metadata.config)
  for _, name in ipairs(KEPT) do
    o[name] = math.tointeger(config[name]) or config[name]
  end
  local tokenizer <const> =
    CLASS[o.tokens].from_table(cjson.decode(metadata.tokenizer))
  local model <const> = make_model(o, #tokenizer)
  model:load_state_dict(tensors)
  if o.test then
    local test <const> = encode_test(o, tokenizer, read_text(o.test))
    print_table(o, test, #tokenizer,
      {{"the model", measure(model, cut_batches(o, test.ids))}})
  end
  return model, tokenizer
end

-- -- writing ------------------------------------------------------------------

-- Writes to the terminal, each token as soon as it is drawn; returns all ids.
local function write(o, model, tokenizer)
  local prompt <const> = o.prompt or "\n"
  local ids <const> = encode(o, tokenizer, prompt)
  if #ids == 0 then
    script.fail("--prompt must hold a word, got %q", prompt)
  end
  print "\nIt writes:"
  local spell <const> = speller(tokenizer)
  for _, id in ipairs(ids) do io.write(spell(id)) end
  local all <const> = model:generate(heed.tensor({ids}, INTS), {
    max_new_tokens = o.length, temperature = o.temperature, top_k = o.top_k,
    top_p = o.top_p, window = o.context,
    on_token = function(new) -- [1 1]
      io.write(spell(new:item()))
      io.flush()
    end,
  })
  print()
  return all -- [1 T]
end

-- Tokens as axes show them.
local function labels_of(tokenizer, ids)
  local labels = {}
  for i, id in ipairs(ids) do
    local token = tokenizer:token(id)
    if id == tokenizer.eos or token == "\n" then token = "\u{21B5}" end
    labels[i] = token == " " and "\u{2423}" or token
  end
  return labels
end

local DRAWN <const> = 20

-- What each token of the start of the text attended to, in each layer: the mean
-- of its heads.
local function draw_attention(o, model, tokenizer, all)
  local n <const> = math.min(DRAWN, all:size(2), o.context)
  local ids <const> = all[{{}, {1, n}}]
  local _ <close> = heed.no_grad()
  model:eval()
  model(ids, {need_weights = true})
  local maps, titles = {}, {}
  for i = 1, #model.layers do
    maps[i] = model.layers[i].self_attn.attention_weights[1] -- [T T]
    titles[i] = "layer " .. i
  end
  local labels <const> = labels_of(tokenizer, ids[1]:totable())
  local file <const> = o.path "language_model-attention.png"
  plot.heatmaps(heed.stack(maps), {file = file, titles = titles, vmin = 0,
    xlabel = "attended to", ylabel = "token", row_labels = labels,
    col_labels = labels})
  print("written: " .. file)
end

script.run("language_model", function()
  local o <const> = settings()
  local model, tokenizer
  if o.load then
    model, tokenizer = load(o)
  else
    model, tokenizer = make(o)
  end
  if o.save then save(o, model, tokenizer) end
  local all <const> = write(o, model, tokenizer)
  draw_attention(o, model, tokenizer, all)
end)
