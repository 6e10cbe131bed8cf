-- Random calls of attention beside its formula: all sizes, layouts and
-- descriptions, in both dtypes, forward and backward. The same calls come from
-- the same seed:
--
--     HEED_SEED=7 tools/test spec/nn/attention_sweep_spec.lua
--     HEED_SEED=7 HEED_COMBINATION=123 tools/test spec/nn/att..  only one
--     HEED_COMBINATIONS=20000 tools/test spec/nn/att..           more
--
-- Without HEED_SEED it comes from the clock, and is printed.

local check = require "spec.support.attention.check"
local combination = require "spec.support.attention.combination"
local philox = require "spec.support.attention.philox"
local setting = require "spec.support.setting"

local SEED <const> = setting("HEED_SEED", os.time())
local ONLY <const> = setting("HEED_COMBINATION")
local COUNT <const> = setting("HEED_COMBINATIONS", 1000)
local EACH <const> = 50 -- combinations of one test

local function run_combination(n)
  local c = combination(SEED * 1000003 + n)
  local ok, message = pcall(check, c)
  if ok then return end
  error(("combination %d of seed %d: %s\n%s"):format(n, SEED, c.text, message),
    0)
end

describe("attention in random combinations", function()
  it("drops by the published words of Philox", function()
    assert.same({0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {philox(0, 0, 0, 0, 0)})
    local all <const> = 0xffffffff
    assert.same({0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
      {philox(-1, all, all, all, all)})
  end)

  if ONLY then
    it(("is its formula in combination %d"):format(ONLY), function()
      run_combination(ONLY)
    end)
    return
  end
  print(("attention: %d combinations of HEED_SEED=%d"):format(COUNT, SEED))
  for first = 1, COUNT, EACH do
    local last <const> = math.min(first + EACH - 1, COUNT)
    it(("is its formula in %d to %d"):format(first, last), function()
      for n = first, last do run_combination(n) end
    end)
  end
end)
