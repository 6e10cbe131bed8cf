--- Batches of examples of about one length, so that little is padding.

local heed = require "heed"
local check = require "heed.check"

-- Batches that are sorted together: enough for even lengths, few enough that
-- the order stays random.
local POOL <const> = 100

-- Sorts numbers by length, then by number, so that the order is defined.
local function by_length(lengths)
  return function(a, b)
    local m <const>, n <const> = lengths[a], lengths[b]
    if m ~= n then return m < n end
    return a < b
  end
end

-- A list in random order.
local function shuffled(list, generator)
  local result = {}
  for i, place in ipairs(heed.randperm(#list, generator):totable()) do
    result[i] = list[place]
  end
  return result
end

--- Returns one epoch of batches: every example once, in random order, those of
-- a batch of about one length.
-- @param lengths of the examples: a list of integers or an int64 tensor (n)
-- @tparam table options `size`, examples of a batch (default 64); `shuffle`
-- (default true; without, batches go by rising length); `generator` (default
-- the default one)
-- @treturn {{integer,...},...} lists of numbers of examples, from 1
-- @usage
-- for _, rows in ipairs(data.batches(corpus.lengths, {size = 2})) do
--   print(corpus:batch(rows))
-- end
local function batches(lengths, options)
  options = check.types("batches", options,
    {size = "number", shuffle = "boolean", generator = "userdata"})
  local size <const> = check.integer("batches", "size", options.size or 64, 1)
  if heed.is_tensor(lengths) then lengths = lengths:totable() end
  local order = {}
  for i = 1, #lengths do order[i] = i end
  local generator <const> = {generator = options.generator}
  local shuffle <const> = options.shuffle ~= false
  if shuffle and #order > 0 then order = shuffled(order, generator) end

  local result = {}
  local pool <const> = shuffle and size * POOL or math.max(#order, 1)
  for first = 1, #order, pool do
    local part <const> = table.move(order, first,
      math.min(first + pool - 1, #order), 1, {})
    table.sort(part, by_length(lengths))
    for i = 1, #part, size do
      result[#result + 1] = table.move(part, i,
        math.min(i + size - 1, #part), 1, {})
    end
  end
  if shuffle and #result > 0 then result = shuffled(result, generator) end
  return result
end

return batches
