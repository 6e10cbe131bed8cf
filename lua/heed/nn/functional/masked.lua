--- masked: sequences of several lengths in one tensor, taken into
-- `nn.functional`.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops
local fail <const> = check.fail

local F = {}

local function is_whole(t)
  return check.is_tensor(t) and t.dtype:find "int" ~= nil
end

-- Lengths: a tensor of integers, or a list made one.
local function read_lens(func, name, lens)
  if type(lens) == "table" then return check.integers(func, name, lens) end
  if not is_whole(lens) then
    fail("%s: %s must be a list or a tensor of integers, got %s", func, name,
      check.show(lens))
  end
  return lens
end

-- Raises unless all lengths lie in 0 .. `longest`.
local function check_range(func, lens, longest, of)
  if lens:numel() == 0 then return end
  for _, n in ipairs {lens:min():item(), lens:max():item()} do
    if n < 0 or n > longest then
      fail("%s: valid_lens must lie in 0..%d, the size of %s, got %d", func,
        longest, of, n)
    end
  end
end

local function first_places(lens, length)
  return ops.le(ops.arange(1, length), ops.unsqueeze(lens, -1))
end

--- A mask of the first places of rows.
-- @param lens integer tensor [..] or list: how many of each row
-- @tparam[opt] integer length of a row, the longest of `lens` by default
-- @return bool tensor [.. length], true for the first `lens` places
-- @raise when `lens` are no integers
-- @usage heed.nn.functional.length_mask {1, 3}
--   --> true false false true true true
function F.length_mask(lens, length)
  lens = read_lens("length_mask", "lens", lens)
  if length == nil then
    length = lens:numel() > 0 and lens:max():item() or 0
  end
  check.integer("length_mask", "length", length, 0)
  return first_places(lens, length)
end

--- The offsets of sequences that lie one behind the other, as attention takes
-- them: 0, then the sum of the lengths up to each. `x[F.length_mask(lens, T)]`
-- makes packed [sum of lens E] from padded x [N T E].
-- @param lens integer tensor [N] or list: the length of each sequence
-- @return int64 tensor [N + 1]
-- @raise when `lens` are no integers, not [N], or negative
-- @usage heed.nn.functional.cu_seqlens {3, 5, 2} --> 0 3 8 10
function F.cu_seqlens(lens)
  lens = read_lens("cu_seqlens", "lens", lens)
  if lens.ndim ~= 1 then
    fail("cu_seqlens: lens must be [N], one length a sequence, got %s",
      check.shape(lens.shape))
  end
  local least = lens:numel() > 0 and lens:min():item() or 0
  if least < 0 then
    fail("cu_seqlens: lens must be 0 or more, got %d", least)
  end
  return ops.cat({ops.zeros({1}, "int64"),
    ops.cumsum(ops.to(lens, "int64"), 1)}, 1)
end

--- x with a value in place of what stands behind the length of each sequence.
-- Nothing of what stood there reaches a gradient, not even a NaN.
-- @param x tensor [N .. T ..]: the dimensions of `valid_lens`, then time
-- @param valid_lens integer tensor [N ..] or list: the length of each sequence
-- @tparam[opt] number value 0 by default
-- @return tensor like x
-- @raise when the sizes do not fit, or a length lies outside of 0 .. T
-- @usage heed.nn.functional.sequence_mask(heed.ones(2, 3), {1, 2})
--   --> 1 0 0 1 1 0
function F.sequence_mask(x, valid_lens, value)
  check.tensor("sequence_mask", "x", x)
  local lens = read_lens("sequence_mask", "valid_lens", valid_lens)
  local n <const> = lens.ndim
  local sizes <const> = x.shape
  for d, size in ipairs(lens.shape) do
    if n >= #sizes or size ~= sizes[d] then
      fail("sequence_mask: valid_lens %s must have the first sizes of x %s, " ..
        "which time follows", check.shape(lens.shape), check.shape(sizes))
    end
  end
  if #sizes == 0 then fail("sequence_mask: x has no dimension of time") end
  check_range("sequence_mask", lens, sizes[n + 1],
    ("dim %d of x %s"):format(n + 1, check.shape(sizes)))
  local keep = first_places(lens, sizes[n + 1])
  for _ = n + 2, #sizes do keep = ops.unsqueeze(keep, -1) end
  return ops.where(keep, x, value or 0)
end

-- Lengths [N], or [N T], as a mask for x [N .. T S].
local function lens_mask(x, lens, dim)
  local func <const> = "masked_softmax"
  lens = read_lens(func, "mask", lens)
  local shape, n = x.shape, x.ndim
  local fits = lens.ndim == 1 and n >= 2 and lens:size(1) == shape[1] or
    lens.ndim == 2 and n >= 3 and lens:size(1) == shape[1] and
    lens:size(2) == shape[n - 1]
  if not fits then
    fail("%s: valid lengths %s must be one a first position of x %s, or one " ..
      "a first and last but one", func, check.shape(lens.shape),
      check.shape(shape))
  end
  if dim ~= nil and check.dim(func, x, dim) ~= n then
    fail("%s: valid lengths count along the last dimension, got dim %d", func,
      dim)
  end
  check_range(func, lens, shape[n], "the last dimension of x " ..
    check.shape(shape))
  local keep = first_places(lens, shape[n])
  for _ = keep.ndim + 1, n do keep = ops.unsqueeze(keep, 2) end
  return keep
end

--- The softmax of what is kept: other places get 0 and have no influence, not
-- even as NaN. A row that keeps nothing (or only -inf) gives zeros, with zero
-- gradients.
-- @param x float tensor
-- @param[opt] mask bool tensor that broadcasts to x, **true = keep**; or
-- valid lengths, an integer tensor or list: [N] for x [N .. S], or [N T] for x
-- [N .. T S], of each row the first so many places; nil: keeps all
-- @tparam[opt] integer dim the last by default
-- @return tensor like x
-- @raise when the sizes do not fit, or a length lies outside of 0 .. S
-- @usage heed.nn.functional.masked_softmax(heed.ones(2, 2), {1, 2})
--   --> 1 0 0.5 0.5
function F.masked_softmax(x, mask, dim)
  if mask == nil then return ops.softmax(x, dim) end
  local is_list = type(mask) == "table" and next(mask) == 1
  if is_list or is_whole(mask) then
    check.tensor("masked_softmax", "x", x)
    mask = lens_mask(x, mask, dim)
  end
  return ops.masked_softmax(x, mask, dim)
end

return F
