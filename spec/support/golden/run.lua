--- run: computes a case in heed and compares all of its results.

local api = require "spec.support.golden.api"
local close = require "spec.support.close"

local families = {}
for _, family in ipairs {
  "attention", "nn", "ops", "optim", "rng", "seed",
} do
  families[family] = require("spec.support.golden." .. family)
end

local run = {}

--- The ways to compute an op: functions of a fresh case, which return a table
-- of results by name; optionally a table of names whose gradients this way does
-- not give; and what heed lacks for the rest. nil when the op is not known.
function run.ways(case)
  local family = families[case.family]
  local ways = family and family[case.op]
  if type(ways) == "function" then return {ways} end
  return ways
end

-- Compares a result with what is stored of it.
local function compare(case, role, name, got)
  local key = role .. "." .. name
  close.check(key, case:sample(key, got), case[role][name], case.tolerance)
end

-- Backward from the sum of all results times their upstream gradients.
local function backward(case, results)
  local total
  for name, upstream in pairs(case.upstream) do
    local y = results[name]
    if y then
      local part = (y * upstream:to(y.dtype)):sum()
      total = total and total + part or part
    end
  end
  total:backward()
end

local function check_gradients(case, leaves, without)
  for name in pairs(case.grad) do
    if not without[name] then
      local leaf = leaves[name]
      if not leaf then error(("grad.%s: has no leaf"):format(name), 0) end
      if not leaf.grad then error(("grad.%s: is nil"):format(name), 0) end
      compare(case, "grad", name, leaf.grad)
    end
  end
end

--- Computes the case in every way and compares; raises for the first that is
-- off. What a case needs and heed has not is raised as `api.need` does.
function run.check(case)
  local seen, missing = {}, nil
  for _, way in ipairs(run.ways(case)) do
    local fresh = case:fresh()
    local results, without, lack = way(fresh)
    missing = missing or lack
    for name, got in pairs(results) do
      if case.output[name] then
        compare(case, "output", name, got)
        seen[name] = true
      end
    end
    if next(case.grad) then
      backward(case, results)
      check_gradients(case, fresh.leaves, without or {})
    end
  end
  if missing then api.lack(missing) end
  for name in pairs(case.output) do
    if not seen[name] then
      error(("output.%s: was not computed"):format(name), 0)
    end
  end
end


return run
