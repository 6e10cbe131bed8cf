-- The corpus of tools/demo: well formed, and its test split honest.
-- Paths are relative to the root of the repository, where busted runs.

local PREFIX <const> = "examples/data/everyday-en-fr."
local MIN_TRAIN <const> = 800
local MIN_TEST <const> = 100
local MIN_SEEN <const> = 3 -- training pairs that hold a word of the tests

local function read_file(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

-- Fields of each line, in file order. A missing final newline or a stray tab
-- shows up as a wrong count, so nothing is trimmed here.
local function read_rows(path)
  local rows = {}
  for line in read_file(path):gmatch("([^\n]*)\n") do
    local row = {}
    for field in (line .. "\t"):gmatch("([^\t]*)\t") do
      row[#row + 1] = field
    end
    row.where = ("%s:%d"):format(path, #rows + 1)
    rows[#rows + 1] = row
  end
  return rows
end

-- string.lower knows ASCII only; the Latin-1 capitals lie 0x20 below their
-- small letters (0xD7 is the multiplication sign).
local function lower_code(code)
  if code >= 0xC0 and code <= 0xDE and code ~= 0xD7 then
    return code + 0x20
  end
  return code == 0x152 and 0x153 or code -- the ligature oe
end

-- Case-folded, without punctuation, words one space apart.
local function normalise(text)
  local out = {}
  for _, code in utf8.codes(text) do
    out[#out + 1] = utf8.char(lower_code(code))
  end
  local plain = table.concat(out):lower():gsub("%p", " "):gsub("%s+", " ")
  return (plain:gsub("^ ", ""):gsub(" $", ""))
end

-- How many sentences of one side hold each word.
local function count_words(rows, side)
  local counts = {}
  for _, row in ipairs(rows) do
    local seen = {}
    for word in normalise(row[side]):gmatch("%S+") do
      if not seen[word] then
        seen[word] = true
        counts[word] = (counts[word] or 0) + 1
      end
    end
  end
  return counts
end

-- The first place where each normalised sentence of one side stands.
local function index_sentences(rows, side)
  local index = {}
  for _, row in ipairs(rows) do
    local key = normalise(row[side])
    index[key] = index[key] or row.where
  end
  return index
end

local function assert_none(faults)
  assert.are.equal("", table.concat(faults, "\n"))
end

describe("the corpus of the demo", function()
  local splits = {}
  local names = { "English", "French" }

  setup(function()
    for _, split in ipairs { "train", "test" } do
      splits[split] = read_rows(PREFIX .. split .. ".tsv")
    end
  end)

  it("has enough pairs in both splits", function()
    assert.is_true(#splits.train >= MIN_TRAIN, "train: " .. #splits.train)
    assert.is_true(#splits.test >= MIN_TEST, "test: " .. #splits.test)
  end)

  for _, split in ipairs { "train", "test" } do
    describe(split .. " split", function()
      it("is valid UTF-8, with LF ends and no byte-order mark", function()
        local text = read_file(PREFIX .. split .. ".tsv")
        local length, bad_byte = utf8.len(text)
        assert.is_truthy(length, "invalid UTF-8 at byte " .. tostring(bad_byte))
        assert.is_nil(text:find("\r", 1, true))
        assert.is_nil(text:find("^\u{FEFF}"))
        assert.are.equal("\n", text:sub(-1))
      end)

      it("spells accents as single characters", function()
        local faults = {}
        for _, row in ipairs(splits[split]) do
          for _, code in utf8.codes(row[1] .. row[2]) do
            if code >= 0x300 and code <= 0x36F then
              faults[#faults + 1] = row.where
            end
          end
        end
        assert_none(faults)
      end)

      it("has two non-empty fields on every line", function()
        local faults = {}
        for _, row in ipairs(splits[split]) do
          if #row ~= 2 or not (row[1]:find("%S") and row[2]:find("%S")) then
            faults[#faults + 1] = row.where
          end
        end
        assert_none(faults)
      end)

      it("has English sentences of 2 to 9 words", function()
        local faults = {}
        for _, row in ipairs(splits[split]) do
          local _, words = row[1]:gsub("%S+", "")
          if words < 2 or words > 9 then
            faults[#faults + 1] = ("%s: %d words"):format(row.where, words)
          end
        end
        assert_none(faults)
      end)
    end)
  end

  it("gives every source sentence once", function()
    local faults, seen = {}, {}
    for _, split in ipairs { "train", "test" } do
      for _, row in ipairs(splits[split]) do
        local key = normalise(row[1])
        if seen[key] then
          faults[#faults + 1] = row.where .. " repeats " .. seen[key]
        end
        seen[key] = seen[key] or row.where
      end
    end
    assert_none(faults)
  end)

  for side, name in ipairs(names) do
    it("keeps the " .. name .. " of the tests out of training", function()
      local faults = {}
      local known = index_sentences(splits.train, side)
      for _, row in ipairs(splits.test) do
        local place = known[normalise(row[side])]
        if place then
          faults[#faults + 1] = row.where .. " repeats " .. place
        end
      end
      assert_none(faults)
    end)

    it("has every " .. name .. " word of the tests in training", function()
      local faults = {}
      local counts = count_words(splits.train, side)
      for _, row in ipairs(splits.test) do
        for word in normalise(row[side]):gmatch("%S+") do
          local count = counts[word] or 0
          if count < MIN_SEEN then
            faults[#faults + 1] =
              ("%s: %s is in %d pairs"):format(row.where, word, count)
          end
        end
      end
      assert_none(faults)
    end)
  end
end)
