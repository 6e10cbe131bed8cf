--- attention: the cases of F.scaled_dot_product_attention.
--
-- Each is computed in up to three ways: with all that is blocked as one mask,
-- the same with the weights asked for, and with descriptions (causal, window,
-- lengths) instead of the mask.

local api = require "spec.support.golden.api"
local heed = require "heed"

local attention = {}

local function attend(c, options)
  return api.call("functional.scaled_dot_product_attention", c.input.q,
    c.input.k, c.input.v, options)
end

local function as_mask(c, need_weights)
  local out, probs = attend(c, {
    scale = c.params.scale, mask = c.input.keep, bias = c.input.bias,
    need_weights = need_weights,
  })
  return {out = out, probs = probs}
end

-- The options that describe what is blocked, where the case has any.
local function descriptions(p)
  local options = {scale = p.scale, valid_lens = p.valid_lens}
  local any = p.valid_lens ~= nil
  if p.causal then
    options.causal = p.alignment == "top-left" and "top-left" or true
    any = true
  end
  if p.window_left then
    options.window, any = {p.window_left, p.window_right}, true
  end
  return options, any
end

-- Whether query i may look at key j, counted from 1, as heed documents it.
local function may_look(p, i, j, shift, length)
  local behind = j - (i + (p.alignment == "top-left" and 0 or shift))
  return not (p.causal and behind > 0) and
    not (p.window_left and (behind < -p.window_left or
      behind > p.window_right)) and
    not (length and j > length)
end

-- The same as a mask [B 1 Tq Tk]. The stored one may block more than that.
local function mask_of(c)
  local p, q, k = c.params, c.input.q.shape, c.input.k.shape
  local rows, keys, batch = q[#q - 1], k[#k - 1], {}
  for b = 1, q[1] do
    local lens, one = p.valid_lens and p.valid_lens[b], {}
    for i = 1, rows do
      one[i] = {}
      local length = type(lens) == "table" and lens[i] or lens
      for j = 1, keys do
        one[i][j] = may_look(p, i, j, keys - rows, length)
      end
    end
    batch[b] = {one}
  end
  return heed.tensor(batch, {dtype = "bool"})
end

-- The slopes of the files: 2^(-8 h / heads), for a power of two heed's own.
local function slopes(heads)
  if heads & (heads - 1) == 0 then return true end
  local list = {}
  for h = 1, heads do list[h] = 2.0 ^ (-8 * h / heads) end
  return list
end

local function described(c)
  local options, any = descriptions(c.params)
  local keep = c.input.keep
  if any and keep and not mask_of(c):eq(keep):all():item() then
    options.mask = keep
  end
  if not any then options.mask = keep end
  if not c.params.alibi then
    options.bias = c.input.bias
    return {out = attend(c, options)}
  end
  -- slopes take the place of the stored bias, which then gets no gradient
  options.alibi = slopes(c.params.heads)
  return {out = attend(c, options)}, {bias = true}
end

attention.scaled_dot_product_attention = {
  function(c) return as_mask(c) end,
  function(c) return as_mask(c, true) end,
  described,
}

return attention
