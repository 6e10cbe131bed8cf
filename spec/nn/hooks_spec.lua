local heed = require "heed"
local message = require "spec.support.message"
local nn = require "heed.nn"
local near = dofile "spec/nn/near.lua"

-- Gives its arguments back.
local Same = nn.Module:extend("Same")
function Same:forward(...) return ... end -- luacheck: ignore self

describe("a forward pre-hook", function()
  it("sees the module and all arguments, in the order of the hooks", function()
    local same, seen = Same(), {}
    same:register_forward_pre_hook(function(m, ...)
      seen[1] = {m, select("#", ...), ...}
    end)
    same:register_forward_pre_hook(function() seen[2] = #seen end)
    assert.same({1, nil, 3}, {same(1, nil, 3)})
    assert.same({same, 3, 1, nil, 3}, seen[1])
    assert.equal(1, seen[2])
  end)

  it("may replace the arguments", function()
    local same = Same()
    same:register_forward_pre_hook(function(_, x) return x * 2, "more" end)
    same:register_forward_pre_hook(function(_, x, y) return x + 1, y end)
    assert.same({7, "more"}, {same(3)})
  end)

  it("must be a function", function()
    assert.equal("register_forward_pre_hook: f must be a function, got 1",
      message(Same().register_forward_pre_hook, Same(), 1))
  end)
end)

describe("a forward hook", function()
  it("sees the arguments and the results", function()
    local same, seen = Same(), nil
    same:register_forward_hook(function(m, args, ...)
      seen = {m, args.n, args[1], ...}
    end)
    assert.same({4, 5}, {same(4, 5)})
    assert.same({same, 2, 4, 4, 5}, seen)
  end)

  it("may replace the results", function()
    local same = Same()
    same:register_forward_hook(function(_, _, x) return x, x end)
    same:register_forward_hook(function(_, _, x, y) return x + y end)
    assert.same({6}, {same(3)})
  end)

  it("sees the gradient through the result", function()
    local net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    local seen
    net[1]:register_forward_hook(function(_, _, y)
      y:register_hook(function(g) seen = g:clone() end)
    end)
    local y = net(heed.ones(1, 2)) * 2
    y:sum():backward()
    assert.same({1, 3}, seen.shape)
  end)

  it("must be a function", function()
    assert.equal("register_forward_hook: f must be a function, got nil",
      message(Same().register_forward_hook, Same()))
  end)
end)

describe("hooks", function()
  it("run inside a model as outside", function()
    local net, names = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), {}
    for name, m in net:named_modules() do
      m:register_forward_hook(function() names[#names + 1] = name end)
    end
    net(heed.ones(1, 2))
    assert.same({"0", "1", ""}, names)
  end)

  it("end when they are removed, also while they run", function()
    local same, count = Same(), 0
    local handle
    handle = same:register_forward_hook(function()
      count = count + 1
      handle:remove()
      handle:remove()
    end)
    local other = same:register_forward_hook(function()
      count = count + 10
    end)
    same(1)
    same(1)
    assert.equal(21, count)
    other:remove()
    same(1)
    assert.equal(21, count)
  end)

  it("may be the last one and take itself away before forward", function()
    local same = Same()
    local handle
    handle = same:register_forward_pre_hook(function() handle:remove() end)
    assert.equal(5, same(5))
    assert.equal(5, same(5))
  end)

  it("leave a module's parameters and their names alone", function()
    local net = nn.Linear(2, 2)
    net:register_forward_hook(function() end)
    assert.equal(2, #net:parameters())
    assert.equal("Linear(2, 2): weight [2 2], bias [2] = 6", tostring(net))
  end)

  it("go along with a copy, and are removed apart", function()
    local same, count = Same(), 0
    local handle = same:register_forward_hook(function() count = count + 1 end)
    local copy = same:clone()
    handle:remove()
    same(1)
    assert.equal(0, count)
    copy(1)
    assert.equal(1, count)
  end)

  it("have their errors placed in the model", function()
    local net = nn.Sequential(nn.Linear(2, 2))
    net[1]:register_forward_hook(function(_, _, y)
      return nn.functional.linear(y, heed.ones(2, 3))
    end)
    assert.equal("Sequential[1].Linear: x [1 2] must end in 3, the input " ..
      "size of weight [2 3]", message(net, heed.ones(1, 2)))
  end)

  it("do not run when forward itself is called", function()
    local same, count = Same(), 0
    same:register_forward_hook(function() count = count + 1 end)
    near(same:forward(heed.ones(1)), {1})
    assert.equal(0, count)
  end)
end)
