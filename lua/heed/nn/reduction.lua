--- What loss functions share: the checks of their tensors and the reduction of
-- their numbers.

local check = require "heed.check"
local core = require "heed.core"

local ops <const> = core.ops

local reduction = {}

--- Raises unless `how` is one of `"mean"`, `"sum"`, `"none"`, or `extra`;
-- returns it, `"mean"` for nil.
function reduction.read(func, how, extra)
  if how == nil then return "mean" end
  if how == "mean" or how == "sum" or how == "none" or
    extra and how == extra then
    return how
  end
  check.fail('%s: reduction must be %s"mean", "sum" or "none", got %s', func,
    extra and ('"%s", '):format(extra) or "", check.show(how))
end

--- The mean of losses, which of none is 0; their sum; or themselves.
function reduction.apply(func, losses, how)
  how = reduction.read(func, how)
  if how == "none" then return losses end
  if how == "sum" or losses:numel() == 0 then return ops.sum(losses) end
  return ops.mean(losses)
end

--- The sum of `losses` through that of `weights`, 0 where that is 0.
function reduction.ratio(losses, weights)
  local below = ops.sum(weights)
  return ops.div(ops.sum(losses), ops.where(ops.eq(below, 0), 1, below))
end

--- Raises unless all of the tensors, given as name, tensor, name, tensor ...,
-- are some, of one shape.
function reduction.same_shape(func, name, first, ...)
  local want = check.shape(check.tensor(func, name, first).shape)
  local list <const> = {...}
  for i = 1, select("#", ...), 2 do
    local got = check.shape(check.tensor(func, list[i], list[i + 1]).shape)
    if got ~= want then
      check.fail("%s: %s %s and %s %s must have one shape", func, name, want,
        list[i], got)
    end
  end
end

-- A place in a tensor in a user's words, by its number from 1: "row 3" or
-- "position [1 3]".
local function place(shape, n)
  if #shape <= 1 then return ("row %d"):format(n) end
  local at = {}
  n = n - 1
  for d = #shape, 1, -1 do
    at[d] = n % shape[d] + 1
    n = n // shape[d]
  end
  return "position " .. check.shape(at)
end

--- Raises with the first number of `tensor` for which the bool tensor `wrong`
-- is true: `wanted` says what must be there.
function reduction.refuse(func, name, tensor, wrong, wanted)
  if tensor:numel() == 0 or not ops.any(wrong):item() then return end
  local n = ops.argmax(ops.to(wrong:reshape(-1), "int64")):item()
  check.fail("%s: %s %s, %s: must be %s, got %s", func, name,
    check.shape(tensor.shape), place(tensor.shape, n), wanted,
    check.show(tensor:reshape(-1)[n]:item()))
end

return reduction
