--- dice: random choices that one seed decides.
--
--     local dice = Dice(5)
--     local tq, causal = dice:int(1, 9), dice:chance(40)

local heed = require "heed"

local Dice = {}
Dice.__index = Dice

--- A whole number from `low` to `high`.
function Dice:int(low, high)
  return low + self.generator:draw() % (high - low + 1)
end

--- True in so many of 100 cases.
function Dice:chance(percent) return self:int(1, 100) <= percent end

--- One of a list.
function Dice:pick(list) return list[self:int(1, #list)] end

--- Normal numbers as float64, each of which float32 holds too.
function Dice:normal(shape)
  return heed.randn(shape, {generator = self.generator}):to("float64")
end

--- Booleans, so many of 100 true.
function Dice:bool(shape, percent)
  return heed.rand(shape, {generator = self.generator}):lt(percent / 100)
end

return function(seed)
  return setmetatable({generator = heed.Generator(seed)}, Dice)
end
