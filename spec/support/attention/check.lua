--- check: holds a call of attention to its formula: in float64 and float32,
-- forward and backward, with the weights and without.
--
--     check(case)
--
-- A case has `leaves`, float64 tensors by name with numbers that float32 holds
-- too; `wants`, the names of those that want gradients; `call(leaves, heads)`,
-- which makes q, k, v and the options of a call from leaves like these, with
-- `leaves.dtype`, and [.. H T D] always when `heads` is true; `out_shape` and
-- `weights_shape`; `dice`. If `need_weights`, the path that shows the weights
-- is checked too, if `score`, the one that takes a function. With `reach`,
-- about how large scores are, gradients in float64 are held to differences.

local heed = require "heed"
local reference = require "spec.support.attention.reference"
local attend <const> = heed.nn.functional.scaled_dot_product_attention

local UNIT <const> = {float32 = 2. ^ -24, float64 = 2. ^ -53}

-- -- running a call ----------------------------------------------------------

-- New leaves of a dtype, and those of them that want gradients.
local function leaves_of(c, dtype)
  local leaves, wanted = {dtype = dtype}, {}
  for name, t in pairs(c.leaves) do leaves[name] = t:to(dtype):clone() end
  for i, name in ipairs(c.wants) do
    leaves[name].requires_grad = true
    wanted[i] = leaves[name]
  end
  return leaves, wanted
end

local function loss_of(out, weights, up)
  local loss = (out * up.out:to(out.dtype)):sum()
  if not up.weights then return loss end
  return loss + (weights * up.weights:to(out.dtype)):sum()
end

-- Zeros for the nil of leaves that nothing comes back to.
local function filled(list, leaves)
  for i, leaf in ipairs(leaves) do
    list[i] = list[i] or heed.zeros_like(leaf)
  end
  return list
end

local function gradients(loss, leaves)
  if not loss.requires_grad then return filled({}, leaves) end
  return filled({heed.grad(loss, leaves)}, leaves)
end

local function run(c, dtype, up, change)
  local leaves, wanted = leaves_of(c, dtype)
  local q, k, v, options = c.call(leaves)
  for name, value in pairs(change) do options[name] = value end
  local out, weights = attend(q, k, v, options)
  assert(out.dtype == dtype)
  return {out = out:detach(), weights = weights and weights:detach(),
    grads = gradients(loss_of(out, weights, up), wanted)}
end

-- The same of the formula, with what rounding may do to each number, in units.
local function formula(c, up)
  local leaves, wanted = leaves_of(c, "float64")
  local q, k, v, o = c.call(leaves, true)
  local t = reference.attend(q, k, v, o, o.generator and o.generator:draw())
  local full = {out = up.out:reshape(t.out.shape),
    weights = up.weights and up.weights:reshape(t.weights.shape)}
  local r = {out = t.out:detach(), weights = t.weights:detach()}
  r.bound, r.bounds = reference.rounding(t, full, wanted)
  filled(r.bounds, wanted)
  r.grads = gradients(loss_of(t.out, t.weights, full), wanted)
  return r
end

-- -- comparing ---------------------------------------------------------------

-- Raises unless got is within `bound` units of want.
local function compare(name, got, want, bound, unit)
  if got:numel() == 0 then return end
  want, bound = want:reshape(got.shape), bound:reshape(got.shape) * unit
  -- a float32 below 1e-38 may be 0
  local excess = (got:to("float64") - want):abs() - bound - 1e-36
  if excess:le(0):all():item() then return end
  excess = heed.where(excess:isnan(), math.huge, excess):flatten()
  local at = excess:argmax():item()
  local function number(t) return t:flatten()[at]:item() end
  error(("%s: element %d of [%s] is %.17g, want %.17g +- %.2g"):format(name,
    at, table.concat(got.shape, " "), number(got), number(want),
    number(bound)), 0)
end

local function compare_all(c, name, got, want, dtype)
  -- in float64 both are rounded
  local unit = dtype == "float64" and 2 * UNIT[dtype] or UNIT[dtype]
  name = name .. ", " .. dtype .. ", "
  compare(name .. "out", got.out, want.out, want.bound.out, unit)
  if got.weights then
    compare(name .. "weights", got.weights, want.weights, want.bound.weights,
      unit)
  end
  for i, leaf in ipairs(c.wants) do
    compare(name .. "gradient of " .. leaf, got.grads[i], want.grads[i],
      want.bounds[i], unit)
  end
end

-- Raises unless the slope along a random direction of all leaves is that of
-- the gradients: (8 (f(h) - f(-h)) - f(2h) + f(-2h)) / 12 h, off by h^4.
local function check_slope(c, grads, up, change)
  if not c.reach then return end
  local direction, want, size = {}, 0, 1
  for i, name in ipairs(c.wants) do
    local d = c.dice:normal(c.leaves[name].shape)
    direction[name] = d
    want = want + (d * grads[i]):sum():item()
    size = size + (d * grads[i]):abs():sum():item()
  end
  local _ <close> = heed.no_grad()
  local function value(h)
    local leaves = {dtype = "float64"}
    for name, t in pairs(c.leaves) do
      leaves[name] = direction[name] and t + direction[name] * h or t
    end
    local q, k, v, options = c.call(leaves)
    for name, to in pairs(change) do options[name] = to end
    local out, weights = attend(q, k, v, options)
    return loss_of(out, weights, up):item()
  end
  local h = 1e-3 / (1 + 0.1 * c.reach)
  local got = (8 * (value(h) - value(-h)) - value(2 * h) + value(-2 * h)) /
    (12 * h)
  if math.abs(got - want) <= 1e-8 * size then return end
  error(("slope by differences %.12g, by gradients %.12g"):format(got, want),
    0)
end

-- -- all of it ---------------------------------------------------------------

local function same(s) return s end

local PLAIN <const>, SHOWN <const> = {}, {need_weights = true}
local SCORED <const> = {score = same}

return function(c)
  local up = {out = c.dice:normal(c.out_shape)}
  local both = {out = up.out, weights = c.dice:normal(c.weights_shape)}
  local want = formula(c, up)
  local want_both = c.need_weights and formula(c, both)
  for _, dtype in ipairs {"float64", "float32"} do
    local fused = run(c, dtype, up, PLAIN)
    compare_all(c, "fused", fused, want, dtype)
    if dtype == "float64" then check_slope(c, fused.grads, up, PLAIN) end
    if c.need_weights then
      local shown = run(c, dtype, both, SHOWN)
      if shown.out:tobytes() ~= fused.out:tobytes() then
        error("out is another with need_weights, " .. dtype, 0)
      end
      compare_all(c, "with need_weights", shown, want_both, dtype)
      if dtype == "float64" then check_slope(c, shown.grads, both, SHOWN) end
    end
    if c.score then
      compare_all(c, "with score", run(c, dtype, up, SCORED), want, dtype)
    end
  end
end
