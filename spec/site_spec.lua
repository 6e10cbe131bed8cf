-- The site that tools/docs builds: whole, well-formed, and without dead links.

local build = require "tools.site.build"
local check = require "tools.site.check"
local collect = require "tools.reference.collect"
local heed = require "heed"
local html = require "tools.site.html"
local text = require "tools.site.text"

local function succeeds(command)
  return (os.execute(command .. " >/dev/null 2>&1"))
end

local function read_file(path)
  local file = io.open(path)
  if not file then return nil end
  local all = file:read "a"
  file:close()
  return all
end

local function make_folder()
  local pipe <const> = assert(io.popen "mktemp -d")
  local path <const> = pipe:read "l"
  pipe:close()
  return path
end

local function write_page(folder, name, body)
  local file <const> = assert(io.open(folder .. "/" .. name, "w"))
  file:write(body)
  file:close()
end

describe("the site of the documentation", function()
  local has_converter <const> = succeeds "command -v cmark-gfm"
  local has_parser <const>, lxp = pcall(require, "lxp")
  local folder, files

  setup(function()
    folder = make_folder()
    if has_converter then files = build.write(".", folder, heed) end
  end)

  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  -- A test that needs the site.
  local function with_site(name, f)
    if has_converter then return it(name, f) end
    pending(name .. " (the program cmark-gfm is not here)")
  end

  with_site("has no link that leads nowhere", function()
    assert.same({}, check.links(folder, files))
  end)

  with_site("has a page for each of docs/", function()
    local there = {}
    for _, name in ipairs(files) do there[name] = true end
    for path in assert(io.popen "ls docs/*.md"):lines() do
      local name <const> = path:match "docs/(.*)%.md$" .. ".html"
      assert.is_true(there[name],
        path .. " is not linked from docs/index.md")
    end
  end)

  with_site("has a place for everything that heed offers", function()
    local places = {}
    for _, name in ipairs(files) do
      local page <const> = read_file(folder .. "/" .. name)
      if name:find "^reference/" then
        for id in page:gmatch 'id="([^"]*)"' do places[id] = true end
      end
    end
    for _, entry in ipairs((collect.all(".", heed))) do
      assert.is_true(places[entry.path], entry.path)
    end
  end)

  with_site("shows of a function what its comment says", function()
    local page <const> =
      read_file(folder .. "/reference/tensor-reductions.html")
    local entry <const> =
      page:match 'class="entry" id="heed%.softmax">(.-)</section>'
    local shown <const> = html.unescape(entry)
    for _, part in ipairs {"heed.softmax(x: tensor, dim: axis = -1)",
        "also x:softmax(...)", "positive and summing to 1", "float tensor",
        "tensor like x", "when x is not float or dim is out of range",
        "heed.tensor{0.0, 0.0}:softmax() --> 0.5 0.5", "src/ops/softmax.c",
        "has a gradient"} do
      assert.matches(part, shown, 1, true)
    end
  end)

  with_site("links what a page names to its entry", function()
    local page <const> = read_file(folder .. "/networks.html")
    assert.matches('<a href="reference/nn-layers.html#heed.nn.BatchNorm2d">'
      .. "<code>BatchNorm2d</code></a>", page, 1, true)
  end)

  with_site("can be searched for every section and entry", function()
    local index <const> = read_file(folder .. "/index.js")
    for _, place in ipairs {'["reference/nn-layers.html#heed.nn.Linear",',
        '["attention.html#decoding","Decoding","Attention",'} do
      assert.matches(place, index, 1, true)
    end
    assert.is_nil(index:find("</", 1, true))
  end)

  if has_converter and has_parser then
    it("is well-formed", function()
      for _, name in ipairs(files) do
        local page <const> = read_file(folder .. "/" .. name)
        local parser <const> = lxp.new {}
        local ok, message, line = parser:parse(page)
        if ok then ok, message, line = parser:parse() end
        parser:close()
        assert(ok, ("%s:%s: %s"):format(name, line, message))
      end
    end)
  else
    pending "is well-formed (cmark-gfm or lua-expat is not here)"
  end
end)

describe("the check of links", function()
  local folder

  before_each(function() folder = make_folder() end)
  after_each(function() os.execute("rm -rf '" .. folder .. "'") end)

  it("finds what is not there, and what is loaded from a network", function()
    write_page(folder, "a.html", '<h1 id="top">a</h1><h2 id="top">b</h2>'
      .. '<a href="b.html#here">b</a> <a href="b.html#gone">b</a>'
      .. '<a href="c.html">c</a> <a href="#none">a</a>'
      .. '<a href="https://example.org/">out</a>'
      .. '<img src="missing.png"/><script src="https://example.org/x.js">')
    write_page(folder, "b.html", '<h1 id="here">b</h1>')
    assert.same({
      "a.html: anchor top is there twice", "a.html: no anchor b.html#gone",
      "a.html: no file c.html", "a.html: no anchor #none",
      "a.html: no file missing.png",
      "a.html: loads https://example.org/x.js",
    }, check.links(folder, {"a.html", "b.html"}))
  end)
end)

describe("files that the pages name", function()
  -- A word that begins like a folder of the sources, in code.
  local function names_in(path)
    local names = {}
    for code in read_file(path):gmatch "`([^`\n]+)`" do
      for _, top in ipairs {"src", "lua", "spec", "tools", "bench", "examples",
          "docs"} do
        local name <const> = code:match("^(" .. top .. "/[%w_./-]+)")
        if name then names[#names + 1] = name end
      end
    end
    return names
  end

  for path in assert(io.popen "ls README.md docs/*.md"):lines() do
    it("are there: " .. path, function()
      for _, name in ipairs(names_in(path)) do
        local file <const> = io.open(name) -- folders open too
        assert.is_truthy(file, name)
        file:close()
      end
    end)
  end
end)

describe("texts of doc comments", function()
  local function nothing() return nil end

  it("keep signs of formulas, lists and what is set in", function()
    assert.equal("<p>a &lt; b * c_i * d_i and <code>x &amp; y</code></p>\n"
      .. "<pre><code>y = a\n  + b</code></pre>\n<ul>\n<li>one goes on</li>\n"
      .. "<li>two</li>\n</ul>", text.blocks(
      "a < b * c_i * d_i and `x & y`\n\n    y = a\n      + b\n\n"
      .. "* one\n  goes on\n* two", nothing))
  end)

  it("have their code in colours", function()
    assert.equal('<span class="k">local</span> x = <span class="n">2e-6'
      .. '</span> <span class="c">-- &lt;b&gt;</span>',
      html.lua "local x = 2e-6 -- <b>")
  end)
end)
