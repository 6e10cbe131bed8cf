--- The normalizers of tokenizer.json: functions from text to text.

local charsmap = require "heed.text.hub.charsmap"
local check = require "heed.check"
local part = require "heed.text.hub.part"
local regex = require "heed.text.hub.regex"
local unicode = require "heed.core".unicode

local normalizers = {}

local KIND <const> = "normalizer"

for _, form in ipairs {"nfc", "nfd", "nfkc", "nfkd"} do
  local normalise <const> = unicode[form]
  normalizers[form:upper()] = function() return normalise end
end

-- Small letters, character by character; one of them becomes two.
function normalizers.Lowercase()
  return function(text)
    return unicode.lower((text:gsub("\u{130}", "i\u{307}")))
  end
end

function normalizers.StripAccents(_, name)
  local marks <const> = regex.new(name, "\\p{M}+")
  local rex <const> = require "rex_pcre2"
  return function(text) return (rex.gsub(text, marks, "")) end
end

local function strip_left(text)
  local rest <const> = unicode.trim(text .. "x")
  return rest:sub(1, -2)
end
local function strip_right(text)
  local rest <const> = unicode.trim("x" .. text)
  return rest:sub(2)
end

function normalizers.Strip(c, name)
  local left <const> = part.boolean(name, c, "strip_left", true)
  local right <const> = part.boolean(name, c, "strip_right", true)
  return function(text)
    if left then text = strip_left(text) end
    return right and strip_right(text) or text
  end
end

function normalizers.Replace(c, name)
  return regex.replacer(regex.new(name, regex.read(name, c.pattern)),
    part.string(name, c, "content"))
end

function normalizers.Prepend(c, name)
  local before <const> = part.string(name, c, "prepend")
  return function(text) return text == "" and text or before .. text end
end

-- Controls are left out; odd white space becomes a space.
function normalizers.Nmt(_, name)
  local removed <const> = regex.new(name,
    "[\\x{1}-\\x{8}\\x{B}\\x{E}-\\x{1F}\\x{7F}\\x{8F}\\x{9F}]")
  local spaces <const> = regex.new(name, "[\\x{9}\\x{A}\\x{C}\\x{D}\\x{1680}"
    .. "\\x{200B}-\\x{200F}\\x{2028}\\x{2029}\\x{2581}\\x{FEFF}\\x{FFFD}]")
  local rex <const> = require "rex_pcre2"
  return function(text)
    return (rex.gsub(rex.gsub(text, removed, ""), spaces, " "))
  end
end

-- What is replaced is looked for in short characters with their marks, then in
-- each code point; of several beginnings the shortest counts.
function normalizers.Precompiled(c, name)
  local map <const> = charsmap.decode_base64(
    part.string(name, c, "precompiled_charsmap", ""))
  if not map then
    check.fail("%s: precompiled_charsmap must be base64", name)
  end
  local match <const> = charsmap.matcher(name, map)
  local function one(char)
    if #char < 6 then
      local found <const> = match(char, 1)
      if found then return found end
    end
    return (char:gsub(utf8.charpattern, function(code)
      return match(code, 1)
    end))
  end
  return function(text)
    local list <const> = unicode.graphemes(text)
    for i, char in ipairs(list) do list[i] = one(char) end
    return table.concat(list)
  end
end

-- That of SentencePiece's own files: of several beginnings the longest counts;
-- spaces become marks of words.
function normalizers.SentencePiece(c, name)
  local match <const> = charsmap.matcher(name, c.map)
  local function replace(text)
    local list, at = {}, 1
    while at <= #text do
      local found <const>, last = match(text, at, true)
      local next_at <const> = found and last + 1 or
        utf8.offset(text, 2, at) or #text + 1
      list[#list + 1] = found or text:sub(at, next_at - 1)
      at = next_at
    end
    return table.concat(list)
  end
  return function(text)
    text = replace(text)
    if c.trim then
      text = text:gsub(" +", " "):gsub("^ ", ""):gsub(" $", "")
    end
    if text ~= "" and c.dummy_prefix then text = " " .. text end
    return (text:gsub(" ", "\u{2581}"))
  end
end

-- What pre_tokenizers.BertPreTokenizer does in one go.
function normalizers.BertNormalizer(c, name)
  for _, key in ipairs {"clean_text", "handle_chinese_chars"} do
    if part.boolean(name, c, key, true) ~= true then
      check.fail("%s: %s must be true, got false", name, key)
    end
  end
  return function(text) return text end
end

normalizers.Sequence = part.sequence(KIND, normalizers, "normalizers")

--- Returns the function of a component, or nil for none.
return function(component) return part.make(KIND, normalizers, component) end
