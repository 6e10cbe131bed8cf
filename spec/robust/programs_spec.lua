-- Random programs over the op table, beside a plain reference in Lua: all
-- dtypes, views of views, writes through them, gradients and their gradients.
-- The same programs come from the same seed:
--
--     HEED_SEED=7 tools/test spec/robust/programs_spec.lua
--     HEED_SEED=7 HEED_PROGRAM_NUMBER=123 tools/test spec/rob..  only one
--     HEED_PROGRAMS=100000 tools/test spec/robust/prog..          more
--
-- Without HEED_SEED it is 1, with HEED_LONG it comes from the clock; it is
-- printed. A failing program is cut down to what fails, and shown as a script.

local build = require "spec.robust.program.build"
local core = require "heed.core"
local reference = require "spec.robust.program.reference.init"
local script = require "spec.robust.program.script"
local setting = require "spec.support.setting"
local shrink = require "spec.robust.program.shrink"

-- New ones in long runs; short runs are to say the same each time.
local SEED <const> = setting("HEED_SEED", os.getenv "HEED_LONG" and os.time()
  or 1)
local ONLY <const> = setting("HEED_PROGRAM_NUMBER")
local COUNT <const> = setting("HEED_PROGRAMS",
  os.getenv "HEED_LONG" and 20000 or 600)
local EACH <const> = 100 -- programs of one test

-- How many slopes were compared.
local function run_program(n)
  local program = build(SEED * 1000003 + n)
  local statements = program.statements
  local text, count = shrink.problem(statements, program.smooth)
  if not text then return count end
  statements, text = shrink.shortest(statements, program.smooth, text)
  error(("program %d of seed %d: %s\n\n%s\n"):format(n, SEED, text,
    script.of(statements, program.smooth)), 0)
end

describe("the reference of random programs", function()
  it("has every op, or a reason not to", function()
    local known = {}
    for _, op in ipairs(core.op_table) do
      if op.group ~= "internal" and not op.twin then
        known[op.name] = true
        local has = reference.ops[op.name] ~= nil
        local excused = reference.excused[op.name] ~= nil
        assert(has ~= excused, has and op.name .. " is excused in vain" or
          "no reference of " .. op.name .. " in spec/robust/program")
      end
    end
    for _, list in ipairs {reference.ops, reference.excused} do
      for name in pairs(list) do
        assert(known[name], "there is no op " .. name)
      end
    end
  end)

  it("draws a call of each op", function()
    local missing, count = {}, 0
    for name in pairs(reference.ops) do
      missing[name] = true
      count = count + 1
    end
    for seed = 1, 20000 do
      for _, s in ipairs(build(seed).statements) do
        if s.op and not s.refused and missing[s.op] then
          missing[s.op] = nil
          count = count - 1
        end
      end
      if count == 0 then return end
    end
    error("never called: " .. next(missing))
  end)
end)

describe("random programs", function()
  if ONLY then
    it(("give what the reference gives in %d"):format(ONLY), function()
      run_program(ONLY)
    end)
    return
  end
  print(("programs: %d of HEED_SEED=%d"):format(COUNT, SEED))
  local slopes = 0
  for first = 1, COUNT, EACH do
    local last <const> = math.min(first + EACH - 1, COUNT)
    it(("give what the reference gives in %d to %d"):format(first, last),
      function()
        for n = first, last do slopes = slopes + run_program(n) end
      end)
  end
  it("have gradients", function() assert.is_true(slopes > COUNT / 10) end)
end)
