--- The model Unigram of tokenizer.json: the cut of a text whose tokens are the
-- most probable together (Kudo, 2018), found by going through the text once
-- (Viterbi). An unknown character is far less probable than any token.

local check = require "heed.check"
local fallback = require "heed.text.hub.fallback"
local part = require "heed.text.hub.part"

local PENALTY <const> = 10.0 -- below the least score

-- Ids by token; scores of those that come of a text (not of an entry whose
-- third item is false); for each first byte the length of the longest token;
-- the least score.
local function read_vocab(name, vocab)
  check.kind(name, "vocab", vocab, "table")
  local ids, scores, longest, least = {}, {}, {}, math.huge
  for i, entry in ipairs(vocab) do
    local token, score = nil, nil
    if type(entry) == "table" then token, score = entry[1], entry[2] end
    if type(token) ~= "string" or type(score) ~= "number" then
      check.fail("%s: vocab[%d] must be a token and its score, got %s", name,
        i, check.show(entry))
    end
    ids[token] = ids[token] or i
    if token ~= "" and entry[3] ~= false and not scores[token] then
      scores[token] = score
      local byte <const> = token:byte()
      longest[byte] = math.max(longest[byte] or 0, #token)
      if score < least then least = score end
    end
  end
  if least == math.huge then least = 0.0 end
  return ids, scores, longest, least
end

-- The best way to each place: where its last token begins, and its id (0: an
-- unknown character).
local function search(text, ids, scores, longest, unknown_score)
  local best, from_of, id_of = {[1] = 0.0}, {}, {}
  local n <const> = #text
  local at = 1
  while at <= n do
    local next_at = utf8.offset(text, 2, at)
    if not next_at or next_at > n + 1 then next_at = n + 1 end
    local so_far <const>, single = best[at], false
    for to = next_at - 1, math.min(n, at + (longest[text:byte(at)] or 0) - 1)
    do
      local token <const> = text:sub(at, to)
      local own <const> = scores[token]
      if own then
        local score <const> = so_far + own
        if not best[to + 1] or score > best[to + 1] then
          best[to + 1], from_of[to + 1], id_of[to + 1] = score, at, ids[token]
        end
        single = single or to == next_at - 1
      end
    end
    if not single then
      local score <const> = so_far + unknown_score
      if not best[next_at] or score > best[next_at] then
        best[next_at], from_of[next_at], id_of[next_at] = score, at, 0
      end
    end
    at = next_at
  end
  return from_of, id_of
end

--- Returns the ids of the vocabulary, and a function from a piece of text to
-- its ids.
return function(c, name)
  local ids <const>, scores <const>, longest <const>, least <const> =
    read_vocab(name, c.vocab)
  local byte_ids <const> = part.boolean(name, c, "byte_fallback", false) and
    fallback.ids(ids)
  local unknown
  if type(c.unk_id) == "number" then
    unknown = check.integer(name, "unk_id", c.unk_id, 0) + 1
  end

  return ids, function(piece)
    local from_of <const>, id_of <const> = search(piece, ids, scores, longest,
      least - PENALTY)
    local reversed = {} -- {id, first, last}; unknown neighbours are one
    local at = #piece + 1
    while at > 1 do
      local from <const>, id <const> = from_of[at], id_of[at]
      local following <const> = reversed[#reversed]
      if id == 0 and following and following[1] == 0 then
        following[2] = from
      else
        reversed[#reversed + 1] = {id, from, at - 1}
      end
      at = from
    end
    local list = {}
    for i = #reversed, 1, -1 do
      local id <const>, from <const>, to <const> = table.unpack(reversed[i])
      if id ~= 0 then
        list[#list + 1] = id
      elseif byte_ids then
        fallback.spell(byte_ids, piece:sub(from, to), list)
      elseif unknown then
        list[#list + 1] = unknown
      else
        check.fail("%s: %s has no token, and there is no unk_id", name,
          check.show(piece:sub(from, to)))
      end
    end
    return list
  end
end
