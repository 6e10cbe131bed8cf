local command = require "spec.host.command"
local heed = require "heed"
local lfs = require "lfs"

-- Twelve sentences of one form: enough for a run of a few steps.
local function corpus()
  local lines = {}
  for _, who in ipairs {"cat chat", "dog chien", "bird oiseau"} do
    for _, what in ipairs {"eats mange", "sleeps dort", "sees voit",
        "runs court"} do
      local who_en, who_fr = who:match "(%S+) (%S+)"
      local what_en, what_fr = what:match "(%S+) (%S+)"
      lines[#lines + 1] = ("The %s %s.\tLe %s %s.\tmore columns"):format(
        who_en, what_en, who_fr, what_fr)
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local SIZES <const> = {"--vocab", "330", "--d-model", "16", "--heads", "2",
  "--layers", "1", "--ff", "32", "--batch", "4", "--max-length", "24"}

local out <const> = os.tmpname() .. ".d" -- the folder of the pictures

-- Runs the example with the sizes above and more arguments.
local function run(...)
  local arguments = {"examples/translator.lua", "--out", out}
  table.move(SIZES, 1, #SIZES, 4, arguments)
  for _, argument in ipairs {...} do arguments[#arguments + 1] = argument end
  return command.heed(arguments)
end

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

describe("examples/translator.lua", function()
  local data, test, model, files

  setup(function()
    data = command.file(corpus())
    test = command.file("The cat eats.\tLe chat mange.\n"
      .. "The cat eats.\tLa chatte mange.\nThe dog runs.\tLe chien court.\n")
    model = os.tmpname()
    files = {data, test, model}
    local code, _, stderr = run("--data", data, "--test", test, "--epochs",
      "1", "--save", model)
    assert.equal("", stderr)
    assert.equal(0, code)
  end)

  teardown(function()
    for _, path in ipairs(files) do os.remove(path) end
    for name in lfs.dir(out) do os.remove(out .. "/" .. name) end
    lfs.rmdir(out)
  end)

  local function write(content)
    local path = command.file(content)
    files[#files + 1] = path
    return path
  end

  it("trains, measures and shows what it learned", function()
    local code, said, err = run("--data", data, "--test", test, "--epochs",
      "2")
    assert.equal("", err)
    assert.equal(0, code)
    for _, pattern in ipairs {
      "12 pairs, %d+ tokens, %d+ parameters, 6 steps",
      "scores %[2 %d+ %d+%]; another last token moves those before it by 0\n",
      "trained on %d+ tokens in [%d.]+ s: %d+ tokens/s",
      "BLEU [%d.]+, chrF [%d.]+ on 2 sentences %(greedy",
      "source      The cat eats%.",
      "reference   Le chat mange%. | La chatte mange%.", "translation ",
      "What each word attended to",
    } do
      assert.matches(pattern, said)
    end
    for _, what in ipairs {"training", "attention"} do
      local path = out .. "/translator-" .. what .. ".png"
      assert.matches(path, said, 1, true)
      assert.is_true(exists(path))
    end
  end)

  it("knows as much before training as chance does", function()
    -- ln V + 1/2, where V is the number of tokens
    local _, said = run("--data", data, "--test", test, "--steps", "1")
    local tokens = tonumber(said:match "(%d+) tokens")
    local loss = tonumber(said:match "before training: loss ([%d.]+)")
    assert.near(math.log(tokens) + 0.5, loss, 0.5)
  end)

  it("trains on the sentences that ship with it", function()
    local code, said = run("--max-length", "64", "--vocab", "400",
      "--steps", "2")
    assert.equal(0, code)
    assert.matches("everyday-en-fr.train.tsv: 2512 pairs", said, 1, true)
    assert.matches("on 148 sentences", said, 1, true)
  end)

  it("holds sentences out when there is no test", function()
    local code, said = run("--data", data, "--epochs", "1")
    assert.equal(0, code)
    assert.matches("\n11 pairs, ", said)
    assert.matches("on 1 sentences", said, 1, true)
  end)

  it("exports the batches that it trains on", function()
    local path = out .. "/run.st"
    assert.equal(0, (run("--data", data, "--test", test, "--epochs", "2",
      "--export", path)))
    local tensors, metadata = heed.load_safetensors(path)
    assert.matches('"steps":6', metadata.config, 1, true)
    -- each epoch has each of the 12 sentences once
    local rows = tensors.batches:totable()
    for epoch = 0, 1 do
      local seen = table.move(rows, 12 * epoch + 1, 12 * epoch + 12, 1, {})
      table.sort(seen)
      assert.same({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, seen)
    end
    assert.same({0, 4, 8, 12, 16, 20, 24},
      tensors["batch_offsets"]:totable())
  end)

  it("translates the same twice, and as it was saved", function()
    local first = {run("--load", model, "--translate", "The cat sees.",
      "--translate", "The dog eats.", "--beam", "3")}
    assert.equal(0, first[1])
    assert.equal("", first[3])
    assert.same(first, {run("--load", model, "--translate", "The cat sees.",
      "--translate", "The dog eats.", "--beam", "3")})
  end)

  it("trains to the same model with any number of threads", function()
    local one, two = os.tmpname(), os.tmpname()
    files[#files + 1], files[#files + 2] = one, two
    run("--data", data, "--test", test, "--epochs", "1", "--threads", "1",
      "--save", one)
    run("--data", data, "--test", test, "--epochs", "1", "--threads", "2",
      "--save", two)
    local a, b = heed.load_safetensors(one), heed.load_safetensors(two)
    for name, tensor in pairs(a) do
      assert.is_true(tensor:eq(b[name]):all():item(), name)
    end
  end)

  it("counts and reports bad lines", function()
    local path = write(corpus() .. "\nno tab here\n\xff\xfe\tx\n")
    local code, said = run("--data", path, "--test", test, "--steps", "1")
    assert.equal(0, code)
    assert.matches("12 pairs; lines left out: 1 empty (first: line 13), 1 "
      .. "malformed (first: line 14), 1 invalid utf8 (first: line 15)", said,
      1, true)
  end)

  it("leaves out pairs that are longer than the positions", function()
    local path = write(corpus() .. ("long "):rep(40) .. "\tlong\n")
    local _, said = run("--data", path, "--test", test, "--steps", "1")
    assert.matches("1 pairs left out: longer than 24 tokens", said, 1, true)
  end)

  it("explains its options", function()
    local code, said = run("--help")
    assert.equal(0, code)
    for _, name in ipairs {"--data", "--beam", "--seed", "--threads",
        "--save", "--load", "--translate", "--out"} do
      assert.matches(name, said, 1, true)
    end
  end)

  -- What is wrong, the arguments, the message.
  local function fails(what, arguments, message)
    it("says what is wrong with " .. what, function()
      local list = arguments()
      local code, _, err = run(table.unpack(list))
      assert.matches(message, err)
      assert.matches("^translator: [^\n]+\n$", err)
      assert.equal(1, code)
    end)
  end

  fails("a missing file",
    function() return {"--data", "/nowhere/fra.txt"} end,
    "read_pairs: cannot open /nowhere/fra.txt: No such file or directory")
  fails("an empty file", function() return {"--data", write ""} end,
    "read_pairs: .*: no pair in 0 lines %(the file is empty%)")
  fails("a binary file",
    function() return {"--data", write(("\0\1\2\255"):rep(1000))} end,
    "read_pairs: .*: no pair in ")
  fails("a file without tabs",
    function() return {"--data", write "a\nb\n"} end,
    "read_pairs: .*: no pair in 2 lines %(2 without a tab%)")
  fails("a vocabulary of size 0", function()
    return {"--data", data, "--test", test, "--vocab", "0"}
  end, "%-%-vocab must be a whole number of at least 1, got 0")
  fails("a vocabulary that is too small", function()
    return {"--data", data, "--test", test, "--vocab", "10"}
  end, "BPE.train: vocab_size must be at least %d+ ")
  fails("a sentence with more tokens than positions", function()
    return {"--load", model, "--translate", ("a cat "):rep(50)}
  end, "translate: texts%[1%] has %d+ tokens, more than the 24 positions of "
    .. "this model: ")
  fails("sentences that are all too long", function()
    return {"--data", data, "--test", test, "--max-length", "2"}
  end, "every pair is longer than %-%-max%-length 2 tokens")
  fails("heads that do not divide the width", function()
    return {"--data", data, "--test", test, "--heads", "5"}
  end, "Translator: d_model 16 must be a multiple of heads 5")
  fails("a model that is cut short", function()
    local file = io.open(model, "rb")
    local content = file:read(2000)
    file:close()
    return {"--load", write(content), "--translate", "The cat sees."}
  end, "load_safetensors: ")
  fails("a model of another kind", function()
    return {"--load", "spec/golden/op_abs.safetensors", "--translate", "a"}
  end, "format must be \"heed.translation.1\", got nil")
  fails("a folder that cannot be made",
    function() return {"--out", data .. "/pictures"} end,
    "cannot make the folder .*/pictures: ")

  it("overwrites nothing when it fails", function()
    local path = write "precious"
    local code = run("--data", "/nowhere/fra.txt", "--save", path)
    assert.equal(1, code)
    local file = io.open(path)
    assert.equal("precious", file:read("a"))
    file:close()
  end)

  it("says at once when the model cannot be written", function()
    local code, said, err = run("--data", data, "--save", "/nowhere/m.st")
    assert.equal(1, code)
    assert.equal("", said)
    assert.equal("translator: cannot write /nowhere/m.st: No such file or "
      .. "directory\n", err)
  end)
end)
