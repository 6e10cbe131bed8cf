-- The usages in the doc comments of lua/heed/nn/functional run, and show what
-- they say; every function there has one.

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

  for name, doc in pairs(docs) do
    for i, text in ipairs(doc.usages) do
      it(name .. " runs usage " .. i, function() usage.check(text) end)
    end
  end
end)
