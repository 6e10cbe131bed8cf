--- RelativePositionBias: a learned number for each head and distance, added to
-- the scores of attention, as in T5 (Raffel et al., 2020).
--
-- Distances share a number by buckets: each short one has its own, longer ones
-- share it the more the longer they are, and all from `max_distance` on have
-- the last one. Keys behind the query have half of the buckets; without
-- `bidirectional` they have that of distance 0, and are masked.

local check = require "heed.check"
local core = require "heed.core"
local initialise = require "heed.nn.initialise"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"

local ops <const> = core.ops
local NAME <const> = "RelativePositionBias"

local RelativePositionBias = Module:extend(NAME)

local OPTIONS <const> = {
  num_buckets = 32, max_distance = 128, bidirectional = true,
  generator = check.NONE,
}

--- Makes a layer with the parameter `weight` [num_buckets num_heads] of normal
-- numbers.
-- @function RelativePositionBias
-- @tparam integer num_heads
-- @tparam[opt] table options `num_buckets`, 32 by default; `max_distance`, 128
-- by default; `bidirectional`, true by default, `false` for a decoder;
-- `generator`
-- @raise when num_buckets is not a multiple of 4 (2 without `bidirectional`)
-- @usage
-- local attention = nn.MultiHeadAttention(16, 4)
-- local relative, x = nn.RelativePositionBias(4), heed.randn(2, 5, 16)
-- local y = attention(x, {bias = relative(x:size(2))})
function RelativePositionBias:init(num_heads, options)
  local o <const> = check.options(NAME, options, OPTIONS)
  self.num_heads = check.integer(NAME, "num_heads", num_heads, 1)
  self.bidirectional = o.bidirectional
  local sides <const> = o.bidirectional and 2 or 1
  self.num_buckets = check.integer(NAME, "num_buckets", o.num_buckets,
    2 * sides)
  if self.num_buckets % (2 * sides) ~= 0 then
    check.fail("%s: num_buckets must be a multiple of %d, got %d", NAME,
      2 * sides, self.num_buckets)
  end
  self.side = self.num_buckets // sides -- buckets of one direction
  self.max_distance = check.integer(NAME, "max_distance", o.max_distance,
    self.side // 2 + 1)
  self.weight = parameter.zeros(self.num_buckets, num_heads)
  initialise.normal_(self.weight, 0.0, 1.0, {generator = o.generator})
end

-- The bucket, from 0, of a distance of one direction.
local function bucket_of(self, distance)
  local exact <const> = self.side // 2
  if distance < exact then return distance end
  local share <const> = math.log(distance / exact) /
    math.log(self.max_distance / exact)
  -- a power that rounding put just below a whole number belongs above
  local bucket <const> = exact +
    math.floor(share * (self.side - exact) + 1e-9)
  return math.min(bucket, self.side - 1)
end

--- The bucket of a key at a distance from its query.
-- @tparam integer place of the key less that of the query
-- @treturn integer row of `weight`, from 1
-- @usage return nn.RelativePositionBias(4):bucket(-3) --> 4
function RelativePositionBias:bucket(place)
  if place <= 0 then return 1 + bucket_of(self, -place) end
  return self.bidirectional and 1 + self.side + bucket_of(self, place) or 1
end

--- The numbers to add to the scores. As in attention, the last query stands
-- beside the last key: with a cache, `query_length` is that of the new steps.
-- @tparam integer query_length
-- @tparam[opt] integer key_length as many by default
-- @return tensor [H query_length key_length], the option `bias` of attention
-- @usage
-- local bias, layer = nn.RelativePositionBias(4), nn.MultiHeadAttention(16, 4)
-- local y = layer(heed.randn(2, 5, 16), {bias = bias(5)})
function RelativePositionBias:forward(query_length, key_length)
  local tq <const> = check.integer(NAME, "query_length", query_length, 0)
  local tk <const> = check.integer(NAME, "key_length", key_length or tq, 0)
  local buckets = {} -- of places 1 - tk .. tk - 1 or more
  local reach <const> = math.max(tq, tk)
  for place = 1 - reach, reach - 1 do
    buckets[place + reach] = self:bucket(place)
  end
  if tq == 0 or tk == 0 then
    return ops.zeros({self.num_heads, tq, tk}, self.weight.dtype)
  end
  local query = ops.unsqueeze(ops.arange(tk - tq + 1, tk), 2)
  local place = ops.sub(ops.arange(1, tk), query) -- [Tq Tk]
  local ids = ops.reshape(ops.index_select(
    core.tensor(buckets, {dtype = "int64"}),
    ops.flatten(ops.add(place, reach))), {tq, tk})
  return ops.permute(ops.embedding(ids, self.weight), {3, 1, 2})
end

function RelativePositionBias:extra()
  return ("%d, num_buckets = %d"):format(self.num_heads, self.num_buckets)
end

return RelativePositionBias
