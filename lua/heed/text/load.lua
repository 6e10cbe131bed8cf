--- Tokenisers from files.

local cjson = require "cjson"
local check = require "heed.check"
local read_file = require "heed.read_file"

-- By the field `format` of their tables.
local CLASSES <const> = {
  ["heed.bpe"] = "bpe", ["heed.characters"] = "characters",
  ["heed.vocabulary"] = "vocabulary", ["heed.wordpiece"] = "wordpiece",
  ["heed.words"] = "words",
}

--- Returns the tokeniser, or vocabulary, that `save` wrote. Reading runs no
-- code.
-- @tparam string path
-- @return or nil and a message: the file cannot be read, or holds none
-- @usage
-- local name = os.tmpname()
-- heed.text.Characters.train({"abc"}):save(name)
-- return heed.text.load(name):decode({261, 262}) --> ab
local function load(path)
  check.kind("text.load", "path", path, "string")
  local text <const>, fault = read_file("text.load", path)
  if not text then return nil, fault end
  local ok <const>, t = pcall(cjson.decode, text)
  if not ok or type(t) ~= "table" then
    return nil, ("text.load: %s: no JSON object: %s"):format(path,
      ok and check.show(t) or t)
  end
  local class <const> = CLASSES[t.format]
  if not class then
    return nil, ("text.load: %s: no tokeniser: format is %s"):format(path,
      check.show(t.format))
  end
  local made <const>, result = pcall(require("heed.text." .. class).from_table,
    t)
  if made then return result end
  return nil, ("text.load: %s: %s"):format(path,
    (tostring(result):gsub("^[^:]*:%d+: ", "")))
end

return {load = load}
