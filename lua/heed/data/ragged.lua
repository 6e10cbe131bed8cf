--- Lists of integers of different lengths, kept as one flat tensor.
--
-- A corpus of token ids is millions of small numbers: as Lua tables they would
-- weigh on every collection; as two tensors they cost nothing.

local heed = require "heed"
local check = require "heed.check"
local dataset = require "heed.data.dataset"

local Ragged = {}
Ragged.__name = "Ragged"

--- Returns the lists as a Ragged, a dataset of lists.
-- @function Ragged
-- @tparam table lists a list of lists of integers; a list may be empty
-- @treturn Ragged with the fields `flat`, int64 (total): all lists one after
-- another; `starts` and `lengths`, int64 (n): where each begins, from 1, and
-- how long it is; `#ragged` is n
-- @usage
-- local ragged = heed.data.Ragged {{5, 6, 7}, {8}}
-- return ragged:batch({2, 1}, {pad = 1}) --> 8, 1, 1, 5, 6, 7, 1, 3
local function new(_, lists)
  check.kind("Ragged", "lists", lists, "table")
  local flat, starts, lengths = {}, {}, {}
  local at = 0
  for i, list in ipairs(lists) do
    if type(list) ~= "table" then
      check.fail("Ragged: lists[%d] must be a list of integers, got %s", i,
        check.show(list))
    end
    local n = #list
    table.move(list, 1, n, at + 1, flat)
    starts[i], lengths[i] = at + 1, n
    at = at + n
  end
  local ints <const> = {dtype = "int64"}
  return setmetatable({
    length = #lists,
    flat = check.integers("Ragged", "lists", flat),
    starts = heed.tensor(starts, ints),
    lengths = heed.tensor(lengths, ints),
  }, Ragged)
end

-- List i as a Lua table.
function Ragged:fetch(i)
  local start <const> = self.starts[i]:item()
  local n <const> = self.lengths[i]:item()
  if n == 0 then return {} end
  return self.flat[{{start, start + n - 1}}]:totable()
end

--- Returns lists as the rows of one tensor, filled up to the longest of them.
-- @param rows their numbers, from 1: a Lua list or an int64 tensor (b)
-- @tparam table options `pad`, the integer to fill up with (default 0)
-- @treturn tensor int64 (b, longest)
-- @treturn tensor their lengths, int64 (b)
-- @usage
-- local ragged = heed.data.Ragged {{5, 6, 7}, {8}}
-- local ids, lengths = ragged:batch({2, 1}, {pad = 1}); lengths --> 1, 3
function Ragged:batch(rows, options)
  options = check.types("batch", options, {pad = "number"})
  if not heed.is_tensor(rows) then
    rows = heed.tensor(rows, {dtype = "int64"})
  end
  local starts <const> = self.starts:index_select(rows)
  local lengths <const> = self.lengths:index_select(rows) -- [B]
  local longest <const> = #rows > 0 and lengths:max():item() or 0
  local pad <const> = options.pad or 0
  if longest == 0 then return heed.zeros({#rows, 0}, "int64"), lengths end
  local step <const> = heed.arange(0, longest - 1) -- [T]
  local inside <const> = step:lt(lengths:unsqueeze(2)) -- [B T]
  local places <const> = (starts:unsqueeze(2) + step):minimum(#self.flat)
  return heed.where(inside, self.flat:index_select(places), pad), lengths
end

Ragged.new = new
return dataset.extend(Ragged)
