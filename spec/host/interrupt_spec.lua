-- Ctrl-C while heed computes: the op fails, and the program goes on.

local command = require "spec.host.command"

-- Runs the lines, sends SIGINT once they have printed "go", and returns the
-- exit code, stdout and stderr.
local function interrupt(lines)
  local script = command.file(lines)
  local program, out = command.quote(command.program), os.tmpname()
  local code, _, err = command.shell(("%s %s >%s & p=$!\n"
    .. "until grep -q go %s; do kill -0 $p || exit 9; sleep 0.02; done\n"
    .. "kill -INT $p; wait $p"):format(program, script, out, out))
  local file = assert(io.open(out))
  local text = file:read "a"
  file:close()
  os.remove(script)
  os.remove(out)
  return code, text, err
end

-- Half a minute and more of work, on little memory.
local LONG <const> = [[
local heed = require "heed"
local F = heed.nn.functional
local q = heed.ones {1, 8, 100000, 8}
]]

describe("an interrupt", function()
  for threads = 1, 2 do
    it(("ends a long op on %d threads"):format(threads), function()
      local code, out, err = interrupt(LONG .. ([[
        heed.set_num_threads(%d)
        io.write("go\n"):flush()
        local ok, said = pcall(F.scaled_dot_product_attention, q, q, q)
        print(ok, said:match "[^:]+: [^:]+$", heed.ones({2}):sum():item())
      ]]):format(threads))
      assert.equal("", err)
      assert.equal("go\nfalse\tattention: interrupted\t2.0\n",
        (out:gsub("\t ", "\t")))
      assert.equal(0, code)
    end)
  end

  it("ends the sort of one long line", function()
    for threads = 1, 2 do
      local _, out, err = interrupt(([[
        local heed = require "heed"
        heed.set_num_threads(%d)
        local x = heed.rand {2, 10000000}
        io.write("go\n"):flush()
        local ok, said
        repeat ok, said = pcall(x.sort, x) until not ok
        print(ok, said:match "%%w+: interrupted$",
          heed.tensor {2, 1}:sort()[1]:item())
      ]]):format(threads))
      assert.equal("", err)
      assert.equal("go\nfalse\tsort: interrupted\t1\n", out)
    end
  end)

  it("ends a backward pass", function()
    local _, out, err = interrupt([[
      local heed = require "heed"
      local x = heed.ones({1, 8, 12000, 16}, {requires_grad = true})
      local y = heed.nn.functional.scaled_dot_product_attention(x, x, x)
      local gradient = heed.ones_like(y)
      io.write("go\n"):flush()
      local ok, said = pcall(y.backward, y, gradient)
      print(ok, said:find ": interrupted$" ~= nil, x.grad)
    ]])
    assert.equal("", err)
    assert.equal("go\nfalse\ttrue\tnil\n", out)
  end)

  it("finishes what overwrites a tensor", function()
    local code, out, err = interrupt([[
      local heed = require "heed"
      local x = heed.zeros {300000}
      local steps = 0
      io.write("go\n"):flush()
      local ok, said = pcall(function()
        while true do
          x:add_(1)
          steps = steps + 1
        end
      end)
      local least, most = x:min():item(), x:max():item()
      print(ok, said:match "%w+!?$", least == most,
        most == steps or most == steps + 1)
    ]])
    assert.equal("", err)
    assert.matches("^go\nfalse\tinterrupted!?\ttrue\ttrue\n$", out)
    assert.equal(0, code)
  end)

  it("ends a script with a message and exit code 1", function()
    local code, _, err = interrupt(LONG .. [[
      io.write("go\n"):flush()
      F.scaled_dot_product_attention(q, q, q)
    ]])
    assert.equal(1, code)
    assert.matches("attention: interrupted\nstack traceback:", err, 1, true)
  end)
end)
