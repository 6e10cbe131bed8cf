local heed = require "heed"
local message = require "spec.support.message"
local state = require "heed.train.state"

local nn <const>, optim <const>, train <const> = heed.nn, heed.optim, heed.train

-- Something with a state of any kind.
local function keeper(value)
  return {
    state_dict = function(self) return self.value end,
    load_state_dict = function(self, given) self.value = given end,
    value = value,
  }
end

describe("a checkpoint", function()
  local path
  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  local function through(value)
    train.save(path, {it = keeper(value)})
    local it = keeper()
    train.load(path, {it = it})
    return it.value
  end

  it("keeps numbers bit for bit, and their kind", function()
    local values = {0.1, 1.0, -0.0, 1 / 3, 5e-324, 2.0 ^ 1023, math.huge,
      -math.huge, 0, -7, 10 ^ 15, 123456789012345678, math.maxinteger,
      math.mininteger}
    local back = through(values)
    for i, value in ipairs(values) do
      assert.equal(math.type(value), math.type(back[i]))
      assert.equal(string.pack("n", value), string.pack("n", back[i]))
      assert.equal(value, back[i])
    end
    local nan = through({0.0 / 0.0})[1]
    assert.is_true(nan ~= nan)
  end)

  it("keeps texts and bytes", function()
    local values = {"", "a", "é", "=1", "@x", "#00", "'", "a\0b", "\xff\x00",
      heed.Generator(1):get_state()}
    assert.same(values, through(values))
  end)

  it("keeps tables", function()
    local value = {a = {1, {b = true}}, ["c.d"] = {}, e = {false, "x"}}
    assert.same(value, through(value))
  end)

  it("keeps tensors of every dtype, wherever they stand", function()
    for _, dtype in ipairs {"bool", "uint8", "int32", "int64", "float16",
      "bfloat16", "float32", "float64"} do
      local x = heed.tensor({{1, 0}, {1, 1}}, {dtype = dtype})
      local back = through({list = {x, {deep = x}}, ["list.1"] = x + 0})
      for _, y in ipairs {back.list[1], back.list[2].deep} do
        assert.equal(dtype, y.dtype)
        assert.is_true(x:equal(y))
      end
      assert.is_true(back["list.1"]:to(dtype):equal(x))
    end
  end)

  it("gives values back, and goes on with all generators", function()
    local own = heed.Generator(4)
    local net = nn.Sequential(nn.Linear(2, 2),
      nn.Dropout(0.5, {generator = heed.Generator(5)}))
    local parts = {net = net, own = own}
    train.save(path, parts, {epoch = 3, name = "x"})
    local function draw()
      return {heed.randn(2), heed.randn(2, {generator = own}),
        net(heed.ones(9, 2))}
    end
    local first = draw()
    draw()
    net[1].weight:detach():zero_()
    assert.same({epoch = 3, name = "x"}, train.load(path, parts))
    for i, x in ipairs(draw()) do assert.is_true(x:equal(first[i])) end
  end)

  it("goes on with an optimiser and its schedule", function()
    local function new()
      heed.manual_seed(1)
      local net = nn.Linear(3, 3)
      local optimizer = optim.AdamW(net:parameters(), {lr = 0.1})
      return {net = net, optimizer = optimizer,
        schedule = optim.StepLR(optimizer, 2)}
    end
    local function steps(parts, n)
      for _ = 1, n do
        parts.optimizer:zero_grad()
        parts.net(heed.ones(1, 3)):pow(2):sum():backward()
        parts.optimizer:step()
        parts.schedule:step()
      end
    end
    local one, other = new(), new()
    steps(one, 3)
    one.optimizer.groups[1].lr = 0.123 -- by hand: the schedule knows nothing
    train.save(path, one)
    train.load(path, other)
    assert.equal(0.123, other.optimizer.groups[1].lr)
    steps(one, 3)
    steps(other, 3)
    assert.is_true(one.net.weight:equal(other.net.weight))
  end)

  it("stays whole when a new one cannot be written", function()
    train.save(path, {it = keeper(1)})
    assert.equal("save: parts.it.f must be a number, text, boolean, tensor " ..
      "or a table of them, got a function",
      message(train.save, path, {it = keeper({f = print})}))
    local it = keeper()
    train.load(path, {it = it})
    assert.equal(1, it.value)
  end)

  it("says what it cannot keep", function()
    local function said(value)
      return message(train.save, path, {it = keeper(value)})
    end
    assert.equal("save: parts.it must be a list or have names as keys, got " ..
      "the key 3", said({1, [3] = 1}))
    assert.equal("save: parts.it must be a list or have names as keys, got " ..
      'the key "a"', said({1, a = 1}))
    assert.equal("save: parts.it must be a list or have names as keys, got " ..
      'the key "\\xFF"', said({["\xff"] = 1}))
    assert.equal("save: path must be a string, got 1", message(train.save, 1))
    assert.equal("save: parts must be a table, got nil",
      message(train.save, path))
    assert.equal("save: the name of a part must be a string, got 1",
      message(train.save, path, {keeper()}))
    assert.equal("save: parts.x must have state_dict and load_state_dict, " ..
      "or be a Generator, got 1", message(train.save, path, {x = 1}))
    assert.equal("save: parts.x must have state_dict and load_state_dict, " ..
      "or be a Generator, got tensor float32 [1]",
      message(train.save, path, {x = heed.ones(1)}))
    assert.equal("save: values must be a table, got 1",
      message(train.save, path, {}, 1))
  end)

  it("says what does not fit", function()
    train.save(path, {net = nn.Linear(2, 2), more = keeper(1)})
    local function said(parts) return message(train.load, path, parts) end
    assert.equal("load: " .. path .. " holds no state of other; it holds: " ..
      "more, net", said({other = nn.Linear(2, 2)}))
    assert.equal("load: " .. path .. ": net: load_state_dict: the tensors " ..
      "do not fit this Linear\n  other shapes: weight is [3 2] here and " ..
      "[2 2] there, bias is [3] here and [2] there",
      said({net = nn.Linear(2, 3)}))
    assert.equal("load: " .. path .. ": g has 0 random generators there and " ..
      "1 here", said({g = heed.Generator(1)}))
  end)

  it("says what is wrong with a file", function()
    local function said() return message(train.load, path, {}) end
    heed.save_safetensors(path, {}, {})
    assert.equal("load: " .. path ..
      ': format must be "heed.train.1", got nil', said())
    local function write(text)
      heed.save_safetensors(path, {}, {format = "heed.train.1", state = text})
    end
    write("1")
    assert.equal("load: " .. path ..
      " is damaged: its state is no JSON object", said())
    write('{"x": "@weight"}')
    assert.equal("load: " .. path .. " is damaged: its state holds " ..
      '"@weight", which stands for nothing', said())
    for _, text in ipairs {'"#0"', '"#zz"', '"=x"'} do
      write('{"x": ' .. text .. "}")
      assert.equal("load: " .. path .. " is damaged: its state holds " ..
        text .. ", which stands for nothing", said())
    end
    write("{}")
    assert.equal("load: " .. path .. " is damaged: a part of its state is " ..
      "missing", said())
    write('{"parts": {}, "values": 7, "generators": {"inner": {}}}')
    assert.equal("load: " .. path .. " is damaged: a part of its state is " ..
      "missing", said())
    write('{"parts": {}, "values": {}, "generators": {"inner": {"g": 7}}}')
    assert.equal("load: " .. path .. ": g has 0 random generators there and " ..
      "1 here", message(train.load, path, {g = heed.Generator(1)}))
    write('{"x"')
    -- the rest is cjson's, without a line of ours
    local start = "load: " .. path .. " is damaged: Expected"
    assert.equal(start, said():sub(1, #start))
  end)

  it("runs no code", function()
    heed.save_safetensors(path, {}, {format = "f",
      state = '{"x": "=os.exit()", "y": 1}'})
    assert.equal('load: ' .. path .. ' is damaged: its state holds ' ..
      '"=os.exit()", which stands for nothing',
      message(state.read, path, "f"))
  end)
end)
