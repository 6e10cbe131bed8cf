-- Every function of lua/heed/nn/functional has a doc comment with a usage.

local usage = require "spec.support.usage"

local FOLDER <const> = "lua/heed/nn/functional"
local docs = usage.read_lua_docs(FOLDER)

describe(FOLDER, function()
  local pipe = assert(io.popen("ls " .. FOLDER .. "/*.lua"))
  for path in pipe:lines() do
    local family = path:match "([%w_]+)%.lua$"
    for name in pairs(require("heed.nn.functional." .. family)) do
      it(family .. " documents " .. name, function()
        assert.is_true(docs[name] ~= nil and #docs[name].usages > 0)
      end)
    end
  end
  pipe:close()
end)
