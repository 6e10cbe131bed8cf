--- MultiHeadAttention: several attentions side by side, each over a part of
-- the width (Vaswani et al., 2017).
--
--     heads = attend(x_q W_q, x_k W_k, x_v W_v) for each head
--     y = (heads side by side) W_o

local attend = require "heed.nn.attend"
local check = require "heed.check"
local core = require "heed.core"
local initialise = require "heed.nn.initialise"
local mask = require "heed.nn.attention_mask"
local packed = require "heed.nn.attention_packed"
local Linear = require "heed.nn.linear"
local Module = require "heed.nn.module"
local parameter = require "heed.nn.parameter"
local RotaryEmbedding = require "heed.nn.rotary_embedding"
local tree = require "heed.nn.tree"

local ops <const> = core.ops
local NAME <const> = "MultiHeadAttention"

local MultiHeadAttention = Module:extend(NAME)

local OPTIONS <const> = {
  bias = true, kdim = check.NONE, vdim = check.NONE, add_bias_kv = false,
  add_zero_attn = false, dropout = 0.0, batch_first = true,
  num_kv_heads = check.NONE, rotary = check.NONE, generator = check.NONE,
}

-- The draws come in PyTorch's order: the output's first, then the inputs'.
local function make_parameters(self, o)
  local e = self.embed_dim
  local draw = {generator = o.generator}
  local out_proj = Linear(e, e, {bias = o.bias, generator = o.generator})
  local kdim, vdim, kv = self.kdim, self.vdim, self.kv_dim
  if kdim == e and vdim == e then
    self.in_proj_weight = parameter.zeros(e + 2 * kv, e)
    initialise.xavier_uniform_(self.in_proj_weight, draw)
  else
    self.q_proj_weight = parameter.zeros(e, e)
    self.k_proj_weight = parameter.zeros(kv, kdim)
    self.v_proj_weight = parameter.zeros(kv, vdim)
    initialise.xavier_uniform_(self.q_proj_weight, draw)
    initialise.xavier_uniform_(self.k_proj_weight, draw)
    initialise.xavier_uniform_(self.v_proj_weight, draw)
  end
  if o.bias then
    self.in_proj_bias = parameter.zeros(e + 2 * kv)
    initialise.zeros_(out_proj.bias)
  end
  if o.add_bias_kv then
    self.bias_k = parameter.zeros(1, 1, kv)
    self.bias_v = parameter.zeros(1, 1, kv)
    initialise.xavier_normal_(self.bias_k, draw)
    initialise.xavier_normal_(self.bias_v, draw)
  end
  self.out_proj = out_proj
end

-- The layer that turns queries and keys, or nil.
local function read_rotary(self, rotary)
  if not rotary or tree.is_module(rotary) then return rotary or nil end
  if rotary == true then rotary = nil end
  return RotaryEmbedding(self.head_dim, rotary)
end

--- Makes a layer.
-- PyTorch's spelling, `nn.MultiheadAttention`, is the same class.
-- @function MultiHeadAttention
-- @tparam integer embed_dim width of queries and result; a multiple of
-- num_heads
-- @tparam integer num_heads
-- @tparam[opt] table options `bias`, true by default; `kdim`, `vdim`: widths
-- of keys and values, embed_dim by default; `add_bias_kv`: a learnt key and
-- value behind the others; `add_zero_attn`: a key and value of zeros behind
-- the others; `dropout` of the weights, 0 by default; `batch_first = false`:
-- tensors are [T B E]; `num_kv_heads`: heads of keys and values, each for as
-- many heads of queries, num_heads by default; `rotary`: turns queries and keys
-- by their positions: true, options of `RotaryEmbedding`, or such a layer;
-- `generator`
-- @raise when num_heads does not divide embed_dim, or num_kv_heads num_heads
-- @usage local layer = nn.MultiHeadAttention(16, 4)
-- local y = layer(heed.randn(2, 5, 16), {causal = true}) -- [B T 16]
function MultiHeadAttention:init(embed_dim, num_heads, options)
  local o = check.options(NAME, options, OPTIONS)
  self.embed_dim = check.integer(NAME, "embed_dim", embed_dim, 1)
  self.num_heads = check.integer(NAME, "num_heads", num_heads, 1)
  if embed_dim % num_heads ~= 0 then
    check.fail("%s: embed_dim must be a multiple of num_heads, got %d and %d",
      NAME, embed_dim, num_heads)
  end
  self.head_dim = embed_dim // num_heads
  self.num_kv_heads = check.integer(NAME, "num_kv_heads",
    o.num_kv_heads or num_heads, 1)
  if num_heads % self.num_kv_heads ~= 0 then
    check.fail("%s: num_heads must be a multiple of num_kv_heads, got %d " ..
      "and %d", NAME, num_heads, self.num_kv_heads)
  end
  self.kv_dim = self.num_kv_heads * self.head_dim
  self.kdim = check.integer(NAME, "kdim", o.kdim or embed_dim, 1)
  self.vdim = check.integer(NAME, "vdim", o.vdim or embed_dim, 1)
  self.dropout = check.number(NAME, "dropout", o.dropout, 0, 1)
  self.batch_first = o.batch_first
  self.add_zero_attn = o.add_zero_attn
  self.generator = o.generator
  self.rotary = read_rotary(self, o.rotary)
  make_parameters(self, o)
end

-- -- projections -------------------------------------------------------------

-- Rows of the joint weight or bias.
local function rows(t, first, last)
  return t and ops.slice(t, 1, first, last)
end

-- q [.. H T D]
local function project_query(self, query)
  local e = self.embed_dim
  local weight = self.q_proj_weight or rows(self.in_proj_weight, 1, e)
  return ops.split_heads(
    ops.linear(query, weight, rows(self.in_proj_bias, 1, e)), self.num_heads)
end

-- k and v [.. Hk T D]
local function project_memory(self, key, value)
  local e, heads, bias = self.embed_dim, self.num_kv_heads, self.in_proj_bias
  local joint, middle, last = self.in_proj_weight, e + self.kv_dim,
    e + 2 * self.kv_dim
  if joint and rawequal(key, value) then
    return ops.split_kv(ops.linear(key, rows(joint, e + 1, last),
      rows(bias, e + 1, last)), heads)
  end
  local k_weight = self.k_proj_weight or rows(joint, e + 1, middle)
  local v_weight = self.v_proj_weight or rows(joint, middle + 1, last)
  return ops.split_heads(
    ops.linear(key, k_weight, rows(bias, e + 1, middle)), heads),
    ops.split_heads(
      ops.linear(value, v_weight, rows(bias, middle + 1, last)), heads)
end

-- Queries and new keys, turned by where they stand: behind what the cache
-- holds, or the last query beside the last key.
local function turn(self, q, k, o)
  local rotary <const> = self.rotary
  if o.cu_seqlens_k then
    check.fail("%s: rotary has no positions of keys of their own, " ..
      "cu_seqlens_k", NAME)
  end
  if o.cache then
    local options <const> = {offset = o.cache:before(self)}
    return rotary(q, options), rotary(k, options)
  end
  local ahead <const> = o.causal ~= "top-left" and k:size(-2) - q:size(-2) or 0
  return rotary(q, {offset = ahead}), rotary(k)
end

local function project(self, query, key, value, o)
  local cache = o.cache
  if cache and o.static_kv then
    if self.rotary then
      check.fail("%s: rotary has no positions of a memory, static_kv", NAME)
    end
    local q = project_query(self, query)
    local k, v = cache:kept(self)
    if k then return q, k, v end
    k, v = project_memory(self, key, value)
    cache:keep(self, k, v)
    return q, k, v
  end
  local q, k, v
  if self.in_proj_weight and self.kv_dim == self.embed_dim and
     rawequal(query, key) and rawequal(key, value) then
    q, k, v = ops.split_qkv(ops.linear(query, self.in_proj_weight,
      self.in_proj_bias), self.num_heads)
  else
    q = project_query(self, query)
    k, v = project_memory(self, key, value)
  end
  if self.rotary then q, k = turn(self, q, k, o) end
  local lengths
  if cache then k, v, lengths = cache:append(self, k, v) end
  return q, k, v, lengths
end

-- The options where the cache's sequences have different lengths.
local function by_lengths(o, lengths)
  if o.valid_lens then
    check.fail("%s: valid_lens are those of the cache, whose sequences have " ..
      "different lengths, and cannot be given too", NAME)
  end
  return setmetatable({valid_lens = lengths, align = "valid"}, {__index = o})
end

-- -- keys and values behind the others ---------------------------------------

-- [1 1 Hk * D] as one more step of a batch [.. H T D].
local function add_step(self, t, bias)
  local shape = t.shape
  shape[#shape - 1] = 1
  local step = bias and ops.expand(ops.reshape(bias,
    {self.num_kv_heads, 1, shape[#shape]}), shape) or ops.zeros(shape, t.dtype)
  return ops.cat({t, step:to(t.dtype)}, -2) -- the bias may be a half
end

-- t, broadcast along its last dimension to n, with m columns more.
local function add_columns(t, n, m, column)
  local shape = t.shape
  shape[#shape] = n
  t = ops.expand(t, shape)
  shape[#shape] = m
  return ops.cat({t, column(shape, t.dtype)}, -1)
end

-- Every query may attend to the added steps; all else is written out as one
-- mask, since it counts from the keys that were there before.
local function add_steps(self, q, k, v, o)
  if o.alibi then
    check.fail("%s: alibi has no distance to the keys of add_bias_kv and " ..
      "add_zero_attn", NAME)
  end
  local find = (o.cu_seqlens or o.cu_seqlens_k) and packed.keep or mask.keep
  local keep, bias, n = find(NAME, o, q, k), o.bias, k:size(-2)
  if self.bias_k then
    k, v = add_step(self, k, self.bias_k), add_step(self, v, self.bias_v)
  end
  if self.add_zero_attn then k, v = add_step(self, k), add_step(self, v) end
  local more = k:size(-2) - n
  return k, v, {
    mask = keep and add_columns(keep, n, more, ops.ones),
    bias = bias and add_columns(bias, n, more, ops.zeros),
    scale = o.scale, softcap = o.softcap, sinks = o.sinks, score = o.score,
    need_weights = o.need_weights,
  }
end

-- -- forward -----------------------------------------------------------------

local FORWARD <const> = {
  need_weights = true, average_weights = true, cache = true,
  static_kv = true,
}
for key in pairs(mask.KEYS) do FORWARD[key] = true end

local NONE <const> = {}

local INPUTS <const> = {"query", "key", "value"}
local WIDTHS <const> = {"embed_dim", "kdim", "vdim"}

local function check_inputs(self, query, key, value)
  check.tensor(NAME, "query", query)
  check.tensor(NAME, "key", key)
  check.tensor(NAME, "value", value)
  local least = self.batch_first and 2 or 3
  if query.ndim < least or key.ndim ~= query.ndim or
     value.ndim ~= query.ndim then
    check.fail("%s: query, key and value must be %s, got %s, %s and %s", NAME,
      least == 2 and "[B T E] or [T E]" or "[T B E]",
      check.shape(query.shape), check.shape(key.shape),
      check.shape(value.shape))
  end
  for i, t in ipairs {query, key, value} do
    local width <const> = self[WIDTHS[i]]
    if t:size(-1) ~= width then
      check.fail("%s: %s %s must end in %d, the layer's %s", NAME,
        INPUTS[i], check.shape(t.shape), width, WIDTHS[i])
    end
  end
end

-- [T B E] as [B T E], equal ones once.
local function to_batch_first(query, key, value)
  local q = ops.transpose(query, 1, 2)
  local k = rawequal(key, query) and q or ops.transpose(key, 1, 2)
  if rawequal(value, query) then return q, k, q end
  return q, k, rawequal(value, key) and k or ops.transpose(value, 1, 2)
end

--- Attends from `query` to `key` and `value`. The options may follow after any
-- of the three.
-- @param query tensor [B T E] or [T E]
-- @param[opt=query] key tensor [B S kdim]
-- @param[opt=key] value tensor [B S vdim]
-- @tparam[opt] table options the descriptions of
-- `F.scaled_dot_product_attention` (`mask` and `bias` broadcast to
-- [B H T S]); `need_weights`: returns the weights and keeps them in
-- `attention_weights`; `average_weights = false`: those of every head; `cache`:
-- an `nn.KeyValueCache`, to which keys and values are added, and to all of
-- which `query` attends, each sequence to its own; `static_kv`: the cache
-- holds keys and values of its first call instead
-- @return tensor [B T E]
-- @return with `need_weights`, the weights [B T S], or [B H T S] of every head
-- @raise when widths or lengths do not fit, and where options contradict each
-- other: `alibi` and added keys, `valid_lens` and a cache with lengths of its
-- own, `rotary` and `static_kv`
-- @usage
-- local layer, x = nn.MultiHeadAttention(16, 4), heed.randn(2, 5, 16)
-- local y, w = layer(x, {causal = true, need_weights = true})
-- return w[{1, 1}] --> 1 0 0 0 0
function MultiHeadAttention:forward(query, key, value, options)
  if type(key) == "table" then key, options = nil, key end
  if type(value) == "table" then value, options = nil, value end
  check.keys(NAME, options, FORWARD)
  local o = options or NONE
  key = key or query
  value = value or key
  check_inputs(self, query, key, value)
  if not self.batch_first then
    query, key, value = to_batch_first(query, key, value)
  end
  local q, k, v, lengths = project(self, query, key, value, o)
  if lengths then o = by_lengths(o, lengths) end
  local average = o.average_weights ~= false
  if self.bias_k or self.add_zero_attn then
    k, v, o = add_steps(self, q, k, v, o)
  end
  local dropout = self.training and self.dropout or 0.0
  local y, w = attend(NAME, q, k, v, o, dropout, self.generator)
  -- [B H T D] -> [B T H D] -> [B T E]
  y = self.out_proj(ops.flatten(ops.transpose(y, -3, -2), -2, -1))
  if w and average then w = ops.mean(w, -3) end
  self.attention_weights = w
  if not self.batch_first then y = ops.transpose(y, 1, 2) end
  if w then return y, w end
  return y
end

function MultiHeadAttention:extra()
  local shared = self.num_kv_heads < self.num_heads and
    (", num_kv_heads = %d"):format(self.num_kv_heads) or ""
  return ("%d, %d%s"):format(self.embed_dim, self.num_heads, shared)
end

return MultiHeadAttention
