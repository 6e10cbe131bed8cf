-- Draws that are made of others. Numbers come from PyTorch 2.13 with the same
-- seed.

local heed = require "heed"
local message = require "spec.support.message"

describe("multinomial", function()
  local weights = {0.1, 0.2, 0.0, 0.3, 0.4}

  it("draws what PyTorch draws", function()
    heed.manual_seed(1)
    local p = heed.tensor(weights)
    assert.same({1, 4, 2}, p:multinomial(3):totable())
    assert.same({2, 4, 5, 4, 4, 4, 4, 5, 4, 1},
      p:multinomial(10, true):totable())
    assert.same({1}, p:multinomial(1):totable())
    assert.same({5, 5, 5, 5, 5, 2},
      p:to "float64":multinomial(6, true):totable())
  end)

  it("never draws a weight of 0, and always the only one", function()
    local p = heed.tensor {{0, 0, 2, 0}, {0, 1, 1, 0.0}}
    local drawn = p:multinomial(1000, true)
    assert.is_true(drawn[1]:eq(3):all():item())
    assert.is_true(drawn[2]:ge(2):logical_and(drawn[2]:le(3)):all():item())
    assert.same({2, 3}, p[2]:multinomial(2):sort():totable())
  end)

  it("draws by the weights", function()
    heed.manual_seed(5)
    local n <const> = 40000
    local drawn = heed.tensor(weights):multinomial(n, true)
    for i, w in ipairs(weights) do
      local share = drawn:eq(i):sum():item() / n
      -- four standard deviations
      assert.is_true(math.abs(share - w) <= 4 * math.sqrt(w * (1 - w) / n))
    end
  end)
end)

describe("normal", function()
  it("of numbers is what normal_ gives", function()
    heed.manual_seed(1)
    local x = heed.normal(3, 0.5, {20})
    heed.manual_seed(1)
    assert.same(heed.zeros {20}:normal_(3, 0.5):totable(), x:totable())
  end)

  it("of tensors scales and shifts, with gradients", function()
    local mean = heed.tensor({1, 100}, {dtype = "float32",
      requires_grad = true})
    local std = heed.tensor({{1}, {0}}, {dtype = "float32",
      requires_grad = true})
    heed.manual_seed(2)
    local x = heed.normal(mean, std)
    heed.manual_seed(2)
    local z = heed.randn {2, 2}
    assert.same({2, 2}, x.shape)
    assert.same((z * std + mean):totable(), x:totable())
    assert.same({1, 100}, x[2]:totable())
    x:sum():backward()
    assert.same({2, 2}, mean.grad:totable())
    assert.same(z:sum(2, true):totable(), std.grad:totable())
    assert.same({2, 1}, heed.normal(0, std).shape)
  end)

  it("wants what it needs", function()
    assert.equal("normal: std must be a number of at least 0, got -1",
      message(heed.normal, 0, -1, {2}))
    assert.equal("normal: shape must be a table, got nil",
      message(heed.normal, 0, 1))
  end)
end)

describe("fills of half floats", function()
  it("are rounded from float32", function()
    for _, dtype in ipairs {"float16", "bfloat16"} do
      heed.manual_seed(3)
      local x = heed.zeros({4, 5}, {dtype = dtype}):uniform_(-1, 1)
      heed.manual_seed(3)
      local wide = heed.zeros {4, 5}:uniform_(-1, 1)
      assert.equal(dtype, x.dtype)
      assert.same(wide:to(dtype):totable(), x:totable())
    end
  end)
end)

describe("the state of a generator", function()
  it("is all that goes on from there, the second normal of a pair too",
    function()
      local g = heed.Generator(7)
      heed.randn({3}, {generator = g})
      local state = g:get_state()
      local x = heed.randn({4}, {generator = g})
      g:set_state(state)
      assert.same(x:totable(), heed.randn({4}, {generator = g}):totable())
      heed.set_generator_state(state)
      assert.same(x:totable(), heed.randn({4}):totable())
    end)

  it("is the same string for the same state", function()
    assert.equal(heed.Generator(3):get_state(), heed.Generator(3):get_state())
    heed.manual_seed(3)
    assert.equal(heed.Generator(3):get_state(), heed.get_generator_state())
  end)

  it("is refused when it is none", function()
    local g = heed.Generator()
    local state = g:get_state()
    assert.equal('set_state: state must be a string of ' .. #state ..
      ' bytes from get_state, got "x"', message(g.set_state, g, "x"))
    assert.equal('set_generator_state: state must be a string of ' .. #state ..
      ' bytes from get_state, got nil', message(heed.set_generator_state, nil))
    assert.equal("set_state: the state is damaged",
      message(g.set_state, g, ("\255"):rep(#state)))
    assert.equal(state, g:get_state())
  end)
end)
