-- The usages in the doc comments run, and give what they show.

local usage = require "spec.support.usage"

describe("the doc comments of heed.train", function()
  for name, doc in pairs(usage.read_lua_docs "lua/heed/train") do
    for i, text in ipairs(doc.usages) do
      it(name .. " run usage " .. i, function() usage.check(text) end)
    end
  end
end)
