-- The prompt at a terminal: keys are typed, the screen is read.

local command = require "spec.host.command"
local screen = require "spec.host.screen"

local describe_terminal = screen.has_tmux and describe or pending

describe_terminal("the prompt at a terminal", function()
  local s

  local function open(options)
    s = screen.open(options)
    s:await_last "heed>"
    return s
  end

  after_each(function()
    if s then s:close() end
    s = nil
  end)

  local function read_file(name)
    local file = io.open(name)
    local text = file and file:read "a"
    if file then file:close() end
    return text
  end

  it("starts with the version and edits lines", function()
    open():type("40 + 3"):press("BSpace"):enter("2")
    local shown = s:await "\n42"
    assert.matches("^heed %d[^\n]*\n%?name explains[^\n]*\nheed> 40 %+ 2\n42\n"
      .. "heed>", shown)
  end)

  it("ends at Ctrl-D, and has left the terminal as it was", function()
    open { arguments = "; stty -a" }:press("C-d")
    assert.matches("[^%-]echo ", (s:await "icanon"))
  end)

  -- -- history

  it("brings lines back", function()
    open():enter("'a' .. 'b'")
    s:await '"ab"'
    s:press("Up", "BSpace"):enter("c'")
    s:await '"abc"'
  end)

  it("finds lines by a part of them", function()
    open():enter("1000 + 1")
    s:await "1001"
    s:enter("'x'")
    s:await '\n"x"'
    s:press("C-r"):type("00 +")
    s:await "bck:00 +"
    s:press("Enter")
    s:await "1000 + 1\n1001\nheed> 'x'\n\"x\"\nheed> 1000 + 1"
    assert.equal(2, select(2, s:await_last("heed>"):gsub("\n1001", "")))
  end)

  it("has a statement of several lines as one entry, to edit", function()
    open():enter("for i = 1, 2 do"):enter("print(i * 11)"):enter("end")
    s:await "\n22"
    -- up to the middle line, where the 11 becomes 111
    s:press("Up", "Up", "C-e")
    s:press("BSpace"):type("1)"):press("C-e", "Enter")
    local shown = s:await "\n222"
    assert.matches("\n111\n222\nheed>", shown)
  end)

  it("keeps what was typed for the next session, for the owner only",
    function()
      open():enter("'first'"):enter("do"):enter("end"):enter(" 'secret'")
      s:await '"secret"'
      local name = s.home .. "/.local/state/heed/history"
      assert.equal("'first'\ndo\\nend\n", read_file(name))
      assert.equal("600\n", (select(2, command.shell("stat -c %a " .. name))))
      s:press("C-d")
      local second = screen.open { home = s.home }
      second:await_last "heed>"
      -- the second Up goes to the line above in the text of two
      second:press("Up", "Up", "Up", "Enter")
      second:await '\n"first"'
      second:close()
    end)

  it("loses nothing of two sessions at once", function()
    open():enter("'one'")
    s:await '\n"one"'
    local other = screen.open { home = s.home }
    other:await_last "heed>"
    other:enter("'two'")
    other:await '\n"two"'
    s:enter("'three'")
    s:await '\n"three"'
    other:close()
    assert.equal("'one'\n'two'\n'three'\n",
      read_file(s.home .. "/.local/state/heed/history"))
  end)

  it("keeps it elsewhere with HEED_HISTORY, or nowhere", function()
    local name = os.tmpname()
    open { environment = "HEED_HISTORY=" .. name }:enter("'here'")
    s:await '\n"here"'
    assert.equal("'here'\n", read_file(name))
    os.remove(name)
    s:close()
    open { environment = "HEED_HISTORY=" }:enter("'gone'")
    s:await '\n"gone"'
    assert.is_nil(read_file(s.home .. "/.local/state/heed/history"))
  end)

  it("says once that the history cannot be written", function()
    open { environment = "HEED_HISTORY=/proc/none/x" }:enter("1"):enter("'b'")
    local shown = s:await '\n"b"'
    assert.equal(1, select(2, shown:gsub("cannot be written", "")))
  end)

  -- -- pastes

  it("takes a paste as one text, with tabs and blank lines", function()
    open():paste("for i = 1, 2 do\n\n\tprint('at ' .. i)\nend\nprint 'done'\n")
    local shown = s:await "print 'done'"
    assert.is_nil(shown:find("\nat 1", 1, true))
    s:press("Enter")
    assert.matches("\nat 1\nat 2\ndone\nheed>$", (s:await_last "heed>"))
  end)

  it("takes a paste of thousands of lines", function()
    local lines = { "local n = 0" }
    for i = 2, 3000 do lines[i] = "n = n + 1 -- " .. i end
    open():paste(table.concat(lines, "\n") .. "\nprint('sum', n)\n")
    s:await "print('sum', n)"
    s:press("Enter")
    s:await "sum     2999"
  end)

  -- -- completion

  it("completes methods and fields of a tensor", function()
    open():enter("x = heed.ones(6)")
    s:await_last "heed>"
    s:type("x:resh"):press("Tab")
    s:await "x:reshape"
    s:press("Tab")
    s:await "reshape_as"
    s:press("C-u"):type("x.requ"):press("Tab", "Enter")
    s:await "x.requires_grad\nfalse"
  end)

  it("completes globals, parts that are not loaded yet and what they hold",
    function()
      open():type("hee"):press("Tab"):type(".nn.MultiH"):press("Tab", "Enter")
      s:await "heed.nn.MultiHeadAttention\nclass MultiHeadAttention"
    end)

  it("completes what a network holds", function()
    open():enter("net = heed.nn.Sequential(heed.nn.Linear(2, 3))")
    s:await_last "heed>"
    s:type("net[1].wei"):press("Tab"):type(".sh"):press("Tab", "Enter")
    s:await "net[1].weight.shape\n{3, 2}"
  end)

  it("completes names of options", function()
    open():type("heed.nn.Linear(2, 3, {bi"):press("Tab"):type("false})")
      :press("Enter")
    s:await "{bias = false})\nLinear(2, 3)"
  end)

  it("lists what fits, and the line again", function()
    open():type("string.g"):press("Tab", "Tab")
    s:await "gmatch  gsub\nheed> string.g"
  end)

  it("completes files in strings, and behind %load", function()
    open()
    command.shell("mkdir " .. s.home .. "/folder && echo 'print(77)' >"
      .. s.home .. "/folder/file.lua")
    s:type("io.open('~/fol"):press("Tab"):type("fi"):press("Tab")
    s:await "'~/folder/file.lua'"
    s:press("C-u"):type("%lo"):press("Tab"):type("~/folder/f"):press("Tab",
      "Enter")
    s:await "%load ~/folder/file.lua\n77"
  end)

  it("completes names behind a question mark", function()
    open():type("?nn.MultiH"):press("Tab", "Enter")
    s:await "nn.MultiHeadAttention("
  end)

  it("runs no code of the user's to complete", function()
    open():enter("t = setmetatable({}, {__index = function() print 'ran' end})")
    s:type("t.field.x"):press("Tab", "C-u"):type("t.f"):press("Tab", "C-u")
    local shown = s:enter("'end'"):await '\n"end"'
    assert.is_nil(shown:find("\nran", 1, true))
  end)

  it("indents at the beginning of a line", function()
    open():press("Tab"):enter("'in'")
    s:await "heed>   'in'\n\"in\""
  end)

  -- -- Ctrl-C

  it("forgets the lines at Ctrl-C and goes on", function()
    open():enter("for i = 1, 2 do")
    s:await_last "   >>"
    s:type("garbage"):press("C-c", "C-c", "C-c")
    s:enter("'go' .. 'es on'")
    s:await '\n"goes on"'
  end)

  it("stops Lua code, also in a coroutine, and keeps what there is", function()
    open():enter("x = 5 print('run' .. 'ning') while true do end")
    s:await "\nrunning"
    s:press("C-c")
    s:await "error: interrupted!"
    s:enter("coroutine.wrap(function() print('with' .. 'in') "
      .. "while true do end end)()")
    s:await "\nwithin"
    s:press("C-c", "C-c", "C-c")
    s:enter("x .. ' is kept'")
    s:await '"5 is kept"'
  end)

  it("stops a long kernel", function()
    open():enter("q = heed.ones {1, 8, 100000, 8} F = heed.nn.functional")
    s:enter("print('be' .. 'gin') "
      .. "F.scaled_dot_product_attention(q, q, q)")
    s:await "\nbegin"
    s:press("C-c")
    s:await "error: attention: interrupted"
    s:enter("q.shape")
    s:await "{1, 8, 100000, 8}"
  end)

  -- -- terminals

  it("shows errors in colour, but not with NO_COLOR", function()
    open():enter("error('x')")
    s:await "[1]:1"
    assert.matches("\27[31merror:", s:text(true), 1, true)
    s:close()
    open { environment = "NO_COLOR=1" }:enter("error('x')")
    s:await "[1]:1"
    assert.is_nil(s:text(true):find("\27[31m", 1, true))
  end)

  it("works where the terminal is dumb", function()
    open { environment = "TERM=dumb" }:enter("40 + 2")
    s:await "\n42"
    s:type("string.gs"):press("Tab"):enter("('a', 'a', 'b')")
    s:await '"b", 1'
    s:enter("error('x')")
    s:await "error: x"
    s:enter("for i = 1, 1 do"):enter("print('in loop')"):enter("end")
    s:await "\nin loop"
    assert.is_nil(s:text(true):find("\27[", 1, true))
  end)

  it("works where the terminal is narrow", function()
    open { columns = 24 }:enter("{alpha = 'aaaaaaa', beta = 'bbbbbb', c = 1}")
    s:await '  alpha = "aaaaaaa",\n  beta = "bbbbbb",\n  c = 1\n}'
    s:type("'" .. ("x"):rep(60)):press("C-a"):type("#"):press("C-e")
      :enter("'")
    s:await "\n60"
  end)

  it("edits accents, Chinese and emoji by what they take", function()
    open():type("#'é中🙂'"):press("BSpace", "BSpace")
    s:await "heed> #'é中"
    os.execute "sleep 0.2"
    assert.equal(#"heed> #'" + 3, s:column())
    s:enter("'")
    s:await "\n5"
  end)

  it("keeps letters beyond ASCII, also without a locale", function()
    open { environment = "LC_ALL=C LANG=C" }:enter("#'\195\169'")
    s:await "\n2"
  end)
end)
