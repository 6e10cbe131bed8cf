--- Models from folders: `config.json` says what network it is, its weights are
-- in `model.safetensors` or in shards, and tokeniser files lie beside them.

local check = require "heed.check"
local config = require "heed.models.config"
local exists = require "heed.exists"
local files = require "heed.files"
local has_tokenizer = require "heed.text.load".has
local text = require "heed.text"
local weights = require "heed.models.weights"

local NAME <const> = "models.load"

-- The file of the class for each model_type.
local FAMILIES <const> = {
  bert = "bert", roberta = "bert", ["xlm-roberta"] = "bert", gpt2 = "gpt2",
  llama = "llama", mistral = "llama", qwen2 = "llama", marian = "marian",
  t5 = "t5", mt5 = "t5",
}

local WEIGHTS <const> = {"model.safetensors", "model.safetensors.index.json"}
local DTYPES <const> = {
  float16 = true, bfloat16 = true, float32 = true, float64 = true,
}

local function open_weights(folder, mapped)
  for _, name in ipairs(WEIGHTS) do
    local path <const> = folder .. "/" .. name
    if exists(path) then
      return files.open_safetensors(path, {mapped = mapped})
    end
  end
  check.fail("%s: %s has none of %s", NAME, folder, table.concat(WEIGHTS, ", "))
end

-- The class of a config, by its model_type.
local function class_of(path, c)
  local family <const> = FAMILIES[c.model_type]
  if not family then
    check.fail("%s: %s: model_type must be one of %s, got %s", NAME, path,
      check.names(FAMILIES), check.show(c.model_type))
  end
  return require("heed.models." .. family)
end

local function read_folder(folder, dtype, mapped)
  local path <const> = folder .. "/config.json"
  local c <const> = config.read_json(NAME, path)
  if not c then check.fail("%s: there is no %s", NAME, path) end
  local class <const> = class_of(path, c)
  local file <close> = open_weights(folder, mapped)
  return weights.load(NAME, class, c, file, dtype), c
end

local function read_bin(path, dtype)
  local file <const>, c <const> = require "heed.models.llama_bin"(NAME, path)
  return weights.load(NAME, require "heed.models.llama", c, file, dtype), c
end

-- The tokeniser of a path that the user gave, or of the files beside the
-- weights; nil when there are none.
local function read_tokenizer(path, given, is_bin)
  if given == false then return nil end
  if given == nil then
    given = is_bin and path:gsub("[^/]*$", "tok512.bin") or path
    if is_bin and not exists(given) then return nil end
    if not is_bin and not has_tokenizer(path) then return nil end
  end
  local tokenizer <const>, fault = text.load(given)
  if not tokenizer then check.fail("%s: %s", NAME, fault) end
  return tokenizer
end

--- Loads a model that was trained elsewhere.
--
-- A folder as models come in: `config.json`; `model.safetensors`, or its index
-- with all shards; files of a tokeniser, and those that say how texts are
-- embedded and generated. Families, by `model_type`: bert, roberta,
-- xlm-roberta (`embed`); gpt2, llama, mistral, qwen2 (`generate`); marian, t5,
-- mt5 (`translate`). Or a `.bin` file of llama2.c, with `tok512.bin` beside it.
-- No code is run, and the files need not be trusted.
-- @tparam string path of the folder or file
-- @tparam[opt] table options `dtype` of the weights, "float32" by default; in
-- "bfloat16" and "float16" they take half the memory; `mapped` (false): weights
-- of this dtype stay in the file and are read when they are used, once for all
-- processes, see `heed.open_safetensors`; `tokenizer`: path of a tokeniser, or
-- false for none
-- @treturn Model with `network`, `tokenizer`, `config`, see there
-- @raise when a file is missing or wrong, a setting is unknown, or weights do
-- not fit
-- @usage
-- local folder = os.tmpname()
-- os.remove(folder)
-- os.execute("mkdir " .. folder)
-- local file = io.open(folder .. "/config.json", "w")
-- file:write [[{"model_type": "llama", "vocab_size": 20, "hidden_size": 8,
--   "num_hidden_layers": 1, "num_attention_heads": 2,
--   "intermediate_size": 16}]]
-- file:close()
-- local made = heed.models.Llama {vocab_size = 20, hidden_size = 8,
--   num_hidden_layers = 1, num_attention_heads = 2, intermediate_size = 16}
-- heed.save_safetensors(folder .. "/model.safetensors", made:state_dict())
-- local model = heed.models.load(folder)
-- os.execute("rm -r " .. folder)
-- return model:logits({1, 2, 3}).shape --> 3 20
local function load(path, options)
  check.kind(NAME, "path", path, "string")
  local o <const> = check.options(NAME, options,
    {dtype = "float32", mapped = false, tokenizer = check.NONE})
  if not DTYPES[o.dtype] then
    check.fail("%s: dtype must be one of %s, got %s", NAME,
      check.names(DTYPES), check.show(o.dtype))
  end
  path = path:gsub("(.)/+$", "%1")
  local is_bin <const> = path:find "%.bin$" ~= nil
  local network <const>, c <const> =
    (is_bin and read_bin or read_folder)(path, o.dtype, o.mapped)
  local Model <const> = require "heed.models.model"
  return Model(network, read_tokenizer(path, o.tokenizer, is_bin), c,
    not is_bin and path or nil)
end

return load
