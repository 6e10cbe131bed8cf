--- Gradients of the backward pass beside differences of the function's values.
--
--     d loss / d x[i] = (loss(x[i] + h) - loss(x[i] - h)) / 2h
--
-- where loss is the sum of all results times fixed weights, so that no element
-- hides another; all in float64.
local check = require "heed.check"
local core = require "heed.core"
local layout = require "heed.testing.layout"
local values = require "heed.testing.values"

local ops <const> = core.ops

local gradients = {}

local KNOWN <const> = {
  step = 1e-6, atol = 1e-6, rtol = 1e-5, skip = check.NONE,
  parameters = check.NONE, elements = check.NONE, layouts = true,
  second = false,
}

-- Fixed weights between -1.5 and 1.5, none near 0, for `count` elements from
-- number `first` on: multiples of the golden ratio spread evenly.
local function weights(first, shape, count)
  local list = {}
  for i = 1, count do
    local v = ((first + i) * 0.6180339887498949 + 0.137) % 1 * 3 - 1.5
    list[i] = v + (v < 0 and -0.04 or 0.04)
  end
  if count == 0 then return ops.zeros(shape, {dtype = "float64"}) end
  return core.tensor(list, {dtype = "float64"}):reshape(shape)
end

-- The loss of what a function returns: tensors, also in tables.
local function loss_of(results)
  local total, seen = ops.zeros({}, {dtype = "float64"}), 0
  values.each(results, function(y, name)
    if not values.is_float(y.dtype) then return end
    if y.dtype ~= "float64" then
      check.fail("gradients_ok: result %s must be float64 for float64 "
        .. "inputs, got %s (is a parameter float32? model:to(\"float64\"))",
        name, check.show(y))
    end
    total = total + (y * weights(seen, y.shape, y:numel())):sum()
    seen = seen + y:numel()
  end)
  return total
end

-- -- what is varied ----------------------------------------------------------

local function skips(skip)
  local set = {}
  for _, key in ipairs(skip or {}) do set[key] = true end
  return set
end

-- The inputs in float64, without history; and those that are varied: where
-- they stand, their names.
local function read_inputs(inputs, skip)
  if check.is_tensor(inputs) then inputs = {inputs} end
  if type(inputs) ~= "table" then
    check.fail("gradients_ok: inputs must be a tensor or a table of them, "
      .. "got %s", check.show(inputs))
  end
  local copy, varied = {}, {}
  for _, key in ipairs(values.keys(inputs)) do
    local x = inputs[key]
    if check.is_float(x) then
      x = x:detach():to("float64"):clone()
      if not skip[key] then
        local name = math.type(key) == "integer" and "input " .. key or key
        varied[#varied + 1] = {key = key, name = name}
      end
    end
    copy[key] = x
  end
  return copy, varied
end

-- Parameters of a module, or in a table, by name.
local function read_parameters(given, varied)
  if given == nil then return end
  local named = given
  if type(given) == "table" and type(given.named_parameters) == "function" then
    named = {}
    for name, p in given:named_parameters() do named[name] = p end
  end
  check.kind("gradients_ok", "parameters", named, "table")
  for _, key in ipairs(values.keys(named)) do
    local p = named[key]
    if not check.is_float(p) or p.dtype ~= "float64" then
      check.fail("gradients_ok: parameters: %s must be a float64 tensor, got "
        .. "%s (model:to(\"float64\"))", key, check.show(p))
    end
    varied[#varied + 1] = {name = tostring(key), parameter = p}
  end
end

-- Calls fn with the inputs: a list as arguments, a table with names as one.
local function call(fn, inputs, as_table)
  if as_table then return table.pack(fn(inputs)) end
  return table.pack(fn(table.unpack(inputs, 1, inputs.n or #inputs)))
end

local function pack(results)
  results.n = nil
  return results
end

-- -- both gradients ----------------------------------------------------------

-- A view of the same values that does not lie in one piece.
local function scattered(t)
  return layout.laid_out(t, t.ndim > 1 and t:size(1) > 1 and "transposed"
    or "strided")
end

-- The gradients of what is varied, by backward; `change` makes of each input
-- what fn gets.
local function by_rule(job, change)
  local _ <close> = core.enable_grad()
  local leaves, given = {}, {n = job.inputs.n}
  for key, x in next, job.inputs do given[key] = x end
  for i, one in ipairs(job.varied) do
    leaves[i] = one.parameter
    if not one.parameter then
      leaves[i] = job.inputs[one.key]:detach():clone()
      leaves[i].requires_grad = true
      given[one.key] = change(leaves[i])
    end
  end
  local total = job.loss(given)
  local found = {}
  if total.requires_grad and #leaves > 0 then
    found = table.pack(core.grad(total, leaves))
  end
  for i, x in ipairs(leaves) do
    found[i] = found[i] or ops.zeros(x.shape, {dtype = "float64"})
  end
  return found
end

-- Which elements of n are varied: all, or `most` spread evenly.
local function chosen(n, most)
  local list = {}
  if not most or most >= n then most = n end
  for k = 1, most do list[k] = 1 + (k - 1) * n // most end
  return list
end

-- The slopes at the elements `at` of one that is varied, by differences.
local function by_difference(job, one, at)
  local _ <close> = core.no_grad()
  local x = one.parameter or job.inputs[one.key]
  local flat = x:detach():reshape(-1)
  local slopes = {}
  local function value(i, v)
    flat[i] = v
    return job.loss(job.inputs):item()
  end
  for k, i in ipairs(at) do
    local old = flat[i]:item()
    local up = value(i, old + job.step)
    local down = value(i, old - job.step)
    flat[i] = old
    slopes[k] = (up - down) / (2 * job.step)
  end
  return slopes
end

-- -- the verdict -------------------------------------------------------------

-- The lines about the elements of one gradient that are off, worst first.
local function fault_of(one, gradient, at, slopes, o)
  local flat, rows = gradient:reshape(-1), {}
  for k, i in ipairs(at) do
    local got, want = flat[i]:item(), slopes[k]
    local over = math.abs(got - want) - (o.atol + o.rtol * math.abs(want))
    if over ~= over then over = math.huge end -- NaN
    if over > 0 then
      rows[#rows + 1] = {i = i, got = got, want = want, over = over}
    end
  end
  if #rows == 0 then return nil end
  table.sort(rows, function(a, b)
    if a.over ~= b.over then return a.over > b.over end
    return a.i < b.i
  end)
  local cells = {{"place", "backward", "differences", "off by"}}
  for k = 1, math.min(5, #rows) do
    local row = rows[k]
    cells[k + 1] = {check.shape(values.place(gradient.shape, row.i)),
      ("%.9g"):format(row.got), ("%.9g"):format(row.want),
      values.short(math.abs(row.got - row.want))}
  end
  local lines = values.columns(cells, "  ")
  if #rows > 5 then lines[#lines + 1] = ("  and %d more"):format(#rows - 5) end
  return ("gradients_ok: %s %s: %d of %s %s\n  tolerance %g + %g * "
    .. "|difference|\n%s"):format(one.name, check.shape(gradient.shape), #rows,
    values.count(#at, "gradient"), #at == 1 and "is off" or "are off",
    o.atol, o.rtol, table.concat(lines, "\n"))
end

-- The same function twice must give the same.
local function steady_fault(job)
  local _ <close> = core.no_grad()
  local first, again = job.loss(job.inputs), job.loss(job.inputs)
  if first:item() == again:item() then return nil end
  if first:item() ~= first:item() then
    return "gradients_ok: the results hold NaN"
  end
  return "gradients_ok: fn gives another result when it is called again with "
    .. "the same inputs: dropout, or random numbers?"
end

local function layout_fault(job, one, i, plain)
  job.moved = job.moved or by_rule(job, scattered)
  local off = (job.moved[i] - plain):abs()
  local bound = 1e-10 * (1 + plain:abs():max():item())
  if off:max():item() <= bound then return nil end
  return ("gradients_ok: %s %s: the gradient is another when the input is a "
    .. "view that does not lie in one piece, off by %s"):format(one.name,
    check.shape(plain.shape), values.short(off:max():item()))
end

local function first_order(job, o)
  local fault = steady_fault(job)
  if fault then return false, fault end
  local found = by_rule(job, function(x) return x end)
  for i, one in ipairs(job.varied) do
    local n = found[i]:numel()
    local at = chosen(n, o.elements)
    fault = fault_of(one, found[i], at, by_difference(job, one, at), o)
    if not fault and o.layouts and not one.parameter and n > 0 then
      fault = layout_fault(job, one, i, found[i])
    end
    if fault then return false, fault end
  end
  return true
end

-- A loss whose gradients are second derivatives: of the gradients of the sum
-- of cubes, so that what is linear has some too.
local function second_loss(fn, inputs, varied, as_table)
  return function(given)
    local _ <close> = core.enable_grad()
    local leaves, args = {}, {n = inputs.n}
    for key, x in next, given do args[key] = x end
    for i, one in ipairs(varied) do
      local x = one.parameter or given[one.key]
      if not x.requires_grad then
        x = x:detach():clone()
        x.requires_grad = true
        args[one.key] = x
      end
      leaves[i] = x
    end
    local total = ops.zeros({}, {dtype = "float64"})
    values.each(pack(call(fn, args, as_table)), function(y)
      if y.dtype == "float64" then total = total + (y * y * y):sum() end
    end)
    if not total.requires_grad then return total end
    local list = table.pack(core.grad(total, leaves, {create_graph = true}))
    local kept = {}
    for i = 1, #leaves do kept[#kept + 1] = list[i] end
    return loss_of(kept)
  end
end

--- See `testing.gradients_ok`.
function gradients.check(fn, inputs, options)
  check.callable("gradients_ok", "fn", fn)
  local o = check.options("gradients_ok", options, KNOWN)
  check.number("gradients_ok", "step", o.step, 1e-12)
  check.number("gradients_ok", "atol", o.atol, 0)
  check.number("gradients_ok", "rtol", o.rtol, 0)
  if o.elements then
    check.integer("gradients_ok", "elements", o.elements, 1)
  end
  local job = {step = o.step}
  local as_table = type(inputs) == "table" and #inputs == 0
    and next(inputs) ~= nil
  job.inputs, job.varied = read_inputs(inputs, skips(o.skip))
  read_parameters(o.parameters, job.varied)
  if #job.varied == 0 then
    check.fail("gradients_ok: inputs have no float tensor to differentiate by")
  end
  job.loss = function(given)
    return loss_of(pack(call(fn, given, as_table)))
  end
  local ok, text = first_order(job, o)
  if not ok then return false, text end
  if not o.second then return true end
  job.loss = second_loss(fn, job.inputs, job.varied, as_table)
  job.moved = nil
  ok, text = first_order(job, o)
  if ok then return true end
  return false, (text:gsub("^gradients_ok:", "gradients_ok: second order:"))
end

return gradients
