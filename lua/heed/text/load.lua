--- Tokenisers from files.

local cjson = require "cjson"
local check = require "heed.check"
local files = require "heed.text.hub.files"
local read_file = require "heed.read_file"

-- By the field `format` of their tables.
local CLASSES <const> = {
  ["heed.bpe"] = "bpe", ["heed.characters"] = "characters",
  ["heed.pretrained"] = "pretrained",
  ["heed.vocabulary"] = "vocabulary", ["heed.wordpiece"] = "wordpiece",
  ["heed.words"] = "words",
}

-- The object of a JSON file, or nil.
local function read_object(path)
  local text <const> = read_file("text.load", path)
  if not text or text:sub(1, 1) ~= "{" then return nil end
  local ok <const>, t = pcall(cjson.decode, text)
  return ok and t or nil
end

-- What f gives, or nil and its message without the place.
local function attempt(f, ...)
  local made <const>, result = pcall(f, ...)
  if made then return result end
  return nil, (tostring(result):gsub("^[^:]*:%d+: ", ""))
end

local function load_own(path, t)
  local class <const> = CLASSES[t.format]
  if not class then
    return nil, ("text.load: %s: no tokeniser: format is %s"):format(path,
      check.show(t.format))
  end
  local result <const>, fault = attempt(
    require("heed.text." .. class).from_table, t)
  return result, fault and ("text.load: %s: %s"):format(path, fault)
end

local function load_pretrained(path, json)
  local c <const>, roles = files.read(path, json)
  return require "heed.text.pretrained".new(c, roles)
end

--- Returns the tokeniser of a file or of a model's folder.
--
-- Files: what `save` wrote, also a vocabulary's; `tokenizer.json`; `vocab.txt`
-- (BERT); `vocab.json` or `encoder.json` beside `merges.txt` or `vocab.bpe`
-- (GPT-2, RoBERTa); SentencePiece's `.model` and `.spm`; llama2.c's `.bin`. A
-- folder: what it has of these; and `source.spm` with `vocab.json` (Marian).
-- `tokenizer_config.json` and `special_tokens_map.json` beside them are looked
-- at. Reading runs no code, and the files need not be trusted.
-- @tparam string path
-- @return tokeniser; or nil and a message: the file cannot be read, holds none,
-- or needs what heed lacks
-- @usage
-- local name = os.tmpname()
-- heed.text.Characters.train({"abc"}):save(name)
-- return heed.text.load(name):decode({261, 262}) --> ab
local function load(path)
  check.kind("text.load", "path", path, "string")
  local json <const> = read_object(path)
  if json and json.format ~= nil then return load_own(path, json) end
  local result <const>, fault = attempt(load_pretrained, path, json)
  if result then return result end
  fault = fault:gsub("^text%.load: ", "")
  if fault:sub(1, #path) ~= path then fault = path .. ": " .. fault end
  return nil, "text.load: " .. fault
end

return {load = load, has = files.has}
