--- GPT: a decoder-only transformer, from token ids to the scores of the ids
-- that come next (Radford et al., 2018).
--
--     x = dropout(embedding(ids) + positions)
--     logits = head(norm(layers(x)))         each position sees those before it

local check = require "heed.check"
local core = require "heed.core"
local cache = require "heed.nn.cache"
local Dropout = require "heed.nn.dropout"
local Embedding = require "heed.nn.embedding"
local encoder = require "heed.nn.transformer_encoder"
local initialise = require "heed.nn.initialise"
local LayerNorm = require "heed.nn.layer_norm"
local Learned = require "heed.nn.learned_positional_encoding"
local Linear = require "heed.nn.linear"
local Module = require "heed.nn.module"
local ModuleList = require "heed.nn.module_list"
local sampling = require "heed.nn.sampling"
local Sinusoidal = require "heed.nn.positional_encoding"
local transformer_options = require "heed.nn.transformer_options"

local ops <const> = core.ops
local NAME <const> = "GPT"

local GPT = Module:extend(NAME)

local OPTIONS <const> = {
  d_model = 256, nhead = 4, num_layers = 4, dim_feedforward = check.NONE,
  max_length = 1024, dropout = 0.1, position = "learned", tied = true,
  activation = "gelu", norm_first = true, layer_norm_eps = 1e-5, bias = true,
  num_kv_heads = check.NONE, rotary = check.NONE, generator = check.NONE,
}

local POSITIONS <const> = {
  learned = Learned, sinusoidal = Sinusoidal, rotary = false, alibi = false,
  none = false,
}

local function read(vocab_size, options)
  local o <const> = check.options(NAME, options, OPTIONS)
  check.integer(NAME, "vocab_size", vocab_size, 1)
  check.integer(NAME, "max_length", o.max_length, 1)
  check.integer(NAME, "num_layers", o.num_layers, 0)
  transformer_options.heads(NAME, o.d_model, o.nhead)
  if POSITIONS[o.position] == nil then
    check.fail("%s: position must be one of %s, got %s", NAME,
      check.names(POSITIONS), check.show(o.position))
  end
  if o.rotary ~= nil and o.position ~= "rotary" then
    check.fail('%s: rotary needs position "rotary", got %s', NAME,
      check.show(o.position))
  end
  return o
end

local function make_layer(o)
  return encoder.TransformerEncoderLayer(o.d_model, o.nhead, {
    dim_feedforward = o.dim_feedforward or 4 * o.d_model,
    dropout = o.dropout, activation = o.activation,
    norm_first = o.norm_first, layer_norm_eps = o.layer_norm_eps,
    bias = o.bias, num_kv_heads = o.num_kv_heads,
    rotary = o.position == "rotary" and (o.rotary or true) or nil,
    generator = o.generator,
  })
end

-- Normal numbers, smaller for what is added to the sum of all layers (Radford
-- et al., 2019); biases are 0.
local function draw(self, o)
  local options <const> = {generator = o.generator}
  local narrow <const> = 0.02 / math.sqrt(2 * math.max(1, o.num_layers))
  for name, p in self:named_parameters() do
    if p.ndim > 1 then
      local adds <const> = name:find "out_proj%.weight$" or
        name:find "linear2%.weight$"
      initialise.normal_(p, 0.0, adds and narrow or 0.02, options)
    elseif name:find "bias$" then
      initialise.zeros_(p)
    end
  end
end

--- Makes a model.
-- @function GPT
-- @tparam integer vocab_size ids are 1 .. vocab_size
-- @tparam[opt] table options
--
-- * `d_model` (256), `nhead` (4), `num_layers` (4), `dim_feedforward`
--   (4 d_model), `num_kv_heads` (nhead): sizes
-- * `position` ("learned"): or "sinusoidal", "rotary", "alibi", "none";
--   `rotary`: options of `RotaryEmbedding`
-- * `max_length` (1024): positions that a learned or sinusoidal table has
-- * `tied` (true): the head's weight is that of the embedding
-- * `dropout` (0.1), `activation` ("gelu"), `norm_first` (true),
--   `layer_norm_eps` (1e-5), `bias` (true), `generator`
-- @raise when nhead does not divide d_model
-- @usage
-- local model = nn.GPT(50, {d_model = 32, nhead = 4, num_layers = 2})
-- local logits = model(heed.tensor {{3, 1, 4}}) -- [1 3 50]
function GPT:init(vocab_size, options)
  local o <const> = read(vocab_size, options)
  self.vocab_size, self.position = vocab_size, o.position
  self.token_embedding = Embedding(vocab_size, o.d_model,
    {generator = o.generator})
  local Table <const> = POSITIONS[o.position]
  if Table then
    self.max_length = o.max_length
    self.position_embedding = Table(o.d_model,
      {max_length = o.max_length, generator = o.generator})
  end
  self.dropout = Dropout(o.dropout, {generator = o.generator})
  self.layers = ModuleList()
  for _ = 1, o.num_layers do self.layers:append(make_layer(o)) end
  if o.norm_first then
    self.norm = LayerNorm(o.d_model, {eps = o.layer_norm_eps, bias = o.bias})
  end
  self.head = Linear(o.d_model, vocab_size,
    {bias = false, generator = o.generator})
  if o.tied then self.head.weight = self.token_embedding.weight end
  draw(self, o)
end

local FORWARD <const> = {
  cache = true, valid_lens = true, key_mask = true, mask = true,
  window = true, cu_seqlens = true, need_weights = true,
}

local function check_ids(ids)
  check.tensor(NAME, "ids", ids)
  if ids.ndim ~= 2 then
    check.fail("%s: ids must be [B T], got %s", NAME, check.show(ids))
  end
end

--- @param ids int64 tensor [B T]
-- @tparam[opt] table options `cache`: an `nn.KeyValueCache`, whose steps come
-- before ids; `valid_lens`, `key_mask`, `mask`, `window`, `cu_seqlens`: see
-- `F.scaled_dot_product_attention`; `need_weights`: the attention of each layer
-- keeps its weights
-- @return the scores of the ids that come next, tensor [B T vocab_size]
-- @usage
-- local model = nn.GPT(50, {d_model = 32, nhead = 4, num_layers = 2})
-- local logits = model(heed.tensor {{3, 1, 4}}) -- [1 3 50]
function GPT:forward(ids, options)
  check.keys(NAME, options, FORWARD)
  check_ids(ids)
  local o <const> = {causal = true, alibi = self.position == "alibi" or nil}
  for key, value in next, options or {} do o[key] = value end
  local x = self.token_embedding(ids)
  if self.position_embedding then
    x = self.position_embedding(x, {offset = o.cache and
      (o.cache:lengths() or o.cache:length())})
  end
  x = self.dropout(x)
  for i = 1, #self.layers do x = self.layers[i](x, o) end
  if self.norm then x = self.norm(x) end
  return self.head(x)
end

-- -- generation --------------------------------------------------------------

local GENERATE <const> = {
  max_new_tokens = 20, greedy = false, stop = check.NONE,
  window = check.NONE, on_token = check.NONE,
}
for key, default in pairs(sampling.OPTIONS) do GENERATE[key] = default end
local WHAT <const> = NAME .. ":generate"

local function read_generate(self, ids, options)
  local o <const> = check.options(WHAT, options, GENERATE)
  check_ids(ids)
  if ids:size(2) == 0 then
    check.fail("%s: ids %s must have at least one position", WHAT,
      check.shape(ids.shape))
  end
  check.integer(WHAT, "max_new_tokens", o.max_new_tokens, 0)
  sampling.check(WHAT, o)
  if o.stop ~= nil then check.integer(WHAT, "stop", o.stop, 1) end
  if o.window ~= nil then check.integer(WHAT, "window", o.window, 1) end
  if o.on_token ~= nil then check.callable(WHAT, "on_token", o.on_token) end
  local length <const> = ids:size(2) + o.max_new_tokens
  if self.max_length and length > self.max_length then
    check.fail("%s: %d ids and max_new_tokens %d exceed max_length %d", WHAT,
      ids:size(2), o.max_new_tokens, self.max_length)
  end
  return o
end

--- Goes on from ids, one at a time, with a cache.
-- @param ids int64 tensor [B T], T at least 1
-- @tparam[opt] table options `max_new_tokens` (20); `greedy` (false): the id of
-- the highest score, as does a temperature of 0; else ids are drawn from
-- softmax(scores / `temperature`) (1), of the `top_k` highest scores, and of
-- the most probable ids that together have the probability `top_p`; `stop`: a
-- row that has it repeats it, and when all have it, that is the end;
-- `window`: an id sees itself and what is less than so far behind it, as many
-- as in training, however long the text becomes; `on_token(ids)`: called with
-- each new column, int64 tensor [B 1], when it is there; `generator`
-- @return int64 tensor [B T + n], n at most max_new_tokens
-- @raise when the ids would be more than max_length
-- @usage
-- local model = nn.GPT(50, {d_model = 32, nhead = 4, num_layers = 2})
-- local ids = model:generate(heed.tensor {{3, 1, 4}}, {top_k = 5, stop = 2})
function GPT:generate(ids, options)
  local o <const> = read_generate(self, ids, options)
  local was_training <const> = self.training
  self:eval()
  local _ <close> = core.no_grad()
  local _ <close> = setmetatable({}, {__close = function()
    self:train(was_training)
  end})
  if o.greedy then o.temperature = 0 end
  local memory <const> = cache {capacity = ids:size(2) + o.max_new_tokens}
  local all, new, done = {ids}, ids, nil
  for _ = 1, o.max_new_tokens do
    local logits = self(new, {cache = memory, window = o.window})
    new = sampling.choose(ops.select(logits, 2, -1), o)
    if o.stop then
      if done then new = ops.where(done, o.stop, new) end
      done = ops.eq(new, o.stop)
    end
    all[#all + 1] = new
    if o.on_token then o.on_token(new) end
    if done and ops.all(done):item() then break end
  end
  return ops.cat(all, 2)
end

function GPT:extra()
  return ("%d, position = %s"):format(self.vocab_size, self.position)
end

return GPT
