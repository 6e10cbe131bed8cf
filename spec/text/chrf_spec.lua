local message = require "spec.support.message"
local text = require "heed.text"

local chrf <const> = text.chrf

-- Reference values: sacrebleu 2.6.0. Texts, references, chrF, chrF++.
local cases = {
  {
    "two sentences", {"The cat sleeps on the red sofa.",
      "We ate bread and cheese."},
    {{"The cat is sleeping on the red sofa."},
      {"We had bread and some cheese for lunch."}},
    49.47742531174079, 50.76945819676412,
  },
  {
    "references that differ in number",
    {"The boat leaves at ten in the morning.", "It rains."},
    {{"The boat leaves at ten o'clock in the morning.",
      "At ten in the morning the boat leaves."},
      {"It is raining.", "It rains.", "Rain falls."}},
    83.5710999226016, 81.42242726522426,
  },
  {
    "an empty hypothesis", {"", "Good morning, everybody!"},
    {{"Hello there."}, {"Good morning, everybody!"}},
    74.41640133478342, 73.19951145225728,
  },
  {
    "nothing but an empty hypothesis", {""}, {{"Hello there."}}, 0, 0,
  },
  {
    "an empty reference", {"Hello"}, {{""}}, 0, 0,
  },
  {
    "texts shorter than the orders", {"No!"}, {{"No."}},
    38.888888888888886, 33.33333333333333,
  },
  {
    "letters beyond ASCII", {"Le garçon a mangé à l'école à midi…"},
    {{"Le garçon mangea à l'école à midi…"}},
    72.84067998560752, 73.15788650205988,
  },
  {
    "white space beyond ASCII", {"Dix\u{A0}000\u{202F}€ en\u{3000}tout !"},
    {{"Dix 000 € en tout !"}}, 100, 100,
  },
  {
    "punctuation at both ends of words", {'(well), "yes" - no? a !'},
    {{"(well) 'yes' — no! a!"}}, 34.75133388483807, 31.79569976203391,
  },
  {
    "other letters", {"今日は とても暑いです。", "Сегодня очень жарко."},
    {{"今日はとても暑い。"}, {"Сегодня жарко, очень."}},
    62.78880680378451, 55.42689934780739,
  },
}

describe("text.chrf", function()
  for _, case in ipairs(cases) do
    it("scores " .. case[1], function()
      assert.near(case[4], chrf(case[2], case[3]), 1e-9)
      assert.near(case[5], chrf(case[2], case[3], {word_order = 2}), 1e-9)
    end)
  end

  local options = {
    {{beta = 1}, 54.340018321417624},
    {{beta = 3, char_order = 4}, 56.73088025688971},
    {{whitespace = true}, 57.17046983041546},
    {{eps_smoothing = true}, 49.47397536925262},
    {{word_order = 1}, 52.38261354891822},
  }
  for _, case in ipairs(options) do
    local name = next(case[1])
    it("takes " .. name, function()
      assert.near(case[2], chrf(cases[1][2], cases[1][3], case[1]), 1e-9)
    end)
  end

  it("takes lowercase", function()
    local of = cases[7]
    assert.near(of[4], chrf({"LE GARÇON A MANGÉ À L'ÉCOLE À MIDI…"}, of[3],
      {lowercase = true}), 1e-9)
    assert.near(80.9567628220879, chrf({"Ο ΔΡΟΜΟΣ είναι μακρύς."},
      {{"ο δρόμος είναι μακρύς.", "Ο δρομος ΕΙΝΑΙ μακρύς."}},
      {lowercase = true}), 1e-9)
  end)

  it("is 100 times 5 P R / (4 P + R)", function()
    -- one letter of two is right, of one order: P = 1/2, R = 1/3
    assert.near(100 * 5 / 2 / 3 / (2 + 1 / 3),
      chrf({"ax"}, {{"abc"}}, {char_order = 1}), 1e-12)
  end)

  local wrong = {
    {{1}, "hypotheses must be a list, got 1"},
    {{{}, {}}, "hypotheses must hold a string, got none"},
    {{{"a", "b"}, {{"a"}}},
      "references must hold a list for each of the 2 hypotheses, got 1"},
    {{{"a"}, {{}}}, "references[1] must hold a string, got none"},
    {{{"\xff"}, {{"a"}}}, 'hypotheses[1] must be UTF-8, got "\\xFF"'},
    {{{"a"}, {{"a", "\xff"}}}, 'references[1][2] must be UTF-8, got "\\xFF"'},
    {{{"a"}, {{"a"}}, {char_order = 0}},
      "char_order must be an integer of at least 1, got 0"},
    {{{"a"}, {{"a"}}, {word_order = -1}},
      "word_order must be an integer of at least 0, got -1"},
    {{{"a"}, {{"a"}}, {beta = "2"}},
      'beta must be a number of at least 0, got "2"'},
    {{{"a"}, {{"a"}}, {whitespace = 1}}, "whitespace must be a boolean, got 1"},
    {{{"a"}, {{"a"}}, {order = 6}}, 'unknown option "order"; known: beta, '
      .. "char_order, eps_smoothing, lowercase, whitespace, word_order"},
  }
  for _, case in ipairs(wrong) do
    it("says that " .. case[2], function()
      assert.equal("chrf: " .. case[2],
        message(chrf, table.unpack(case[1], 1, 3)))
    end)
  end
end)
