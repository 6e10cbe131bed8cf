local heed = require "heed"
local pictures = require "spec.support.pictures"
local plot = require "heed.plot"
local style = require "heed.plot.style"

local nan <const>, inf <const> = 0 / 0, math.huge

-- The first two colours of Okabe and Ito that lines have.
local blue <const>, vermillion <const> = {0, 114, 178}, {213, 94, 0}

local function case(name, f)
  it(name, function()
    if not pictures.has_gnuplot then return pending("no gnuplot") end
    f()
  end)
end

-- The text of lines in a terminal that depends on nothing outside.
local function text_of(series, opts)
  local parts = {}
  local all = {color = false, utf8 = true, width = 60, height = 8,
    file = {write = function(_, text)
      parts[#parts + 1] = text
      return true
    end}}
  for name, value in pairs(opts or {}) do all[name] = value end
  plot.lines(series, all)
  return table.concat(parts)
end

-- The dots of the braille in a text, as a set of "x y" from the bottom left of
-- the chart, with their numbers across and down.
local function dots_of(text)
  local set, rows = {}, {}
  for line in text:gmatch("[^\n]*") do
    local field = line:match("│(.*)") or line:match("┤(.*)")
    if field then rows[#rows + 1] = field end
  end
  local bits = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}
  for r, row in ipairs(rows) do
    local c = 0
    for _, code in utf8.codes(row) do
      for dx = 0, 1 do
        for dy = 0, 3 do
          if code >= 0x2800 and code <= 0x28FF
            and code - 0x2800 & bits[dx + 1][dy + 1] ~= 0 then
            set[#set + 1] = {2 * c + dx, (#rows - r) * 4 + 3 - dy}
          end
        end
      end
      c = c + 1
    end
  end
  return set, #rows * 4
end

describe("plot.lines in a picture", function()
  local function draw(series, opts)
    return function(file)
      local all = {file = file}
      for name, value in pairs(opts or {}) do all[name] = value end
      plot.lines(series, all)
    end
  end

  -- The picture's pixels and the places of its texts.
  local function look(series, opts)
    local shown = draw(series, opts)
    return pictures.pixels(shown), pictures.by_text(pictures.texts(shown))
  end

  case("draws heights in proportion, on linear and logarithmic axes", function()
    for _, one in ipairs {{{0, 4, 10}, false, 0.4},
      {{1, 10, 1000}, true, 1 / 3}} do
      local heights, is_log, part = table.unpack(one)
      local pixels, at = look({y = heights, x = {2e3, 3e3, 4e3}},
        {ylog = is_log, xlim = {1e3, 5e3}})
      local low = pictures.find(pixels, blue, at("2000").x)
      local middle = pictures.find(pixels, blue, at("3000").x)
      local high = pictures.find(pixels, blue, at("4000").x)
      assert.near(part, (low - middle) / (low - high), 0.02)
    end
  end)

  case("puts numbers where the ticks say", function()
    local pixels, at = look({y = {20, 80, 40}, x = {2e3, 3e3, 4e3}},
      {xlim = {1e3, 5e3}, ylim = {0, 100}})
    local low = pictures.find(pixels, blue, at("2000").x)
    local high = pictures.find(pixels, blue, at("3000").x)
    assert.near(at("20").y - at("80").y, low - high, 2)
    assert.near(low, at("20").y, 8) -- the anchor is the base of the text
  end)

  case("leaves a gap at NaN, and counts it", function()
    local pixels, at = look({y = {1, 1, nan, 1, inf, 1, 1},
      x = {10, 20, 30, 40, 50, 60, 70}}, {xlim = {0, 80}})
    for _, x in ipairs {"10", "20", "40", "60", "70"} do
      assert.is_truthy(pictures.find(pixels, blue, at(x).x), x)
    end
    assert.is_nil(pictures.find(pixels, blue, at("30").x))
    assert.is_nil(pictures.find(pixels, blue, at("50").x))
    assert.is_truthy(at("not drawn: 1 NaN, 1 infinite"))
  end)

  case("leaves a gap on a logarithmic axis at 0 and below", function()
    local pixels, at = look({10, 10, 0, 10, -1, 10}, {ylog = true})
    assert.is_nil(pictures.find(pixels, blue, at("3").x))
    assert.is_truthy(pictures.find(pixels, blue, at("4").x))
    assert.is_truthy(at("not drawn: 2 not above 0 on a logarithmic axis"))
  end)

  case("has a legend beside the chart where there are labels", function()
    local pixels, at = look({
      {y = {1, 2}, x = {10, 20}, label = "train"},
      {y = {2, 3}, x = {10, 20}, label = "été 中文 😀"},
    }, {})
    local right = at("20").x
    for name, color in pairs {train = blue, ["été 中文 😀"] = vermillion} do
      local text = at(name)
      assert.is_true(text.x > right, name)
      local count = 0
      for x = text.x - 40, text.x do
        if pictures.find(pixels, color, x, text.y - 10, text.y + 2) then
          count = count + 1
        end
      end
      assert.is_true(count > 10, name)
    end
    local texts = pictures.texts(draw({{y = {1, 2}}, {y = {2, 3}}}))
    for _, text in ipairs(texts) do assert.is_true(text.x <= right + 1) end
  end)

  case("writes texts as they are, whatever they hold", function()
    local trap = os.tmpname()
    os.remove(trap)
    local names = {"`touch " .. trap .. "`", "$(touch " .. trap .. ")", '"; x',
      "a_b^c{}@", "50%d", "it's \\n", "EOD"}
    local list = {}
    for k, name in ipairs(names) do list[k] = {y = {k, k}, label = name} end
    local at = pictures.by_text(pictures.texts(draw(list, {title = names[1],
      xlabel = names[2], ylabel = names[3]})))
    for _, name in ipairs(names) do assert.is_truthy(at(name)) end
    assert.is_nil(io.open(trap))
  end)

  case("keeps all texts inside the picture and off each other", function()
    local list = {}
    for k = 1, 20 do
      list[k] = {y = {k * 1e5, -k}, label = ("series "):rep(k % 5 + 1) .. k}
    end
    local texts = pictures.texts(draw(list, {
      title = ("a long title "):rep(9), xlabel = ("x "):rep(60),
      ylabel = ("y "):rep(150),
    }))
    local boxes = {}
    for i, text in ipairs(texts) do
      local half = text.size * 0.6
      local across = #text.text * text.size * 0.5
      if text.angle == 0 then
        local left = text.anchor == "start" and text.x
          or text.anchor == "end" and text.x - across or text.x - across / 2
        boxes[#boxes + 1] = {left, left + across, text.y - half, text.y, i}
        assert.is_true(left >= 0 and left + across <= texts.width, text.text)
        assert.is_true(text.y - half >= 0 and text.y <= texts.height)
      end
    end
    for i, a in ipairs(boxes) do
      for j = i + 1, #boxes do
        local b = boxes[j]
        local apart = a[2] <= b[1] or b[2] <= a[1] or a[4] <= b[3]
          or b[4] <= a[3]
        assert.is_true(apart, texts[a[5]].text .. " / " .. texts[b[5]].text)
      end
    end
  end)

  case("writes SVG, PNG and PDF by the ending of the name", function()
    for ending, start in pairs {svg = "<?xml", png = "\x89PNG\r\n",
      pdf = "%PDF-"} do
      local file = os.tmpname() .. "." .. ending
      plot.lines({{y = {1, 2}, label = "a"}, {y = {2, 1}, points = true}},
        {file = file})
      local handle = assert(io.open(file, "rb"))
      assert.equal(start, handle:read(#start))
      handle:close()
      os.remove(file)
    end
  end)

  case("draws points as markers without a line", function()
    local pixels, at = look({y = {1, 1}, x = {10, 20}, points = true}, {})
    assert.is_truthy(pictures.find(pixels, blue, at("10").x))
    assert.is_truthy(pictures.find(pixels, blue, at("20").x))
    assert.is_nil(pictures.find(pixels, blue, at("14").x))
  end)

  case("stays small for a million points, and keeps the one that stands out",
    function()
      local y = heed.zeros(1000000)
      y[700000] = 9
      local file = os.tmpname() .. ".svg"
      plot.lines(y, {file = file})
      local handle = assert(io.open(file))
      local size = handle:seek("end")
      handle:close()
      os.remove(file)
      assert.is_true(size < 100000, size)
      local pixels, at = look(y, {})
      local _, rows = pictures.find(pixels, blue, at("7e5").x)
      for x = at("7e5").x - 1, at("7e5").x + 1 do
        local _, more = pictures.find(pixels, blue, x)
        rows = math.max(rows, more or 0)
      end
      assert.is_true(rows > 100, rows)
    end)

  case("draws what is hardly a series", function()
    local cases = {{}, {5}, {3, 3, 3}, {nan}, {nan, nan}, {1e308, -1e308},
      {0, 5e-324}, {1, 1 + 2^-52}, heed.zeros(0), heed.zeros(3, 0)}
    for _, series in ipairs(cases) do
      local file = os.tmpname() .. ".svg"
      plot.lines(series, {file = file})
      local handle = assert(io.open(file))
      local svg = handle:read("a")
      handle:close()
      os.remove(file)
      assert.is_truthy(svg:find("</svg>", 1, true))
      assert.is_nil(svg:lower():find("[^%a]nan[^%a]?,"))
    end
  end)
end)

describe("the style of a series", function()
  it("differs without colour: by dash and marker, marker, hatching, letter",
    function()
      local function differ(count, f)
        local seen = {}
        for k = 1, count do
          local key = f(k)
          assert.is_nil(seen[key], key)
          seen[key] = k
        end
      end
      differ(75, function(k)
        return table.concat(style.dash(k) or {}, " ") .. " / "
          .. tostring(style.line_marker(k))
      end)
      differ(14, style.marker)
      differ(6, function(k)
        local key = {}
        for _, direction in ipairs(style.hatch(k) or {}) do
          key[#key + 1] = table.concat(direction, " ")
        end
        return table.concat(key, ", ")
      end)
      differ(52, style.letter)
      differ(50, function(k) return style.fill_char(k, true) end)
    end)

  it("has the colours of Okabe and Ito", function()
    local known = {}
    for _, color in ipairs {"0 0 0", "230 159 0", "86 180 233", "0 158 115",
      "240 228 66", "0 114 178", "213 94 0", "204 121 167"} do
      known[color] = true
    end
    for k = 1, 7 do
      assert.is_true(known[table.concat(style.color(k), " ")])
      assert.is_true(known[table.concat(style.fill(k), " ")])
      assert.is_true(known[table.concat({style.terminal(k)}, " ")])
    end
  end)
end)

describe("plot.lines in a terminal", function()
  it("draws a line of dots between its points", function()
    local set, down = dots_of(text_of({0, 1}, {ylim = {0, 1}, width = 44}))
    assert.equal(32, down)
    -- 44 columns without the number, a blank and the axis
    local across = 2 * (44 - 3 - 2)
    local columns = {}
    for _, dot in ipairs(set) do
      assert.near(dot[1] / (across - 1) * (down - 1), dot[2], 1)
      columns[dot[1]] = true
    end
    for x = 0, across - 1 do assert.is_true(columns[x], x) end
  end)

  it("is the picture that its axes describe", function()
    assert.equal(table.concat({
      "steps",
      "loss",
      "2 +**",
      "  |  **",
      "1 +    **",
      "  |      **",
      "0 +        **",
      "  ++----+---+",
      "   1    2   3",
      "     epoch",
      "",
    }, "\n"), text_of({2, 1, 0}, {width = 13, height = 5, utf8 = false,
      ylim = {0, 2}, title = "steps", xlabel = "epoch", ylabel = "loss"}))
  end)

  it("gives each of twenty series a letter and a place in the legend",
    function()
      local list = {}
      for k = 1, 20 do list[k] = {y = {k, k}, label = "head " .. k} end
      local text = text_of(list, {height = 40, width = 80})
      local field, legend = text:match("^(.-)└(.*)$")
      for k = 1, 20 do
        local letter = string.char(96 + k)
        assert.is_truthy(field:find(letter, 1, true))
        assert.is_truthy(legend:find(letter .. " head " .. k, 1, true))
      end
    end)

  it("keeps to its width, whatever the labels and numbers", function()
    for _, width in ipairs {30, 60, 100} do
      local text = text_of({{y = {1, -123456789}, label = ("中"):rep(99)},
        {y = {nan, 5e-7}, label = "b"}}, {width = width})
      for line in text:gmatch("[^\n]+") do
        local columns = 0
        for _, code in utf8.codes(line) do
          columns = columns + (code == 0x4E2D and 2 or 1)
        end
        assert.is_true(columns <= width, line)
      end
    end
  end)

  it("is ASCII where the locale is not UTF-8", function()
    local text = text_of({{y = {1, 2}}, {y = {2, 1}}}, {utf8 = false})
    assert.is_nil(text:find("[\x80-\xFF]"))
    assert.is_truthy(text:find("a series 1  b series 2\n", 1, true))
  end)

  it("colours the series when told to", function()
    local text = text_of({1, 2}, {color = true})
    assert.is_truthy(text:find("\27[38;2;86;180;233m", 1, true))
    assert.is_nil(text_of({1, 2}):find("\27", 1, true))
  end)

  it("shows a number between two gaps", function()
    assert.is_truthy(text_of({1, nan, 2, nan, 3}):find("•", 1, true))
    assert.is_truthy(text_of({7}):find("•", 1, true))
  end)

  it("keeps control characters out of the terminal", function()
    local text = text_of({{y = {1, 2}, label = "\27[2J"}}, {title = "a\rb",
      xlabel = "\n", ylabel = "\7"})
    assert.is_nil(text:find("[\27\r\7]"))
  end)
end)

describe("plot.lines", function()
  it("takes lists, tensors, and tables of them alike", function()
    local expected = text_of({1, 4, 2})
    for _, series in ipairs {heed.tensor {1, 4, 2}, {{1, 4, 2}},
      {heed.tensor {1, 4, 2}}, {y = {1, 4, 2}}, {y = heed.tensor {1, 4, 2}},
      {{y = {1, 4, 2}, x = {1, 2, 3}}}, heed.tensor {{1, 4, 2}}} do
      assert.equal(expected, text_of(series))
    end
    assert.equal(text_of({{y = {1, 2}}, {y = {0, 5}}}),
      text_of(heed.tensor {{1, 2}, {0, 5}}))
  end)

  it("draws the history of a training", function()
    local net = heed.nn.Linear(1, 1)
    local run = heed.train.fit {
      model = net, data = {{heed.ones(4, 1)}}, valid = {{heed.ones(2, 1)}},
      epochs = 3, progress = false,
      optimizer = heed.optim.SGD(net:parameters(), {lr = 0.1}),
      loss = function(model, batch) return model(batch[1]):pow(2):mean() end,
    }
    local loss, valid = {}, {}
    for i, record in ipairs(run.history) do
      loss[i], valid[i] = record.loss, record.valid.loss
    end
    assert.equal(text_of({{y = loss, label = "loss"},
      {y = valid, label = "valid loss"}}, {xlabel = "epoch"}),
      text_of(run.history))
    assert.equal(text_of(loss, {xlabel = "epoch", ylabel = "loss"}),
      text_of(run.history, {keys = {"loss"}}))
    assert.equal(text_of(run.history), plot.render(run.history,
      {color = false, utf8 = true, width = 60, height = 8}))
  end)

  it("spans in y what xlim leaves in sight", function()
    assert.equal(text_of({{x = {2, 3, 4}, y = {1, 2, 1}}}, {xlim = {2, 4}}),
      text_of({{x = {-9, 2, 3, 4}, y = {nan, 1, 2, 1}}}, {xlim = {2, 4}})
        :gsub("not drawn: 1 NaN\n", ""))
    local text = text_of({1000, 1, 2, 1}, {xlim = {2, 4}})
    assert.is_nil(text:find("1000", 1, true))
  end)

  local errors = {
    {"series must be a list of numbers or a tensor [n], got nil", nil},
    {"series must be a list of numbers or a tensor [n], got \"a\"", "a"},
    {"series must be a list of numbers or a tensor [n], got tensor float32 "
      .. "[1 2 2]", heed.zeros(1, 2, 2)},
    {"series[2] must be a number, got \"x\"", {1, "x"}},
    {"series[2][1] must be a number, got a table", {{1}, {{}}}},
    {"series[1].x must have 2 values as y, got 3", {{y = {1, 2},
      x = {1, 2, 3}}}},
    {"series[1].y must be a list of numbers or a tensor [n], got nil",
      {{x = {1}}}},
    {"series[2] has the unknown key \"z\"; known: label, points, x, y",
      {{y = {1}}, {y = {1}, z = 2}}},
    {"series[1].label must be a string or a number, got a table",
      {{y = {1}, label = {}}}},
    {"series[1].points must be a boolean, got 1", {{y = {1}, points = 1}}},
    {"unknown option \"xlog10\"; known: color, file, height, keys, title, "
      .. "utf8, width, xlabel, xlim, xlog, ylabel, ylim, ylog", {1},
      {xlog10 = true}},
    {"xlim[1] must be a finite number, got inf", {1}, {xlim = {inf}}},
    {"xlim[2] must be a finite number, got \"a\"", {1}, {xlim = {1, "a"}}},
    {"ylim must be {low, high}, got the key 3", {1}, {ylim = {1, 2, 3}}},
    {"ylim must have its low end below its high one, got 2 and 2", {1},
      {ylim = {2, 2}}},
    {"ylim[1] must be above 0 on a logarithmic axis, got 0", {1},
      {ylim = {0, 2}, ylog = true}},
    {"ylog needs numbers above 0, and there is none", {0, -1}, {ylog = true}},
    {"keys needs the history of a training", {1}, {keys = {"loss"}}},
    {"keys[1] \"f1\" is in no record of the history; known: epoch, loss, "
      .. "valid.loss", {{epoch = 1, loss = 2, valid = {loss = 3}}},
      {keys = {"f1"}}},
    {"height must be a whole number from 2 to 10000, got 1", {1}, {height = 1}},
    {"height must be a whole number from 2 to 10000, got 1e+300", {1},
      {height = 1e300}},
    {"series[2] of the history must be a table, got 3",
      {{epoch = 1, loss = 2}, 3}},
    {"series[2].epoch of the history must be a number, got nil",
      {{epoch = 1, loss = 2}, {loss = 2}}},
    {"series[1].valid of the history must be a table, got 3",
      {{epoch = 1, loss = 2, valid = 3}}},
    {"file \"x.gif\" must end in .svg, .png or .pdf", {1}, {file = "x.gif"}},
  }
  for _, one in ipairs(errors) do
    it("says: " .. one[1], function()
      assert.has_error(function() plot.lines(one[2], one[3]) end,
        "lines: " .. one[1])
    end)
  end

  it("leaves the old picture when it fails", function()
    local file = os.tmpname() .. ".svg"
    local handle = assert(io.open(file, "w"))
    handle:write("old")
    handle:close()
    assert.has_error(function() plot.lines({"x"}, {file = file}) end)
    handle = assert(io.open(file))
    assert.equal("old", handle:read("a"))
    handle:close()
    os.remove(file)
    assert.has_error(function()
      plot.lines({1}, {file = "/no/such/folder/x.svg"})
    end, "lines: /no/such/folder/x.svg: cannot be written: "
      .. "No such file or directory")
  end)
end)
