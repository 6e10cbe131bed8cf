--- Dropout: in training sets each number to 0 with probability p and divides
-- the others by 1 - p; in evaluation gives its input.

local check = require "heed.check"
local core = require "heed.core"
local Module = require "heed.nn.module"

local dropout <const> = core.ops.dropout

local Dropout = Module:extend("Dropout")

local OPTIONS <const> = {generator = check.NONE}

--- Makes a layer.
-- @function Dropout
-- @tparam[opt=0.5] number p probability, from 0 to 1
-- @tparam[opt] table options `generator`
-- @usage local y = nn.Dropout(0.1)(heed.randn(2, 3))
function Dropout:init(p, options)
  if p == nil then p = 0.5 end
  self.p = check.number("Dropout", "p", p, 0, 1)
  self.generator = check.options("Dropout", options, OPTIONS).generator
end

function Dropout:forward(x)
  if not self.training or self.p == 0 then return x end
  return dropout(x, self.p, true, self.generator)
end

function Dropout:extra() return ("p = %g"):format(self.p) end

return Dropout
