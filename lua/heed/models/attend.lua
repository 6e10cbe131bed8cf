--- Attention as the hub's models have it: queries, keys and values come out of
-- layers of their own, and a cache keeps those of earlier steps.

local attend = require "heed.nn.attend"
local core = require "heed.core"

local ops <const> = core.ops

--- Returns what queries attend to, heads side by side.
-- @param module whose keys and values the cache keeps
-- @param q tensor [B H T D], and k, v tensors [B Hk T D]
-- @tparam table o `cache`, and options of `F.scaled_dot_product_attention`;
-- `lens` [B]: how many of the new steps count, where they differ
-- @return tensor [B T H * D]
return function(module, q, k, v, o)
  local options = {
    causal = o.causal, window = o.window, bias = o.bias, scale = o.scale,
    valid_lens = o.lens,
  }
  if o.cache then
    local lengths
    k, v, lengths = o.cache:append(module, k, v)
    if lengths then options.valid_lens, options.align = lengths, "valid" end
  end
  local y <const> = attend(module.__name, q, k, v, options, 0.0)
  return ops.flatten(ops.transpose(y, 2, 3), 3, 4)
end
