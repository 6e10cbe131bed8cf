--- AdaptiveSpanAttention: causal attention whose heads learn how far they look
-- back (Sukhbaatar et al., 2019).
--
--     m(distance) = clamp((ramp + z - distance) / ramp, 0, 1)
--     weights = m e^scores / sum of m e^scores = softmax(scores + log m)
--
-- with z = max_span * span of each head (`F.span_bias` is log m). What lies
-- beyond the longest span and its ramp is left out of the work: a sequence is
-- cut into blocks of queries, each with the keys that they can see, so that
-- time and memory follow the spans instead of the square of the length.
--
-- `plain` is
-- the shortest form: x itself is query, key and value, and the scores of key j
-- are multiplied by sigmoid(adaptive_span[j]).

local attend = require "heed.nn.attend"
local check = require "heed.check"
local core = require "heed.core"
local F = require "heed.nn.functional"
local Module = require "heed.nn.module"
local MultiHeadAttention = require "heed.nn.multi_head_attention"
local parameter = require "heed.nn.parameter"

local ops <const> = core.ops
local NAME <const> = "AdaptiveSpanAttention"

local AdaptiveSpanAttention = Module:extend(NAME)

local OPTIONS <const> = {
  max_span = 512, ramp = 32, init_span = 0.0, plain = false, bias = true,
  dropout = 0.0, generator = check.NONE,
}

--- Makes a layer.
-- @function AdaptiveSpanAttention
-- @tparam integer embed_dim width; a multiple of num_heads
-- @tparam[opt=1] integer num_heads
-- @tparam[opt] table options `max_span`: how far a head can look back, 512 by
-- default; `ramp`: over how many keys its sight fades, 32 by default;
-- `init_span`: part of max_span that heads start with, 0 by default; `plain`,
-- false by default; `bias`, `dropout`, `generator`: see `MultiHeadAttention`
-- @raise when num_heads does not divide embed_dim, or plain has several heads
-- @usage
-- local layer = nn.AdaptiveSpanAttention(16, 4, {max_span = 64, ramp = 8})
-- local x = heed.randn(2, 5, 16) -- [B T E]
-- local loss = layer(x):square():mean() + layer:span_loss() * 2e-6
function AdaptiveSpanAttention:init(embed_dim, num_heads, options)
  if type(num_heads) == "table" then num_heads, options = nil, num_heads end
  local o <const> = check.options(NAME, options, OPTIONS)
  self.max_span = check.integer(NAME, "max_span", o.max_span, 1)
  self.ramp = check.integer(NAME, "ramp", o.ramp, 1)
  check.integer(NAME, "embed_dim", embed_dim, 1)
  check.integer(NAME, "num_heads", num_heads or 1, 1)
  check.number(NAME, "init_span", o.init_span, 0, 1)
  self.embed_dim, self.plain = embed_dim, o.plain
  if o.plain then
    if (num_heads or 1) > 1 then
      check.fail("%s: plain has one head, got num_heads %d", NAME, num_heads)
    end
    self.adaptive_span = parameter.zeros(self.max_span)
    return
  end
  self.attention = MultiHeadAttention(embed_dim, num_heads or 1, {
    bias = o.bias, dropout = o.dropout, generator = o.generator,
  })
  self.span = parameter.of(ops.full({num_heads or 1}, o.init_span))
end

--- How far each head looks back, in keys, before its sight fades.
-- @return tensor [H]
-- @raise for a layer that is `plain`
-- @usage
-- local layer = nn.AdaptiveSpanAttention(16, 4, {max_span = 32})
-- print(layer:spans()) -- [H]
function AdaptiveSpanAttention:spans()
  if self.plain then check.fail("%s: plain has no spans", NAME) end
  -- held within its bounds, yet with a gradient that can lead it back
  local inside <const> = ops.clamp(self.span, 0, 1)
  local held <const> = ops.add(self.span,
    ops.sub(inside, self.span):detach())
  return ops.mul(held, self.max_span)
end

--- The mean of the spans, to be added to the loss with a small weight, so that
-- heads look no further than they need.
-- @return tensor without dimensions
-- @raise for a layer that is `plain`
-- @usage
-- local layer = nn.AdaptiveSpanAttention(16, 4, {max_span = 32})
-- local y = layer(heed.randn(2, 5, 16))
-- local loss = y:square():mean() + 1e-3 * layer:span_loss()
function AdaptiveSpanAttention:span_loss() return ops.mean(self:spans()) end

--- Brings the parameter `span` back into 0 .. 1: to be called after each step
-- of an optimiser.
-- @usage
-- local layer = nn.AdaptiveSpanAttention(16, 4, {max_span = 32})
-- local optimizer = optim.SGD(layer:parameters(), {lr = 0.1})
-- -- after each loss:backward()
-- optimizer:step()
-- layer:clamp_span()
function AdaptiveSpanAttention:clamp_span()
  local _ <close> = core.no_grad()
  self.span:copy_(ops.clamp(self.span, 0, 1))
end

local function look_plainly(self, x, o)
  local t <const> = x:size(-2)
  if t > self.max_span then
    check.fail("%s: x %s: length %d exceeds max_span %d", NAME,
      check.shape(x.shape), t, self.max_span)
  end
  local span = ops.sigmoid(ops.slice(self.adaptive_span, 1, 1, t))
  local one <const> = ops.unsqueeze(x, -3)
  local y, w = attend(NAME, one, ops.mul(one, ops.unsqueeze(span, -1)), one,
    {causal = true, need_weights = o.need_weights, key_mask = o.key_mask,
      valid_lens = o.valid_lens}, 0.0)
  return ops.squeeze(y, -3), w and ops.squeeze(w, -3)
end

-- Log m for `tq` queries, the last one beside the last of `tk` keys: [H Tq Tk].
local function bias_of(self, tq, tk)
  return F.span_bias(ops.reshape(self:spans(), {-1, 1, 1}), tq, tk,
    {ramp = self.ramp})
end

-- Whether each key may be seen, bool [T] or [B T].
local function seen_keys(q, k, v, o)
  local t <const> = k:size(3)
  if not (o.key_mask or o.valid_lens) then return ops.ones({t}, "bool") end
  -- attention of no query raises for what is wrong in the two
  local none <const> = ops.zeros({q:size(1), q:size(2), 0, q:size(4)}, q.dtype)
  attend(NAME, none, k, v,
    {key_mask = o.key_mask, valid_lens = o.valid_lens}, 0.0)
  local seen <const> = o.valid_lens and F.length_mask(o.valid_lens, t) or
    ops.ones({t}, "bool")
  return o.key_mask and ops.logical_and(o.key_mask, seen) or seen
end

-- [B H T D] as blocks that begin `step` apart: [B N H size D].
local function cut(x, size, step)
  return ops.transpose(ops.transpose(ops.unfold(x, 3, size, step), -1, -2),
    2, 3)
end

-- Attends in blocks of `step` queries, each with its own keys and the
-- `window` - 1 before them; q, k, v and the result are [B H T D].
local function look_in_blocks(self, q, k, v, o, window, step)
  local t <const>, before <const> = q:size(3), window - 1
  local tail <const>, size <const> = -t % step, before + step
  -- what is put before the first key and behind the last one is not seen
  local seen <const> = F.pad(seen_keys(q, k, v, o), {before, tail})
  local a <const> = self.attention
  local y = attend(NAME, cut(F.pad(q, {0, 0, 0, tail}), step, step),
    cut(F.pad(k, {0, 0, before, tail}), size, step),
    cut(F.pad(v, {0, 0, before, tail}), size, step), {
      causal = true, window = window, bias = bias_of(self, step, size),
      key_mask = ops.unfold(seen, -1, size, step), -- [N size] or [B N size]
    }, a.training and a.dropout or 0.0, a.generator) -- [B N H step D]
  y = ops.flatten(ops.transpose(y, 2, 3), 3, 4) -- [B H N * step D]
  return ops.slice(y, 3, 1, t)
end

local SMALLEST <const> = 64 -- queries of a block: fewer are not worth one

local function look_back(self, x, o)
  local t <const>, a <const> = x:size(2), self.attention
  -- places that some head sees: those nearer than its span and ramp
  local window <const> = math.ceil(ops.max(self:spans()):item() + self.ramp)
  local step <const> = math.max(window, SMALLEST)
  if o.need_weights or t <= 2 * step then
    return a(x, {
      causal = true, window = window, bias = bias_of(self, t, t),
      key_mask = o.key_mask, valid_lens = o.valid_lens,
      need_weights = o.need_weights, average_weights = false,
    })
  end
  local q, k, v = ops.split_qkv(
    ops.linear(x, a.in_proj_weight, a.in_proj_bias), a.num_heads)
  local y <const> = look_in_blocks(self, q, k, v, o, window, step)
  -- [B H T D] -> [B T H D] -> [B T E]
  return a.out_proj(ops.flatten(ops.transpose(y, -3, -2), -2, -1))
end

--- @param x float tensor [B T E]
-- @tparam[opt] table options `key_mask`: bool tensor that broadcasts to [B T],
-- **true = may attend**; `valid_lens` [B]; `need_weights`: returns the weights
-- and keeps them in `attention_weights`
-- @return tensor like x
-- @return with `need_weights`, the weights [B H T T], with `plain` [B T T]
-- @raise when x is not [B T embed_dim], or with `plain` longer than max_span
-- @usage
-- local layer = nn.AdaptiveSpanAttention(16, 4, {max_span = 32})
-- local y = layer(heed.randn(2, 5, 16), {valid_lens = heed.tensor {5, 3}})
function AdaptiveSpanAttention:forward(x, options)
  check.keys(NAME, options,
    {key_mask = true, valid_lens = true, need_weights = true})
  check.tensor(NAME, "x", x)
  if x.ndim ~= 3 or x:size(-1) ~= self.embed_dim then
    check.fail("%s: x must be [B T %d], got %s", NAME, self.embed_dim,
      check.shape(x.shape))
  end
  local o <const> = options or {}
  local y, w = (self.plain and look_plainly or look_back)(self, x, o)
  self.attention_weights = w
  if w then return y, w end
  return y
end

function AdaptiveSpanAttention:extra()
  return ("%d, max_span = %d%s"):format(self.embed_dim, self.max_span,
    self.plain and ", plain" or (", ramp = %d"):format(self.ramp))
end

return AdaptiveSpanAttention
