--- Adafactor (Shazeer and Stern, 2018), as torch.optim.Adafactor has it: no
-- momentum, a rate relative to the size of each parameter. Of a parameter
-- [.. R C] it keeps R + C numbers for each R C.
--
--     row += t^beta2_decay (mean of g^2 along rows - row), col alike
--     r = g / max(sqrt(row col / mean of row), eps[1])
--     rate = max(eps[2], rms of p) min(lr, 1 / sqrt(t)) / max(1, rms of r / d)
--     p = (1 - lr weight_decay) p - rate r
--
-- A parameter of one dimension keeps the mean of g^2 for each element.

local check = require "heed.check"
local core = require "heed.core"
local Optimizer = require "heed.optim.optimizer"
local settings = require "heed.optim.settings"

local adafactor_ <const> = core.ops.adafactor_

--- Makes an Adafactor: no momentum, little memory, a rate relative to the size
-- of each parameter (Shazeer and Stern, 2018).
-- @function Adafactor
-- @tparam table params list of tensors or of groups
-- @tparam[opt] table options `lr`, 1e-2 by default, an upper bound;
-- `beta2_decay`, -0.8; `eps`, {false, 1e-3}: the least root of a mean square
-- (false: the epsilon of the dtype) and the least size of a parameter that the
-- rate is relative to; `d`, 1: the size of a step above which it is cut;
-- `weight_decay`, 0; `maximize`, false
-- @usage local optimizer = optim.Adafactor(net:parameters(), {lr = 1e-2})
local Adafactor = Optimizer.extend("Adafactor", {
  lr = 1e-2, beta2_decay = -0.8, eps = {false, 1e-3}, d = 1.0,
  weight_decay = 0.0, maximize = false,
}, {{"row", "row_var"}, {"col", "col_var"}, {"v", "variance"}})

local FACTORED <const>, WHOLE <const> = {"row", "col"}, {"v"}
local EPSILON <const> = {float32 = 2.0 ^ -23, float64 = 2.0 ^ -52}

-- luacheck: push ignore self

function Adafactor:check_group(group)
  local name <const> = "Adafactor"
  settings.positive(name, group, "weight_decay")
  if check.number(name, "beta2_decay", group.beta2_decay) > 0 then
    check.fail("Adafactor: beta2_decay must be at most 0, got %g",
      group.beta2_decay)
  end
  check.number(name, "d", group.d, 1)
  local eps = check.kind(name, "eps", group.eps, "table")
  group.eps = {eps[1] or false, check.number(name, "eps[2]", eps[2], 0)}
  if group.eps[1] then check.number(name, "eps[1]", eps[1], 0) end
end

function Adafactor:used(_, p) return p.ndim > 1 and FACTORED or WHOLE end

function Adafactor:shape_of(key, p)
  local shape = p.shape
  if key == "row" then shape[#shape] = 1 end
  if key == "col" then shape[#shape - 1] = 1 end
  return shape
end

-- Those of several dimensions make their steps in another call, and so does
-- each dtype, for its epsilon.
function Adafactor:phase(_, p, state)
  return ("%s %s %d"):format(p.dtype, p.ndim > 1, state.step)
end

function Adafactor:update(group, tensors, step)
  adafactor_(tensors, step, group.lr, group.beta2_decay,
    group.eps[1] or EPSILON[tensors[1].dtype], group.eps[2], group.d,
    group.weight_decay, group.maximize)
end

-- luacheck: pop

return Adafactor
