--- The batches of one epoch, as lists of numbers of items.

local heed = require "heed"
local core = require "heed.core"

local plan = {}

-- Batches that are sorted together: enough for even lengths, few enough that
-- the order stays random.
local POOL <const> = 100

-- A list in random order.
local function shuffled(list, generator)
  local result = {}
  if #list == 0 then return result end
  local order <const> = heed.randperm(#list, {generator = generator})
  for i, place in ipairs(order:totable()) do result[i] = list[place] end
  return result
end

local function numbers(n)
  local list = {}
  for i = 1, n do list[i] = i end
  return list
end

-- Sorts numbers by length, then by number, so that the order is defined.
local function by_length(lengths)
  return function(a, b)
    local m <const>, n <const> = lengths[a], lengths[b]
    if m ~= n then return m < n end
    return a < b
  end
end

-- Appends the batches of rows, whose lengths rise, to `result`. A batch with
-- its padding holds at most `max_tokens`.
local function cut(rows, o, result)
  local size <const> = o.batch_size or math.maxinteger
  local most <const> = o.max_tokens or math.maxinteger
  local batch = {}
  for _, row in ipairs(rows) do
    local full = #batch >= size
    if o.max_tokens then
      full = full or (#batch + 1) * o.lengths[row] > most
    end
    if full and #batch > 0 then
      result[#result + 1] = batch
      batch = {}
    end
    batch[#batch + 1] = row
  end
  if #batch > 0 then result[#result + 1] = batch end
end

-- How many items are sorted together.
local function pool_size(o)
  if not o.shuffle then return math.max(o.n, 1) end
  if o.batch_size then return o.batch_size * POOL end
  local sum = 0
  for i = 1, o.n do sum = sum + o.lengths[i] end
  local mean <const> = math.max(sum // math.max(o.n, 1), 1)
  return math.max(o.max_tokens // mean, 1) * POOL
end

local function of_about_one_length(o, generator)
  local order = numbers(o.n)
  if o.shuffle then order = shuffled(order, generator) end
  local result = {}
  local pool <const> = pool_size(o)
  for first = 1, o.n, pool do
    local part <const> = table.move(order, first,
      math.min(first + pool - 1, o.n), 1, {})
    table.sort(part, by_length(o.lengths))
    cut(part, o, result)
  end
  -- a pool is a whole number of batches: only the last one can be smaller
  if o.drop_last and #result > 0 and #result[#result] < o.batch_size then
    result[#result] = nil
  end
  return o.shuffle and shuffled(result, generator) or result
end

-- 63 random bits, as `torch.empty((), dtype=torch.int64).random_()`.
local function draw(generator)
  local high <const> = core.draw(generator)
  return (high << 32 | core.draw(generator)) & math.maxinteger
end

-- As PyTorch's loader draws: one number that it keeps for its workers, then,
-- from the default generator, the seed of one for the permutation; and at the
-- end of an epoch one more permutation, of which it uses nothing.
local function in_order(o, generator, is_own)
  local order = numbers(o.n)
  draw(generator)
  if o.shuffle then
    if not is_own then generator = heed.Generator(draw(generator)) end
    order = shuffled(order, generator)
    if is_own then shuffled(order, generator) end
  end
  local result = {}
  for i = 1, o.n, o.batch_size do
    local last <const> = math.min(i + o.batch_size - 1, o.n)
    if last - i + 1 == o.batch_size or not o.drop_last then
      result[#result + 1] = table.move(order, i, last, 1, {})
    end
  end
  return result
end

--- Returns the batches of an epoch, a list of lists of numbers from 1.
-- @tparam table o `n` items; `batch_size`; `shuffle`; `drop_last`; to batch by
-- length also `lengths`, a list, and perhaps `max_tokens`
-- @param generator nil: the default one
-- @tparam boolean is_own whether the generator is one that the user gave
function plan.epoch(o, generator, is_own)
  if o.lengths then return of_about_one_length(o, generator) end
  return in_order(o, generator, is_own)
end

return plan
