-- Attention gives the same bits for every number of threads, and every time:
-- shapes that are cut among threads in each way, forward and backward.

local heed = require "heed"
require "heed.testing"
local F <const> = heed.nn.functional

local function bool(t) return t:gt(0) end

-- -- calls -------------------------------------------------------------------

-- Cases of F.scaled_dot_product_attention: sizes, and what gives the options
-- from a function that draws a tensor, as a leaf when told so.
local attention = {
  ["many heads"] = {b = 2, heads = 8, tq = 100, d = 32},
  ["one long head"] = {tq = 1500, d = 16},
  ["one long causal head"] = {tq = 1200, d = 20, causal = true},
  ["one query, many keys"] = {heads = 4, tq = 1, tk = 5000, d = 32},
  ["few queries, many keys"] = {heads = 3, tq = 8, tk = 3001, d = 40},
  ["few queries, many keys, limited"] = {heads = 4, kv_heads = 2, tq = 5,
    tk = 2600, d = 32, causal = true, window = 1900,
    more = function(draw) return {sinks = draw {4}} end},
  ["queries of one shared head, many keys"] = {heads = 16, kv_heads = 1,
    tq = 1, tk = 3000, d = 32},
  ["grouped heads"] = {b = 2, heads = 8, kv_heads = 2, tq = 140, d = 24},
  ["one group of many rows"] = {heads = 8, kv_heads = 1, tq = 130, tk = 200,
    d = 16},
  lengths = {b = 6, heads = 2, tq = 150, d = 16,
    valid_lens = {150, 1, 0, 77, 128, 129}},
  ["a window"] = {heads = 2, tq = 700, d = 16, causal = true, window = 90},
  masks = {b = 2, heads = 4, tq = 130, d = 16, more = function(draw)
    return {mask = bool(draw {4, 130, 130}), key_mask = bool(draw {2, 130})}
  end},
  ["softcap, slopes and sinks"] = {b = 3, heads = 6, tq = 130, d = 16,
    softcap = 3, alibi = true,
    more = function(draw) return {sinks = draw {6}} end},
  dropout = {b = 2, heads = 3, tq = 140, d = 16, dropout = 0.2},
  ["weights shown"] = {b = 2, heads = 4, kv_heads = 2, tq = 150, d = 16,
    need_weights = true, causal = true},
}
-- a bias has a gradient that the groups share in different ways
for name, shape in pairs {
  ["of all"] = {6, 4, 130, 130}, ["of heads"] = {4, 130, 130},
  ["of entries"] = {6, 1, 130, 130}, ["of queries and keys"] = {130, 130},
  ["of keys"] = {130}, ["of heads and keys"] = {4, 1, 130},
  ["of entries and queries"] = {6, 1, 130, 1}, ["of heads alone"] = {4, 1, 1},
} do
  attention["a bias " .. name] = {b = 6, heads = 4, kv_heads = 2, tq = 130,
    d = 8, more = function(draw) return {bias = draw(shape)} end}
end
attention["a bias over many keys"] = {heads = 4, tq = 2, tk = 3000, d = 16,
  more = function(draw) return {bias = draw {3000}} end}

local SIZES <const> = {
  b = true, heads = true, kv_heads = true, tq = true, tk = true, d = true,
  more = true,
}

local function attend(s, draw)
  local b, heads, tk = s.b or 1, s.heads or 1, s.tk or s.tq
  local kv = s.kv_heads or heads
  local q, k, v = draw {b, heads, s.tq, s.d}, draw {b, kv, tk, s.d},
    draw {b, kv, tk, s.d}
  local o = s.more and s.more(draw) or {}
  for name, value in pairs(s) do
    if not SIZES[name] then o[name] = value end
  end
  if o.dropout then o.generator = heed.Generator(5) end
  return F.scaled_dot_product_attention(q, k, v, o)
end

local function additive(s, draw)
  return F.additive_attention(draw {3, s.tq, 24}, draw {3, s.tk, 24},
    draw {3, s.tk, 16}, draw {24},
    {causal = s.causal, valid_lens = s.valid_lens})
end

local function linear(s, draw)
  local shape = {2, 2, s.tq, 24}
  return F.linear_attention(draw(shape), draw(shape), draw(shape),
    {causal = s.causal})
end

-- -- running them ------------------------------------------------------------

-- The results and all gradients, by name.
local function results_of(f, s, dtype)
  local g, leaves = heed.Generator(1), {}
  local function draw(shape)
    local t = heed.randn(shape, {dtype = dtype, generator = g,
      requires_grad = true})
    leaves[#leaves + 1] = t
    return t
  end
  local out, weights = f(s, draw)
  local loss = (out * out):sum()
  if weights then loss = loss + (weights * weights):sum() end
  loss:backward()
  local results = {out = out, weights = weights}
  -- masks are made from numbers that get none
  for i, t in ipairs(leaves) do results["gradient " .. i] = t.grad end
  return results
end

local function check(f, s)
  for _, dtype in ipairs {"float32", "float64"} do
    assert.deterministic(function() return results_of(f, s, dtype) end,
      {threads = {1, 1, 2, 3}, runs = 1})
  end
end

describe("the same bits for every number of threads and every time", function()
  local names = {}
  for name in pairs(attention) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    it("come from attention over " .. name, function()
      check(attend, attention[name])
    end)
  end

  it("come from additive attention", function()
    check(additive, {tq = 150, tk = 140})
    check(additive, {tq = 20, tk = 300, valid_lens = {300, 7, 0}})
    check(additive, {tq = 90, tk = 90, causal = true})
  end)

  it("come from linear attention", function()
    check(linear, {tq = 1000})
    check(linear, {tq = 1000, causal = true})
  end)
end)
