-- What the Tab key offers, by the text before the cursor.

local heed = require "heed"
local complete = require "heed.repl.complete"

describe("completion", function()
  local globals, files

  -- Sets globals for one spec.
  local function set(values)
    for name, value in pairs(values) do
      globals[#globals + 1] = name
      rawset(_G, name, value)
    end
  end

  before_each(function()
    globals, files = {}, {}
  end)

  after_each(function()
    for _, name in ipairs(globals) do rawset(_G, name, nil) end
  end)

  local function session(pending)
    return {host = {files = function(path) return files[path] end},
      columns = function() return 80 end, pending = pending,
      commands = {time = true, timeit = true, who = true}}
  end

  -- What is put at the cursor, and the names that are listed.
  local function tab(before, pending)
    local deleted, text, list = complete.line(before, session(pending))
    assert.equal(0, deleted)
    local listed = list and {}
    for name in (list or ""):gmatch "%S+" do listed[#listed + 1] = name end
    return text, listed
  end

  it("goes on to where names differ, then lists them", function()
    set {alpha_one = 1, alpha_two = 2}
    assert.equal("ha_", (tab "x = 1 + alp"))
    assert.same({"alpha_one", "alpha_two"}, select(2, tab "alpha_"))
  end)

  it("knows keywords", function()
    assert.equal("nction", (tab "x = fu"))
  end)

  it("follows fields, numbers and texts in brackets", function()
    set {tree = {branches = {{leaf = 1}}, ["odd name"] = {inside = 1}}}
    assert.equal("af", (tab "tree.branches[1].le"))
    assert.equal("side", (tab 'tree["odd name"].in'))
    assert.equal("anches", (tab "print(tree.br"))
  end)

  it("offers methods behind a colon, fields behind a dot", function()
    set {thing = setmetatable({size = 1}, {__index = {grow = print}})}
    assert.equal("", (tab "thing:si"))
    assert.equal("ow", (tab "thing:gr"))
    assert.equal("ze", (tab "thing.si"))
    assert.equal("b", (tab "('x'):gsu"))
  end)

  it("offers methods of a class for what its call gives", function()
    set {nn = heed.nn}
    assert.equal("rs", (tab "nn.Linear(2, 3):named_paramete"))
  end)

  it("does not run functions of the user's", function()
    local ran
    local trap = setmetatable({}, {__index = function()
      ran = true
      return {found = 1}
    end})
    set {trap = trap, make = function() ran = true return {found = 1} end}
    tab "trap.x.fo"
    tab "trap.fo"
    tab "make().fo"
    assert.is_nil(ran)
  end)

  it("hides names with _ in front until it is typed", function()
    set {object = {_hidden = 1, shown = 2}}
    assert.equal("shown", (tab "object."))
    assert.equal("hidden", (tab "object._"))
  end)

  it("offers options of a function in a table of its own", function()
    set {heed = heed, nn = heed.nn, F = heed.nn.functional,
      att = heed.nn.MultiHeadAttention(4, 2)}
    assert.equal("as = ", (tab "l = nn.Linear(2, 3, {bi"))
    assert.equal("usal = ",
      (tab "F.scaled_dot_product_attention(q, k, v, {mask = m, ca"))
    assert.equal("_weights = ", (tab "att(x, x, x, {need"))
    assert.equal("quires_grad = ", (tab "heed.randn({2, 3}, {re"))
    assert.equal("as = ", (tab("bi", "nn.Linear(2, 3, {\n")))
  end)

  it("offers values, not options, behind an equals sign", function()
    set {nn = heed.nn, biased = 1}
    assert.equal("sed", (tab "nn.Linear(2, 3, {bias = bia"))
  end)

  it("offers files in strings", function()
    files["."] = {"data.csv", "folder/", ".hidden"}
    files["folder/"] = {"inner.lua"}
    assert.equal('a.csv"', (tab 'io.open("dat'))
    assert.equal("er/", (tab "io.open('fold"))
    assert.equal("er.lua'", (tab "dofile('folder/inn"))
    assert.equal("dden'", (tab "dofile('.hi"))
    assert.equal("", (tab "dofile('data.csv') --"))
  end)

  it("offers commands, and the code behind them", function()
    set {alpha = 1}
    assert.equal("ho ", (tab "%w"))
    assert.same({"time", "timeit"}, select(2, tab "%time"))
    assert.equal("pha", (tab "%time al"))
  end)

  it("cuts a long list", function()
    local many = {}
    for i = 1, 500 do many[("n%03d"):format(i)] = i end
    set {many = many}
    local _, text, list = complete.line("many.n", session())
    assert.equal("", text)
    assert.matches("n120\n... 380 more\n$", list)
  end)

  it("indents where nothing stands before", function()
    assert.equal("  ", (tab "  "))
    assert.equal("  ", (tab("", "do\n")))
  end)

  it("survives any text", function()
    for _, text in ipairs {")", "]", "}.x", "x[", "a[b].", "'", "[[", "--[[",
      "1.", "..", ":", "f{", "f({{", "\\", "\255", "(", "a.b:c.d", "%", "?",
      "x[1][2", "((((", "nil.", "end."} do
      assert.has_no.errors(function() complete.line(text, session()) end)
    end
  end)
end)
