--- A property: what must hold for all that generators give. A failing example
-- is made as simple as it can be, and written as code.
local check = require "heed.check"
local choices = require "heed.testing.choices"
local core = require "heed.core"
local generators = require "heed.testing.generators"
local shrink = require "heed.testing.shrink"
local source = require "heed.testing.source"
local values = require "heed.testing.values"

local property = {}

-- Raised by `assume` to leave an example out.
local DISCARD <const> = setmetatable({}, {
  __name = "heed.testing.discard",
  __tostring = function()
    return "assume: used outside of a property"
  end,
})

-- Examples that may be left out for each that is taken.
local PATIENCE <const> = 10

--- See `testing.assume`.
function property.assume(holds)
  if not holds then error(DISCARD, 0) end
end

-- -- the generators as one ---------------------------------------------------

local function read_generators(list)
  if choices.is_generator(list) then list = {list} end
  if type(list) ~= "table" or next(list) == nil then
    check.fail("property: generators must be a list of generators, got %s",
      type(list) == "table" and "an empty one" or check.show(list))
  end
  local keys = values.keys(list)
  if math.type(keys[1]) ~= math.type(keys[#keys]) then
    check.fail("property: generators must be a list or a table with names, "
      .. "got one with both")
  end
  for _, key in ipairs(keys) do
    generators.check("property", "generator " .. values.key(key), list[key])
  end
  local whole = choices.generator(function(draw)
    local drawn = {}
    for _, key in ipairs(keys) do drawn[key] = draw(list[key]) end
    return drawn
  end)
  return whole, math.type(keys[1]) == "integer" and #keys or nil
end

-- -- one example -------------------------------------------------------------

-- Does what was raised mean another thing than a failure? Ctrl-C does, and
-- busted's `pending`.
local function passes_through(e)
  if type(e) == "string" then return e:find("interrupted!?$") ~= nil end
  local meta = type(e) == "table" and getmetatable(e)
  return type(meta) == "table" and rawget(meta, "__type") == "pending"
end

-- Calls the function; returns nil when the property holds, DISCARD, or the
-- message.
local function run(job, given)
  core.manual_seed(job.seed)
  local ok, result, text
  if job.count then
    ok, result, text = pcall(job.fn, table.unpack(given, 1, job.count))
  else
    ok, result, text = pcall(job.fn, given)
  end
  if not ok then
    if rawequal(result, DISCARD) then return DISCARD end
    if passes_through(result) then error(result, 0) end
    return result == nil and "nil was raised" or tostring(result)
  end
  if result ~= false then return nil end
  return text == nil and "the function returned false" or tostring(text)
end

-- Where a failure was raised: two at one place are taken as the same.
local function place_of(text) return text:match("^[^\n]-:%d+: ") or "" end

-- -- the report --------------------------------------------------------------

-- The failing example as code, with the names of the function's parameters.
local function example_lines(job, given)
  local lines = {}
  local function add(i, value)
    local name = debug.getlocal(job.fn, i) or "argument_" .. i
    lines[i] = ("  local %s = %s"):format(name, source.of(value, "  "))
  end
  if job.count then
    for i = 1, job.count do add(i, given[i]) end
  else
    add(1, given)
  end
  return table.concat(lines, "\n")
end

local function report(job, n, tree, steps)
  local given = choices.replay(job.whole, tree)
  local lines = example_lines(job, given)
  local text = run(job, (choices.replay(job.whole, tree)))
  local simpler = steps > 0 and (", made simpler in %s"):format(
    values.count(steps, "step")) or ""
  if not text or text == DISCARD then
    return ("property: example %d failed, but not when it was run again: fn "
      .. "gives another result for the same arguments (HEED_SEED=%d)\n%s")
      :format(n, job.seed, lines)
  end
  return ("property: example %d of %d fails%s; to repeat: HEED_SEED=%d\n%s\n%s")
    :format(n, job.examples, simpler, job.seed, lines, text)
end

-- A try of the shrinker: the tree of what was drawn, if it fails alike. No tree
-- is tried twice: what does not fit a generator may give the one before.
local function fails_alike(job, place, first)
  local seen = {[choices.key(first)] = true}
  return function(tree)
    local ok, given, drawn = pcall(choices.replay, job.whole, tree)
    if not ok then return nil end -- a user's generator that cannot take it
    local key = choices.key(drawn)
    if seen[key] then return nil end
    seen[key] = true
    local text = run(job, given)
    if text and text ~= DISCARD and place_of(text) == place then
      return drawn
    end
  end
end

-- -- the search --------------------------------------------------------------

local function fresh_seed()
  local salt = tostring({}):match("0x(%x+)")
  return (os.time() * 1000003 ~ tonumber(salt or "1", 16)
    ~ (os.clock() * 1e6) // 1 | 0) & 0x7fffffff
end

-- The seed of HEED_SEED, else of the options, else a new one.
local function read_seed(given)
  local text = os.getenv "HEED_SEED"
  if text and text ~= "" then
    local seed = math.tointeger(tonumber(text))
    if not seed then
      check.fail("property: HEED_SEED must be an integer, got %s",
        check.show(text))
    end
    return seed
  end
  if given then return check.integer("property", "seed", given) end
  return fresh_seed()
end

-- Example 1 is the simplest one; the others are drawn.
local function draw(job, n)
  if n == 1 then return choices.replay(job.whole, {}) end
  return choices.sample(job.whole, choices.source(job.seed, n))
end

local function search(job)
  local taken, left_out, n = 0, 0, 0
  while taken < job.examples do
    n = n + 1
    local given, tree = draw(job, n)
    local text = run(job, given)
    if text == DISCARD then
      left_out = left_out + 1
      if left_out >= PATIENCE * job.examples then
        return false, ("property: assume left out %d of %d examples; make a "
          .. "generator that gives what the property is about"):format(
          left_out, n)
      end
    elseif text then
      local steps
      tree, steps = shrink(tree,
        fails_alike(job, place_of(text), tree), job.shrinks)
      return false, report(job, n, tree, steps)
    else
      taken = taken + 1
    end
  end
  return true
end

-- The default generator as it was.
local Guard = {}
Guard.__index = Guard
function Guard:__close() core.set_generator_state(self.state) end

--- See `testing.holds`.
function property.check(fn, list, options)
  check.callable("property", "fn", fn)
  local whole, count = read_generators(list)
  local o = check.options("property", options,
    {examples = 100, shrinks = 2000, seed = check.NONE})
  local job = {
    fn = fn, whole = whole, count = count, seed = read_seed(o.seed),
    examples = check.integer("property", "examples", o.examples, 1),
    shrinks = check.integer("property", "shrinks", o.shrinks, 0),
  }
  local _ <close> = setmetatable({state = core.get_generator_state()}, Guard)
  return search(job)
end

return property
