local command = require "spec.host.command"
local lfs = require "lfs"

local SIZES <const> = {"--vocab", "330", "--width", "32", "--d-model", "32",
  "--heads", "2", "--layers", "1", "--batch", "4", "--warmup", "10",
  "--dropout", "0", "--max-length", "24"}

local out <const> = os.tmpname() .. ".d" -- the folder of the pictures

-- Runs the example with the sizes above and more arguments.
local function run(...)
  local arguments = {"examples/seq2seq_compare.lua", "--out", out}
  table.move(SIZES, 1, #SIZES, 4, arguments)
  for _, argument in ipairs {...} do arguments[#arguments + 1] = argument end
  return command.heed(arguments)
end

-- Twelve sentences of one form, whose second and third word change places.
local function corpus()
  local lines = {}
  for _, who in ipairs {"cat chat", "dog chien", "bird merle"} do
    for _, how in ipairs {"black noir", "white blanc", "small petit",
        "old vieux"} do
      local who_en, who_fr = who:match "(%S+) (%S+)"
      local how_en, how_fr = how:match "(%S+) (%S+)"
      lines[#lines + 1] = ("The %s %s.\tLe %s %s."):format(how_en, who_en,
        who_fr, how_fr)
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local TITLES <const> = {"LSTM, additive", "LSTM, dot product", "transformer"}

-- The numbers of a model's line in the table.
local function row(said, title)
  local numbers = {}
  for number in said:match("\n" .. title .. " +(%d[^\n]*)"):gmatch "[%d.]+" do
    numbers[#numbers + 1] = tonumber(number)
  end
  return {parameters = numbers[1], loss = numbers[2], bleu = numbers[3],
    chrf = numbers[4], seconds = numbers[5], rate = numbers[6]}
end

describe("examples/seq2seq_compare.lua", function()
  local data, files = nil, {}

  local function write(content)
    local path = command.file(content)
    files[#files + 1] = path
    return path
  end

  setup(function() data = write(corpus()) end)

  teardown(function()
    for _, path in ipairs(files) do os.remove(path) end
    for name in lfs.dir(out) do os.remove(out .. "/" .. name) end
    lfs.rmdir(out)
  end)

  it("teaches all three to translate, and compares them", function()
    -- measured on what they were trained on: what they can learn, they must
    local code, said, err = run("--data", data, "--test", data, "--epochs",
      "60", "--lr", "0.01")
    assert.equal("", err)
    assert.equal(0, code)
    for _, title in ipairs(TITLES) do
      local r = row(said, title)
      assert.equal(100, r.bleu)
      assert.equal(100, r.chrf)
      assert.is_true(r.loss < 0.3)
      local moved = said:match("\n" .. title
        .. ": padding moves its scores by (%S+)\n")
      assert.is_true(tonumber(moved) < 1e-5)
    end
    assert.matches("source             The black cat.\n"
      .. "reference          Le chat noir.\n"
      .. "LSTM, additive     Le chat noir.\n"
      .. "LSTM, dot product  Le chat noir.\n"
      .. "transformer        Le chat noir.\n", said, 1, true)
    for _, what in ipairs {"training", "additive", "dot", "transformer"} do
      local path = out .. "/seq2seq_compare-" .. what .. ".png"
      assert.matches(path, said, 1, true)
      assert.equal("file", lfs.attributes(path, "mode"))
    end
  end)

  it("counts the parameters that its formulas have", function()
    local _, said = run("--data", data, "--test", data, "--epochs", "1")
    local v, w, d = tonumber(said:match "12 pairs, (%d+) tokens"), 32, 32
    -- embedding and head are one matrix; an LSTM of size h with inputs of size
    -- i has 4 h (i + h + 2), a linear layer its matrix and its bias
    local lstm = v * w + v + 2 * 4 * (w // 2) * (w + w // 2 + 2)
      + 4 * w * (3 * w + 2) + 2 * w * w + w
    assert.equal(lstm, row(said, "LSTM, dot product").parameters)
    assert.equal(lstm + 2 * w * w + w, row(said, "LSTM, additive").parameters)
    -- attention: 4 matrices with their biases; norms: 2 d each
    local attention, norm = 4 * (d * d + d), 2 * d
    local ff = 4 * d * d + 4 * d + 4 * d * d + d
    local layers = 3 * attention + 2 * ff + 5 * norm + 2 * norm
    assert.equal(v * d + v + layers, row(said, "transformer").parameters)
  end)

  it("compares only the models that are asked for", function()
    local _, said = run("--data", data, "--test", data, "--epochs", "1",
      "--model", "dot")
    assert.is_nil(said:find("transformer", 1, true))
    assert.is_nil(said:find("additive", 1, true))
    assert.is_true(row(said, "LSTM, dot product").loss > 1)
    local _, scaled = run("--data", data, "--test", data, "--epochs", "1",
      "--model", "dot", "--scaled")
    assert.are_not.equal(row(said, "LSTM, dot product").loss,
      row(scaled, "LSTM, dot product").loss)
  end)

  it("learns the same with any number of threads", function()
    local function table_of(threads)
      local _, said = run("--data", data, "--test", data, "--epochs", "3",
        "--threads", threads, "--beam", "3")
      local rows = {}
      for i, title in ipairs(TITLES) do
        local r = row(said, title)
        rows[i] = {r.loss, r.bleu, r.chrf}
      end
      return rows
    end
    assert.same(table_of "1", table_of "2")
  end)

  it("explains its options", function()
    local code, said = run("--help")
    assert.equal(0, code)
    for _, name in ipairs {"--data", "--model", "--width", "--beam",
        "--sentence", "--seed", "--threads", "--out"} do
      assert.matches(name, said, 1, true)
    end
  end)

  -- What is wrong, the arguments, the message.
  local function fails(what, arguments, message)
    it("says what is wrong with " .. what, function()
      local code, _, err = run(table.unpack(arguments()))
      assert.matches(message, err)
      assert.matches("^seq2seq_compare: [^\n]+\n$", err)
      assert.equal(1, code)
    end)
  end

  fails("a missing file",
    function() return {"--data", "/nowhere/fra.txt"} end,
    "read_pairs: cannot open /nowhere/fra.txt: No such file or directory")
  fails("an empty file", function() return {"--data", write ""} end,
    "read_pairs: .*: no pair in 0 lines %(the file is empty%)")
  fails("a width that is odd",
    function() return {"--data", data, "--width", "31"} end,
    "%-%-width must be even, got 31: half of it for each direction of the "
    .. "encoder")
  fails("an unknown model",
    function() return {"--data", data, "--model", "rnn"} end,
    "must be one of 'additive', 'dot', 'transformer'")
  fails("few sentences without a test",
    function() return {"--data", write "a\tb\n"} end,
    "too few pairs to hold some out: give %-%-test FILE")
  fails("sentences that are all too long",
    function() return {"--data", data, "--test", data, "--max-length", "2"} end,
    "every pair is longer than %-%-max%-length 2 tokens")
  fails("a sentence with more tokens than positions", function()
    return {"--data", data, "--test", data, "--epochs", "1", "--model", "dot",
      "--sentence", ("a cat "):rep(50)}
  end, "translate: source has %d+ tokens, more than the 24 positions")
  fails("a folder that cannot be made",
    function() return {"--out", data .. "/pictures"} end,
    "cannot make the folder .*/pictures: ")
end)
