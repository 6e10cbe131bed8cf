local close = require "spec.support.close"
local heed = require "heed"
local run = require "spec.examples.run"

local NAME <const> = "text_attention"
local ROUNDED <const> = {atol = 5.1e-5, rtol = 0} -- four digits are printed

local function golden(case, output)
  return heed.load_safetensors("spec/golden/seed_art_" .. case
    .. ".safetensors")["output." .. output]
end

-- Runs it with a sentence; returns what it printed and wrote.
local function attend(...)
  local code, out, err, files = run.example(NAME, ...)
  assert.equal("", err)
  assert.equal(0, code)
  return out, files
end

describe("examples/text_attention.lua", function()
  it("attends and draws as the article does", function()
    local out, files = attend()
    assert.matches("tokens: the | cat | sat | on | the | mat\n", out, 1, true)
    close.check("weights", run.numbers(out, "One-hot attention: weights\n"),
      golden("onehot_cat", "weights"):flatten(), ROUNDED)
    for _, name in ipairs {"onehot", "random"} do
      local file = NAME .. "-" .. name .. ".png"
      assert.is_true(run.png_size(files[file]) > 300)
      assert.matches("written: [^\n]*/" .. file:gsub("%p", "%%%0"), out)
      files[file] = nil
    end
    assert.same({}, files)
  end)

  it("gives the reference's weights for random queries and keys", function()
    local out = attend("--seed", "0", "one two three four")
    close.check("weights", run.numbers(out, "and values: weights\n"),
      golden("compute_attention_example", "weights"):flatten(), ROUNDED)
  end)

  it("takes words that are not in quotes", function()
    local out = attend("a", "rose", "is", "a", "rose")
    assert.matches("tokens: a | rose | is | a | rose\n", out, 1, true)
  end)

  -- By hand: a token that stands c times among n gives each of its places
  -- e / (c e + n - c).
  for sentence, case in pairs {
    ["四是四。"] = {"四 | 是 | 四 | 。", 0.3655, 0.1345, 0.3655, 0.1345},
    ["Émile, E\u{301}mile"] = {"émile | , | émile", 0.4223, 0.1554, 0.4223},
    ["می\u{200C}خواهم نعم\u{3000}🐈\u{200D}⬛ ❤️"] = {
      "می\u{200C}خواهم | نعم | 🐈\u{200D}⬛ | ❤️",
      0.4754, 0.1749, 0.1749, 0.1749},
  } do
    it("attends in " .. sentence, function()
      local out = attend(sentence)
      assert.matches("tokens: " .. case[1] .. "\n", out, 1, true)
      local row = run.numbers(out, "One-hot attention: weights\n")
      assert.same(table.move(case, 2, #case, 1, {}),
        table.move(row, 1, #case - 1, 1, {}))
    end)
  end

  it("attends between what a reader calls characters", function()
    local out = attend("--by", "characters", "ที่ นี่")
    assert.matches("tokens: ที่ | นี่\n", out, 1, true)
    assert.same({0.7311, 0.2689, 0.2689, 0.7311},
      run.numbers(out, "One-hot attention: weights\n"))
  end)

  it("explains its options", function()
    local code, help = run.example(NAME, "--help")
    assert.equal(0, code)
    for _, text in ipairs {"sentence", "The cat sat on the mat", "--seed",
        "--out", "--by"} do
      assert.matches(text, help, 1, true)
    end
  end)

  for what, case in pairs {
    ["an empty sentence"] = {"", "the sentence is empty"},
    ["a blank sentence"] = {" \t ", "the sentence is empty"},
    ["bytes that are no text"] = {"a\xff", "the sentence is no UTF-8"},
    ["another kind of token"] = {"--by=letters", "argument for option '--by' "
      .. "must be one of 'words', 'characters' (see --help)"},
  } do
    it("refuses " .. what, function()
      local code, out, err, files = run.example(NAME, case[1])
      assert.equal(NAME .. ": " .. case[2] .. "\n", err)
      assert.equal("", out)
      assert.equal(1, code)
      assert.same({}, files)
    end)
  end
end)
