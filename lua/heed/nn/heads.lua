--- Heads as one longer batch: how d2l.ai writes attention of several heads.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local heads = {}

-- Raises unless x is [.. T C] of 3 dimensions and n divides the size of `dim`.
local function read(func, x, n, dim)
  check.tensor(func, "x", x)
  check.integer(func, "num_heads", n, 1)
  if x.ndim ~= 3 or x:size(dim) % n ~= 0 then
    check.fail("%s: x must be %s, a multiple of num_heads %d, got %s", func,
      dim == 3 and "[B T C] with C" or "[B * heads T D] with B * heads", n,
      check.shape(x.shape))
  end
  return x.shape
end

--- Takes a projection apart into heads, which come beside each other in the
-- batch.
-- @param x tensor [B T H*D]
-- @tparam integer num_heads H
-- @return tensor [B*H T D]
-- @raise when the sizes do not fit
-- @usage local q = nn.transpose_qkv(heed.randn(2, 5, 8), 4) -- [8 5 2]
function heads.transpose_qkv(x, num_heads)
  local size <const> = read("transpose_qkv", x, num_heads, 3)
  local b, t, d = size[1], size[2], size[3] // num_heads
  local split = ops.transpose(ops.reshape(x, {b, t, num_heads, d}), 2, 3)
  return ops.reshape(split, {b * num_heads, t, d})
end

--- Puts the heads of `transpose_qkv` side by side again.
-- @param x tensor [B*H T D]
-- @tparam integer num_heads H
-- @return tensor [B T H*D]
-- @raise when the sizes do not fit
-- @usage local y = nn.transpose_output(heed.randn(8, 5, 2), 4) -- [2 5 8]
function heads.transpose_output(x, num_heads)
  local size <const> = read("transpose_output", x, num_heads, 1)
  local b, t, d = size[1] // num_heads, size[2], size[3]
  local split = ops.transpose(ops.reshape(x, {b, num_heads, t, d}), 2, 3)
  return ops.reshape(split, {b, t, num_heads * d})
end

return heads
