--- Rows of reductions.

local heed = require "heed"
local sample = require "spec.support.sample"

local real <const>, whole <const> = sample.real, sample.whole
local bool <const> = sample.bool

local rows = {}

-- The same numbers in every integer dtype.
local function integers(...)
  local list = {}
  for _, dtype in ipairs {"uint8", "int32", "int64"} do
    list[#list + 1] = {whole({3, 4}, 0, 9):to(dtype), ...}
  end
  return list
end

local function refusals(name)
  return {
    {{real {2, 3}, 3},
      name .. ": dim must be 1..2 or -2..-1 for x [2 3], got 3"},
    {{real {2, 3}, {1, 1}},
      name .. ": dim 1 is given twice"},
    {{real {2, 3}, 0},
      name .. ": dim must be a dimension or a list of dimensions, got 0"},
    {{real {2, 3}, {2}, 1},
      name .. ": keepdim must be a boolean, got 1"},
    {{1},
      name .. ": x must be a tensor, got 1"},
  }
end

-- Over all, one and several dimensions, kept and not; small and long rows and
-- columns; empty where allowed (`empty`), several dimensions (`one`: only
-- one), integers (`floats`: refused).
local function reduction(name, options)
  options = options or {}
  local first = options.first or real
  local cases = {
    {first {2, 3, 4}}, {first {2, 3}, 2}, {first {2, 3}, -2, true},
    {first {2, 1, 3}, {dim = 2, keepdim = true}}, {first {1}}, {first {}},
    {first {0, 3}, 2}, {first {3, 40}, 2}, {first {20, 9}, 1},
    {first {20, 2}, 1}, {first {2, 17, 3}, 2},
  }
  if not options.one then
    cases[#cases + 1] = {first {2, 3, 4}, {1, 3}}
    cases[#cases + 1] = {first {2, 3, 4}, {-1, 2}, true}
  end
  if options.empty then
    cases[#cases + 1] = {first {0, 3}, 1}
    cases[#cases + 1] = {first {0}}
  end
  rows[name] = {cases = cases, errors = refusals(name)}
  local errors = rows[name].errors
  if options.floats then
    cases[#cases + 1] = {whole({4}, 1, 9)}
    cases[#cases + 1] = {bool {4, 3}, 1}
  else
    cases[#cases + 1] = {bool {3, 4}, 2}
    table.move(integers(2), 1, 3, #cases + 1, cases)
    table.move(integers(1), 1, 3, #cases + 1, cases)
  end
  if not options.empty and not options.floats then
    errors[#errors + 1] = {{first {0, 3}, 1},
      name .. ": x [0 3] has no elements to choose from"}
  end
end

reduction("sum", {empty = true})
reduction("nansum", {empty = true})
reduction("mean", {floats = true})
reduction("prod", {empty = true})
reduction("count_nonzero", {empty = true})
reduction("any", {empty = true})
reduction("all", {empty = true})
reduction("max", {one = true})
reduction("min", {one = true})
reduction("amax")
reduction("amin")
reduction("argmax")
reduction("argmin")
for _, name in ipairs {"any", "all"} do
  table.insert(rows[name].cases, {bool {5, 7}, 1})
end

-- Zeros, of which one or two are reduced together.
table.insert(rows.prod.cases, {heed.tensor({{2, 0, 3}, {0, 5, 0}},
  {dtype = "float64"}), 2})

for _, name in ipairs {"max", "min"} do
  table.insert(rows[name].errors, {{real {2, 3, 4}, {1, 3}},
    name .. ": dim must be one dimension, got 2"})
end

for _, name in ipairs {"var", "std", "var_mean", "std_mean"} do
  reduction(name, {floats = true})
  -- of one element there is no variance
  rows[name].cases = {
    {real {2, 3, 4}}, {real {2, 3}, 2}, {real {2, 3}, -2, true},
    {real {2, 3, 4}, {1, 3}}, {real {2, 3}, 2, {correction = 0}},
    {real {0, 3}, 2}, {real {3, 40}, 2}, {real {20, 9}, 1},
    {real {20, 2}, 1}, {real {2, 17, 3}, 2},
  }
  table.insert(rows[name].errors, {{real {2, 3}, 2, false, 0.5},
    name .. ": correction must be an integer, got 0.5"})
end

return rows
