-- What scripts share: arguments, a folder for results, mistakes in one line.
local command = require "spec.host.command"
local lfs = require "lfs"

-- Runs a script of these lines with the arguments.
local function run(lines, ...)
  local path = command.file('local heed = require "heed"\n'
    .. "local script = heed.script\n" .. lines)
  local results = {command.heed {path, ...}}
  os.remove(path)
  return table.unpack(results)
end

local TOSS <const> = [[
script.run("toss", function()
  local parser = script.parser("toss", "Tosses coins.", {out = "."})
  parser:whole("--coins", "how many", 10, 1)
  parser:number("--bias", "of heads", 0.5, 0, 1)
  parser:number("--lowest", "pay", nil, -2)
  parser:number("--free", "of bounds")
  local o = script.start(parser)
  print(o.seed, o.coins, o.bias, o.lowest, o.free, o.path "a.png",
    heed.get_num_threads() == (o.threads or heed.get_num_threads()))
  print(heed.randint(0, 1000, {2}):totable()[1])
end)
]]

describe("heed.script", function()
  it("reads options, with defaults", function()
    local code, out, err = run(TOSS)
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches("^0\t10\t0.5\tnil\tnil\t./a.png\ttrue\n", out)
    code, out, err = run(TOSS, "--seed", "1", "--coins", "3", "--bias=1",
      "--lowest=-1.5", "--free", "1e3", "--threads", "1")
    assert.equal("", err)
    assert.equal(0, code)
    assert.matches("^1\t3\t1\t%-1.5\t1000.0\t./a.png\ttrue\n", out)
  end)

  it("seeds the default generator", function()
    local _, first = run(TOSS, "--seed", "5")
    local _, again = run(TOSS, "--seed", "5")
    local _, other = run(TOSS, "--seed", "6")
    assert.equal(first, again)
    assert.not_equal(first:match "\n(%d+)", other:match "\n(%d+)")
  end)

  it("explains the options", function()
    local code, out = run(TOSS, "--help")
    assert.equal(0, code)
    for _, text in ipairs {"Tosses coins.", "--seed", "--threads", "--out DIR",
        "--coins", "how many", "default: 10"} do
      assert.matches(text, out, 1, true)
    end
  end)

  for _, case in ipairs {
    {"--coins", "0", "--coins must be a whole number of at least 1, got 0"},
    {"--coins", "1.5", "--coins must be a whole number of at least 1, got 1.5"},
    {"--coins", "x", "--coins must be a whole number of at least 1, got x"},
    {"--bias", "1.1", "--bias must be a number from 0 to 1, got 1.1"},
    {"--bias", "nan", "--bias must be a number from 0 to 1, got nan"},
    {"--lowest=-3", nil, "--lowest must be a number of at least -2, got -3"},
    {"--free", "1e999", "--free must be a finite number, got 1e999"},
    {"--seed=-1", nil, "--seed must be a whole number of at least 0, got -1"},
    {"--coin", "1", "unknown option '--coin'. Did you mean '--coins'?"},
  } do
    it("refuses " .. case[1] .. " " .. tostring(case[2]), function()
      local code, out, err = run(TOSS, case[1], case[2])
      assert.equal("toss: " .. case[3] .. " (see --help)\n", err)
      assert.equal("", out)
      assert.equal(1, code)
    end)
  end

  it("says what a script failed of, without the place", function()
    for _, case in ipairs {
      {'script.fail("no line in %s", "a.txt")', "no line in a.txt"},
      {'error "plain"', "plain"},
      {"heed.zeros({2}):matmul(heed.zeros({3}))", "matmul: "},
      {"error(setmetatable({}, {__tostring = function() return 'odd' end}))",
        "odd"},
    } do
      local code, out, err = run('script.run("toss", function() io.write "a" '
        .. case[1] .. " end)")
      assert.equal(1, code)
      assert.equal("a", out)
      assert.equal("toss: " .. case[2], err:sub(1, 6 + #case[2]))
      assert.matches("^[^\n]+\n$", err)
    end
  end)

  it("keeps the traceback where it is asked for", function()
    local path = command.file('require "heed".script.run("toss", function() '
      .. 'error "plain" end)')
    local _, _, err = command.shell("HEED_TRACEBACK=1 "
      .. command.quote(command.program) .. " " .. command.quote(path))
    os.remove(path)
    assert.matches("plain\nstack traceback:", err, 1, true)
  end)

  describe("with --out", function()
    local root

    before_each(function()
      root = os.tmpname()
      os.remove(root)
    end)

    it("makes the folder and those above it", function()
      local code, out, err = run(TOSS, "--out", root .. "/a/b/")
      assert.equal("", err)
      assert.equal(0, code)
      assert.matches(root .. "/a/b/a.png", out, 1, true)
      for name in lfs.dir(root .. "/a/b") do
        assert.matches("^%.%.?$", name) -- the folder is empty
      end
      for _, name in ipairs {"/a/b", "/a", ""} do
        assert.is_true(lfs.rmdir(root .. name))
      end
    end)

    it("says that the folder is a file", function()
      local file = assert(io.open(root, "w"))
      file:close()
      local code, out, err = run(TOSS, "--out", root .. "/a")
      os.remove(root)
      assert.equal(1, code)
      assert.equal("", out)
      assert.equal(("toss: cannot make the folder %s/a: File exists\n")
        :format(root), err)
    end)
  end)

  it("refuses a script without a name or work", function()
    local script = require "heed.script"
    for message, call in pairs {
      ["run: main must be a function, got nil"] =
        function() script.run("toss") end,
      ["run: name must be a string, got nil"] =
        function() script.run(nil, print) end,
      ["parser: description must be a string, got nil"] =
        function() script.parser("toss") end,
      ["parser: unknown option \"output\"; known: out, seed"] =
        function() script.parser("toss", "Tosses.", {output = "."}) end,
    } do
      local ok, failure = pcall(call)
      assert.is_false(ok)
      assert.equal(message, failure:gsub("^[^:]+:%d+: ", "", 1))
    end
  end)
end)
