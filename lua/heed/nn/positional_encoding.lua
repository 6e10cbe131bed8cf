--- PositionalEncoding: adds sines and cosines of the position
-- (Vaswani et al., 2017).
--
--     pe[pos, 2i] = sin(pos / 10000^(2i / d))    pe[pos, 2i + 1] = cos(same)
--
-- with pos and i from 0; an odd d ends in a sine.

local check = require "heed.check"
local core = require "heed.core"
local Dropout = require "heed.nn.dropout"
local Module = require "heed.nn.module"

local ops <const> = core.ops

local NAME <const> = "PositionalEncoding"

local PositionalEncoding = Module:extend(NAME)

local OPTIONS <const> = {
  max_length = 5000, dropout = 0.0, batch_first = true,
  generator = check.NONE,
}

-- [length width], float32, computed in float64
local function make_table(length, width)
  local pairs_ = (width + 1) // 2
  local position = ops.to(ops.arange(0, length - 1), "float64")
  local pair = ops.to(ops.arange(0, pairs_ - 1), "float64")
  local frequency = ops.exp(ops.mul(pair, -2 * math.log(10000) / width))
  local angle = ops.mul(ops.unsqueeze(position, -1), frequency) -- [length w/2]
  local both = ops.stack({ops.sin(angle), ops.cos(angle)}, -1)
  local flat = ops.reshape(both, {length, 2 * pairs_})
  return ops.to(ops.contiguous(ops.slice(flat, 2, 1, width)), "float32")
end

-- Takes the width and the options that all such layers have.
function PositionalEncoding:settle(d_model, o)
  local name <const> = self.__name
  self.d_model = check.integer(name, "d_model", d_model, 1)
  self.max_length = check.integer(name, "max_length", o.max_length, 1)
  self.batch_first = o.batch_first
  self.dropout = Dropout(o.dropout, {generator = o.generator})
end

--- Makes a layer; the table `pe` is a buffer outside of the state.
-- @function PositionalEncoding
-- @tparam integer d_model width, also an odd one
-- @tparam[opt] table options `max_length`: longest sequence, 5000 by default;
-- `dropout` of the sum, 0 by default; `batch_first = false`: tensors are
-- [T B d_model]; `generator`
-- @usage local encode = nn.PositionalEncoding(16, {max_length = 64})
-- local y = encode(heed.randn(2, 5, 16)) -- [B T 16]
function PositionalEncoding:init(d_model, options)
  self:settle(d_model, check.options(NAME, options, OPTIONS))
  self:register_buffer("pe", make_table(self.max_length, d_model),
    {persistent = false})
end

-- The table, [max_length d_model].
function PositionalEncoding:table() return self.pe end

-- Rows of the table behind each of the offsets [B]: [B T d_model].
local function rows_behind(self, x, offset)
  local at <const> = self.batch_first and 2 or 1
  if x.ndim ~= 3 or offset.ndim ~= 1 or
     offset:size(1) ~= x:size(3 - at) then
    check.fail(self.__name .. ": offset %s must have one number a " ..
      "sequence of x %s", check.shape(offset.shape), check.shape(x.shape))
  end
  local place = ops.add(ops.unsqueeze(offset, 2), ops.arange(1, x:size(at)))
  local pe = ops.reshape(ops.index_select(self:table(), ops.flatten(place)),
    {offset:size(1), x:size(at), self.d_model})
  return self.batch_first and pe or ops.transpose(pe, 1, 2)
end

--- @param x tensor [B T d_model] or [T d_model]
-- @tparam[opt] table options `offset`: how many positions come before x, 0 by
-- default, or an int64 tensor [B], one number a sequence; with a cache,
-- `cache:lengths() or cache:length()`
-- @return tensor like x
-- @raise when x is longer than the table, or offsets are not [B]
-- @usage
-- local encode = nn.PositionalEncoding(2)
-- return encode(heed.zeros(1, 1, 2), {offset = 1}) --> 0.8415 0.5403
function PositionalEncoding:forward(x, options)
  check.keys(self.__name, options, {offset = true})
  check.tensor(self.__name, "x", x)
  local offset = options and options.offset or 0
  local at = self.batch_first and -2 or -3
  if x.ndim < -at or x:size(-1) ~= self.d_model then
    check.fail(self.__name .. ": x must be %s with d_model %d, got %s",
      self.batch_first and "[B T d_model] or [T d_model]" or "[T B d_model]",
      self.d_model, check.shape(x.shape))
  end
  local each <const> = check.is_tensor(offset) and offset
  if each then offset = each:numel() > 0 and ops.max(each):item() or 0 end
  local last = offset + x:size(at)
  if last > self.max_length then
    check.fail(self.__name .. ": x %s: length %d exceeds max_length %d",
      check.shape(x.shape), last, self.max_length)
  end
  if x:size(at) == 0 then return x end
  if each then return self.dropout(ops.add(x, rows_behind(self, x, each))) end
  local pe = ops.slice(self:table(), 1, offset + 1, last)
  if not self.batch_first then pe = ops.unsqueeze(pe, 2) end
  return self.dropout(ops.add(x, pe))
end

function PositionalEncoding:extra()
  return ("%d, max_length = %d"):format(self.d_model, self.max_length)
end

return PositionalEncoding
