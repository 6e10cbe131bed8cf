-- Linear attention beside its formula, made through all weights.

local heed = require "heed"
local F = require "heed.nn".functional
local gradient = require "spec.support.gradient"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local attend <const> = F.linear_attention

-- q [.. Tq d], k [.. Tk d], v [.. Tk dv], of 5 and 3 columns by default
local function inputs(shape, tq, tk, dtype, d, dv)
  local g = heed.Generator(tq + tk)
  local function draw(...)
    local sizes = {table.unpack(shape)}
    for _, size in ipairs {...} do sizes[#sizes + 1] = size end
    return heed.randn(sizes, {dtype = dtype or "float64", generator = g})
  end
  return draw(tq, d or 5), draw(tk, d or 5), draw(tk, dv or 3)
end

local function elu(x) return F.elu(x) + 1 end

local function plain(q, k, v, o)
  local phi = o.feature or elu
  local w = phi(q):matmul(phi(k):transpose(-1, -2))
  if o.causal then w = w:tril() end
  if o.keep then w = heed.where(o.keep, w, 0) end
  return w:matmul(v) / (w:sum(-1, true) + (o.eps or 1e-6))
end

-- The result of f, and the gradients of q, k and v for the gradient g of it.
local function both(f, list, g, options, walk)
  local leaves = {}
  for i, t in ipairs(list) do leaves[i] = t:clone():requires_grad_() end
  local out = f(leaves[1], leaves[2], leaves[3], options)
  local dq, dk, dv = heed.grad(out, leaves, {gradient = g,
    create_graph = walk})
  return {out:detach(), dq:detach(), dk:detach(), dv:detach()}
end

-- Everything of both within a tolerance, in units of the largest number.
local function check_near(got, want, tolerance)
  for i, t in ipairs(want) do
    assert.same(t.shape, got[i].shape)
    if t:numel() > 0 then
      local off = (got[i]:to "float64" - t):abs():max():item()
      local limit = tolerance * math.max(1, t:abs():max():item())
      assert.is_true(off <= limit, ("tensor %d: off by %g, more than %g")
        :format(i, off, limit)) -- not for NaN
    end
  end
end

describe("linear attention", function()
  it("has the values and gradients of the formula at any size", function()
    for _, causal in ipairs {false, true} do
      for _, t in ipairs {0, 1, 127, 128, 129, 1000} do
        for _, d in ipairs(t < 1000 and {1, 7, 64, 80} or {7, 64}) do
          local list = {inputs({1}, t, t, "float64", d, d)}
          local g = heed.randn(list[3].shape,
            {dtype = "float64", generator = heed.Generator(1)})
          local options = {causal = causal}
          local want = both(plain, list, g, options)
          check_near(both(attend, list, g, options), want, 1e-11)
          for i = 1, 3 do list[i] = list[i]:to "float32" end
          check_near(both(attend, list, g:to "float32", options), want, 2e-5)
        end
      end
    end
  end)

  it("goes on from range to range of a long sequence", function()
    for _, causal in ipairs {false, true} do
      for _, shape in ipairs {{1}, {2, 4}} do -- cut, and too many to be cut
        local list = {inputs(shape, 2100, 2100, "float64", 2, 3)}
        local g = heed.randn(list[3].shape,
          {dtype = "float64", generator = heed.Generator(1)})
        local options = {causal = causal}
        check_near(both(attend, list, g, options),
          both(plain, list, g, options), 1e-11)
      end
    end
    local list = {inputs({2}, 1500, 40)}
    local g = heed.ones({2, 1500, 3}, {dtype = "float64"})
    check_near(both(attend, list, g, {}), both(plain, list, g, {}), 1e-11)
    list, g = {inputs({2}, 40, 1500)}, heed.ones({2, 40, 3},
      {dtype = "float64"})
    check_near(both(attend, list, g, {}), both(plain, list, g, {}), 1e-11)
  end)

  it("reads heads that lie side by side, and a gradient without rows",
    function()
      for _, causal in ipairs {false, true} do
        local list = {inputs({2, 3}, 70, 70)}
        local apart = {}
        for i, t in ipairs(list) do -- [B H T D] of [B T H D]
          apart[i] = t:transpose(2, 3):contiguous():transpose(2, 3)
        end
        apart[3] = apart[3]:transpose(-1, -2):contiguous():transpose(-1, -2)
        local o = {causal = causal}
        near(attend(apart[1], apart[2], apart[3], o), plain(list[1], list[2],
          list[3], o), 1e-12)
        local grads = {}
        for n, f in ipairs {attend, plain} do
          local from = n == 1 and apart or list
          for _, t in ipairs(from) do t.grad = nil; t:requires_grad_() end
          f(from[1], from[2], from[3], o):sum():backward()
          grads[n] = {from[1].grad, from[2].grad, from[3].grad}
        end
        check_near(grads[1], grads[2], 1e-11)
      end
    end)

  it("gives a recorded gradient that differs by rounding", function()
    for dtype, tolerance in pairs {float32 = 1e-5, float64 = 1e-12} do
      for _, causal in ipairs {false, true} do
        local list = {inputs({2}, 130, 130, dtype)}
        local g = heed.ones({2, 130, 3}, {dtype = dtype})
        local o = {causal = causal}
        local want = both(attend, list, g, o, true)
        for i, t in ipairs(want) do want[i] = t:to "float64" end
        check_near(both(attend, list, g, o, false), want, tolerance)
      end
    end
  end)

  it("weighs values by phi(q) . phi(k)", function()
    for _, shape in ipairs {{}, {2}, {2, 3}} do
      local q, k, v = inputs(shape, 4, 7)
      near(attend(q, k, v), plain(q, k, v, {}), 1e-12)
    end
  end)

  it("gives what PyTorch gives", function()
    -- torch 2.13: x = torch.arange(6.).view(3, 2) / 4 - 0.5; f = F.elu(x) + 1;
    -- w = f @ f.T; (w / w.sum(-1, keepdim=True)) @ x, and with w.tril()
    local x = heed.arange(1, 6):to("float32"):reshape {3, 2} / 4 - 0.75
    near(attend(x, x, x, {eps = 0}),
      {{0.1344779, 0.384478}, {0.134576, 0.384576}, {0.1348303, 0.3848303}})
    near(attend(x, x, x, {eps = 0, causal = true}),
      {{-0.5, -0.25}, {-0.1907085, 0.05929155}, {0.1348303, 0.3848303}})
  end)

  it("sees no key behind its place when causal, at any length", function()
    for _, length in ipairs {1, 2, 63, 64, 65, 128, 200} do
      local q, k, v = inputs({2, 2}, length, length)
      near(attend(q, k, v, {causal = true}),
        plain(q, k, v, {causal = true}), 1e-12)
    end
  end)

  it("takes nothing from behind a place when causal, be it NaN", function()
    for _, dtype in ipairs {"float32", "float64"} do
      for _, bad in ipairs {100, 0 / 0, 1 / 0} do
        local q, k, v = inputs({1}, 70, 70, dtype)
        local before = attend(q, k, v, {causal = true})
        k[{1, 66}], v[{1, 66}] = bad, bad
        local out = attend(q, k, v, {causal = true})
        near(out[{1, {1, 65}}], before[{1, {1, 65}}])
      end
    end
  end)

  it("has the gradients of differences, twice", function()
    local q, k, v = inputs({2}, 3, 3)
    for _, options in ipairs {{}, {causal = true}} do
      local function call(args)
        local a, b, c = table.unpack(args)
        return attend(a, b, c, options)
      end
      gradient.check(call, {q, k, v})
    end
  end)

  it("has the gradients of the formula across chunks", function()
    for _, length in ipairs {64, 130} do
      local q, k, v = inputs({2}, length, length)
      local grads = {}
      for i, f in ipairs {attend, plain} do
        local list = {}
        for n, t in ipairs {q, k, v} do
          list[n] = t:clone():requires_grad_()
        end
        local out = f(list[1], list[2], list[3], {causal = true})
        ;(out * out):sum():backward()
        grads[i] = list
      end
      for n = 1, 3 do near(grads[1][n].grad, grads[2][n].grad, 1e-10) end
    end
  end)

  it("can be differentiated again", function()
    local keep = heed.tensor {true, false, true}
    for _, o in ipairs {{}, {causal = true}, {key_mask = keep},
      {causal = true, key_mask = keep}} do
      local q, k, v = inputs({1}, 3, 3)
      gradient.check(function(args)
        -- in the gradient check itself nothing is recorded
        local _ <close> = heed.enable_grad()
        local list = {}
        for i, t in ipairs(args) do
          list[i] = t.requires_grad and t or t:clone():requires_grad_()
        end
        local out = attend(list[1], list[2], list[3], o)
        return heed.grad((out * out):sum(), list, {create_graph = true})
      end, {q, k, v}, {no_views = true})
    end
  end)

  it("takes another feature map", function()
    local q, k, v = inputs({2}, 4, 4)
    local function square(x) return heed.cat({x * x, x:exp()}, -1) end
    for _, causal in ipairs {false, true} do
      near(attend(q, k, v, {feature = square, causal = causal}),
        plain(q, k, v, {feature = square, causal = causal}), 1e-12)
    end
    near(attend(q, k, v, {feature = "elu", eps = 0.5}),
      plain(q, k, v, {eps = 0.5}), 1e-12)
  end)

  it("leaves out masked keys, be they NaN", function()
    local keep = heed.tensor {{true, true, false, true}, {false, false,
      false, false}}
    for _, causal in ipairs {false, true} do
      local q, k, v = inputs({2, 3}, 4, 4)
      local want = plain(q, k, v, {causal = causal,
        keep = keep:unsqueeze(2):unsqueeze(2)})
      k[{{}, {}, 3}], v[{{}, {}, 3}] = 0 / 0, 0 / 0
      local out = attend(q, k, v, {key_mask = keep, causal = causal})
      near(out, want, 1e-12)
      assert.are.equal(0, out[2]:abs():max():item())
    end
    local q, k, v = inputs({}, 4, 4)
    near(attend(q, k, v, {key_mask = keep[1]}),
      plain(q, k, v, {keep = keep[1]}), 1e-12)
  end)

  it("leaves out keys behind valid_lens, be they NaN", function()
    local keep = heed.tensor {{true, true, true, false}, {false, false,
      false, false}}
    local q, k, v = inputs({2, 3}, 4, 4)
    local want = plain(q, k, v, {keep = keep:unsqueeze(2):unsqueeze(2)})
    k[{{}, {}, 4}], v[{{}, {}, 4}] = 0 / 0, 0 / 0
    near(attend(q, k, v, {valid_lens = {3, 0}}), want, 1e-12)
    local other = heed.tensor {{true, false, true, true}}
    local lens = heed.tensor {3, 0}
    near(attend(q, k, v, {valid_lens = lens, key_mask = other}),
      attend(q, k, v, {key_mask = keep & other}), 0)
    assert.equal("linear_attention: valid_lens must be int64 [2], one " ..
      "number a sequence, got int64 [3]", message(attend, q, k, v,
        {valid_lens = {1, 2, 3}}))
    assert.equal("linear_attention: valid_lens must lie in 0..4, the number " ..
      "of keys, got 5", message(attend, q, k, v, {valid_lens = {5, 1}}))
    assert.equal("linear_attention: valid_lens must be integers, got 1.5",
      message(attend, q, k, v, {valid_lens = {1.5, 1}}))
  end)

  it("gives nothing of masked keys to a gradient, be they NaN", function()
    local keep = heed.tensor {{true, true, false, true}}
    for _, causal in ipairs {false, true} do
      local q, k, v = inputs({1, 2}, 4, 4)
      local g = heed.ones({1, 2, 4, 3}, {dtype = "float64"})
      local want = both(plain, {q, k, v}, g, {causal = causal,
        keep = keep:unsqueeze(2):unsqueeze(2)})
      k[{{}, {}, 3}], v[{{}, {}, 3}] = 0 / 0, 0 / 0
      for _, recorded in ipairs {false, true} do
        check_near(both(attend, {q, k, v}, g, {causal = causal,
          key_mask = keep}, recorded), want, 1e-12)
      end
    end
  end)

  it("keeps a later NaN from earlier gradients when causal", function()
    local q, k, v = inputs({1}, 70, 70)
    local g = heed.ones({1, 70, 3}, {dtype = "float64"})
    g[{1, {66, 70}}] = 0
    local before = both(attend, {q, k, v}, g, {causal = true})
    k[{1, 66}], v[{1, 66}] = 0 / 0, 0 / 0
    local after = both(attend, {q, k, v}, g, {causal = true})
    for i = 1, 2 do
      near(after[i][{1, {1, 65}}], before[i][{1, {1, 65}}], 1e-12)
    end
  end)

  it("takes sizes of 0", function()
    for _, causal in ipairs {false, true} do
      local q, k, v = inputs({2}, 0, 0)
      assert.same({2, 0, 3}, attend(q, k, v, {causal = causal}).shape)
      q, k, v = inputs({0}, 4, 4)
      assert.same({0, 4, 3}, attend(q, k, v, {causal = causal}).shape)
    end
    local q, k, v = inputs({2}, 4, 0)
    assert.are.equal(0, attend(q, k, v):abs():max():item())
  end)

  it("gives the same bits for any number of threads", function()
    local before = heed.get_num_threads()
    for _, shape in ipairs {{2}, {8}} do
      local list = {inputs(shape, 2300, 2300, "float32", 16, 8)}
      local g = heed.randn(list[3].shape, {generator = heed.Generator(1)})
      for _, causal in ipairs {false, true} do
        local results = {}
        for threads = 1, 3 do
          heed.set_num_threads(threads)
          results[threads] = both(attend, list, g, {causal = causal})
        end
        heed.set_num_threads(before)
        for i = 1, 4 do
          assert.is_true(results[1][i]:equal(results[2][i]))
          assert.is_true(results[1][i]:equal(results[3][i]))
        end
      end
    end
  end)

  it("refuses what does not fit", function()
    local q, k, v = inputs({2}, 3, 4)
    assert.are.equal("linear_attention: q [2 3 5], k [2 4 3] and v [2 4 5] " ..
      "must be [.. Tq D], [.. Tk D] and [.. Tk Dv]", message(attend, q, v, k))
    assert.are.equal("linear_attention: causal needs as many queries as " ..
      "keys, got 3 and 4", message(attend, q, k, v, {causal = true}))
    assert.are.equal('linear_attention: feature must be "elu" or a function ' ..
      'of a tensor, got "relu"', message(attend, q, k, v, {feature = "relu"}))
    assert.are.equal("linear_attention: eps must be a number of at least 0, " ..
      "got -1", message(attend, q, k, v, {eps = -1}))
    assert.are.equal("linear_attention: key_mask must be a bool tensor, " ..
      "true where attending is allowed, got tensor float64 [2 3 5]",
      message(attend, q, k, v, {key_mask = q}))
    assert.are.equal('linear_attention: unknown option "scale"; known: ' ..
      "causal, eps, feature, key_mask, valid_lens",
      message(attend, q, k, v, {scale = 1}))
  end)
end)
