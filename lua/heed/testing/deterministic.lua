--- The same result, bit for bit, in every run and with every thread count.
local check = require "heed.check"
local core = require "heed.core"
local values = require "heed.testing.values"

local deterministic = {}

-- Results that are kept apart from what fn may overwrite next time.
local function copy(value)
  if check.is_tensor(value) then return value:detach():clone() end
  if type(value) ~= "table" then return value end
  local list = {}
  for key, item in next, value do list[key] = copy(item) end
  return list
end

-- What differs between two tensors, or nil.
local function tensor_fault(a, b)
  if a.dtype ~= b.dtype or check.shape(a.shape) ~= check.shape(b.shape) then
    return ("%s first, then %s"):format(check.show(a), check.show(b))
  end
  local mask = values.changed(a, b)
  if not mask then return nil end
  local at, count = values.positions(mask, 1)
  return ("%d of %s differ, first at %s: %s first, then %s"):format(count,
    values.count(a:numel(), "element"),
    check.shape(values.place(a.shape, at[1])),
    values.number(values.at(a, at[1]), a.dtype),
    values.number(values.at(b, at[1]), b.dtype))
end

-- What differs between two values, and the name of the part.
local function fault(a, b, name)
  if check.is_tensor(a) and check.is_tensor(b) then
    local text = tensor_fault(a, b)
    return text and name .. ": " .. text
  end
  if type(a) == "table" and type(b) == "table" then
    local union = {}
    for key in next, a do union[key] = true end
    for key in next, b do union[key] = true end
    for _, key in ipairs(values.keys(union)) do
      local text = fault(a[key], b[key], name .. " " .. values.key(key))
      if text then return text end
    end
    return nil
  end
  if a == b and math.type(a) == math.type(b) or a ~= a and b ~= b then
    return nil
  end
  return ("%s: %s first, then %s"):format(name, check.show(a), check.show(b))
end

local function read_threads(list)
  local threads = {}
  for i, n in ipairs(list) do
    threads[i] = check.integer("deterministic", ("threads[%d]"):format(i), n, 1)
  end
  if #threads == 0 then
    check.fail("deterministic: threads must have a number in it")
  end
  return threads
end

-- Threads and the default generator as they were.
local Guard = {}
Guard.__index = Guard
function Guard:__close()
  core.set_num_threads(self.threads)
  core.set_generator_state(self.state)
end

local function guard()
  return setmetatable({threads = core.get_num_threads(),
    state = core.get_generator_state()}, Guard)
end

--- See `testing.deterministic`.
function deterministic.check(fn, options)
  check.callable("deterministic", "fn", fn)
  local o = check.options("deterministic", options,
    {runs = 2, threads = {1, 2, 3, core.get_num_threads()}, seed = 1})
  check.integer("deterministic", "runs", o.runs, 1)
  check.kind("deterministic", "threads", o.threads, "table")
  local threads = read_threads(o.threads)
  local first, made
  local _ <close> = guard()
  for run = 1, o.runs do
    for _, n in ipairs(threads) do
      core.set_num_threads(n)
      if o.seed then core.manual_seed(o.seed) end
      local results = table.pack(fn())
      results.n = nil
      local text = first and fault(first, results, "result")
      local now = ("run %d with %s"):format(run, values.count(n, "thread"))
      if text then
        return false, ("deterministic: %s is not as %s\n  %s"):format(now,
          made, text)
      end
      if not first then first, made = copy(results), now end
    end
  end
  if next(first) == nil then
    return false, "deterministic: fn returns nothing that could be compared"
  end
  return true
end

return deterministic
