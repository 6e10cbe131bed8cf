local close = require "spec.support.close"
local heed = require "heed"
local run = require "spec.examples.run"

local NAME <const> = "multi_head"

describe("examples/multi_head.lua", function()
  local out, files

  setup(function()
    local code, err
    code, out, err, files = run.example(NAME)
    assert.equal("", err)
    assert.equal(0, code)
  end)

  it("prints the shapes of the notebook", function()
    assert.matches("transpose_qkv: (2, 4, 100) becomes (10, 4, 20)", out, 1,
      true)
    assert.matches("output (2, 4, 100), weights (10, 4, 6)", out, 1, true)
  end)

  it("finds what the reference finds for inputs of ones", function()
    local want = heed.load_safetensors
      "spec/golden/seed_jax_mha_example.safetensors"
    close.check("output", run.numbers(out, "of the first query:\n"),
      want["output.out"][{1, 1, {1, 8}}], {atol = 5.1e-5, rtol = 0})
  end)

  it("holds itself against what is known", function()
    for _, what in ipairs {
      "cut, turned and joined to the batch",
      "head 5 of entry 1 holds its last 20 columns",
      "transpose_output is the way back", "every query gets W_o (W_v 1)",
      "the weights are 1 / length, in every head",
      "nn.MultiHeadAttention gives the same", "and the same weights",
    } do
      assert.matches("checked: " .. what .. "\n", out, 1, true)
    end
  end)

  it("repeats the lengths over the heads", function()
    local w = run.numbers(out, "head 1 in the first sequence:\n")
    assert.equal(4 * 6, #w)
    for query = 0, 3 do
      local row = table.move(w, 6 * query + 1, 6 * query + 6, 1, {})
      local sum = 0
      for key, weight in ipairs(row) do
        sum = sum + weight
        assert.equal(key <= 3, weight > 0)
      end
      assert.is_near(1, sum, 2e-4)
    end
  end)

  it("draws the weights of each head", function()
    local width, height = run.png_size(files["multi_head-weights.png"])
    assert.is_true(width > height) -- five heads beside each other, two entries
    files["multi_head-weights.png"] = nil
    assert.same({}, files)
    assert.matches("written: [^\n]*/multi_head%-weights%.png\n", out)
  end)

  it("takes other sizes, also a sequence without a key", function()
    local code, other, err = run.example(NAME, "--hiddens", "6", "--heads",
      "1", "--lengths", "0", "6")
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches("output (2, 4, 6), weights (2, 4, 6)", other, 1, true)
    assert.same({0, 0, 0, 0, 0, 0},
      run.numbers(other, "of the first query:\n"))
  end)

  it("explains its options", function()
    local code, help = run.example(NAME, "--help")
    assert.equal(0, code)
    for _, name in ipairs {"--seed", "--out", "--hiddens", "--heads",
        "--lengths"} do
      assert.matches(name, help, 1, true)
    end
  end)

  for message, arguments in pairs {
    ["--hiddens must be a multiple of --heads, got 100 and 3"] =
      {"--heads", "3"},
    ["--heads must be a whole number of at least 1, got 0 (see --help)"] =
      {"--heads", "0"},
    ["--lengths must be at most 6, got 7"] = {"--lengths", "7", "1"},
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
