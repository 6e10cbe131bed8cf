-- Reference values: every case file of a folder, spec/golden or HEED_GOLDEN.

local api = require "spec.support.golden.api"
local case = require "spec.support.golden.case"
local run = require "spec.support.golden.run"

local own = os.getenv("HEED_GOLDEN") == nil
local folder = os.getenv("HEED_GOLDEN") or "spec/golden"

local function list()
  local names = {}
  local pipe = assert(io.popen("ls '" .. folder:gsub("'", "'\\''") .. "'"))
  for line in pipe:lines() do
    names[#names + 1] = line:match("^(.*)%.safetensors$")
  end
  pipe:close()
  return names
end

-- An op of our own cases that heed has not yet is pending; in another folder
-- it is what the run is about.
local function absent(text)
  if own then return pending(text) end
  error(text, 0)
end

describe("golden", function()
  local names = list()

  it("cases are there", function()
    assert.is_true(#names > 0, "no case files in " .. folder)
  end)

  for _, name in ipairs(names) do
    it(name, function()
      local c = case.read(folder .. "/" .. name .. ".safetensors", name)
      if not run.ways(c) then
        return absent(("op %s of family %s is not known"):format(c.op,
          c.family))
      end
      local ok, problem = pcall(run.check, c)
      if ok then return end
      local missing = api.missing(problem)
      if missing then
        return absent(("op %s needs %s"):format(c.op, missing))
      end
      error(problem, 0)
    end)
  end
end)
