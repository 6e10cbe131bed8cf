local heed = require "heed"
local attention_weights = require "heed.plot.attention_weights"
local message = require "spec.support.message"
local plot = heed.plot

-- What stands in the text of weights.
local function read_codes(text)
  local alphabet <const> = attention_weights.ALPHABET
  local codes, i = {}, 1
  local function take()
    local char = text:sub(i, i)
    i = i + 1
    return char == " " and -1 or char == "!" and -2
      or assert(alphabet:find(char, 1, true)) - 1
  end
  while i <= #text do
    local k = take()
    if k == -1 then
      codes[#codes + 1] = 0
    elseif k == -2 then
      for _ = 1, take() do codes[#codes + 1] = 0 end
    else
      codes[#codes + 1] = k < 30 and k or 30 + (k - 30) * #alphabet + take()
    end
  end
  return codes
end

-- The decimal that a code stands for.
local function decimal(code)
  if code == 0 then return "0" end
  if code == 1 then return "nan" end
  if code == 2 then return "tiny" end
  local first <const>, count <const>, least <const>, power <const> =
    table.unpack(code < 30 and {3, 9, 1, -6} or {30, 900, 100, -5})
  local k <const> = code - first
  return ("%.3g"):format(tonumber(("%de%d"):format(k % count + least,
    power + k // count)))
end

local function encode(row)
  return attention_weights.encode(
    heed.tensor({{row}}, {dtype = "float64"}))[1]
end

local function decimals(row)
  local list = read_codes(encode(row))
  for i, code in ipairs(list) do list[i] = decimal(code) end
  return list
end

describe("attention weights as text", function()
  it("have three digits from 0.001 on, one below", function()
    assert.same({"1", "0.617", "0.383", "0.0312", "0.00123", "0.001",
      "0.0009", "0.0001", "5e-05", "1e-06", "tiny", "0", "nan"},
      decimals {1, 0.6174, 0.3826, 0.03125, 0.001234, 0.00099996, 0.00094,
        0.000123, 4.7e-5, 9.7e-7, 9e-7, 0, 0 / 0})
  end)

  it("are rounded as printf rounds", function()
    local row, expected = {}, {}
    for i = 1, 3000 do
      row[i] = 10 ^ -(6 * ((i * 0.618034) % 1)) -- all over 1e-6 .. 1
      expected[i] = ("%.3g"):format(tonumber(
        (row[i] < 0.001 and "%.1g" or "%.3g"):format(row[i])))
    end
    assert.same(expected, decimals(row))
  end)

  it("count the zeros of a row", function()
    for n = 0, 300 do
      local row = {0.5}
      for i = 1, n do row[i + 1] = 0 end
      row[n + 2] = 0.5
      local text = encode(row)
      local codes = read_codes(text)
      assert.equal(n + 2, #codes)
      assert.equal(codes[1], codes[n + 2])
      for i = 2, n + 1 do assert.equal(0, codes[i]) end
      if n == 300 then assert.is_true(#text < 16) end
    end
  end)

  it("hold no character that JSON or HTML reads in its own way", function()
    local row = {}
    for i = 1, 4000 do row[i] = i / 4000 end
    assert.is_nil(encode(row):find "[&<\"'\\%c\x80-\xFF]")
  end)
end)

local function read(file)
  local handle = assert(io.open(file, "rb"))
  local content = handle:read("a")
  handle:close()
  return content
end

local square <const> = {{0.75, 0.25}, {0.5, 0.5}}

describe("plot.attention_html", function()
  local file

  before_each(function()
    file = os.tmpname()
    os.remove(file)
    file = file .. ".html"
  end)
  after_each(function() os.remove(file) end)

  it("returns the page, or writes it to a file", function()
    local one = {{tokens = {"a", "b"}, weights = square}}
    local html = plot.attention_html(one, {title = "T"})
    assert.matches("^<!DOCTYPE html>.*</html>\n$", html)
    assert.is_nil(plot.attention_html(one, {title = "T", file = file}))
    assert.equal(html, read(file))
  end)

  it("names nothing outside of itself", function()
    local html = plot.attention_html {{tokens = {"a", "b"}, weights = square}}
    assert.is_nil(html:find "https?:")
    assert.is_nil(html:find "src=")
    assert.is_nil(html:find "@import")
    assert.truthy(html:find("default-src 'none'", 1, true))
  end)

  it("lets no text end a script or become markup", function()
    local html = plot.attention_html({{name = "<!--<script>",
      tokens = {"</script>", "<!-- \u{2028}\0"}, weights = square}},
      {title = "</title><script>alert(1)</script>"})
    local _, closed = html:gsub("</script", "")
    local _, opened = html:gsub("<script", "")
    assert.same({2, 2}, {opened, closed})
    assert.is_nil(html:find("<!--", 1, true))
    assert.is_nil(html:find "[%z\u{2028}]")
    assert.truthy(html:find("<title>&lt;/title&gt;", 1, true))
  end)

  it("takes weights in every form that a model gives", function()
    local w = heed.tensor(square)
    local function data(weights)
      return plot.attention_html {{tokens = {"a", "b"}, weights = weights}}
    end
    local plain = data(square)
    assert.equal(plain, data(w))
    assert.equal(plain, data(w:to "bfloat16")) -- these have few digits
    assert.equal(plain, data(w:unsqueeze(1)))
    assert.equal(plain, data(w:unsqueeze(1):unsqueeze(1)))
    assert.equal(plain, data {w})
    assert.equal(plain, data {w:unsqueeze(1):unsqueeze(1)})
    assert.equal(plain, data {w[1], w[2]}) -- rows
    local four = w:expand(3, 2, 2, 2)
    assert.equal(data(four), data {four[1], four[2], four[3]})
    assert.equal(data(four), data(four:clone():requires_grad_()))
  end)

  it("leaves the old file when it fails", function()
    local handle = assert(io.open(file, "w"))
    handle:write("old")
    handle:close()
    assert.has_error(function()
      plot.attention_html({{tokens = {"a"}, weights = square}}, {file = file})
    end)
    assert.equal("old", read(file))
  end)

  local function fault(...) return message(plot.attention_html, ...) end

  local function fault_of(weights, tokens, keys)
    return fault {{tokens = tokens or {"a", "b"}, keys = keys,
      weights = weights}}
  end

  it("says what is no list of attentions", function()
    local what <const> = "attention_html: attentions must be a list of tables "
      .. "with tokens and weights, got "
    assert.equal(what .. "nil", fault())
    assert.equal(what .. "an empty table", fault {})
    assert.equal(what .. 'the key "weights"', fault {weights = square})
    assert.equal("attention_html: attentions[1] must be a table with tokens "
      .. "and weights, got tensor float32 [2 2]", fault {heed.tensor(square)})
    assert.equal('attention_html: attentions[1]: unknown option "weight"; '
      .. "known: keys, name, tokens, weights", fault {{weight = 1}})
    assert.equal("attention_html: attentions[1].tokens must be a list of "
      .. "tokens, got nil", fault {{weights = square}})
    assert.equal("attention_html: attentions[1].tokens must be a list of "
      .. "tokens, got an empty table", fault_of(square, {}))
    assert.equal("attention_html: attentions[1].keys[2] must be a string or a "
      .. "number, got true", fault_of(square, nil, {"a", true}))
  end)

  it("says what are no weights", function()
    local what <const> = "attention_html: attentions[1].weights must be a "
      .. "tensor [Tq Tk], [H Tq Tk] or [L H Tq Tk], or a list of one "
      .. "[H Tq Tk] for each layer, got "
    assert.equal(what .. "nil", fault_of(nil))
    assert.equal(what .. "a table", fault_of {{1, 2}, {3}})
    assert.equal(what .. "tensor float32 [2]", fault_of(heed.ones(2)))
    assert.equal(what .. "tensor float32 [0 2 2]",
      fault_of(heed.ones(0, 2, 2)))
    assert.equal(what .. "tensor float32 [0 1 2 2]",
      fault_of(heed.ones(0, 1, 2, 2)))
    assert.equal("attention_html: attentions[1].weights [3 2] must end in "
      .. "[2 2], the numbers of tokens and keys", fault_of(heed.ones(3, 2)))
    assert.equal("attention_html: attentions[1].weights[2] [1 4 2 3] must end "
      .. "in [2 2], the numbers of tokens and keys",
      fault_of {heed.ones(1, 4, 2, 2), heed.ones(1, 4, 2, 3)})
    assert.equal("attention_html: attentions[1].weights[1] [5 4 2 2] holds a "
      .. "batch of 5: take one of it, w[1]", fault_of {heed.ones(5, 4, 2, 2)})
  end)

  it("says which weight is none", function()
    local w = heed.zeros(2, 2, 2)
    w[{2, 1, 2}] = -0.5
    assert.equal("attention_html: attentions[1].weights must be weights from "
      .. "0 to 1, got -0.5 at [2 1 2]", fault_of(w))
    w[{2, 1, 2}] = math.huge
    assert.equal("attention_html: attentions[1].weights must be weights from "
      .. "0 to 1, got inf at [2 1 2]", fault_of(w))
    w[{2, 1, 2}] = 1.001 -- rounds to 1, as sums of halves may
    assert.is_string(plot.attention_html {{tokens = {"a", "b"}, weights = w}})
  end)

  it("says what is wrong with its options", function()
    local one <const> = {{tokens = {"a", "b"}, weights = square}}
    assert.equal('attention_html: unknown option "cmap"; known: file, title',
      fault(one, {cmap = "Reds"}))
    assert.equal("attention_html: title must be a string, got 3",
      fault(one, {title = 3}))
    assert.equal('attention_html: file "x.png" must end in .html',
      fault(one, {file = "x.png"}))
    assert.equal("attention_html: " .. file .. "/none/x.html: cannot be "
      .. "written: No such file or directory",
      fault(one, {file = file .. "/none/x.html"}))
  end)
end)
