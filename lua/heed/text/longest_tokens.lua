--- The tokens of a word by WordPiece: from its start the longest that there is,
-- then the longest that goes on.

--- @tparam string word
-- @tparam table ids of tokens
-- @tparam string prefix of tokens that go on with a word
-- @tparam integer longest token, in bytes
-- @treturn {integer,...} ids; nil when the word cannot be spelt
-- @treturn {integer,...} the last byte of each in the word
return function(word, ids, prefix, longest)
  local found, ends = {}, {}
  local from = 1
  while from <= #word do
    local before <const> = from > 1 and prefix or ""
    local to = math.min(#word, from + longest - 1)
    local id
    while to >= from do
      id = ids[before .. word:sub(from, to)]
      if id then break end
      to = to - 1
    end
    if not id then return nil end
    found[#found + 1], ends[#ends + 1] = id, to
    from = to + 1
  end
  return found, ends
end
