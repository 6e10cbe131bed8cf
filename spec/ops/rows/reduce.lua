--- Rows of reductions.

local sample = require "spec.support.sample"

local real <const>, whole <const> = sample.real, sample.whole
local bool <const> = sample.bool

local rows = {}

-- Over all, one and several dimensions, kept and not; empty where allowed.
local function reduction(name, options)
  options = options or {}
  local first = options.first or real
  local cases = {
    {first {2, 3, 4}}, {first {2, 3}, 2}, {first {2, 3}, -2, true},
    {first {2, 1, 3}, {dim = 2, keepdim = true}}, {first {1}}, {first {}},
    {first {0, 3}, 2},
  }
  if not options.extreme then
    cases[#cases + 1] = {first {2, 3, 4}, {1, 3}}
  end
  if options.empty then
    cases[#cases + 1] = {first {0, 3}, 1}
    cases[#cases + 1] = {first {0}}
  end
  if options.whole then
    cases[#cases + 1] = {whole({2, 3}, -4, 9), 1}
  end
  rows[name] = {
    cases = cases,
    errors = {
      {{first {2, 3}, 3},
        name .. ": dim must be 1..2 or -2..-1 for x [2 3], got 3"},
      {{first {2, 3}, {1, 1}},
        name .. ": dim 1 is given twice"},
      {{first {2, 3}, 0},
        name .. ": dim must be a dimension or a list of dimensions, got 0"},
      {{1},
        name .. ": x must be a tensor, got 1"},
    },
  }
  if not options.empty and options.extreme then
    table.insert(rows[name].errors, {{first {0, 3}, 1},
      name .. ": x [0 3] has no elements to choose from"})
  end
end

reduction("sum", {empty = true, whole = true})
reduction("mean", {empty = false})
reduction("prod", {empty = true, whole = true})
reduction("max", {whole = true, extreme = true})
reduction("min", {whole = true, extreme = true})
reduction("argmax", {whole = true, extreme = true})
reduction("argmin", {whole = true, extreme = true})
reduction("any", {first = bool, empty = true})
reduction("all", {first = bool, empty = true})

for _, name in ipairs {"max", "min"} do
  table.insert(rows[name].errors, {{real {2, 3, 4}, {1, 3}},
    name .. ": dim must be one dimension, got 2"})
end
for _, name in ipairs {"argmax", "argmin"} do
  table.insert(rows[name].cases, {real {2, 3, 4}, {2, 3}})
  table.insert(rows[name].errors, {{real {2, 3, 4}, {1, 3}},
    name .. ": dim must be one dimension, neighbouring ones or all"})
end

for _, name in ipairs {"var", "std"} do
  rows[name] = {
    cases = {
      {real {2, 3, 4}}, {real {2, 3}, 2}, {real {2, 3}, -2, true},
      {real {2, 3, 4}, {1, 3}}, {real {2, 3}, 2, {correction = 0}},
      {real {0, 3}, 2}, {whole({4}, 1, 9)},
    },
    errors = {
      {{real {2, 3}, 3},
        name .. ": dim must be 1..2 or -2..-1 for x [2 3], got 3"},
      {{real {2, 3}, {1, 1}},
        name .. ": dim 1 is given twice"},
      {{1},
        name .. ": x must be a tensor, got 1"},
    },
  }
end

return rows
