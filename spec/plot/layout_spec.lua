local heed = require "heed"
local plot = require "heed.plot"
local pictures = require "spec.support.pictures"

-- Advance widths in parts of the font size, from the tables of DejaVu Sans,
-- the widest of the usual fonts.
local advance <const> = {W = 0.989, m = 0.974, i = 0.278, [" "] = 0.318}
local digit <const>, other <const> = 0.636, 0.65

local function text_width(text, size)
  local sum = 0
  for _, code in utf8.codes(text) do
    local char = utf8.char(code)
    sum = sum + (advance[char] or char:find("%d") and digit or other)
  end
  return sum * size
end

-- The four corners of the ink of a text: from its capitals' height to its
-- descenders.
local function corners(text)
  local w = text_width(text.text, text.size)
  local from = text.anchor == "end" and -w or text.anchor == "middle" and -w / 2
    or 0
  local cos, sin = math.cos(math.rad(text.angle)),
    math.sin(math.rad(text.angle))
  local out = {}
  for _, corner in ipairs {{from, -0.76}, {from + w, -0.76}, {from + w, 0.24},
    {from, 0.24}} do
    local x, y = corner[1], corner[2] * text.size
    out[#out + 1] = {text.x + x * cos - y * sin, text.y + x * sin + y * cos}
  end
  return out
end

-- Whether an axis along an edge of `a` keeps two rectangles apart.
local function has_gap(a, b)
  for k = 1, 2 do
    local ux, uy = a[k + 1][1] - a[k][1], a[k + 1][2] - a[k][2]
    local function span(corners_of)
      local low, high = math.huge, -math.huge
      for _, corner in ipairs(corners_of) do
        local at = corner[1] * ux + corner[2] * uy
        low, high = math.min(low, at), math.max(high, at)
      end
      return low, high
    end
    local low_a, high_a = span(a)
    local low_b, high_b = span(b)
    if high_a <= low_b or high_b <= low_a then return true end
  end
  return false
end

local function check_texts(texts, wanted)
  assert.equal(wanted, #texts)
  local boxes = {}
  for k, text in ipairs(texts) do
    boxes[k] = corners(text)
    for _, corner in ipairs(boxes[k]) do
      local x, y = corner[1], corner[2]
      if x < 0 or y < 0 or x > texts.width or y > texts.height then
        error(("%q is cut at %g %g of %g %g"):format(text.text, x, y,
          texts.width, texts.height))
      end
    end
  end
  for k = 1, #boxes do
    for l = 1, k - 1 do
      if not has_gap(boxes[k], boxes[l]) and not has_gap(boxes[l], boxes[k])
      then
        error(("%q lies over %q"):format(texts[k].text, texts[l].text))
      end
    end
  end
end

local function repeated(text, count)
  local list = {}
  for k = 1, count do list[k] = text end
  return list
end

-- Numbers 0 to 1, so that the bar has the six texts 0, 0.2 ... 1, or 11 where
-- it is taller.
local function ramp(rows, cols)
  local m = {}
  for i = 1, rows do
    m[i] = {}
    for j = 1, cols do m[i][j] = (i + j - 2) / math.max(1, rows + cols - 2) end
  end
  return m
end

describe("a text in a picture", function()
  local function case(name, f)
    it(name, function()
      if not pictures.has_gnuplot then
        return pending("gnuplot is not installed")
      end
      f()
    end)
  end

  for _, count in ipairs {1, 2, 12, 200} do
    for _, length in ipairs {1, 40} do
      case(("has a place of its own: %d tokens of %d characters")
        :format(count, length), function()
          local tokens = repeated(("W"):rep(length), count)
          local m = ramp(count, count)
          local texts = pictures.texts(function(file)
            plot.attention(tokens, m, {file = file, title = "W", vmax = 1})
          end)
          -- two of each token, title, names of the axes, the bar
          local bar = 0
          for _, text in ipairs(texts) do
            if tonumber(text.text) then bar = bar + 1 end
          end
          assert.is_true(bar >= 3 and bar <= 11, tostring(bar))
          check_texts(texts, 2 * count + 3 + bar)
        end)
    end
  end

  case("has a place of its own beside single rows and columns", function()
    local long = ("W"):rep(40)
    for _, sizes in ipairs {{1, 1}, {1, 5}, {5, 1}, {1, 60}, {60, 1}} do
      local texts = pictures.texts(function(file)
        plot.heatmap(ramp(sizes[1], sizes[2]), {
          row_labels = repeated(long, sizes[1]),
          col_labels = repeated(long, sizes[2]), title = long, xlabel = long,
          ylabel = long, file = file, vmin = 0, vmax = 2,
        })
      end)
      local bar = 0
      for _, text in ipairs(texts) do
        if tonumber(text.text) then bar = bar + 1 end
      end
      check_texts(texts, sizes[1] + sizes[2] + 3 + bar)
    end
  end)

  case("has a place of its own in a grid, at the outer maps", function()
    for _, length in ipairs {1, 25} do
      local word = ("W"):rep(length)
      local texts = pictures.texts(function(file)
        plot.heatmaps(heed.zeros(2, 3, 4, 5), {
          row_labels = repeated(word, 4), col_labels = repeated(word, 5),
          titles = repeated(word, 3), row_titles = repeated(word, 2),
          xlabel = word, ylabel = word, title = word, file = file,
        })
      end)
      -- rows: two maps at the left; columns: three maps below; the bar's 0
      check_texts(texts, 2 * 4 + 3 * 5 + 3 + 2 + 3 + 2 + 1 + 1)
    end
  end)

  case("has a place of its own in a grid of maps of many sizes", function()
    local word = ("W"):rep(12)
    local texts = pictures.texts(function(file)
      plot.heatmaps({{ramp(3, 5), ramp(9, 2)}, {ramp(1, 1)}}, {
        titles = {word, word, word}, xlabel = word, ylabel = word, vmin = 0,
        file = file, vmax = 0.5,
      })
    end)
    local bar = #texts - (3 + 5 + 9 + 2 + 1 + 1) - 3 - 2 - 2
    check_texts(texts, #texts)
    assert.is_true(bar >= 3 and bar <= 11, tostring(bar))
  end)

  case("leaves labels out only where they are numbers of their own", function()
    local texts = pictures.texts(function(file)
      plot.heatmap(heed.zeros(300, 200), {file = file})
    end)
    assert.is_true(#texts < 120, tostring(#texts))
    check_texts(texts, #texts)
    local seen = {}
    for _, text in ipairs(texts) do seen[text.text] = true end
    assert.same({true, true, true}, {seen["1"], seen["21"], seen["41"]})
    assert.is_nil(seen["2"])
  end)

  case("does not touch the edge of a PNG", function()
    local word = ("W"):rep(30)
    local pixels = pictures.pixels(function(file)
      plot.attention({word, word}, {{0.5, 0 / 0}, {0.1, 1}},
        {title = word .. word, xlabel = word, ylabel = word, file = file})
    end)
    local h, w = pixels:size(2), pixels:size(3)
    for _, edge in ipairs {pixels:slice(2, 1, 8), pixels:slice(2, h - 7, h),
      pixels:slice(3, 1, 8), pixels:slice(3, w - 7, w)} do
      assert.equal(255, edge:to("int64"):min():item())
    end
  end)

  case("is cut with a mark where cairo could not draw it", function()
    local texts = pictures.texts(function(file)
      plot.heatmap({{1}}, {title = ("i"):rep(5000), file = file,
        row_labels = false, col_labels = false})
    end)
    assert.equal(("i"):rep(299) .. "…", texts[#texts - 1].text)
  end)

  case("does not stop a thousand tokens from being drawn", function()
    local pixels = pictures.pixels(function(file)
      plot.heatmap({ramp(1, 1000)[1]}, {file = file, row_labels = false,
        col_labels = repeated("W", 1000)})
    end)
    assert.is_true(pixels:size(3) > 16000)
  end)
end)
