-- Linear attention beside its formula, made through all weights.

local heed = require "heed"
local F = require "heed.nn".functional
local gradient = require "spec.support.gradient"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local attend <const> = F.linear_attention

-- q [.. Tq 5], k [.. Tk 5], v [.. Tk 3]
local function inputs(shape, tq, tk, dtype)
  local g = heed.Generator(tq + tk)
  local function draw(...)
    local sizes = {table.unpack(shape)}
    for _, size in ipairs {...} do sizes[#sizes + 1] = size end
    return heed.randn(sizes, {dtype = dtype or "float64", generator = g})
  end
  return draw(tq, 5), draw(tk, 5), draw(tk, 3)
end

local function elu(x) return F.elu(x) + 1 end

local function plain(q, k, v, o)
  local phi = o.feature or elu
  local w = phi(q):matmul(phi(k):transpose(-1, -2))
  if o.causal then w = w:tril() end
  if o.keep then w = heed.where(o.keep, w, 0) end
  return w:matmul(v) / (w:sum(-1, true) + (o.eps or 1e-6))
end

describe("linear attention", function()
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
    local q, k, v = inputs({1}, 3, 3)
    gradient.check(function(args)
      local a = args[1]
      -- in the gradient check itself nothing is recorded
      local _ <close> = heed.enable_grad()
      if not a.requires_grad then a = a:clone():requires_grad_() end
      local out = attend(a, k, v, {causal = true})
      return (heed.autograd.grad({(out * out):sum()}, {a},
        {create_graph = true})[1])
    end, {q}, {no_views = true})
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
    local q, k, v = inputs({2}, 300, 300, "float32")
    local results = {}
    for threads = 1, 3 do
      heed.set_num_threads(threads)
      results[threads] = attend(q, k, v, {causal = true})
    end
    heed.set_num_threads(before)
    assert.is_true(results[1]:equal(results[2]))
    assert.is_true(results[1]:equal(results[3]))
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
      "causal, eps, feature, key_mask",
      message(attend, q, k, v, {scale = 1}))
  end)
end)
