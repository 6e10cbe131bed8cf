--- run: calls every function of heed with what it does not expect.
--
--     lua5.4 run.lua STATUS SEED CALLS GROUP [FUNCTION]
--
-- Writes into the file STATUS what is being called, for who finds the program
-- dead, and to the output what was wrong. CALLS is how many calls a function
-- gets; after GROUP functions, all memory must have been given back. FUNCTION
-- is the name of the only one to call.

local status_path <const>, seed <const> = arg[1], math.tointeger(arg[2])
local calls <const>, group <const> = math.tointeger(arg[3]),
  math.tointeger(arg[4])
local only <const> = arg[5] ~= "" and arg[5]

-- Functions that take as long as they are told to.
local PATIENT <const> = {
  ["heed.nn.functional.alibi_slopes"] = "a slope for each head",
}

-- Called when the state is being closed, behind and before heed's own ends.
local late = {}
local function finish()
  for _, f in ipairs(late) do f() end
end
local last <const> = setmetatable({}, {__gc = finish})

local heed = require "heed"
local targets = require "spec.robust.hostile.targets"
local values = require "spec.robust.hostile.values"

local first <const> = setmetatable({}, {__gc = finish})

-- Seconds that a call may take, and instructions of Lua.
local PATIENCE <const>, INSTRUCTIONS <const> = 20, 20000000

local status = assert(io.open(status_path, "w"))
status:setvbuf "no"

local function note(text)
  status:seek "set"
  status:write(text, "\n", (" "):rep(400 - #text), "\n")
end

local wrong = 0
local function complain(...)
  wrong = wrong + 1
  print(string.format(...))
end

-- -- arguments ---------------------------------------------------------------

local function hostile()
  local v = values[math.random(#values)]
  return v.make(), v.name
end

-- An argument list and what it is in words.
local function arguments(target)
  local args, names = {n = 0}, {}
  if #target.cases > 0 and math.random() < 0.6 then
    local case = math.random(#target.cases)
    args = targets.fresh(target.cases[case])
    names[1] = ("case %d with"):format(case)
    for _ = 1, math.random(1, 2) do
      local at = math.random(args.n + 1)
      args.n = math.max(args.n, at)
      local name
      args[at], name = hostile()
      names[#names + 1] = ("%d: %s"):format(at, name)
    end
  else
    for i = 1, math.random(0, 4) do
      args.n = i
      args[i], names[i] = hostile()
    end
  end
  return args, table.concat(names, ", ")
end

-- -- places to call from -----------------------------------------------------

local contexts = {}

function contexts.plainly(f) f() end
function contexts.in_coroutine(f)
  local co = coroutine.wrap(f)
  pcall(co)
  pcall(co, 1, 2)
end
function contexts.in_gc(f)
  setmetatable({}, {__gc = f})
  collectgarbage()
end
function contexts.in_close(f)
  pcall(function()
    local guard <close> = setmetatable({}, {__close = f})
    error("on the way out: " .. tostring(guard ~= nil), 0)
  end)
end
function contexts.in_handler(f) xpcall(error, f) end
function contexts.without_gradients(f) heed.no_grad(f) end
function contexts.at_the_end(f)
  if #late < 200 then late[#late + 1] = f end
end

local names = {}
for name in pairs(contexts) do names[#names + 1] = name end
table.sort(names)

local function context()
  if math.random() < 0.7 then return "plainly" end
  return names[math.random(#names)]
end

-- -- calls -------------------------------------------------------------------

local function restore()
  heed.set_num_threads(1)
  heed.core.set_anomaly(false)
  heed.set_printoptions()
end

local function call_once(target)
  local args, text = arguments(target)
  local how = context()
  text = ("%s (%s), %s"):format(target.name, text, how)
  note(text)
  local function call()
    debug.sethook(function() error("too many instructions", 0) end, "",
      INSTRUCTIONS)
    local ok, message = pcall(target.call, table.unpack(args, 1, args.n))
    debug.sethook()
    if not ok and message == "too many instructions" and
        not PATIENT[target.name] then
      complain("%s: does not end", text)
    end
  end
  local began = os.clock()
  contexts[how](call)
  local took = os.clock() - began
  if took > PATIENCE then complain("%s: took %.1f s", text, took) end
end

local function used()
  collectgarbage()
  collectgarbage()
  return heed.memory_stats().used
end

-- All calls of functions `from` to `to`, which must leave no memory behind.
local function try(list, from, to)
  local before <const>, kept <const> = used(), #late
  for k = from, to do
    math.randomseed(seed, k)
    heed.manual_seed(1)
    if not only or list[k].name == only then
      for _ = 1, calls do call_once(list[k]) end
    end
  end
  restore()
  note("what is left behind " .. list[to].name)
  local left = used() - before
  if left ~= 0 and #late == kept then
    complain("%s to %s: %d bytes are left", list[from].name, list[to].name,
      left)
  end
end

restore()
local list = targets.all()
for from = 1, #list, group do
  try(list, from, math.min(from + group - 1, #list))
end
print(("%d calls of %d functions, %d complaints"):format(
  calls * (only and 1 or #list), #list, wrong))
note("closing the state", last, first) -- which live until then
os.exit(wrong == 0, true)
