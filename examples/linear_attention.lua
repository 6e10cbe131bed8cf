#!/usr/bin/env heed
--[[
Linear attention: attention without the T x T matrix. What does it save, and
what does it cost?

Softmax attention weighs every value by every query, T x T weights:

    y_i = sum_j e^(q_i . k_j) v_j / sum_j e^(q_i . k_j)

If e^(q . k) is replaced by phi(q) . phi(k), for a function phi of one vector
that is never negative, then phi(q_i) can be taken out of the sums:

    y_i = phi(q_i) (sum_j phi(k_j) v_j^T) / (phi(q_i) . sum_j phi(k_j))

What is left in the brackets, [D D] and [D], is the same for all queries: it is
made once, and time grows as T instead of T^2 (Katharopoulos et al., 2020;
phi(x) = elu(x) + 1). Memory grows as T^2 only where softmax attention makes its
weights: fused attention never holds them all, and what is left to save is time.
The shortest form has no phi and divides by nothing:

    y = (x W^T + b) (x^T x)

Try:
    heed examples/linear_attention.lua
    heed examples/linear_attention.lua --longest 16384
    heed examples/linear_attention.lua --causal
]]

local heed = require "heed"
local nn, plot, script = heed.nn, heed.plot, heed.script
local F <const> = nn.functional

local NAME <const> = "linear_attention"
local MB <const> = 2 ^ 20

local function read_arguments()
  local parser <const> = script.parser(NAME, "Shows what linear attention "
    .. "computes, and measures its time and memory beside softmax attention.",
    {out = "."})
  parser:whole("--batch", "sequences of the first part", 32, 1)
  parser:whole("--length", "their length", 1000, 1)
  parser:whole("--width", "width of a vector in all parts", 256, 1)
  parser:whole("--heads", "heads that are measured", 4, 1)
  parser:whole("--longest", "longest sequence that is measured", 4096, 16)
  parser:whole("--rounds", "times that everything is measured; the least "
    .. "time counts", 3, 1)
  parser:whole("--memory", "MB that attention may take; longer sequences are "
    .. "left out", 600, 1)
  parser:flag("--causal", "measure with each position seeing only those up to "
    .. "itself")
  local o <const> = script.start(parser)
  -- more threads would wait for each other, which counts as processor time
  if not o.threads then heed.set_num_threads(1) end
  if o.width % o.heads ~= 0 then
    script.fail("--width must be a multiple of --heads, got %d and %d",
      o.width, o.heads)
  end
  return o
end

-- -- the shortest form --------------------------------------------------------

-- Runs f; returns its seconds of processor time, in which what other programs
-- do meanwhile does not count, and its first result.
local function time(f, ...)
  local start <const> = os.clock()
  local result <const> = f(...)
  return os.clock() - start, result
end

-- The largest difference, as a part of the largest number.
local function difference(a, b)
  return ((a - b):abs():max() / b:abs():max()):item()
end

local function show_shortest_form(o)
  local layer <const> = nn.LinearAttention(o.width, {plain = true})
  local x <const> = heed.randn(o.batch, o.length, o.width) -- [B T E]
  local linear <const>, y <const> = time(layer, x)         -- [B T E]
  print(("y = (x W^T + b) (x^T x) of x [%s] is [%s] and begins with"):format(
    table.concat(x.shape, " "), table.concat(y.shape, " ")))
  print(y[{1, {1, math.min(4, o.length)}, {1, math.min(6, o.width)}}])

  -- The same product from the other end: all pairs of positions first.
  local pairs_first <const>, z <const> = time(function()
    local scores <const> = layer.projection(x):matmul(x:transpose()) -- [B T T]
    return scores:matmul(x)
  end)
  print(("(x^T x) first: %.0f ms. (x W^T + b) x^T first: %.0f ms, and the same "
    .. "but for\nrounding: the largest difference is %.0e of the largest "
    .. "number.\n"):format(1e3 * linear, 1e3 * pairs_first, difference(z, y)))
end

-- -- a check with a known answer ----------------------------------------------

local function phi(x) return F.elu(x) + 1 end

-- The formula with all its weights, in float64 and in quadratic time.
local function by_definition(q, k, v, causal)
  local w = phi(q):matmul(phi(k):transpose()) -- [T T], phi(q_i) . phi(k_j)
  if causal then w = w:tril() end
  return (w / w:sum(-1, true)):matmul(v)      -- [T D]
end

local function check_formula()
  local double <const> = {dtype = "float64"}
  local q <const>, k <const>, v <const> = heed.randn({50, 8}, double),
    heed.randn({50, 8}, double), heed.randn({50, 8}, double)
  for _, causal in ipairs {false, true} do
    local far <const> = difference(F.linear_attention(q, k, v,
      {causal = causal, eps = 0}), by_definition(q, k, v, causal))
    assert(far < 1e-12, "F.linear_attention is not what the formula says")
    print(("F.linear_attention%s is within %.0e of the formula")
      :format(causal and ", causal," or "", far))
  end
end

-- -- time and memory ----------------------------------------------------------

-- Three ways to attend. `pairs` counts the [T T] matrices that one holds.
local WAYS <const> = {
  {name = "softmax, weights made", pairs = 2,
    run = function(q, k, v, causal)
      return (F.scaled_dot_product_attention(q, k, v,
        {causal = causal, need_weights = true}))
    end},
  {name = "softmax, fused", pairs = 0,
    run = function(q, k, v, causal)
      return F.scaled_dot_product_attention(q, k, v, {causal = causal})
    end},
  {name = "linear", pairs = 0,
    run = function(q, k, v, causal)
      return F.linear_attention(q, k, v, {causal = causal})
    end},
}

local PASSES <const> = {"forward", "forward and backward"}

-- One pass of one way over inputs of T positions, as a function.
local function make_run(way, pass, q, k, v, causal)
  if pass == "forward" then
    return function() return heed.no_grad(way.run, q, k, v, causal) end
  end
  local upstream <const> = heed.ones_like(v)
  return function()
    for _, x in ipairs {q, k, v} do x.grad = nil end
    way.run(q, k, v, causal):backward(upstream)
  end
end

local SHORTEST <const> = 0.05 -- seconds that a cell takes in a round at least

-- Keeps in a cell the least time of all runs, since a busy machine can only
-- make them longer, and the bytes that one needs besides its inputs.
local function measure_cell(cell, run)
  collectgarbage() -- so that nothing of earlier runs is given back meanwhile
  heed.memory_reset_peak()
  local before <const> = heed.memory_stats().used
  local spent = time(run)
  cell.bytes = heed.memory_stats().peak - before
  cell.seconds = math.min(cell.seconds or math.huge, spent)
  while spent < SHORTEST do
    local seconds <const> = time(run)
    cell.seconds, spent = math.min(cell.seconds, seconds), spent + seconds
  end
end

-- Lengths, doubled up to the longest.
local function lengths(longest)
  local list = {}
  while longest >= 16 and #list < 6 do
    table.insert(list, 1, longest)
    longest = longest // 2
  end
  return list
end

-- Every way, pass and length once a round, so that a bad moment of the machine
-- does not fall on one of them alone. Returns cells by pass, way and length.
local function measure(o)
  local cells = {}
  for _, pass in ipairs(PASSES) do
    cells[pass] = {}
    for w in ipairs(WAYS) do cells[pass][w] = {} end
  end
  local bar <close> = heed.progress.new {total = o.rounds * #o.lengths,
    title = "measuring", file = io.stdout}
  local done = 0
  for _ = 1, o.rounds do
    for _, t in ipairs(o.lengths) do
      local shape <const> = {1, o.heads, t, o.width // o.heads}
      local inputs = {} -- q, k and v [1 H T D]
      for i = 1, 3 do
        inputs[i] = heed.randn(shape, {requires_grad = true})
      end
      for _, pass in ipairs(PASSES) do
        for w, way in ipairs(WAYS) do
          if way.pairs * o.heads * t * t * 4 <= o.memory * MB then
            local cell <const> = cells[pass][w][t] or {}
            cells[pass][w][t] = cell
            measure_cell(cell, make_run(way, pass, inputs[1], inputs[2],
              inputs[3], o.causal))
          end
        end
      end
      done = done + 1
      bar:update(done)
    end
  end
  bar:finish()
  return cells
end

-- The a of y = c t^a that fits best: the slope of a line through the points on
-- logarithmic axes, through the four longest: shorter ones have costs of their
-- own. nil with fewer than two points.
local function exponent(o, cells, what)
  local x, y = {}, {}
  for i = #o.lengths, 1, -1 do
    local cell <const> = cells[o.lengths[i]]
    if cell and #x < 4 then
      x[#x + 1], y[#y + 1] = math.log(o.lengths[i]), math.log(cell[what])
    end
  end
  if #x < 2 then return nil end
  local double <const> = {dtype = "float64"}
  local u <const>, v <const> = heed.tensor(x, double), heed.tensor(y, double)
  local du <const> = u - u:mean()
  return ((du * (v - v:mean())):sum() / du:square():sum()):item()
end

-- What is printed of a cell, and how.
local COLUMNS <const> = {
  {what = "seconds", title = "ms of processor time", scale = 1e3},
  {what = "bytes", title = "MB besides the inputs", scale = 1 / MB},
}

-- One row of the table: a first column and two groups of three, right-aligned.
local function print_row(first, values)
  io.write(("%-10s"):format(first))
  for i, value in ipairs(values) do
    io.write(i == 4 and "   " or "", ("%10s"):format(value))
  end
  io.write("\n")
end

local function print_table(o, pass, ways)
  print(("\n%s%s, of q, k and v [1 %d T %d]"):format(pass,
    o.causal and ", causal" or "", o.heads, o.width // o.heads))
  print(("%-10s%30s   %30s"):format("", COLUMNS[1].title, COLUMNS[2].title))
  local names <const> = {"weights", "fused", "linear"}
  print_row("T", table.move(names, 1, 3, 4, table.move(names, 1, 3, 1, {})))
  for _, t in ipairs(o.lengths) do
    local row = {}
    for _, column in ipairs(COLUMNS) do
      for w in ipairs(WAYS) do
        local cell <const> = ways[w][t]
        row[#row + 1] = cell and ("%.2f"):format(cell[column.what]
          * column.scale) or "-"
      end
    end
    print_row(t, row)
  end
  local row = {}
  for _, column in ipairs(COLUMNS) do
    for w in ipairs(WAYS) do
      local a <const> = exponent(o, ways[w], column.what)
      row[#row + 1] = a and ("T^%.2f"):format(a) or "-"
    end
  end
  print_row("grows as", row)
end

-- From which length on linear attention is quicker, and how much in the end.
local function print_crossing(o, pass, ways)
  local from
  for i = #o.lengths, 1, -1 do
    local t <const> = o.lengths[i]
    if ways[2][t].seconds <= ways[3][t].seconds then break end
    from = t
  end
  local last <const> = o.lengths[#o.lengths]
  print(("%s: linear attention is %s;\nat T = %d it takes %.3f of the time of "
    .. "fused softmax attention"):format(pass, from and
    "quicker from T = " .. from .. " on" or "not quicker", last,
    ways[3][last].seconds / ways[2][last].seconds))
end

local function draw(o, cells, name, title, ylabel, column)
  local series = {}
  for _, pass in ipairs(PASSES) do
    for w, way in ipairs(WAYS) do
      local line = {x = {}, y = {}, label = way.name .. ", " .. pass}
      for _, t in ipairs(o.lengths) do
        local cell <const> = cells[pass][w][t]
        if cell then
          line.x[#line.x + 1] = t
          line.y[#line.y + 1] = cell[column.what] * column.scale
        end
      end
      series[#series + 1] = #line.x > 0 and line or nil
    end
  end
  local file <const> = o.path(NAME .. "-" .. name .. ".png")
  plot.lines(series, {xlog = true, ylog = true, title = title,
    xlabel = "length T of the sequence", ylabel = ylabel, file = file})
  print("written: " .. file)
end

-- -- what it costs ------------------------------------------------------------

local KEYS <const>, SIZE <const> = 16, 64

-- Looking something up: query i is key i, and should get value i alone.
local function show_sharpness(o)
  local k <const> = F.normalize(heed.randn(1, 1, KEYS, SIZE)) * 8 -- [1 1 T D]
  local _, soft = F.scaled_dot_product_attention(k, k, k,
    {need_weights = true})                                   -- [1 1 T T]
  -- The values of the identity come out as the weights.
  local one <const> = heed.eye(KEYS):view(1, 1, KEYS, KEYS)
  local linear <const> = F.linear_attention(k, k, one)       -- [1 1 T T]
  local function own(w) return w[1][1]:diagonal():mean():item() end
  print(("\nEach of %d queries is one of the keys. That key's weight, of 1 in "
    .. "all:\nsoftmax %.2f, linear %.2f: phi(q) . phi(k) tells keys apart less "
    .. "than\ne^(q . k) does."):format(KEYS, own(soft), own(linear)))
  local file <const> = o.path(NAME .. "-weights.png")
  plot.heatmaps({{soft[1][1], linear[1][1]}}, {titles = {"softmax", "linear"},
    title = "Weights of queries that equal the keys", xlabel = "keys",
    ylabel = "queries", vmin = 0, vmax = 1, cmap = "Reds", file = file})
  print("written: " .. file)
end

-- -- all together -------------------------------------------------------------

script.run(NAME, function()
  local o <const> = read_arguments()
  heed.no_grad(show_shortest_form, o)
  check_formula()
  show_sharpness(o)
  print()
  o.lengths = lengths(o.longest)
  local cells <const> = measure(o)
  for _, pass in ipairs(PASSES) do print_table(o, pass, cells[pass]) end
  print()
  for _, pass in ipairs(PASSES) do print_crossing(o, pass, cells[pass]) end
  draw(o, cells, "time", "Time of attention", "milliseconds of processor time",
    COLUMNS[1])
  draw(o, cells, "memory", "Memory of attention, besides its inputs",
    "MB", COLUMNS[2])
end)

--[[
What to try next: `--causal`, where linear attention is a recurrence over t;
nn.LinearAttention(width, heads) in place of nn.MultiHeadAttention in a model of
your own, and what that does to its loss; `feature`, a phi of your own, such as
function(x) return x:square() end.
]]
