-- Activations that are put together in Lua. Values: PyTorch, float64.

local close = require "spec.support.close"
local gradient = require "spec.support.gradient"
local heed = require "heed"
local message = require "spec.support.message"
local sample = require "spec.support.sample"

local F <const> = heed.nn.functional

local function double(list) return heed.tensor(list, {dtype = "float64"}) end

local X <const> = {-3, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 3}

-- By name: values and gradients at X.
local known <const> = {
  selu = {
    {-1.67056872876711, -1.36581435336725, -1.11133073781256,
      -0.691758187802871, 0, 0.52535049367774, 1.05070098735548,
      1.57605148103322, 3.15210296206644},
    {0.0875306120802649, 0.392284987480124, 0.646768603034814,
      1.06634115304451, 1.75809934084738, 1.05070098735548,
      1.05070098735548, 1.05070098735548, 1.05070098735548},
  },
  softsign = {
    {-0.75, -0.6, -0.5, -1 / 3, 0, 1 / 3, 0.5, 0.6, 0.75},
    {0.0625, 0.16, 0.25, 4 / 9, 1, 4 / 9, 0.25, 0.16, 0.0625},
  },
  tanhshrink = {
    {-2.00494524631327, -0.594851746355134, -0.238405844044235,
      -0.0378828427399903, 0, 0.0378828427399903, 0.238405844044235,
      0.594851746355134, 2.00494524631327},
    {0.99013396283456, 0.819293361076351, 0.580025658385974,
      0.213552267034073, 0, 0.213552267034073, 0.580025658385974,
      0.819293361076351, 0.99013396283456},
  },
}

-- At the kinks: what PyTorch takes there.
local kinks <const> = {
  relu = {{0, -1}, {0, 0}}, relu6 = {{0, 6, 3}, {0, 0, 1}},
  hardtanh = {{-1, 1, 0}, {0, 0, 1}}, leaky_relu = {{0, 1}, {0.01, 1}},
  hardshrink = {{-0.5, 0.5, 0, 1}, {0, 0, 0, 1}},
  softshrink = {{-0.5, 0.5, 0, 1}, {0, 0, 0, 1}},
  hardsigmoid = {{-3, 3, 0}, {0, 0, 1 / 6}},
  hardswish = {{-3, 3, 0}, {0, 1, 0.5}}, elu = {{0, 1}, {1, 1}},
}

describe("activations", function()
  for name, pair in pairs(known) do
    it("has the values and gradients of " .. name, function()
      local x = double(X)
      x.requires_grad = true
      local y = F[name](x)
      y:sum():backward()
      close.check(name, y, pair[1], {atol = 1e-13, rtol = 1e-13})
      close.check("gradient", x.grad, pair[2], {atol = 1e-13, rtol = 1e-13})
    end)
  end

  for name, pair in pairs(kinks) do
    it("has PyTorch's gradients at the kinks of " .. name, function()
      for _, again in ipairs {false, true} do
        local x = double(pair[1])
        x.requires_grad = true
        local g = heed.grad(F[name](x):sum(), x, {create_graph = again})
        close.check(name, g, pair[2],
          {atol = 1e-14})
      end
    end)
  end

  it("has the values of celu", function()
    close.check("celu", F.celu(double {-3, -0.5, 0, 3}, 1.5),
      {-1.29699707514508, -0.425203034139316, 0, 3}, {atol = 1e-13})
    assert.equal("celu: alpha must not be 0",
      message(F.celu, double {1}, 0))
  end)

  it("halves a dimension in glu", function()
    local x = double {{1, -2, 3, -4}, {0.5, 0, -1, 2}}
    close.check("glu", F.glu(x), {{0.9525741268224334, -0.03597241992418312},
      {0.13447071068499755, 0}}, {atol = 1e-14})
    close.check("glu", F.glu(x, 1), {{0.6224593312018546, -1,
      0.8068242641099853, -3.5231883119115293}}, {atol = 1e-14})
    gradient.check(function(args) return F.glu(args[1]) end, {x})
    assert.same({2, 0}, F.glu(heed.zeros {2, 0}).shape)
    assert.equal("glu: dim -1 of x [2 3] must have an even size",
      message(F.glu, heed.zeros {2, 3}))
    assert.equal("glu: dim must be 1..1 or -1..-1 for x [2], got 3",
      message(F.glu, heed.zeros {2}, 3))
    assert.equal("glu: x has no dimensions to halve",
      message(F.glu, heed.zeros {}))
  end)

  it("takes a weight for each channel in prelu", function()
    local x = double {1, -2, 3, -4, 0.5, 0, -1, 2}:reshape(2, 2, 2)
    local w = double {0.1, 0.5}
    assert.same({{{1, -0.2}, {3, -2}}, {{0.5, 0}, {-0.5, 2}}},
      F.prelu(x, w):totable())
    gradient.check(function(args) return F.prelu(args[1], args[2]) end,
      {sample.real {2, 2, 3}, w})
    gradient.check(function(args) return F.prelu(args[1], args[2]) end,
      {sample.real {4}, double {0.3}})
    assert.equal("prelu: weight [3] must be [1] or [2], a number for each " ..
      "channel of x [2 2 2]", message(F.prelu, x, heed.ones {3}))
  end)
end)
