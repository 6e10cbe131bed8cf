-- The usages in the doc comments of lua/heed run, and give what they show.
-- spec/support/usage_given.lua says what they may name.

local given = require "spec.support.usage_given"
local heed = require "heed"
local usage = require "spec.support.usage"

describe("a usage in the doc comments", function()
  local out <const>, err <const> = io.stdout, io.stderr

  before_each(function()
    heed.manual_seed(1)
    local quiet = io.tmpfile()
    io.stdout, io.stderr = quiet, quiet -- luacheck: ignore
    io.output(quiet)
  end)

  after_each(function()
    io.stdout:close()
    io.stdout, io.stderr = out, err -- luacheck: ignore
    io.output(out)
    heed.set_printoptions()
  end)

  for _, one in ipairs(usage.read_lua_usages "lua/heed") do
    local path <const>, line <const>, code <const> = table.unpack(one)
    it(("runs: %s:%d"):format(path, line), function()
      assert.has_no_errors(function() usage.check(code, given(path)) end)
    end)
  end
end)
