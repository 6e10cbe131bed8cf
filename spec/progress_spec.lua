local progress = require "heed.progress"
local width = require "heed.plot.width"

-- A bar that writes into a table, on a clock that the spec moves.
local function new(opts)
  local self = {now = 100, out = {}}
  local file = {write = function(file, ...)
    for _, text in ipairs {...} do self.out[#self.out + 1] = text end
    return file
  end}
  local all = {total = 100, title = "epoch 3/12", file = file, utf8 = true,
    width = 80, clock = function() return self.now end,
    isatty = function() return not opts.plain end}
  for name, value in pairs(opts) do
    if name ~= "plain" then all[name] = value end
  end
  self.bar = progress.new(all)
  function self.text() return table.concat(self.out) end
  -- the lines drawn, without what moves the cursor
  function self.lines()
    local lines = {}
    for line in self.text():gsub("\27%[K", "\n"):gmatch("([^\r\n]+)") do
      lines[#lines + 1] = line
    end
    return lines
  end
  return self
end

describe("progress in a terminal", function()
  local getenv = os.getenv
  before_each(function()
    os.getenv = function() return nil end -- luacheck: ignore
  end)
  after_each(function()
    os.getenv = getenv -- luacheck: ignore
  end)

  it("draws one line again and again", function()
    local p = new {}
    p.now = 142
    p.bar:update(50, {loss = 2.3141, rate = 5230.4, unit = "tok/s"})
    p.now = 184
    p.bar:finish()
    local bar = ("━"):rep(12)
    assert.equal("\repoch 3/12 " .. bar .. (" "):rep(12)
      .. "  50%  loss 2.314  5,230 tok/s  0:42 left\27[K"
      .. "\repoch 3/12 " .. bar .. (" "):rep(12)
      .. "  50%  loss 2.314  5,230 tok/s  1:24\27[K\n", p.text())
  end)

  it("draws at most ten times a second, and at the end", function()
    local p = new {total = 1000}
    for i = 1, 1000 do
      p.now = p.now + 1 / 512
      p.bar:update(i)
    end
    assert.is_true(#p.lines() <= 21, #p.lines())
    assert.truthy(p.lines()[#p.lines()]:find("100%", 1, true))
    for _ = 1, 50 do p.bar:update(1000) end
    assert.is_true(#p.lines() <= 21, #p.lines())
  end)

  it("stays within the terminal, marks and Chinese counted", function()
    for columns = 2, 60 do
      local p = new {width = columns, title = "训练 e\u{301}poque"}
      p.bar:update(50, {loss = 2.3, rate = 1e6, unit = "tok/s"})
      local line = p.lines()[1] or ""
      assert.is_true(width.text(line) < columns, columns .. ": " .. line)
    end
  end)

  it("draws in ASCII where the locale is not UTF-8", function()
    local p = new {utf8 = false, total = 48, title = ""}
    p.bar:update(25)
    assert.equal("============>            " .. " 52%  0:00 left",
      p.lines()[1])
  end)

  it("ends the line after an error in its scope", function()
    local p = new {}
    pcall(function()
      local bar <close> = p.bar
      bar:update(1)
      error("stop")
    end)
    assert.equal("\27[K\n", p.text():sub(-4))
  end)

  it("finishes by itself at the end of its scope", function()
    local p = new {}
    do
      local bar <close> = p.bar
      bar:update(100)
    end
    assert.equal("\27[K\n", p.text():sub(-4))
    assert.truthy(p.lines()[2]:find("100%  0:00", 1, true))
  end)
end)

describe("progress in a log", function()
  it("writes after 10 seconds and 10 %, and at the end", function()
    local p = new {plain = true}
    for i = 1, 100 do
      p.now = p.now + 0.75
      p.bar:update(i)
    end
    p.bar:finish("12.5 BLEU")
    assert.same({
      "epoch 3/12   1%  1:14 left",
      "epoch 3/12  15%  1:04 left",
      "epoch 3/12  29%  0:53 left",
      "epoch 3/12  43%  0:43 left",
      "epoch 3/12  57%  0:32 left",
      "epoch 3/12  71%  0:22 left",
      "epoch 3/12  85%  0:11 left",
      "epoch 3/12  99%  0:01 left",
      "epoch 3/12 100%  12.5 BLEU  1:15",
    }, p.lines())
    assert.is_nil(p.text():find("[\r\27]"))
  end)

  it("writes once a minute however slow the work is", function()
    local p = new {plain = true, total = 1e6}
    for i = 1, 150 do
      p.now = p.now + 1
      p.bar:update(i)
    end
    assert.equal(3, #p.lines())
  end)

  it("is plain in a terminal that calls itself dumb", function()
    local getenv = os.getenv
    os.getenv = function(name) -- luacheck: ignore
      return name == "TERM" and "dumb" or nil
    end
    local p = new {}
    os.getenv = getenv -- luacheck: ignore
    p.bar:finish()
    assert.equal("epoch 3/12   0%  0:00\n", p.text())
  end)
end)

describe("progress", function()
  -- the facts of one line in a log
  local function facts(opts, done, stats)
    opts.plain, opts.title = true, ""
    local p = new(opts)
    p.now = p.now + 10
    p.bar:update(done, stats)
    return p.lines()[1]
  end

  it("takes a total of 0 for done", function()
    assert.equal("100%", facts({total = 0}, 0))
    local p = new {total = 0}
    p.bar:update(0)
    p.bar:update(0)
    p.bar:finish()
    assert.equal(2, #p.lines())
  end)

  it("shows no more than 100 % and no less than 0", function()
    assert.equal("100%", facts({}, 250))
    assert.equal("  0%", facts({}, -3))
  end)

  it("shows 100 % only when all is done", function()
    assert.equal(" 99%  0:00 left", facts({total = 1000}, 999))
  end)

  it("shows numbers as a person reads them", function()
    local function loss(value) return facts({}, 0, {loss = value}):sub(7) end
    assert.equal("loss nan", loss(0 / 0))
    assert.equal("loss nan", loss(-(0 / 0)))
    assert.equal("loss inf", loss(math.huge))
    assert.equal("loss -inf", loss(-math.huge))
    assert.equal("loss 0.000", loss(0.0))
    assert.equal("loss 1.20e-05", loss(0.000012))
    assert.equal("loss 123.5", loss(123.456))
    assert.equal("loss 1,234,568", loss(1234567.8))
    assert.equal("loss -1,234", loss(-1234))
    assert.equal("loss 999,999", loss(999999))
    assert.equal("loss 1e+300", loss(1e300))
    assert.equal("loss a\\nb", loss("a\nb"))
  end)

  it("shows rates with their unit", function()
    local function rate(value, unit)
      return facts({}, 0, {rate = value, unit = unit}):sub(7)
    end
    assert.equal("5,230 tok/s", rate(5230.2, "tok/s"))
    assert.equal("500 it/s", rate(500.3))
    assert.equal("1.500 it/s", rate(1.5))
    assert.equal("nan it/s", rate(0 / 0))
    assert.equal("inf it/s", rate(math.huge))
  end)

  it("shows hours, and any guess of the time left", function()
    assert.equal("  1%  loss 1.000  16:30 left", facts({}, 1, {loss = 1.0}))
    assert.equal("  0%  2:46:30 left", facts({total = 1000}, 1))
    assert.truthy(facts({}, 1e-300):find("left", 1, true))
  end)

  it("keeps what an update leaves out", function()
    local p = new {plain = true, title = ""}
    p.bar:update(1, {loss = 2.0})
    p.bar:update(2, {rate = 3})
    p.bar:finish()
    assert.equal("  2%  loss 2.000  3 it/s  0:00", p.lines()[2])
  end)

  it("goes on when the clock is set back", function()
    local p = new {plain = true}
    p.bar:update(1)
    p.now = 50
    p.bar:update(2)
    p.bar:finish()
    assert.equal(3, #p.lines())
  end)

  it("finishes once", function()
    local p = new {plain = true}
    p.bar:finish()
    p.bar:finish()
    assert.equal(1, #p.lines())
    assert.has_error(function() p.bar:update(1) end,
      "update: the bar is finished")
  end)

  it("checks its arguments", function()
    local function error_of(opts, message)
      assert.has_error(function() progress.new(opts) end, message)
    end
    error_of({}, "progress: total must be a number of at least 0, got nil")
    error_of({total = -1},
      "progress: total must be a number of at least 0, got -1")
    error_of({total = math.huge},
      "progress: total must be a number of at least 0, got inf")
    error_of({total = 1, size = 2}, 'progress: unknown option "size"; known: '
      .. "clock, file, isatty, title, total, utf8, width")
    error_of({total = 1, width = 0.5},
      "progress: width must be a whole number from 2 to 10000, got 0.5")
    local p = new {plain = true}
    assert.has_error(function() p.bar:update("x") end,
      'update: done must be a number, got "x"')
    assert.has_error(function() p.bar:update(1, {los = 2}) end,
      'update: unknown option "los"; known: loss, rate, unit')
    assert.has_error(function() p.bar:finish(7) end,
      "finish: text must be a string, got 7")
  end)
end)
