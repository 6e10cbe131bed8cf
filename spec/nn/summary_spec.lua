local heed = require "heed"
local message = require "spec.support.message"
local nn = require "heed.nn"

local function row(s, name)
  for _, found in ipairs(s.rows) do
    if found.name == name then return found end
  end
end

describe("a summary", function()
  it("prints as a table", function()
    local net = nn.Sequential(nn.Linear(20, 8), nn.ReLU(), nn.Linear(8, 4))
    net[1]:freeze()
    -- results: 32 * (8 + 8 + 4) floats; products: 32 * (20 * 8 + 8 * 4)
    assert.equal([[
layer                output  parameters  trainable   memory  mult-adds
Sequential           [32 4]           -          -        -          -
  [1] Linear(20, 8)  [32 8]         168          -  1.0 KiB      5,120
  [2] ReLU           [32 8]           -          -  1.0 KiB          -
  [3] Linear(8, 4)   [32 4]          36         36    512 B      1,024
]] .. "204 parameters (816 B), 36 trainable; results 2.5 KiB; " ..
      "6,144 mult-adds", tostring(nn.summary(net, heed.ones(32, 20))))
  end)

  it("can be cut at a depth", function()
    local net = nn.Sequential(nn.Sequential(nn.Linear(2, 2)))
    local text = tostring(nn.summary(net, heed.ones(1, 2), {depth = 1}))
    assert.truthy(text:find("[1] Sequential", 1, true))
    assert.is_nil(text:find("Linear", 1, true))
    assert.truthy(text:find("6 parameters", 1, true))
  end)

  it("counts the products of convolutions", function()
    local net = nn.Conv2d(4, 6, {3, 2}, {groups = 2, stride = 2})
    -- [2 4 9 8] -> [2 6 4 4]: each number out of 4/2 * 3 * 2 products
    local s = nn.summary(net, heed.ones(2, 4, 9, 8))
    assert.same({{2, 6, 4, 4}}, s.rows[1].outputs)
    assert.equal(2 * 6 * 4 * 4 * 12, s.mult_adds)
  end)

  it("counts the products of attention", function()
    local q, k = heed.ones(2, 3, 8), heed.ones(2, 5, 8)
    local s = nn.summary(nn.MultiHeadAttention(8, 2), {q, k, k})
    -- q, and the result, 6 x 8 x 8; k and v 10 x 8 x 8 each; two products
    -- [3 4] x [4 5] for each of 2 sequences and 2 heads
    assert.equal(2 * 6 * 64 + 2 * 10 * 64 + 2 * 2 * 2 * 3 * 4 * 5,
      s.mult_adds)
    local self_only = nn.summary(nn.MultiHeadAttention(8, 2),
      {q, {causal = true}})
    assert.equal(4 * 6 * 64 + 2 * 2 * 2 * 3 * 4 * 3, self_only.mult_adds)
    local first = nn.MultiHeadAttention(8, 2, {batch_first = false})
    assert.equal(s.mult_adds, nn.summary(first,
      {q:transpose(1, 2), k:transpose(1, 2)}).mult_adds)
  end)

  it("says what it does not know", function()
    local Own = nn.Module:extend("Own")
    function Own:init() self.w = nn.Parameter(heed.ones(2, 2)) end
    function Own:forward(x) return x:matmul(self.w) end
    local s = nn.summary(Own(), heed.ones(1, 2))
    assert.is_nil(s.rows[1].mult_adds)
    assert.truthy(tostring(s):find("\nOwn +%[1 2%] +4 +4 +8 B +%?\n"))
  end)

  it("counts shared parameters once and repeated calls all", function()
    local one = nn.Linear(2, 2)
    local net = nn.Sequential(one, one, nn.Linear(2, 2))
    net[3].weight = one.weight
    local s = nn.summary(net, heed.ones(5, 2))
    assert.equal(3, #s.rows)
    assert.equal(2, row(s, "0").calls)
    assert.equal(2 * 5 * 4, row(s, "0").mult_adds)
    assert.equal(6, row(s, "0").parameters)
    assert.equal(2, row(s, "2").parameters)
    assert.equal(net:num_parameters(), s.parameters)
    assert.truthy(tostring(s):find("[1] Linear(2, 2) x2", 1, true))
  end)

  it("shows layers that were not called, and results in tables", function()
    local Net = nn.Module:extend("Net")
    function Net:init() self.spare = nn.Linear(2, 2) end
    function Net:forward(x) -- luacheck: ignore self
      return x * 1, {x * 2, x[1] * 3}
    end
    local s = nn.summary(Net(), heed.ones(1, 2))
    assert.same({{1, 2}, {1, 2}, {2}}, s.rows[1].outputs)
    assert.equal(4 * 6, s.memory)
    assert.equal(0, row(s, "spare").calls)
  end)

  it("leaves no trace in the model", function()
    local Net = nn.Module:extend("Net")
    function Net:init()
      self.g = heed.Generator(1)
      self.drop = nn.Dropout(0.5, {generator = heed.Generator(2)})
      self:register_buffer("seen", heed.zeros(1))
      self.linear = nn.Linear(2, 2)
      self.calls = {0}
    end
    function Net:forward(x)
      self.seen:add_(1)
      self.calls[1] = self.calls[1] + 1
      return self.linear(self.drop(x + heed.randn(2) +
        heed.randn(2, {generator = self.g})))
    end
    local net = Net()
    net(heed.ones(1, 2)):sum():backward()
    net.drop:eval()
    local grad = net.linear.weight.grad:clone()
    local function states()
      return {heed.get_generator_state(), net.g:get_state(),
        net.drop.generator:get_state()}
    end
    local before = states()
    for _, training in ipairs {true, false} do
      nn.summary(net, heed.ones(1, 2), {training = training})
      assert.same(before, states())
      assert.is_true(net.training)
      assert.is_false(net.drop.training)
      assert.equal(1, net.seen:item())
      assert.same({1}, net.calls)
      assert.is_true(grad:equal(net.linear.weight.grad))
      assert.is_true(heed.is_grad_enabled())
    end
    pcall(nn.summary, net, heed.ones(1, 3))
    assert.same(before, states())
  end)

  it("says what is wrong", function()
    local net = nn.Linear(2, 2)
    assert.equal("summary: model must be a module, got 1",
      message(nn.summary, 1))
    assert.equal("summary: input must be a tensor or a list of arguments, " ..
      "got nil", message(nn.summary, net))
    assert.equal('summary: unknown option "deep"; known: depth, training',
      message(nn.summary, net, heed.ones(2), {deep = 1}))
    assert.equal("summary: depth must be a number of at least 0, got -1",
      message(nn.summary, net, heed.ones(2), {depth = -1}))
    assert.equal("summary: training must be a boolean, got 1",
      message(nn.summary, net, heed.ones(2), {training = 1}))
    assert.equal("Linear: x [3] must end in 2, the input size of weight [2 2]",
      message(nn.summary, net, heed.ones(3)))
  end)
end)
