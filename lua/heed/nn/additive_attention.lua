--- AdditiveAttention: scores that are a small network (Bahdanau et al., 2014).
--
--     score = w_v . tanh(W_q q + W_k k)

local check = require "heed.check"
local core = require "heed.core"
local F = require "heed.nn.functional"
local Linear = require "heed.nn.linear"
local Module = require "heed.nn.module"

local NAME <const> = "AdditiveAttention"

local AdditiveAttention = Module:extend(NAME)

local OPTIONS <const> = {dropout = 0.0, generator = check.NONE}

--- Makes a layer; W_k, W_q and w_v are linear layers without bias.
-- @function AdditiveAttention
-- @tparam integer key_size width of the keys
-- @tparam integer query_size width of the queries
-- @tparam integer num_hiddens width of the network
-- @tparam[opt] table options `dropout` of the weights, 0 by default;
-- `generator`
-- @usage
-- local attention = nn.AdditiveAttention(2, 20, 8, {dropout = 0.1})
-- local q, k = heed.randn(2, 3, 20), heed.randn(2, 6, 2)
-- local y = attention(q, k, k, {valid_lens = {2, 6}}) -- [2 3 2]
function AdditiveAttention:init(key_size, query_size, num_hiddens, options)
  local o <const> = check.options(NAME, options, OPTIONS)
  check.integer(NAME, "key_size", key_size, 0)
  check.integer(NAME, "query_size", query_size, 0)
  check.integer(NAME, "num_hiddens", num_hiddens, 1)
  local linear <const> = {bias = false, generator = o.generator}
  self.W_k = Linear(key_size, num_hiddens, linear)
  self.W_q = Linear(query_size, num_hiddens, linear)
  self.w_v = Linear(num_hiddens, 1, linear)
  self.dropout = check.number(NAME, "dropout", o.dropout, 0, 1)
  self.generator = o.generator
end

local FORWARD <const> = {
  causal = true, window = true, valid_lens = true, mask = true,
  key_mask = true, need_weights = true,
}

--- @param queries float tensor [B Tq query_size]
-- @param keys float tensor [B Tk key_size]
-- @param values float tensor [B Tk Dv]
-- @tparam[opt] table options those of `F.additive_attention`: `valid_lens` [B]
-- or [B Tq], `mask`, `key_mask`, `causal`, `window`; `need_weights`: returns
-- the weights and keeps them in `attention_weights`
-- @return tensor [B Tq Dv]
-- @return with `need_weights`, the weights [B Tq Tk]
-- @raise when widths, batches or lengths do not fit
-- @usage
-- local layer = nn.AdditiveAttention(2, 20, 8)
-- local y, w = layer(heed.randn(2, 1, 20), heed.ones(2, 10, 2),
--   heed.randn(2, 10, 4), {valid_lens = heed.tensor {2, 6},
--   need_weights = true})
-- return w[1]:sum() --> 1
function AdditiveAttention:forward(queries, keys, values, options)
  check.keys(NAME, options, FORWARD)
  local o = {dropout = self.dropout, training = self.training,
    generator = self.generator}
  for key, value in next, options or {} do o[key] = value end
  local y, w = F.additive_attention(self.W_q(queries), self.W_k(keys), values,
    core.ops.flatten(self.w_v.weight), o)
  self.attention_weights = w
  if w then return y, w end
  return y
end

function AdditiveAttention:extra()
  return ("%d, %d, %d"):format(self.W_k.in_features, self.W_q.in_features,
    self.w_v.in_features)
end

return AdditiveAttention
