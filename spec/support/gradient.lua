--- gradient: testing.gradients_ok for argument lists such as those of spec/ops,
-- whose tensors also stand in lists and tables of options.

local sample = require "spec.support.sample"
local testing = require "heed.testing"

local gradient = {}

-- The results that count: other floats have no differences to compare with.
local function in_float64(...)
  local list = {}
  for _, y in ipairs {...} do
    if y.dtype == "float64" then list[#list + 1] = y end
  end
  return list
end

--- Raises unless the gradients of every float input agree with differences,
-- also when the inputs are views that do not lie in one piece.
-- @tparam function call takes an argument list, returns results
-- @tparam table args arguments with float64 tensors
-- @tparam[opt] table options `skip`: keys of arguments that have no gradient;
-- `atol`, 1e-7 by default; `no_views`: inputs must lie in one piece
function gradient.check(call, args, options)
  options = options or {}
  local skip = options.skip or {}
  local inputs, numbers = {}, {}
  for _, at in ipairs(sample.floats(args)) do
    if at.tensor.dtype == "float64" and not skip[at.key] then
      inputs[#inputs + 1] = at.tensor
      numbers[at.tensor] = #inputs
    end
  end
  if #inputs == 0 then return end
  local function with(...)
    local given = {...}
    return in_float64(call(sample.map(args, function(t)
      return given[numbers[t]] or t
    end)))
  end
  local ok, text = testing.gradients_ok(with, inputs, {
    atol = options.atol or 1e-7, rtol = 1e-6, layouts = not options.no_views,
  })
  if not ok then error(text, 2) end
end

return gradient
