-- Every function of heed is called with what it does not expect: an error or a
-- result comes of it, never a crash, a leak or no end; also from coroutines,
-- inside of __gc and __close, while an error is handled, and while the state is
-- being closed. It runs in a program of its own, with little memory.
--
--     HEED_SEED=7 tools/test spec/robust/hostile_spec.lua
--     HEED_SEED=7 HEED_FUNCTION=softmax tools/test spec/robust/hos..  only it
--     HEED_CALLS=1000 tools/test spec/robust/hos..   so many of each function

local lfs = require "lfs"
local setting = require "spec.support.setting"

local PROGRAM <const> = os.getenv "HEED_PROGRAM" or
  (os.getenv "HEED_BUILD" or "build") .. "/heed"
local SANITIZED <const> = os.getenv "HEED_SANITIZE" ~= nil

-- New ones in long runs; short runs are to say the same each time.
local SEED <const> = setting("HEED_SEED", os.getenv "HEED_LONG" and os.time()
  or 1)
local CALLS <const> = setting("HEED_CALLS", os.getenv "HEED_LONG" and 300 or 3)

local function absolute(path)
  return path:sub(1, 1) == "/" and path or lfs.currentdir() .. "/" .. path
end

-- Memory is bounded by the system, or where a sanitizer maps very much of it,
-- by the sanitizer: huge sizes must fail and not be had.
local function limits()
  if not SANITIZED then return "ulimit -v 3000000;" end
  return ("ASAN_OPTIONS=$ASAN_OPTIONS:allocator_may_return_null=1" ..
    ":max_allocation_size_mb=1000; export ASAN_OPTIONS;")
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function read(path)
  local file = io.open(path, "rb")
  if not file then return "" end
  local text = file:read "a"
  file:close()
  return text
end

describe("hostile calls", function()
  local folder

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(lfs.mkdir(folder))
  end)
  after_each(function() os.execute("rm -rf " .. quoted(folder)) end)

  it("do no harm", function()
    local root = lfs.currentdir()
    local only = os.getenv "HEED_FUNCTION" or ""
    -- Lua calls no finaliser of what is made while a state closes: leaks are
    -- what run.lua itself says of them
    local command = ("cd %s; %s ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 " ..
      "LUA_PATH=%s timeout -s ABRT %d %s %s %s %d " ..
      "%d %d %s >out 2>&1 </dev/null"):format(quoted(folder), limits(),
      quoted(root .. "/?.lua;" .. root .. "/lua/?.lua;" .. root ..
        "/lua/?/init.lua;;"), 300 + 4 * CALLS, quoted(absolute(PROGRAM)),
      quoted(root .. "/spec/robust/hostile/run.lua"),
      quoted(folder .. "/status"), SEED, CALLS, CALLS > 20 and 1 or 100,
      quoted(only))
    local ok, how, code = os.execute(command)
    local out = read(folder .. "/out")
    if ok and out:find " 0 complaints\n" then return end
    error(("HEED_SEED=%d, %s %s: %s\nat: %s"):format(SEED, how, code,
      out:sub(-4000), read(folder .. "/status"):match "^[^\n]*"), 0)
  end)
end)
