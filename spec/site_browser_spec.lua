-- The site of the documentation in a browser: opened from the disk, searched
-- by keys, on a phone, in the dark.

local browser = require "spec.support.browser"
local build = require "tools.site.build"
local heed = require "heed"

local keys <const> = browser.keys

local missing = browser.missing()
if not missing and not os.execute "command -v cmark-gfm >/dev/null" then
  missing = "cmark-gfm is not installed"
end

describe("the site in a browser", function()
  if missing then return pending(missing) end

  local page, folder, files

  setup(function()
    local pipe <const> = assert(io.popen "mktemp -d")
    folder = pipe:read "l"
    pipe:close()
    files = build.write(".", folder, heed)
    page = browser.open(1000, 700)
  end)

  teardown(function()
    page:close()
    os.execute("rm -rf '" .. folder .. "'")
  end)

  local function open(name) page:go(("file://%s/%s"):format(folder, name)) end

  local function type_text(text)
    for letter in text:gmatch "." do page:press(letter) end
  end

  -- Waits until what JavaScript says is there; the index is a file to load.
  local function wait_for(script)
    for _ = 1, 100 do
      if page:run("return Boolean(" .. script .. ")") then return end
      os.execute "sleep 0.05"
    end
    error("did not come: " .. script, 2)
  end

  it("finds a function by keys alone", function()
    open "tour.html"
    page:press "/"
    type_text "masked_so"
    wait_for "document.querySelector('#found a')"
    assert.matches("^heed%.nn%.functional%.masked_softmax",
      page:run "return document.querySelector('#found a').textContent")
    page:press(keys.enter)
    wait_for "location.hash"
    assert.matches("reference/functional%-attention%.html#heed%.nn%."
      .. "functional%.masked_softmax$", page:run "return location.href")
    assert.same({}, page:console())
  end)

  it("finds words of the pages, and says when there is nothing", function()
    open "reference/nn.html"
    page:click "#search"
    type_text "capacity cache"
    wait_for "document.querySelector('#found a')"
    assert.is_true(page:run [[return [...document.querySelectorAll("#found a")]
      .some((a) => a.href.endsWith("/attention.html#decoding"))]])
    type_text " zzz"
    wait_for "document.querySelector('#found').textContent === 'nothing found'"
    page:press(keys.escape)
    assert.is_true(page:run "return document.querySelector('#found').hidden")
  end)

  it("goes through what was found by the arrows", function()
    open "index.html"
    page:click "#search"
    type_text "linear"
    wait_for "document.querySelectorAll('#found a').length > 1"
    page:press(keys.down)
    page:press(keys.down)
    assert.is_true(page:run [[return document.activeElement ===
      document.querySelectorAll("#found a")[1] ]])
    page:press(keys.up)
    page:press(keys.up)
    assert.is_true(page:run [[return document.activeElement ===
      document.querySelector("#search")]])
  end)

  it("is as wide as a phone, and its contents are shut there", function()
    page:size(390, 700)
    for _, name in ipairs(files) do
      open(name)
      assert.equal(390, page:run "return document.body.scrollWidth", name)
    end
    assert.is_false(page:run "return document.querySelector('details').open")
    page:size(1000, 700)
    page:run "location.reload()"
    assert.is_true(page:run "return document.querySelector('details').open")
  end)

  it("is light or dark as the system is", function()
    open "index.html"
    local function luminance()
      return page:run [[return getComputedStyle(document.body).backgroundColor
        .match(/\d+/g).reduce((sum, n) => sum + Number(n), 0)]]
    end
    page:scheme "light"
    assert.is_true(luminance() > 700)
    page:scheme "dark"
    assert.is_true(luminance() < 150)
    page:scheme "light"
  end)
end)
