-- Counts and edges that no argument gives are those of numpy 2.4
-- (histogram_bin_edges with bins="auto", histogram).

local bins = require "heed.plot.bins"
local heed = require "heed"
local pictures = require "spec.support.pictures"
local plot = require "heed.plot"

local nan <const>, inf <const> = 0 / 0, math.huge
local blue <const>, vermillion <const> = {0, 114, 178}, {213, 94, 0}

local function case(name, f)
  it(name, function()
    if not pictures.has_gnuplot then return pending("no gnuplot") end
    f()
  end)
end

-- i * i * 7 modulo 1013, in hundredths.
local function sequence(n)
  local list = {}
  for i = 1, n do list[i] = (i * i * 7 % 1013) / 100 end
  return list
end

local function ends(list)
  return math.min(table.unpack(list)), math.max(table.unpack(list))
end

local function text_of(values, opts)
  local parts = {}
  local all = {color = false, utf8 = true, width = 60, height = 8,
    file = {write = function(_, text)
      parts[#parts + 1] = text
      return true
    end}}
  for name, value in pairs(opts or {}) do all[name] = value end
  plot.hist(values, all)
  return table.concat(parts)
end

describe("bins", function()
  it("are as many as numpy's rule says", function()
    for n, count in pairs {[1] = 1, [2] = 2, [5] = 4, [30] = 6, [100] = 8,
      [1000] = 11, [5000] = 19} do
      local list = sequence(n)
      assert.equal(count, bins.count(list, ends(list)))
    end
    local long_tail, mostly_zero = {}, {}
    for i = 0, 999 do
      long_tail[i + 1] = math.exp((i * 37 % 1000) / 100)
      mostly_zero[i + 1] = i < 900 and 0 or (i - 900) / 10
    end
    assert.equal(62, bins.count(long_tail, ends(long_tail)))
    assert.equal(64, bins.count(mostly_zero, ends(mostly_zero)))
  end)

  it("are few for numbers that fill all floats", function()
    local greatest = 0x1.fffffffffffffp1023
    assert.is_true(bins.count({-greatest, 0, greatest}, -greatest, greatest)
      <= 3)
    local edges = bins.edges(-greatest, greatest, 2)
    assert.same({-greatest, 0, greatest}, edges)
    assert.same({0, 5e-324}, bins.edges(0, 5e-324, 9))
  end)

  it("hold numbers from the lower edge to below the upper one", function()
    local list = sequence(30)
    local low, high = ends(list)
    assert.same({11, 7, 5, 7}, (bins.fill(list, bins.edges(low, high, 4))))
    local counts, outside = bins.fill(list, {0, 1, 4, 9})
    assert.same({5, 10, 12}, counts)
    assert.equal(3, outside)
    local tenths = {}
    for i = 0, 10 do tenths[i + 1] = i / 10 end
    assert.same({1, 1, 1, 1, 1, 1, 1, 1, 1, 2},
      (bins.fill(tenths, bins.edges(0, 1, 10))))
  end)
end)

describe("plot.hist", function()
  case("draws heights in proportion to the counts", function()
    local values = {0.5, 1.5, 1.5, 1.5, 1.5, 3.5, 3.5}
    local function draw(file)
      plot.hist(values, {bins = {0, 1, 2, 3, 4}, file = file,
        xlabel = "value"})
    end
    local at = pictures.by_text(pictures.texts(draw))
    local pixels = pictures.pixels(draw)
    local middle = at("value").x -- of the chart, 520 pixels for 0 to 4
    local rows = {}
    for k, number in ipairs {0.5, 1.5, 2.5, 3.5} do
      local x = middle + (number - 2) * 520 / 4
      local _, count = pictures.find(pixels, blue, x)
      rows[k] = count or 0
    end
    assert.near(0.25, rows[1] / rows[2], 0.02)
    assert.equal(0, rows[3])
    assert.near(0.5, rows[4] / rows[2], 0.02)
  end)

  case("draws groups over each other, with a legend beside them", function()
    local function draw(file)
      plot.hist({{values = {1, 2, 2, 3}, label = "before"},
        {values = {7, 8, 8, 9}, label = "after"}}, {file = file})
    end
    local at = pictures.by_text(pictures.texts(draw))
    local pixels = pictures.pixels(draw)
    local x = at("before").x
    assert.equal(x, at("after").x)
    assert.is_true(x > 520)
    assert.is_truthy(pictures.find(pixels, blue, x - 20, 0,
      at("before").y + 8))
    assert.is_truthy(pictures.find(pixels, vermillion, x - 20,
      at("before").y, at("after").y + 8))
  end)

  case("draws what is hardly a distribution", function()
    for _, values in ipairs {{}, {5}, {nan, inf}, {3, 3, 3}, {1e308, -1e308},
      {0, 5e-324}, heed.zeros(0), {{}, {1}}} do
      for _, is_log in ipairs {false, true} do
        local file = os.tmpname() .. ".svg"
        plot.hist(values, {file = file, ylog = is_log})
        local handle = assert(io.open(file))
        assert.is_truthy(handle:read("a"):find("</svg>", 1, true))
        handle:close()
        os.remove(file)
      end
    end
  end)

  it("is columns of blocks in a terminal", function()
    -- 16 columns, four a bin; 4 rows for 0 to 4 * 1.05: 4 is 30 eighths high,
    -- 2 is 15 and 1 is 8
    assert.equal(table.concat({
      "count",
      "4 ┤    ▆▆▆▆",
      "  │    ████",
      "2 ┤    ████    ▇▇▇▇",
      "0 ┤████████    ████",
      "  └┬───┬───┬───┬──┬",
      "   0   1   2   3  4",
      "not drawn: 2 NaN, 1 infinite",
      "",
    }, "\n"), text_of({0.5, 1.5, 1.5, 1.5, 1.5, 3.5, 3.5, nan, inf, nan},
      {bins = {0, 1, 2, 3, 4}, width = 19, height = 4}))
  end)

  it("counts numbers outside of the bins", function()
    assert.is_truthy(text_of({1, 2, 3, 99, -5}, {bins = {0, 2, 4}})
      :find("not drawn: 2 outside\n", 1, true))
    assert.is_truthy(text_of({1, 2, 3, 99, -5}, {xlim = {0, 4}, bins = 2})
      :find("not drawn: 2 outside\n", 1, true))
  end)

  it("takes lists and tensors of any shape alike", function()
    local expected = text_of({1, 2, 2, 3})
    for _, values in ipairs {heed.tensor {1, 2, 2, 3}, {values = {1, 2, 2, 3}},
      heed.tensor {{1, 2}, {2, 3}}, {{1, 2, 2, 3}},
      {heed.tensor {{1, 2}, {2, 3}}}, {{values = heed.tensor {1, 2, 2, 3}}}} do
      assert.equal(expected, text_of(values))
    end
  end)

  it("with density has an area of 1", function()
    -- 12 of 27 numbers in [4, 9]: 12 / 27 / 5 = 0.0889, the others above
    local text = text_of(sequence(30), {bins = {0, 1, 4, 9}, density = true})
    assert.is_truthy(text:find("^density\n"))
    assert.is_truthy(text:find("0.1 ┤", 1, true))
    assert.is_nil(text:find("0.2 ┤", 1, true))
  end)

  it("gives the outlines of groups letters", function()
    local text = text_of({{1, 2, 2, 3}, {values = {5, 6, 6}, label = "b"}})
    assert.is_truthy(text:find("a values 1  b b\n", 1, true))
    local field = text:sub(1, text:find("└", 1, true))
    assert.is_truthy(field:find("a", 1, true) and field:find("b", 1, true))
  end)

  local errors = {
    {"values must be a list of numbers or a tensor [n], got nil", nil},
    {"values[2] must be a number, got \"x\"", {1, "x"}},
    {"values[2].values must be a list of numbers or a tensor [n], got nil",
      {{1}, {label = "a"}}},
    {"values[1] has the unknown key \"y\"; known: label, values", {{y = {1}}}},
    {"bins must be an integer of at least 1, got 0", {1}, {bins = 0}},
    {"bins must be an integer of at least 1, got 2.5", {1}, {bins = 2.5}},
    {"bins must have at least 2 edges, got 1", {1}, {bins = {1}}},
    {"bins must ascend, but bins[1] is 2 and bins[2] is 1", {1},
      {bins = {2, 1}}},
    {"bins[2] must be a finite number, got nan", {1}, {bins = {2, nan}}},
    {"xlim must have its low end below its high one, got 2 and 1", {1},
      {xlim = {2, 1}}},
    {"unknown option \"bin\"; known: bins, color, density, file, height, "
      .. "title, utf8, width, xlabel, xlim, ylabel, ylog", {1}, {bin = 2}},
  }
  for _, one in ipairs(errors) do
    it("says: " .. one[1], function()
      assert.has_error(function() plot.hist(one[2], one[3]) end,
        "hist: " .. one[1])
    end)
  end
end)
