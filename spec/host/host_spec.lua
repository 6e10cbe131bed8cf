-- The heed program: options, scripts, messages and exit codes, as lua5.4 has
-- them.

local command = require "spec.host.command"
local heed, shell, quote = command.heed, command.shell, command.quote

-- Runs heed on a script with this text; `...` is what follows its name.
local function script(text, ...)
  local name = command.file(text)
  local code, out, err = heed({ name, ... })
  os.remove(name)
  return code, out, (err:gsub(name, "SCRIPT", nil, true))
end

-- Runs heed and expects it to succeed and to write `out`.
local function gives(out, arguments, input)
  local code, got, err = heed(arguments, input)
  assert.equal("", err)
  assert.equal(out, got)
  assert.equal(0, code)
end

describe("the options of heed", function()
  it("run code with -e, attached or not, in order", function()
    gives("1\n2\n", { "-e", "print(1)", "-eprint(2)" })
  end)

  it("require a module with -l into a global of its name", function()
    gives("function\n", { "-l", "table", "-e", "print(type(table.pack))" })
    gives("true\n", { "-lstring", "-e", "print(string ~= nil)" })
  end)

  it("require a module into another global with -l name=module", function()
    gives("true\n", { "-l", "s=string", "-e", "print(s == string)" })
  end)

  it("stop at a module that -l does not find", function()
    local code, out, err = heed({ "-l", "no.such", "-e", "print(1)" })
    assert.equal(1, code)
    assert.equal("", out)
    assert.matches("^heed: module 'no.such' not found:", err)
  end)

  it("print the version with -v", function()
    local code, out = heed({ "-v" }, "print(1)")
    assert.equal(0, code)
    assert.matches("^heed %d+%.%d+%.%d+  Lua 5%.4%.%d+\n$", out)
  end)

  it("print with --version what heed computes with", function()
    local code, out = heed({ "--version" }, "print(1)")
    assert.equal(0, code)
    assert.matches("^heed %d+%.%d+%.%d+  Lua 5%.4\nOpenBLAS %S+, kernels for "
      .. "%w+\ninstruction set %w+, %d+ threads\n$", out)
  end)

  it("turn warnings on with -W", function()
    local _, _, quiet = heed({ "-e", "warn('hi')" })
    local _, _, loud = heed({ "-W", "-e", "warn('hi')" })
    assert.equal("", quiet)
    assert.equal("Lua warning: hi\n", loud)
  end)

  it("end at --", function()
    local code, _, err = heed({ "--", "-e" })
    assert.equal(1, code)
    assert.equal("heed: cannot open -e: No such file or directory\n", err)
  end)

  it("end at -, which is the standard input", function()
    gives("-\ta\n", { "-", "a" }, "print(arg[0], ...)")
  end)

  it("are explained by --help", function()
    local code, out, err = heed({ "--help" })
    assert.equal(0, code)
    assert.equal("", err)
    assert.matches("^usage: heed %[options%] %[script %[arguments%]%]\n", out)
  end)

  it("are refused by name when heed has no such option", function()
    for _, option in ipairs({ "-x", "-ix", "-E1", "--versions" }) do
      local code, out, err = heed({ option })
      assert.equal(1, code)
      assert.equal("", out)
      assert.equal("heed: " .. option .. ": there is no such option\n",
        err:match("^[^\n]*\n"))
    end
  end)

  it("are refused when their argument is missing", function()
    for _, arguments in ipairs({ { "-e" }, { "-l" }, { "-e", "-v" } }) do
      local code, _, err = heed(arguments)
      assert.equal(1, code)
      assert.equal("heed: " .. arguments[1] .. ": needs an argument\n",
        err:match("^[^\n]*\n"))
    end
  end)
end)

describe("a script that heed runs", function()
  it("gets its arguments as ... and in arg", function()
    local _, out = script("print(...) print(#arg, arg[1], arg[2])", "a", "-e")
    assert.equal("a\t-e\n2\ta\t-e\n", out)
  end)

  it("finds what stood before it at negative indices of arg", function()
    local name = command.file("print(arg[0] == arg.name, arg[-1], arg[-3])")
    local _, out = heed({ "-e", "arg.name = arg[0]", name })
    os.remove(name)
    assert.equal("true\targ.name = arg[0]\t" .. command.program .. "\n", out)
  end)

  it("gets the arguments that -e left in arg", function()
    local name = command.file("print(...)")
    gives("x\ty\n", { "-e", "arg = {'x', 'y'}", name })
    os.remove(name)
  end)

  it("does not start when -e took arg away", function()
    local code, _, err = heed({ "-e", "arg = nil", "script.lua" })
    assert.equal(1, code)
    assert.equal("heed: arg: must be a table when the script starts\n", err)
  end)

  it("may start with a line for the system", function()
    local code, out = script("#!/usr/bin/env heed\nprint('ran')")
    assert.equal(0, code)
    assert.equal("ran\n", out)
  end)

  it("may be piped in", function()
    gives("piped\n", {}, "#!/usr/bin/env heed\nprint('piped')")
  end)

  it("has to require heed, as under lua5.4", function()
    gives("nil\n", { "-e", "print(heed)" })
  end)

  it("finds heed without any setting", function()
    gives("table\n", { "-e", "print(type(require('heed')))" })
  end)

  it("finds its own heed before another in the environment", function()
    local code, out = shell("cd / && LUA_PATH=/none/?.lua exec "
      .. quote(command.program:gsub("^([^/])", os.getenv("PWD") .. "/%1"))
      .. " -e 'print(type(require(\"heed\")))'")
    assert.equal(0, code)
    assert.equal("table\n", out)
  end)

  it("decides the exit code with os.exit", function()
    assert.equal(0, (heed({ "-e", "os.exit(true)" })))
    assert.equal(1, (heed({ "-e", "os.exit(false)" })))
    assert.equal(7, (heed({ "-e", "os.exit(7, true)" })))
  end)

  it("has its objects finalised at the end", function()
    gives("done\n", { "-e",
      "setmetatable({}, {__gc = function() print('done') end})" })
  end)
end)

describe("an error in heed", function()
  it("is written to stderr with a traceback, and gives 1", function()
    local code, out, err = script("print('first')\nerror('boom')")
    assert.equal(1, code)
    assert.equal("first\n", out)
    assert.equal("heed: SCRIPT:2: boom\nstack traceback:\n"
      .. "\t[C]: in function 'error'\n\tSCRIPT:2: in main chunk\n"
      .. "\t[C]: in ?\n", err)
  end)

  it("gives 1 from code that is piped in, too", function()
    local code, _, err = heed({}, "error('boom', 0)")
    assert.equal(1, code)
    assert.matches("^heed: boom\n", err)
  end)

  it("says where a script is no Lua", function()
    local code, _, err = script("x =")
    assert.equal(1, code)
    assert.equal("heed: SCRIPT:1: unexpected symbol near <eof>\n", err)
  end)

  it("says which file cannot be opened", function()
    local code, _, err = heed({ "no-such-file.lua" })
    assert.equal(1, code)
    assert.equal("heed: cannot open no-such-file.lua: "
      .. "No such file or directory\n", err)
  end)

  it("is what the error object's __tostring says", function()
    local code, _, err = script([[
      error(setmetatable({}, {__tostring = function() return "mine" end}))]])
    assert.equal(1, code)
    assert.equal("heed: mine\n", err)
  end)

  it("names the type of an error object that is no text", function()
    local code, _, err = script("error({})")
    assert.equal(1, code)
    assert.matches("^heed: %(error object is a table value%)\n", err)
  end)

  it("in -e keeps the script from running", function()
    local name = command.file("print('ran')")
    local code, out = heed({ "-e", "error('x')", name })
    os.remove(name)
    assert.equal(1, code)
    assert.equal("", out)
  end)
end)

describe("heed --strict", function()
  local function strict(code)
    return heed({ "--strict", "-e", code })
  end

  it("fails where a global is read that was never set", function()
    local code, _, err = strict("print(nothing)")
    assert.equal(1, code)
    assert.matches("^heed: %(command line%):1: strict: there is no global "
      .. "nothing\n", err)
  end)

  it("fails where a function sets a new global", function()
    local code, _, err = strict("local function f()\nfresh = 1\nend\nf()")
    assert.equal(1, code)
    assert.matches("^heed: %(command line%):2: strict: the new global fresh "
      .. "is set inside a function; is it to be local%?\n", err)
  end)

  it("lets chunks set globals, and functions change them", function()
    gives("2\tnil\tnil\n", { "--strict", "-e", "a, b = 1, nil "
      .. "(function() a = 2 end)() print(a, b, rawget(_G, 'c'))" })
  end)

  it("holds for scripts, and lets heed's parts load", function()
    local name = command.file("local heed = require 'heed' "
      .. "print(heed.nn and heed.plot and heed.train and 'loaded')")
    gives("loaded\n", { "--strict", name })
    os.remove(name)
  end)
end)

describe("heed doctor", function()
  it("reports on each thing, and ends with a verdict", function()
    local code, out, err = heed({ "doctor" })
    assert.equal("", err)
    local slow = out:find("\nslow ", 1, true) ~= nil
    assert.equal(slow and 1 or 0, code)
    assert.matches(slow and "\nSomething is slow; see above.\n$"
      or "\nAll is well.\n$", out)
    for _, word in ipairs { "Lua 5.4", "OpenBLAS", " threads on ", "GB/s",
      "Gflop/s", "gnuplot", "terminal" } do
      assert.matches(word, out, 1, true)
    end
  end)

  it("tells a kernel that is too old for the processor", function()
    if not heed({ "-e", [[
        local isa = require("heed.core").config().isa
        os.exit(isa == "avx2" or isa == "avx512")]] }) then return end
    local code, out = shell("OPENBLAS_CORETYPE=Prescott "
      .. quote(command.program) .. " doctor")
    if out:find("kernels for Prescott", 1, true) then
      assert.equal(1, code)
      assert.matches("\nslow  OpenBLAS [^\n]*Prescott[^\n]*\n"
        .. "        This OpenBLAS does not know the processor", out)
    end
  end)

  it("tells threads that wait for one another", function()
    local code, out = shell("OMP_NUM_THREADS=200 OMP_THREAD_LIMIT=200 "
      .. quote(command.program) .. " doctor")
    if out:find("200 threads on", 1, true) then
      assert.equal(1, code)
      assert.matches("\nslow  200 threads on", out, 1, true)
    end
  end)

  it("is a script where there is one of this name", function()
    local _, out = shell("cd $(mktemp -d) && echo 'print(7)' >doctor && "
      .. quote(command.program:gsub("^([^/])", os.getenv("PWD") .. "/%1"))
      .. " doctor")
    assert.equal("7\n", out)
  end)
end)

describe("coroutines in heed", function()
  it("are as in lua5.4: results, errors and their places", function()
    local code = [[
      local wrap, resume = coroutine.wrap, coroutine.resume
      local co = coroutine.create(function(a) local b = coroutine.yield(a + 1)
        error({b}) end)
      print(resume(co, 1)) local ok, e = resume(co, 5) print(ok, e[1])
      print(resume(co))
      print(pcall(wrap(function() error("x") end)))
      print(pcall(wrap(function() error("x", 0) end)))
      local f = wrap(function() return 1, 2 end)
      print(f()) print(pcall(function() return (f()) end))
      print(select(2, pcall(resume, 1)):match "^bad argument #1")
      print(select(2, pcall(wrap, 1)):match "^bad argument #1")
      local g = wrap(function() local t <close> = setmetatable({}, {__close =
        function() print "closed" end}) error "y" end)
      print(pcall(function() return (g()) end))
      for i in wrap(function() for i = 1, 3 do coroutine.yield(i) end end) do
        io.write(i, " ") end print(coroutine.status(co))]]
    local _, expected = shell("lua5.4 -", code)
    local status, got, err = heed({ "-" }, code)
    assert.equal("", err)
    assert.equal(0, status)
    assert.equal(expected, got)
  end)

  it("stop at an interrupt", function()
    local code, out = heed({ "-e", "print(coroutine.resume(coroutine.create("
      .. "function() io.popen('kill -INT $PPID'):close() while true do end "
      .. "end))) print('after')" })
    assert.equal(0, code)
    assert.matches("^false\t[^\n]*interrupted!\nafter\n$", out)
  end)
end)

describe("an interrupt", function()
  -- Lua code that sends it to the heed that runs the code.
  local interrupt = "io.popen('kill -INT $PPID'):close() "

  it("raises an error in the Lua code that runs", function()
    local code, _, err = heed({ "-e", interrupt .. "while true do end" })
    assert.equal(1, code)
    assert.matches("^heed: [^\n]*interrupted!\nstack traceback:\n", err)
  end)

  it("can be caught, and comes once", function()
    local code, out = heed({ "-e", "print(pcall(function() " .. interrupt
      .. "while true do end end)) print('after')" })
    assert.equal(0, code)
    assert.matches("^false\t[^\n]*interrupted!\nafter\n$", out)
  end)

  it("leaves the debug hook of a script alone when none comes", function()
    gives("true\n", { "-e",
      "hook = function() end debug.sethook(hook, 'c', 1000000)",
      "-e", "print(debug.gethook() == hook)" })
  end)
end)

describe("LUA_INIT", function()
  local function with(setting, arguments)
    return shell(setting .. " " .. quote(command.program) .. " "
      .. arguments)
  end

  it("runs before the options", function()
    local _, out = with("LUA_INIT='x = 5'", "-e 'print(x)'")
    assert.equal("5\n", out)
  end)

  it("gives way to LUA_INIT_5_4", function()
    local _, out = with("LUA_INIT='x = 5' LUA_INIT_5_4='x = 6'",
      "-e 'print(x)'")
    assert.equal("6\n", out)
  end)

  it("names a file after @", function()
    local name = command.file("x = 7")
    local _, out = with("LUA_INIT=@" .. name, "-e 'print(x)'")
    os.remove(name)
    assert.equal("7\n", out)
  end)

  it("is ignored with -E, like LUA_PATH", function()
    local _, out = with("LUA_INIT='x = 5' LUA_PATH=/mine/?.lua",
      "-E -e 'print(x, package.path:find(\"/mine\", 1, true))'")
    assert.equal("nil\tnil\n", out)
  end)

  it("stops heed when it fails", function()
    local code, out, err = with("LUA_INIT='error(\"x\")'", "-e 'print(1)'")
    assert.equal(1, code)
    assert.equal("", out)
    assert.matches("^heed: LUA_INIT:1: x\n", err)
  end)
end)
