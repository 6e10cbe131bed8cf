--- Is there room to load OpenBLAS? While it loads it maps a buffer for each
-- processor, and where the system refuses (`ulimit -v`) it tries for ever: no
-- code of ours runs before that, so it is found out here. Linux tells what it
-- takes in files; elsewhere nothing is checked.

local MIB <const> = 1 << 20
local BUFFER <const> = 128 * MIB
local LIBRARIES <const> = 56 * MIB -- OpenBLAS and all others, as mapped

-- The numbers of the first line that the pattern fits.
local function find(path, pattern)
  local file <close> = io.open(path)
  if not file then return nil end
  for line in file:lines() do
    local value <const> = line:match(pattern)
    if value then return math.tointeger(tonumber(value)) end
  end
end

local function processors()
  local n = 0
  local file <close> = io.open "/proc/stat"
  if not file then return 1 end
  for line in file:lines() do
    if not line:find "^cpu" then break end
    if line:find "^cpu%d" then n = n + 1 end
  end
  return math.max(n, 1)
end

-- OpenBLAS takes no more threads than these.
local function threads()
  local n <const> = processors()
  local wanted <const> = tonumber((os.getenv "OMP_NUM_THREADS" or "")
    :match "^%s*(%d+)")
  return wanted and wanted > 0 and math.min(wanted, n) or n
end

local limit <const> = find("/proc/self/limits", "^Max address space%s+(%d+)")
if limit then
  local used <const> = find("/proc/self/status", "^VmSize:%s+(%d+)") or 0
  local left <const> = limit - used * 1024
  local n <const> = threads()
  if left < LIBRARIES + n * BUFFER then
    error(("heed: the limit on address space (ulimit -v) leaves %d MiB, and "
      .. "OpenBLAS needs %d MiB on %d thread%s; raise it%s"):format(left // MIB,
      (LIBRARIES + n * BUFFER) // MIB, n, n == 1 and "" or "s",
      n == 1 and "" or ", or set OMP_NUM_THREADS=1"), 0)
  end
end

return {}
