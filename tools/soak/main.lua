--[[
Does heed stay as it is? Rounds of mixed work from fixed seeds: training of
small nets of each kind, inference with a cache, attention of many shapes,
text, files, errors; on another number of threads each. Every round must give
what the first one gave, to the last bit, and nothing may grow: resident
memory, the bytes of tensors, Lua's heap, open files, threads.

    heed tools/soak/main.lua [minutes]

Prints a line a minute; exits with 1 when something differs or grows.
]]

local heed = require "heed"
local lfs = require "lfs"

-- Beside this file.
package.path = arg[0]:match "^(.*/)" .. "?.lua;" .. package.path
local work <const> = require "work"

local MINUTES <const> = tonumber(arg[1] or 1)
local SETTLED <const> = 10 -- rounds, after which nothing may grow
-- What is allowed beyond the most of the first SETTLED rounds.
local SLACK <const> = {
  resident = 24, -- MiB: the allocator of C may split what it has
  tensors = 0.5, -- MiB
  lua = 4,       -- MiB
  files = 0, threads = 0,
}
local ORDER <const> = {"resident", "tensors", "lua", "files", "threads"}

local JOBS <const> = {}
for name in pairs(work) do JOBS[#JOBS + 1] = name end
table.sort(JOBS)

local function status(key)
  for line in io.lines "/proc/self/status" do
    local value <const> = line:match("^" .. key .. ":%s+(%d+)")
    if value then return tonumber(value) end
  end
end

local function open_files()
  local n = 0
  for _ in lfs.dir "/proc/self/fd" do n = n + 1 end
  return n - 3 -- ".", ".." and the folder itself
end

local function measure()
  collectgarbage()
  collectgarbage()
  return {
    resident = status "VmRSS" / 1024,
    tensors = heed.memory_stats().used / 2 ^ 20,
    lua = collectgarbage "count" / 1024,
    files = open_files(),
    threads = status "Threads",
  }
end

-- FNV-1a: what to show of a long text.
local function brief(text)
  local h = 0xcbf29ce484222325
  for i = 1, #text do h = (h ~ text:byte(i)) * 0x100000001b3 end
  return ("%016x"):format(h)
end

local function run_round(folder)
  local said = {}
  for _, name in ipairs(JOBS) do
    heed.manual_seed(7)
    work[name](function(what)
      if type(what) == "number" then what = ("%a"):format(what) end
      said[#said + 1] = name .. ": " .. what
    end, folder)
  end
  return said
end

local function first_difference(a, b)
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] then
      return ("note %d: first %s\n  now %s"):format(i, a[i], b[i])
    end
  end
end

local folder <const> = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir " .. folder))

local begun <const>, shown = os.time(), 0
local first, fault
local most <const> = {}
local count = 0
print "  round  checksum          resident  tensors      lua  files  threads"
repeat
  count = count + 1
  heed.set_num_threads(1 + count % 4)
  local said <const> = run_round(folder)
  local now <const> = measure()
  first = first or said
  fault = first_difference(first, said)
  for _, key in ipairs(ORDER) do
    if count <= SETTLED then
      most[key] = math.max(most[key] or 0, now[key])
    elseif now[key] > most[key] + SLACK[key] then
      fault = fault or ("%s has grown from %.2f to %.2f"):format(key,
        most[key], now[key])
    end
  end
  local elapsed <const> = os.difftime(os.time(), begun)
  if count == 1 or count == SETTLED or fault or elapsed >= shown + 60 then
    shown = elapsed
    print(("%7d  %s  %8.1f %8.3f %8.3f %6d %8d"):format(count,
      brief(table.concat(said, "\n")), now.resident, now.tensors, now.lua,
      now.files, now.threads))
    io.flush()
  end
until fault or elapsed >= MINUTES * 60 and count > SETTLED
os.execute("rm -r " .. folder)
if fault then
  print(fault)
  os.exit(1)
end
print(("%d rounds, all the same"):format(count))
