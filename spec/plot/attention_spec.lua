local heed = require "heed"
local plot = require "heed.plot"
local pictures = require "spec.support.pictures"

local has_gnuplot <const> = pictures.has_gnuplot

local function case(name, f)
  it(name, function()
    if not has_gnuplot then return pending("gnuplot is not installed") end
    f()
  end)
end

describe("plot.attention", function()
  case("has the tokens on both axes, those of the keys at 45 degrees",
    function()
      local texts = pictures.texts(function(file)
        plot.attention({"the", "cat"}, {{0.5, 0.5}, {0.2, 0.8}}, {file = file})
      end)
      local seen = {}
      for _, text in ipairs(texts) do
        local key = ("%s %g"):format(text.text, text.angle)
        seen[key] = (seen[key] or 0) + 1
      end
      for _, key in ipairs {"the 0", "cat 0", "the -45", "cat -45", "keys 0",
        "queries -90", "0 0", "0.8 0"} do
        assert.equal(1, seen[key], key)
      end
    end)

  case("takes other tokens for the keys", function()
    local texts = pictures.texts(function(file)
      plot.attention({"le"}, heed.tensor {{0.5, 0.2, 0.3}},
        {keys = {"the", "black", "cat"}, ylabel = "target", file = file})
    end)
    local angles = {}
    for _, text in ipairs(texts) do angles[text.text] = text.angle end
    assert.same({0, -45, -45, -45, -90}, {angles.le, angles.the, angles.black,
      angles.cat, angles.target})
  end)

  it("draws into the terminal without a file", function()
    local written = {}
    plot.attention({"le", "chat"}, {{1, 0}, {0.25, 0.75}}, {
      keys = {"the", "cat"}, width = 80, utf8 = true,
      file = {write = function(self, text)
        written[#written + 1] = text
        return self
      end},
    })
    assert.equal([[
queries ↓  keys →
      the cat
  le │████    │
chat │░░░░▓▓▓▓│
      0 │    ░░░░▒▒▒▒▓▓▓▓████│ 1
]], table.concat(written))
  end)

  it("checks tokens and weights", function()
    local function error_of(expected, ...)
      local arguments = table.pack(...)
      assert.has_error(function()
        plot.attention(table.unpack(arguments, 1, arguments.n))
      end, "attention: " .. expected)
    end
    error_of('tokens must be a table of tokens, got "a"', "a", {{1}},
      {keys = {"b"}})
    error_of("keys must be a table, got 7", {"a"}, {{1}}, {keys = 7})
    error_of("tokens[2] must be a string or a number, got a table", {"a", {}},
      {{1}}, {keys = {"b"}})
    error_of("weights must be [2 2] for 2 tokens, got [1 2]", {"a", "b"},
      {{1, 0}})
    error_of("weights must be [1 3] for 1 tokens and 3 keys, got [1 2]",
      {"a"}, {{1, 0}}, {keys = {"a", "b", "c"}})
    error_of("weights must be a table of rows or a tensor [rows cols], "
      .. "got tensor float32 [2 1 1]", {"a"}, heed.zeros(2, 1, 1))
    error_of("weights must be a table of rows or a tensor [rows cols], got nil",
      {"a"})
  end)
end)
