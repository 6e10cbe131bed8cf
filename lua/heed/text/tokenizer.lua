--- What all tokenisers share. A tokeniser has
--
--     ids = t:encode(text)       a list of ids, from 1
--     tokens = t:tokens(text)    the same as strings
--     text = t:decode(ids)
--     t:id(token), t:token(id), #t, t.pad, t.bos, t.eos, t.unk
--     t:save(path), text.load(path), t:to_table(), Class.from_table(table)
--
-- and here keeps `list`, its tokens by id, and `ids`, the other way round.

local cjson = require "cjson"
local check = require "heed.check"
local core = require "heed.core"

local Tokenizer = {}

-- The fields for special tokens: those of translators, those of BERT.
local FIELDS <const> = {
  pad = {"<pad>", "[PAD]"}, bos = {"<bos>"}, eos = {"<eos>"},
  unk = {"<unk>", "[UNK]"}, cls = {"[CLS]"}, sep = {"[SEP]"},
  mask = {"[MASK]", "<mask>"},
}

--- Gives a class the methods of a tokeniser; messages open with `name`.
function Tokenizer.class(name)
  local class = setmetatable({__name = name}, {__index = Tokenizer})
  class.__index = class
  class.__len = Tokenizer.__len
  return class
end

--- Fills in `ids` and the fields of special tokens of a new tokeniser with its
-- `list`; the first `n` are special.
function Tokenizer.number(self, n)
  self.ids = {}
  for id, token in ipairs(self.list) do self.ids[token] = id end
  for field, tokens in pairs(FIELDS) do
    for _, token in ipairs(tokens) do
      local id <const> = self.ids[token]
      if id and id <= n then self[field] = self[field] or id end
    end
  end
  return self
end

--- The name of the tokeniser's class, for messages.
local function name_of(self) return getmetatable(self).__name end

--- Returns id i of a list as an integer; raises unless it is a token's.
function Tokenizer.check_id(self, ids, i)
  local id <const> = math.type(ids[i]) and math.tointeger(ids[i])
  if not id or id < 1 or id > #self.list then
    check.fail("%s.decode: ids[%d] must be an integer in 1..%d, got %s",
      name_of(self), i, #self.list, check.show(ids[i]))
  end
  return id
end

--- Returns a list of ids from a list or an int64 tensor with one dimension.
function Tokenizer.read_ids(self, ids)
  if check.is_tensor(ids) and ids.ndim == 1 then return ids:totable() end
  return check.kind(name_of(self) .. ".decode", "ids", ids, "table")
end

--- Returns the bytes of ids, of a tokeniser whose tokens of single bytes have
-- the ids `first_byte` to `last_byte`; specials, before them, add nothing.
function Tokenizer.bytes_of(self, ids)
  ids = self:read_ids(ids)
  local parts = {}
  for i = 1, #ids do
    local id <const> = self:check_id(ids, i)
    if id > self.last_byte then
      parts[#parts + 1] = self.list[id]
    elseif id >= self.first_byte then
      parts[#parts + 1] = string.char(id - self.first_byte)
    end
  end
  return table.concat(parts)
end

--- Returns the text; raises unless it is a string.
function Tokenizer.check_text(self, method, text)
  return check.kind(name_of(self) .. "." .. method, "text", text, "string")
end

--- Returns the tokens of a text, a list of strings, one for each id.
-- @tparam string text
-- @treturn {string,...}
function Tokenizer:tokens(text)
  self:check_text("tokens", text)
  local result = self:encode(text)
  for i, id in ipairs(result) do result[i] = self.list[id] end
  return result
end

--- Returns the id of a token, or nil when there is no such token.
-- @tparam string token as `tokens` gives it
function Tokenizer:id(token)
  check.kind(name_of(self) .. ".id", "token", token, "string")
  return self.ids[token]
end

--- Returns the token of an id.
-- @tparam integer id
-- @raise on an id outside the vocabulary
function Tokenizer:token(id)
  local n <const> = math.type(id) and math.tointeger(id)
  if not n or n < 1 or n > #self.list then
    check.fail("%s.token: id must be an integer in 1..%d, got %s",
      name_of(self), #self.list, check.show(id))
  end
  return self.list[n]
end

--- The number of ids.
function Tokenizer:__len() return #self.list end

--- Writes the tokeniser into a file as JSON, whole or not at all; `text.load`
-- reads it.
-- @tparam string path
-- @raise when the file cannot be written
function Tokenizer:save(path)
  check.kind(name_of(self) .. ".save", "path", path, "string")
  core.write_file_atomic(path, cjson.encode(self:to_table()) .. "\n",
    name_of(self) .. ".save")
end

-- -- tables ------------------------------------------------------------------

--- Returns what is wrong with the head of a table, or nil.
function Tokenizer.head_fault(t, format, version)
  if t.format ~= format then
    return ('format must be "%s", got %s'):format(format, check.show(t.format))
  end
  if t.version ~= version then
    return ("version must be %d, got %s"):format(version,
      check.show(t.version))
  end
end

--- Returns what is wrong with a list of distinct strings none of which is in
-- `seen`, or nil; adds them to it.
function Tokenizer.distinct_fault(list, seen)
  local _, fault = check.list(list, "string")
  if fault then return fault end
  for i, token in ipairs(list) do
    if seen[token] then
      return ("[%d]: %s is there twice"):format(i, check.show(token))
    end
    seen[token] = true
  end
end

--- Returns how often each item of the lists that `split` makes of the texts
-- occurs, and the number of texts.
function Tokenizer.count(func, texts, split)
  local count, n = {}, 0
  for text in check.iterator(func, "texts", texts) do
    n = n + 1
    check.kind(func, ("texts[%d]"):format(n), text, "string")
    for _, item in ipairs(split(text)) do
      count[item] = (count[item] or 0) + 1
    end
  end
  return count, n
end

return Tokenizer
