--- The .bin files of llama2.c (Karpathy, 2023): seven sizes, then the weights
-- of a Llama as float32, little-endian, those of all layers of a kind together.
--
--     int32 dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len
--     (a negative vocab_size: the head is not the table of tokens)
--     token table; of each layer: attention norm, wq, wk, wv, wo, feed-forward
--     norm, w1, w2, w3; final norm; two tables of angles, of no use here; head

local check = require "heed.check"
local files = require "heed.files"

local HEADER <const> = "<i4i4i4i4i4i4i4"
local NAMES <const> = {"dim", "hidden_dim", "n_layers", "n_heads",
  "n_kv_heads", "vocab_size", "seq_len"}
local LARGEST <const> = 1 << 28 -- of a size: none comes near

local function read_header(func, path)
  local file <const>, reason = io.open(path, "rb")
  if not file then check.fail("%s: %s", func, reason) end
  local bytes <const> = file:read(HEADER:packsize())
  local length <const> = file:seek "end"
  file:close()
  if not bytes or #bytes < HEADER:packsize() then
    check.fail("%s: %s: is too short for a .bin file of llama2.c", func, path)
  end
  local h = {length = length}
  local values <const> = table.pack(HEADER:unpack(bytes))
  for i, name in ipairs(NAMES) do
    h[name] = values[i]
    if h[name] == 0 or math.abs(h[name]) > LARGEST or
       name ~= "vocab_size" and h[name] < 0 then
      check.fail("%s: %s: %s must be from 1 to %d, got %d", func, path, name,
        LARGEST, h[name])
    end
  end
  h.tied = h.vocab_size > 0
  h.vocab_size = math.abs(h.vocab_size)
  if h.dim % h.n_heads ~= 0 or h.n_heads % h.n_kv_heads ~= 0 or
     h.dim // h.n_heads % 2 ~= 0 then
    check.fail("%s: %s: dim %d, n_heads %d and n_kv_heads %d do not fit",
      func, path, h.dim, h.n_heads, h.n_kv_heads)
  end
  return h
end

-- What lies in the file, in order: {name, or pattern for each layer; sizes}.
local function layout(h)
  local e <const>, f <const>, kv <const> = h.dim, h.hidden_dim,
    h.dim // h.n_heads * h.n_kv_heads
  local list <const> = {
    {"model.embed_tokens.weight", {h.vocab_size, e}},
    {"input_layernorm.weight", {e}, true},
    {"self_attn.q_proj.weight", {e, e}, true},
    {"self_attn.k_proj.weight", {kv, e}, true},
    {"self_attn.v_proj.weight", {kv, e}, true},
    {"self_attn.o_proj.weight", {e, e}, true},
    {"post_attention_layernorm.weight", {e}, true},
    {"mlp.gate_proj.weight", {f, e}, true},
    {"mlp.down_proj.weight", {e, f}, true},
    {"mlp.up_proj.weight", {f, e}, true},
    {"model.norm.weight", {e}},
    {"angles", {2, h.seq_len, e // h.n_heads // 2}},
  }
  if not h.tied then list[#list + 1] = {"lm_head.weight", {h.vocab_size, e}} end
  return list
end

-- Where each tensor begins, in bytes, and its shape, by name.
local function places_of(func, path, h)
  local at, places, names = HEADER:packsize(), {}, {}
  local function add(name, shape)
    local n = 4
    for _, size in ipairs(shape) do
      n = n * size
      if n > h.length then break end
    end
    if at + n > h.length then
      check.fail("%s: %s: must hold %s %s at byte %d, got %d bytes", func,
        path, name, check.shape(shape), at, h.length)
    end
    if name ~= "angles" then
      names[#names + 1], places[name] = name, {shape = shape, at = at}
    end
    at = at + n
  end
  for _, item in ipairs(layout(h)) do
    if item[3] then
      for layer = 0, h.n_layers - 1 do
        add(("model.layers.%d.%s"):format(layer, item[1]), item[2])
      end
    else
      add(item[1], item[2])
    end
  end
  return places, names
end

--- Opens a file; `func` is the function that messages name.
-- @treturn table with `path`, `names` and `get(name)`, as a `TensorFile`
-- @treturn table the config, as config.json would hold it
-- @raise when the file is too short, or its sizes make no sense
return function(func, path)
  local h <const> = read_header(func, path)
  local places <const>, names <const> = places_of(func, path, h)
  return {
    path = path, names = names,
    get = function(_, name)
      local place <const> = places[name]
      return files.fromfile(path, place.shape, {offset = place.at})
    end,
  }, {
    model_type = "llama", vocab_size = h.vocab_size, hidden_size = h.dim,
    num_hidden_layers = h.n_layers, num_attention_heads = h.n_heads,
    num_key_value_heads = h.n_kv_heads, intermediate_size = h.hidden_dim,
    max_position_embeddings = h.seq_len, rms_norm_eps = 1e-5,
    rope_style = "interleaved", tie_word_embeddings = h.tied,
  }
end
