-- The edges of attention: sizes of 0 and 1, sizes that fill no vector, scores
-- of 10^4, rows with nothing to attend to, and NaN and inf that nobody may see;
-- on the fused path, with the weights, and with a function over the scores.

local check = require "spec.support.attention.check"
local Dice = require "spec.support.attention.dice"
local heed = require "heed"
local attend <const> = heed.nn.functional.scaled_dot_product_attention

local INF <const>, NAN <const> = math.huge, 0 / 0
local TOP_LEFT <const> = "top-left"

local function bool(...) return heed.tensor({...}, {dtype = "bool"}) end

-- -- beside the formula ------------------------------------------------------

-- A case of spec.support.attention.check: q [b H tq d], k [b Hk tk d] and
-- v [b Hk tk dv], and what `options(dice, leaves)` gives, where tensors with a
-- name are leaves.
local function case(seed, s, options)
  local dice = Dice(seed)
  local kv = s.kv_heads or s.heads
  local c = {dice = dice, wants = {"q", "k", "v"}, leaves = {
    q = dice:normal {s.b, s.heads, s.tq, s.d},
    k = dice:normal {s.b, kv, s.tk, s.d},
    v = dice:normal {s.b, kv, s.tk, s.dv or s.d},
  }}
  for _, name in ipairs(s.more or {}) do
    local shape = name == "bias" and {s.heads, s.tq, s.tk} or {s.heads}
    c.leaves[name] = dice:normal(shape)
    table.insert(c.wants, name)
  end
  for name, factor in pairs(s.times or {}) do
    c.leaves[name] = (c.leaves[name] * factor):to("float32"):to("float64")
  end
  function c.call(leaves)
    local o = {bias = leaves.bias, sinks = leaves.sinks}
    for name, value in pairs(options or {}) do o[name] = value end
    return leaves.q, leaves.k, leaves.v, o
  end
  c.out_shape = {s.b, s.heads, s.tq, s.dv or s.d}
  c.weights_shape = {s.b, s.heads, s.tq, s.tk}
  c.need_weights, c.score = true, true
  c.reach = not s.times and 3 or nil -- large scores drown small differences
  return c
end

local function try(name, ...)
  local ok, message = pcall(check, case(...))
  if not ok then error(name .. ": " .. message, 0) end
end

describe("attention at its edges", function()
  for _, d in ipairs {1, 7, 80, 96, 128, 256} do
    it(("is its formula for columns of %d"):format(d), function()
      local s = {b = 1, heads = 2, kv_heads = 1, d = d}
      for _, times in ipairs {{5, 5}, {70, 50}, {40, 140}, {1, 300}} do
        s.tq, s.tk = times[1], times[2]
        local name = ("%d queries, %d keys"):format(s.tq, s.tk)
        try(name, d, s, {causal = true})
        s.dv = d == 7 and 96 or 7
        try(name .. ", other values", d, s, {})
        s.dv = nil
      end
    end)
  end

  for _, place in ipairs {"b", "heads", "tq", "tk", "d", "dv"} do
    for size = 0, 1 do
      it(("is its formula for a size %s of %d"):format(place, size), function()
        local s = {b = 2, heads = 2, tq = 5, tk = 6, d = 4, dv = 3}
        s[place] = size
        try("plain", 1, s)
        try("causal", 2, s, {causal = true})
        try("window", 3, s, {window = 2, causal = TOP_LEFT})
        s.more = {"bias", "sinks"}
        try("all", 4, s, {alibi = true, softcap = 2, key_mask =
          heed.ones({s.tk}, {dtype = "bool"}), mask =
          heed.ones({s.tk}, {dtype = "bool"}), causal = true})
      end)
    end
  end

  -- about +-10^4: of a row only the largest is left, or a few near it
  local large = {
    products = {times = {q = 100, k = 100}, d = 1},
    ["products of many columns"] = {times = {q = 60, k = 60}, d = 16},
    bias = {times = {bias = 1e4}, d = 8, more = {"bias"}},
    sinks = {times = {sinks = 1e4}, d = 8, more = {"sinks"}},
  }
  for name, s in pairs(large) do
    it("does not overflow in large " .. name, function()
      s.b, s.heads, s.tq = 2, 2, 9
      for seed, tk in ipairs {11, 150, 1100} do
        s.tk = tk
        try(("%d keys"):format(tk), seed, s, {scale = 1})
        try(("causal, %d keys"):format(tk), seed, s, {causal = true})
        try(("softcap, %d keys"):format(tk), seed, s, {softcap = 30})
      end
    end)
  end

  it("gives scores no gradient where one key has all the weight", function()
    for _, tq in ipairs {1, 4, 8, 9, 40} do
      for _, tk in ipairs {40, 300} do
        local g = heed.Generator(tq + tk)
        local function leaf(...)
          return heed.randn({...}, {generator = g, requires_grad = true})
        end
        local q, k, v = leaf(2, 2, tq, 24), leaf(2, 2, tk, 24),
          leaf(2, 2, tk, 24)
        local up = heed.randn({2, 2, tq, 24}, {generator = g})
        attend(q, k, v, {valid_lens = {1, 1}, scale = 30}):backward(up)
        assert.equal(0, q.grad:abs():max():item())
        assert.equal(0, k.grad:abs():max():item())
      end
    end
  end)

  -- c tanh(s / c) is s for a large c, and 0 for a small one
  it("takes softcaps outside of the range of float32", function()
    local g = heed.Generator(3)
    local function draw(...) return heed.randn({...}, {generator = g}) end
    local q, k, v = draw(1, 2, 3, 8), draw(1, 2, 40, 8), draw(1, 2, 40, 8)
    q.requires_grad = true
    local function run(query, o)
      query.grad = nil
      local out = attend(query, k, v, o)
      out:sum():backward()
      return out, query.grad
    end
    local plain, gradient = run(q, {})
    for _, o in ipairs {{}, {score = function(s) return s end}} do
      o.softcap = 1e39
      local out, grad = run(q, o)
      assert.is_true(heed.allclose(out, plain, {rtol = 1e-5, atol = 1e-6}))
      assert.is_true(heed.allclose(grad, gradient,
        {rtol = 1e-4, atol = 1e-6}))
      o.softcap = 1e-50
      out, grad = run(q, o)
      local mean = v:mean(3, true):expand(out.shape)
      assert.is_true(heed.allclose(out, mean, {rtol = 1e-5, atol = 1e-6}))
      assert.equal(0, grad:abs():max():item())
    end
  end)

  -- where sums in another order would move scores by more than e^x can bear
  it("gives back weights of 0 to 1 where scores are 10^8 and more", function()
    for _, tq in ipairs {1, 4, 9} do
      for _, size in ipairs {1e6, 1e8, 1e15} do
        local g = heed.Generator(3)
        local q = heed.randn({1, 2, tq, 64}, {generator = g}) * size
        local k = heed.randn({1, 2, 300, 64}, {generator = g})
        local v = heed.randn({1, 2, 300, 64}, {generator = g})
        v.requires_grad = true
        attend(q, k, v):sum():backward()
        assert.is_true(v.grad:ge(0):all():item())
        assert.is_true(v.grad:le(tq):all():item())
      end
    end
  end)
end)

-- -- what nobody may see -----------------------------------------------------

local function same(s) return s end

-- Ways to compute the same.
local paths = {
  fused = {}, ["with weights"] = {need_weights = true},
  ["with score"] = {score = same},
}

-- Out, weights and gradients of q, k, v and bias; key and value `at` are `bad`.
-- Results of the queries `rows` go into the gradients.
local function spoilt(dtype, at, bad, rows, ...)
  local g = heed.Generator(3)
  local function draw(...)
    return heed.randn({...}, {dtype = dtype, generator = g})
  end
  local q, k, v = draw(2, 4, 7, 8), draw(2, 2, 7, 8), draw(2, 2, 7, 9)
  for _, t in ipairs {k, v} do t[{{}, {}, at}] = bad end
  local o = {}
  for _, options in ipairs {...} do
    for name, value in pairs(options) do o[name] = value end
  end
  local leaves = {q, k, v}
  if o.bias then
    leaves[4] = o.bias:to(dtype):clone()
    o.bias = leaves[4]
  end
  for _, t in ipairs(leaves) do t.requires_grad = true end
  if o.dropout then o.generator = heed.Generator(4) end
  local out, weights = attend(q, k, v, o)
  local function part(t) return t[{{}, {}, {1, rows}}] end
  local loss = (part(out) ^ 2):sum()
  if weights then loss = loss + (part(weights) ^ 2):sum() end
  loss:backward()
  return {out = part(out), weights = weights and part(weights), dq = q.grad,
    dk = k.grad, dv = v.grad, dbias = leaves[4] and leaves[4].grad}
end

-- Raises unless two results have the same bits in what is named.
local function agree(name, a, b, ...)
  for _, key in ipairs {...} do
    if a[key] and a[key]:tobytes() ~= b[key]:tobytes() then
      error(("%s: %s is another"):format(name, key), 0)
    end
  end
end

local function each_path(f)
  for _, dtype in ipairs {"float32", "float64"} do
    for path, options in pairs(paths) do
      for name, bad in pairs {NaN = NAN, inf = INF, ["-inf"] = -INF} do
        f(dtype, bad, options, ("%s, %s, %s"):format(dtype, path, name))
      end
    end
  end
end

describe("what attention may not see", function()
  local last <const> = {true, true, true, true, true, true, false}
  local lower = heed.ones({7, 7}, {dtype = "bool"}):tril()
  local infinite = heed.zeros(7, 7):masked_fill_(lower:logical_not(), -INF)
  -- key 7 is hidden from all
  local hidden = {
    valid_lens = {valid_lens = {6, 5}},
    ["lengths of queries"] = {valid_lens = {{6, 5, 6, 0, 2, 6, 1},
      {1, 2, 3, 4, 5, 6, 6}}},
    key_mask = {key_mask = heed.tensor(last)},
    ["key_mask of entries"] = {key_mask = heed.tensor {last, last}},
    mask = {mask = heed.tensor(last)},
    ["mask of heads"] = {mask = heed.tensor(last):expand(4, 7, 7)},
    bias = {bias = heed.tensor {0.5, 0, 1, 0, 0, -1, -INF}},
    window = {window = {6, 0}, causal = TOP_LEFT, valid_lens = {6, 6}},
    ["mask and causal"] = {causal = true, mask = heed.tensor(last)},
  }
  for name, description in pairs(hidden) do
    it("is not felt behind " .. name, function()
      each_path(function(dtype, bad, path, what)
        for _, more in ipairs {{}, {softcap = 2}, {dropout = 0.5},
            {sinks = heed.zeros({4}, {dtype = dtype}), alibi = true}} do
          agree(what, spoilt(dtype, 7, 0, 7, description, path, more),
            spoilt(dtype, 7, bad, 7, description, path, more),
            "out", "weights", "dq", "dk", "dv", "dbias")
        end
      end)
    end)
  end

  -- key 7 is hidden from queries 1 to 6
  local later = {
    causal = {causal = true}, ["causal from the top"] = {causal = TOP_LEFT},
    mask = {mask = lower}, bias = {bias = infinite}, window = {window = {9, 0}},
    valid_lens = {valid_lens = {{1, 2, 3, 4, 5, 6, 7}, {2, 2, 3, 4, 6, 6, 7}}},
  }
  for name, description in pairs(later) do
    it("does not reach other queries behind " .. name, function()
      each_path(function(dtype, bad, path, what)
        for _, more in ipairs {{}, {softcap = 2}} do
          local clean = spoilt(dtype, 7, 0, 6, description, path, more)
          local dirty = spoilt(dtype, 7, bad, 6, description, path, more)
          clean.dq, dirty.dq = clean.dq[{{}, {}, {1, 6}}],
            dirty.dq[{{}, {}, {1, 6}}]
          agree(what, clean, dirty, "out", "weights", "dq")
          -- and whoever sees it, shows it
          local all = spoilt(dtype, 7, bad, 7, description, path, more)
          assert.is_false(all.out[{{}, {}, 7}]:isfinite():any():item(), what)
        end
      end)
    end)
  end
end)

-- -- nothing to see ----------------------------------------------------------

describe("a query that may attend to nothing", function()
  local rows = bool(true, false, true, true, false):reshape(5, 1)
  local infinite = heed.zeros(5, 1):masked_fill_(rows:logical_not(), -INF)
  -- rows 2 and 5
  local empty = {
    valid_lens = {valid_lens = {{3, 0, 6, 1, 0}}}, mask = {mask = rows},
    bias = {bias = infinite},
    ["mask and length"] = {valid_lens = {2}, mask = rows &
      bool(true, false, true, true, false, false)},
    ["mask beside a window"] = {window = {0, 0}, causal = TOP_LEFT,
      mask = rows},
  }
  local more = {
    {}, {sinks = true}, {softcap = 2, alibi = true}, {dropout = 0.3},
    {sinks = true, dropout = 1},
  }
  for name, description in pairs(empty) do
    it("gives zeros and no gradient behind " .. name, function()
      for _, dtype in ipairs {"float32", "float64"} do
        for path, way in pairs(paths) do
          for i, extra in ipairs(more) do
            local function draw(...)
              return heed.randn({...}, {dtype = dtype, requires_grad = true,
                generator = heed.Generator(i)})
            end
            local q, k, v = draw(1, 2, 5, 8), draw(1, 2, 6, 8),
              draw(1, 2, 6, 8)
            local o = {}
            for _, options in ipairs {description, way, extra} do
              for key, value in pairs(options) do o[key] = value end
            end
            if o.bias then o.bias = o.bias:to(dtype) end
            if o.sinks then o.sinks = draw(2) end
            local out, w = attend(q, k, v, o)
            local loss = (out * 3):sum()
            if w then loss = loss + (w ^ 2):sum() end
            loss:backward()
            for _, row in ipairs {2, 5} do
              local what = ("%s, %s, %d"):format(dtype, path, i)
              for _, t in ipairs {out, q.grad, w} do
                assert.is_true(t[{{}, {}, row}]:eq(0):all():item(), what)
              end
            end
            for _, t in ipairs {q, k, v, o.sinks} do
              assert.is_true(t.grad:isfinite():all():item())
            end
          end
        end
      end
    end)
  end

  it("gives zeros when all do", function()
    for _, path in pairs(paths) do
      for _, o in ipairs {{valid_lens = {0}}, {mask = bool(false)},
          {key_mask = bool(false)}, {bias = heed.full({1}, -INF)},
          {causal = true, mask = bool(false, false, false, false)}} do
        local leaves = {}
        for i, t in ipairs {3, 4, 4} do
          leaves[i] = heed.randn({1, 2, t, 8}, {requires_grad = true})
        end
        local options = {sinks = heed.randn({2}, {requires_grad = true})}
        for _, given in ipairs {o, path} do
          for key, value in pairs(given) do options[key] = value end
        end
        leaves[4] = options.sinks
        local out, w = attend(leaves[1], leaves[2], leaves[3], options)
        ;(out:sum() + (w and w:sum() or 0)):backward()
        leaves[5], leaves[6] = out, w
        for i, t in ipairs(leaves) do
          local zero = i < 5 and t.grad or t
          assert.is_true(zero:eq(0):all():item())
        end
      end
    end
  end)
end)
