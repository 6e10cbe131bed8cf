--- DotProductAttention: `F.scaled_dot_product_attention` as a module, with
-- dropout of its own.

local attend = require "heed.nn.attend"
local check = require "heed.check"
local core = require "heed.core"
local mask = require "heed.nn.attention_mask"
local Module = require "heed.nn.module"

local ops <const> = core.ops
local NAME <const> = "DotProductAttention"

local DotProductAttention = Module:extend(NAME)

local OPTIONS <const> = {dropout = 0.0, generator = check.NONE}

local FORWARD <const> = {need_weights = true}
for key in pairs(mask.KEYS) do FORWARD[key] = true end

--- Makes a layer without parameters.
-- @function DotProductAttention
-- @tparam[opt] table options `dropout` of the weights, 0 by default;
-- `generator`
-- @usage
-- local attention = nn.DotProductAttention {dropout = 0.1}
-- local q, k = heed.randn(2, 3, 4), heed.randn(2, 6, 4)
-- local y = attention(q, k, k, {valid_lens = {2, 6}}) -- [2 3 4]
function DotProductAttention:init(options)
  local o <const> = check.options(NAME, options, OPTIONS)
  self.dropout = check.number(NAME, "dropout", o.dropout, 0, 1)
  self.generator = o.generator
end

-- The options of [B Tq Tk] for [B 1 Tq Tk].
local function with_head(o)
  local one = {}
  for key, value in next, o do one[key] = value end
  for _, name in ipairs {"mask", "bias"} do
    if check.is_tensor(o[name]) and o[name].ndim > 2 then
      one[name] = ops.unsqueeze(o[name], -3)
    end
  end
  return one
end

--- @param queries float tensor [B Tq D], or with heads [B H Tq D]
-- @param keys float tensor [B Tk D], or [B Hk Tk D]
-- @param values float tensor [B Tk Dv], or [B Hk Tk Dv]
-- @tparam[opt] table options the descriptions of
-- `F.scaled_dot_product_attention`, such as `valid_lens` [B] or [B Tq];
-- `need_weights`: returns the weights and keeps them in `attention_weights`
-- @return tensor [B Tq Dv], or [B H Tq Dv]
-- @return with `need_weights`, the weights [B Tq Tk], or [B H Tq Tk]
-- @raise when the three are not all [B T D] or all [B H T D], or do not fit
-- @usage
-- local layer = nn.DotProductAttention()
-- local y, w = layer(heed.randn(2, 1, 8), heed.ones(2, 10, 8),
--   heed.randn(2, 10, 4), {valid_lens = heed.tensor {2, 6},
--   need_weights = true})
-- return w[1][1][1] --> 0.5
function DotProductAttention:forward(queries, keys, values, options)
  check.keys(NAME, options, FORWARD)
  local o = options or {}
  local ndim <const> = check.tensor(NAME, "queries", queries).ndim
  check.tensor(NAME, "keys", keys)
  check.tensor(NAME, "values", values)
  if ndim < 3 or keys.ndim ~= ndim or values.ndim ~= ndim then
    check.fail("%s: queries, keys and values must be [B T D] or [B H T D], " ..
      "got %s, %s and %s", NAME, check.shape(queries.shape),
      check.shape(keys.shape), check.shape(values.shape))
  end
  local single <const> = ndim == 3
  if single then
    queries, keys, values = ops.unsqueeze(queries, -3),
      ops.unsqueeze(keys, -3), ops.unsqueeze(values, -3)
    o = with_head(o)
  end
  local dropout <const> = self.training and self.dropout or 0.0
  local y, w = attend(NAME, queries, keys, values, o, dropout,
    self.generator)
  if single then y, w = ops.squeeze(y, -3), w and ops.squeeze(w, -3) end
  self.attention_weights = w
  if w then return y, w end
  return y
end

return DotProductAttention
