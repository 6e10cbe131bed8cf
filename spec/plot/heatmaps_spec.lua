local heed = require "heed"
local plot = require "heed.plot"
local pictures = require "spec.support.pictures"

local function case(name, f)
  it(name, function()
    if not pictures.has_gnuplot then
      return pending("gnuplot is not installed")
    end
    f()
  end)
end

local function text_of(grid, opts)
  local written = {}
  local all = {width = 80, utf8 = true, color = false}
  for name, value in pairs(opts or {}) do all[name] = value end
  all.file = {write = function(self, text)
    written[#written + 1] = text
    return self
  end}
  plot.heatmaps(grid, all)
  return table.concat(written)
end

describe("plot.heatmaps", function()
  case("gives all maps one scale", function()
    local pixels = pictures.pixels(function(file)
      plot.heatmaps({{{0, 5}}, {{5, 10}}}, {cmap = "gray", file = file,
        row_labels = false, col_labels = false})
    end)
    -- 2 cells of 44, and 21 pixels between the maps
    local function at(k, j)
      return pictures.color(pixels, 14 + (k - 1) * 109 + (j - 0.5) * 44, 36)
    end
    assert.same({"0 0 0", "128 128 128", "128 128 128", "255 255 255"},
      {at(1, 1), at(1, 2), at(2, 1), at(2, 2)})
  end)

  case("labels the outer maps, each row and each column", function()
    local texts = pictures.texts(function(file)
      plot.heatmaps(heed.zeros(2, 3, 2, 2), {titles = {"h1", "h2", "h3"},
        row_titles = {"layer 1", "layer 2"}, row_labels = {"r1", "r2"},
        col_labels = {"c1", "c2"}, xlabel = "Keys", ylabel = "Queries",
        title = "All", file = file})
    end)
    local count = {}
    for _, text in ipairs(texts) do
      count[text.text] = (count[text.text] or 0) + 1
    end
    assert.same({h1 = 1, h2 = 1, h3 = 1, ["layer 1"] = 1, ["layer 2"] = 1,
      r1 = 2, r2 = 2, c1 = 3, c2 = 3, Keys = 3, Queries = 2, All = 1,
      ["0"] = 1}, count)
  end)

  case("takes a title for each map", function()
    local texts = pictures.texts(function(file)
      plot.heatmaps(heed.zeros(2, 2, 1, 1), {titles = {"a", "b", "c", "d"},
        row_labels = false, col_labels = false, file = file})
    end)
    local at = {}
    for _, text in ipairs(texts) do at[text.text] = text end
    assert.equal(at.a.x, at.c.x)
    assert.equal(at.a.y, at.b.y)
    assert.is_true(at.c.y > at.a.y)
  end)

  it("stands side by side in the terminal where the width allows", function()
    local maps = {{{0, 1}}, {{1, 0}}}
    assert.equal([[
a         b
   1 2     1 2
1 │  ██│  │██  │
   0 │    ░░░░▒▒▒▒▓▓▓▓████│ 1
]], text_of(maps, {titles = {"a", "b"}}))
    assert.equal([[
a
   1 2
1 │  ██│
b
   1 2
1 │██  │
   0 │  ░░▒▒▓▓██│ 1
]], text_of(maps, {titles = {"a", "b"}, width = 15}))
  end)

  it("goes on in the next row after some columns", function()
    assert.equal([[
   1     1
1 │  │  │▓▓│
   1
1 │██│
   0 │    ░░░░▒▒▒▒▓▓▓▓████│ 2
]], text_of({{{0}}, {{1.5}}, {{2}}}, {columns = 2}))
  end)

  it("takes tensors, rows of matrices, and lists of matrices", function()
    local x = heed.rand(2, 2, 3)
    local list = text_of(x)
    assert.equal(list, text_of({x[1], x[2]}))
    assert.equal(list, text_of({x:totable()}))
    assert.equal(list, text_of({{x[1], x[2]}}))
    assert.equal(list, text_of(x:reshape(1, 2, 2, 3)))
  end)

  it("checks its arguments", function()
    local function error_of(expected, grid, opts)
      assert.has_error(function() plot.heatmaps(grid, opts) end,
        "heatmaps: " .. expected)
    end
    local form = "grid must be a tensor [R C rows cols] or [C rows cols], or a "
      .. "table of rows of matrices, got "
    error_of(form .. "nil")
    error_of(form .. "tensor float32 [2 2]", heed.zeros(2, 2))
    error_of(form .. "tensor float32 [1 1 1 1 1]", heed.zeros(1, 1, 1, 1, 1))
    error_of("grid[2] row 2 must have 2 values as row 1, got 1",
      {{{1}}, {{1, 2}, {3}}})
    error_of("grid[2][1] must be a table of rows or a tensor [rows cols], "
      .. "got 3", {{{{1}}}, {3}})
    error_of("grid[2] has no matrix", {{{{1}}}, {}})
    error_of("columns is for a list of matrices, but grid has rows",
      heed.zeros(1, 2, 1, 1), {columns = 2})
    error_of("row_titles must have 1 entries (one for each row), got 2",
      heed.zeros(2, 1, 1), {row_titles = {"a", "b"}})
    error_of("titles[1] must be a string or a number, got a table",
      heed.zeros(1, 1, 1), {titles = {{}}})
    error_of("row_labels must have 1 entries for matrix [1 1], got 2",
      {{{1}, {2}}, {{1}}}, {row_labels = {"a", "b"}})
  end)
end)
