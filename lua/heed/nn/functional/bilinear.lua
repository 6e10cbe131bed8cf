--- bilinear: products of two inputs with a matrix for each output, taken into
-- `nn.functional`.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local F = {}

local function check_sizes(a, b, weight, bias)
  check.tensor("bilinear", "a", a)
  check.tensor("bilinear", "b", b)
  check.tensor("bilinear", "weight", weight)
  if weight.ndim ~= 3 then
    check.fail("bilinear: weight must be [O I J], got %s", check.show(weight))
  end
  for name, t in pairs {a = a, b = b} do
    local n = weight:size(name == "a" and 2 or 3)
    if t.ndim < 1 or t:size(-1) ~= n then
      check.fail("bilinear: %s %s must end in %d, a size of weight %s", name,
        check.shape(t.shape), n, check.shape(weight.shape))
    end
  end
  local same = a.ndim == b.ndim
  for d = 1, a.ndim - 1 do same = same and a:size(d) == b:size(d) end
  if not same then
    check.fail("bilinear: a %s and b %s must have the same sizes before the " ..
      "last", check.shape(a.shape), check.shape(b.shape))
  end
  if bias ~= nil then
    check.tensor("bilinear", "bias", bias)
    if bias.ndim ~= 1 or bias:size(1) ~= weight:size(1) then
      check.fail("bilinear: bias must be [%d], got %s", weight:size(1),
        check.show(bias))
    end
  end
end

--- y_o = a W_o b + bias_o, for each output o.
-- @tparam tensor a float [.. I]
-- @tparam tensor b float [.. J], of the same other sizes
-- @tparam tensor weight [O I J]
-- @tparam[opt] tensor bias [O]
-- @treturn tensor [.. O]
-- @raise when sizes do not fit
-- @usage heed.nn.functional.bilinear(heed.tensor {1.0, 2},
--   heed.tensor {3.0}, heed.tensor {{{1.0}, {10}}}) --> 63
function F.bilinear(a, b, weight, bias)
  check_sizes(a, b, weight, bias)
  local out, i, j = table.unpack(weight.shape)
  local shape <const> = a.shape
  shape[#shape] = out
  local rows = 1
  for d = 1, #shape - 1 do rows = rows * shape[d] end
  local w = ops.reshape(ops.permute(weight, {2, 1, 3}), {i, out * j})
  local y = ops.matmul(ops.reshape(a, {rows, i}), w) -- [rows O*J]
  y = ops.matmul(ops.reshape(y, {rows, out, j}),
    ops.reshape(b, {rows, j, 1})) -- [rows O 1]
  y = ops.reshape(y, shape)
  return bias == nil and y or y + bias
end

return F
