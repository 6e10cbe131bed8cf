--- evaluate: runs the statements of a program by the reference.

local array = require "spec.robust.program.array"
local draw = require "spec.robust.program.draw"
local reference = require "spec.robust.program.reference.init"
local refuse = require "spec.robust.program.refuse"

local evaluate = {}

--- An argument with every ref in it replaced by what f gives for its number.
function evaluate.resolve(value, f)
  if draw.is_ref(value) then return f(value.var) end
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, v in pairs(value) do copy[key] = evaluate.resolve(v, f) end
  return copy
end

--- The arguments of a call, and how many they are.
function evaluate.arguments(s, f)
  local n = s.args.n or #s.args
  local list = {}
  for i = 1, n do list[i] = evaluate.resolve(s.args[i], f) end
  return list, n
end

--- The op of the reference by its name or that of its in-place twin, and
-- whether it is the twin.
function evaluate.op(name)
  local op = reference.ops[name]
  if op then return op, false end
  return reference.ops[name:sub(1, -2)], true
end

-- What name_ leaves in its first argument.
local function overwritten(x, y)
  refuse.unless(array.is(x) and not x:overlaps())
  refuse.unless(array.same_shape(x.shape, y.shape))
  local held = x:is_float() or x.dtype == "bool" and y.dtype == "bool" or
    x.dtype ~= "bool" and not y:is_float()
  refuse.unless(held)
  x:write(y)
  return x
end

-- Returns whether the call is taken, and its results.
local function call(s, arrays)
  local op, twin = evaluate.op(s.op)
  local args, n = evaluate.arguments(s, function(var) return arrays[var] end)
  local results = {pcall(op.run, table.unpack(args, 1, n))}
  if table.remove(results, 1) then
    if not twin then return true, results end
    local ok, y = pcall(overwritten, args[1], results[1])
    if ok then return true, {y} end
    results = {y}
  end
  if refuse.is(results[1]) then return false end
  error(("reference of %s: %s"):format(s.op, results[1]), 0)
end

--- Runs a statement: its results go into `arrays`. Returns nil when the call
-- must be refused.
function evaluate.statement(s, arrays)
  if s.leaf then
    arrays[s.out[1]] = array.new(s.dtype, s.shape, s.values)
    return true
  end
  local taken, results = call(s, arrays)
  if not taken then return nil end
  for k, var in ipairs(s.out or {}) do arrays[var] = results[k] end
  return results
end

--- The arrays of a whole program; `values` may replace those of leaves.
function evaluate.program(statements, values)
  local arrays = {}
  for _, s in ipairs(statements) do
    if s.leaf and values and values[s.out[1]] then
      arrays[s.out[1]] = array.new(s.dtype, s.shape, values[s.out[1]])
    elseif not s.refused then
      evaluate.statement(s, arrays)
    end
  end
  return arrays
end

return evaluate
