--- Attention weights as short text, for a page that reads them again.
--
-- A weight is written as what a reader is shown of it: three significant digits
-- from 0.001 on, one below that, and no more than "less than" below 0.000001.
-- These decimals are counted through, from small to large:
--
--     0            exactly 0, as behind a mask
--     1            not a number
--     2            above 0, below 0.000001
--     3 .. 29      0.000001, 0.000002 .. 0.000009, 0.00001 .. 0.0009
--     30 .. 2730   0.00100, 0.00101 .. 0.00999, 0.0100 .. 0.999, 1.00
--
-- and a code is one character up to 29, two above. Zeros are blanks, and from
-- three on `!` and their count. Nothing has to be escaped in JSON or HTML.
local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local weights = {}

--- Printable characters without those that JSON or HTML reads in its own way,
-- and without blank and `!`. The position counts from 0.
weights.ALPHABET = "#$%()*+,-./0123456789:;=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ"
  .. "[]^_abcdefghijklmnopqrstuvwxyz{|}~"

local alphabet <const> = weights.ALPHABET
local base <const> = #alphabet
local first_pair <const> = 30

local function letter(k) return alphabet:sub(k + 1, k + 1) end

-- The text of each code.
local texts <const> = {[0] = " "}
for code = 1, 2730 do
  local k <const> = code - first_pair
  texts[code] = k < 0 and letter(code)
    or letter(first_pair + k // base) .. letter(k % base)
end

-- Decades: where each begins, what makes its weights whole numbers, and the
-- code of 0 if the count went on down.
local decades <const> = {
  {9.5e-7, 1e6, 2}, {1e-5, 1e5, 11}, {1e-4, 1e4, 20},
  {1e-3, 1e5, -70}, {1e-2, 1e4, 830}, {1e-1, 1e3, 1730},
}

-- The codes of a float64 tensor, as float64.
local function codes_of(w)
  local codes = ops.where(ops.eq(w, 0), 0.0, 2.0)
  for _, decade in ipairs(decades) do
    local least <const>, unit <const>, zero <const> = table.unpack(decade)
    codes = ops.where(ops.ge(w, least),
      ops.add(ops.round(ops.mul(w, unit)), zero), codes)
  end
  return ops.where(ops.isnan(w), 1.0, codes)
end

local function run_of_zeros(blanks)
  local out, left = {}, #blanks
  while left > 2 do
    local n <const> = math.min(left, base - 1)
    out[#out + 1] = "!" .. letter(n)
    left = left - n
  end
  return table.concat(out) .. (" "):rep(left)
end

-- One matrix [Tq Tk] of codes as text, row after row.
local function matrix_text(rows)
  local lines = {}
  for i, row in ipairs(rows) do
    for j, code in ipairs(row) do row[j] = texts[code // 1 | 0] end
    lines[i] = table.concat(row):gsub("   +", run_of_zeros)
  end
  return table.concat(lines)
end

--- Raises unless all weights are from 0 to 1, as far as three digits tell, or
-- not a number.
-- @tparam string func what the user called, for messages
-- @tparam string name of the argument
-- @param w float64 tensor
function weights.check(func, name, w)
  local bad <const> = ops.logical_or(ops.lt(w, 0), ops.ge(w, 1.005))
  if not ops.any(bad):item() then return end
  local at <const> = ops.nonzero(bad)[1]:totable()
  local value = w
  for _, i in ipairs(at) do value = value[i] end
  check.fail("%s: %s must be weights from 0 to 1, got %.6g at [%s]", func, name,
    value:item(), table.concat(at, " "))
end

--- Returns the texts of the heads of a layer.
-- @param w float64 tensor [H Tq Tk] of weights
-- @treturn {string,...} one for each head
-- @usage
-- local w = heed.tensor({{{0.5, 0, 0, 0, 0.25}}}, {dtype = "float64"})
-- assert(attention_weights.encode(w)[1] == "^?!(ZJ")
function weights.encode(w)
  local list = {}
  for h, rows in ipairs(codes_of(w):totable()) do
    list[h] = matrix_text(rows)
  end
  return list
end

return weights
