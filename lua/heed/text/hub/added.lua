--- The added tokens of tokenizer.json, which are found in a text as they stand:
-- some in the text as it is given, some in what normalizers make of it.

local check = require "heed.check"
local part = require "heed.text.hub.part"
local regex = require "heed.text.hub.regex"
local vocabulary = require "heed.text.hub.vocabulary"

local added = {}

local NAME <const> = "tokenizer: added_tokens"

--- Returns the list of added tokens: `id`, `content`, `special`, `normalized`,
-- `single_word`, `lstrip`, `rstrip`.
function added.read(list)
  local tokens = {}
  if list == nil or type(list) == "userdata" then return tokens end
  check.kind("tokenizer", "added_tokens", list, "table")
  for i, item in ipairs(list) do
    local name <const> = ("%s[%d]"):format(NAME, i)
    if type(item) ~= "table" then
      check.fail("%s must be a table, got %s", name, check.show(item))
    end
    local special <const> = part.boolean(name, item, "special", false)
    tokens[i] = {
      id = vocabulary.id(name, item.id), special = special,
      content = part.string(name, item, "content"),
      normalized = part.boolean(name, item, "normalized", not special),
      single_word = part.boolean(name, item, "single_word", false),
      lstrip = part.boolean(name, item, "lstrip", false),
      rstrip = part.boolean(name, item, "rstrip", false),
      found = part.boolean(name, item, "found", true), -- in texts
    }
  end
  return tokens
end

local function pattern_of(token, content)
  local text = regex.quote(content)
  if token.single_word then
    text = "(?<!\\w)" .. text .. "(?!\\w)"
  end
  if token.lstrip then text = "\\s*" .. text end
  if token.rstrip then text = text .. "\\s*" end
  return text
end

--- Returns a function that cuts a text at tokens: a list of texts and ids.
-- @tparam table tokens from `added.read`
-- @tparam boolean normalized which of them
-- @tparam[opt] function normalizer
function added.finder(tokens, normalized, normalizer)
  local mine, by_text = {}, {}
  for _, token in ipairs(tokens) do
    if token.found and token.normalized == normalized then
      local content = token.content
      if normalized and normalizer then content = normalizer(content) end
      if content ~= "" then
        mine[#mine + 1] = {content = content, token = token}
        by_text[content] = by_text[content] or token.id
      end
    end
  end
  if #mine == 0 then return function(text) return {text} end end
  -- of several that begin at one place the longest is taken
  table.sort(mine, function(a, b)
    if #a.content ~= #b.content then return #a.content > #b.content end
    return a.content < b.content
  end)
  local pieces = {}
  for i, one in ipairs(mine) do
    pieces[i] = "(?:" .. pattern_of(one.token, one.content) .. ")"
  end
  local pattern <const> = added.compile(pieces)
  return function(text)
    local list = {}
    for _, piece in ipairs(regex.cut(pattern, text)) do
      local id = nil
      if piece[1] then
        id = by_text[piece[2]] or by_text[piece[2]:match "^%s*(.-)%s*$"]
      end
      list[#list + 1] = id or piece[2]
    end
    return list
  end
end

--- Compiles alternatives as one pattern.
function added.compile(pieces)
  local rex <const> = require "rex_pcre2"
  local flags <const> = rex.flags()
  local ok <const>, made = pcall(rex.new, table.concat(pieces, "|"),
    flags.UTF | flags.UCP)
  if not ok then check.fail("%s: %s", NAME, tostring(made)) end
  return made
end

return added
