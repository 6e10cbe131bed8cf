--- Texts as ids, for networks.

local check = require "heed.check"

local encode = {}

--- The ids of a text, with the special ones; raises when there are none.
-- @tparam string func the function that messages name
-- @param tokenizer
-- @tparam string text number i
-- @tparam integer i
function encode.one(func, tokenizer, text, i)
  local ids <const> = tokenizer:encode(text, {special = true})
  if #ids == 0 then check.fail("%s: text %d has no token", func, i) end
  return ids
end

--- The same of a list of texts, each behind `prefix`; raises when one has more
-- than the network reads.
-- @treturn {{integer,...},...}
function encode.all(func, network, tokenizer, texts, prefix)
  local lists = {}
  for i, text in ipairs(texts) do
    local ids <const> = encode.one(func, tokenizer, prefix .. text, i)
    if network.max_length and #ids > network.max_length then
      check.fail("%s: text %d has %d tokens, the model reads %d", func, i,
        #ids, network.max_length)
    end
    lists[i] = ids
  end
  return lists
end

--- Goes through lists in batches of about one length, the shortest first: what
-- a batch holds, and the places of these in `lists`.
-- @tparam {table,...} lists
-- @tparam integer size
-- @treturn function iterator
function encode.batches(lists, size)
  local order = {}
  for i = 1, #lists do order[i] = i end
  table.sort(order, function(a, b)
    if #lists[a] ~= #lists[b] then return #lists[a] < #lists[b] end
    return a < b
  end)
  local done = 0
  return function()
    if done == #order then return nil end
    local batch, places = {}, {}
    for i = done + 1, math.min(done + size, #order) do
      batch[#batch + 1], places[#places + 1] = lists[order[i]], order[i]
    end
    done = done + #batch
    return batch, places
  end
end

return encode
