--- combination: a random call of attention: sizes, how inputs lie in memory,
-- and any of what describes who may attend to whom.
--
--     local c = combination(seed)
--     print(c.text)
--     local q, k, v, options = c.call(leaves)
--
-- `c.leaves` holds float64 tensors by name, with numbers that float32 holds
-- too; `c.call(leaves)` makes the arguments of a call from them or from others
-- of their shapes, and a new generator, so that each call drops the same.

local Dice = require "spec.support.attention.dice"
local heed = require "heed"

local function text_of(shape) return "[" .. table.concat(shape, " ") .. "]" end

local function concat(a, b)
  local list = table.move(a, 1, #a, 1, {})
  return table.move(b, 1, #b, #list + 1, list)
end

-- -- sizes -------------------------------------------------------------------

local WIDTHS <const> = {
  1, 1, 2, 3, 4, 5, 7, 7, 8, 8, 9, 12, 15, 16, 16, 17, 24, 33, 64, 80, 96, 128,
}

-- Rounding adds up in a long sum of equal terms, against what
-- reference.rounding supposes: the scores of more keys than these differ.
local MANY <const> = 100

-- Times that are longer than one block of the loops, or few queries over many
-- keys, come now and then, with few heads and columns.
local function draw_times(dice, s)
  local kind = dice:int(1, 100)
  if kind <= 10 then
    s.tq, s.tk = dice:int(1, 60), dice:int(100, 300)
  elseif kind <= 15 then
    s.tq, s.tk = dice:int(48, 110), dice:int(1, 60)
  elseif kind <= 18 then
    s.tq, s.tk = dice:int(1, 8), dice:int(1020, 1600)
  elseif kind <= 20 then
    s.tq, s.tk, s.rep = dice:int(100, 130), dice:int(1, 30), 4
  else
    s.tq = dice:chance(20) and 1 or dice:int(1, 9)
    s.tk = dice:chance(30) and s.tq or dice:int(1, 14)
    return
  end
  s.batch = {}
  s.kv_heads = dice:int(1, 2)
  s.d, s.dv = math.min(s.d, 16), math.min(s.dv, 16)
end

local function draw_sizes(dice)
  local s = {batch = {}, kv_heads = dice:int(1, 3), rep = dice:int(1, 3)}
  for i = 1, dice:int(0, 2) do s.batch[i] = dice:int(1, 3) end
  s.d = dice:pick(WIDTHS)
  s.dv = dice:chance(50) and s.d or dice:pick(WIDTHS)
  draw_times(dice, s)
  if dice:chance(4) then
    local name = dice:pick {"kv_heads", "tq", "tk", "d", "dv"}
    if name ~= "d" or s.tk <= MANY then s[name] = 0 end
  elseif #s.batch > 0 and dice:chance(3) then
    s.batch[1] = 0
  end
  s.heads = s.kv_heads * s.rep
  s.plain = #s.batch == 0 and s.heads == 1 and dice:chance(50) -- [T D]
  return s
end

-- -- how inputs lie ----------------------------------------------------------

-- A leaf of `shape` [.. H T D], and what makes the input of it.
local lay = {
  ["in one piece"] = function(shape)
    return shape, function(leaf) return leaf end
  end,
  ["heads inside"] = function(shape)
    local n, own = #shape, {table.unpack(shape)}
    own[n - 2], own[n - 1] = shape[n - 1], shape[n - 2]
    return own, function(leaf) return leaf:transpose(-3, -2) end
  end,
  ["columns apart"] = function(shape)
    local n, own = #shape, {table.unpack(shape)}
    own[n - 1], own[n] = shape[n], shape[n - 1]
    return own, function(leaf) return leaf:transpose(-1, -2) end
  end,
  ["part of more"] = function(shape)
    local n, own = #shape, {table.unpack(shape)}
    own[n - 1], own[n] = shape[n - 1] + 2, shape[n] + 3
    return own, function(leaf)
      return leaf:slice(-2, 2, shape[n - 1] + 1):slice(-1, 3, shape[n] + 2)
    end
  end,
  ["one for all heads"] = function(shape)
    local n, own = #shape, {table.unpack(shape)}
    own[n - 2] = math.min(shape[n - 2], 1)
    return own, function(leaf) return leaf:expand(shape) end
  end,
  ["one row for all"] = function(shape)
    local n, own = #shape, {table.unpack(shape)}
    own[n - 1] = math.min(shape[n - 1], 1)
    return own, function(leaf) return leaf:expand(shape) end
  end,
}
local LAYOUTS <const> = {
  "in one piece", "in one piece", "heads inside", "heads inside",
  "columns apart", "part of more", "one for all heads", "one row for all",
}

-- -- q, k and v --------------------------------------------------------------

-- One leaf [.. T 3 H D], as a projection of x to all three makes it.
local function draw_packed(c, s)
  c:leaf("qkv", concat(s.batch, {s.tq, 3, s.heads, s.d}))
  return function(leaves)
    local function part(i)
      return leaves.qkv:select(-3, i):transpose(-3, -2)
    end
    return part(1), part(2), part(3)
  end
end

local function draw_input(c, name, shape)
  local layout = c.dice:pick(LAYOUTS)
  if shape[#shape - 1] > MANY and layout == "one row for all" then
    layout = "in one piece"
  end
  local own, view = lay[layout](shape)
  c:leaf(name, own)
  c:say("%s %s %s", name, text_of(shape), layout)
  return function(leaves) return view(leaves[name]) end
end

local function draw_qkv(c, s)
  local same = s.heads == s.kv_heads and s.tq == s.tk and s.d == s.dv
  if same and c.dice:chance(60) then
    c:say("q, k, v %s of one leaf",
      text_of(concat(s.batch, {s.heads, s.tq, s.d})))
    return draw_packed(c, s)
  end
  local q = draw_input(c, "q", concat(s.batch, {s.heads, s.tq, s.d}))
  local k = draw_input(c, "k", concat(s.batch, {s.kv_heads, s.tk, s.d}))
  if s.d == s.dv and c.dice:chance(15) then
    c:say("v = k")
    return function(leaves)
      local both = k(leaves)
      return q(leaves), both, both
    end
  end
  local v = draw_input(c, "v", concat(s.batch, {s.kv_heads, s.tk, s.dv}))
  return function(leaves) return q(leaves), k(leaves), v(leaves) end
end

-- -- descriptions ------------------------------------------------------------

-- `shape` with some sizes made 1, and some leading ones of 1 left out.
local function broadcast(dice, shape)
  local sizes = {table.unpack(shape)}
  for d = 1, #shape do
    if dice:chance(35) then sizes[d] = math.min(shape[d], 1) end
  end
  while #sizes > 1 and sizes[1] == 1 and dice:chance(60) do
    table.remove(sizes, 1)
  end
  return sizes
end

-- Each returns what stands in the options: a value, or a function of the
-- leaves.
local describe = {
  causal = function(c)
    local value = c.dice:pick {true, true, "bottom-right", "top-left", false}
    c:say("causal=%s", value)
    return value
  end,
  window = function(c, s)
    local far = math.max(2, s.tk // 2)
    if c.dice:chance(50) then
      local value = c.dice:int(1, far)
      c:say("window=%d", value)
      return value
    end
    local value = {c.dice:int(0, far), c.dice:int(0, far)}
    c:say("window={%d, %d}", value[1], value[2])
    return value
  end,
  valid_lens = function(c, s)
    local shape = concat(s.batch, c.dice:chance(50) and {s.tq} or {})
    local lens = heed.randint(0, s.tk, shape, {generator = c.dice.generator})
    c:say("valid_lens %s", text_of(shape))
    if #shape == 1 and shape[1] > 0 and c.dice:chance(50) then
      return lens:totable()
    end
    return lens
  end,
  mask = function(c, s)
    local shape = broadcast(c.dice, c.scores)
    local mask = c.dice:bool(shape, 70)
    c:say("mask %s", text_of(shape))
    if c.dice:chance(40) then
      c:say("some rows of it empty")
      mask = mask & c.dice:bool({s.tq, 1}, 60)
    end
    return mask
  end,
  key_mask = function(c, s)
    local shape = broadcast(c.dice, concat(s.batch, {s.tk}))
    c:say("key_mask %s", text_of(shape))
    return c.dice:bool(shape, c.dice:pick {0, 50, 80, 80})
  end,
  bias = function(c)
    local shape = broadcast(c.dice, c.scores)
    local bias = c:leaf("bias", shape)
    c:say("bias %s", text_of(shape))
    if c.dice:chance(35) then
      c:say("some of it -inf")
      bias:masked_fill_(c.dice:bool(shape, 30), -math.huge)
    end
    return function(leaves) return leaves.bias end
  end,
  alibi = function(c, s)
    if c.dice:chance(50) then
      c:say("alibi")
      return true
    end
    local slopes = c.dice:normal {s.heads}
    c:say("alibi of own slopes")
    if s.heads > 0 and c.dice:chance(50) then return slopes:totable() end
    return function(leaves) return slopes:to(leaves.dtype) end
  end,
  sinks = function(c, s)
    c:leaf("sinks", {s.heads})
    c:say("sinks")
    return function(leaves) return leaves.sinks end
  end,
  softcap = function(c)
    local value = c.dice:pick {0.5, 1.5, 10}
    c:say("softcap=%g", value)
    return value
  end,
  scale = function(c, s)
    local value = c.dice:pick {0.3, 1, -0.5, s.tk <= MANY and 0 or 0.1}
    c:say("scale=%g", value)
    return value
  end,
  dropout = function(c)
    local value = c.dice:pick {0.1, 0.3, 0.5, 0.9, 1}
    c.drop_seed = c.dice:int(0, 1 << 31)
    c:say("dropout=%g of seed %d", value, c.drop_seed)
    return value
  end,
}
-- In an order, so that a seed decides.
local DESCRIPTIONS <const> = {
  {"causal", 40}, {"window", 20}, {"valid_lens", 20}, {"mask", 25},
  {"key_mask", 20}, {"bias", 30}, {"alibi", 15}, {"sinks", 20},
  {"softcap", 15}, {"scale", 20}, {"dropout", 20},
}

-- -- all together ------------------------------------------------------------

local Combination = {}
Combination.__index = Combination

function Combination:say(...) table.insert(self.said, string.format(...)) end

function Combination:leaf(name, shape)
  self.leaves[name] = self.dice:normal(shape)
  table.insert(self.names, name)
  return self.leaves[name]
end

local function without_heads(t) return t:squeeze(-3) end

return function(seed)
  local dice = Dice(seed)
  local c = setmetatable({dice = dice, said = {}, leaves = {}, names = {}},
    Combination)
  local s = draw_sizes(dice)
  c.scores = concat(s.batch, {s.heads, s.tq, s.tk})
  local inputs = draw_qkv(c, s)
  local drawn = {}
  for _, one in ipairs(DESCRIPTIONS) do
    local name, percent = table.unpack(one)
    if dice:chance(percent) then drawn[name] = describe[name](c, s) end
  end
  local wanted = dice:chance(85) and 100 or 40
  c.wants = {}
  for _, name in ipairs(c.names) do
    if dice:chance(wanted) then table.insert(c.wants, name) end
  end
  if #c.wants < #c.names then
    c:say("gradients of: %s", table.concat(c.wants, " "))
  end
  if s.plain then c:say("without heads") end

  --- The arguments of a call; with `heads`, always [.. H T D].
  function c.call(leaves, heads)
    local options = {}
    for name, value in pairs(drawn) do
      options[name] = type(value) == "function" and value(leaves) or value
    end
    if c.drop_seed then options.generator = heed.Generator(c.drop_seed) end
    local q, k, v = inputs(leaves)
    if s.plain and not heads then
      q, k, v = without_heads(q), without_heads(k), without_heads(v)
    end
    return q, k, v, options
  end

  c.plain = s.plain
  c.out_shape = concat(s.batch, {s.heads, s.tq, s.dv})
  if s.plain then
    table.remove(c.out_shape, 1)
    c.weights_shape = {s.tq, s.tk}
  else
    c.weights_shape = c.scores
  end
  -- about how large scores and their changes are
  c.reach = math.abs(drawn.scale or 1) * (drawn.scale and s.d or s.d ^ 0.5)
  c.need_weights = dice:chance(40)
  c.score = not c.drop_seed and dice:chance(15)
  c.text = table.concat(c.said, ", ")
  return c
end
