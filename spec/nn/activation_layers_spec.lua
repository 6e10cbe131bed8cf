-- Activations as modules. Numbers are those of PyTorch 2.13 at X.

local heed = require "heed"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local nn = heed.nn

local X <const> = heed.tensor {-3, -1.5, -0.4, 0, 0.3, 1.2, 4}

local wanted <const> = {
  {nn.ReLU(), {0, 0, 0, 0, 0.3, 1.2, 4}},
  {nn.ReLU6(), {0, 0, 0, 0, 0.3, 1.2, 4}},
  {nn.LeakyReLU(0.2), {-0.6, -0.3, -0.08, 0, 0.3, 1.2, 4}},
  {nn.PReLU(), {-0.75, -0.375, -0.1, 0, 0.3, 1.2, 4}},
  {nn.ELU(0.7), {-0.665149, -0.5438089, -0.230776, 0, 0.3, 1.2, 4}},
  {nn.SELU(), {-1.670569, -1.365814, -0.5796101, 0, 0.3152103, 1.260841,
    4.202804}},
  {nn.CELU {alpha = 1.3}, {-1.170662, -0.8899523, -0.3443161, 0, 0.3, 1.2, 4}},
  {nn.Mish(), {-0.1456475, -0.2980998, -0.1889165, 0, 0.2080014, 1.077946,
    3.997413}},
  {nn.SiLU(), {-0.1422776, -0.2736383, -0.1605249, 0, 0.1723328, 0.9222298,
    3.928055}},
  {nn.GELU(), {-0.004049867, -0.1002109, -0.1378313, 0, 0.1853734, 1.061916,
    3.999873}},
  {nn.GELU {approximate = "tanh"}, {-0.003637433, -0.1004284, -0.1378388, 0,
    0.1853709, 1.061703, 3.99993}},
  {nn.Softplus(2, 1), {0.001237843, 0.02429368, 0.1855503, 0.3465736, 0.518744,
    1.2, 4}},
  {nn.Softsign(), {-0.75, -0.6, -0.2857143, 0, 0.2307692, 0.5454546, 0.8}},
  {nn.Softmin(), {0.7142952, 0.1593808, 0.05305327, 0.03556266, 0.02634547,
    0.01071127, 0.0006513529}},
  {nn.Softmax(), {0.0008133632, 0.003645241, 0.01095091, 0.01633684,
    0.02205242, 0.05424021, 0.891961}},
  {nn.LogSoftmax(-1), {-7.114333, -5.614333, -4.514333, -4.114333, -3.814333,
    -2.914333, -0.1143328}},
  {nn.Hardtanh(-0.5, 2), {-0.5, -0.5, -0.4, 0, 0.3, 1.2, 2}},
  {nn.Hardswish(), {0, -0.375, -0.1733333, 0, 0.165, 0.84, 4}},
  {nn.Hardsigmoid(), {0, 0.25, 0.4333333, 0.5, 0.55, 0.7, 1}},
  {nn.LogSigmoid(), {-3.048587, -1.701413, -0.9130152, -0.6931472, -0.5543552,
    -0.2632824, -0.01814993}},
  {nn.Tanhshrink(), {-2.004945, -0.5948517, -0.02005103, 0, 0.008687377,
    0.3663454, 3.000671}},
  {nn.Softshrink {lambd = 0.35}, {-2.65, -1.15, -0.05, 0, 0, 0.85, 3.65}},
  {nn.Hardshrink(0.35), {-3, -1.5, -0.4, 0, 0, 1.2, 4}},
  {nn.Threshold(0.1, -7), {-7, -7, -7, -7, 0.3, 1.2, 4}},
  {nn.Sigmoid(), {0.04742587, 0.1824255, 0.4013124, 0.5, 0.5744425, 0.7685248,
    0.9820138}},
  {nn.Tanh(), {-0.9950548, -0.9051483, -0.379949, 0, 0.2913126, 0.8336546,
    0.9993293}},
  {nn.Identity(), {-3, -1.5, -0.4, 0, 0.3, 1.2, 4}},
}

describe("the module", function()
  for _, case in ipairs(wanted) do
    it(tostring(case[1]) .. " gives PyTorch's numbers", function()
      near(case[1](X), case[2], 2e-6)
    end)
  end

  it("GLU halves a dimension", function()
    near(nn.GLU(1)(heed.tensor {{3.0}, {0}}), {{1.5}})
  end)

  it("Softmax2d goes over the channels", function()
    near(nn.Softmax2d()(heed.zeros(1, 4, 1, 2)):flatten(),
      {0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25})
    assert.equal("Softmax2d: x must be [B C H W] or [C H W], got tensor " ..
      "float32 [7]", message(nn.Softmax2d(), X))
  end)

  it("PReLU learns a slope for each channel", function()
    local layer = nn.PReLU(2, {init = 0.5})
    layer(heed.tensor {{-2.0, 3}, {-1, -4}}):sum():backward()
    near(layer.weight.grad, {-3, -4}, 0)
    assert.equal("PReLU(2): weight [2] = 2", tostring(layer))
    assert.equal("PReLU: weight [2] must be [1] or [7], a number for each " ..
      "channel of x [7]", message(layer, X))
  end)

  it("shows its numbers, and refuses what is none", function()
    assert.equal("Softplus(2, 1)", tostring(nn.Softplus(2, 1)))
    assert.equal("Softplus: beta must be a number, got a table",
      message(nn.Softplus, {}, 1))
    assert.equal('ELU: unknown option "alfa"; known: alpha',
      message(nn.ELU, {alfa = 1}))
    assert.equal("Threshold: value must be a number, got nil",
      message(nn.Threshold, 1))
  end)
end)
