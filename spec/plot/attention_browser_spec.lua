-- The page of plot.attention_html at work, in Chromium. What is shown is
-- compared with the tensors that it was made of.

local heed = require "heed"
local browser = require "spec.support.browser"
local plot = heed.plot

local sanitized <const> = os.getenv "HEED_SANITIZE" -- tests C, not pages
local missing <const> = sanitized and "no browser under sanitizers"
  or browser.missing()

-- What a reader is shown of a weight.
local function shown(w)
  if w ~= w then return "NaN" end
  if w == 0 then return 0 end
  if w < 9.5e-7 then return "<1e-6" end
  return tonumber((w < 0.001 and "%.1g" or "%.3g"):format(w))
end

local function shown_row(row)
  local list = {}
  for i, w in ipairs(row) do list[i] = shown(w) end
  return list
end

local source <const> = {"the", "cat", "</script>", "\"'&<b>", "中文", "été",
  "قطة", "a\u{202E}b", "", "  ", "x\0y\xFF"}
local source_shown <const> = {"the", "cat", "</script>", "\"'&<b>", "中文",
  "été", "قطة", "a\\u{202E}b", "\u{2205}", "\u{2423}\u{2423}", "x\\x00y\\xFF"}
local target <const> = {"<bos>", "le", "chat", "assis"}

-- Three attentions: [layers heads Tq Tk], each with 0 or NaN somewhere.
local function make_weights()
  heed.manual_seed(7)
  local n <const>, m <const> = #source, #target
  local encoder = heed.randn({2, 3, n, n}):mul(3):softmax(-1)
  encoder[{1, 2, 4}] = 0
  encoder[{1, 2, 5, 2}] = 0 / 0
  local ahead <const> = heed.ones(m, m):triu(1):to "bool"
  local decoder = heed.randn({2, 2, m, m}):masked_fill(ahead, -math.huge)
    :softmax(-1)
  local cross = heed.randn({2, 2, m, n}):mul(5):softmax(-1)
  return {encoder, decoder, cross}
end

describe("the page of plot.attention_html", function()
  if missing then
    it("works in a browser", function() pending(missing) end)
    return
  end

  local b, file, weights

  setup(function()
    weights = make_weights()
    file = os.tmpname()
    os.remove(file)
    file = file .. ".html"
    plot.attention_html({
      {name = "encoder", tokens = source, weights = weights[1]},
      {name = "decoder", tokens = target, weights = weights[2]},
      {name = "decoder to encoder", tokens = target, keys = source,
        weights = weights[3]},
    }, {file = file, title = "</title><script>hacked = 1</script>"})
    b = browser.open(1000, 900)
  end)

  teardown(function()
    if b then b:close() end
    if file then os.remove(file) end
  end)

  before_each(function()
    b:size(1000, 900)
    b:scheme "light"
    b:go("file://" .. file)
  end)

  local function texts(selector)
    return b:run("return [...document.querySelectorAll(arguments[0])]"
      .. ".map((element) => element.textContent)", selector)
  end

  -- The numbers that stand on one side.
  local function numbers(side)
    local list = texts("#" .. side .. " .cell > span")
    for i, text in ipairs(list) do list[i] = tonumber(text) or text end
    return list
  end

  local function choose(name, i)
    b:click(("#%s label:nth-of-type(%d) input"):format(name, i))
  end

  local function cell(side, i)
    return ("#%s .cell:nth-child(%d)"):format(side, i)
  end

  -- Where the focus is: a choice and its value, or a side and the token.
  local function focus()
    return b:run [[
      const at = document.activeElement;
      if (at.name) return at.name + " " + at.value;
      return at.closest(".cells").id + " " +
        [...at.parentNode.children].indexOf(at);]]
  end

  it("shows by pointer what every token attends to", function()
    for kind = 1, 3 do
      choose("attention", kind)
      local w <const> = weights[kind]:to "float64"
      for layer = 1, w:size(1) do
        choose("layer", layer)
        for head = 0, w:size(2) do
          choose("head", head + 1)
          local m = head == 0 and w[layer]:mean(1) or w[layer][head]
          for q, row in ipairs(m:totable()) do
            -- each token once, each matrix three times
            if q % 3 == (layer + head) % 3 then
              b:hover(cell("queries", q))
              assert.same(shown_row(row), numbers "keys")
            end
          end
        end
      end
    end
    assert.same({}, b:console())
  end)

  it("shows what attends to a token", function()
    choose("attention", 3)
    choose("head", 2)
    b:hover(cell("keys", 5))
    local column <const> = weights[3][1][1]:transpose()[5]:totable()
    assert.same(shown_row(column), numbers "queries")
    assert.same("", table.concat(numbers "keys"))
  end)

  it("shades what it shows, the greatest weight most", function()
    choose("head", 2)
    b:hover(cell("queries", 2))
    local row <const> = weights[1][1][1][2]
    local shades <const> = b:run [[
      return [...document.querySelectorAll("#keys .cell")].map((cell) =>
        getComputedStyle(cell).backgroundColor.match(/\d+/g).map(Number)
          .reduce((a, b) => a + b));]]
    local darkest = 1
    for i, shade in ipairs(shades) do
      if shade < shades[darkest] then darkest = i end
    end
    assert.equal(row:argmax():item(), darkest)
    assert.equal(0 + 0x72 + 0xB2, shades[darkest])
  end)

  it("draws a line for each weight from a tenth of the greatest", function()
    choose("head", 2)
    for q = 1, 3 do
      b:hover(cell("queries", q))
      local row <const> = weights[1][1][1][q]:totable()
      local most <const> = math.max(table.unpack(row))
      local wanted = 0
      for _, w in ipairs(row) do
        if w >= most / 10 then wanted = wanted + 1 end
      end
      assert.equal(wanted, b:run [[
        return [...document.querySelectorAll("#stage path")].filter((path) =>
          path.getBoundingClientRect().height > 0).length;]])
    end
  end)

  it("has a small picture of each head", function()
    choose("attention", 3)
    local pictures <const> = b:run [[
      return [...document.querySelectorAll("#head canvas")].map((canvas) => {
        const { width, height } = canvas;
        const { data } = canvas.getContext("2d")
          .getImageData(0, 0, width, height);
        return [...Array(width * height).keys()].map((i) => data[4 * i]);
      });]]
    assert.equal(3, #pictures)
    for head = 1, 2 do
      -- red goes from 0xF2 to 0 with the root of the weight
      local w <const> = weights[3][1][head]:flatten()
      local share <const> = (w / w:max()):sqrt():totable()
      for i, red in ipairs(pictures[head + 1]) do
        assert.is_true(math.abs(0xF2 * (1 - share[i]) - red) < 3)
      end
    end
  end)

  it("says the greatest weights", function()
    choose("attention", 2)
    choose("head", 2)
    b:hover(cell("queries", 2))
    local row <const> = weights[2][1][1][2]:totable()
    local a, z = 1, 2
    if row[2] > row[1] then a, z = z, a end
    assert.equal(("le (2) attends to %s %.3f, %s %.3f"):format(target[a],
      row[a], target[z], row[z]), texts("#said")[1])
    choose("attention", 1)
    b:hover(cell("queries", 1))
    assert.matches("^the %(1%) attends to .*, and less to 6 more$",
      texts("#said")[1])
    b:hover(cell("keys", 1))
    assert.matches("^the %(1%) is attended to by .*, and less by 6 more$",
      texts("#said")[1])
  end)

  it("says where there are no weights, and where no numbers", function()
    choose("head", 3)
    b:hover(cell("queries", 4))
    assert.equal("\"'&<b> (4) attends to nothing: all weights are 0",
      texts("#said")[1])
    assert.same({true, false}, b:run
      [[return [get("nan").hidden, get("zero").hidden];]])
    b:hover(cell("queries", 5))
    assert.matches("; 1 weight is not a number %(NaN%)$", texts("#said")[1])
    assert.same({false, true}, b:run
      [[return [get("nan").hidden, get("zero").hidden];]])
    assert.same({"x", "NaN"}, {b:run
      [[return document.querySelectorAll("#keys .nan").length]] == 1 and "x",
      texts("#keys .nan > span")[1]})
  end)

  it("holds a token that was clicked until it is let go", function()
    b:click(cell("queries", 2))
    local kept <const> = numbers "keys"
    b:hover(cell("queries", 3))
    b:hover(cell("keys", 1))
    assert.same(kept, numbers "keys")
    choose("head", 2)
    assert.same(shown_row(weights[1][1][1][2]:totable()), numbers "keys")
    b:press(browser.keys.escape)
    b:hover(cell("queries", 3))
    assert.same(shown_row(weights[1][1][1][3]:totable()), numbers "keys")
  end)

  it("shows by touch", function()
    choose("head", 2)
    b:tap(cell("queries", 6))
    assert.same(shown_row(weights[1][1][1][6]:totable()), numbers "keys")
    b:tap(cell("queries", 1))
    assert.same(shown_row(weights[1][1][1][1]:totable()), numbers "keys")
  end)

  it("is reached and used by the keyboard alone", function()
    local keys <const> = browser.keys
    local order = {}
    for i = 1, 5 do
      b:press(keys.tab)
      order[i] = focus()
      assert.equal("solid 3px", b:run [[
        const at = document.activeElement, style =
          getComputedStyle(at.nextElementSibling &&
            at.matches("input") ? at.nextElementSibling : at);
        return style.outlineStyle + " " + style.outlineWidth;]])
    end
    assert.same({"attention 0", "layer 0", "head 0", "queries 0", "keys 0"},
      order)
    for _ = 1, 4 do b:press(keys.shift, keys.tab) end
    assert.equal("attention 0", focus())
    b:press(keys.right)
    b:press(keys.tab)
    b:press(keys.down) -- layer 2
    b:press(keys.tab)
    b:press(keys.right)
    b:press(keys.right) -- head 2
    assert.equal("head 2", focus())
    b:press(keys.tab)
    b:press(keys.right)
    b:press(keys.right) -- token 3
    local row = weights[2][2][2][3]:totable()
    assert.same(shown_row(row), numbers "keys")
    b:press(keys["end"])
    assert.equal("queries 3", focus())
    b:press(keys.home)
    assert.equal("queries 0", focus())
    b:press(keys.enter) -- held
    b:hover(cell("queries", 3))
    row = weights[2][2][2][1]:totable()
    assert.same(shown_row(row), numbers "keys")
  end)

  it("goes to the line above and below by the keyboard", function()
    local keys <const> = browser.keys
    b:size(320, 700)
    b:go("file://" .. file)
    b:run [[document.querySelector("#queries .cell").focus()]]
    b:press(keys.down)
    local down <const> = focus()
    assert.is_true(b:run [[
      const at = document.activeElement, first = at.parentNode.children[0];
      return at.offsetTop > first.offsetTop &&
        at.offsetTop < first.offsetTop + 2 * first.offsetHeight;]], down)
    b:press(keys.up)
    assert.equal("queries 0", focus())
    b:press(keys.up)
    assert.equal("queries 0", focus())
  end)

  it("has roles and names for a screen reader", function()
    assert.same({"group", "Head"}, {b:accessible "#head"})
    assert.same({"radio", "mean of all heads"}, {b:accessible "#head input"})
    assert.same({"radio", "2"},
      {b:accessible "#head label:nth-of-type(3) input"})
    assert.same({"listbox", "Tokens"}, {b:accessible "#queries"})
    assert.same({"listbox", "Attended to"}, {b:accessible "#keys"})
    b:hover(cell("queries", 2))
    assert.same({"option", "cat"}, {b:accessible(cell("queries", 2))})
    local mean <const> = weights[1][1]:mean(1)[2][5]:item()
    assert.same({"option", "中文 " .. ("%.3g"):format(mean)},
      {b:accessible(cell("keys", 5))})
    assert.equal("status", (b:accessible "#said"))
  end)

  it("shows tokens as they are, whatever they hold", function()
    assert.same(source_shown, texts "#queries bdi")
    assert.same(source_shown, texts "#keys bdi")
    assert.same({"</title><script>hacked = 1</script>"}, texts "h1")
    assert.equal("undefined", b:run "return typeof hacked")
  end)

  it("loads nothing", function()
    assert.equal(0, b:run
      [[return performance.getEntriesByType("resource").length]])
    assert.same({}, b:console())
  end)

  it("fits a phone", function()
    b:size(320, 640)
    b:go("file://" .. file)
    for kind = 1, 3 do
      choose("attention", kind)
      assert.is_true(b:run
        "return document.documentElement.scrollWidth" <= 320)
    end
  end)

  it("does not move what the pointer is on", function()
    local where <const> = [[
      return [...document.querySelectorAll(".cell")].map((cell) => {
        const box = cell.getBoundingClientRect();
        return [box.x + scrollX, box.y + scrollY, box.width].join();
      });]]
    local first <const> = b:run(where)
    for q = 1, #source do
      b:hover(cell("queries", q))
      assert.same(first, b:run(where))
    end
  end)

  -- WCAG 2: texts of this size want 4.5.
  it("can be read in light and dark", function()
    for _, scheme in ipairs {"light", "dark"} do
      b:scheme(scheme)
      choose("head", 2)
      for q = 1, #source do
        b:hover(cell("queries", q))
        local least <const> = b:run [[
          const paper = getComputedStyle(document.body).backgroundColor;
          const light = (color) => luminance(color.match(/[\d.]+/g)
            .slice(0, 3).map(Number)) + 0.05;
          return Math.min(...[...document.querySelectorAll(
            ".cell, h2, footer p, #said, label span, legend")].map((e) => {
              const { color, backgroundColor } = getComputedStyle(e);
              const behind = backgroundColor.endsWith(", 0)") ? paper
                : backgroundColor;
              const [a, b] = [light(color), light(behind)];
              return a > b ? a / b : b / a;
            }));]]
        assert.is_true(least >= 4.5, scheme .. ": " .. least)
      end
    end
  end)
end)
