local close = require "spec.support.close"
local heed = require "heed"
local run = require "spec.examples.run"

local NAME <const> = "self_attention_tour"

-- Holds a saved tensor against an output of a golden case, or its sample.
local function compare(got, case, output)
  local want = heed.load_safetensors("spec/golden/seed_art_" .. case
    .. ".safetensors")
  local index = want["index.output." .. output] -- from 0
  if index then got = got:flatten()[index + 1] end
  close.check(case .. ": " .. output, got, want["output." .. output],
    {atol = 1e-5, rtol = 1e-5})
end

-- Runs it and returns what it printed, saved, and wrote.
local function tour(...)
  local path = os.tmpname()
  local code, out, err, files = run.example(NAME, "--save", path, ...)
  assert.equal("", err)
  assert.equal(0, code)
  local saved = heed.load_safetensors(path)
  os.remove(path)
  return out, saved, files
end

describe("examples/self_attention_tour.lua", function()
  local out, saved, files

  setup(function() out, saved, files = tour() end)

  it("attends by hand as the reference does", function()
    compare(saved["by_hand.weights"], "self_attention_numpy", "weights")
    compare(saved["by_hand.result"], "self_attention_numpy", "out")
    assert.same({0.5289, 0.7355, 0.7355, 0.7355},
      run.numbers(out, "result\n"))
  end)

  it("splits queries, keys and values into heads", function()
    assert.matches("x (32, 10, 256), q (32, 10, 8, 32), k (32, 10, 8, 32), "
      .. "v (32, 10, 8, 32)", out, 1, true)
    for _, name in ipairs {"q", "k", "v"} do
      compare(saved["split." .. name], "qkv_split_example", name)
    end
  end)

  it("has scores and weights of all heads", function()
    assert.matches("scores (32, 8, 10, 10), weights (32, 8, 10, 10)", out, 1,
      true)
    -- by the formula, for one query of one head
    local q, k = saved["split.q"][{3, 5, 7}], saved["split.k"][{3, {}, 7}]
    local scores = k:to("float64"):mv(q:to "float64") / math.sqrt(32)
    close.check("scores", saved["scores.scores"][{3, 7, 5}], scores,
      {atol = 1e-5, rtol = 1e-5})
    close.check("weights", saved["scores.weights"][{3, 7, 5}],
      scores:exp() / scores:exp():sum(), {atol = 1e-6, rtol = 1e-5})
  end)

  it("attends with several heads", function()
    assert.matches("x (32, 10, 256), output (32, 10, 256)", out, 1, true)
    compare(saved["multi_head.free"], "mha_example", "out")
  end)

  it("attends with one call", function()
    assert.matches("output (10, 32, 64), weights (10, 32, 32)", out, 1, true)
    compare(saved["call.free"], "sdpa_example", "out")
    compare(saved["call.weights"], "sdpa_example", "weights")
  end)

  it("encodes positions", function()
    assert.matches("table (100, 64)", out, 1, true)
    compare(saved["positions.table"], "positional_encoding_100x64", "pe")
  end)

  it("attends with a mask, in other sizes too", function()
    local _, small = tour("--batch", "3", "--length", "6", "--embed", "24",
      "--heads", "4")
    compare(small["multi_head.free"], "mha_small", "out")
    compare(small["multi_head.causal"], "mha_small_causal", "out")
  end)

  it("holds each stop against what is known", function()
    local _, n = out:gsub("checked: ", "")
    assert.equal(10, n)
  end)

  it("draws heads and positions", function()
    for _, name in ipairs {"heads", "positions", "waves"} do
      local file = NAME .. "-" .. name .. ".png"
      assert.is_true(run.png_size(files[file]) > 300)
      assert.matches("written: [^\n]*/" .. file:gsub("%p", "%%%0"), out)
      files[file] = nil
    end
    assert.same({}, files)
  end)

  it("goes on with a single token", function()
    local _, one = tour("--batch", "1", "--length", "1", "--embed", "1",
      "--heads", "1")
    assert.same({{{{1}}}}, one["scores.weights"]:totable())
  end)

  it("explains its options", function()
    local code, help = run.example(NAME, "--help")
    assert.equal(0, code)
    for _, name in ipairs {"--seed", "--out", "--batch", "--length", "--embed",
        "--heads", "--save"} do
      assert.matches(name, help, 1, true)
    end
  end)

  for message, arguments in pairs {
    ["--embed must be a multiple of --heads, got 256 and 7"] =
      {"--heads", "7"},
    ["--length must be a whole number of at least 1, got 0 (see --help)"] =
      {"--length", "0"},
    ["cannot write /nowhere/t.safetensors: No such file or directory"] =
      {"--save", "/nowhere/t.safetensors"},
  } do
    it("refuses " .. table.concat(arguments, " "), function()
      local code, said, err, written = run.example(NAME,
        table.unpack(arguments))
      assert.equal(NAME .. ": " .. message .. "\n", err)
      assert.equal("", said)
      assert.equal(1, code)
      assert.same({}, written)
    end)
  end
end)
