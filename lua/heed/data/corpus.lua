--- From the pairs of a file to what a translator trains on: what was left out,
-- a test that is held out, and sentences as ids.

local heed = require "heed"
local check = require "heed.check"
local pairs_file = require "heed.data.pairs"
local Ragged = require "heed.data.ragged"

local corpus = {}

--- Returns how many pairs there are, and which lines were left out, in words.
-- @tparam table pairs as `read_pairs` returns them
-- @treturn string
-- @usage
-- local path = os.tmpname()
-- io.open(path, "w"):write("Hi.\tSalut.\n\n"):close()
-- local pairs = assert(heed.data.read_pairs(path))
-- os.remove(path)
-- return heed.data.describe_pairs(pairs)
-- --> 1 pairs; lines left out: 1 empty (first: line 2)
function corpus.describe_pairs(pairs)
  check.kind("describe_pairs", "pairs", pairs, "table")
  local parts = {}
  for _, reason in ipairs(pairs_file.reasons) do
    local n <const> = pairs.skipped[reason]
    if n > 0 then
      parts[#parts + 1] = ("%d %s (first: line %d)"):format(n,
        (reason:gsub("_", " ")), pairs.first[reason])
    end
  end
  local text <const> = pairs.n .. " pairs"
  if #parts == 0 then return text end
  return text .. "; lines left out: " .. table.concat(parts, ", ")
end

--- Splits pairs by chance into some to train on and some to test with: a source
-- is on one side with all its targets, so that no test sentence was seen.
-- @tparam table pairs `source` and `target`, lists of n strings; `n`
-- @tparam integer sources how many sources to hold out
-- @tparam[opt] table options `generator` (the default one)
-- @treturn table the other pairs, in their order
-- @treturn table what is held out, as `group_references` returns it
-- @raise when there are not more distinct sources than that
-- @usage
-- local pairs = {source = {"a", "b", "a"}, target = {"A", "B", "A!"}, n = 3}
-- local train, test = heed.data.hold_out(pairs, 1)
-- return train.n + #test.references[1], train.source[1] ~= test.source[1]
-- --> 3, true
function corpus.hold_out(pairs, sources, options)
  local o <const> = check.types("hold_out", options, {generator = "userdata"})
  local all <const> = pairs_file.group_references(pairs)
  check.integer("hold_out", "sources", sources, 0)
  if sources >= all.n then
    check.fail("hold_out: sources must be less than the %d that there are, "
      .. "got %d", all.n, sources)
  end
  local held, test = {}, {source = {}, references = {}, n = sources}
  local order <const> = heed.randperm(all.n, {generator = o.generator})
  for i = 1, sources do
    local row <const> = order[i]:item()
    held[all.source[row]] = true
    test.source[i], test.references[i] = all.source[row], all.references[row]
  end
  local train = {source = {}, target = {}, n = 0}
  for i = 1, #pairs.source do
    if not held[pairs.source[i]] then
      train.n = train.n + 1
      train.source[train.n] = pairs.source[i]
      train.target[train.n] = pairs.target[i]
    end
  end
  return train, test
end

--- Returns pairs as ids: the sources as they are, the targets between `<bos>`
-- and `<eos>`.
-- @tparam table pairs `source` and `target`, lists of strings
-- @param tokenizer with `encode`, and the ids `bos` and `eos`
-- @tparam[opt] table options `max_length`: pairs are left out whose source, or
-- target with one end, has more ids
-- @treturn table `source` and `target`, Ragged
-- @treturn integer how many pairs were left out
-- @usage
-- local pairs = {source = {"He is here."}, target = {"Il est ici."}}
-- local ids, left_out = heed.data.encode_pairs(pairs, tokenizer)
-- return ids.target[1][1] == tokenizer.bos, left_out --> true, 0
function corpus.encode_pairs(pairs, tokenizer, options)
  check.kind("encode_pairs", "pairs", pairs, "table")
  local o <const> = check.types("encode_pairs", options,
    {max_length = "number"})
  local longest <const> = o.max_length or math.huge
  local source, target, left_out = {}, {}, 0
  for i = 1, #pairs.source do
    local src <const> = tokenizer:encode(pairs.source[i])
    local tgt <const> = tokenizer:encode(pairs.target[i])
    if #src > longest or #tgt + 1 > longest then
      left_out = left_out + 1
    else
      table.insert(tgt, 1, tokenizer.bos)
      tgt[#tgt + 1] = tokenizer.eos
      source[#source + 1], target[#target + 1] = src, tgt
    end
  end
  return {source = Ragged(source), target = Ragged(target)}, left_out
end

return corpus
