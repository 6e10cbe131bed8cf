local bleu = require "heed.text".bleu
local message = require "spec.support.message"

-- Reference values: sacrebleu 2.6.0.
local cases = {
  {
    "two sentences", {"The cat sleeps on the red sofa.",
      "We ate bread and cheese."},
    {{"The cat is sleeping on the red sofa."},
      {"We had bread and some cheese for lunch."}},
    31.819033351908995, {85.7142857143, 50, 30, 25}, 0.7514772930752859, 14, 18,
  },
  {
    "references that differ in number",
    {"The boat leaves at ten in the morning.", "It rains."},
    {{"The boat leaves at ten o'clock in the morning.",
      "At ten in the morning the boat leaves."},
      {"It is raining.", "It rains.", "Rain falls."}},
    87.39351325046809, {100, 100, 87.5, 66.6666666667}, 1, 12, 12,
  },
  {
    "an empty hypothesis", {"", "Good morning, everybody!"},
    {{"Hello there."}, {"Good morning, everybody!"}},
    54.88116360940266, {100, 100, 100, 100}, 0.5488116360940264, 5, 8,
  },
  {
    "nothing but an empty hypothesis", {""}, {{"Hello there."}},
    0, {0, 0, 0, 0}, 0, 0, 3,
  },
  {
    "numbers", {"It costs 1,000.5 euros (about 3-4 % more), he said."},
    {{"It cost 1,000.5 euros, about 3-4% more, he said."}},
    50.353378875558576, {81.25, 60, 42.8571428571, 30.7692307692}, 1, 16, 15,
  },
  {
    "quotes and apostrophes", {"«L'eau n'est pas froide», dit-elle."},
    {{"« L'eau n'est pas très froide », dit-elle."}},
    20.024850746991504, {71.4285714286, 50, 20, 12.5}, 0.6514390575310556, 7,
    10,
  },
  {
    "entities and broken lines",
    {"She said &quot;no&quot; &amp; left-\nhand turns\nare easy."},
    {{'She said "no" & lefthand turns are hard.'}},
    80.70557274927978, {90.9090909091, 80, 77.7777777778, 75}, 1, 11, 11,
  },
  {
    "letters beyond ASCII", {"Le garçon a mangé à l'école à midi…"},
    {{"Le garçon mangea à l'école à midi…"}},
    41.11336169005198, {75, 57.1428571429, 33.3333333333, 20}, 1, 8, 7,
  },
  {
    "white space beyond ASCII", {"Dix\u{A0}000\u{202F}€ en\u{3000}tout !"},
    {{"Dix 000 € en tout !"}}, 100, {100, 100, 100, 100}, 1, 6, 6,
  },
  {
    "orders without a match", {"Yes, please."}, {{"Yes, thank you."}},
    27.534765745159184, {75, 33.3333333333, 25, 25}, 0.7788007830714049, 4, 5,
  },
  {
    "a sentence shorter than four tokens", {"No!"}, {{"No!"}},
    0, {100, 100, 0, 0}, 1, 2, 2,
  },
  {
    "the same with the effective order", {"No!"}, {{"No!"}},
    100, {100, 100, 0, 0}, 1, 2, 2, {effective_order = true},
  },
  {
    "a word repeated too often", {"the the the the the the the"},
    {{"the cat is on the mat", "there is a cat on the mat"}},
    7.809849842300637, {28.5714285714, 8.3333333333, 5, 3.125}, 1, 7, 7,
  },
  {
    "two references that are as close", {"a b c d"},
    {{"a b c d e", "a b c"}}, 100, {100, 100, 100, 100}, 1, 4, 3,
  },
  {
    "up to two words", {"the cat sat here"}, {{"the cat sat there"}},
    70.71067811865471, {75, 66.6666666667}, 1, 4, 4, {max_order = 2},
  },
  {
    "texts that have their tokens apart", {"don't , stop ."},
    {{"don't , ever stop ."}},
    35.1862973998119, {100, 66.6666666667, 25, 25}, 0.7788007830714049, 4, 5,
    {tokenize = "none"},
  },
  {
    "small letters", {"The Cat sleeps on the RED sofa."},
    {{"the cat is sleeping on the red sofa."}},
    52.47357977607325, {87.5, 71.4285714286, 50, 40}, 0.8824969025845955, 8, 9,
    {lowercase = true},
  },
  {
    "Greek in small letters", {"Ο ΔΡΟΜΟΣ είναι μακρύς."},
    {{"ο δρόμος είναι μακρύς.", "Ο δρομος ΕΙΝΑΙ μακρύς."}},
    49.99999999999999, {100, 75, 33.3333333333, 25}, 1, 5, 5,
    {lowercase = true, effective_order = true},
  },
  {
    "a floor for what is not matched", {"Yes, please."}, {{"Yes, thank you."}},
    14.643803168582156, {75, 33.3333333333, 5, 10}, 0.7788007830714049, 4, 5,
    {smooth = "floor"},
  },
  {
    "a floor of one's own", {"Yes, please."}, {{"Yes, thank you."}},
    32.74453933407651, {75, 33.3333333333, 25, 50}, 0.7788007830714049, 4, 5,
    {smooth = "floor", smooth_value = 0.5},
  },
  {
    "one more of everything", {"Yes, please."}, {{"Yes, thank you."}},
    38.940039153570254, {75, 50, 33.3333333333, 50}, 0.7788007830714049, 4, 5,
    {smooth = "add-k"},
  },
  {
    "half of one more", {"Yes, please."}, {{"Yes, thank you."}},
    29.797147054518835, {75, 42.8571428571, 20, 33.3333333333},
    0.7788007830714049, 4, 5, {smooth = "add-k", smooth_value = 0.5},
  },
  {
    "nothing for what is not matched", {"Yes, please."}, {{"Yes, thank you."}},
    0, {75, 33.3333333333, 0, 0}, 0.7788007830714049, 4, 5, {smooth = "none"},
  },
}

describe("text.bleu", function()
  for _, case in ipairs(cases) do
    local name, hypotheses, references, score, precisions, penalty, hyp_length,
      ref_length, options = table.unpack(case, 1, 9)
    it("scores " .. name, function()
      local got, parts = bleu(hypotheses, references, options)
      assert.near(score, got, 1e-9)
      assert.equal(#precisions, #parts.precisions)
      for n, p in ipairs(precisions) do
        assert.near(p, parts.precisions[n], 1e-9)
      end
      assert.near(penalty, parts.brevity_penalty, 1e-12)
      assert.equal(hyp_length, parts.hyp_length)
      assert.equal(ref_length, parts.ref_length)
    end)
  end

  it("follows the formula of the paper", function()
    -- 3 of 4, 2 of 3, 1 of 2 and, smoothed, half of 1 n-gram match.
    local got = bleu({"a b c x"}, {{"a b c d"}})
    assert.near(100 * (3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ^ (1 / 4), got, 1e-9)
  end)

  it("is never above 100", function()
    assert.is_true(bleu({"a b c d"}, {{"a b c d"}}) <= 100)
  end)

  it("takes a text of a million spaces", function()
    local _, parts = bleu({"a" .. (" "):rep(1000000) .. "b"}, {{"a"}})
    assert.equal(2, parts.hyp_length)
  end)

  local wrong = {
    {{"a", {{"a"}}}, 'hypotheses must be a list, got "a"'},
    {{{}, {}}, "hypotheses must hold a string, got none"},
    {{{"a", 2}, {}}, "hypotheses[2] must be a string, got 2"},
    {{{"a"}, {"a"}}, 'references[1] must be a table, got "a"'},
    {{{"a", "b"}, {{"a"}}},
      "references must hold a list for each of the 2 hypotheses, got 1"},
    {{{"a"}, {{}}}, "references[1] must hold a string, got none"},
    {{{"a"}, {{"a", false}}}, "references[1][2] must be a string, got false"},
    {{{"a"}, {{"a"}}, {tokenize = "zh"}},
      'tokenize must be "13a" or "none", got "zh"'},
    {{{"a"}, {{"a"}}, {max_order = 0}},
      "max_order must be an integer of at least 1, got 0"},
    {{{"a"}, {{"a"}}, {effective_order = 1}},
      "effective_order must be a boolean, got 1"},
    {{{"a"}, {{"a"}}, {lowercase = 1}}, "lowercase must be a boolean, got 1"},
    {{{"a"}, {{"a"}}, {smooth = "chen"}}, 'smooth must be "exp", "floor", '
      .. '"add-k" or "none", got "chen"'},
    {{{"a"}, {{"a"}}, {smooth_value = 1}},
      'smooth_value goes with "floor" and "add-k", not with "exp"'},
    {{{"a"}, {{"a"}}, {smooth = "floor", smooth_value = -1}},
      "smooth_value must be a number of at least 0, got -1"},
    {{{"a"}, {{"a"}}, {case = 1}}, 'unknown option "case"; known: '
      .. "effective_order, lowercase, max_order, smooth, smooth_value, "
      .. "tokenize"},
    {{{"a"}, {{"a"}}, 4}, "options must be a table, got 4"},
  }
  for _, case in ipairs(wrong) do
    it("says that " .. case[2], function()
      assert.equal("bleu: " .. case[2],
        message(bleu, table.unpack(case[1], 1, 3)))
    end)
  end
end)
