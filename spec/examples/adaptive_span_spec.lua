local command = require "spec.host.command"
local heed = require "heed"
local lfs = require "lfs"

local PICTURES <const> = {"loss", "spans", "sight", "heads"}

local function run(...)
  return command.heed {"examples/adaptive_span.lua", ...}
end

describe("examples/adaptive_span.lua", function()
  local folder, out

  -- An easy form of the task: two near tokens, short sequences.
  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    local code, err
    code, out, err = run("--out", folder, "--distances", "1,6", "--length",
      "16", "--max-span", "12", "--ramp", "2", "--heads", "4", "--steps", "450",
      "--long", "512")
    assert.equal("", err)
    assert.equal(0, code)
  end)

  teardown(function()
    for _, what in ipairs(PICTURES) do
      os.remove(("%s/adaptive_span-%s.png"):format(folder, what))
    end
    lfs.rmdir(folder)
  end)

  it("prints the shape and the numbers of the seed", function()
    assert.matches("of x [32 100 256] is [32 100 256] and begins with", out,
      1, true)
    -- what the first place sees is itself alone, and the first number drawn is
    -- the golden one
    heed.manual_seed(0)
    local x = heed.randn(32, 100, 256)
    local row = {}
    for number in out:match("begins with\n([^\n]+)"):gmatch "%-?%d+%.%d+" do
      row[#row + 1] = tonumber(number)
    end
    assert.equal(6, #row)
    assert.near(-1.1258398, row[1], 6e-5)
    for j = 1, 6 do assert.near(x[{1, 1, j}]:item(), row[j], 6e-5) end
  end)

  it("learns the task, and the spans that it needs", function()
    for _, d in ipairs {1, 6} do
      local accuracy = out:match("\n" .. d .. " back: ([%d.]+) %% named")
      assert.is_true(tonumber(accuracy) > 99)
    end
    assert.matches("the farthest sight is 6, the farthest token that is asked "
      .. "for 6 places back\n", out, 1, true)
    local wanted = {}
    for sight, at in out:gmatch "\n +%d+ +[%d.]+ +(%d+) +(%d+) +[%d.]+" do
      wanted[tonumber(at)] = tonumber(sight)
    end
    assert.equal(6, wanted[6])
    assert.is_true(wanted[1] <= 2)
  end)

  it("measures what the spans save", function()
    for _, what in ipairs {"learned spans", "every key before"} do
      assert.matches(what .. " +[%d.]+ ms of processor time, +[%d.]+ MB\n", out)
    end
  end)

  it("writes its pictures and says where", function()
    for _, what in ipairs(PICTURES) do
      local path = ("%s/adaptive_span-%s.png"):format(folder, what)
      assert.matches("written: " .. path .. "\n", out, 1, true)
      local file = assert(io.open(path, "rb"))
      assert.equal("\137PNG", file:read(4))
      file:close()
    end
  end)

  it("explains its options", function()
    local code, text = run("--help")
    assert.equal(0, code)
    for _, name in ipairs {"--seed", "--out", "--threads", "--distances",
        "--penalty", "--max-span"} do
      assert.matches(name, text, 1, true)
    end
  end)

  it("says in a line what is wrong", function()
    local function fails(message, ...)
      local code, _, err = run("--out", folder, ...)
      assert.equal("adaptive_span: " .. message .. "\n", err)
      assert.equal(1, code)
    end
    fails("--heads must divide 64, the width of the model, got 5", "--heads",
      "5")
    fails("--distances must be whole numbers of at least 1, with commas "
      .. "between them, got 3,x", "--distances", "3,x")
    fails("--distances must be whole numbers of at least 1, with commas "
      .. "between them, got ", "--distances", "")
    fails("--distances: 40 is out of sight: --max-span 32 and --ramp 4 reach "
      .. "35 places back", "--distances", "3,40")
    fails("--distances: 20 leads out of sequences of --length 20",
      "--distances", "20", "--length", "20")
    fails("cannot make the folder /dev/null/a: File exists", "--out",
      "/dev/null/a")
  end)
end)
