--- Which files of a folder a tokeniser is made of, and how: each reader gives
-- the table that tokenizer.json would hold.

local check = require "heed.check"
local read_file = require "heed.read_file"

local files = {}

local NAME <const> = "text.load"

local function read(path)
  local bytes <const>, fault = read_file(NAME, path)
  if not bytes then check.fail("%s", fault) end
  return bytes
end

local function read_json(path)
  local value <const>, reason = require "cjson.safe".decode(read(path))
  if type(value) ~= "table" then
    check.fail("%s: %s: no JSON object: %s", NAME, path,
      reason or check.show(value))
  end
  return value
end

local function exists(path)
  local file <const> = io.open(path, "rb")
  local there <const> = file ~= nil and file:read(0) ~= nil
  if file then file:close() end
  return there
end

-- The first of some files that a folder has, or nil.
local function find(folder, names)
  for _, name in ipairs(names) do
    if exists(folder .. "/" .. name) then return folder .. "/" .. name end
  end
end

-- -- roles -------------------------------------------------------------------

local ROLES <const> = {pad = "pad_token", bos = "bos_token", eos = "eos_token",
  unk = "unk_token", cls = "cls_token", sep = "sep_token", mask = "mask_token"}

-- The settings beside a tokeniser, of the files that there are.
local function read_settings(folder)
  local settings = {}
  for _, name in ipairs {"special_tokens_map.json", "tokenizer_config.json"} do
    local path <const> = folder .. "/" .. name
    for key, value in pairs(exists(path) and read_json(path) or {}) do
      settings[key] = value
    end
  end
  return settings
end

local function roles_of(settings, given)
  local roles = {}
  for role, key in pairs(ROLES) do
    local token = settings[key]
    if type(token) == "table" then token = token.content end
    roles[role] = type(token) == "string" and token or given and given[role]
  end
  return roles
end

-- -- kinds of files ----------------------------------------------------------

-- What stands around a text: the tokens of two roles, where they are wanted.
local function around(c, ids, first, last)
  local single, specials = {}, {}
  local function add(token)
    if token and ids[token] then
      single[#single + 1] = {SpecialToken = {id = token}}
      specials[token] = {ids = {ids[token]}}
    end
  end
  add(first)
  single[#single + 1] = {Sequence = {id = "A"}}
  add(last)
  local pair <const> = table.move(single, 1, #single, 1, {})
  table.insert(pair, last and ids[last] and #pair or #pair + 1,
    {Sequence = {id = "B"}})
  c.post_processor = {type = "TemplateProcessing", single = single,
    pair = pair, special_tokens = specials}
  return c
end

-- The numbers of tokens in a table for tokenizer.json.
local function ids_in(c)
  local vocab <const>, ids = c.model.vocab, {}
  for key, value in pairs(vocab) do
    if type(value) == "table" then
      ids[value[1]] = ids[value[1]] or key - 1
    else
      ids[key] = value
    end
  end
  return ids
end

local function bert(path, settings)
  local vocab, n = {}, 0
  for line in read(path):gmatch "([^\n]*)\n?" do
    line = line:gsub("\r$", "")
    if line ~= "" then vocab[line] = vocab[line] or n end
    n = n + 1
  end
  local lowercase = settings.do_lower_case
  if lowercase == nil then lowercase = true end
  local tokens, roles = {}, roles_of(settings, {pad = "[PAD]", unk = "[UNK]",
    cls = "[CLS]", sep = "[SEP]", mask = "[MASK]"})
  for _, token in pairs(roles) do
    if vocab[token] then
      tokens[#tokens + 1] = {id = vocab[token], content = token,
        special = true}
    end
  end
  local c <const> = {added_tokens = tokens,
    model = {type = "WordPiece", vocab = vocab, unk_token = roles.unk},
    normalizer = {type = "BertNormalizer", lowercase = lowercase,
      strip_accents = settings.strip_accents},
    pre_tokenizer = {type = "BertPreTokenizer"},
    decoder = {type = "WordPiece"}}
  if not vocab[roles.cls] or not vocab[roles.sep] then return c, roles end
  c.post_processor = {type = "BertProcessing",
    cls = {roles.cls, vocab[roles.cls]}, sep = {roles.sep, vocab[roles.sep]}}
  return c, roles
end

local function gpt2(vocab_path, merges_path, settings)
  local vocab <const>, merges = read_json(vocab_path), {}
  for line in read(merges_path):gmatch "[^\r\n]+" do
    if not (#merges == 0 and line:find "^#version") then
      merges[#merges + 1] = line
    end
  end
  local END <const> = "<|endoftext|>"
  local given <const> = vocab[END] and
    {bos = END, eos = END, unk = END} or nil
  local roles <const> = roles_of(settings, given)
  local tokens, seen = {}, {}
  for _, token in pairs(roles) do
    if vocab[token] and not seen[token] then
      seen[token] = true
      tokens[#tokens + 1] = {id = vocab[token], content = token,
        special = true}
    end
  end
  local c <const> = {added_tokens = tokens,
    model = {type = "BPE", vocab = vocab, merges = merges},
    pre_tokenizer = {type = "ByteLevel",
      add_prefix_space = settings.add_prefix_space == true},
    decoder = {type = "ByteLevel"}}
  if vocab["<s>"] and vocab["</s>"] then -- RoBERTa
    c.post_processor = {type = "RobertaProcessing", cls = {"<s>", vocab["<s>"]},
      sep = {"</s>", vocab["</s>"]}}
  end
  return c, roles
end

-- What a class of the hub puts around a text.
local function sentencepiece(path, settings)
  local c <const>, given = require "heed.text.hub.sentencepiece"(
    ("%s: %s"):format(NAME, path), read(path))
  local roles <const> = roles_of(settings, given)
  local class <const> = settings.tokenizer_class
  local first, last = settings.add_bos_token, settings.add_eos_token
  if type(first) ~= "boolean" then first = class ~= "T5Tokenizer" end
  if type(last) ~= "boolean" then last = class ~= "LlamaTokenizer" end
  return around(c, ids_in(c), first and roles.bos, last and roles.eos), roles
end

-- A Marian's source is cut by a SentencePiece model, whose pieces vocab.json
-- numbers.
local function marian(path, vocab_path, settings)
  local c <const> = require "heed.text.hub.sentencepiece"(
    ("%s: %s"):format(NAME, path), read(path))
  local vocab <const> = read_json(vocab_path)
  local roles <const> = roles_of(settings,
    {eos = "</s>", unk = "<unk>", pad = "<pad>"})
  c.numbers, c.added_tokens = vocab, {}
  for _, role in ipairs {"eos", "unk", "pad"} do
    local token <const> = roles[role]
    if vocab[token] then
      table.insert(c.added_tokens, {id = vocab[token], content = token,
        special = true, found = false})
    end
  end
  return around(c, vocab, nil, roles.eos), roles
end

-- -- choosing ----------------------------------------------------------------

local SPM <const> = {"tokenizer.model", "spiece.model",
  "sentencepiece.bpe.model"}

-- What a folder's tokeniser is read from: a function without arguments.
local function choose(folder)
  local json <const> = find(folder, {"tokenizer.json"})
  if json then
    return function()
      return read_json(json), roles_of(read_settings(folder))
    end
  end
  local source <const>, vocab <const> = find(folder, {"source.spm"}),
    find(folder, {"vocab.json", "encoder.json"})
  local merges <const> = find(folder, {"merges.txt", "vocab.bpe"})
  local words <const>, spm <const> = find(folder, {"vocab.txt"}),
    find(folder, SPM)
  local function with(f, ...)
    local arguments <const> = table.pack(...)
    return function()
      table.insert(arguments, read_settings(folder))
      return f(table.unpack(arguments))
    end
  end
  if source and vocab then return with(marian, source, vocab) end
  if vocab and merges then return with(gpt2, vocab, merges) end
  if spm then return with(sentencepiece, spm) end
  if words then return with(bert, words) end
end

--- Has a folder a tokeniser?
function files.has(folder) return choose(folder) ~= nil end

--- Reads a tokeniser file, or those of a folder.
-- @tparam string path
-- @tparam[opt] table json what the file holds, where that has been read
-- @treturn table what tokenizer.json would hold
-- @treturn table tokens by role
-- @raise when there is none
function files.read(path, json)
  path = path:gsub("(.)/+$", "%1")
  local folder <const> = path:match "^(.*)/[^/]*$" or "."
  local name <const> = path:match "[^/]*$"
  if name == "vocab.txt" then return bert(path, read_settings(folder)) end
  if name:find "%.model$" or name:find "%.spm$" then
    return sentencepiece(path, {})
  elseif name:find "%.bin$" then
    return require "heed.text.hub.llama2c"(("%s: %s"):format(NAME, path),
      read(path))
  elseif name:find "%.json$" or name:find "%.bpe$" or name:find "%.txt$" then
    local pair <const> = choose(folder)
    if name ~= "tokenizer.json" and pair then
      local vocab <const> = find(folder, {"vocab.json", "encoder.json"})
      local merges <const> = find(folder, {"merges.txt", "vocab.bpe"})
      if vocab and merges then
        return gpt2(vocab, merges, read_settings(folder))
      end
    end
    return json or read_json(path), roles_of(read_settings(folder))
  end
  local reader <const> = choose(path)
  if not reader and exists(path) then return json or read_json(path), {} end
  if not reader then
    check.fail("%s: %s: has none of tokenizer.json, vocab.json with "
      .. "merges.txt, source.spm, tokenizer.model, spiece.model, vocab.txt",
      NAME, path)
  end
  return reader()
end

return files
