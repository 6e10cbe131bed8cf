local heed = require "heed"
local plot = require "heed.plot"

local nan <const> = 0 / 0

-- Options for text that depends on nothing outside.
local function plain(opts)
  local all = {color = false, utf8 = true, width = 80}
  for name, value in pairs(opts or {}) do all[name] = value end
  return all
end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  return lines
end

describe("plot.render", function()
  it("draws cells between labels, with the range below", function()
    assert.same({
      "weights",
      "      the cat",
      "  le │████    │",
      "chat │░░░░▓▓▓▓│",
      "      0 │    ░░░░▒▒▒▒▓▓▓▓████│ 1",
    }, lines_of(plot.render({{1, 0}, {0.2, 0.7}}, plain {
      row_labels = {"le", "chat"}, col_labels = {"the", "cat"},
      title = "weights",
    })))
  end)

  it("writes in ASCII where the locale is not UTF-8", function()
    assert.same({
      "   1 2",
      "1 |  @@|",
      "2 |==xx|",
      "   0 |  ..::--==++**##%%@@| 1  xx not a number (1)",
    }, lines_of(plot.render({{0, 1}, {0.4, nan}}, plain {utf8 = false})))
  end)

  it("writes long column labels downwards, standing on the map", function()
    assert.same({
      "     l",
      "     o",
      "   a n",
      "   b g",
      "1 │  ██│",
    }, {table.unpack(lines_of(plot.render({{0, 1}},
      plain {col_labels = {"ab", "long"}, width = 12})), 1, 5)})
  end)

  it("aligns labels by what they take in the terminal", function()
    local lines = lines_of(plot.render({{0, 1}, {1, 0}}, plain {
      row_labels = {"e\u{301}te\u{301}", "中文"}, col_labels = {"中文", "é"},
      width = 13,
    }))
    assert.equal("      中", lines[1])
    assert.equal("      文 é", lines[2])
    assert.equal(" e\u{301}te\u{301} │   ███│", lines[3])
    assert.equal("中文 │███   │", lines[4])
  end)

  it("splits a map that is wider than the terminal", function()
    local row = {}
    for j = 1, 25 do row[j] = j end
    local lines = lines_of(plot.render({row}, plain {width = 24}))
    assert.equal("columns 1 to 10 of 25", lines[1])
    assert.equal("columns 11 to 20 of 25", lines[5])
    assert.equal("columns 21 to 25 of 25", lines[9])
    assert.equal("   2 2 2 2 2", lines[10])
    assert.equal("   1 2 3 4 5", lines[11])
    for _, line in ipairs(lines) do
      assert.is_true(utf8.len(line) <= 24, line)
    end
  end)

  it("never cuts a column label, however narrow the terminal", function()
    local text = plot.render({{1, 2}, {3, 4}}, plain {
      col_labels = {"attention", "heads"}, width = 2, row_labels = false,
    })
    assert.equal("attentionheads", (text:gsub("[^%a]", ""):gsub("columnstoof",
      "")))
  end)

  it("cuts a row label that takes more than half of the width", function()
    local lines = lines_of(plot.render({{0, 1}}, plain {
      row_labels = {("x"):rep(99)}, width = 20,
    }))
    assert.equal(("x"):rep(12) .. "… │  ██│", lines[2])
  end)

  it("numbers what has no labels, and leaves labels out if told so", function()
    assert.equal("   1 2\n1 │  ██│\n   0 │    ░░░░▒▒▒▒▓▓▓▓████│ 1\n",
      plot.render({{0, 1}}, plain()))
    assert.equal("│  ██│\n0 │    ░░░░▒▒▒▒▓▓▓▓████│ 1\n",
      plot.render({{0, 1}}, plain {row_labels = false, col_labels = false}))
  end)

  it("draws what is not a number in a way of its own", function()
    local text = plot.render({{nan, nan}}, plain())
    assert.equal("   1 2\n1 │××××│\n   ×× not a number (2)\n", text)
  end)

  it("counts what lies outside the range", function()
    local text = plot.render({{-math.huge, 0, 1, 5}}, plain {vmax = 1})
    assert.truthy(text:find("│ 1  1 below the range  1 above the range\n", 1,
      true), text)
  end)

  it("keeps the ends of a narrow range apart", function()
    local text = plot.render({{1, 1.000001}}, plain())
    assert.truthy(text:find("  1 │", 1, true))
    assert.truthy(text:find("│ 1.000001\n", 1, true))
  end)

  it("shows one value as one shade", function()
    assert.equal("   1 2\n1 │▒▒▒▒│\n   │▒▒│ 3\n",
      plot.render({{3, 3}}, plain()))
  end)

  it("takes ranges that overflow", function()
    local text = plot.render({{-1e308, 0, 1e308}}, plain())
    assert.truthy(text:find("│  ▒▒██│", 1, true), text)
  end)

  it("draws booleans as 0 and 1", function()
    assert.equal(plot.render({{0, 1}}, plain()),
      plot.render({{false, true}}, plain()))
  end)

  it("takes objects with a totable method, whole or as rows", function()
    local function tensor(values)
      return setmetatable({}, {__index = {
        totable = function() return values end,
      }})
    end
    local expected = plot.render({{0, 1}, {1, 0}}, plain())
    assert.equal(expected, plot.render(tensor {{0, 1}, {1, 0}}, plain()))
    assert.equal(expected,
      plot.render({tensor {0, 1}, tensor {1, 0}}, plain()))
  end)

  it("draws colours when told to", function()
    local text = plot.render({{0, 1}}, {color = true, width = 80, utf8 = true,
      cmap = "gray", row_labels = {"a"}, col_labels = false})
    assert.truthy(text:find("a \27[38;2;0;0;0;48;2;0;0;0m  \27[0m\27[38;2;0;"
      .. "0;0;48;2;255;255;255m  \27[0m\n", 1, true),
      (text:gsub("\27", "ESC")))
  end)

  it("keeps control characters of labels out of the terminal", function()
    local text = plot.render({{0, 1}}, plain {
      row_labels = {"\27[2J\n"}, title = "a\rb",
    })
    assert.is_nil(text:find("[\27\r]"))
  end)
end)

describe("plot.show", function()
  -- What a function of plot writes to the terminal.
  local function shown(draw, x, opts)
    local parts = {}
    local all = plain {width = 40, file = {write = function(_, text)
      parts[#parts + 1] = text
      return true
    end}}
    for name, value in pairs(opts or {}) do all[name] = value end
    draw(x, all)
    return table.concat(parts)
  end

  it("draws what its argument is", function()
    local history = {{epoch = 1, loss = 2}, {epoch = 2, loss = 1}}
    local cases = {
      {"lines", {3, 1, 2}}, {"lines", heed.tensor {3, 1, 2}},
      {"lines", {y = {3, 1, 2}}}, {"lines", {{y = {1, 2}}, {y = {2, 1}}}},
      {"lines", history}, {"lines", heed.zeros(0)},
      {"heatmap", {{1, 2}, {3, 4}}}, {"heatmap", heed.eye(3)},
      {"heatmap", {heed.tensor {1, 2}, heed.tensor {3, 4}}},
      {"image", heed.rand(3, 4, 4)}, {"image", heed.rand(1, 4, 4)},
      {"image", heed.rand(3, 4, 4):totable()},
      {"heatmaps", heed.rand(2, 3, 3)}, {"heatmaps", heed.rand(2, 2, 3, 3)},
    }
    for _, case in ipairs(cases) do
      local name, x = table.unpack(case)
      local text = shown(plot.show, x)
      assert.equal(shown(plot[name], x), text)
      assert.equal(text, plot.render(x, plain {width = 40}))
    end
  end)

  it("takes the options of the kind that it draws", function()
    local text = shown(plot.show, {3, 1, 2}, {ylog = true, height = 5})
    assert.equal(shown(plot.lines, {3, 1, 2}, {ylog = true, height = 5}), text)
    assert.has_error(function() shown(plot.show, {3, 1, 2}, {cmap = "gray"})
    end, "show: unknown option \"cmap\"; known: color, file, height, keys, "
      .. "title, utf8, width, xlabel, xlim, xlog, ylabel, ylim, ylog")
  end)

  it("writes what render returns", function()
    local written = {}
    local file = {write = function(self, text)
      written[#written + 1] = text
      return self
    end}
    plot.show({{0, 1}}, {file = file, utf8 = true})
    assert.equal("   1 2\n1 │  ██│\n   0 │    ░░░░▒▒▒▒▓▓▓▓████│ 1\n",
      table.concat(written))
  end)

  it("says that it cannot write", function()
    local file = {write = function() return nil, "No space left" end}
    assert.has_error(function() plot.show({{1}}, {file = file}) end,
      "show: cannot write: No space left")
  end)
end)

describe("an error of a picture", function()
  local cases = {
    {"matrix must be a table of rows or a tensor [rows cols], got nil"},
    {"matrix must be a table of rows or a tensor [rows cols], got \"ab\"",
      "ab"},
    {"matrix has no rows", {}},
    {"matrix [2 0] has no columns", {{}, {}}},
    {"matrix row 2 must be a table of numbers, got 2", {{1}, 2}},
    {"matrix row 3 must have 2 values as row 1, got 1", {{1, 2}, {3, 4}, {5}}},
    {"matrix element [2][1] must be a number, got \"x\"", {{1}, {"x"}}},
    {"matrix element [1][1] must be a number, got a table", {{{{{1}}}}}},
    {"row_labels must have 2 entries for matrix [2 1], got 1", {{1}, {2}},
      {row_labels = {"a"}}},
    {"col_labels must have 1 entries for matrix [2 1], got 3", {{1}, {2}},
      {col_labels = {"a", "b", "c"}}},
    {"col_labels[1] must be a string or a number, got a table", {{1}},
      {col_labels = {{}}}},
    {"row_labels must be a table or false, got true", {{1}},
      {row_labels = true}},
    {"title must be a string, got 7", {{1}}, {title = 7}},
    {"row_labels must be a table or a boolean, got \"a\"", {{1}},
      {row_labels = "a"}},
    {"unknown option \"colour\"; known: cmap, col_labels, color, file, "
      .. "row_labels, title, utf8, vmax, vmin, width, xlabel, ylabel", {{1}},
      {colour = 1}},
    {"options must be a table, got 7", {{1}}, 7},
    {"cmap must be one of Reds, gray, magma, viridis, got \"jet\"", {{1}},
      {cmap = "jet"}},
    {"vmin 2 must be below vmax 1", {{1}}, {vmin = 2, vmax = 1}},
    {"vmax must be finite, got inf", {{1}}, {vmax = math.huge}},
    {"width must be a whole number from 2 to 10000, got 1", {{1}}, {width = 1}},
  }
  it("is clear about a table that holds itself", function()
    local ring = {}
    ring[1] = ring
    assert.has_error(function() plot.show(ring) end,
      "show: matrix element [1][1] must be a number, got a table")
  end)

  it("is clear about a closed tensor", function()
    local closed
    do
      local x <close> = heed.ones(2, 2)
      closed = x
    end
    assert.has_error(function() plot.heatmap(closed) end, "heatmap: matrix "
      .. "must be a table of rows or a tensor [rows cols], got a closed tensor")
  end)

  for _, case in ipairs(cases) do
    it("reads: " .. case[1], function()
      assert.has_error(function() plot.render(case[2], case[3]) end,
        "render: " .. case[1])
    end)
  end

  it("carries the line of the caller", function()
    local ok, message = pcall(load([[
      local plot = ...

      plot.show({{1, 2}, {3}})
    ]], "=script"), plot)
    assert.is_false(ok)
    assert.equal("script:3: show: matrix row 2 must have 2 values as row 1, "
      .. "got 1", message)
  end)
end)
