-- The usages in the doc comments of lua/heed/tensor run, and show what they
-- say; every function there has a doc comment.

local core = require "heed.core"
local usage = require "spec.support.usage"

local docs = usage.read_lua_docs("lua/heed/tensor")

-- `float` speaks for all of them.
local DTYPES <const> = {
  bool = true, int = true, long = true, half = true, bfloat16 = true,
  float = true, double = true,
}

describe("lua/heed/tensor", function()
  for _, part in ipairs {"make", "shape", "index", "statistics",
    "unique"} do
    local module = require("heed.tensor." .. part)
    for _, group in ipairs {"functions", "methods"} do
      for name in pairs(module[group]) do
        local base = name:gsub("_$", "")
        it(part .. "." .. group .. " documents " .. name, function()
          assert.is_true(DTYPES[name] or docs[name] ~= nil or
            docs[base] ~= nil or core.ops[name] ~= nil)
        end)
      end
    end
  end

  for name, doc in pairs(docs) do
    it(name .. " has a usage", function()
      assert.is_true(#doc.usages > 0)
    end)
    for i, text in ipairs(doc.usages) do
      it(name .. " runs usage " .. i, function() usage.check(text) end)
    end
  end
end)
