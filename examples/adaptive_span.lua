#!/usr/bin/env heed
--[[
Adaptive spans: how far back does a head of attention have to look?

Most heads look at what is near, some at what is far. Here every head learns a
span z of its own (Sukhbaatar et al., 2019). A soft mask of the distance between
query and key fades over a ramp of R keys behind the span,

    m(distance) = clamp((R + z - distance) / R, 0, 1)
    weights     = m e^scores / sum of m e^scores

so that z has a gradient, and a penalty lets heads look no further than it pays:

    loss = cross-entropy + penalty * mean of the spans

Does that find the spans that are needed? They are known in a task made for it:
sequences of random tokens, of which the tokens 3, 10 and 24 places back are to
be named at every place. Nothing but the token at that distance helps.

Try:
    heed examples/adaptive_span.lua
    heed examples/adaptive_span.lua --distances 2,20 --heads 2
    heed examples/adaptive_span.lua --penalty 0
]]

local heed = require "heed"
local nn, plot, script = heed.nn, heed.plot, heed.script
local F <const> = nn.functional

local NAME <const> = "adaptive_span"
local TOKENS <const>, WIDTH <const>, BATCH <const> = 16, 64, 32

-- "3,10,24" as a list of numbers.
local function read_distances(o)
  local list, most <const> = {}, o.max_span + o.ramp - 1
  for word in (o.distances .. ","):gmatch "([^,]*)," do
    local d <const> = math.tointeger(tonumber(word))
    if not d or d < 1 then
      script.fail("--distances must be whole numbers of at least 1, with "
        .. "commas between them, got %s", o.distances)
    elseif d > most then
      script.fail("--distances: %d is out of sight: --max-span %d and --ramp "
        .. "%d reach %d places back", d, o.max_span, o.ramp, most)
    elseif d >= o.length then
      script.fail("--distances: %d leads out of sequences of --length %d", d,
        o.length)
    end
    list[#list + 1] = d
  end
  return list
end

local function read_arguments()
  local parser <const> = script.parser(NAME, "Trains attention whose heads "
    .. "learn how far to look back, on a task whose answer is known.",
    {out = "."})
  parser:option("--distances", "how far back the tokens stand that are to be "
    .. "named", "3,10,24"):argname "N,N"
  parser:whole("--heads", "heads of attention", 4, 1)
  parser:whole("--max-span", "longest span that a head can have", 32, 1)
  parser:whole("--ramp", "keys behind the span over which sight fades", 4, 1)
  parser:number("--penalty", "weight of the spans in the loss", 0.01, 0)
  parser:number("--settled", "loss of the task below which spans become "
    .. "free and the penalty begins",
    0.1, 0)
  parser:whole("--steps", "steps of training", 700, 1)
  parser:number("--lr", "learning rate", 5e-3, 0)
  parser:whole("--length", "tokens of a sequence", 48, 2)
  parser:whole("--long", "tokens of the sequence whose cost is measured", 2048,
    1)
  local o <const> = script.start(parser)
  -- more threads would wait for each other, which counts as processor time
  if not o.threads then heed.set_num_threads(1) end
  if WIDTH % o.heads ~= 0 then
    script.fail("--heads must divide %d, the width of the model, got %d", WIDTH,
      o.heads)
  end
  o.distances = read_distances(o)
  return o
end

-- -- the shortest form --------------------------------------------------------

-- x is query, key and value at once, and a vector of 512 numbers says how much
-- the scores of each place count: softmax(sigmoid(span) * x x^T / sqrt(E)) x.
local function show_shortest_form()
  local layer <const> = nn.AdaptiveSpanAttention(256,
    {plain = true, max_span = 512})
  local x <const> = heed.randn(32, 100, 256) -- [B T E]
  local y <const> = layer(x)                 -- [B T E]
  print(("The shortest form of x [%s] is [%s] and begins with"):format(
    table.concat(x.shape, " "), table.concat(y.shape, " ")))
  print(y[{1, {1, 4}, {1, 6}}])
  -- The first place sees only itself, so it stays what it is.
  assert(F.mse_loss(y[{{}, 1}], x[{{}, 1}]):item() < 1e-10)
end

-- -- the task -----------------------------------------------------------------

-- Tokens by chance, [B T], and what is to be named at each place: the tokens
-- that far back, [B T N]; -1, which the loss ignores, where there is none.
local IGNORED <const> = -1

local function make_batch(o)
  local ids <const> = heed.randint(1, TOKENS, {BATCH, o.length})
  local targets = {}
  for i, d in ipairs(o.distances) do
    targets[i] = F.pad(ids:slice(2, 1, -1 - d), {d, 0}, {value = IGNORED})
  end
  return ids, heed.stack(targets, -1)
end

-- A token's embedding, plus where it stands; one layer of attention; and from
-- its result a score of every token for each distance.
local Namer <const> = nn.Module:extend "Namer"

function Namer:init(o)
  self.distances = #o.distances
  self.embed = nn.Embedding(TOKENS, WIDTH)
  self.place = nn.PositionalEncoding(WIDTH, {max_length = o.length})
  -- Heads begin with all in sight: what they cannot see they cannot learn from.
  self.attend = nn.AdaptiveSpanAttention(WIDTH, o.heads,
    {max_span = o.max_span, ramp = o.ramp, init_span = 1.0})
  self.head = nn.Linear(WIDTH, #o.distances * TOKENS)
end

function Namer:forward(ids, options)
  local x <const> = self.place(self.embed(ids))    -- [B T E]
  local y <const>, weights = self.attend(x, options)
  local scores <const> = self.head(y)              -- [B T N * V]
  return scores:unflatten(-1, {self.distances, TOKENS}), weights -- [B T N V]
end

-- -- training -----------------------------------------------------------------

-- The mean of the losses of all distances. A mean over all targets would count
-- far tokens less, since fewer places have one.
local function naming_loss(scores, targets) -- [B T N V], [B T N]
  local n <const>, total = targets:size(3), 0
  for i = 1, n do
    total = total + F.cross_entropy(scores:select(3, i):flatten(1, 2),
      targets:select(3, i):flatten(), {ignore_index = IGNORED})
  end
  return total / n
end

-- Returns the model and what happened: lists of the step, the loss of the task
-- and the spans [H], every few steps; and the step at which the penalty began.
local function train(o)
  local model <const> = Namer(o)
  local log <const> = {step = {}, loss = {}, spans = {}}
  local optimizer <const> = heed.optim.AdamW(model:parameters(),
    {lr = o.lr, weight_decay = 0})
  local step, task, settled = 0, nil, nil
  -- A head that shrinks before it has found something far away cannot find it
  -- any more: all stays in sight until the task is learned.
  model.attend.span:requires_grad_(false)
  heed.train.fit {
    model = model, optimizer = optimizer, epochs = 1, progress = io.stdout,
    data = function()
      return function()
        step = step + 1
        if step <= o.steps then return make_batch(o) end
      end
    end,
    loss = function(_, ids, targets)
      task = naming_loss(model(ids), targets)
      if not settled and task:item() < o.settled then
        settled = step
        model.attend.span:requires_grad_(true)
      end
      if not settled then return task end
      return task + o.penalty * model.attend:span_loss()
    end,
    on_step = function(run)
      model.attend:clamp_span()
      if run.step % 10 ~= 0 then return end
      table.insert(log.step, run.step)
      table.insert(log.loss, task:item())
      table.insert(log.spans, model.attend:spans():totable())
    end,
  }
  model:eval()
  log.settled = settled
  return model, log
end

-- -- what was learned ---------------------------------------------------------

-- The part of the tokens, at each distance, that is named rightly.
local function accuracies(o, model)
  local ids <const>, targets <const> = make_batch(o)
  local scores <const> = model(ids)              -- [B T N V]
  local list = {}
  for i, d in ipairs(o.distances) do
    local there <const> = {{}, {d + 1, -1}, i}
    list[i] = heed.metrics.accuracy(scores[there]:flatten(1, 2),
      targets[there]:flatten())
  end
  return list
end

-- Of each head: its span; the last distance that it sees, where m is above 0;
-- the distance of the task that it attends to most, 0 for none; its weight.
local function describe_heads(o, model, weights) -- [B H T T]
  local heads = {}
  for h, span in ipairs(model.attend:spans():totable()) do
    local head = {span = span, sight = math.ceil(span + o.ramp) - 1,
      wanted = 0, weight = 0.1}
    for _, d in ipairs(o.distances) do
      -- the weights of keys d places back
      local w <const> = weights[{{}, h}]:diagonal(-d, -2, -1):mean():item()
      if w > head.weight then head.wanted, head.weight = d, w end
    end
    heads[h] = head
  end
  return heads
end

local function print_heads(heads)
  print "\nhead   span   sees back to   attends to   with weight"
  for h, head in ipairs(heads) do
    local at <const> = head.wanted > 0
    print(("%4d  %5.1f  %13d  %11s  %12s"):format(h, head.span, head.sight,
      at and head.wanted or "nothing", at and ("%.2f"):format(head.weight)
      or "-"))
  end
end

-- The answer that is known: for each distance, some head attends to it and sees
-- it, and no head sees further than it needs to.
local function check_heads(o, heads)
  local far, found = 0, {}
  for _, head in ipairs(heads) do
    far = math.max(far, head.sight)
    if head.sight >= head.wanted then found[head.wanted] = true end
  end
  local missing = {}
  for _, d in ipairs(o.distances) do
    if not found[d] then missing[#missing + 1] = d end
  end
  print(("the farthest sight is %d, the farthest token that is asked for %d "
    .. "places back%s"):format(far, math.max(table.unpack(o.distances)),
    #missing == 0 and "" or "; no head attends to "
    .. table.concat(missing, ", ")))
end

local function draw(o, log, heads, weights)
  local names, bars, spans, maps = {}, {}, {}, {}
  for h, head in ipairs(heads) do
    names[h] = "head " .. h
    bars[h] = {head.wanted, head.sight}
    spans[h] = {x = log.step, y = {}, label = names[h]}
    for i, list in ipairs(log.spans) do spans[h].y[i] = list[h] end
    maps[h] = weights[1][h]
  end
  local function write(what, kind, values, options)
    options.file = o.path(("%s-%s.png"):format(NAME, what))
    plot[kind](values, options)
    print("written: " .. options.file)
  end
  if #log.step > 0 then
    write("loss", "lines", {x = log.step, y = log.loss}, {ylog = true,
      xlabel = "step", ylabel = "cross-entropy",
      title = "Loss of naming earlier tokens"})
    write("spans", "lines", spans, {xlabel = "step", ylabel = "span in tokens",
      title = log.settled and ("Spans as they are learned, with the penalty "
        .. "from step %d on"):format(log.settled) or
        "Spans, which are free once the task is learned"})
  end
  write("sight", "bars", bars, {labels = names,
    groups = {"needed", "learned"}, ylabel = "places back",
    title = "How far each head has to see, and does"})
  write("heads", "heatmaps", maps, {titles = names, row_labels = false,
    col_labels = false, xlabel = "keys", ylabel = "queries", vmin = 0,
    cmap = "Reds", title = "Weights of each head", columns = 2})
end

-- -- what it saves ------------------------------------------------------------

-- The least processor time of some runs, in which what other programs do does
-- not count, in ms; and the memory of one besides its inputs, in MB.
local function cost(f, ...)
  collectgarbage() -- so that nothing of earlier runs is given back meanwhile
  heed.memory_reset_peak()
  local before <const> = heed.memory_stats().used
  local least, peak = math.huge, nil
  for _ = 1, 5 do
    local start <const> = os.clock()
    f(...)
    least = math.min(least, os.clock() - start)
    peak = peak or heed.memory_stats().peak
  end
  return 1e3 * least, (peak - before) / 2 ^ 20
end

local function show_cost(o, model)
  local layer <const> = model.attend
  local x <const> = heed.randn(1, o.long, WIDTH)
  print(("\nOne pass over %d tokens:"):format(o.long))
  for _, way in ipairs {
    {"learned spans", layer},
    {"every key before", layer.attention, {causal = true}},
  } do
    print(("%-17s %7.2f ms of processor time, %6.2f MB"):format(way[1],
      cost(way[2], x, way[3])))
  end
end

-- -- all together -------------------------------------------------------------

script.run(NAME, function()
  local o <const> = read_arguments()
  heed.no_grad(show_shortest_form)
  print()
  local model <const>, log <const> = train(o)
  print(log.settled and ("the penalty began at step %d, when the loss of the "
    .. "task was below %g"):format(log.settled, o.settled) or
    ("the loss of the task never was below %g, where the penalty begins")
    :format(o.settled))
  local _ <close> = heed.no_grad()
  for i, accuracy in ipairs(accuracies(o, model)) do
    print(("%d back: %.1f %% named rightly (%.1f %% by chance)"):format(
      o.distances[i], 100 * accuracy, 100 / TOKENS))
  end
  local _, weights <const> = model(make_batch(o), {need_weights = true})
  local heads <const> = describe_heads(o, model, weights)
  print_heads(heads)
  check_heads(o, heads)
  show_cost(o, model)
  print()
  draw(o, log, heads, weights)
end)

--[[
What to try next: `--penalty 0`, with which heads see further than they need;
`--settled 9`, where heads shrink before they have found what is far away; a
long `--ramp`, which shortens spans, since keys on it still count.
]]
