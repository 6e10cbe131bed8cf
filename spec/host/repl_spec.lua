-- The prompt with piped lines: what it answers, without a terminal.

local command = require "spec.host.command"

-- What `heed -i` answers to these lines, without version and prompts.
local function answers(lines, ...)
  local code, out, err = command.heed({ "-i", ... }, lines)
  assert.equal(0, code)
  out = out:gsub("^heed [^\n]*\n", ""):gsub("heed> ", "")
    :gsub("   >> ", "")
  return out:gsub("\n$", ""), err
end

describe("the prompt", function()
  it("shows the values of an expression as Lua writes them", function()
    assert.equal('2\n3, "x", nil\n', (answers("1 + 1\n3, 'x', nil\n")))
  end)

  it("shows nothing for a statement, a comment or an empty line", function()
    assert.equal("5\n", (answers("y = 5\n-- note\n\ny\n")))
  end)

  it("takes an equals sign before an expression", function()
    assert.equal("4\n", (answers("=2 + 2\n")))
  end)

  it("has the last value in _", function()
    assert.equal("6\n7\n", (answers("2 * 3\nx = 1\n_ + 1\n")))
  end)

  it("keeps local variables as globals, but no function's", function()
    assert.equal('1, 2, "f"\nnil\n', (answers("local a, b <const> = 1, 2\n"
      .. "local function f() local inner = 3 return 'f' end\n"
      .. "a, b, f()\ninner\n")))
  end)

  it("closes what is to be closed, and keeps nothing of that", function()
    assert.equal("closed\nnil\n", (answers("local t <close> = "
      .. "setmetatable({}, {__close = function() print('closed') end})\n"
      .. "t\n")))
  end)

  it("reads on until a statement is complete", function()
    assert.equal("1\n2\n", (answers("for i = 1, 2 do\nprint(i)\nend\n")))
    assert.equal('"a\\nb"\n', (answers("[[a\nb]]\n")))
  end)

  it("asks with prompts of its own, or those of _PROMPT", function()
    local _, out = command.heed({ "-i" },
      "do\nend\n_PROMPT = 'first? '\n_PROMPT2 = 'more? '\ndo\nend\n")
    assert.equal("heed>    >> heed> first? first? more? first? \n",
      (out:gsub("^[^\n]*\n", "")))
  end)

  it("goes on after an error", function()
    local out, err = answers("error('boom')\n'alive'\n")
    assert.equal('"alive"\n', out)
    assert.equal("error: boom\n  [1]:1\n    | error('boom')\n", err)
  end)

  it("shows who called, with the lines of earlier inputs", function()
    local _, err = answers("function f(x)\n  error('boom')\nend\nf(1)\n")
    assert.equal("error: boom\n  [1]:2 in f\n    | error('boom')\n"
      .. "  [2]:1\n    | f(1)\n", err)
  end)

  it("leaves heed's own lines out", function()
    local _, err = answers("heed.nn.Linear(2)\n")
    assert.equal("error: Linear: out_features must be an integer of at least "
      .. "0, got nil\n  [1]:1\n    | heed.nn.Linear(2)\n", err)
  end)

  it("shows a recursion without end once", function()
    local out, err = answers("function r() return 1 + r() end\nr()\n'alive'\n")
    assert.matches("^error: stack overflow", err)
    assert.equal(1, select(2, err:gsub("%[1%]:1 in r", "")))
    assert.equal('"alive"\n', out)
  end)

  it("shows lines of files", function()
    local name = command.file("return function()\n  local x = nil\n"
      .. "  return x.y\nend\n")
    local _, err = answers(("dofile('%s')()\n"):format(name))
    os.remove(name)
    assert.matches(name .. ":3", err, 1, true)
    assert.matches("\n    | return x.y\n", err, 1, true)
  end)

  it("shows an error object by its __tostring, or names its kind", function()
    local _, err = answers("error(setmetatable({}, {__tostring = "
      .. "function() return 'mine' end}))\nerror({})\n")
    assert.matches("^error: mine\n", err)
    assert.matches("\nerror: %(error object is a table%)\n", err)
  end)

  it("marks where a text is no Lua", function()
    local _, err = answers("x = = 1\n")
    assert.equal("error: unexpected symbol near '='\n  [1]:1\n"
      .. "    | x = = 1\n          ^\n", err)
  end)

  it("says what is missing when the input ends early", function()
    local _, err = answers("for i = 1, 2 do\n")
    assert.equal("error: 'end' expected near <eof>\n  [1]:1\n"
      .. "    | for i = 1, 2 do\n", err)
  end)

  it("writes no escape codes where there is no terminal", function()
    local out, err = answers("error('x')\n?softmax\nheed.ones(2)\n")
    assert.is_nil((out .. err):find("\27", 1, true))
  end)

  it("has heed in a global", function()
    assert.equal('"table"\n', (answers("type(heed)\n")))
  end)

  it("ends at exit and quit, unless they are variables", function()
    for _, line in ipairs {"exit", "quit", "exit()", " quit ( )"} do
      assert.equal("", (answers(line .. "\n1 + 1\n")))
    end
    assert.equal("5\n2\n", (answers("quit = 5\nquit\n1 + 1\n")))
  end)

  it("has help in a global, unless it is a variable", function()
    assert.matches("^heed: tensors, gradients", (answers("help\n")))
    assert.matches("^heed%.softmax%(", (answers('help "softmax"\n')))
    assert.matches("^nn%.ReLU%(", (answers("help(heed.nn.ReLU)\n")))
    assert.equal("7\n", (answers("help\n", "-e", "help = 7")))
  end)

  it("leaves a global heed that is there alone", function()
    assert.equal('"mine"\n', (answers("heed\n", "-e", "heed = 'mine'")))
  end)

  it("follows the script with -i", function()
    local name = command.file("z = 'from the script'")
    assert.equal('"from the script"\n', (answers("z\n", name)))
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

  it("works with strict globals", function()
    local out, err = answers("x = 1\nx\n_\ny\n", "--strict")
    assert.equal("1\n1\n", out)
    assert.equal("error: strict: there is no global y\n  [4]:1\n    | y\n", err)
  end)
end)

describe("the commands of the prompt", function()
  it("explain a name, before or behind the question mark", function()
    for _, line in ipairs { "?nn.Linear", "nn.Linear?", "?heed.nn.Linear" } do
      assert.matches("^nn%.Linear%(in_features, out_features",
        (answers("nn = heed.nn\n" .. line .. "\n")))
    end
  end)

  it("list what a part holds", function()
    assert.matches("^heed%.optim:\n  Adafactor ", (answers "?heed.optim\n"))
    assert.equal((answers "?\n"), (answers "?heed\n"))
  end)

  it("explain a value by its class", function()
    local out = answers("layer = heed.nn.Linear(2, 3)\n?layer\n")
    assert.matches("^layer = Linear%(2, 3%)", out)
    assert.matches("\nnn%.Linear%(in_features", out)
  end)

  it("search for a word behind two question marks", function()
    assert.matches("heed.masked_fill\n    ", (answers("??masked\n")), 1, true)
    assert.equal("help: nothing about zzzz\n", (answers("??zzzz\n")))
  end)

  it("time code once", function()
    local out = answers("%time 1 + 1\n_\n")
    assert.matches("^2\ntook %S+ %a+ %(%S+ %a+ of processors%)\n2\n$", out)
  end)

  it("time code that needs several lines", function()
    assert.matches("^1\ntook ", (answers("%time for i = 1, 1 do\nprint(i)\n"
      .. "end\n")))
  end)

  it("time code by the best of many runs", function()
    assert.matches("^%S+ %as, the best of %d runs of [%d,]+; the slowest "
      .. "took %S+ %as %(%+%d+%%%)\n$", (answers("%timeit math.sin(1)\n")))
  end)

  it("list tensors and networks with their bytes", function()
    local out = answers("%who\nx = heed.ones(2, 3)\ny = x[1]\n"
      .. "net = heed.nn.Linear(4, 8)\n%who\n")
    assert.matches("^no tensors and no networks in globals\n", out)
    assert.matches("\nnet  Linear   40 parameters  160 B\n", out)
    assert.matches("\nx    float32  %[2 3%]           24 B\n", out)
    assert.matches("\ntogether 184 B; all tensors and graphs use ", out)
  end)

  it("run a file, and keep what it defines", function()
    local name = command.file("#!/usr/bin/env heed\nlocal a = 7\nb = 8\n")
    assert.equal("7, 8\n", (answers("%load " .. name .. "\na, b\n")))
    os.remove(name)
    local _, err = answers("%load /no/such/file\n")
    assert.equal("error: cannot read /no/such/file: No such file or "
      .. "directory\n", err)
  end)

  it("run what an editor makes of an earlier input", function()
    local editor = command.file("#!/bin/sh\nsed -i s/1/20/ \"$1\"\n")
    command.shell("chmod +x " .. editor)
    local _, out = command.shell("VISUAL=" .. editor .. " "
      .. command.quote(command.program) .. " -i", "1 + 1\n%edit\n_ + 1\n%edit 3"
      .. "\n%edit 99\n")
    os.remove(editor)
    assert.matches("heed> 2\nheed> 21\nheed> 22\nheed> 40\n", out)
  end)

  it("run nothing when the editor fails", function()
    local _, out, err = command.shell("EDITOR=false VISUAL= "
      .. command.quote(command.program) .. " -i", "print('once')\n%edit\n")
    assert.equal("error: edit: false ended with code 1; nothing was run\n", err)
    assert.equal(1, select(2, out:gsub("once", "")))
  end)

  it("list the inputs", function()
    assert.equal("   2  do\n        end\n   3  %history 2\n",
      (answers("x = 1\ndo\n  end\n%history 2\n")))
  end)

  it("draw a tensor", function()
    local out = answers("%plot heed.tensor{{0, 1}, {1, 0}}\n")
    assert.is_true(#out > 20)
  end)

  it("are listed by %help", function()
    local out = answers("%help\n")
    for _, name in ipairs { "time", "timeit", "who", "load", "edit",
      "history", "plot", "help" } do
      assert.matches("\n  %" .. name, "\n" .. out, 1, true)
    end
  end)

  it("that do not exist are named, with those that do", function()
    local _, err = answers("%foo\n")
    assert.equal("error: %foo: there is no such command; known: %edit, %help, "
      .. "%history, %load, %plot, %time, %timeit, %who\n", err)
  end)
end)
