--- build: a random program from a seed.

local core = require "heed.core"
local draw = require "spec.robust.program.draw"
local evaluate = require "spec.robust.program.evaluate"
local reference = require "spec.robust.program.reference.init"

local VIEWS <const> = {
  "reshape", "view", "flatten", "permute", "transpose", "expand", "slice",
  "select", "unfold", "diagonal", "squeeze", "unsqueeze", "split_qkv",
}

-- The calls that may be drawn, by the op table.
local names, twins, smooth_names, smooth_twins = {}, {}, {}, {}
for _, op in ipairs(core.op_table) do
  local base = reference.ops[op.twin and op.name:sub(1, -2) or op.name]
  if base and op.group ~= "internal" then
    local list = op.twin and twins or names
    list[#list + 1] = op.name
    -- what has no gradient cannot be written over a tensor that wants one
    if not base.rough and (op.differentiable or not op.twin) then
      list = op.twin and smooth_twins or smooth_names
      list[#list + 1] = op.name
    end
  end
end

local function choose(d)
  if d:chance(0.2) then return d:pick(VIEWS) end
  if d:chance(0.2) then return d:pick(d.smooth and smooth_twins or twins) end
  if d:chance(0.06) then return d:pick {"copy_", "fill_"} end
  return d:pick(d.smooth and smooth_names or names)
end

local function is_moderate(a)
  for _, v in ipairs(a:values()) do
    if not (v >= -100 and v <= 100) then return false end
  end
  return true
end

-- What in-place calls would change, to be put back.
local function saved(a)
  local store = {table.unpack(a.store)}
  return function() table.move(store, 1, #store, 1, a.store) end
end

-- Appends a call with the arguments that its op draws; leaves the program as
-- it is where nothing fits.
local function add_call(d)
  local name = choose(d)
  local op, twin = evaluate.op(name)
  local args = op.draw(d)
  if not args then return end
  local first = draw.is_ref(args[1]) and d:array(args[1])
  if (twin or op.in_place) and not first then return end
  local undo = (twin or op.in_place) and saved(first)
  local s = {op = name, args = args}
  local results = evaluate.statement(s, d.arrays)
  if not results then
    s.refused = true
    if not d.smooth and d:chance(0.3) then table.insert(d.statements, s) end
    return
  end
  for _, y in ipairs(results) do
    if d.smooth and y:is_float() and not is_moderate(y) then
      if undo then undo() end
      return
    end
  end
  s.out = {}
  for k, y in ipairs(results) do
    if rawequal(y, first) then
      s.out[k] = args[1].var
    else
      d.nvar = d.nvar + 1
      s.out[k], d.arrays[d.nvar] = d.nvar, y
    end
  end
  table.insert(d.statements, s)
end

--- A program: `statements` (see draw.lua), and whether it is `smooth`.
return function(seed)
  math.randomseed(seed)
  local d = draw.new(math.random() < 0.4)
  for _ = 1, math.random(1, 8) do add_call(d) end
  return {statements = d.statements, smooth = d.smooth, seed = seed}
end
