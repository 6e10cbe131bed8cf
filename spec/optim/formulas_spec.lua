-- Optimisers beside their formulas, written plainly in float64 over all
-- elements of a parameter; those that PyTorch has are in spec/golden too.

local heed = require "heed"
local optim = require "heed.optim"
local close = require "spec.support.close"

local STEPS <const> = 5

local function numbers(n, seed)
  local list = {}
  for i = 1, n do
    list[i] = ((i + seed) * 0.6180339887498949 % 1 - 0.5) * 3
  end
  return list
end

local function norm(list)
  local sum = 0
  for _, v in ipairs(list) do sum = sum + v * v end
  return sum ^ 0.5
end

-- The elements after each step, by a formula: f(x, g, t, state) changes x.
local function walk(f, x, grads)
  local state, after = {}, {}
  for t, g in ipairs(grads) do
    f(x, g, t, state)
    after[t] = table.move(x, 1, #x, 1, {})
  end
  return after
end

-- Runs an optimiser over the same, and compares after each step.
local function check(name, options, f, shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  local grads = {}
  for t = 1, STEPS do grads[t] = numbers(n, 40 * t) end
  local want = walk(f, numbers(n, 7), grads)
  for _, dtype in ipairs {"float64", "float32"} do
    local p = heed.tensor(numbers(n, 7), {dtype = dtype}):reshape(shape)
    p = p:detach():clone()
    p.requires_grad = true
    local optimizer = optim[name]({p}, options)
    local off = dtype == "float64" and 1e-12 or 1e-5
    for t = 1, STEPS do
      p.grad = heed.tensor(grads[t], {dtype = dtype}):reshape(shape)
      optimizer:step()
      local text = close.difference(p,
        heed.tensor(want[t], {dtype = "float64"}):reshape(shape),
        {atol = off, rtol = off})
      if text then
        error(("%s %s, step %d: %s"):format(name, dtype, t, text))
      end
    end
  end
end

-- Moves every element of a mean by a share towards new values.
local function move(mean, share, value, n)
  for i = 1, n do
    mean[i] = (mean[i] or 0) * (1 - share) + share * value(i)
  end
end

-- You et al., 2020, algorithm 2, with the identity as phi.
local function lamb(o)
  return function(x, g, t, s)
    s.m, s.v = s.m or {}, s.v or {}
    local sign, r = o.maximize and -1 or 1, {}
    move(s.m, 1 - o.betas[1], function(i) return sign * g[i] end, #x)
    move(s.v, 1 - o.betas[2], function(i) return g[i] ^ 2 end, #x)
    for i = 1, #x do
      local m = s.m[i] / (1 - o.betas[1] ^ t)
      local v = s.v[i] / (1 - o.betas[2] ^ t)
      r[i] = m / (v ^ 0.5 + o.eps) + o.weight_decay * x[i]
    end
    local size, step = norm(x), norm(r)
    local trust = size > 0 and step > 0 and size / step or 1
    for i = 1, #x do x[i] = x[i] - o.lr * trust * r[i] end
  end
end

describe("LAMB", function()
  for _, shape in ipairs {{3, 4}, {9001}, {1}, {}} do
    for _, maximize in ipairs {false, true} do
      it(("follows its formula, shape (%s)%s"):format(
        table.concat(shape, ", "), maximize and ", climbing" or ""), function()
          local o = {lr = 0.05, betas = {0.8, 0.9}, eps = 1e-3,
            weight_decay = maximize and 0.1 or 0, maximize = maximize}
          check("LAMB", o, lamb(o), shape)
        end)
    end
  end

  it("moves weights of zeros by the rate", function()
    local p = heed.zeros({2}, {dtype = "float64", requires_grad = true})
    local optimizer = optim.LAMB({p}, {lr = 0.1, eps = 0})
    p.grad = heed.tensor({3., -4}, {dtype = "float64"})
    optimizer:step()
    close.check("p", p:detach(), heed.tensor({-0.1, 0.1},
      {dtype = "float64"}), {atol = 1e-15, rtol = 0})
  end)

  it("leaves weights of zeros without gradient where they are", function()
    local p = heed.zeros({2}, {dtype = "float64", requires_grad = true})
    local optimizer = optim.LAMB({p}, {lr = 0.1, weight_decay = 0.1})
    p.grad = heed.zeros({2}, "float64")
    optimizer:step()
    assert.same({0.0, 0.0}, close.flat(p:detach()))
  end)
end)

-- Chen et al., 2023, program 1.
local function lion(o)
  return function(x, g, _, s)
    s.m = s.m or {}
    for i = 1, #x do
      local d, m = o.maximize and -g[i] or g[i], s.m[i] or 0
      local way = o.betas[1] * m + (1 - o.betas[1]) * d
      local sign = way > 0 and 1 or way < 0 and -1 or 0
      x[i] = x[i] - o.lr * (sign + o.weight_decay * x[i])
      s.m[i] = o.betas[2] * m + (1 - o.betas[2]) * d
    end
  end
end

describe("Lion", function()
  for _, maximize in ipairs {false, true} do
    it("follows its formula" .. (maximize and ", climbing" or ""), function()
      local o = {lr = 0.05, betas = {0.7, 0.9}, weight_decay = 0.1,
        maximize = maximize}
      for _, shape in ipairs {{3, 4}, {4099}, {}} do
        check("Lion", o, lion(o), shape)
      end
    end)
  end

  it("does not move what has no direction", function()
    local p = heed.ones({1}, {requires_grad = true})
    p.grad = heed.zeros(1)
    optim.Lion({p}, {lr = 1}):step()
    assert.equal(1, p:item())
  end)
end)

-- Shazeer and Stern, 2018, algorithms 4 and 5, with torch's order of settings.
local function adafactor(o, rows, columns)
  return function(x, g, t, s)
    local share = t ^ o.beta2_decay
    s.row, s.col, s.v = s.row or {}, s.col or {}, s.v or {}
    local function at(i, j) return g[(i - 1) * columns + j] end
    move(s.v, share, function(i) return g[i] ^ 2 end, rows and 0 or #x)
    move(s.row, share, function(i)
      local sum = 0
      for j = 1, columns do sum = sum + at(i, j) ^ 2 end
      return sum / columns
    end, rows or 0)
    move(s.col, share, function(j)
      local sum = 0
      for i = 1, rows do sum = sum + at(i, j) ^ 2 end
      return sum / rows
    end, rows and columns or 0)
    local mean, r = 0, {}
    for i = 1, rows or 0 do mean = mean + s.row[i] / rows end
    for k = 1, #x do
      local v = s.v[k]
      if rows then
        local i, j = (k - 1) // columns + 1, (k - 1) % columns + 1
        v = s.row[i] * s.col[j] / math.max(mean, o.eps[1])
      end
      r[k] = g[k] / math.max(v, o.eps[1] ^ 2) ^ 0.5
    end
    local root = (#x) ^ 0.5
    local rate = math.max(o.eps[2], norm(x) / root) *
      math.min(o.lr, 1 / t ^ 0.5) / math.max(1, norm(r) / root / o.d)
    for k = 1, #x do
      x[k] = x[k] * (1 - o.lr * o.weight_decay) - rate * r[k]
    end
  end
end

describe("Adafactor", function()
  local o <const> = {lr = 0.3, beta2_decay = -0.7, eps = {0.01, 0.2}, d = 1.1,
    weight_decay = 0.1}

  -- rows enough for many bands, and rows longer than a block
  for _, shape in ipairs {{3, 4}, {700, 130}, {70, 3}, {3, 9001}, {1, 5},
    {5, 1}} do
    it(("follows its formula, shape (%d, %d)"):format(shape[1], shape[2]),
      function()
        check("Adafactor", o, adafactor(o, shape[1], shape[2]), shape)
      end)
  end

  for _, n in ipairs {1, 5, 9001} do
    it(("follows its formula, %d elements"):format(n), function()
      check("Adafactor", o, adafactor(o), {n})
    end)
  end

  it("keeps a row and a column of each matrix", function()
    local p = heed.ones({2, 3, 4}, {requires_grad = true})
    p.grad = heed.ones(2, 3, 4)
    local optimizer = optim.Adafactor({p})
    optimizer:step()
    local tensors = optimizer:state_dict().tensors
    assert.same({2, 3, 1}, tensors["1.row_var"].shape)
    assert.same({2, 1, 4}, tensors["1.col_var"].shape)
    assert.is_nil(tensors["1.variance"])
  end)
end)
