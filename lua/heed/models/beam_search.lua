--- Beam search: the most probable sequences, token by token.
--
-- Of each sentence the `beam` best beginnings are kept; a step scores all ways
-- to go on with them. A sequence that has ended counts with its log
-- probability divided by length ^ length_penalty. A sentence is done when its
-- best beginning could no longer overtake what has ended.

local heed = require "heed"
local check = require "heed.check"

local OPTIONS <const> = {
  bos = check.NONE, eos = check.NONE, beam = 1, max_length = check.NONE,
  length_penalty = 1.0,
}

local function read_options(options, longest)
  local o = check.options("beam_search", options, OPTIONS)
  check.integer("beam_search", "bos", o.bos, 1)
  check.integer("beam_search", "eos", o.eos, 1)
  check.integer("beam_search", "beam", o.beam, 1)
  check.number("beam_search", "length_penalty", o.length_penalty)
  if o.max_length == nil then o.max_length = longest end
  check.integer("beam_search", "max_length", o.max_length, 1)
  o.max_length = math.min(o.max_length, longest)
  return o
end

-- A beginning is {sentence, score, token, before}: a list from its end.
local function ids_of(beginning)
  local reversed = {}
  while beginning.before do
    reversed[#reversed + 1] = beginning.token
    beginning = beginning.before
  end
  local ids = {}
  for i = #reversed, 1, -1 do ids[#ids + 1] = reversed[i] end
  return ids
end

-- Higher scores first; of equal ones the earlier row and place.
local function better(a, b)
  if a.score ~= b.score then return a.score > b.score end
  if a.row ~= b.row then return a.row < b.row end
  return a.place < b.place
end

-- All continuations of each sentence's rows, the best first.
local function expand(rows, values, places)
  local by_sentence, order = {}, {}
  for r, row in ipairs(rows) do
    local list = by_sentence[row.sentence]
    if not list then
      list = {}
      by_sentence[row.sentence] = list
      order[#order + 1] = row.sentence
    end
    for place, value in ipairs(values[r]) do
      list[#list + 1] = {
        sentence = row.sentence, score = row.score + value, row = r,
        place = place, token = places[r][place], before = row,
      }
    end
  end
  for _, sentence in ipairs(order) do
    table.sort(by_sentence[sentence], better)
  end
  return by_sentence, order
end

-- What is best of a sentence so far among those that have ended.
local function finish(best, sentence, score, beginning)
  local old = best[sentence]
  if not old or score > old.score then
    best[sentence] = {score = score, ends = beginning}
  end
end

-- The rows that go on: of each sentence the `beam` best that have not ended.
local function advance(rows, values, places, length, o, best, ended)
  local by_sentence, order = expand(rows, values, places)
  local kept = {}
  for _, sentence in ipairs(order) do
    local going = {}
    for _, c in ipairs(by_sentence[sentence]) do
      if #going == o.beam then break end
      if c.token == o.eos then
        ended[sentence] = (ended[sentence] or 0) + 1
        finish(best, sentence, c.score / length ^ o.length_penalty, c.before)
        if ended[sentence] == o.beam then break end
      else
        going[#going + 1] = c
      end
    end
    local top = going[1]
    local hopeless = best[sentence] and top and
      -- scores only fall, so the longest length is the kindest
      top.score / o.max_length ^ o.length_penalty <= best[sentence].score
    if (ended[sentence] or 0) < o.beam and not hopeless then
      table.move(going, 1, #going, #kept + 1, kept)
    end
  end
  return kept
end

-- Does row i go on from row i, for all of them?
local function is_same(kept, n)
  if #kept ~= n then return false end
  for i, c in ipairs(kept) do
    if c.row ~= i then return false end
  end
  return true
end

--- Searches.
-- @tparam integer n sentences
-- @tparam table model `next(tokens)`: the log probabilities [N V] of what
-- follows the last tokens, int64 [N 1], of N rows; `reorder(index)`: the rows
-- become those with these numbers, int64 [M]. There are n rows at first
-- @tparam integer longest most tokens that the model can take
-- @tparam table options `bos`, `eos`: ids; `beam` (1); `max_length` (longest);
-- `length_penalty` (1)
-- @treturn {{integer,...},...} ids of each sentence, without bos and eos
-- @treturn {number,...} their scores
-- @usage
-- -- a model to which id 3 always follows, and after four of them the end, 2
-- local length = 0
-- local ids = beam_search(1, {
--   next = function()
--     length = length + 1
--     return heed.tensor {{0, length > 4 and 9 or 0, 5.0, 1}}:log_softmax(-1)
--   end,
--   reorder = function() end,
-- }, 10, {bos = 1, eos = 2, beam = 1})
-- return ids[1] --> 3 3 3 3
local function beam_search(n, model, longest, options)
  local o <const> = read_options(options, longest)
  local rows, best, ended = {}, {}, {}
  for i = 1, n do rows[i] = {sentence = i, score = 0.0, token = o.bos} end
  local length = 0
  while #rows > 0 and length < o.max_length do
    length = length + 1
    local tokens = {}
    for i, row in ipairs(rows) do tokens[i] = {row.token} end
    local scores = model.next(heed.tensor(tokens, {dtype = "int64"}))
    -- one more than the beam: of the best, one may be the end
    local k = math.min(o.beam + 1, scores:size(-1))
    local values, places = scores:topk(k)
    local kept = advance(rows, values:totable(), places:totable(), length, o,
      best, ended)
    if #kept > 0 and not is_same(kept, #rows) then
      local index = {}
      for i, c in ipairs(kept) do index[i] = c.row end
      model.reorder(heed.tensor(index, {dtype = "int64"}))
    end
    rows = kept
  end
  for _, row in ipairs(rows) do
    if not best[row.sentence] then -- cut off at max_length
      finish(best, row.sentence, row.score / length ^ o.length_penalty, row)
    end
  end
  local ids, scores = {}, {}
  for i = 1, n do
    local b = best[i]
    ids[i] = b and ids_of(b.ends) or {}
    scores[i] = b and b.score or -math.huge
  end
  return ids, scores
end

return beam_search
