--- Transformer: encoder and decoder together (Vaswani et al., 2017).

local check = require "heed.check"
local decoder = require "heed.nn.transformer_decoder"
local encoder = require "heed.nn.transformer_encoder"
local initialise = require "heed.nn.initialise"
local LayerNorm = require "heed.nn.layer_norm"
local Module = require "heed.nn.module"
local read = require "heed.nn.transformer_options"

local Transformer = Module:extend("Transformer")

local OPTIONS <const> = {
  d_model = 512, nhead = 8, num_encoder_layers = 6, num_decoder_layers = 6,
  final_norm = true,
}
for key, value in pairs(read.LAYER) do OPTIONS[key] = value end

--- Makes a transformer; weights are Xavier-uniform, as in PyTorch.
-- @function Transformer
-- @tparam[opt=512] integer d_model width; a multiple of nhead. May stand in
-- the options, as nhead
-- @tparam[opt=8] integer nhead heads of all attentions
-- @tparam[opt] table options `num_encoder_layers` and `num_decoder_layers`, 6
-- by default; `final_norm = false`: no norm behind each stack; and those of
-- `TransformerEncoderLayer`
-- @usage
-- local model = nn.Transformer(16, 4, {num_encoder_layers = 1,
--   num_decoder_layers = 1, dim_feedforward = 32})
-- local src, tgt = heed.randn(2, 6, 16), heed.randn(2, 5, 16)
-- local y = model(src, tgt, {causal = true}) -- [2 5 16]
function Transformer:init(d_model, nhead, options)
  if type(d_model) == "table" then d_model, options = nil, d_model end
  local o = check.options("Transformer", options, OPTIONS)
  d_model, nhead = d_model or o.d_model, nhead or o.nhead
  read.heads("Transformer", d_model, nhead)
  local layer = {}
  for key in pairs(read.LAYER) do layer[key] = o[key] end
  local function norm()
    return {norm = o.final_norm and LayerNorm(d_model,
      {eps = o.layer_norm_eps, bias = o.bias}) or nil}
  end
  self.encoder = encoder.TransformerEncoder(
    encoder.TransformerEncoderLayer(d_model, nhead, layer),
    o.num_encoder_layers, norm())
  self.decoder = decoder.TransformerDecoder(
    decoder.TransformerDecoderLayer(d_model, nhead, layer),
    o.num_decoder_layers, norm())
  for _, p in ipairs(self:parameters()) do
    if p.ndim > 1 then
      initialise.xavier_uniform_(p, {generator = o.generator})
    end
  end
end

--- @param src tensor [B S d_model], or [S d_model]
-- @param tgt tensor [B T d_model], or [T d_model]
-- @tparam[opt] table options the descriptions of
-- `F.scaled_dot_product_attention` with `src_`, `tgt_` or `memory_` before
-- their names (nothing is taken over from one to another: padding of the
-- source is `src_key_mask` and `memory_key_mask`, or `..._valid_lens`);
-- `causal`, short for `tgt_causal`; `cache`; `need_weights`
-- @return tensor like tgt
-- @raise when widths or batches do not fit
-- @usage
-- local model = nn.Transformer(16, 4, {num_encoder_layers = 1,
--   num_decoder_layers = 1, dim_feedforward = 32})
-- local y = model(heed.randn(2, 6, 16), heed.randn(2, 5, 16), {causal = true})
function Transformer:forward(src, tgt, options)
  local o = read.whole("Transformer", options)
  return self.decoder(tgt, self.encoder(src, o.src), o)
end

return Transformer
