--[[
What benchmarks of short cases share. A benchmark is a list of cases, each
{name, function, count = runs that are timed together, bytes = moved by a run,
drop = true: the tensor that a run gives is closed at once}, and a script that
is run as

    heed bench/NAME.lua [threads]

which prints the least time of several rounds. With `serve` as the second
argument it reads the name of a case a line and answers with the seconds of one
run: so bench/harness.py asks, in turns with PyTorch.
]]

local heed = require "heed"

local ROUNDS <const> = 15
local close <const> = heed.core.metatable.__close

-- Seconds of one run of a case; of short ones the least of a few turns, as the
-- first finds caches cold.
local function seconds(case)
  local run <const>, count <const> = case[2], case.count or 1
  local best = math.huge
  for _ = 1, count > 1 and 5 or 1 do
    local start <const> = heed.core.time()
    for _ = 1, count do
      local result = run()
      if case.drop then close(result) end
    end
    best = math.min(best, (heed.core.time() - start) / count)
  end
  return best
end

local function serve(cases)
  local by_name <const> = {}
  for _, case in ipairs(cases) do by_name[case[1]] = case end
  for name in io.lines() do
    io.write(("%.12f\n"):format(seconds(by_name[name])))
    io.flush()
  end
end

local function show(case)
  local best = math.huge
  for _ = 1, ROUNDS do best = math.min(best, seconds(case)) end
  local rate <const> = case.bytes and
    ("%8.2f GB/s"):format(case.bytes / best / 1e9) or ""
  print(("%-32s %12.3f us %s"):format(case[1], best * 1e6, rate))
end

return function(cases)
  heed.set_num_threads(math.tointeger(tonumber(arg[1] or 2)))
  if arg[2] == "serve" then return serve(cases) end
  for _, case in ipairs(cases) do show(case) end
end
