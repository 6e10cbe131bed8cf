local case = require "spec.support.golden.case"
local command = require "spec.host.command"
local lfs = require "lfs"

local SMALL <const> = {"--batch", "3", "--length", "12", "--width", "8",
  "--heads", "2", "--longest", "64", "--rounds", "1"}

-- Runs the example with the sizes above and more arguments, which win.
local function run(...)
  local arguments = {"examples/linear_attention.lua"}
  table.move(SMALL, 1, #SMALL, 2, arguments)
  for _, argument in ipairs {...} do arguments[#arguments + 1] = argument end
  return command.heed(arguments)
end

-- The numbers of the rows of a printed tensor.
local function printed(out)
  local list = {}
  for row in out:match("begins with\n(.-)heed%.tensor"):gmatch "[^\n]+" do
    local numbers = {}
    for number in row:gmatch "%-?%d+%.%d+" do
      numbers[#numbers + 1] = tonumber(number)
    end
    list[#list + 1] = numbers
  end
  return list
end

describe("examples/linear_attention.lua", function()
  local folder, out

  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    local code, err
    code, out, err = run("--out", folder)
    assert.equal("", err)
    assert.equal(0, code)
  end)

  teardown(function()
    for _, what in ipairs {"weights", "time", "memory"} do
      os.remove(("%s/linear_attention-%s.png"):format(folder, what))
    end
    lfs.rmdir(folder)
  end)

  it("prints the shape and the numbers of the seed", function()
    assert.matches("of x [3 12 8] is [3 12 8] and begins with", out, 1, true)
    local want = case.read(
      "spec/golden/seed_art_linear_attention_small.safetensors",
      "seed_art_linear_attention_small").output.out[1]:totable()
    local got = printed(out)
    assert.equal(4, #got)
    for i = 1, 4 do
      assert.equal(6, #got[i])
      for j = 1, 6 do assert.near(want[i][j], got[i][j], 2e-4) end
    end
  end)

  it("says how near the op is to the formula", function()
    for _, what in ipairs {"", ", causal,"} do
      local far = out:match("F.linear_attention" .. what
        .. " is within ([%d.e+-]+) of the formula")
      assert.is_true(tonumber(far) < 1e-14)
    end
  end)

  it("measures every way at every length", function()
    for _, pass in ipairs {"forward", "forward and backward"} do
      assert.matches("\n" .. pass .. ", of q, k and v [1 2 T 4]\n", out, 1,
        true)
    end
    local rows = 0
    for t, numbers in out:gmatch "\n(%d+)( [%d. ]+)" do
      if t == "16" or t == "32" or t == "64" then
        local _, n = numbers:gsub("%d+%.%d%d", "")
        assert.equal(6, n)
        rows = rows + 1
      end
    end
    assert.equal(6, rows)
    local _, grown = out:gsub("T%^%-?%d", "")
    assert.equal(12, grown)
  end)

  it("leaves out what takes more memory than it may", function()
    -- 2 matrices of 2 heads of 512 x 512 floats are 4 MB
    local code, text = run("--longest", "512", "--memory", "3", "--causal",
      "--out", folder)
    assert.equal(0, code)
    assert.matches("\n512 +%- +%d", text)
    assert.matches("\n256 +%d", text)
    assert.matches("forward, causal, of q, k and v", text, 1, true)
  end)

  it("writes its pictures and says where", function()
    for _, what in ipairs {"weights", "time", "memory"} do
      local path = ("%s/linear_attention-%s.png"):format(folder, what)
      assert.matches("written: " .. path .. "\n", out, 1, true)
      local file = assert(io.open(path, "rb"))
      assert.equal("\137PNG", file:read(4))
      file:close()
    end
  end)

  it("explains its options", function()
    local code, text = run("--help")
    assert.equal(0, code)
    for _, name in ipairs {"--seed", "--out", "--threads", "--longest",
        "--memory", "--causal"} do
      assert.matches(name, text, 1, true)
    end
  end)

  it("says in a line what is wrong", function()
    local function fails(message, ...)
      local code, _, err = command.heed {"examples/linear_attention.lua", ...}
      assert.equal("linear_attention: " .. message .. "\n", err)
      assert.equal(1, code)
    end
    fails("--width must be a multiple of --heads, got 10 and 4", "--width",
      "10", "--out", folder)
    fails("--longest must be a whole number of at least 16, got 4 (see --help)",
      "--longest", "4")
    fails("cannot make the folder /dev/null/a: File exists", "--out",
      "/dev/null/a")
  end)
end)
