--- Tensors by a formula, and results by their first numbers and sums: so cases
-- that PyTorch has computed are a line each.

local assert = require "luassert"
local close = require "spec.support.close"
local heed = require "heed"

local sequence = {}

--- Element i, from 0, is (i * step) % period - period // 2: float32.
function sequence.make(shape, step, period)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return (heed.arange(0, n - 1) * step % period - period // 2)
    :to "float32":reshape(shape)
end

--- Compares the first numbers of a result, the sum of all, and that of their
-- sizes.
function sequence.check(y, shape, first, sum, size)
  assert.same(shape, y.shape)
  local numbers <const> = y:detach():to "float64":flatten()
  close.check("numbers", numbers[{{1, #first}}], first,
    {atol = 1e-5, rtol = 1e-5})
  close.check("sum", numbers:sum():item(), sum, {atol = 1e-4, rtol = 1e-5})
  close.check("sum of sizes", numbers:abs():sum():item(), size,
    {atol = 1e-4, rtol = 1e-5})
end

return sequence
