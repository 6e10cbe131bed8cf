local heed = require "heed"
local message = require "spec.support.message"
local plot <const> = heed.plot

-- What plot.words writes.
local function shown(words, weights, opts)
  local parts = {}
  local o = {width = 40, color = false, utf8 = false}
  for key, value in pairs(opts or {}) do o[key] = value end
  o.file = {write = function(self, text)
    parts[#parts + 1] = text
    return self
  end}
  plot.words(words, weights, o)
  return table.concat(parts)
end

describe("plot.words", function()
  it("writes a shade below each word, the darkest for the greatest", function()
    -- ten shades: a eighth of the greatest weight is the second one
    assert.equal("a dull film\n. @@@@ ++++\n",
      shown({"a", "dull", "film"}, {0.1, 0.8, 0.42}))
  end)

  it("takes a tensor, and a range", function()
    assert.equal("a b\n+ @\n",
      shown({"a", "b"}, heed.tensor {0.5, 2.0}, {vmax = 1}))
    assert.equal("a b\n  @\n",
      shown({"a", "b"}, heed.tensor {0.5, 2.0}, {vmin = 0.5}))
  end)

  it("uses blocks where the terminal has them", function()
    assert.equal("a film\n░ ████\n",
      shown({"a", "film"}, {0.25, 1.0}, {utf8 = true}))
  end)

  it("writes words on colours, light ones on dark colours", function()
    -- the ends of Reds
    assert.equal("\27[38;2;0;0;0;48;2;255;246;242ma\27[0m "
      .. "\27[38;2;255;255;255;48;2;95;0;15mb\27[0m\n",
      shown({"a", "b"}, {0, 1}, {color = true}))
  end)

  it("marks what is not a number", function()
    assert.equal("a b\nx @\n", shown({"a", "b"}, {0 / 0, 1}))
  end)

  it("breaks lines between words, counting columns", function()
    assert.equal("été 中文\n@@@ @@@@\nmore\n@@@@\n",
      shown({"été", "中文", "more"}, {1, 1, 1}, {width = 8}))
  end)

  it("cuts a word that is wider than a line, and escapes control characters",
    function()
      assert.equal("abc~\n@@@@\n", shown({"abcdef"}, {1}, {width = 4}))
      assert.equal("\\x1Bx\n@@@@@\n", shown({"\27x"}, {1}))
    end)

  it("says what is wrong", function()
    for _, case in ipairs {
      {{{}, {}}, "words: words is empty"},
      {{"a", {1}}, "words: words must be a list, got \"a\""},
      {{{"a", "b"}, {1}},
        "words: weights must be 2, one for each word, got 1"},
      {{{"a"}, {"x"}}, 'words: weights[1] must be a number, got "x"'},
      {{{"a"}, {1}, {file = "a.png"}}, "words: file must have a write method "
        .. '(words are text, no picture), got "a.png"'},
      {{{"a"}, {1}, {size = 1}}, 'words: unknown option "size"; known: cmap, '
        .. "color, file, utf8, vmax, vmin, width"},
      {{{"a"}, {1}, {cmap = "jet"}},
        'words: cmap must be one of Reds, gray, magma, viridis, got "jet"'},
    } do
      assert.equal(case[2], message(plot.words, table.unpack(case[1])))
    end
  end)
end)
