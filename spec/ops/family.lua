--- family: rows that many ops of single elements share.

local sample = require "spec.support.sample"

local real <const>, other <const> = sample.real, sample.other
local whole <const> = sample.whole

local family = {}

-- Two operands that broadcast, sizes of 0 and 1, a plain number on either
-- side, integers.
local function pairs_of(first, second, number)
  return {
    {first {2, 3}, second {3}}, {first {2, 1}, second {1, 3}},
    {first {0, 3}, second {3}}, {first {1}, second {}},
    {first {2, 3}, number}, {number, second {2, 3}},
    {whole({2, 3}, 1, 9), whole({3}, 1, 4)}, {whole({4}, 1, 9), 2},
  }
end

--- A row of an op of two operands.
-- @tparam string name of the op
-- @tparam[opt] function value of two numbers
-- @tparam[opt] function second makes operands, real ones by default
-- @tparam[opt] number number as an operand, 1.5 by default
function family.binary(name, value, second, number)
  return {
    cases = pairs_of(second or real, second or other, number or 1.5),
    errors = {
      {{real {2, 3}, real {2}},
        name .. ": a [2 3] and b [2] cannot be broadcast together"},
      {{real {2}, "x"}, name .. ': b must be a tensor or a number, got "x"'},
      {{real {2}}, name .. ": b is missing"},
    },
    value = value,
  }
end

--- A row of an op of two operands that takes whole numbers only.
function family.whole_binary(name, value)
  return {
    cases = {
      {whole({2, 3}, -9, 9), whole({3}, 0, 4)},
      {whole({2, 1}, -9, 9), whole({1, 3}, 0, 4)},
      {whole({0, 3}, 1, 2), whole({3}, 1, 2)}, {whole({1}, 1, 9), 2},
      {whole({4}, -100, 100):to "int32", 3},
      {whole({4}, 1, 60):to "uint8", 2},
    },
    errors = {
      {{whole({2, 3}, 1, 2), whole({2}, 1, 2)},
        name .. ": a [2 3] and b [2] cannot be broadcast together"},
      {{real {2}, real {2}}, name .. ": not defined for a float64 [2]"},
      {{real {2}}, name .. ": b is missing"},
    },
    value = value,
  }
end

--- A row of an op of one tensor.
-- @tparam string name of the op
-- @tparam[opt] function value of a number
-- @tparam[opt] function first makes tensors, real ones by default
-- @tparam[opt] boolean whole_too integers have a case
function family.unary(name, value, first, whole_too)
  first = first or real
  local cases = {
    {first {2, 3}}, {first {1}}, {first {}}, {first {0, 3}},
    {first {2, 1, 4}},
  }
  if whole_too then cases[#cases + 1] = {whole({2, 3}, -3, 3)} end
  return {
    cases = cases, value = value,
    errors = {{{1}, name .. ": x must be a tensor, got 1"}},
  }
end

return family
