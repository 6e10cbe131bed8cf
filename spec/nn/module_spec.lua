local heed = require "heed"
local message = require "spec.support.message"
local nn = require "heed.nn"
local near = dofile "spec/nn/near.lua"

local function names(module)
  local list = {}
  for name in module:named_parameters() do list[#list + 1] = name end
  return table.concat(list, " ")
end

local Net = nn.Module:extend("Net")

function Net:init(width)
  self.second = nn.Linear(3, width)
  self.first = nn.Linear(width, 2)
  self.scale = nn.Parameter(heed.ones(2))
end

function Net:forward(x) return self.first(self.second(x)) * self.scale end

describe("a module", function()
  it("finds parameters in the order in which fields were set", function()
    assert.equal("second.weight second.bias first.weight first.bias scale",
      names(Net(4)))
  end)

  it("is called like a function", function()
    local net = Net(4)
    local x = heed.randn(5, 3)
    near(net(x), net:forward(x))
  end)

  it("passes all results of forward on", function()
    local Two = nn.Module:extend("Two")
    function Two:forward(...) return ..., nil end -- luacheck: ignore self
    assert.equal(2, select("#", Two()(1)))
  end)

  it("inherits from the class that it extends", function()
    local Wide = Net:extend("Wide")
    function Wide:init() Wide.super.init(self, 8) end
    assert.same({8, 3}, Wide().second.weight.shape)
    assert.equal("class Wide", tostring(Wide))
  end)

  it("says when there is no forward", function()
    local Empty = nn.Module:extend("Empty")
    assert.equal("Empty: has no forward", message(Empty(), 1))
    assert.equal("Module: a method was called on nil; with a colon, as in "
      .. "net:parameters(), it gets its module", message(Empty.parameters))
  end)

  it("counts a shared tensor once", function()
    local net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[2].weight = net[1].weight
    assert.equal(3, #net:parameters())
    assert.equal("0.weight 0.bias 1.bias", names(net))
    assert.equal(15, net:num_parameters())
    net(heed.ones(1, 3)):sum():backward()
    assert.is_true(heed.is_tensor(net[2].weight.grad))
  end)

  it("counts a module that is used twice once", function()
    local one = nn.Linear(2, 2)
    local net = nn.Sequential(one, nn.ReLU(), one)
    assert.equal(2, #net:parameters())
    assert.equal(3, #net:modules()) -- the chain, the layer, the relu
  end)

  it("finds a parameter that became one after it was set", function()
    local M = nn.Module:extend("M")
    function M:init() self.w = heed.zeros(2) end
    local m = M()
    assert.equal("", names(m))
    m.w.requires_grad = true
    assert.equal("w", names(m))
  end)

  it("takes results of ops for no parameters", function()
    local M = nn.Module:extend("M")
    function M:init() self.w = nn.Parameter(heed.ones(2)) end
    function M:forward() self.last = self.w * 2 return self.last end
    local m = M()
    m()
    assert.equal("w", names(m))
  end)

  it("keeps frozen parameters", function()
    local net = Net(4):freeze()
    assert.equal(5, #net:parameters())
    assert.equal(0, net:num_parameters({trainable = true}))
    assert.is_false(net(heed.ones(1, 3)).requires_grad)
    net:unfreeze()
    assert.equal(net:num_parameters(), net:num_parameters({trainable = true}))
  end)

  it("survives a module that holds the one above it", function()
    local net = nn.Sequential(nn.Linear(2, 2))
    net[1].above = net
    assert.equal(2, #net:parameters())
    assert.equal(2, #net:modules())
    assert.is_string(tostring(net))
  end)

  it("applies a function from the inside out", function()
    local seen = {}
    nn.Sequential(nn.ReLU(), nn.Tanh()):apply(function(m)
      seen[#seen + 1] = m.__name
    end)
    assert.same({"ReLU", "Tanh", "Sequential"}, seen)
  end)

  it("applies a function once to what holds itself, and to functions only",
    function()
      local net = nn.Sequential(nn.ReLU())
      net[1].above = net
      local count = 0
      net:apply(function() count = count + 1 end)
      assert.equal(2, count)
      assert.equal("apply: f must be a function, got 1",
        message(net.apply, net, 1))
    end)

  it("switches all of it between training and evaluation", function()
    local net = nn.Sequential(nn.Sequential(nn.Dropout()))
    assert.is_true(net[1][1].training)
    net:eval()
    assert.is_false(net[1][1].training)
    net:train()
    assert.is_true(net[1][1].training)
    assert.equal("train: mode must be a boolean, got 1",
      message(net.train, net, 1))
  end)

  it("forgets gradients", function()
    local net = Net(2)
    net(heed.ones(1, 3)):sum():backward()
    net:zero_grad()
    for _, p in ipairs(net:parameters()) do assert.is_nil(p.grad) end
  end)

  it("changes its dtype, and shared tensors stay shared", function()
    local net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[2].weight = net[1].weight
    net:to("float64")
    assert.equal("float64", net[1].bias.dtype)
    assert.is_true(net[1].bias.requires_grad)
    assert.equal(net[1].weight, net[2].weight)
    assert.equal('to: dtype must be "float16", "bfloat16", "float32" or ' ..
      '"float64", got "int64"', message(net.to, net, "int64"))
  end)

  it("in halves computes as float32 does with weights rounded to them",
    function()
      local x = heed.randn(2, 3, 8)
      for _, half in ipairs {"float16", "bfloat16"} do
        local net = nn.Sequential(nn.Linear(8, 8),
          nn.MultiHeadAttention(8, 2, {add_bias_kv = true}), nn.LayerNorm(8))
        net[3].weight = nn.Parameter(heed.rand(8))
        local rounded = net:clone():to(half)
        assert.equal(half, rounded[1].weight.dtype)
        local y = rounded(x)
        assert.equal("float32", y.dtype)
        rounded:to("float32")
        assert.equal("float32", rounded[1].weight.dtype)
        near(y, rounded(x), 0)
        assert.is_true((y - net(x)):abs():max():item() > 0)
      end
    end)

  it("has children and named modules", function()
    local net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
    local found = {}
    for name in net:named_modules() do found[#found + 1] = name end
    assert.same({"", "0", "1", "1.0"}, found)
    assert.equal(2, #net:children())
    for key, child in net:named_children() do
      assert.equal(net[key], child)
    end
  end)
end)

describe("buffers", function()
  local Norm = nn.Module:extend("Norm")
  function Norm:init()
    self:register_buffer("mean", heed.zeros(2))
    self:register_buffer("table", heed.ones(3), {persistent = false})
  end

  it("are state, not parameters", function()
    local found = {}
    for name in Norm():named_buffers() do found[#found + 1] = name end
    assert.same({"mean", "table"}, found)
    assert.equal(0, #Norm():parameters())
    local state = Norm():state_dict()
    assert.is_true(heed.is_tensor(state.mean))
    assert.is_nil(state.table)
  end)

  it("must be tensors", function()
    assert.equal("register_buffer: x must be a tensor, got 1",
      message(Norm().register_buffer, Norm(), "x", 1))
  end)
end)

describe("a copy", function()
  it("has tensors of its own, with the same values", function()
    local net = Net(4)
    local copy = net:clone()
    near(copy.first.weight, net.first.weight)
    assert.is_false(copy.first.weight:shares(net.first.weight))
    assert.equal(names(net), names(copy))
    assert.is_true(copy.scale.requires_grad)
  end)

  it("shares inside what was shared inside", function()
    local net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[2].weight = net[1].weight
    local copy = net:clone()
    assert.equal(copy[1].weight, copy[2].weight)
    assert.equal(3, #copy:parameters())
  end)
end)

describe("a copy of what a module holds besides tensors", function()
  it("shares classes and functions, and has tables of its own", function()
    local M = nn.Module:extend("M")
    function M:init()
      self.class, self.f, self.settings = nn.ReLU, print, {1, {2}}
    end
    local one = M()
    local copy = one:clone()
    assert.equal(nn.ReLU, copy.class)
    assert.equal(print, copy.f)
    assert.same(one.settings, copy.settings)
    assert.not_equal(one.settings, copy.settings)
    assert.not_equal(one.settings[2], copy.settings[2])
  end)
end)

describe("state_dict", function()
  it("lists names in order", function()
    local list = {}
    for name in pairs(nn.Sequential(nn.Linear(1, 1), Net(1)):state_dict()) do
      list[#list + 1] = name
    end
    assert.same({"0.weight", "0.bias", "1.second.weight", "1.second.bias",
      "1.first.weight", "1.first.bias", "1.scale"}, list)
  end)

  it("goes into another module of the kind", function()
    local one, other = Net(4), Net(4)
    local missing, unexpected = other:load_state_dict(one:state_dict())
    assert.same({}, missing)
    assert.same({}, unexpected)
    local x = heed.randn(2, 3)
    near(other(x), one(x), 0)
    assert.is_false(other.scale:shares(one.scale))
  end)

  it("goes through a file", function()
    local path = os.tmpname()
    local one, other = Net(4), Net(4)
    heed.save_safetensors(path, one:state_dict())
    other:load_state_dict(heed.load_safetensors(path))
    os.remove(path)
    near(other.first.weight, one.first.weight, 0)
  end)

  it("lists a shared tensor once, or by all names", function()
    local net = nn.Sequential(nn.Linear(2, 2, {bias = false}),
      nn.Linear(2, 2, {bias = false}))
    net[2].weight = net[1].weight
    local state = net:state_dict()
    assert.is_nil(state["1.weight"])
    assert.is_true(heed.is_tensor(net:state_dict({aliases = true})["1.weight"]))
  end)

  it("fills a shared tensor by any of its names", function()
    local net = nn.Sequential(nn.Linear(2, 2, {bias = false}),
      nn.Linear(2, 2, {bias = false}))
    net[2].weight = net[1].weight
    net:load_state_dict({["1.weight"] = heed.ones(2, 2)})
    near(net[1].weight, {{1, 1}, {1, 1}}, 0)
    assert.equal(net[1].weight, net[2].weight)
  end)

  it("lists all that does not fit in one error, and changes nothing",
    function()
      local net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
      local before = net[2].bias:detach():clone()
      local state = {["0.weight"] = heed.ones(3, 3), ["1.bias"] =
        heed.ones(1), ["1.weight"] = heed.ones(1, 4), z = heed.ones(1),
        y = heed.ones(1)}
      assert.equal("load_state_dict: the tensors do not fit this Sequential" ..
        "\n  missing: 0.bias\n  unexpected: y, z\n  other shapes: " ..
        "0.weight is [3 2] here and [3 3] there, " ..
        "1.weight is [1 3] here and [1 4] there",
        message(net.load_state_dict, net, state))
      near(net[2].bias, before, 0)
    end)

  it("may leave names out when not strict", function()
    local net = nn.Linear(2, 3)
    local missing, unexpected = net:load_state_dict({bias = heed.ones(3),
      more = heed.ones(1)}, {strict = false})
    assert.same({"weight"}, missing)
    assert.same({"more"}, unexpected)
    near(net.bias, {1, 1, 1}, 0)
  end)

  it("takes tensors only", function()
    assert.equal("load_state_dict: weight must be a tensor, got 1",
      message(nn.Linear(2, 3).load_state_dict, nn.Linear(2, 3),
        {weight = 1, bias = heed.ones(3)}))
  end)
end)

describe("an error inside a module", function()
  local function where(f, ...)
    local _, text = pcall(f, ...)
    return text:match("^(.-):%d+: ")
  end

  it("says where in the model, once", function()
    local net = nn.Sequential(nn.Linear(20, 8), nn.ReLU(), nn.Linear(12, 4))
    assert.equal("Sequential[3].Linear: x [8 8] must end in 12, the input " ..
      "size of weight [4 12]", message(function() net(heed.ones(8, 20)) end))
    assert.equal("Linear: x [8 20] must end in 12, the input size of weight " ..
      "[4 12]", message(function() net[3](heed.ones(8, 20)) end))
  end)

  it("goes through lists and fields", function()
    local List = nn.Module:extend("List")
    function List:init() self.parts = nn.ModuleList {Net(2), Net(3)} end
    function List:forward(x)
      self.parts[1](x)
      return self.parts[2](x[{{}, {1, 2}}])
    end
    local list = List()
    assert.equal("List.parts[2].second.Linear: x [1 2] must end in 3, the " ..
      "input size of weight [3 3]",
      message(function() list(heed.ones(1, 3)) end))
  end)

  it("points at the user's line", function()
    local net = nn.Sequential(nn.Linear(2, 2))
    assert.matches("module_spec.lua$",
      where(function() net(heed.ones(1, 3)) end))
  end)

  it("leaves values that are no strings as they are", function()
    local Odd = nn.Module:extend("Odd")
    local thing = {}
    function Odd:forward() error(thing) end -- luacheck: ignore self
    local ok, err = pcall(Odd())
    assert.is_false(ok)
    assert.equal(thing, err)
  end)

  it("does not disturb later calls, nor coroutines", function()
    local net = nn.Sequential(nn.Linear(2, 2))
    local inside = coroutine.wrap(function(x)
      while true do x = coroutine.yield(net(x)) end
    end)
    assert.same({1, 2}, inside(heed.ones(1, 2)).shape)
    pcall(net, heed.ones(1, 3))
    assert.same({1, 2}, net(heed.ones(1, 2)).shape)
    assert.same({1, 2}, inside(heed.ones(1, 2)).shape)
  end)
end)

describe("print", function()
  it("shows a tree with shapes and counts", function()
    local net = nn.Sequential(nn.Linear(20, 8), nn.ReLU(), nn.Linear(8, 4))
    net[3]:freeze()
    assert.equal([[
Sequential: 204 parameters
  [1] Linear(20, 8): weight [8 20], bias [8] = 168
  [2] ReLU
  [3] Linear(8, 4): weight [4 8] frozen, bias [4] frozen = 36]],
      tostring(net))
  end)

  it("groups the digits of counts", function()
    assert.equal("Linear(1111, 1111): weight [1111 1111] = 1,234,321",
      tostring(nn.Linear(1111, 1111, {bias = false})))
  end)
end)
