local command = require "spec.host.command"
local heed = require "heed"
local lfs = require "lfs"

local SIZES <const> = {"--d-model", "32", "--heads", "2", "--layers", "1",
  "--context", "16", "--batch", "8", "--every", "40", "--length", "30"}

local out <const> = os.tmpname() .. ".d" -- the folder of the pictures

-- Runs the example with the sizes above and more arguments.
local function run(...)
  local arguments = {"examples/language_model.lua", "--out", out}
  table.move(SIZES, 1, #SIZES, 4, arguments)
  for _, argument in ipairs {...} do arguments[#arguments + 1] = argument end
  return command.heed(arguments)
end

-- The loss, perplexity and bits per byte of a line of the table.
local function row(said, name)
  local numbers = {}
  for number in said:match("\n" .. name .. " +(%d[^\n]*)"):gmatch "%S+" do
    numbers[#numbers + 1] = tonumber(number)
  end
  return table.unpack(numbers)
end

local function exists(path) return lfs.attributes(path, "mode") == "file" end

describe("examples/language_model.lua", function()
  local files, alphabet = {}, nil

  local function write(content)
    local path = command.file(content)
    files[#files + 1] = path
    return path
  end

  setup(function() alphabet = write(("abcdefgh\n"):rep(100)) end)

  teardown(function()
    for _, path in ipairs(files) do os.remove(path) end
    for name in lfs.dir(out) do os.remove(out .. "/" .. name) end
    lfs.rmdir(out)
  end)

  it("learns a text that repeats itself, and goes on with it", function()
    local model = out .. "/model.st"
    local code, said, err = run("--data", alphabet, "--steps", "150",
      "--dropout", "0", "--temperature", "0", "--save", model)
    assert.equal("", err)
    assert.equal(0, code)
    -- 900 characters, the last tenth held out; 9 characters, 256 bytes, 4 more
    assert.matches("810 tokens, vocabulary of 269", said, 1, true)
    local loss, perplexity, bits = row(said, "all tokens as probable")
    assert.same({5.595, 269.00}, {loss, perplexity})
    assert.near(math.log(269, 2), bits, 1e-3)
    assert.near(269, select(2, row(said, "the model before training")), 40)
    -- the character before it says which one comes: no reason to hesitate
    assert.is_true(row(said, "the model") < 0.1)
    -- from a new line, 30 characters of the alphabet
    assert.matches("It writes:\n\nabcdefgh\nabcdefgh\nabcdefgh\nabc\n", said, 1,
      true)
    for _, what in ipairs {"training", "attention"} do
      local path = out .. "/language_model-" .. what .. ".png"
      assert.matches(path, said, 1, true)
      assert.is_true(exists(path))
    end

    local again, more = run("--load", model, "--prompt", "c", "--length", "12",
      "--top-k", "1", "--test", alphabet)
    assert.equal(0, again)
    assert.matches("It writes:\ncdefgh\nabcdef\n", more, 1, true)
    assert.is_true(row(more, "the model") < 0.1)
  end)

  -- Coins have an entropy of 1 bit: no model can guess them better.
  it("finds nothing where there is nothing to find", function()
    heed.manual_seed(1)
    local coins = heed.randint(0, 1, {6000}):totable()
    for i, coin in ipairs(coins) do coins[i] = coin == 1 and "a" or "b" end
    local code, said = run("--data", write(table.concat(coins)), "--steps",
      "80", "--dropout", "0")
    assert.equal(0, code)
    local loss, perplexity, bits = row(said, "the model")
    assert.near(math.log(2), loss, 0.04)
    assert.near(2, perplexity, 0.08)
    assert.near(1, bits, 0.06)
    -- 5400 coins, and each of 262 tokens counted once more
    assert.near(2 * 5662 / 5402, select(2, row(said, "counts of tokens")),
      0.01)
  end)

  it("counts pairs of tokens as its formula says", function()
    -- trained on "abab..": a 450, b 450, pairs ab 450, ba 449; measured "ab"s
    local _, said = run("--data", write(("ab"):rep(450)), "--test",
      write(("ab"):rep(10)), "--steps", "1")
    local vocab = 4 + 256 + 2
    local p1 = 451 / (900 + vocab)
    local ab, ba = (450 + 5 * p1) / 455, (449 + 5 * p1) / 455
    assert.near(-math.log(p1), row(said, "counts of tokens"), 1e-3)
    assert.near(-(10 * math.log(ab) + 9 * math.log(ba)) / 19,
      row(said, "counts of pairs of tokens"), 1e-3)
  end)

  it("reads pieces of words, and keeps the ends of lines", function()
    local poem = ("The sea is grey.\n"):rep(30)
    local code, said = run("--data", write(poem), "--tokens", "bpe", "--vocab",
      "300", "--steps", "60", "--dropout", "0", "--temperature", "0",
      "--length", "24")
    assert.equal(0, code)
    assert.is_nil(said:find("the tokens spell", 1, true))
    assert.matches("\nThe sea is grey.\nThe sea is grey.\n", said, 1, true)
    -- the bytes of the text, whatever the tokens are
    assert.matches("tokens, 51 bytes that were not trained on", said, 1, true)
  end)

  it("says when tokens cannot spell the text", function()
    local _, said = run("--data", write(("two  spaces\n"):rep(40)), "--test",
      write "two  spaces\n", "--tokens", "bpe", "--vocab", "300", "--steps",
      "1")
    assert.matches("the tokens spell 11 of 12 bytes", said, 1, true)
  end)

  it("writes the same with the same seed, other things with another",
    function()
      local function written(seed)
        local _, said = run("--data", alphabet, "--steps", "2", "--seed", seed)
        return said:match "It writes:\n(.*)"
      end
      local first = written "3"
      assert.equal(first, written "3")
      assert.are_not.equal(first, written "4")
    end)

  it("explains its options", function()
    local code, said = run("--help")
    assert.equal(0, code)
    for _, name in ipairs {"--data", "--tokens", "--temperature", "--top-k",
        "--top-p", "--prompt", "--seed", "--threads", "--out"} do
      assert.matches(name, said, 1, true)
    end
  end)

  -- What is wrong, the arguments, the message.
  local function fails(what, arguments, message)
    it("says what is wrong with " .. what, function()
      local code, _, err = run(table.unpack(arguments()))
      assert.equal("language_model: " .. message() .. "\n", err)
      assert.equal(1, code)
    end)
  end

  local path
  local function text(content, ...)
    path = write(content)
    return {"--data", path, ...}
  end

  fails("a missing file", function() return {"--data", "/nowhere/a.txt"} end,
    function()
      return "cannot read /nowhere/a.txt: No such file or directory"
    end)
  fails("a folder", function() return {"--data", "/tmp"} end,
    function() return "cannot read /tmp: Is a directory" end)
  fails("an empty file", function() return text "" end,
    function() return path .. " has no text" end)
  fails("a file that is no text", function() return text "ab\xFFc" end,
    function() return path .. " is no UTF-8 text: byte 3" end)
  fails("a text that is shorter than the context",
    function() return text("abcabcabcabcabc") end, function()
      return path .. " has 12 tokens to train on, --context 16 needs more"
    end)
  fails("a test of one character",
    function() return {"--data", alphabet, "--test", write "a"} end,
    function()
      return "the text to measure on must have 2 tokens at least, got 1"
    end)
  fails("an empty prompt",
    function()
      return {"--data", alphabet, "--steps", "1", "--prompt", ""}
    end, function() return '--prompt must hold a word, got ""' end)
  fails("no permission to write", function()
    return {"--data", alphabet, "--save", "/nowhere/m.st"}
  end, function()
    return "cannot write /nowhere/m.st: No such file or directory"
  end)
  fails("a model of another kind", function()
    return {"--load", "spec/golden/op_abs.safetensors"}
  end, function()
    return "spec/golden/op_abs.safetensors is no language model: its format "
      .. "is missing, not heed.language_model.1"
  end)
  fails("a temperature below 0", function()
    return {"--data", alphabet, "--temperature=-1"}
  end, function()
    return "--temperature must be a number of at least 0, got -1 (see --help)"
  end)
end)
