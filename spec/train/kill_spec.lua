-- A process that saves checkpoints without end is killed at any instant: one
-- whole checkpoint remains, and it loads. A few hundred times with HEED_LONG.

local command = require "spec.host.command"
local heed = require "heed"

local KILLS <const> = os.getenv "HEED_LONG" and 300 or 15
local KILLED <const> = 137 -- 128 + SIGKILL
local N <const> = 50000

-- Goes on from the checkpoint and saves the next ones: a tensor that is full of
-- the number that stands beside it. Ends only by itself when it is given one.
local SAVER <const> = [[
  package.path, package.cpath = %q, %q
  local heed = require "heed"
  local path, most = %q, %s
  local x = heed.zeros(%d)
  local part = {
    state_dict = function() return {x = x} end,
    load_state_dict = function(_, state) x:copy_(state.x) end,
  }
  local file = io.open(path)
  local n = file and heed.train.load(path, {part = part}).n or 0
  if file then file:close() end
  assert(x[1]:item() == n)
  repeat
    n = n + 1
    x:fill_(n)
    heed.train.save(path, {part = part}, {n = n})
  until n == most
]]

local interpreter = 0
while arg[interpreter - 1] do interpreter = interpreter - 1 end

describe("a checkpoint", function()
  local folder, path

  setup(function()
    local pipe <close> = assert(io.popen "mktemp -d")
    folder = pipe:read "l"
    path = folder .. "/run.safetensors"
  end)

  teardown(function() os.execute("rm -r " .. folder) end)

  local function run(most, seconds)
    local line = command.quote(arg[interpreter]) .. " -e " ..
      command.quote(SAVER:format(package.path, package.cpath, path, most, N))
    if seconds then
      line = ("timeout -s KILL %.4f %s"):format(seconds, line)
    end
    local code, _, text = command.shell(line)
    assert(code == 0 or code == KILLED, text)
    return code
  end

  -- The number of the checkpoint, which must be whole.
  local function check()
    local x
    local n <const> = heed.train.load(path, {part = {
      state_dict = function() end,
      load_state_dict = function(_, state) x = state.x end,
    }}).n
    assert.equal(N, #x)
    assert.is_true(x:eq(n):all():item())
    return n
  end

  it("is whole after a kill at any instant", function()
    local start = heed.core.time()
    assert.equal(0, run(1))
    local seconds <const> = heed.core.time() - start -- to begin, and to save
    local generator <const> = heed.Generator(os.time())
    local last, moved = 1, 0
    for _ = 1, KILLS do
      local part <const> = 0.5 + generator:draw() % 1000 / 500
      assert.equal(KILLED, run("nil", part * seconds))
      local n <const> = check()
      assert.is_true(n >= last)
      if n > last then moved = moved + 1 end
      last = n
    end
    assert.is_true(moved > 0, "no process came to save")
  end)
end)
