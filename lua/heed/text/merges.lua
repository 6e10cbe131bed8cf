--- Learns the merges of a byte-pair vocabulary.
--
-- All distinct words lie behind one another as symbols in one doubly linked
-- list. For each pair of neighbours there is a count and the places where it
-- stands; a merge visits only those places, and a heap gives the next pair.
-- Places and heap entries that have gone stale are found out when they are met.

local Heap = require "heed.text.heap"
local order = require "heed.text.order"

--- Longest piece that a merge may make, in bytes.
local MAX_BYTES <const> = 128

-- A symbol that is no piece: a rare character, or one that a merge took away.
local NONE <const> = 0

-- The linked list: symbol, neighbours (0: none) and how often its word occurs.
local function link(words, counts, symbols_of)
  local list = {symbol = {}, before = {}, after = {}, weight = {}}
  local at = 0
  for w, word in ipairs(words) do
    local symbols = symbols_of(word)
    local n = #symbols
    for i = 1, n do
      at = at + 1
      list.symbol[at] = symbols[i]
      list.before[at] = i > 1 and at - 1 or 0
      list.after[at] = i < n and at + 1 or 0
      list.weight[at] = counts[w]
    end
  end
  return list
end

local Learner = {}
Learner.__index = Learner

local function pair_key(a, b) return a << 32 | b end
local function pair_of(key) return key >> 32, key & 0xFFFFFFFF end

-- Counts the pair that starts at `place`, unless one of the two is no piece.
function Learner:add(a, b, weight, place)
  if a == NONE or b == NONE then return end
  local key = pair_key(a, b)
  local places = self.places[key]
  if not places then
    places = {}
    self.places[key] = places
  end
  places[#places + 1] = place
  self.count[key] = (self.count[key] or 0) + weight
  self.grown[key] = true
end

function Learner:remove(a, b, weight)
  if a == NONE or b == NONE then return end
  local key = pair_key(a, b)
  self.count[key] = self.count[key] - weight
end

function Learner:count_all()
  local list = self.list
  local symbol, after, weight = list.symbol, list.after, list.weight
  for place = 1, #symbol do
    local next_place = after[place]
    if next_place ~= 0 then
      self:add(symbol[place], symbol[next_place], weight[place], place)
    end
  end
end

-- Puts the pairs whose count has grown in line.
function Learner:queue()
  for key in pairs(self.grown) do
    local count = self.count[key]
    if count >= self.min_frequency then self.heap:push({count, key}) end
  end
  self.grown = {}
end

-- The pair to merge next, or nil. An entry whose pair has since become rarer
-- goes back in line at its present count.
function Learner:next()
  while true do
    local entry = self.heap:pop()
    if not entry then return nil end
    local key = entry[2]
    local a, b = pair_of(key)
    local count = self.count[key]
    if count == entry[1] then
      if #self.pieces[a] + #self.pieces[b] <= MAX_BYTES then return a, b end
    elseif count and count < entry[1] and count >= self.min_frequency then
      self.heap:push({count, key})
    end
  end
end

-- Makes one symbol `c` of every pair a b.
function Learner:merge(a, b, c)
  local list = self.list
  local symbol, before, after = list.symbol, list.before, list.after
  local key = pair_key(a, b)
  local places = self.places[key]
  -- From left to right, so that of "aaa" the first two become one.
  table.sort(places)
  for _, place in ipairs(places) do
    local second = after[place]
    if symbol[place] == a and second ~= 0 and symbol[second] == b then
      local left, right = before[place], after[second]
      local weight = list.weight[place]
      if left ~= 0 then
        self:remove(symbol[left], a, weight)
        self:add(symbol[left], c, weight, left)
      end
      if right ~= 0 then
        self:remove(b, symbol[right], weight)
        self:add(c, symbol[right], weight, place)
        before[right] = place
      end
      symbol[place], symbol[second] = c, NONE
      after[place] = right
    end
  end
  self.places[key], self.count[key], self.grown[key] = nil, nil, nil
end

local function new_learner(list, pieces, min_frequency)
  -- Most frequent first; of equals the smaller pair.
  local function first(x, y)
    if x[1] ~= y[1] then return x[1] > y[1] end
    local a, b = pair_of(x[2])
    local c, d = pair_of(y[2])
    if a ~= c then return order.less(pieces[a], pieces[c]) end
    if b ~= d then return order.less(pieces[b], pieces[d]) end
    return false
  end
  return setmetatable({
    list = list, pieces = pieces, min_frequency = min_frequency,
    count = {}, places = {}, grown = {}, heap = Heap.new(first),
  }, Learner)
end

--- Returns the merges in order, each as `{a, b, c}`, the ids of two pieces and
-- of the piece that they make; appends new pieces to `pieces` until it holds
-- `size`.
--
-- @tparam {string,...} words distinct words
-- @tparam {integer,...} counts how often each occurs
-- @tparam function symbols_of the ids of the characters of a word, 0 where a
-- character is no piece
-- @tparam {string,...} pieces all pieces so far, by id
-- @tparam integer size
-- @tparam integer min_frequency a pair that occurs less often is not merged
-- @tparam[opt] function join makes one piece of two (default: `..`)
local function learn(words, counts, symbols_of, pieces, size, min_frequency,
    join)
  local list = link(words, counts, symbols_of)
  local learner = new_learner(list, pieces, min_frequency)
  learner:count_all()
  learner:queue()

  local ids, merged = {}, {}
  for id, piece in ipairs(pieces) do ids[piece] = id end
  local merges = {}
  while #pieces < size do
    local a, b = learner:next()
    if not a then break end
    local piece = join and join(pieces[a], pieces[b]) or pieces[a] .. pieces[b]
    local c = ids[piece]
    if not c then
      c = #pieces + 1
      pieces[c], ids[piece] = piece, c
    end
    -- "abc" can come of "a bc" after "ab c", and give old pairs anew.
    local key = pair_key(a, b)
    if not merged[key] then merges[#merges + 1] = {a, b, c} end
    merged[key] = true
    learner:merge(a, b, c)
    learner:queue()
  end
  return merges
end

return {learn = learn, MAX_BYTES = MAX_BYTES}
