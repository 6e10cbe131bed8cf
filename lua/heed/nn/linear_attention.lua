--- LinearAttention: several heads of `F.linear_attention`, in a time linear in
-- the length (Katharopoulos et al., 2020).
--
--     heads = phi(q) (phi(k)^T v) / (phi(q) . sum of phi(k) + eps)
--     y = (heads side by side) W_o
--
-- `plain` is the shortest form: nothing is projected but the queries, and
-- nothing divided: y = (x W^T + b) (x^T x).

local check = require "heed.check"
local core = require "heed.core"
local initialise = require "heed.nn.initialise"
local linear_attention =
  require "heed.nn.functional.linear_attention".linear_attention
local Linear = require "heed.nn.linear"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"

local ops <const> = core.ops
local NAME <const> = "LinearAttention"

local LinearAttention = Module:extend(NAME)

local OPTIONS <const> = {
  bias = true, feature = check.NONE, eps = 1e-6, plain = false,
  generator = check.NONE,
}

--- Makes a layer; its parameters are those of `MultiHeadAttention`, with
-- `plain` a linear layer `projection`.
-- @function LinearAttention
-- @tparam integer embed_dim width; a multiple of num_heads
-- @tparam[opt=1] integer num_heads
-- @tparam[opt] table options `bias`, true by default; `feature`: phi, a
-- function, elu(x) + 1 by default; `eps`, 1e-6 by default; `plain`, false by
-- default; `generator`
-- @raise when num_heads does not divide embed_dim, or plain has several heads
-- @usage local layer = nn.LinearAttention(16, 4)
-- local y = layer(heed.randn(2, 5, 16), {causal = true}) -- [B T 16]
function LinearAttention:init(embed_dim, num_heads, options)
  if type(num_heads) == "table" then num_heads, options = nil, num_heads end
  local o <const> = check.options(NAME, options, OPTIONS)
  local e <const> = check.integer(NAME, "embed_dim", embed_dim, 1)
  self.embed_dim = e
  self.num_heads = check.integer(NAME, "num_heads", num_heads or 1, 1)
  if e % self.num_heads ~= 0 then
    check.fail("%s: embed_dim must be a multiple of num_heads, got %d and %d",
      NAME, e, self.num_heads)
  end
  self.feature, self.eps = o.feature, check.number(NAME, "eps", o.eps, 0)
  local draw <const> = {bias = o.bias, generator = o.generator}
  if o.plain then
    if self.num_heads > 1 then
      check.fail("%s: plain has one head, got num_heads %d", NAME,
        self.num_heads)
    end
    self.projection = Linear(e, e, draw)
    return
  end
  local out_proj <const> = Linear(e, e, draw)
  self.in_proj_weight = parameter.zeros(3 * e, e)
  initialise.xavier_uniform_(self.in_proj_weight, {generator = o.generator})
  if o.bias then
    self.in_proj_bias = parameter.zeros(3 * e)
    initialise.zeros_(out_proj.bias)
  end
  self.out_proj = out_proj
end

-- The weights [.. T T]: what becomes of values that are the rows of the
-- identity.
local function weights_of(q, k, how)
  local shape <const>, steps <const> = k.shape, k:size(-2)
  shape[#shape] = steps
  local one <const> = ops.eye(steps, steps, k.dtype)
  return linear_attention(q, k, ops.expand(one, shape), how)
end

local function give(self, y, weights)
  self.attention_weights = weights or nil
  return y, self.attention_weights
end

--- @param x float tensor [B T E] or [T E]
-- @tparam[opt] table options `causal`: each position sees those up to itself;
-- `key_mask`: bool tensor that broadcasts to [B T], **true = may attend**;
-- `valid_lens` [B]; none of them with `plain`. `need_weights`: returns the
-- weights, in quadratic time, and keeps them in `attention_weights`
-- @return tensor like x
-- @return with `need_weights`, the weights [B H T T], with `plain` [B T T]
-- @raise when x does not end in [T embed_dim], and for a mask with `plain`
-- @usage
-- local layer = nn.LinearAttention(16, 4)
-- local y = layer(heed.randn(2, 5, 16), {causal = true})
function LinearAttention:forward(x, options)
  check.keys(NAME, options, {causal = true, key_mask = true,
    valid_lens = true, need_weights = true})
  check.tensor(NAME, "x", x)
  if x.ndim < 2 or x:size(-1) ~= self.embed_dim then
    check.fail("%s: x must be [B T %d] or [T %d], got %s", NAME,
      self.embed_dim, self.embed_dim, check.shape(x.shape))
  end
  local o <const> = options or {}
  if self.projection then
    for _, key in ipairs {"causal", "key_mask", "valid_lens"} do
      if o[key] ~= nil then check.fail("%s: plain has no %s", NAME, key) end
    end
    local q, across <const> = self.projection(x), ops.transpose(x, -1, -2)
    return give(self, ops.matmul(q, ops.matmul(across, x)),
      o.need_weights and ops.matmul(q, across))
  end
  local q, k, v = ops.split_qkv(
    ops.linear(x, self.in_proj_weight, self.in_proj_bias), self.num_heads)
  local how <const> = {causal = o.causal, key_mask = o.key_mask,
    valid_lens = o.valid_lens, feature = self.feature, eps = self.eps}
  local y = linear_attention(q, k, v, how)
  -- [B H T D] -> [B T H D] -> [B T E]
  y = self.out_proj(ops.flatten(ops.transpose(y, -3, -2), -2, -1))
  return give(self, y, o.need_weights and weights_of(q, k, how))
end

function LinearAttention:extra()
  return ("%d, %d%s"):format(self.embed_dim, self.num_heads,
    self.projection and ", plain" or "")
end

return LinearAttention
