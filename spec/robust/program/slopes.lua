--- slopes: the gradients of a smooth program beside differences.
--
-- The loss is the sum of all float64 tensors of the program, each element
-- times a fixed number. Its slope in a few directions is found by evaluating
-- the whole program in the reference a little ahead and behind, and compared
-- with what `backward` gives; the slope of the gradient in the same way.

local check = require "spec.robust.program.check"
local evaluate = require "spec.robust.program.evaluate"
local heed = require "heed"

local slopes = {}

local STEP <const> = 1e-5

-- Fixed numbers of about 1, of either sign.
local function weight(var, i) return math.sin(var * 12.9898 + i * 78.233) end

local function leaves_of(statements)
  local list = {}
  for _, s in ipairs(statements) do
    if s.leaf and s.dtype == "float64" then list[#list + 1] = s end
  end
  return list
end

-- The numbers of the leaves, moved along a direction.
local function moved(leaves, direction, h)
  local values = {}
  for _, s in ipairs(leaves) do
    local list = {}
    for i, v in ipairs(s.values) do
      list[i] = v + h * weight(s.out[1] + direction * 31, i)
    end
    values[s.out[1]] = list
  end
  return values
end

-- -- by the reference --------------------------------------------------------

-- Nil where a number is not finite.
local function loss_of(statements, values)
  local loss = 0.0
  local arrays = evaluate.program(statements, values)
  local vars = {}
  for var in pairs(arrays) do vars[#vars + 1] = var end
  table.sort(vars)
  for _, var in ipairs(vars) do
    if arrays[var].dtype == "float64" then
      for i, v in ipairs(arrays[var]:values()) do
        if v - v ~= 0 then return nil end
        loss = loss + weight(var, i) * v
      end
    end
  end
  return loss
end

-- The slope in a direction, and how far two steps disagree about it; nil where
-- the program is not smooth there.
local function difference(f)
  local near_up, near_down = f(STEP / 2), f(-STEP / 2)
  local up, down = f(STEP), f(-STEP)
  if not (near_up and near_down and up and down) then return nil end
  local wide, slope = (up - down) / (2 * STEP), (near_up - near_down) / STEP
  local doubt = math.abs(wide - slope)
  if doubt > 1e-5 * (1 + math.abs(slope)) then return nil end
  return slope, doubt
end

-- -- by heed -----------------------------------------------------------------

-- Runs the program; returns the loss and the leaves.
local function forward(statements, values)
  local tensors, inputs = {}, {}
  for _, s in ipairs(statements) do
    local var = s.out and s.out[1]
    if s.leaf then
      local t = check.leaf(s, values and values[var])
      if s.dtype == "float64" then
        t = t:detach()
        t.requires_grad = true
        inputs[#inputs + 1] = t
        t = t:clone()
      end
      tensors[var] = t
    elseif not s.refused then
      local ok, results = check.run(s, tensors)
      if not ok then error(s.op .. ": " .. tostring(results[1]), 0) end
      for k, v in ipairs(s.out) do tensors[v] = results[k] end
    end
  end
  local loss = heed.zeros({}, {dtype = "float64"})
  local vars = {}
  for var in pairs(tensors) do vars[#vars + 1] = var end
  table.sort(vars)
  for _, var in ipairs(vars) do
    local t = tensors[var]
    if t.dtype == "float64" and t:numel() > 0 then
      local w = {}
      for i = 1, t:numel() do w[i] = weight(var, i) end
      loss = loss + (t * heed.tensor(w, {dtype = "float64"}):reshape(t.shape))
        :sum()
    end
  end
  return loss, inputs
end

-- The sum of gradients times the direction.
local function along(grads, leaves, direction)
  local sum = 0.0
  for k, s in ipairs(leaves) do
    if grads[k] then
      for i, v in ipairs(check.numbers(grads[k])) do
        sum = sum + v * weight(s.out[1] + direction * 31, i)
      end
    end
  end
  return sum
end

-- What may be said instead of a gradient.
local REFUSALS <const> = {
  "was overwritten after it was used",
  "is fused and cannot be differentiated twice",
}
local function is_refusal(text)
  for _, part in ipairs(REFUSALS) do
    if text:find(part, 1, true) then return true end
  end
end

-- The gradients of the leaves, which may lead on to their own.
local function gradients(statements, values, create_graph)
  local loss, inputs = forward(statements, values)
  local options = {create_graph = create_graph}
  return {heed.grad(loss, inputs, options)}, inputs
end

local function report(what, direction, got, want)
  return ("%s in direction %d is %.12g, by differences %.12g"):format(what,
    direction, got, want)
end

local function compare_first(statements, leaves, direction, grads)
  local want, doubt = difference(function(h)
    return loss_of(statements, moved(leaves, direction, h))
  end)
  if not want then return nil end
  local got = along(grads, leaves, direction)
  if math.abs(got - want) > 1e-5 * (1 + math.abs(want)) + 10 * doubt then
    return report("the slope of the loss", direction, got, want)
  end
  return nil, true
end

-- The slope, in direction 2, of the gradient in direction 1.
local function compare_second(statements, leaves)
  local want, doubt = difference(function(h)
    local g = along(gradients(statements, moved(leaves, 2, h)), leaves, 1)
    return g - g == 0 and g or nil
  end)
  if not want then return nil end
  local grads, inputs = gradients(statements, nil, true)
  local slope = heed.zeros({}, {dtype = "float64"})
  for k, s in ipairs(leaves) do
    local w = {}
    for i = 1, #s.values do w[i] = weight(s.out[1] + 31, i) end
    if grads[k] and #w > 0 then
      slope = slope + (grads[k] * heed.tensor(w, {dtype = "float64"})
        :reshape(s.shape)):sum()
    end
  end
  local got = 0.0
  if slope.requires_grad then
    got = along({heed.grad(slope, inputs)}, leaves, 2)
  end
  if math.abs(got - want) > 1e-4 * (1 + math.abs(want)) + 10 * doubt then
    return report("the slope of the gradient", 2, got, want)
  end
  return nil, true
end

--- Nil when the gradients agree or cannot be had, else a message; and how many
-- slopes were compared.
function slopes.check(statements)
  local leaves = leaves_of(statements)
  if #leaves == 0 or not loss_of(statements) then return nil, 0 end
  local ok, grads = pcall(gradients, statements)
  if not ok then
    if is_refusal(tostring(grads)) then return nil, 0 end
    return "backward: " .. tostring(grads)
  end
  local count = 0
  for direction = 1, 2 do
    local text, compared = compare_first(statements, leaves, direction, grads)
    if text then return text end
    if compared then count = count + 1 end
  end
  local passed, text, compared = pcall(compare_second, statements, leaves)
  if not passed then
    if is_refusal(tostring(text)) then return nil, count end
    return "double backward: " .. tostring(text)
  end
  return text, count + (compared and 1 or 0)
end

return slopes
