--- check: runs a program by heed and by the reference, a statement at a time.
--
-- The reference goes on with the numbers that heed gave, so that each result
-- is compared by itself and rounding does not add up. After each statement
-- every tensor must still hold what it did, but for what was written to.

local array = require "spec.robust.program.array"
local core = require "heed.core"
local evaluate = require "spec.robust.program.evaluate"
local heed = require "heed"

local check = {}

-- How far a number of a dtype may be off: so many parts of itself, and of the
-- largest number that went in.
local TOLERANCE <const> = {
  float16 = 2 ^ -10, bfloat16 = 2 ^ -7, float32 = 2e-5, float64 = 1e-10,
}

--- A tensor with the numbers of a leaf.
function check.leaf(s, values)
  local list = {}
  for i, v in ipairs(values or s.values) do
    if s.dtype == "bool" then list[i] = v ~= 0 else list[i] = v end
  end
  if #list == 0 then return heed.zeros(s.shape, {dtype = s.dtype}) end
  return heed.tensor(list, {dtype = s.dtype}):reshape(s.shape)
end

--- The numbers of a tensor, row by row; booleans as 0 and 1.
function check.numbers(t)
  if t:numel() == 0 then return {} end
  local list = t:detach():clone():reshape(-1):totable()
  if t.dtype == "bool" then
    for i, v in ipairs(list) do list[i] = v and 1 or 0 end
  end
  return list
end

-- Without a scale, numbers must be the same.
local function near(got, want, dtype, scale)
  if got == want or got ~= got and want ~= want then return true end
  local tolerance = TOLERANCE[dtype]
  if not tolerance or not scale then return false end
  return math.abs(got - want) <= tolerance * (math.abs(want) + scale)
end

-- The largest finite number of the arguments, at least 1.
local function scale_of(s, arrays)
  local most = 1
  local function look(value)
    for _, v in ipairs(array.is(value) and value:values() or {}) do
      v = math.abs(v)
      if v > most and v < math.huge then most = v end
    end
    return value
  end
  evaluate.arguments(s, function(var) return look(arrays[var]) end)
  return most
end

local function shown(list)
  local text = {}
  for i = 1, math.min(#list, 24) do text[i] = ("%.9g"):format(list[i]) end
  return "{" .. table.concat(text, ", ") .. (#list > 24 and ", .." or "") ..
    "}"
end

local function compare(what, got, want, scale)
  if got.dtype ~= want.dtype then
    return ("%s: dtype %s, want %s"):format(what, got.dtype, want.dtype)
  end
  if not array.same_shape(got.shape, want.shape) then
    return ("%s: shape [%s], want [%s]"):format(what,
      table.concat(got.shape, " "), table.concat(want.shape, " "))
  end
  local numbers, values = check.numbers(got), want:values()
  for i, v in ipairs(values) do
    if not near(numbers[i], v, want.dtype, scale) then
      return ("%s: element %d is %.17g, want %.17g\n  got  %s\n  want %s")
        :format(what, i, numbers[i], v, shown(numbers), shown(values))
    end
  end
  return nil, numbers
end

--- Runs a statement by heed: whether it passed, and its results or message.
function check.run(s, tensors)
  local args, n = evaluate.arguments(s, function(var) return tensors[var] end)
  local results = {pcall(core.ops[s.op], table.unpack(args, 1, n))}
  return table.remove(results, 1), results
end

-- Each result beside its array, which then takes over heed's numbers.
local function compare_results(s, arrays, tensors, results, scale)
  if #results ~= #s.out then
    return ("%s: %d results, want %d"):format(s.op, #results, #s.out)
  end
  for k, var in ipairs(s.out) do
    local text, numbers = compare(("%s, result %d"):format(s.op, k),
      results[k], arrays[var], scale)
    if text then return text end
    tensors[var] = results[k]
    for i, place in ipairs(arrays[var]:places()) do
      arrays[var].store[place] = numbers[i]
    end
  end
end

local function compare_all(s, arrays, tensors)
  for var, t in pairs(tensors) do
    if arrays[var] then
      local text = compare(("after %s: v%d"):format(s.op or "a leaf", var), t,
        arrays[var])
      if text then return text end
    end
  end
end

local function run_statement(s, arrays, tensors)
  if s.leaf then
    evaluate.statement(s, arrays)
    tensors[s.out[1]] = check.leaf(s)
    return nil
  end
  local scale = scale_of(s, arrays)
  local taken = evaluate.statement(s, arrays)
  local ok, results = check.run(s, tensors)
  if not taken then
    if not ok then return nil end
    return s.op .. ": was to be refused, but gave a result"
  end
  if not ok then return s.op .. ": " .. tostring(results[1]) end
  return compare_results(s, arrays, tensors, results, scale)
end

--- Nil when heed gives what the reference gives, else a message.
function check.values(statements)
  local arrays, tensors = {}, {}
  for _, s in ipairs(statements) do
    local text = run_statement(s, arrays, tensors) or
      compare_all(s, arrays, tensors)
    if text then return text end
  end
end

return check
