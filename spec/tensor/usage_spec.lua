-- Every function of lua/heed/tensor has a doc comment, every one that users see
-- a usage; those of the binding run, and show what they say.

local core = require "heed.core"
local heed = require "heed"
local usage = require "spec.support.usage"

local docs = usage.read_lua_docs("lua/heed/tensor")

-- `float` speaks for all of them.
local DTYPES <const> = {
  bool = true, int = true, long = true, half = true, bfloat16 = true,
  float = true, double = true,
}

describe("lua/heed/tensor", function()
  for _, part in ipairs {"algebra", "index", "make", "maths", "random",
    "shape", "statistics", "unique"} do
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
end)

-- Of lua/heed, which has files of other kinds too, what users see.
local seen = {}
for name, doc in pairs(usage.read_lua_docs("lua/heed")) do
  local f = heed[name] or heed.autograd[name] or heed.linalg[name]
  if type(f) == "function" and debug.getinfo(f, "S").what == "Lua" then
    seen[name] = doc
  end
end

local folders <const> = {
  ["lua/heed/tensor"] = docs, ["lua/heed"] = seen,
  ["src/bind"] = usage.read_docs("src/bind"),
}

for folder, known in pairs(folders) do
  describe("a usage of " .. folder, function()
    after_each(function()
      heed.set_printoptions()
      heed.manual_seed(1)
    end)
    for name, doc in pairs(known) do
      it("stands with " .. name, function()
        assert.is_true(#doc.usages > 0)
      end)
      for i, text in ipairs(folder == "src/bind" and doc.usages or {}) do
        it(("runs: %s, %d"):format(name, i), function() usage.check(text) end)
      end
    end
  end)
end
