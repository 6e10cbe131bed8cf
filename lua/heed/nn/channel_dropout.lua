--- Dropout1d, Dropout2d and AlphaDropout: in training as the functions of the
-- same names in `F`; in evaluation they give their input.

local check = require "heed.check"
local functional = require "heed.nn.functional.dropout"
local Module = require "heed.nn.module"

local layers = {}

local OPTIONS <const> = {generator = check.NONE}

local function define(name, f)
  local class <const> = Module:extend(name)
  function class:init(p, options)
    self.p = check.number(name, "p", p == nil and 0.5 or p, 0, 1)
    self.generator = check.options(name, options, OPTIONS).generator
  end
  function class:forward(x)
    return f(x, {p = self.p, training = self.training,
      generator = self.generator})
  end
  function class:extra() return ("p = %g"):format(self.p) end
  layers[name] = class
end

--- Makes a layer that drops whole channels of images; `Dropout1d` those of
-- lines.
-- @function Dropout2d
-- @tparam[opt=0.5] number p probability, from 0 to 1
-- @tparam[opt] table options `generator`
-- @usage local y = nn.Dropout2d(0.2)(heed.randn(2, 3, 4, 4)) -- [N C H W]
-- @usage local y = nn.Dropout1d(0.2)(heed.randn(2, 3, 4)) -- [N C L]
define("Dropout1d", functional.dropout1d)
define("Dropout2d", functional.dropout2d)

--- Makes a layer that keeps mean 0 and variance 1, to go with `SELU`.
-- @function AlphaDropout
-- @tparam[opt=0.5] number p probability, from 0 to 1
-- @tparam[opt] table options `generator`
-- @usage local y = nn.AlphaDropout(0.1)(heed.randn(2, 3))
define("AlphaDropout", functional.alpha_dropout)

return layers
