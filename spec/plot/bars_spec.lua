local heed = require "heed"
local pictures = require "spec.support.pictures"
local plot = require "heed.plot"

local nan <const>, inf <const> = 0 / 0, math.huge
local blue <const>, orange <const> = {0, 114, 178}, {230, 159, 0}

local function case(name, f)
  it(name, function()
    if not pictures.has_gnuplot then return pending("no gnuplot") end
    f()
  end)
end

local function text_of(values, opts)
  local parts = {}
  local all = {color = false, utf8 = true, width = 60,
    file = {write = function(_, text)
      parts[#parts + 1] = text
      return true
    end}}
  for name, value in pairs(opts or {}) do all[name] = value end
  plot.bars(values, all)
  return table.concat(parts)
end

-- The picture's pixels and the places of its texts.
local function look(values, opts)
  local function draw(file)
    local all = {file = file}
    for name, value in pairs(opts or {}) do all[name] = value end
    plot.bars(values, all)
  end
  return pictures.pixels(draw), pictures.by_text(pictures.texts(draw))
end

describe("plot.bars in a picture", function()
  case("draws bars over their labels, as high as their values", function()
    local pixels, at = look({2, -1, 0, nan, 4},
      {labels = {"a", "b", "c", "d", "été"}})
    local middle, rows = {}, {}
    for _, label in ipairs {"a", "b", "c", "d", "été"} do
      middle[label], rows[label] = pictures.find(pixels, blue, at(label).x)
    end
    assert.near(0.5, rows.a / rows["été"], 0.02)
    assert.near(0.25, rows.b / rows["été"], 0.02)
    assert.is_true(not rows.c and not rows.d)
    -- the middles: 1, -0.5 and 2 units above 0
    assert.near((middle.b - middle.a) / 1.5, (middle.a - middle["été"]), 1.5)
    assert.is_truthy(at("not drawn: 1 NaN"))
  end)

  case("draws groups side by side, with a legend beside the chart", function()
    local pixels, at = look({{2, 4}, {1, 3}}, {labels = {"one", "two"},
      groups = {"first", "second"}})
    local x = at("one").x
    local _, left = pictures.find(pixels, blue, x - 50)
    -- the hatching takes a part of the second
    local _, right = pictures.find(pixels, orange, x + 50)
    assert.is_true(left > 0 and right > left)
    assert.is_nil(pictures.find(pixels, blue, x + 50))
    assert.is_true(at("first").x > at("two").x + 100)
    assert.is_truthy(pictures.find(pixels, orange, at("second").x - 20, 0,
      at("second").y + 8))
  end)

  case("draws errors from value - error to value + error", function()
    local pixels, at = look({4, 4}, {labels = {"a", "b"}, errors = {2, 0},
      ylim = {0, 8}})
    local middle, rows = pictures.find(pixels, {0, 0, 0}, at("a").x, 0,
      at("a").y - 14)
    local unit = (at("0").y - at("8").y) / 8
    assert.near(4 * unit, rows, 3)
    local _, without = pictures.find(pixels, blue, at("b").x)
    assert.near(4 * unit, without, 3)
    assert.near(middle, (at("0").y + at("8").y) / 2, 6)
  end)

  case("shows each of many labels", function()
    local values, labels = {}, {}
    for i = 1, 60 do values[i], labels[i] = i, "a long label " .. i end
    local _, at = look(values, {labels = labels})
    for i = 1, 60 do assert.equal(-45, at(labels[i]).angle) end
  end)

  case("draws what hardly has bars", function()
    for _, values in ipairs {{}, {0}, {0, 0}, {nan}, {-3, -1}, {inf},
      {1e308, -1e308}, {5e-324}, heed.zeros(0), {{}}} do
      local file = os.tmpname() .. ".svg"
      plot.bars(values, {file = file})
      local handle = assert(io.open(file))
      assert.is_truthy(handle:read("a"):find("</svg>", 1, true))
      handle:close()
      os.remove(file)
    end
  end)
end)

describe("plot.bars in a terminal", function()
  it("has lying bars with their values", function()
    -- 40 columns: 2 of labels, 3 of values, 4 between them, 31 for 0 to 10
    assert.equal(table.concat({
      "time",
      " a │███████████████▌ 5",
      "中 │███████████████████████████████ 10",
      " c │ 0",
      " d │ NaN",
      "   └─────┬─────┬──────┬─────┬─────┬",
      "   0     2     4      6     8    10",
      "                  ms",
      "not drawn: 1 NaN",
      "",
    }, "\n"), text_of({5, 10, 0, nan}, {labels = {"a", "中", "c", "d"},
      ylim = {0, 10}, width = 40, title = "time", ylabel = "ms"}))
  end)

  it("has negative bars to the left of 0", function()
    local text = text_of({10, -10}, {utf8 = false, ylim = {-10, 10},
      width = 30})
    local first, second = text:match("^(.-)\n(.-)\n")
    assert.equal("1            |########### 10", first)
    assert.equal("2 ###########| -10", second)
  end)

  it("tells groups apart without colour, and shows errors", function()
    local text = text_of({{8, 4}, {2, 6}}, {groups = {"x", "y"},
      labels = {"a", "b"}, errors = {{0.5, 1}, {0.25, 0}}})
    assert.is_truthy(text:find("█ x  ░ y\n", 1, true))
    assert.is_truthy(text:find("a │█[^\n]* 8 ± 0.5\n"))
    assert.is_truthy(text:find("  │░[^\n]* 4 ± 1\n"))
    assert.is_truthy(text:find("b │█[^\n]* 2 ± 0.25\n"))
    assert.is_truthy(text:find("  │░[^\n]* 6 ± 0\n"))
    local plain = text_of({{8, 4}}, {utf8 = false, errors = {{1, 1}}})
    assert.is_nil(plain:find("[\x80-\xFF]"))
    assert.is_truthy(plain:find("8 +- 1\n", 1, true))
  end)

  it("cuts a label that takes more than half of the width", function()
    local text = text_of({1}, {labels = {("x"):rep(99)}, width = 40})
    assert.is_truthy(text:find("^x+… │█"))
    for line in text:gmatch("[^\n]+") do
      assert.is_true(utf8.len(line) <= 40, line)
    end
  end)
end)

describe("plot.bars", function()
  it("takes lists and tensors alike", function()
    assert.equal(text_of({1, 2}), text_of(heed.tensor {1, 2}))
    assert.equal(text_of({1, 2}), text_of({{1}, {2}}))
    assert.equal(text_of({{1, 2}, {3, 4}}),
      text_of(heed.tensor {{1, 2}, {3, 4}}))
    assert.equal(text_of({{1, 2}, {3, 4}}),
      text_of({heed.tensor {1, 2}, {3, 4}}))
  end)

  local errors = {
    {"values must be a list of numbers or a tensor [n], got nil", nil},
    {"values[1][2] must be a number, got \"x\"", {{1, "x"}}},
    {"values[2] must have 2 values as values[1], got 1", {{1, 2}, {3}}},
    {"labels must have 2 entries for values [2 1], got 3", {1, 2},
      {labels = {"a", "b", "c"}}},
    {"labels[1] must be a string or a number, got a table", {1},
      {labels = {{}}}},
    {"groups must have 2 entries for values [1 2], got 1", {{1, 2}},
      {groups = {"a"}}},
    {"errors must be [2 1] as values, got [1 1]", {1, 2}, {errors = {1}}},
    {"errors[2] must be 0 or more, got -1", {1, 2}, {errors = {0, -1}}},
    {"ylim must have its low end below its high one, got 1 and 0", {1},
      {ylim = {1, 0}}},
    {"unknown option \"label\"; known: color, errors, file, groups, labels, "
      .. "title, utf8, width, xlabel, ylabel, ylim", {1}, {label = {"a"}}},
  }
  for _, one in ipairs(errors) do
    it("says: " .. one[1], function()
      assert.has_error(function() plot.bars(one[2], one[3]) end,
        "bars: " .. one[1])
    end)
  end
end)
