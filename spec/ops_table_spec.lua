-- The op table: every op is documented and tried, by its row in spec/ops.

local close = require "spec.support.close"
local core = require "heed.core"
local gradient = require "spec.support.gradient"
local heed = require "heed"
local message_of = require "spec.support.message"
local rows = require "spec.ops.rows"
local sample = require "spec.support.sample"
local usage = require "spec.support.usage"

local docs = usage.read_docs("src/ops")

local public, by_name, twins = {}, {}, {}
for _, op in ipairs(core.op_table) do
  if op.twin then
    twins[#twins + 1] = op
  elseif op.group ~= "internal" then
    public[#public + 1] = op
    by_name[op.name] = op
  end
end

-- A function that runs an op on an argument list, which it leaves as it is.
local function caller(op, row)
  local f <const> = core.ops[op.name]
  local in_place <const> = op.name:find("_$") ~= nil
  return function(args)
    if row.seeded then heed.manual_seed(7) end
    if in_place then
      args = sample.map(args, function(t) return t:clone() end)
    end
    if row.from then args = row.from(args) end
    return f(table.unpack(args, 1, args.n or #args))
  end
end

local function message(f, args)
  return message_of(f, table.unpack(args, 1, args.n or #args))
end

local function parameters(signature)
  local names = {}
  for name in signature:gmatch("([%w_]+):") do names[#names + 1] = name end
  return names
end

local function check_doc(op)
  local doc = docs[op.name]
  assert.is_table(doc, "no doc comment with @function " .. op.name)
  for _, name in ipairs(parameters(op.signature)) do
    assert.is_true(doc.params[name], "no @param " .. name)
  end
  assert.is_true(#doc.usages > 0, "no @usage")
end

-- Two lists of results are the same within a tolerance.
local function check_same(what, got, want, tolerance)
  assert.same(#want, #got)
  for k, y in ipairs(want) do
    close.check(("%s, result %d"):format(what, k), got[k], y, tolerance)
  end
end

-- The elements of the results by a function of the elements of the inputs,
-- broadcast.
local function check_values(row, args, result)
  local inputs, shape = {}, result.shape
  for i, value in ipairs(args) do
    local t = heed.is_tensor(value) and value or
      heed.tensor(value, {dtype = "float64"})
    inputs[i] = close.flat(t:expand(shape))
  end
  local want = {}
  for i = 1, result:numel() do
    local numbers = {}
    for k, flat in ipairs(inputs) do numbers[k] = flat[i] end
    local value = row.value(table.unpack(numbers))
    if type(value) == "boolean" then value = value and 1 or 0 end
    want[i] = value
  end
  -- integers may be taken as float32
  local off <const> = result.dtype == "float32" and 1e-6 or 1e-12
  local text = close.difference(result,
    heed.tensor(want, {dtype = "float64"}):reshape(shape),
    {atol = off, rtol = off})
  if text then error("values: " .. text, 2) end
end

local function check_case(op, row, args)
  local call = caller(op, row)
  local results = {call(args)}
  -- max and min over everything have no position
  assert.is_true(#results >= 1 and #results <= op.results)
  if row.value then check_values(row, args, results[1]) end
  if not row.no_views then
    local views = sample.map(args, sample.scattered)
    check_same("views as inputs", {call(views)}, results,
      {atol = 1e-10, rtol = 1e-10})
  end
  if #sample.floats(args) > 0 and not row.own_stream then
    check_same("float32", {call(sample.cast(args, "float32"))}, results,
      {atol = row.atol32 or 1e-5, rtol = 1e-5})
  end
  if op.differentiable then
    gradient.check(call, args, row)
  end
end

describe("the op table", function()
  it("has a row for every op, and no other row", function()
    for _, op in ipairs(public) do
      assert.is_table(rows[op.name], "spec/ops has no row for " .. op.name)
    end
    for name in pairs(rows) do
      assert.is_table(by_name[name], "there is no op " .. name)
    end
  end)
end)

for _, op in ipairs(public) do
  local row = rows[op.name]
  describe("op " .. op.name, function()
    it("is documented", function() check_doc(op) end)

    for i, text in ipairs(docs[op.name] and docs[op.name].usages or {}) do
      it("runs usage " .. i, function()
        usage.check(text, row and row.given)
      end)
    end

    for i, args in ipairs(row and row.cases or {}) do
      it("computes case " .. i, function() check_case(op, row, args) end)
    end

    it("has cases and errors", function()
      assert.is_true(row and #row.cases > 0 and #row.errors > 0)
    end)

    for _, case in ipairs(row and row.errors or {}) do
      it("refuses: " .. case[2], function()
        assert.same(case[2], message(core.ops[op.name], case[1]))
      end)
    end
  end)
end

-- The in-place forms, name_, by the rows of their ops: whatever fits into the
-- first argument is written there.

local function fits(args, result)
  local x = args[1]
  return heed.is_tensor(x) and x.dtype == result.dtype and
    table.concat(x.shape, " ") == table.concat(result.shape, " ")
end

local function check_overwritten(f, args, x, want)
  local given = {table.unpack(args, 1, args.n or #args)}
  given[1] = x
  assert.is_true(rawequal(x, (f(table.unpack(given, 1, args.n or #args)))))
  close.check("in place", x, want, {atol = 0, rtol = 0})
end

-- The gradient through name_ is that of its op, or a clear refusal where it
-- needs the value that was overwritten.
local function check_twin_gradient(f, args, row)
  local function call(list)
    local copy = {table.unpack(list, 1, list.n or #list)}
    copy[1] = heed.mul(list[1], 1)
    return f(table.unpack(copy, 1, list.n or #list))
  end
  local ok, text = pcall(gradient.check, call, args, row)
  if not ok then assert.matches("was overwritten after it was used", text) end
end

for _, op in ipairs(twins) do
  local base <const> = op.name:sub(1, -2)
  local row <const> = rows[base]
  describe("op " .. op.name, function()
    local fitting = 0
    for i, args in ipairs(row and row.cases or {}) do
      it("writes case " .. i .. " of " .. base, function()
        local want = core.ops[base](table.unpack(args, 1, args.n or #args))
        if not fits(args, want) then return end
        check_overwritten(core.ops[op.name], args, args[1]:clone(), want)
        check_overwritten(core.ops[op.name], args,
          sample.scattered(args[1]:clone()), want)
        if op.differentiable and args[1].dtype == "float64" then
          check_twin_gradient(core.ops[op.name], args, row)
        end
      end)
      local ok, want = pcall(core.ops[base],
        table.unpack(args, 1, args.n or #args))
      if ok and fits(args, want) then fitting = fitting + 1 end
    end

    it("has a case that fits", function() assert.is_true(fitting > 0) end)
  end)
end
