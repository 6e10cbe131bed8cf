--- Texts as vectors: what a network makes of all tokens, pooled.
-- How a model was trained to do it, its modules.json says (Reimers and
-- Gurevych, 2019).

local check = require "heed.check"
local config = require "heed.models.config"
local core = require "heed.core"
local encode = require "heed.models.encode"
local F = require "heed.nn.functional"
local pad = require "heed.models.pad"

local ops <const> = core.ops
local NAME <const> = "embed"

local embed = {}

local POOLINGS <const> = {
  pooling_mode_mean_tokens = "mean", pooling_mode_cls_token = "cls",
  pooling_mode_max_tokens = "max",
}

-- "sentence_transformers.models.Pooling": the last word.
local function kind_of(module)
  return type(module) == "table" and type(module.type) == "string" and
    module.type:match "[^.]*$" or ""
end

local function read_pooling(folder, module)
  local name <const> = type(module.path) == "string" and module.path or ""
  if name == "" or name:find "/" or name:find "%.%." then return nil end
  local path <const> = ("%s/%s/config.json"):format(folder, name)
  local c <const> = config.read_json("models.load", path) or {}
  local found
  for key, value in pairs(c) do
    if key:find "^pooling_mode_" and value == true then
      if found or not POOLINGS[key] then
        check.fail("models.load: %s: pooling must be one of mean, cls, max, "
          .. "got %s", path, key)
      end
      found = POOLINGS[key]
    end
  end
  return found
end

--- How the files of a folder want it, or the mean of all tokens.
-- @treturn table `pooling`, `normalize`, `max_length`
function embed.settings(network, folder)
  local s <const> = {pooling = "mean", normalize = false,
    max_length = network.max_length}
  local modules <const> = folder and
    config.read_json("models.load", folder .. "/modules.json")
  if not modules then return s end
  for _, module in ipairs(modules) do
    local kind <const> = kind_of(module)
    if kind == "Pooling" then
      s.pooling = read_pooling(folder, module) or s.pooling
    elseif kind == "Normalize" then
      s.normalize = true
    elseif kind ~= "Transformer" then
      check.fail("models.load: %s/modules.json: type must be one of "
        .. "Normalize, Pooling, Transformer, got %s", folder, check.show(kind))
    end
  end
  local sentence <const> = config.read_json("models.load",
    folder .. "/sentence_bert_config.json") or {}
  local longest <const> = math.tointeger(sentence.max_seq_length)
  if longest and longest >= 1 then
    s.max_length = math.min(longest, s.max_length or longest)
  end
  return s
end

-- Of many ids the beginning, and the special one at the end.
local function cut(ids, longest)
  if longest and #ids > longest then
    local last <const> = ids[#ids]
    ids[longest] = last
    for i = longest + 1, #ids do ids[i] = nil end
  end
  return ids
end

-- x [B T C] with the first lens [B] of each: [B C].
local function pool(x, lens, kind)
  if kind == "cls" then return ops.select(x, 2, 1) end
  local seen <const> = ops.unsqueeze(F.length_mask(lens, x:size(2)), 3)
  if kind == "max" then
    return ops.amax(ops.where(seen, x, -math.huge), {2})
  end
  return ops.div(ops.sum(ops.where(seen, x, 0.0), {2}),
    ops.to(ops.unsqueeze(lens, 2), x.dtype))
end

-- The vectors of some lists of ids.
local function run_batch(network, lists, padding, o)
  local ids <const>, lens <const> = pad(lists, padding)
  local x <const> = network(ids, {lens = lens})
  local v <const> = pool(x, lens, o.pooling)
  return o.normalize and F.normalize(v, -1) or v
end

--- The vectors of texts, in batches of texts of about one length.
-- @return float tensor [B D]
function embed.run(network, tokenizer, texts, settings, options)
  local o <const> = check.options(NAME, options, {batch_size = 32,
    pooling = settings.pooling, normalize = settings.normalize})
  check.integer(NAME, "batch_size", o.batch_size, 1)
  local known <const> = {mean = true, cls = true, max = true}
  if not known[o.pooling] then
    check.fail("%s: pooling must be one of %s, got %s", NAME,
      check.names(known), check.show(o.pooling))
  end
  local lists = {}
  for i, text in ipairs(texts) do
    lists[i] = cut(encode.one(NAME, tokenizer, text, i), settings.max_length)
  end
  local _ <close> = core.no_grad()
  local parts, back, n = {}, {}, 0
  for batch, places in encode.batches(lists, o.batch_size) do
    parts[#parts + 1] = run_batch(network, batch, tokenizer.pad or 1, o)
    for _, place in ipairs(places) do
      n = n + 1
      back[place] = n
    end
  end
  if #parts == 0 then
    return ops.zeros({0, network.embeddings.LayerNorm.normalized_shape[1]})
  end
  return ops.index_select(ops.cat(parts, 1),
    core.tensor(back, {dtype = "int64"}))
end

return embed
