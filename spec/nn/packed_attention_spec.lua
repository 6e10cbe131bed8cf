-- Packed sequences against attention over each sequence alone, whose loops
-- other specs hold to the formula.

local heed = require "heed"
local message = require "spec.support.message"
local nn = require "heed.nn"
local F = nn.functional
local compare_all = dofile "spec/nn/near.lua"
local attend <const> = F.scaled_dot_product_attention

-- Raises for tensors that differ by more than `limit`; quick for those that do
-- not.
local function near(got, want, limit)
  if heed.is_tensor(want) and table.concat(got.shape, " ") ==
     table.concat(want.shape, " ") then
    if want:numel() == 0 then return end
    if (got - want):abs():max():item() <= (limit or 1e-5) then return end
  end
  compare_all(got, want, limit)
end

-- -- random calls ------------------------------------------------------------

-- A number of low .. high.
local function draw(g, low, high)
  return heed.randint(low, high, {1}, {generator = g}):item()
end

local function chance(g, percent) return draw(g, 1, 100) <= percent end

local function copy(t)
  local leaf = t:detach():clone()
  leaf.requires_grad = true
  return leaf
end

-- Places `before` + 1 .. `before` + `count` of a dimension, or all when a size
-- of 1 serves for all; empty parts too.
local function part(t, dim, before, count)
  if t:size(dim) == 1 then return t end
  return t:narrow(dim, before + 1, count)
end

local function sum(lengths)
  local n = 0
  for _, length in ipairs(lengths) do n = n + length end
  return n
end

-- Lengths of sequences: of queries and of keys.
local function draw_lengths(g, n, longest)
  local queries, keys = {}, {}
  for i = 1, n do
    queries[i] = chance(g, 15) and 0 or draw(g, 1, longest)
    keys[i] = chance(g, 15) and 0 or draw(g, 1, longest)
  end
  if chance(g, 50) then keys = queries end
  return queries, keys
end

local function draw_valid(g, c, o)
  local lens = {}
  if chance(g, 50) and #c.queries ~= sum(c.queries) then
    for i, tq in ipairs(c.queries) do
      for _ = 1, tq do lens[#lens + 1] = draw(g, 0, c.keys[i]) end
    end
    lens = heed.tensor(lens, {dtype = "int64"})
    o.valid_lens = c.batch and lens:expand(c.batch, #lens) or lens
    c.by_query = true
    return
  end
  for i, tk in ipairs(c.keys) do lens[i] = draw(g, 0, tk) end
  o.valid_lens = lens
end

-- Sizes [.. heads Tq Tk] of a mask or bias, some of them made 1.
local function broadcast(g, c)
  local shape = {c.batch or nil}
  for _, n in ipairs {c.heads, sum(c.queries), sum(c.keys)} do
    shape[#shape + 1] = chance(g, 30) and 1 or n
  end
  return shape
end

-- A random description; c.leaves gets those that want gradients.
local function describe_call(g, c)
  local o = {}
  local random = {generator = g, dtype = c.dtype}
  if chance(g, 40) then
    o.causal = chance(g, 50) and "bottom-right" or "top-left"
  end
  if chance(g, 25) then o.window = {draw(g, 0, 4), draw(g, 0, 4)} end
  if chance(g, 25) then draw_valid(g, c, o) end
  if chance(g, 25) then
    o.mask = heed.rand(broadcast(g, c), random):lt(0.7)
  end
  if chance(g, 25) then
    o.key_mask = heed.rand({c.batch or 1, sum(c.keys)}, random):lt(0.8)
    if not c.batch then o.key_mask = o.key_mask[1] end
  end
  if chance(g, 30) then
    o.bias = copy(heed.randn(broadcast(g, c), random))
    c.leaves.bias = o.bias
  end
  if chance(g, 25) then o.alibi = true end
  if chance(g, 25) then o.softcap = 1.5 end
  if chance(g, 25) then o.scale = 0.4 end
  if chance(g, 25) then
    o.sinks = copy(heed.randn({c.heads}, random))
    c.leaves.sinks = o.sinks
  end
  return o
end

local function draw_call(seed, dtype, longest)
  local g = heed.Generator(seed)
  local c = {dtype = dtype, leaves = {}, seed = seed}
  c.queries, c.keys = draw_lengths(g, draw(g, 1, 5), longest)
  c.batch = chance(g, 40) and draw(g, 1, 2) or nil
  local kv_heads, d = draw(g, 1, 2), draw(g, 1, 20)
  c.heads = kv_heads * draw(g, 1, 2)
  local function leaf(heads, time, size)
    local shape = {c.batch or heads, heads, time, size}
    if not c.batch then table.remove(shape, 1) end
    return copy(heed.randn(shape, {generator = g, dtype = dtype}))
  end
  c.leaves.q = leaf(c.heads, sum(c.queries), d)
  c.leaves.k = leaf(kv_heads, sum(c.keys), d)
  c.leaves.v = leaf(kv_heads, sum(c.keys), draw(g, 1, 20))
  c.options = describe_call(g, c)
  return c
end

-- -- both ways ---------------------------------------------------------------

local function packed(c, more)
  local o = {cu_seqlens = F.cu_seqlens(c.queries)}
  if c.keys ~= c.queries then o.cu_seqlens_k = F.cu_seqlens(c.keys) end
  for name, value in pairs(c.options) do o[name] = value end
  for name, value in pairs(more or {}) do o[name] = value end
  return attend(c.leaves.q, c.leaves.k, c.leaves.v, o)
end

-- The options as they are for sequence i.
local function options_alone(c, i, query, tq, key, tk)
  local o = {}
  for name, value in pairs(c.options) do o[name] = value end
  for _, name in ipairs {"mask", "bias"} do
    if o[name] then
      o[name] = part(part(o[name], -2, query, tq), -1, key, tk)
    end
  end
  if o.key_mask then o.key_mask = part(o.key_mask, -1, key, tk) end
  if c.by_query then
    o.valid_lens = o.valid_lens:narrow(-1, query + 1, tq)
  elseif o.valid_lens then
    local n = o.valid_lens[i]
    o.valid_lens = heed.full(c.batch and {c.batch} or {}, n, {dtype = "int64"})
  end
  return o
end

local function alone(c, more)
  local outs, weights = {}, {}
  local query, key = 0, 0
  for i, tq in ipairs(c.queries) do
    local tk = c.keys[i]
    local o = options_alone(c, i, query, tq, key, tk)
    for name, value in pairs(more or {}) do o[name] = value end
    outs[i], weights[i] = attend(c.leaves.q:narrow(-2, query + 1, tq),
      c.leaves.k:narrow(-2, key + 1, tk), c.leaves.v:narrow(-2, key + 1, tk),
      o)
    query, key = query + tq, key + tk
  end
  return heed.cat(outs, -2), weights
end

-- A result and the gradients of all leaves.
local function differentiate(run, c, more)
  local out = run(c, more)
  local up = heed.randn(out.shape, {generator = heed.Generator(c.seed),
    dtype = c.dtype})
  if out.requires_grad then out:backward(up) end
  local all = {out = out}
  for name, leaf in pairs(c.leaves) do
    all[name] = leaf.grad or leaf:detach() * 0
    leaf.grad = nil
  end
  return all
end

-- What is summed over sequences or entries is summed in another order.
local function compare(got, want, c, limit)
  for name, value in pairs(want) do
    local summed = name == "bias" or name == "sinks"
    local ok, text = pcall(near, got[name], value, summed and 2e-5 or limit)
    assert(ok, ("call %d, %s: %s"):format(c.seed, name, text))
  end
end

local same <const> = function(s) return s end

describe("packed attention", function()
  it("is bit for bit that of each sequence alone, gradients too", function()
    for seed = 1, 120 do
      local c = draw_call(seed, seed % 2 == 0 and "float32" or "float64", 12)
      compare(differentiate(packed, c), differentiate(alone, c), c, 0)
    end
    for seed = 121, 140 do
      local c = draw_call(seed, "float32", 300)
      compare(differentiate(packed, c), differentiate(alone, c), c, 0)
    end
  end)

  it("is the same on the open path", function()
    for seed = 201, 260 do
      local c = draw_call(seed, "float64", 8)
      compare(differentiate(packed, c, {score = same}),
        differentiate(packed, c), c, 1e-10)
    end
  end)

  it("gives a few queries over many keys what they get alone", function()
    local c = draw_call(7, "float32", 4)
    c.queries, c.keys = {1, 2, 0, 1}, {1500, 30, 8, 2100}
    c.options = {causal = true}
    c.batch = nil
    local g = heed.Generator(3)
    c.leaves = {
      q = copy(heed.randn({4, 4, 16}, {generator = g})),
      k = copy(heed.randn({2, 3638, 16}, {generator = g})),
      v = copy(heed.randn({2, 3638, 16}, {generator = g})),
    }
    compare(differentiate(packed, c), differentiate(alone, c), c, 0)
  end)

  it("gives the same bits with any number of threads", function()
    local threads <const> = heed.get_num_threads()
    for seed = 301, 310 do
      local c = draw_call(seed, "float32", 400)
      heed.set_num_threads(1)
      local want = differentiate(packed, c)
      for _, n in ipairs {2, 3} do
        heed.set_num_threads(n)
        for name, value in pairs(differentiate(packed, c)) do
          near(value, want[name], 0)
        end
      end
    end
    heed.set_num_threads(threads)
  end)

  it("shows weights in blocks along the diagonal", function()
    for seed = 401, 440 do
      local c = draw_call(seed, "float64", 6)
      local out, w = packed(c, {need_weights = true})
      near(out, packed(c), 0)
      local _, blocks = alone(c, {need_weights = true})
      local query, key, shown = 0, 0, 0
      for i, tq in ipairs(c.queries) do
        local tk = c.keys[i]
        if tq > 0 and tk > 0 then
          near(w:slice(-2, query + 1, query + tq):slice(-1, key + 1, key + tk),
            blocks[i], 1e-12)
        end
        shown = shown + blocks[i]:sum():item()
        query, key = query + tq, key + tk
      end
      near(w:sum(), shown, 1e-9)
      assert.same(c.leaves.q:size(-2), w:size(-2))
      assert.same(c.leaves.k:size(-2), w:size(-1))
    end
  end)

  it("drops what it drops of a padded batch", function()
    local lengths <const> = {5, 0, 9, 3}
    local x = copy(heed.randn({4, 9, 6}))
    local keep = F.length_mask(lengths, 9)
    local y = x[keep]
    local o = {dropout = 0.4, causal = "top-left"}
    local function heads(t) return t:unflatten(-1, {2, 3}):transpose(-3, -2) end
    o.generator = heed.Generator(5)
    o.valid_lens = lengths
    local padded = attend(heads(x), heads(x), heads(x), o)
    o.generator = heed.Generator(5)
    o.valid_lens, o.cu_seqlens = nil, F.cu_seqlens(lengths)
    local got = attend(heads(y), heads(y), heads(y), o)
    local want = padded:transpose(-3, -2):flatten(-2, -1)[keep]
    near(got:transpose(-3, -2):flatten(-2, -1), want, 1e-6)
    local up = heed.randn({17, 6})
    want:backward(up)
    local grad = x.grad
    x.grad = nil
    got:transpose(-3, -2):flatten(-2, -1):backward(up)
    near(x.grad, grad, 1e-6)
  end)

  it("lets no NaN out of a sequence", function()
    for _, dtype in ipairs {"float32", "float64"} do
      for _, o in ipairs {{}, {score = same}, {need_weights = true}} do
        o.cu_seqlens, o.causal = {0, 3, 7, 12}, true
        local function run(bad)
          local g = heed.Generator(1)
          local leaves = {}
          for i = 1, 3 do
            local t = heed.randn({2, 12, 5}, {generator = g, dtype = dtype})
            t[{{}, {4, 7}}] = bad
            leaves[i] = copy(t)
          end
          local out, w = attend(leaves[1], leaves[2], leaves[3], o)
          local total = out:slice(-2, 1, 3):sum() + out:slice(-2, 8, 12):sum()
          if w then total = total + (w:slice(-2, 8, 12):square()):sum() end
          total:backward()
          return {out, leaves[1].grad, leaves[2].grad, leaves[3].grad, w}
        end
        local want = run(1)
        for i, got in ipairs(run(0 / 0)) do
          near(got:slice(-2, 1, 3), want[i]:slice(-2, 1, 3), 0)
          near(got:slice(-2, 8, 12), want[i]:slice(-2, 8, 12), 0)
        end
      end
    end
  end)

  it("gives zeros where a sequence has no keys, and to keys without queries",
    function()
    for _, score in ipairs {false, same} do
      local q, k = copy(heed.randn({1, 4, 3})), copy(heed.randn({1, 5, 3}))
      local v = copy(heed.randn({1, 5, 3}))
      local out = attend(q, k, v, {cu_seqlens = {0, 2, 2, 4},
        cu_seqlens_k = {0, 0, 2, 5}, score = score or nil})
      near(out[1][1], {0, 0, 0}, 0)
      near(out[1][2], {0, 0, 0}, 0)
      assert.is_true(out[1][3]:abs():min():item() > 0)
      out:sum():backward()
      near(q.grad:slice(2, 1, 2), heed.zeros(1, 2, 3), 0)
      near(k.grad:slice(2, 1, 2), heed.zeros(1, 2, 3), 0)
      near(v.grad:slice(2, 1, 2), heed.zeros(1, 2, 3), 0)
      near(v.grad:slice(2, 3, 5):sum(2), {{2, 2, 2}}, 1e-6)
    end
  end)

  it("takes no sequences at all", function()
    for _, o in ipairs {{}, {score = same}, {need_weights = true}} do
      o.cu_seqlens = {0}
      local out = attend(heed.ones(2, 0, 3), heed.ones(2, 0, 3),
        heed.ones(2, 0, 4), o)
      assert.same({2, 0, 4}, out.shape)
    end
  end)

  it("takes tensors without heads, and lengths of single queries", function()
    local q, k = heed.randn({3, 4}), heed.randn({9, 4})
    local o = {cu_seqlens = {0, 1, 2, 3}, cu_seqlens_k = {0, 4, 6, 9},
      valid_lens = {2, 2, 1}}
    local out = attend(q, k, k, o)
    near(out:slice(1, 1, 1),
      attend(q:slice(1, 1, 1), k:slice(1, 1, 2), k:slice(1, 1, 2)), 1e-6)
    near(out[3], k[7], 1e-6)
  end)

  it("works in MultiHeadAttention", function()
    heed.manual_seed(2)
    local lengths, all = {3, 1, 4}, heed.randn({2, 8, 6})
    for _, options in ipairs {{}, {add_bias_kv = true, add_zero_attn = true},
        {batch_first = false}} do
      local layer = nn.MultiHeadAttention(6, 2, options)
      local time = options.batch_first == false and 1 or 2
      local x = time == 1 and all:transpose(1, 2) or all
      local function each(from, to)
        return layer(x:slice(time, from, to), {causal = true})
      end
      local got = layer(x, {cu_seqlens = F.cu_seqlens(lengths), causal = true})
      near(got, heed.cat({each(1, 3), each(4, 4), each(5, 8)}, time), 2e-6)
    end
    local layer = nn.MultiHeadAttention(6, 2)
    local memory = heed.randn({5, 6})
    local got, w = layer(all[1], memory, {cu_seqlens = {0, 3, 8},
      cu_seqlens_k = {0, 1, 5}, need_weights = true})
    near(got:slice(1, 4, 8), layer(all[1]:slice(1, 4, 8),
      memory:slice(1, 2, 5)), 2e-6)
    assert.same({8, 5}, w.shape)
    near(w:slice(2, 1, 1):flatten(), {1, 1, 1, 0, 0, 0, 0, 0}, 1e-6)
  end)

  it("says what is wrong with offsets and lengths", function()
    local q, k = heed.ones(1, 5, 2), heed.ones(1, 4, 2)
    local function said(o)
      local open = {score = same}
      for name, value in pairs(o) do open[name] = value end
      local text = message(attend, q, k, k, o)
      assert.equal(text, message(attend, q, k, k, open))
      return text
    end
    local good <const> = {0, 2, 5}
    assert.equal("scaled_dot_product_attention: cu_seqlens must be a tensor " ..
      "or a list, got 3", said {cu_seqlens = 3})
    assert.equal("attention: cu_seqlens must be int64, got float32 [2]",
      said {cu_seqlens = heed.ones(2)})
    assert.equal("attention: cu_seqlens must be [N + 1], 0 and then the end " ..
      "of each of N sequences, got [1 2]", said {cu_seqlens = {{0, 5}}})
    assert.equal("attention: cu_seqlens must begin with 0, got 2",
      said {cu_seqlens = {2, 3}})
    assert.equal("attention: cu_seqlens must not descend, got 1 behind 3",
      said {cu_seqlens = {0, 3, 1, 5}})
    assert.equal("attention: cu_seqlens must end with 5, the number of " ..
      "queries, got 4", said {cu_seqlens = {0, 4}})
    assert.equal("attention: cu_seqlens_k must end with 4, the number of " ..
      "keys, got 5", said {cu_seqlens = good, cu_seqlens_k = good})
    assert.equal("attention: cu_seqlens and cu_seqlens_k must tell of as " ..
      "many sequences, got 2 and 1",
      said {cu_seqlens = good, cu_seqlens_k = {0, 4}})
    assert.equal("attention: 4 keys for 5 queries are cut apart by " ..
      "cu_seqlens_k, which is missing", said {cu_seqlens = good})
    assert.equal("attention: cu_seqlens_k goes with cu_seqlens, which is " ..
      "missing", said {cu_seqlens_k = {0, 4}})
    local function lens(list)
      return said {cu_seqlens = good, cu_seqlens_k = {0, 3, 4},
        valid_lens = list}
    end
    assert.equal("attention: valid_lens must lie in 0..1, the number of " ..
      "keys of sequence 2, got 3", lens {3, 3})
    assert.equal("attention: valid_lens must lie in 0..1, the number of " ..
      "keys of sequence 2, got 2", lens {3, 3, 0, 2, 1})
    assert.equal("attention: valid_lens must be [2], one number a sequence, " ..
      "or [5], one a query, got [3]", lens {1, 1, 1})
  end)
end)

describe("cu_seqlens", function()
  it("sums up lengths", function()
    assert.same({0, 3, 8, 8, 10}, F.cu_seqlens({3, 5, 0, 2}):totable())
    assert.same({0}, F.cu_seqlens({}):totable())
    local t = F.cu_seqlens(heed.tensor({2, 1}, {dtype = "int32"}))
    assert.equal("int64", t.dtype)
    assert.same({0, 2, 3}, t:totable())
  end)

  it("refuses what are no lengths", function()
    assert.equal("cu_seqlens: lens must be a list or a tensor of integers, " ..
      "got tensor float32 [2]", message(F.cu_seqlens, heed.ones(2)))
    assert.equal("cu_seqlens: lens must be [N], one length a sequence, got " ..
      "[1 2]", message(F.cu_seqlens, {{1, 2}}))
    assert.equal("cu_seqlens: lens must be 0 or more, got -1",
      message(F.cu_seqlens, {3, -1}))
  end)
end)
