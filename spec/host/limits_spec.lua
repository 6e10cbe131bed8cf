-- Under the limits that a system may set: what works goes on, and what does
-- not ends with a message. Nothing hangs: each run has half a minute.

local command = require "spec.host.command"

-- Runs a script with the program, after some lines of shell.
local function limited(setting, lines)
  local script = command.file(lines)
  local code, out, err = command.shell(("%s; timeout 30 %s %s"):format(setting,
    command.quote(command.program), script))
  os.remove(script)
  return code, out, err:gsub("\nstack traceback.*", "\n")
end

-- Sanitizers reserve terabytes of addresses.
local it_bare = os.getenv "HEED_SANITIZE" and pending or it

local TRAIN <const> = [[
local heed = require "heed"
local net = heed.nn.Linear(20, 5)
for _ = 1, 3 do net(heed.ones {64, 20}):square():sum():backward() end
print("trained")
]]

describe("a limit on", function()
  it_bare("address space that is too low to load is an error", function()
    for _, kib in ipairs {60000, 100000, 150000} do
      local code, _, err = limited(
        ("export OMP_NUM_THREADS=1; ulimit -v %d"):format(kib), TRAIN)
      assert.equal(1, code)
      assert.matches("^heed: heed: the limit on address space %(ulimit %-v%) "
        .. "leaves %d+ MiB, and OpenBLAS needs 184 MiB on 1 thread; raise it\n",
        err)
    end
  end)

  it_bare("address space names the way out on several threads", function()
    local code, _, err = limited("unset OMP_NUM_THREADS; ulimit -v 100000",
      [[
        if not pcall(require, "heed") then require "heed" end
      ]])
    assert.equal(1, code)
    assert.matches("raise it", err, 1, true)
  end)

  it_bare("address space leaves LAPACK without room", function()
    local code, out, err = limited("export OMP_NUM_THREADS=1; ulimit -v 300000",
      TRAIN .. [[
        local x = heed.eye(30)
        local linalg = heed.linalg
        for _, name in ipairs {"svdvals", "inv", "det", "eigvalsh", "cholesky",
            "qr", "pinv"} do
          local ok, said = pcall(linalg[name], x)
          print(ok, (tostring(said):gsub("^.-: ", "", 1)))
        end
        print(pcall(linalg.solve, x, x))
        print(x:sum():item())
      ]])
    assert.equal("", err)
    assert.equal(0, code)
    local lines = {}
    for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.equal("trained", lines[1])
    for i = 2, 9 do
      assert.matches("^false%s.*out of memory: OpenBLAS needs 129 MiB of "
        .. "address space for itself$", lines[i])
    end
    assert.equal("30.0", lines[10])
  end)

  it_bare("address space ends an allocation, not the program", function()
    local code, out, err = limited("export OMP_NUM_THREADS=1; ulimit -v 300000",
      [[
        local heed = require "heed"
        local kept = {}
        local ok, said = pcall(function()
          while true do kept[#kept + 1] = heed.ones {1 << 20} end
        end)
        print(ok, said:match "out of memory", #kept > 4)
        kept = nil
        print(heed.ones({1 << 22}):sum():item())
      ]])
    assert.equal("", err)
    assert.equal("false\tout of memory\ttrue\n4194304.0\n", out)
    assert.equal(0, code)
  end)

  it("open files is enough at 16", function()
    local code, out = limited("ulimit -n 16", TRAIN)
    assert.equal("trained\n", out)
    assert.equal(0, code)
  end)

  it("the stack leaves a deep graph and a deep table", function()
    local code, out, err = limited("ulimit -s 256", [[
      local heed = require "heed"
      local x = heed.ones({2}, {requires_grad = true})
      local y = x
      for _ = 1, 50000 do y = y + 1 end
      y:sum():backward()
      local deep = 1
      for _ = 1, 5000 do deep = {deep} end
      print(x.grad:sum():item(), (pcall(heed.tensor, deep)))
    ]])
    assert.equal("", err)
    assert.equal("2.0\tfalse\n", out)
    assert.equal(0, code)
  end)
end)

describe("the program", function()
  it("works with its streams closed", function()
    for _, closed in ipairs {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"} do
      local script = command.file(TRAIN)
      local code = command.shell(("timeout 30 %s %s %s"):format(
        command.quote(command.program), script, closed))
      os.remove(script)
      assert.equal(0, code)
    end
  end)

  it("works without a home", function()
    local code, out = limited("unset HOME", TRAIN)
    assert.equal("trained\n", out)
    assert.equal(0, code)
  end)

  it("ends with the reader of its output", function()
    local script = command.file [[
      local heed = require "heed"
      while true do print(heed.ones {3}) end
    ]]
    local code, out = command.shell(("timeout 30 %s %s | head -1"):format(
      command.quote(command.program), script))
    os.remove(script)
    assert.equal("[1.  1.  1.]\n", out)
    assert.equal(0, code)
  end)
end)
