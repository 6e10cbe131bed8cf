-- Arguments that would do harm if ops ran the Lua code in them.

local heed = require "heed"
local message = require "spec.support.message"

local function close(t) getmetatable(t).__close(t) end

describe("a table of options", function()
  it("is read without metamethods", function()
    local x = heed.tensor {1, 5}
    local options = setmetatable({min = 2}, {__index = function()
      close(x)
    end})
    assert.same({2, 5}, x:clamp(options):totable())
    assert.same({1, 5}, x:totable())
  end)

  it("loses no memory over an error", function()
    local x = heed.tensor {1, 5}
    local options = setmetatable({}, {__index = function() error "no" end})
    collectgarbage()
    local used = heed.memory_stats().used
    for _ = 1, 100 do pcall(x.clamp, x, 1, options) end
    collectgarbage()
    assert.equal(used, heed.memory_stats().used)
  end)
end)

describe("a closed tensor", function()
  local closed = heed.ones {2}
  close(closed)

  it("is named as such", function()
    assert.equal("add: b must be a tensor or a number, got a closed tensor",
      message(heed.add, heed.ones {2}, closed))
    assert.equal("numel: x must be a tensor, got a closed tensor",
      message(closed.numel, closed))
    assert.equal("tensor: value must be a number or a boolean, got a closed " ..
      "tensor", message(heed.tensor, closed))
    assert.equal("norm: x must be a tensor, got a closed tensor",
      message(heed.linalg.norm, closed))
  end)

  it("equals nothing", function()
    assert.is_false(closed == heed.ones {2})
  end)
end)

describe("requires_grad", function()
  it("must be a boolean", function()
    assert.equal("tensor: requires_grad must be a boolean, got 1",
      message(heed.tensor, {1.5}, {requires_grad = 1}))
    assert.equal("requires_grad must be a boolean, got nil",
      message(function() heed.ones({2}).requires_grad = nil end))
  end)
end)

describe("a collection in the midst of an op", function()
  -- the allocation that fails makes all garbage go, with its finalizers
  it("closes no argument", function()
    local x = heed.tensor {1, 5}
    setmetatable({}, {__gc = function() close(x) end})
    assert.matches("^expand:", message(x.expand, x, {1 << 62, 2}))
    setmetatable({}, {__gc = function() close(x) end})
    pcall(function() return x:unsqueeze(1):expand(1 << 45, 2) + x end)
    assert.same({1, 5}, x:totable())
  end)
end)

describe("a function as an argument", function()
  local x = heed.ones {2}

  it("is asked for by name", function()
    for _, name in ipairs {"vjp", "jvp", "jacobian", "hessian",
      "checkpoint", "detect_anomaly", "no_grad"} do
      local f = heed.autograd[name]
      assert.equal(name .. ": f must be a function, got 5", message(f, 5, x))
    end
    assert.equal("enable_grad: f must be a function, got nil",
      message(heed.enable_grad, nil))
  end)

  it("may be anything that can be called", function()
    local double = setmetatable({}, {__call = function(_, t) return t * 2 end})
    assert.same({2, 2}, heed.no_grad(double, x):totable())
    assert.same({{2, 0}, {0, 2}},
      heed.autograd.jacobian(double, x):totable())
  end)
end)

it("a list of tensors is asked for as such", function()
  assert.equal("vstack: tensors[2] must be a tensor, got a table",
    message(heed.vstack, {heed.ones {2}, {1}}))
  assert.equal("normal: std must be a number of at least 0, got nil",
    message(heed.normal, heed.ones {2}))
end)

it("any integer is a correction", function()
  assert.same({0, 0}, heed.tensor({{1, 2}, {1, 2}}):var(1,
    {correction = math.mininteger}):totable())
end)
