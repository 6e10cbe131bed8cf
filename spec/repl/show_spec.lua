-- How the prompt shows values.

local heed = require "heed"
local show = require "heed.repl.show"

local function text(value, columns) return show.value(value, columns or 80) end

local function lines_of(s) return select(2, s:gsub("\n", "")) + 1 end

describe("the prompt shows", function()
  it("numbers, booleans and nil as Lua does", function()
    assert.equal("1", text(1))
    assert.equal("1.0", text(1.0))
    assert.equal("nan", text(0 / 0))
    assert.equal("nan", text(-(0 / 0)))
    assert.equal("true", text(true))
    assert.equal("nil", text(nil))
  end)

  it("strings in quotes, with what does not print made visible", function()
    assert.equal([["a\n\"b\" \\ \x1B é"]], text 'a\n"b" \\ \27 é')
  end)

  it("long strings cut, at a whole character", function()
    assert.equal('"' .. ("x"):rep(2000) .. '" ... 98,000 bytes more',
      text(("x"):rep(100000)))
    local cut = text(("é"):rep(100000))
    assert.is_truthy(utf8.len(cut))
    assert.equal('{"' .. ("x"):rep(60) .. '" ... 5 bytes more}',
      text({("x"):rep(65)}, 120))
  end)

  it("tables with the list first and the keys sorted", function()
    assert.equal('{1, 2, [-1] = 0, [2.5] = "f", a = true, ["b c"] = {}, '
      .. '["end"] = {x = 1}, [true] = 3}', text({1, 2, ["b c"] = {},
      a = true, [2.5] = "f", [-1] = 0, [true] = 3, ["end"] = {x = 1}}, 120))
  end)

  it("tables in tables indented where one line does not do", function()
    assert.equal('{\n  first = "aaaaaaaaaaaaaaa",\n  second = {\n'
      .. '    third = "bbbbbbbbbbbbbbb",\n    zeta = "cccccccccc"\n  }\n}',
      text({first = ("a"):rep(15), second = {third = ("b"):rep(15),
        zeta = ("c"):rep(10)}}, 40))
  end)

  it("cycles by the path that leads to the table", function()
    local t = {inner = {1}}
    t.inner.up, t.inner[2], t.self = t, t.inner, t
    assert.equal("{inner = {1, <_.inner>, up = <_>}, self = <_>}", text(t))
  end)

  it("a table twice that is there twice", function()
    local t = {1}
    assert.equal("{{1}, {1}}", text {t, t})
  end)

  it("large tables cut", function()
    local list, map = {}, {}
    for i = 1, 1000000 do list[i] = i end
    for i = 1, 30000 do map["key" .. i] = i end
    assert.matches("20,\n  ... 999,980 more\n}$", text(list))
    assert.matches("\n  ... 29,980 more\n}$", text(map))
    assert.is_true(lines_of(text(map)) < 30)
  end)

  it("wide and deep tables within a bound together", function()
    local function tree(depth)
      local t = {}
      for i = 1, 10 do t[i] = depth > 0 and tree(depth - 1) or i end
      return t
    end
    assert.is_true(lines_of(text(tree(4))) < 300)
    local deep = {}
    local at = deep
    for _ = 1, 100000 do at[1] = {} at = at[1] end
    assert.equal("{{{{{{{...}}}}}}}", text(deep))
  end)

  it("a list with holes by what there is", function()
    assert.equal("{1, [3] = 3}", text {1, nil, 3})
  end)

  it("objects by their __tostring, cut, and survives one that fails",
    function()
      local function object(f) return setmetatable({}, {__tostring = f}) end
      assert.equal("mine", text(object(function() return "mine" end)))
      assert.equal("<a table>", text(object(function() error "no" end)))
      local long = text(object(function() return ("x\n"):rep(1000) end))
      assert.equal(61, lines_of(long))
      assert.matches("\n... 941 lines more$", long)
    end)

  it("no more of metatables than __tostring", function()
    local t = setmetatable({1}, {__index = function() error "read" end,
      __pairs = function() error "walked" end, __len = function()
        error "measured" end})
    assert.equal("{1}", text(t))
  end)

  it("functions by parameters and place", function()
    local function f(a, b, ...) return a, b, ... end
    assert.matches("^function%(a, b, %.%.%.%) at .*show_spec%.lua:%d+$",
      text(f))
    assert.equal("function of C", text(print))
  end)

  it("tensors as they print, but within tables large ones by their shape",
    function()
      local x = heed.ones(2, 2)
      assert.equal(tostring(x), text(x))
      assert.equal("{<tensor float32 [30 30]>}", text {heed.zeros(30, 30)})
    end)

  it("a tensor of many elements without reading them", function()
    local x = heed.zeros(1):expand(1000000000)
    assert.is_true(lines_of(text(x)) < 10)
  end)

  it("several values on one line if they fit", function()
    local function values(...) return show.values(table.pack(...), 20) end
    assert.equal('1, nil, "a"', values(1, nil, "a"))
    assert.equal(('"%s"\n2'):format(("x"):rep(20)), values(("x"):rep(20), 2))
  end)
end)
