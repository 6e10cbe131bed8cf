-- count.lua - a helper for busted: keeps how many tests passed and failed in
-- the file that HEED_COUNTS names, up to date at any moment, so that a run
-- that breaks off is counted too. The word after them says if all have run.

local busted = require "busted"

local file = os.getenv("HEED_COUNTS")
local counts = { success = 0, failure = 0, error = 0, pending = 0 }

local function write_counts(state)
  local out = assert(io.open(file, "w"))
  out:write(counts.success, " ", counts.failure + counts.error, " ", state,
    "\n")
  out:close()
end

if file then
  busted.subscribe({ "test", "end" }, function(_, _, status)
    counts[status] = counts[status] + 1
    write_counts("running")
    return nil, true
  end)

  -- what goes wrong outside of a test: a file that does not load, a setup
  for _, kind in ipairs({ "error", "failure" }) do
    busted.subscribe({ kind }, function(element)
      if element.descriptor ~= "it" then counts[kind] = counts[kind] + 1 end
      return nil, true
    end)
  end

  busted.subscribe({ "suite", "end" }, function()
    write_counts("complete")
    return nil, true
  end)
end
