local heed = require "heed"
local message = require "spec.support.message"
local near = dofile "spec/nn/near.lua"
local optim = require "heed.optim"

local function parameter(values)
  return heed.tensor(values, {dtype = "float64", requires_grad = true})
end

local function set(p, values)
  local _ <close> = heed.no_grad()
  p:copy_(heed.tensor(values, {dtype = "float64"}))
end

describe("an average of weights", function()
  it("begins with the weights of the first update, then fades", function()
    local p, q = parameter {1., 2}, parameter(5.0)
    local average = optim.ExponentialMovingAverage({p, q}, {decay = 0.75})
    set(p, {2., 4})
    average:update()
    near(average.averages[1], {2, 4}, 0)
    set(p, {6., 8})
    average:update()
    near(average.averages[1], {3, 5}, 0)
    near(average.averages[2], 5.0, 0)
  end)

  it("counts all updates alike", function()
    local p = parameter {0.}
    local average = optim.StochasticWeightAverage {p}
    for i = 1, 4 do
      set(p, {i ^ 2})
      average:update()
    end
    near(average.averages[1], {(1 + 4 + 9 + 16) / 4}, 1e-14)
  end)

  it("stands in for the weights while a function runs", function()
    local p = parameter {1.}
    local average = optim.ExponentialMovingAverage({p}, {decay = 0.5})
    average:update()
    set(p, {3.})
    average:update()
    assert.equal(2, average:use(function() return p:item() end))
    assert.equal(3, p:item())
    assert.is_false(pcall(average.use, average, function() error("no") end))
    assert.equal(3, p:item())
    average:copy_to()
    assert.equal(2, p:item())
  end)

  it("goes on from a saved state", function()
    local p = parameter {1., 2}
    local one = optim.StochasticWeightAverage {p}
    one:update()
    local path = os.tmpname()
    local state = one:state_dict()
    heed.save_safetensors(path, state.tensors)
    local other = optim.StochasticWeightAverage {parameter {9., 9}}
    other:load_state_dict({settings = state.settings,
      tensors = heed.load_safetensors(path)})
    os.remove(path)
    set(p, {5., 7})
    set(other.params[1], {5., 7})
    one:update()
    other:update()
    near(one.averages[1], {3, 4.5}, 0)
    near(other.averages[1], {3, 4.5}, 0)
  end)

  it("takes no gradients and keeps no graph", function()
    local p = parameter {1.}
    local average = optim.ExponentialMovingAverage {p}
    average:update()
    average:update()
    assert.is_false(average.averages[1].requires_grad)
    assert.is_true(p.requires_grad and p.is_leaf)
  end)

  it("refuses what makes no sense", function()
    local name <const> = "ExponentialMovingAverage"
    local p = parameter {1.}
    assert.equal(name .. ": params is empty", message(optim[name], {}))
    assert.equal(name .. ": params[1] must be a float32 or float64 tensor, " ..
      "got tensor int64 [1]", message(optim[name],
        {heed.zeros({1}, "int64")}))
    assert.equal(name .. ": decay must be a number from 0 to 1, got 2",
      message(optim[name], {p}, {decay = 2}))
    local one = optim[name] {p}
    assert.equal("use: f must be a function, got 3",
      message(one.use, one, 3))
    assert.equal("load_state_dict: tensor 1 must be [1], got [2]",
      message(one.load_state_dict, one,
        optim[name]({parameter {1., 2}}):state_dict()))
    assert.equal("load_state_dict: tensor 1 must be [1], got nil",
      message(one.load_state_dict, one, {settings = {count = 0},
        tensors = {}}))
    assert.equal("load_state_dict: the state has more than 1 tensors",
      message(one.load_state_dict, one, optim[name]({p, p}):state_dict()))
  end)
end)
