--- What a generator draws, as a tree of choices that can be made again.
--
-- A generator makes its value from choices (leaves: an integer, a number) and
-- from other generators (nodes). The tree of a value is kept; drawing from a
-- changed tree gives another value of the same generator, so that shrinking
-- knows nothing of generators: it makes leaves simpler and lists shorter, and
-- what is composed of other generators shrinks with them. What a tree lacks is
-- the simplest choice, what it has too much is ignored.
--
-- A node may be marked for `heed.testing.shrink`: `list`, its first entry is
-- the number of those that follow; `grid`, from entry `first` on stand the
-- elements of a tensor of `shape`, whose shape is the list at `shape_at`.
local choices = {}

-- -- random numbers ----------------------------------------------------------

local Source = {}
Source.__index = Source

-- SplitMix64 (Steele, Lea and Flood, 2014): 64 bits for each number counted.
local function mix(z)
  z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
  z = (z ~ (z >> 27)) * 0x94D049BB133111EB
  return z ~ (z >> 31)
end

--- Returns a source of random numbers for example `n` of a seed.
function choices.source(seed, n)
  return setmetatable({state = mix(seed) + mix(n * 0x9E3779B9 + 1)}, Source)
end

local function bits(self)
  self.state = self.state + 0x9E3779B97F4A7C15
  return mix(self.state)
end

--- Returns an integer from `low` to `high`, any two.
function Source:integer(low, high)
  local span = high - low + 1 -- may wrap: as unsigned it is right, 0 is 2^64
  if span == 0 then return bits(self) end
  if span > 0 then return low + (bits(self) >> 1) % span end
  local v
  repeat v = bits(self) until math.ult(v, span)
  return low + v
end

--- Returns a number of [0, 1).
function Source:unit() return (bits(self) >> 11) * 2.0 ^ -53 end

--- Returns an item of a list.
function Source:pick(list) return list[self:integer(1, #list)] end

-- -- drawing -----------------------------------------------------------------

local Draw = {}
Draw.__index = Draw

local Generator = {}
Generator.__index = Generator
choices.Generator = Generator

--- Returns a generator from the function that draws its value.
function choices.generator(draw)
  return setmetatable({draw = draw}, Generator)
end

--- Is a value a generator?
function choices.is_generator(value)
  return type(value) == "table" and getmetatable(value) == Generator
end

--- Draws a value of another generator.
function Draw:__call(generator)
  local outer = self.frame
  outer.at = outer.at + 1
  local old = outer.old and outer.old[outer.at]
  local frame = {record = {}, at = 0, old = old and not old.spec and old or nil}
  outer.record[outer.at] = frame.record
  self.frame = frame
  local value = generator.draw(self)
  self.frame = outer
  return value
end

--- Draws a choice: `sample(source)` gives one at random, `fit(value)` an
-- allowed one near another (or nil), `simplest` is the simplest one, and
-- `simpler(value)` a list of simpler ones, the boldest first.
function Draw:leaf(spec)
  local frame = self.frame
  frame.at = frame.at + 1
  local value
  if self.source then
    value = spec.sample(self.source)
  else
    local old = frame.old and frame.old[frame.at]
    if old and old.spec then value = spec.fit(old.value) end
    if value == nil then value = spec.simplest end
  end
  frame.record[frame.at] = {value = value, spec = spec}
  return value
end

--- The node that is being drawn, to be marked, and the one that it follows.
function Draw:node() return self.frame.record, self.frame.old end

--- Lets the rest of this node follow another one than that of the tree.
function Draw:follow(node) self.frame.old = node end

--- How many entries the node has so far.
function Draw:count() return self.frame.at end

local function run(generator, draw)
  local root = {}
  draw.frame = {record = root, at = 0, old = draw.tree}
  local value = generator.draw(setmetatable(draw, Draw))
  return value, root
end

--- Draws a value at random.
-- @return the value
-- @treturn table its tree
function choices.sample(generator, source)
  return run(generator, {source = source})
end

--- Draws the value of a tree.
-- @return the value
-- @treturn table its tree, which may differ from the one given
function choices.replay(generator, tree)
  return run(generator, {tree = tree})
end

-- Appends what tells a tree from others.
local function write(entry, list)
  if entry.spec then
    local v = entry.value
    list[#list + 1] = math.type(v) == "float" and ("%.17g"):format(v)
      or tostring(v)
    return
  end
  list[#list + 1] = "("
  for _, child in ipairs(entry) do write(child, list) end
  list[#list + 1] = ")"
end

--- Returns a text that trees of the same choices share.
function choices.key(tree)
  local list = {}
  write(tree, list)
  return table.concat(list, " ")
end

return choices
