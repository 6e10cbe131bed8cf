local heed = require "heed"
local message = require "spec.support.message"
local nn = require "heed.nn"

local function names(module)
  local list = {}
  for name in module:named_parameters() do list[#list + 1] = name end
  return table.concat(list, " ")
end

local function scale(by)
  return nn.Sequential(function(x) return x * by end)
end

describe("a list of modules", function()
  local function new(...)
    local list = nn.Sequential()
    for _, by in ipairs {...} do list:append(scale(by)) end
    return list
  end

  -- What the parts multiply 1 by.
  local function factors(list)
    local found = {}
    for i, part in pairs(list) do found[i] = part(1) end
    return found
  end

  it("counts from the end with negative positions", function()
    local list = new(2, 3, 5)
    assert.equal(5, list[-1](1))
    assert.equal(2, list[-3](1))
    assert.is_nil(list[-4])
    assert.is_nil(list[4])
    local Own = nn.Sequential:extend("Own")
    assert.equal(3, Own(scale(2), scale(3))[-1](1))
  end)

  it("is gone through by pairs and ipairs", function()
    assert.same({2, 3}, factors(new(2, 3)))
    local n = 0
    for i, part in ipairs(new(2, 3)) do n = n + i * part(1) end
    assert.equal(8, n)
  end)

  it("takes parts in at any place", function()
    local list = new(2, 3)
    assert.equal(list, list:insert(1, scale(7)))
    list:insert(3, scale(11)):insert(-1, scale(13)):insert(6, scale(17))
    assert.same({7, 2, 11, 3, 13, 17}, factors(list))
    assert.equal(7 * 2 * 11 * 3 * 13 * 17, list(1))
  end)

  it("lets parts go", function()
    local list = new(2, 3, 5, 7)
    assert.equal(7, list:remove()(1))
    assert.equal(2, list:remove(1)(1))
    assert.equal(3, list:remove(-2)(1))
    assert.same({5}, factors(list))
    assert.equal(1, #list)
  end)

  it("names parameters by where they are now", function()
    local list = nn.ModuleList {nn.Linear(1, 1), nn.Linear(1, 2)}
    list:insert(1, nn.Linear(2, 2, {bias = false}))
    assert.equal("0.weight 1.weight 1.bias 2.weight 2.bias", names(list))
    list:remove(2)
    assert.equal("0.weight 1.weight 1.bias", names(list))
    list:append(nn.Linear(3, 3, {bias = false}))
    assert.equal("0.weight 1.weight 1.bias 2.weight", names(list))
  end)

  it("gives a part of itself", function()
    local list = new(2, 3, 5)
    assert.same({3, 5}, factors(list:slice(2)))
    assert.same({2, 3}, factors(list:slice(1, -2)))
    assert.same({}, factors(list:slice(3, 2)))
    assert.equal(list[2], list:slice(2)[1])
    assert.equal("Sequential", list:slice(1).__name)
  end)

  it("says what is wrong", function()
    local list = new(2, 3)
    assert.equal("insert: i must be 1..3 or -3..-1, got 4",
      message(list.insert, list, 4, scale(1)))
    assert.equal("remove: i must be 1..2 or -2..-1, got 0",
      message(list.remove, list, 0))
    assert.equal('slice: i must be 1..2 or -2..-1, got "a"',
      message(list.slice, list, 1, "a"))
    assert.equal("remove: the Sequential is empty",
      message(list.remove, nn.Sequential()))
    assert.equal("Sequential: part 1 must be a module or a function, got 3",
      message(list.insert, list, 1, 3))
    assert.equal("Sequential: part 2 must be a module or a function, got the "
      .. "class ReLU, which must be called: ReLU(...)",
      message(nn.Sequential, nn.Linear(2, 2), nn.ReLU))
    assert.equal("Sequential: part 1 must be a module or a function, got the "
      .. "class ReLU, which must be called: ReLU(...)",
      message(nn.Sequential, nn.ReLU))
    assert.equal("ModuleList: entry 1 must be a module, got a function",
      message(nn.ModuleList, {print}))
    assert.equal("ModuleList: modules must be a table, got 1",
      message(nn.ModuleList, 1))
  end)
end)

describe("ModuleDict", function()
  it("keeps the order of a list of pairs, and sorts a table", function()
    local dict = nn.ModuleDict {{"b", nn.Linear(1, 1)}, {"a", nn.ReLU()}}
    local found = {}
    for key, module in pairs(dict) do
      found[#found + 1] = key
      assert.equal(dict[key], module)
    end
    assert.same({"b", "a"}, found)
    assert.equal("a.weight a.bias b.weight b.bias",
      names(nn.ModuleDict {b = nn.Linear(1, 1), a = nn.Linear(1, 1)}))
  end)

  it("takes modules in and lets them go", function()
    local dict = nn.ModuleDict()
    assert.equal(0, #dict)
    dict.one = nn.Linear(1, 1)
    dict.two = nn.Linear(1, 1, {bias = false})
    assert.equal(2, #dict)
    assert.equal("one.weight one.bias two.weight", names(dict))
    dict.one = nil
    dict.none = nil
    assert.equal("two.weight", names(dict))
    assert.equal(1, #dict)
  end)

  it("is part of a model", function()
    local Net = nn.Module:extend("Net")
    function Net:init()
      self.heads = nn.ModuleDict {x = nn.Linear(2, 1), y = nn.Linear(2, 3)}
    end
    function Net:forward(x, head) return self.heads[head](x) end
    local net = Net()
    assert.same({4, 3}, net(heed.ones(4, 2), "y").shape)
    assert.equal("Net.heads.y.Linear: x [4 3] must end in 2, the input size " ..
      "of weight [3 2]", message(net, heed.ones(4, 3), "y"))
    assert.equal(4, #net:clone():parameters())
  end)

  it("says what is wrong", function()
    local dict = nn.ModuleDict()
    local function set(key, value) dict[key] = value end
    assert.equal("ModuleDict: x must be a module, got 1", message(set, "x", 1))
    assert.equal("ModuleDict: a key must be a string, got 1",
      message(set, 1, nn.ReLU()))
    assert.equal('ModuleDict: a key must hold a letter and no dot, got "a.b"',
      message(set, "a.b", nn.ReLU()))
    assert.equal('ModuleDict: the key "train" is taken by the dict itself',
      message(set, "train", nn.ReLU()))
    assert.equal('ModuleDict: the key "training" is taken by the dict itself',
      message(nn.ModuleDict, {training = nn.ReLU()}))
    assert.equal("ModuleDict: modules must be a table, got 1",
      message(nn.ModuleDict, 1))
    assert.equal("ModuleDict: modules[1] must be a table, got 2",
      message(nn.ModuleDict, {2}))
  end)
end)

describe("ParameterList", function()
  it("holds parameters under their positions", function()
    local p = nn.Parameter(heed.ones(2))
    local list = nn.ParameterList {p, heed.zeros(3)}
    assert.equal(p, list[1])
    assert.is_true(list[2].requires_grad)
    assert.equal("0 1", names(list))
    assert.equal(5, list:num_parameters())
    assert.equal(list[2], list[-1])
    assert.equal("ParameterList: [1] [2], [2] [3] = 5", tostring(list))
    list:append(heed.ones(1)):remove(1)
    assert.equal("0 1", names(list))
    assert.equal(1, list[-1]:numel())
  end)

  it("takes float tensors only", function()
    assert.equal("ParameterList: entry 1 must be a float tensor, got " ..
      "tensor int64 [1]", message(nn.ParameterList, {heed.tensor {1}}))
    assert.equal("ParameterList: tensors must be a table, got 1",
      message(nn.ParameterList, 1))
  end)
end)
