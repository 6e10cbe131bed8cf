-- The REPL: heed -i with piped lines, and at a terminal of its own.

local command = require "spec.host.command"

-- What `heed -i` answers to these lines, without version and prompts.
local function answers(lines, ...)
  local code, out, err = command.heed({ "-i", ... }, lines)
  assert.equal(0, code)
  out = out:gsub("^heed [^\n]*\n", ""):gsub("heed> ", "")
    :gsub("   >> ", "")
  return out:gsub("\n$", ""), err
end

describe("the REPL", function()
  it("prints the values of an expression", function()
    assert.equal("2\n3\tx\n", (answers("1 + 1\n3, 'x'\n")))
  end)

  it("prints nothing for a statement, a comment or an empty line", function()
    assert.equal("5\n", (answers("y = 5\n-- note\n\ny\n")))
  end)

  it("takes an equals sign before an expression", function()
    assert.equal("4\n", (answers("=2 + 2\n")))
  end)

  it("reads on until a statement is complete", function()
    assert.equal("1\n2\n", (answers("for i = 1, 2 do\nprint(i)\nend\n")))
  end)

  it("asks with prompts of its own, or those of _PROMPT", function()
    local _, out = command.heed({ "-i" },
      "do\nend\n_PROMPT = 'first? '\n_PROMPT2 = 'more? '\ndo\nend\n")
    assert.equal("heed>    >> heed> first? first? more? first? \n",
      (out:gsub("^[^\n]*\n", "")))
  end)

  it("goes on after an error", function()
    local out, err = answers("error('boom')\n'alive'\n")
    assert.equal("alive\n", out)
    assert.matches("^heed: stdin:1: boom\nstack traceback:\n", err)
  end)

  it("says where a line is no Lua", function()
    local _, err = answers("x = = 1\n")
    assert.equal("heed: stdin:1: unexpected symbol near '='\n", err)
  end)

  it("says what is missing when the input ends early", function()
    local _, err = answers("for i = 1, 2 do\n")
    assert.equal("heed: stdin:1: 'end' expected near <eof>\n", err)
  end)

  it("has heed in a global", function()
    assert.equal("table\n", (answers("type(heed)\n")))
  end)

  it("leaves a global heed that is there alone", function()
    assert.equal("mine\n", (answers("heed\n", "-e", "heed = 'mine'")))
  end)

  it("follows the script with -i", function()
    local name = command.file("z = 'from the script'")
    assert.equal("from the script\n", (answers("z\n", name)))
    os.remove(name)
  end)

  it("does not start when the script fails", function()
    local code, out = command.heed({ "-i", "-e", "error('x')" }, "1\n")
    assert.equal(1, code)
    assert.matches("^heed [^\n]*\n$", out)
  end)

  it("ends with the code of os.exit", function()
    assert.equal(3, (command.heed({ "-i" }, "os.exit(3)\n")))
  end)
end)

local has_terminal = command.shell("script -qec true /dev/null") == 0
local describe_terminal = has_terminal and describe or pending

describe_terminal("the REPL at a terminal", function()
  -- Waits until the file holds `text` at `start` or later; returns what the
  -- file holds and the end of the text.
  local function await(name, text, start)
    for _ = 1, 200 do
      local file = assert(io.open(name, "rb"))
      local screen = file:read("a")
      file:close()
      local _, stop = screen:find(text, start, true)
      if stop then return screen, stop end
      os.execute("sleep 0.05")
    end
    error("the terminal does not show: " .. text)
  end

  -- Talks with heed: each step is a text to wait for and the keys to press
  -- then. Returns what the screen has shown in the end.
  local function talk(steps)
    local name = os.tmpname()
    local keyboard = assert(io.popen("TERM=dumb LC_ALL=C script -qec "
      .. command.quote(command.quote(command.program)) .. " /dev/null >"
      .. name, "w"))
    local stop = 0
    for _, step in ipairs(steps) do
      stop = select(2, await(name, step[1], stop + 1))
      keyboard:write(step[2])
      keyboard:flush()
    end
    keyboard:close()
    local screen = await(name, "", 1)
    os.remove(name)
    return (screen:gsub("\r", ""))
  end

  it("starts with the version and edits lines", function()
    local screen = talk({ { "heed> ", "40 + 3\b2\n" }, { "\n42\r\n", "" },
      { "heed> ", "\4" } })
    assert.matches("^heed %d[^\n]*\nheed> ", screen)
  end)

  it("brings lines back from the history", function()
    talk({ { "heed> ", "'a' .. 'b'\n" }, { "\nab\r\n", "" },
      { "heed> ", "\16\n" }, { "\nab\r\n", "" }, { "heed> ", "\4" } })
  end)

  it("forgets the lines at an interrupt and goes on", function()
    talk({ { "heed> ", "for i = 1, 2 do\n" }, { ">> ", "garbage" },
      { "garbage", "\3" }, { "heed> ", "'go' .. 'es on'\n" },
      { "\ngoes on\r\n", "" }, { "heed> ", "\4" } })
  end)

  it("interrupts Lua code that runs and goes on", function()
    talk({ { "heed> ", "print('run' .. 'ning') while true do end\n" },
      { "\nrunning\r\n", "\3" }, { "interrupted!", "" },
      { "heed> ", "'go' .. 'es on'\n" }, { "\ngoes on\r\n", "" },
      { "heed> ", "\4" } })
  end)

  it("keeps letters beyond ASCII, also without a locale", function()
    talk({ { "heed> ", "#'h\195\169'\n" }, { "\n3\r\n", "" },
      { "heed> ", "\4" } })
  end)
end)
