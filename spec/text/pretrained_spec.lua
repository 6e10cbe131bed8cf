-- Tokenisers from the files that models ship: the ids of the reference
-- implementations (golden/make.py) on 5,000 lines in many scripts.

local heed = require "heed"
local lines = require "spec.text.lines"
local text = heed.text

local FOLDER <const> = "spec/text/golden/"

local FILES <const> = {
  wordpiece = {"wordpiece.json", special = true},
  byte_level = {"byte_level.json", special = true},
  byte_level_split = {"byte_level_split.json", special = true},
  fallback = {"fallback.json", special = true},
  metaspace = {"metaspace.json", special = true},
  sp_unigram = {"unigram.model"}, sp_bpe = {"bpe.model"},
}

-- One number for all ids, counted from 0.
local function hash(ids)
  local h = 0
  for _, id in ipairs(ids) do h = (31 * h + id) & 0x7FFFFFFF end
  return h
end

local function load(name)
  return assert(text.load(FOLDER .. FILES[name][1]))
end

-- All lines in long runs, else some of each kind.
local STEP <const> = os.getenv "HEED_LONG" and 1 or 5

describe("a tokeniser of a model", function()
  local all = lines()
  local want <const> = heed.load_safetensors(FOLDER .. "ids.safetensors")

  for name, file in pairs(FILES) do
    it("gives the reference's ids: " .. name, function()
      local t = load(name)
      local hashes = want[name]:totable()
      for i = 1, #all, STEP do
        local line = all[i]
        local ids = t:encode(line, {special = file.special})
        if hash(ids) ~= hashes[i] then
          error(("line %d, %q: %s\n%s"):format(i, line,
            table.concat(ids, " "), table.concat(t:tokens(line), "|")))
        end
      end
    end)

    it("gives the reference's texts back: " .. name, function()
      local t = load(name)
      local hashes = want[name .. "_text"]:totable()
      for i = 1, #all, STEP do
        local decoded = t:decode((t:encode(all[i], {special = file.special})))
        local bytes = {decoded:byte(1, -1)}
        for j, byte in ipairs(bytes) do bytes[j] = byte + 1 end
        if hash(bytes) ~= hashes[i] then
          error(("line %d, %q: %q"):format(i, all[i], decoded))
        end
      end
    end)
  end
end)
