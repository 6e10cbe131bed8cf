local plot = require "heed.plot"

local function shown(x, opts)
  local all = {width = 80, utf8 = true, color = true}
  for name, value in pairs(opts or {}) do all[name] = value end
  return (plot.render(x, all):gsub("\27", "ESC"))
end

describe("half blocks", function()
  it("show two rows of colours a line", function()
    -- above red and green, below blue and white
    local x = {{{1, 0}, {0, 1}}, {{0, 1}, {0, 1}}, {{0, 0}, {1, 1}}}
    local line = "ESC[38;2;255;0;0mESC[48;2;0;0;255m▀"
      .. "ESC[38;2;0;255;0mESC[48;2;255;255;255m▀ESC[0m\n"
    assert.equal(line, shown(x, {width = 2}))
  end)

  it("make an image as wide as the terminal by taking means", function()
    local x = {{0, 1, 1, 1}, {0, 1, 1, 1}}
    assert.equal("ESC[38;2;128;128;128m▀ESC[38;2;255;255;255m▀ESC[0m\n",
      shown({x}, {width = 2}))
  end)

  it("draw a map without labels, with numbers beside it", function()
    assert.equal("   1 2\n"
      .. "1 ESC[38;2;0;0;0mESC[48;2;0;0;0m▀▀ESC[38;2;255;255;255m"
      .. "ESC[48;2;255;255;255m▀▀ESC[0m\n", shown({{0, 1}}, {width = 8,
        cmap = "gray"}):gsub("^ ", "  "):match("^.-\n.-\n"))
  end)

  it("leave a map with labels in lines of cells", function()
    local text = shown({{0, 1}}, {row_labels = {"a"}})
    assert.is_nil(text:find("▀", 1, true))
    assert.truthy(text:find("a ESC[", 1, true))
  end)

  it("are shades where there are no colours, crosses for NaN", function()
    assert.equal("  ██\n  ██\n", (shown({{{0, 1}, {0, 1}}}, {color = false,
      width = 4})))
    assert.truthy(shown({{{0 / 0, 1}}}, {color = false, width = 2})
      :find("^×█\n"))
  end)

  it("number the rows of a large map in steps", function()
    local m = {}
    for i = 1, 60 do
      m[i] = {}
      for j = 1, 60 do m[i][j] = i end
    end
    local text = shown(m, {width = 40}):gsub("ESC%[[%d;]*m", "")
    local numbers = {}
    for number in text:gmatch("\n *(%d+) ▀") do
      numbers[#numbers + 1] = tonumber(number)
    end
    assert.same({1, 11, 21, 31, 41, 51}, numbers)
    -- 36 columns for 60: one number each 5 * 36 / 60 columns
    assert.equal("   1  6  11 16 21 26 31 36 41 46 51 56",
      text:match("^[^\n]*"))
    for line in text:gmatch("[^\n]+") do
      assert.is_true(utf8.len(line) <= 40, line)
    end
  end)
end)
