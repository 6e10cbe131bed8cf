--- The model BPE of tokenizer.json: characters, joined by the pairs of
-- `merges`, the first of them first (Sennrich, Haddow and Birch, 2016).

local check = require "heed.check"
local fallback = require "heed.text.hub.fallback"
local merge = require "heed.text.merge"
local part = require "heed.text.hub.part"
local unicode = require "heed.core".unicode
local vocabulary = require "heed.text.hub.vocabulary"

-- The two tokens of a merge: a list, or a text with a space between.
local function pair_of(name, i, pair)
  if type(pair) == "string" then
    local a <const>, b <const> = pair:match "^(.+) (.+)$"
    if a then return a, b end
  elseif type(pair) == "table" and type(pair[1]) == "string" and
      type(pair[2]) == "string" then
    return pair[1], pair[2]
  end
  check.fail("%s: merges[%d] must be two tokens, got %s", name, i,
    check.show(pair))
end

-- The merges by rank, and the rank of each pair.
local function read_merges(name, merges, ids, prefix)
  check.kind(name, "merges", merges, "table")
  local learnt, rank = {}, {}
  for i, pair in ipairs(merges) do
    local a <const>, b <const> = pair_of(name, i, pair)
    local joined <const> = a .. (b:sub(1, #prefix) == prefix and
      b:sub(#prefix + 1) or b)
    for _, token in ipairs {a, b, joined} do
      if not ids[token] then
        check.fail("%s: merges[%d]: %s is not in vocab", name, i,
          check.show(token))
      end
    end
    learnt[i] = {ids[a], ids[b], ids[joined]}
    local key <const> = ids[a] << 32 | ids[b]
    rank[key] = rank[key] or i
  end
  return learnt, rank
end

-- Adds the id of unknown characters; those beside each other may be one.
local function add_unknown(list, unknown, fuse)
  if unknown and not (fuse and list.was_unknown) then
    list[#list + 1] = unknown
  end
  list.was_unknown = true
end

--- Returns the ids of the vocabulary, and a function from a piece of text to
-- its ids.
return function(c, name)
  local ids <const> = vocabulary.read(name, c.vocab)
  local prefix <const> = part.string(name, c, "continuing_subword_prefix", "")
  local suffix <const> = part.string(name, c, "end_of_word_suffix", "")
  local learnt <const>, rank <const> = read_merges(name, c.merges, ids, prefix)
  local fuse <const> = part.boolean(name, c, "fuse_unk", false)
  local whole <const> = part.boolean(name, c, "ignore_merges", false)
  local unknown <const> = ids[part.string(name, c, "unk_token", "")]
  local byte_ids <const> = part.boolean(name, c, "byte_fallback", false) and
    fallback.ids(ids)
  if type(c.dropout) == "number" and c.dropout > 0 then
    check.fail("%s: dropout must be 0, got %g", name, c.dropout)
  end

  return ids, function(piece)
    if whole and ids[piece] then return {ids[piece]} end
    local chars <const> = unicode.characters(piece)
    local list = {}
    for i, char in ipairs(chars) do
      local token <const> = (i > 1 and prefix or "") .. char
        .. (i == #chars and suffix or "")
      if ids[token] then
        list[#list + 1], list.was_unknown = ids[token], false
      elseif byte_ids then
        fallback.spell(byte_ids, token, list)
        list.was_unknown = false
      else
        add_unknown(list, unknown, fuse)
      end
    end
    return merge(list, rank, learnt)
  end
end
