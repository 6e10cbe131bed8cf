--- gradient: compares gradients with differences of the function's values.
--
--     d loss / d x[i] = (loss(x[i] + h) - loss(x[i] - h)) / 2h
--
-- where loss is the sum of all float results times fixed weights, in float64.

local close = require "spec.support.close"
local heed = require "heed"
local sample = require "spec.support.sample"

local gradient = {}

local STEP <const> = 1e-6

-- The sum of the float results times weights.
local function loss(results)
  local total = heed.zeros({}, {dtype = "float64"})
  for _, y in ipairs(results) do
    if y.dtype == "float64" then
      total = total + (y * sample.other(y.shape)):sum()
    end
  end
  return total
end

-- The gradients of all float inputs, by backward.
local function by_rule(call, args, skip, change)
  local leaves = sample.map(args, function(t, key)
    local copy = t:clone():detach()
    copy.requires_grad = t.dtype == "float64" and not skip[key]
    return copy
  end)
  local total = loss({call(sample.map(leaves, change))})
  if total.requires_grad then total:backward() end
  local list = {}
  for i, at in ipairs(sample.floats(leaves)) do
    list[i] = at.tensor.grad or heed.zeros(at.tensor.shape,
      {dtype = "float64"})
  end
  return list
end

-- The same for input `at`, by differences.
local function by_difference(call, args, at)
  local _ <close> = heed.no_grad()
  local flat, slopes = close.flat(at.tensor), {}
  local function value(i, v)
    local old = flat[i]
    flat[i] = v
    at.args[at.key] = heed.tensor(flat, {dtype = "float64"})
      :reshape(at.tensor.shape)
    flat[i] = old
    return loss({call(args)}):item()
  end
  for i, x in ipairs(flat) do
    slopes[i] = (value(i, x + STEP) - value(i, x - STEP)) / (2 * STEP)
  end
  at.args[at.key] = at.tensor
  return slopes
end

local function same(t) return t end

--- Raises unless the gradients of every float input agree with differences,
-- also when the inputs are views that do not lie in one piece.
-- @tparam function call takes an argument list, returns results
-- @tparam table args arguments with float64 tensors
-- @tparam[opt] table options `skip`: keys of arguments that have no gradient;
-- `atol`, 1e-7 by default; `no_views`: inputs must lie in one piece
function gradient.check(call, args, options)
  options = options or {}
  local tolerance = {atol = options.atol or 1e-7, rtol = 1e-6}
  local skip = options.skip or {}
  local plain = by_rule(call, args, skip, same)
  local scattered = by_rule(call, args, skip,
    options.no_views and same or sample.scattered)
  for i, at in ipairs(sample.floats(args)) do
    if not skip[at.key] then
      local name = ("gradient of argument %s"):format(at.key)
      local want = by_difference(call, args, at)
      local text = close.difference(close.flat(plain[i]), want, tolerance,
        at.tensor.shape)
      if text then error(name .. ": " .. text, 2) end
      close.check(name .. " as a view", scattered[i], plain[i],
        {atol = 1e-10, rtol = 1e-10})
    end
  end
end

return gradient
