-- count.lua - a helper for busted: writes how many tests passed, failed and
-- are pending to the file that HEED_COUNTS names.

local busted = require "busted"

local file = os.getenv("HEED_COUNTS")
local counts = { success = 0, failure = 0, error = 0, pending = 0 }

local function write_counts()
  local out = assert(io.open(file, "w"))
  out:write(counts.success, " ", counts.failure + counts.error, " ",
    counts.pending, "\n")
  out:close()
end

if file then
  busted.subscribe({ "test", "end" }, function(_, _, status)
    counts[status] = counts[status] + 1
    return nil, true
  end)

  -- what goes wrong outside of a test: a file that does not load, a setup
  busted.subscribe({ "error" }, function(element)
    if element.descriptor ~= "it" then counts.error = counts.error + 1 end
    return nil, true
  end)
  busted.subscribe({ "failure" }, function(element)
    if element.descriptor ~= "it" then counts.failure = counts.failure + 1 end
    return nil, true
  end)

  busted.subscribe({ "suite", "end" }, function()
    write_counts()
    return nil, true
  end)
end
