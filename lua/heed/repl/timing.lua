--- How long code takes: once, and the best of many runs.

local core = require "heed.core"
local show = require "heed.repl.show"

local timing = {}

local RUNS <const> = 7
local LONG_ENOUGH <const> = 0.1 -- seconds of one run, against the clock's steps
local PATIENCE <const> = 5      -- seconds that all runs may take

local units <const> = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}

--- Returns seconds as text with three digits and a unit.
function timing.seconds(t)
  for _, unit in ipairs(units) do
    if t >= unit[1] or unit[2] == "ns" then
      return ("%.3g %s"):format(t / unit[1], unit[2])
    end
  end
end

--- Calls a function; returns its results as `table.pack` does, and a text.
function timing.once(f)
  local cpu <const>, start <const> = os.clock(), core.time()
  local values <const> = table.pack(f())
  local wall <const> = core.time() - start
  return values, ("took %s (%s of processors)"):format(timing.seconds(wall),
    timing.seconds(os.clock() - cpu))
end

-- A function that runs the code as often as it is told.
local function loop(code)
  local text <const> = "local n <const> = ... for _ = 1, n do %s end"
  local f = load(text:format("local _ = " .. code .. "\n"), "=%timeit", "t")
  if f then return f end
  local message
  f, message = load(text:format(code .. "\n"), "=%timeit", "t")
  if not f then error(message, 0) end
  return f
end

--- Runs code until the time that one run takes is sure; returns a text.
-- @tparam string code an expression or statements
function timing.many(code)
  local f <const> = loop(code)
  local function run(n)
    local start <const> = core.time()
    f(n)
    return core.time() - start
  end
  local n, spent = 1, 0
  local took = run(1) -- the first run warms up
  while took < LONG_ENOUGH and n < 1e9 do
    spent = spent + took
    local wanted <const> = LONG_ENOUGH / math.max(took, 1e-9) * 1.2
    n = math.ceil(n * math.max(2, math.min(10, wanted)))
    took = run(n)
  end
  local best, worst, runs = took, took, 1
  spent = spent + took
  while runs < RUNS and spent + took < PATIENCE do
    took = run(n)
    best, worst = math.min(best, took), math.max(worst, took)
    runs, spent = runs + 1, spent + took
  end
  if runs == 1 then
    return ("%s (one run; it takes long)"):format(timing.seconds(best / n))
  end
  return ("%s, the best of %d runs of %s; the slowest took %s (+%.0f%%)")
    :format(timing.seconds(best / n), runs, show.grouped(n),
      timing.seconds(worst / n), (worst / best - 1) * 100)
end

return timing
