--- attention: the cases of F.scaled_dot_product_attention.
--
-- Each is computed in up to three ways: with all that is blocked as one mask,
-- the same with the weights asked for, and with descriptions (causal, window,
-- lengths) instead of the mask.

local api = require "spec.support.golden.api"

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

local function described(c)
  local p = c.params
  local options = {
    scale = p.scale, valid_lens = p.valid_lens, alibi = p.alibi,
    causal = p.causal and
      (p.alignment == "top-left" and "top-left" or "bottom-right"),
  }
  if p.window_left then options.window = {p.window_left, p.window_right} end
  if not (options.valid_lens or options.alibi or options.causal or
          options.window) then
    return as_mask(c) -- a mask of no rule
  end
  if not p.alibi then options.bias = c.input.bias end
  -- slopes take the place of the stored bias, which then gets no gradient
  return {out = attend(c, options)}, {bias = p.alibi}
end

attention.scaled_dot_product_attention = {
  function(c) return as_mask(c) end,
  function(c) return as_mask(c, true) end,
  described,
}

return attention
