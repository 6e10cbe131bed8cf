local gnuplot = require "heed.plot.gnuplot"
local plot = require "heed.plot"

local has_gnuplot <const> =
  os.execute("command -v gnuplot >/dev/null 2>&1") == true

local function read(file)
  local handle = assert(io.open(file, "rb"))
  local content = handle:read("a")
  handle:close()
  return content
end

-- The names in a folder, joined by blanks.
local function listing(folder)
  local pipe = assert(io.popen("ls -A '" .. folder .. "'"))
  local names = pipe:read("a"):gsub("\n$", ""):gsub("\n", " ")
  pipe:close()
  return names
end

describe("plot.heatmap", function()
  local folder

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir '" .. folder .. "'"))
  end)

  after_each(function()
    os.execute("rm -r '" .. folder .. "'")
  end)

  local function needs_gnuplot()
    if not has_gnuplot then pending("gnuplot is not installed") end
    return has_gnuplot
  end

  it("writes SVG, PNG and PDF by the ending of the name", function()
    if not needs_gnuplot() then return end
    for ending, start in pairs {svg = "<?xml", png = "\x89PNG\r\n",
      PDF = "%PDF-"} do
      local file = folder .. "/a picture." .. ending
      plot.heatmap({{0, 1, 2}, {3, 4, 0 / 0}}, {file = file})
      assert.equal(start, read(file):sub(1, #start))
      os.remove(file)
    end
    assert.equal("", listing(folder))
  end)

  it("writes a label as it is, whatever it holds", function()
    if not needs_gnuplot() then return end
    local trap = folder .. "/trap"
    local labels = {
      "it's", 'say "x"', "back\\slash", "a\nb", "@_^{}", "50%d", "<b>&amp;",
      "`touch " .. trap .. "`", "$(touch " .. trap .. ")", "été 中文 😀",
      "8\x009", "EOD\nquit",
      "]]>",
    }
    local shown = {
      "it's", 'say "x"', "back\\slash", "a\\nb", "@_^{}", "50%d",
      "&lt;b>&amp;amp;", "`touch " .. trap .. "`",
      "$(touch " .. trap .. ")", "été 中文 😀", "8\\x009", "EOD\\nquit",
      "]]\u{2060}>", -- XML forbids it without the mark
    }
    local row = {}
    for j = 1, #labels do row[j] = j end
    local file = folder .. "/x.svg"
    plot.heatmap({row}, {col_labels = labels, row_labels = {"`date`"},
      title = "`date` @x_{2}", xlabel = "'", ylabel = "\\", file = file})
    local svg = read(file)
    for _, text in ipairs(shown) do
      assert.truthy(svg:find(">" .. text .. "<", 1, true), text)
    end
    assert.equal("x.svg", listing(folder))
  end)

  it("writes to a name that a shell would take apart", function()
    if not needs_gnuplot() then return end
    local name = "a'b `c` $d;e \"f\" 12.svg"
    plot.heatmap({{1, 2}}, {file = folder .. "/" .. name})
    assert.equal(name, listing(folder))
  end)

  it("draws single rows, columns and values", function()
    if not needs_gnuplot() then return end
    local file = folder .. "/x.svg"
    for _, matrix in ipairs {{{3}}, {{0, 1}}, {{0}, {1}}} do
      plot.heatmap(matrix, {file = file, cmap = "gray"})
      local svg = read(file)
      local value = #matrix == 1 and #matrix[1] == 1 and 128 or 255
      assert.truthy(svg:find(("rgb(%d, %d, %d)"):format(value, value, value),
        1, true))
    end
  end)

  it("draws ranges that overflow, vanish or have no number", function()
    if not needs_gnuplot() then return end
    local file = folder .. "/x.svg"
    for _, row in ipairs {{-1e308, 1e308}, {1, 1 + 2^-52}, {0, 5e-324},
      {0 / 0, 0 / 0}, {-math.huge, math.huge}, {7, 7}} do
      plot.heatmap({row}, {file = file})
      assert.truthy(read(file):find("</svg>", 1, true))
    end
  end)

  it("has an entry for what is not a number only if there is some", function()
    if not needs_gnuplot() then return end
    local file = folder .. "/x.svg"
    plot.heatmap({{0, 1}}, {file = file})
    assert.is_nil(read(file):find("NaN", 1, true))
    plot.heatmap({{0, 0 / 0}}, {file = file})
    assert.truthy(read(file):find("NaN", 1, true))
  end)

  it("leaves the old picture when it fails", function()
    local file = folder .. "/x.svg"
    local handle = assert(io.open(file, "w"))
    handle:write("old")
    handle:close()
    assert.has_error(function()
      gnuplot.draw("heatmap", file, "svg", "set terminal svg\nno such thing\n")
    end)
    assert.equal("old", read(file))
    assert.equal("x.svg", listing(folder))
  end)

  it("tells the reason that gnuplot gives", function()
    if not needs_gnuplot() then return end
    assert.has_error(function()
      gnuplot.draw("heatmap", folder .. "/x.svg", "svg", "no such thing\n")
    end, "heatmap: gnuplot: invalid command")
  end)

  it("notices a picture that was not written to its end", function()
    if not needs_gnuplot() then return end
    local file = folder .. "/x.png"
    assert.has_error(function()
      gnuplot.draw("heatmap", file, "png", "set terminal svg\nplot sin(x)\n")
    end, "heatmap: " .. file .. ": the picture is cut short")
    assert.equal("", listing(folder))
  end)

  it("says that a folder does not exist or is in the way", function()
    if not needs_gnuplot() then return end
    local file = folder .. "/none/x.svg"
    assert.has_error(function() plot.heatmap({{1}}, {file = file}) end,
      "heatmap: " .. file .. ": cannot be written: No such file or directory")
    file = folder .. "/x.svg"
    assert(os.execute("mkdir '" .. file .. "'"))
    assert.has_error(function() plot.heatmap({{1}}, {file = file}) end,
      "heatmap: " .. file .. ": cannot be written: it is no plain file")
    assert.equal("x.svg", listing(folder))
  end)

  it("says that gnuplot is not installed", function()
    local popen = io.popen
    io.popen = function() -- luacheck: ignore
      return {
        read = function() return "sh: 1: exec: gnuplot: not found\n" end,
        close = function() return nil, "exit", 127 end,
      }
    end
    local ok, message = pcall(plot.heatmap, {{1}}, {file = folder .. "/x.svg"})
    io.popen = popen -- luacheck: ignore
    assert.is_false(ok)
    assert.truthy(message:find("heatmap: gnuplot is not installed "
      .. "(Debian: apt install gnuplot-nox)", 1, true), message)
    assert.equal("", listing(folder))
  end)

  it("checks its options", function()
    local function error_of(opts, expected)
      assert.has_error(function() plot.heatmap({{1}}, opts) end, expected)
    end
    error_of({file = 7}, "heatmap: file must be the name of a picture or have "
      .. "a write method, got 7")
    error_of({file = "x.gif"},
      'heatmap: file "x.gif" must end in .svg, .png or .pdf')
    error_of({file = "svg"},
      'heatmap: file "svg" must end in .svg, .png or .pdf')
    error_of({file = "a\0.svg"}, "heatmap: file must not hold a zero byte")
    error_of({file = "x.svg", colour = true}, "heatmap: unknown option "
      .. '"colour"; known: cmap, col_labels, color, file, row_labels, title, '
      .. "utf8, vmax, vmin, width, xlabel, ylabel")
  end)

  it("draws into the terminal without the name of a picture", function()
    local written = {}
    local file = {write = function(self, text)
      written[#written + 1] = text
      return self
    end}
    plot.heatmap({{0, 1}}, {file = file, utf8 = true, width = 80,
      xlabel = "keys", ylabel = "queries"})
    assert.equal("queries ↓  keys →\n   1 2\n1 │  ██│\n"
      .. "   0 │    ░░░░▒▒▒▒▓▓▓▓████│ 1\n", table.concat(written))
  end)
end)
