-- The usages in the doc comments run, and give what they show.

local usage = require "spec.support.usage"

describe("the doc comments of heed.text", function()
  local docs = usage.read_lua_docs "lua/heed/text"
  for name, doc in pairs(docs) do
    for i, text in ipairs(doc.usages) do
      if text:find("heed.text", 1, true) then
        it(name .. " run usage " .. i, function() usage.check(text) end)
      end
    end
  end
end)
