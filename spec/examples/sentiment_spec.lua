-- The classifier of reviews: what it learns from the sentences that ship, what
-- it shows, and what it says of bad input.

local command = require "spec.host.command"
local heed = require "heed"
local lfs = require "lfs"

local TRAIN <const> = "examples/data/reviews.train.tsv"
local TEST <const> = "examples/data/reviews.test.tsv"

local folder

local function run_with(input, ...)
  return command.heed({"examples/sentiment.lua", "--out", folder, "--threads",
    "1", ...}, input)
end
local function run(...) return run_with(nil, ...) end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

describe("examples/sentiment.lua", function()
  local files, first, model = {}, nil, nil

  local function write(content)
    local path <const> = command.file(content)
    files[#files + 1] = path
    return path
  end

  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    model = os.tmpname()
    files[1] = model
    first = {run("--save", model, "--baseline", "--epochs", "30")}
  end)

  teardown(function()
    for name in lfs.dir(folder) do os.remove(folder .. "/" .. name) end
    lfs.rmdir(folder)
    for _, path in ipairs(files) do os.remove(path) end
  end)

  it("learns from the reviews that ship", function()
    local code <const>, out <const>, err <const> = table.unpack(first)
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches("reviews.train.tsv: 300 reviews\n", out, 1, true)
    assert.matches("reviews.test.tsv: 80 reviews\n", out, 1, true)
    assert.matches("checked: padding changes nothing and has no weight\n", out,
      1, true)
    -- 0.5 is chance; seeds 0 to 4 give 0.85 to 0.94
    local accuracy, f1 = out:match "\nattention +([%d.]+) +([%d.]+)\n"
    assert.is_true(tonumber(accuracy) >= 0.8, accuracy)

    -- the table of what was judged as what gives the same numbers
    local a, b = out:match "\nnegative +(%d+) +(%d+)\n"
    local c, d = out:match "\npositive +(%d+) +(%d+)\n"
    assert.equal(40, a + b)
    assert.equal(40, c + d)
    assert.near((a + d) / 80, tonumber(accuracy), 5.1e-5)
    assert.near(2 * d / (2 * d + b + c), tonumber(f1), 5.1e-5)
  end)

  it("trains the baseline that scikit-learn trains", function()
    -- LogisticRegression(C = 1) on the same binary bags, scikit-learn 1.9.1
    assert.matches("bag of words %(C 1%) +0%.9500 +0%.9500\n", first[2])
    assert.matches("bag of words, pairs %(C 1%) +0%.9125 +0%.9157\n", first[2])
  end)

  it("shows the words of both classes, and writes pictures", function()
    for _, class in ipairs {"negative", "positive"} do
      local words = first[2]:match("Attended to when it says " .. class
        .. ":\n  ([^\n]+)\n")
      local _, n = words:gsub("%S+", "")
      assert.equal(12, n)
    end
    for _, what in ipairs {"training", "words", "attention"} do
      local path <const> = folder .. "/sentiment-" .. what .. ".png"
      assert.matches("written: " .. path .. "\n", first[2], 1, true)
      local content <const> = read(path)
      assert.equal("\x89PNG", content:sub(1, 4))
      assert.equal("IEND", content:sub(-8, -5))
    end
    assert.matches("written: " .. model .. "\n", first[2], 1, true)
  end)

  it("judges sentences, the same each time", function()
    local function judge()
      return {run("--load", model, "--sentence", "A wonderful, funny film.",
        "--sentence", "Terrible food and a rude waiter.")}
    end
    local code, out, err = table.unpack(judge())
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches("^\npositive, probability 0%.%d%d\n"
      .. "a wonderful , funny film %.\n[^\n]+\n\n"
      .. "negative, probability 0%.%d%d\n"
      .. "terrible food and a rude waiter %.\n", out)
    assert.same({code, out, err}, judge())
  end)

  it("is the same network after saving and loading", function()
    local _, out = run("--load", model, "--test", TEST)
    assert.equal(first[2]:match "\nattention[^\n]+", out:match
      "\nattention[^\n]+")
    -- the words, and how one of the reviews is judged
    local shown <const> = "\nAttended.*probability[^\n]+\n[^\n]+\n[^\n]+\n"
    assert.is_string(out:match(shown))
    assert.equal(first[2]:match(shown), out:match(shown))
  end)

  it("reads lines until the end of the input", function()
    local code, out, err = run_with("Lovely.\n\n   \nI hate it, don't you?",
      "--load", model, "--interactive")
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches("^> lovely %.\npositive, probability 0%.%d%d\n"
      .. "lovely %.\n[^\n]+\nthe sentence is empty\nthe sentence is empty\n"
      .. "> i hate it , do n't you %?\nnegative, probability 0%.%d%d\n", out)
    assert.is_nil(out:find("\27", 1, true))
    assert.same({0, "", ""}, {run_with("", "--load", model, "--interactive")})
  end)

  it("says which words it has not learned", function()
    local code, out = run("--load", model, "--sentence", "Zyx 电影 film \xff")
    assert.equal(0, code)
    assert.matches("not learned: zyx 电影 \u{FFFD}\n", out, 1, true)
  end)

  it("takes labels as words, further columns, and holds a test out", function()
    local lines = {"", "no tab"}
    for i = 1, 20 do
      lines[#lines + 1] = i % 2 == 0 and "positive\tshop\tA good thing."
        or "Negative\tshop\tA bad thing."
    end
    local code, out, err = run("--data", write(table.concat(lines, "\n")),
      "--epochs", "1", "--width", "8", "--heads", "0")
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches(": 20 reviews, 2 lines left out\n", out, 1, true)
    assert.matches("\n2 reviews +accuracy +F1\n", out)
    -- no self-attention, so no picture of it
    assert.is_nil(out:find("sentiment-attention", 1, true))
  end)

  it("cuts long reviews", function()
    local _, out = run("--load", model, "--test",
      write("1\t" .. ("good "):rep(300) .. "\n0\tbad\n"))
    assert.matches(": 2 reviews, 1 cut to 256 words\n", out, 1, true)
  end)

  it("trains to the same network with any number of threads", function()
    local saved = {}
    local few <const> = write(read(TRAIN):sub(1, 2000):match "^.*\n")
    for threads = 1, 2 do
      saved[threads] = os.tmpname()
      files[#files + 1] = saved[threads]
      local code = run("--data", few, "--epochs", "2", "--threads",
        tostring(threads), "--save", saved[threads])
      assert.equal(0, code)
    end
    local a, b = heed.load_safetensors(saved[1]),
      heed.load_safetensors(saved[2])
    for name, tensor in pairs(a) do
      assert.is_true(tensor:eq(b[name]):all():item(), name)
    end
  end)

  it("explains its options", function()
    local code, out = run("--help")
    assert.equal(0, code)
    for _, name in ipairs {"--data", "--test", "--valid", "--save", "--load",
        "--sentence", "--interactive", "--baseline", "--seed", "--out"} do
      assert.matches(name, out, 1, true)
    end
  end)

  -- What is wrong, the arguments, the whole message or a part of it.
  local function fails(what, arguments, message)
    it("says what is wrong with " .. what, function()
      local code, _, err = run(table.unpack(arguments()))
      assert.matches(message, err, 1, true)
      assert.matches("^sentiment: [^\n]+\n$", err)
      assert.equal(1, code)
    end)
  end

  fails("a missing file",
    function() return {"--data", "/nowhere/a.tsv"} end,
    "read_pairs: cannot open /nowhere/a.tsv: No such file or directory")
  fails("an empty file", function() return {"--data", write ""} end,
    "no pair in 0 lines (the file is empty)")
  fails("a label", function() return {"--data", write "0\ta\n5\tb\n"} end,
    'the label of review 2 must be 0, 1, negative or positive, got "5"')
  fails("too few reviews", function() return {"--data", write "0\ta\n"} end,
    "1 reviews are too few to hold some out: give --test")
  fails("an empty sentence",
    function() return {"--load", model, "--sentence", "x", "--sentence", " "}
    end, "sentiment: --sentence number 2 is empty")
  fails("nothing to do", function() return {"--load", model} end,
    "nothing to do: with --load give --test, --sentence or --interactive")
  fails("heads that do not divide the width",
    function() return {"--width", "10", "--heads", "4"} end,
    "--width 10 must be a multiple of --heads 4")
  fails("a network that is cut short", function()
    return {"--load", write(read(model):sub(1, 3000)), "--sentence", "a"}
  end, "load_safetensors: ")
  fails("a network of another kind", function()
    return {"--load", "spec/golden/op_abs.safetensors", "--sentence", "a"}
  end, "spec/golden/op_abs.safetensors was not written by this script")
  fails("a network whose parts do not fit", function()
    local path <const> = os.tmpname()
    files[#files + 1] = path
    local tensors, metadata = heed.load_safetensors(model)
    metadata.config = metadata.config:gsub('"width":64', '"width":32')
    heed.save_safetensors(path, tensors, metadata)
    return {"--load", path, "--sentence", "a"}
  end, " is damaged: load_state_dict: the tensors do not fit this Judge\n")

  it("says at once when the network cannot be written", function()
    local code, out, err = run("--save", "/nowhere/m.st")
    assert.equal(1, code)
    assert.equal("", out)
    assert.equal("sentiment: cannot write /nowhere/m.st: No such file or "
      .. "directory\n", err)
  end)
end)

describe("the reviews that ship", function()
  -- Label and sentence of each line.
  local function rows(path)
    local list = {}
    for line in read(path):gmatch "([^\n]*)\n" do
      local label, text = line:match "^([01])\t([^\t]+)$"
      assert(label, line)
      list[#list + 1] = {label, text}
    end
    return list
  end
  local function plain(text)
    return (text:lower():gsub("%p", ""))
  end

  it("are half praise and half complaint", function()
    for path, n in pairs {[TRAIN] = 150, [TEST] = 40} do
      local count = {["0"] = 0, ["1"] = 0}
      for _, row in ipairs(rows(path)) do
        count[row[1]] = count[row[1]] + 1
      end
      assert.same({["0"] = n, ["1"] = n}, count)
    end
  end)

  it("stand there once, in one of the splits", function()
    local seen = {}
    for _, path in ipairs {TRAIN, TEST} do
      for _, row in ipairs(rows(path)) do
        local key <const> = plain(row[2])
        assert.is_nil(seen[key], row[2])
        seen[key] = true
      end
    end
  end)
end)
