-- Additive attention, and the softmax and masks of valid lengths. The values
-- of the published examples are golden cases.

local heed = require "heed"
local F = require "heed.nn".functional
local gradient = require "spec.support.gradient"
local near = dofile "spec/nn/near.lua"
local attend <const> = F.additive_attention
local core = require "heed.core"
local message = require "spec.support.message"

local function draw(g, shape, dtype)
  return heed.randn(shape, {dtype = dtype, generator = g})
end

-- q [B Tq size], k, v [B Tk 3], w [size]
local function inputs(batch, tq, tk, size, dtype)
  local g = heed.Generator(tq * 100 + tk)
  return draw(g, {batch, tq, size}, dtype), draw(g, {batch, tk, size}, dtype),
    draw(g, {batch, tk, 3}, dtype), draw(g, {size}, dtype)
end

-- The formula, through all tanh.
local function plain_weights(q, k, w_v, keep)
  local s = (q:unsqueeze(-2) + k:unsqueeze(-3)):tanh():matmul(w_v)
  return F.masked_softmax(s, keep)
end

local function plain(q, k, v, w_v, keep)
  return plain_weights(q, k, w_v, keep):matmul(v)
end

local function all_gradients(f, tensors)
  local leaves = {}
  for i, t in ipairs(tensors) do
    leaves[i] = t:clone():detach():requires_grad_()
  end
  local out = f(table.unpack(leaves))
  out:backward(heed.arange(out:numel()):to(out.dtype):reshape(out.shape)
    * 0.1)
  local list = {out:detach()}
  for i, t in ipairs(leaves) do list[i + 1] = t.grad end
  return list
end

describe("additive attention", function()
  it("is softmax(w . tanh(q + k)) v", function()
    for _, dtype in ipairs {"float32", "float64"} do
      local q, k, v, w_v = inputs(2, 5, 19, 13, dtype)
      local want = plain(q, k, v, w_v)
      near(attend(q, k, v, w_v), want)
      local out, w = attend(q, k, v, w_v, {need_weights = true})
      near(out, want)
      near(w, plain_weights(q, k, w_v))
    end
  end)

  it("has the gradients of the formula", function()
    for _, size in ipairs {1, 8, 33} do
      for _, tq in ipairs {1, 3, 70} do
        local q, k, v, w_v = inputs(2, tq, 21, size)
        local got = all_gradients(attend, {q, k, v, w_v})
        local want = all_gradients(plain, {q, k, v, w_v})
        -- sums of many terms are rounded in another order
        for i = 1, 5 do
          near(got[i], want[i], 2e-6 * (1 + want[i]:abs():max():item()))
        end
      end
    end
  end)

  it("has the gradients of differences, whatever is seen", function()
    local q, k, v, w_v = inputs(2, 3, 4, 5, "float64")
    for _, options in ipairs {
      {}, {valid_lens = {0, 3}}, {valid_lens = heed.tensor {{1, 2, 4},
        {0, 4, 3}}}, {causal = true}, {window = 2},
      {mask = heed.rand({2, 3, 4}, {generator = heed.Generator(2)}):gt(0.5)},
      {key_mask = heed.tensor {true, false, true, true}},
    } do
      for _, need_weights in ipairs {false, true} do
        gradient.check(function(args)
          options.need_weights = need_weights
          local a, b, c, d = table.unpack(args)
          return attend(a, b, c, d, options)
        end, {q, k, v, w_v})
      end
    end
  end)

  it("takes what is seen as dot-product attention does", function()
    local q, k, v, w_v = inputs(2, 3, 4, 5)
    local keep = heed.tensor {
      {{true, false, false, false}, {true, true, false, false},
        {true, true, true, true}},
      {{false, false, false, false}, {true, true, true, true},
        {true, true, true, false}},
    }
    near(attend(q, k, v, w_v, {valid_lens = {{1, 2, 4}, {0, 4, 3}}}),
      plain(q, k, v, w_v, keep))
    near(attend(q, k, v, w_v, {mask = keep}), plain(q, k, v, w_v, keep))
    near(attend(q, k, v, w_v, {causal = true}), plain(q, k, v, w_v,
      heed.ones({3, 4}, "bool"):tril(1)))
    near(attend(q[1], k[1], v[1], w_v, {mask = keep[1]}),
      plain(q[1], k[1], v[1], w_v, keep[1]))
  end)

  it("gives zeros, and zero gradients, where nothing is seen", function()
    for _, need_weights in ipairs {false, true} do
      local q, k, v, w_v = inputs(2, 3, 4, 5)
      local list = all_gradients(function(...)
        local a, b, c, d = ...
        return (attend(a, b, c, d,
          {valid_lens = {0, 0}, need_weights = need_weights}))
      end, {q, k, v, w_v})
      for i = 1, 5 do assert.are.equal(0, list[i]:abs():max():item()) end
    end
  end)

  it("takes nothing from behind the mask, be it NaN", function()
    for _, dtype in ipairs {"float32", "float64"} do
      for _, nan in ipairs {0 / 0, 1 / 0} do
        local q, k, v, w_v = inputs(2, 6, 20, 9, dtype)
        local function run(bad)
          k[{{}, {18, 20}}], v[{{}, {18, 20}}] = bad, bad
          return all_gradients(function(a, b, c, d)
            return attend(a, b, c, d, {valid_lens = {17, 9}})
          end, {q, k, v, w_v})
        end
        local want, got = run(0.5), run(nan)
        for i = 1, 5 do assert.is_true(want[i]:equal(got[i])) end
      end
    end
  end)

  it("shows NaN where it is seen, and there only", function()
    local q, k, v, w_v = inputs(1, 6, 20, 9)
    k[{1, 20, 1}] = 0 / 0
    local out = attend(q, k, v, w_v, {valid_lens = {{19, 20, 19, 3, 0, 2}}})
    assert.same({0, 3, 0, 0, 0, 0}, out:isnan():sum(-1)[1]:totable())
  end)

  it("bounds the tanh of large queries and keys", function()
    for _, far in ipairs {15, 25, 60, 1e4, 3e38} do
      local q, k, v, w_v = inputs(1, 5, 18, 9)
      q[{1, {2, 3}}], k[{1, 4}], k[{1, 18}] = far, -far, far
      near(attend(q, k, v, w_v), plain(q, k, v, w_v))
      local got = all_gradients(attend, {q, k, v, w_v})
      local want = all_gradients(plain, {q, k, v, w_v})
      for i = 1, 5 do near(got[i], want[i], 1e-5) end
    end
  end)

  it("drops weights in training", function()
    local q, k, v, w_v = inputs(2, 3, 4, 5)
    local want = attend(q, k, v, w_v)
    near(attend(q, k, v, w_v, {dropout = 0.5, training = false}), want)
    assert.are.equal(0, attend(q, k, v, w_v, {dropout = 1}):abs():max():item())
    local function dropped(seed)
      return attend(q, k, v, w_v,
        {dropout = 0.5, generator = heed.Generator(seed)})
    end
    assert.is_true(dropped(3):equal(dropped(3)))
    assert.is_false(dropped(3):equal(want))
  end)

  it("gives the same bits for any number of threads", function()
    local before = heed.get_num_threads()
    local q, k, v, w_v = inputs(3, 130, 150, 40)
    local results = {}
    for threads = 1, 3 do
      heed.set_num_threads(threads)
      results[threads] = all_gradients(attend, {q, k, v, w_v})
    end
    heed.set_num_threads(before)
    for threads = 2, 3 do
      for i = 1, 5 do
        assert.is_true(results[1][i]:equal(results[threads][i]))
      end
    end
  end)

  it("is as near to float64 as the formula", function()
    local q, k, _, w_v = inputs(2, 40, 50, 128)
    local function error_of(f)
      local want = (q:double():unsqueeze(-2) + k:double():unsqueeze(-3))
        :tanh():matmul(w_v:double())
      return (f:double() - want):abs():mean():item()
    end
    local ours = error_of(core.ops.additive_scores(q, k, w_v))
    -- a product of matrices sums in order, like the op; one of a matrix and a
    -- vector in parts, which is nearer
    local formula = error_of((q:unsqueeze(-2) + k:unsqueeze(-3)):tanh()
      :matmul(heed.stack({w_v, w_v}, -1)):select(-1, 1))
    assert.is_true(ours < 1.5 * formula)
  end)

  it("holds no tensor of all the tanh", function()
    local q, k, v, w_v = inputs(1, 256, 256, 128)
    for _, t in ipairs {q, k, v, w_v} do t:requires_grad_() end
    collectgarbage()
    local before = heed.memory_stats().used
    heed.memory_reset_peak()
    attend(q, k, v, w_v):sum():backward()
    -- 256 KiB of scores, against 32 MiB
    assert.is_true(heed.memory_stats().peak - before < 4 << 20)
  end)

  it("refuses what does not fit", function()
    local q, k, v, w_v = inputs(2, 3, 4, 5)
    assert.are.equal("additive_attention: q must have at least 2 " ..
      "dimensions, got tensor float32 [5]", message(attend, w_v, k, v, w_v))
    assert.are.equal("additive_attention: w_v must be a tensor, got nil",
      message(attend, q, k, v))
    assert.are.equal('additive_attention: unknown option "scale"; known: ' ..
      "causal, dropout, generator, key_mask, mask, need_weights, training, " ..
      "valid_lens, window", message(attend, q, k, v, w_v, {scale = 2}))
    assert.are.equal("attention: valid_lens must lie in 0..4, the number of " ..
      "keys, got 5", message(attend, q, k, v, w_v, {valid_lens = {5, 1}}))
    assert.are.equal("additive_attention: mask must be a bool tensor, true " ..
      "where attending is allowed, got tensor float32 [2 3 5]; numbers to " ..
      "add to the scores are a bias",
      message(attend, q, k, v, w_v, {mask = q}))
  end)
end)

describe("length_mask", function()
  it("is true for the first places", function()
    assert.same({{true, false, false}, {true, true, true}},
      F.length_mask({1, 3}):totable())
    assert.same({{false, false}}, F.length_mask({0}, 2):totable())
    assert.same({0, 0}, F.length_mask(heed.zeros({0}, "int64")).shape)
    assert.are.equal("length_mask: lens must be a list or a tensor of " ..
      "integers, got 3", message(F.length_mask, 3))
  end)
end)

describe("sequence_mask", function()
  it("puts a value behind the valid lengths", function()
    local x = heed.tensor {{1, 2, 3}, {4, 5, 6}}
    assert.same({{1, 0, 0}, {4, 5, 0}}, F.sequence_mask(x, {1, 2}):totable())
    assert.same({{-1, -1, -1}, {4, 5, 6}},
      F.sequence_mask(x, heed.tensor {0, 3}, -1):totable())
    -- whatever follows time
    assert.same({{{1, 1}, {-1, -1}}, {{1, 1}, {1, 1}}},
      F.sequence_mask(heed.ones(2, 2, 2), {1, 2}, -1):totable())
    assert.same({{{1, 0}, {0, 0}}},
      F.sequence_mask(heed.ones(1, 2, 2), {{1, 0}}):totable())
  end)

  it("lets no gradient through behind them", function()
    local x = heed.tensor {{1.0, 0 / 0, 3.0}}:requires_grad_()
    F.sequence_mask(x, {1}):sum():backward()
    assert.same({{1, 0, 0}}, x.grad:totable())
  end)

  it("refuses what does not fit", function()
    local x = heed.ones(2, 3)
    assert.are.equal("sequence_mask: valid_lens [3] must have the first " ..
      "sizes of x [2 3], which time follows",
      message(F.sequence_mask, x, {1, 2, 3}))
    assert.are.equal("sequence_mask: valid_lens must lie in 0..3, the size " ..
      "of dim 2 of x [2 3], got 4", message(F.sequence_mask, x, {4, 1}))
    assert.are.equal("sequence_mask: valid_lens must be a list or a tensor " ..
      "of integers, got nil", message(F.sequence_mask, x))
  end)
end)

describe("masked_softmax", function()
  it("takes lengths of sequences, of queries, or none", function()
    local x = heed.zeros(2, 2, 4)
    assert.same({{{0.5, 0.5, 0, 0}, {0.5, 0.5, 0, 0}},
      {{0, 0, 0, 0}, {0, 0, 0, 0}}},
      F.masked_softmax(x, heed.tensor {2, 0}):totable())
    assert.same({{{1, 0, 0, 0}, {0.5, 0.5, 0, 0}},
      {{0.25, 0.25, 0.25, 0.25}, {1, 0, 0, 0}}},
      F.masked_softmax(x, {{1, 2}, {4, 1}}):totable())
    assert.same({0.25, 0.25, 0.25, 0.25},
      F.masked_softmax(x)[1][1]:totable())
    -- [N H T S]: one length for all heads
    assert.same({0.5, 0.5},
      F.masked_softmax(heed.zeros(1, 2, 1, 2), {2})[1][2][1]:totable())
    assert.same({{1, 0}}, F.masked_softmax(heed.zeros(1, 2), {1}):totable())
  end)

  it("takes a mask along any dimension", function()
    local mask = heed.tensor {{true, false}, {true, true}}
    assert.same({{0.5, 0}, {0.5, 1}},
      F.masked_softmax(heed.zeros(2, 2), mask, 1):totable())
  end)

  it("refuses what does not fit", function()
    local x = heed.zeros(2, 3, 4)
    assert.are.equal("masked_softmax: valid lengths [3] must be one a first " ..
      "position of x [2 3 4], or one a first and last but one",
      message(F.masked_softmax, x, {1, 2, 3}))
    assert.are.equal("masked_softmax: valid_lens must lie in 0..4, the size " ..
      "of the last dimension of x [2 3 4], got 5",
      message(F.masked_softmax, x, {1, 5}))
    assert.are.equal("masked_softmax: valid lengths count along the last " ..
      "dimension, got dim 1", message(F.masked_softmax, x, {1, 2}, 1))
    assert.are.equal("masked_softmax: mask must be bool, got float32 [2 3 4]",
      message(F.masked_softmax, x, x))
  end)
end)
