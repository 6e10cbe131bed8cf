--- Beam search: the most probable sequences, token by token.
--
-- Of each sentence the `beam` best beginnings are kept; a step scores all ways
-- to go on with them. One that ends while it is among the `beam` best counts
-- with its log probability divided by length ^ length_penalty (Wu et al.,
-- 2016), its end being part of the length. At the longest length the best
-- beginnings count as if they had ended there.

local heed = require "heed"
local check = require "heed.check"

local OPTIONS <const> = {
  bos = check.NONE, eos = check.NONE, beam = 1, max_length = check.NONE,
  length_penalty = 1.0, early_stopping = check.NONE,
}

local function read_options(options, longest)
  local o = check.options("beam_search", options, OPTIONS)
  check.integer("beam_search", "bos", o.bos, 1)
  check.integer("beam_search", "eos", o.eos, 1)
  check.integer("beam_search", "beam", o.beam, 1)
  check.number("beam_search", "length_penalty", o.length_penalty)
  if o.early_stopping == nil then o.early_stopping = true end
  if type(o.early_stopping) ~= "boolean" and o.early_stopping ~= "never" then
    check.fail('beam_search: early_stopping must be true, false or "never", '
      .. "got %s", check.show(o.early_stopping))
  end
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

-- Adds a result to those of a sentence, {{score, ends},...}, of which the
-- `beam` best are kept, the best first.
local function finish(results, score, beginning, beam)
  local at = #results + 1
  while at > 1 and results[at - 1].score < score do at = at - 1 end
  table.insert(results, at, {score = score, ends = beginning})
  results[beam + 1] = nil
end

-- Is a sentence done whose best beginning that goes on has this score?
local function is_done(results, score, length, o)
  if #results == 0 then return false end
  local penalty <const> = o.length_penalty
  -- scores only fall: at this length they would count most
  local kindest <const> = penalty > 0 and o.max_length or length + 1
  if score / kindest ^ penalty <= results[1].score then return true end
  if #results < o.beam then return false end
  if o.beam == 1 then return true end -- the greedy choice, whatever the rule
  if o.early_stopping == "never" then return false end
  return o.early_stopping or
    score / length ^ penalty <= results[o.beam].score
end

-- The rows that go on: of each sentence the `beam` best that have not ended.
local function advance(rows, values, places, length, o, results)
  local by_sentence, order = expand(rows, values, places)
  local kept = {}
  for _, sentence in ipairs(order) do
    local going, own = {}, results[sentence]
    for rank, c in ipairs(by_sentence[sentence]) do
      local ends <const> = c.token == o.eos
      if rank <= o.beam and (ends or length == o.max_length) then
        finish(own, c.score / length ^ o.length_penalty, ends and c.before or c,
          o.beam)
      end
      if not ends then going[#going + 1] = c end
      if #going == o.beam then break end
    end
    if going[1] and not is_done(own, going[1].score, length, o) then
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

-- Are rows i of both lists of one sentence, for all of them?
local function are_of_one(kept, rows)
  if #kept ~= #rows then return false end
  for i, c in ipairs(kept) do
    if c.sentence ~= rows[i].sentence then return false end
  end
  return true
end

--- Searches.
-- @tparam integer n sentences
-- @tparam table model `next(tokens)`: the log probabilities [N V] of what
-- follows the last tokens, int64 [N 1], of N rows; `reorder(index)`: the rows
-- become those with these numbers, int64 [M]; a second argument says whether
-- the sentence of each row stays what it was. There are n rows at first
-- @tparam integer longest most tokens that the model can take
-- @tparam table options
--
-- * `bos`, `eos`: ids
-- * `beam` (1): with 1 it is the greedy choice, up to the first end
-- * `max_length` (longest): most ids of a result, without `bos`, with `eos`
-- * `length_penalty` (1): above 0 favours long results, below 0 short ones
-- * `early_stopping` (true): a sentence is done with `beam` results; if false,
--   when the best that goes on is also no better, for its present length, than
--   the worst of these; "never": when nothing can become better than the best
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
  local rows, results = {}, {}
  for i = 1, n do
    rows[i] = {sentence = i, score = 0.0, token = o.bos}
    results[i] = {}
  end
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
      results)
    if length < o.max_length and #kept > 0 and not is_same(kept, #rows) then
      local index = {}
      for i, c in ipairs(kept) do index[i] = c.row end
      model.reorder(heed.tensor(index, {dtype = "int64"}),
        are_of_one(kept, rows))
    end
    rows = kept
  end
  local ids, scores = {}, {}
  for i = 1, n do
    local best = results[i][1]
    ids[i] = best and ids_of(best.ends) or {}
    scores[i] = best and best.score or -math.huge
  end
  return ids, scores
end

return beam_search
