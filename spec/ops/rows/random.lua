--- Rows of random numbers.

local sample = require "spec.support.sample"

local real <const>, whole <const> = sample.real, sample.whole

local rows = {}

for _, name in ipairs {"rand", "randn"} do
  rows[name] = {
    cases = {
      {{2, 3}}, {2, 3}, {{0}}, {{1}}, {{}}, {{20}, {dtype = "float64"}},
    },
    errors = {
      {{{-1}},
        name .. ": size 1 of shape [-1] is negative"},
      {{{2}, {dtype = "int64"}},
        name .. ": dtype must be float32 or float64, got int64"},
      {{{2}, {dtype = "float16"}},
        name .. ": dtype must be float32 or float64, got float16"},
      {{{1 << 62}},
        name .. ": shape [4611686018427387904] has too many elements"},
      {{{2}, {generator = 1}},
        name .. ": generator must be a heed.Generator, got 1"},
    },
    seeded = true,
  }
end

rows.randint = {
  cases = {
    {1, 6, {10}}, {-3, 3, {2, 2}}, {5, 5, {1}}, {1, 2, {0}},
    {math.mininteger, math.maxinteger, {3}},
  },
  errors = {
    {{3, 2, {1}},
      "randint: high must not be below low 3, got 2"},
    {{1, 2, {-1}},
      "randint: size 1 of shape [-1] is negative"},
    {{1, 2.5, {1}},
      "randint: high must be an integer, got 2.5"},
    {{1},
      "randint: high is missing"},
  },
  seeded = true,
}

rows.randperm = {
  cases = {{5}, {1}, {0}},
  errors = {{{-1},
    "randperm: n must be at least 0, got -1"},
  {{},
    "randperm: n is missing"},
  {{2.5},
    "randperm: n must be an integer, got 2.5"}},
  seeded = true,
}

rows.bernoulli = {
  cases = {
    {sample.positive {2, 3}:clamp(0, 1)}, {real {0}},
    {real {2}:mul(0)}, {real {2}:mul(0):add(1)},
  },
  errors = {
    {{sample.positive {3}:add(1)},
      "bernoulli: x [3] must hold probabilities from 0 to 1, got 2.71007 " ..
        "as element 1"},
    {{whole({2}, 0, 1)},
      "bernoulli: x must be float32 or float64, got int64 [2]"},
  },
  seeded = true, own_stream = true,
}

-- Fills in place: what stood there does not matter.
local function filling(name, more, errors)
  rows[name] = {cases = {}, errors = errors, seeded = true,
    own_stream = true}
  for _, shape in ipairs {{20}, {2, 3}, {1}, {0}} do
    table.insert(rows[name].cases, {real(shape)})
    table.insert(rows[name].cases, {real(shape), table.unpack(more)})
  end
  table.insert(errors, {{1},
    name .. ": x must be a tensor, got 1"})
end
filling("normal_", {1.5, 0.5}, {{{real {2}, 0, -1},
  "normal_: std must be at least 0, got -1"}})
filling("uniform_", {-1, 3}, {{{real {2}, 1, 0},
  "uniform_: high must not be below low 1, got 0"}})
filling("bernoulli_", {0.25}, {
  {{real {2}, 1.5},
    "bernoulli_: p must be from 0 to 1, got 1.5"},
  {{real {2}, -1},
    "bernoulli_: p must be from 0 to 1, got -1"},
})

rows.multinomial = {
  cases = {
    {sample.positive {4}, 2}, {sample.positive {2, 3}, 3},
    {sample.positive {2, 2, 3}, 5, true}, {sample.positive {1}, 1},
    {sample.positive {0, 3}, 1},
  },
  errors = {
    {{real {3}, 0}, "multinomial: count must be at least 1, got 0"},
    {{sample.positive {3}, 4}, "multinomial: x [3] has 3 classes, fewer " ..
      "than the 4 to be drawn without replacement"},
    {{real {3}:abs():neg():sub(0.5):round(), 1},
      "multinomial: weight 1 of row 1 of x [3] must be finite and at " ..
        "least 0, got -2"},
    {{sample.positive {2, 3}:mul(0), 1}, "multinomial: row 1 of x [2 3] " ..
      "has 0 weights above 0, fewer than the 1 to be drawn"},
    {{whole({3}, 1, 2), 1}, "multinomial: x must be float32 or float64, " ..
      "got int64 [3]"},
    {{sample.positive {0}, 1, true}, "multinomial: x [0] has no classes"},
  },
  seeded = true,
  own_stream = true,
}

return rows
