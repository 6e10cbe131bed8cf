--- The options of a transformer's forward, sorted by the attention that they
-- describe: `src_*` for the encoder, `tgt_*` for the decoder's attention to
-- itself, `memory_*` for its attention to the encoder's result; `causal` is
-- short for `tgt_causal`.

local check = require "heed.check"
local mask = require "heed.nn.attention_mask"

local transformer_options = {}

-- What sorted options are known by.
local Sorted <const> = {__name = "heed.sorted_options"}

-- Option name -> {part, key of the part}.
local function names(prefixes)
  local to = {causal = {"tgt", "causal"}, cache = {}, need_weights = {}}
  for _, prefix in ipairs(prefixes) do
    for key in pairs(mask.KEYS) do to[prefix .. "_" .. key] = {prefix, key} end
  end
  return to
end

local decoder <const> = names {"tgt", "memory"}
local whole <const> = names {"src", "tgt", "memory"}

local function sort(func, options, to)
  check.keys(func, options, to)
  local o = options or {}
  local need, cache = o.need_weights, o.cache
  local parts = setmetatable({
    src = {need_weights = need},
    tgt = {need_weights = need, cache = cache},
    memory = {need_weights = need, cache = cache,
      static_kv = cache and true or nil},
  }, Sorted)
  for name, value in next, o do
    local part, key = to[name][1], to[name][2]
    if part then parts[part][key] = value end
  end
  return parts
end

--- The options of a decoder, or of one of its layers, as the parts `tgt` and
-- `memory`; sorted ones as they are.
function transformer_options.decoder(func, options)
  if getmetatable(options) == Sorted then return options end
  return sort(func, options, decoder)
end

--- The options of a whole transformer as the parts `src`, `tgt` and `memory`.
function transformer_options.whole(func, options)
  return sort(func, options, whole)
end

-- What encoder and decoder layers are made with.
local LAYER <const> = {
  dim_feedforward = 2048, dropout = 0.1, activation = "relu",
  layer_norm_eps = 1e-5, batch_first = true, norm_first = false, bias = true,
  num_kv_heads = check.NONE, rotary = check.NONE, generator = check.NONE,
}
transformer_options.LAYER = LAYER

--- Raises unless nhead heads share the width evenly.
function transformer_options.heads(func, d_model, nhead)
  check.integer(func, "d_model", d_model, 1)
  check.integer(func, "nhead", nhead, 1)
  if d_model % nhead ~= 0 then
    check.fail("%s: d_model must be a multiple of nhead, got %d and %d", func,
      d_model, nhead)
  end
end

--- Reads the constructor options of a layer.
function transformer_options.layer(func, d_model, nhead, options)
  transformer_options.heads(func, d_model, nhead)
  local o = check.options(func, options, LAYER)
  check.integer(func, "dim_feedforward", o.dim_feedforward, 1)
  check.number(func, "dropout", o.dropout, 0, 1)
  return o
end

return transformer_options
