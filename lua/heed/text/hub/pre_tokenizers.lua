--- The pre_tokenizers of tokenizer.json: functions from a list of pieces of a
-- text to a list of smaller ones. `first`: does the list begin the text?

local bytes = require "heed.text.hub.bytes"
local check = require "heed.check"
local part = require "heed.text.hub.part"
local regex = require "heed.text.hub.regex"

local makers = {}

local KIND <const> = "pre_tokenizer"

local BOUNDARY <const> = "\u{2581}"

-- GPT-2's words: endings of English, letters, digits, other characters, each
-- with a space before them; white space.
local GPT2 <const> = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+"
  .. "| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

-- A function over lists from one that makes a list of a piece.
local function each(f)
  return function(pieces, first)
    local list = {}
    for i, piece in ipairs(pieces) do
      for _, part_ in ipairs(f(piece, first and i == 1)) do
        list[#list + 1] = part_
      end
    end
    return list
  end
end

-- Cuts at the matches of a pattern, in one of the ways of regex.lua.
local function cutter(name, pattern, behavior, invert)
  local compiled <const> = regex.new(name, pattern)
  local way <const> = regex.way(name, behavior)
  return each(function(piece)
    local parts <const> = regex.cut(compiled, piece)
    return way(invert and regex.invert(parts) or parts)
  end)
end

function makers.ByteLevel(c, name)
  local prefix <const> = part.boolean(name, c, "add_prefix_space", true)
  local words <const> = part.boolean(name, c, "use_regex", true)
  local split <const> = words and cutter(name, GPT2, "Isolated")
  return function(pieces)
    if prefix then
      for i, piece in ipairs(pieces) do
        if piece:sub(1, 1) ~= " " then pieces[i] = " " .. piece end
      end
    end
    if split then pieces = split(pieces) end
    for i, piece in ipairs(pieces) do pieces[i] = bytes.show(piece) end
    return pieces
  end
end

-- When the mark of a word is put before a piece.
local function read_scheme(c, name)
  local scheme = part.string(name, c, "prepend_scheme",
    part.boolean(name, c, "add_prefix_space", true) and "always" or "never")
  local known <const> = {always = true, first = true, never = true}
  if not known[scheme] then
    check.fail("%s: prepend_scheme must be one of %s, got %s", name,
      check.names(known), check.show(scheme))
  end
  return scheme
end

function makers.Metaspace(c, name)
  local mark <const> = part.string(name, c, "replacement", BOUNDARY)
  local scheme <const> = read_scheme(c, name)
  local split <const> = part.boolean(name, c, "split", true) and
    cutter(name, regex.quote(mark), "MergedWithNext")
  local function begin(piece, first)
    piece = piece:gsub(" ", (mark:gsub("%%", "%%%%")))
    if (scheme == "always" or scheme == "first" and first) and
       piece:sub(1, #mark) ~= mark then
      piece = mark .. piece
    end
    return {piece}
  end
  return function(pieces, first)
    pieces = each(begin)(pieces, first)
    return split and split(pieces) or pieces
  end
end

-- The names of behaviours are written in two ways.
local function behavior_of(c, name, default)
  local value <const> = part.string(name, c, "behavior", default)
  return (value:gsub("^%l", string.upper):gsub("_(%l)", string.upper))
end

function makers.Split(c, name)
  return cutter(name, regex.read(name, c.pattern), behavior_of(c, name),
    part.boolean(name, c, "invert", false))
end

function makers.Whitespace(_, name)
  return cutter(name, "\\w+|[^\\w\\s]+", "Removed", true)
end

function makers.WhitespaceSplit(_, name)
  return cutter(name, "\\s+", "Removed")
end

function makers.Digits(c, name)
  local single <const> = part.boolean(name, c, "individual_digits", false)
  return cutter(name, "\\p{N}", single and "Isolated" or "Contiguous")
end

-- ASCII that is neither letter nor digit, and Unicode's punctuation.
local PUNCTUATION <const> = "[!-/:-@\\[-`{-~\\p{P}]"

function makers.Punctuation(c, name)
  return cutter(name, PUNCTUATION, behavior_of(c, name, "Isolated"))
end

function makers.CharDelimiterSplit(c, name)
  return cutter(name, regex.quote(part.string(name, c, "delimiter")),
    "Removed")
end

-- Of what BertNormalizer gives; the two together are `unicode.bert_words`.
function makers.BertPreTokenizer(_, name)
  local spaces <const> = cutter(name, "\\s+", "Removed")
  local marks <const> = cutter(name, PUNCTUATION, "Isolated")
  return function(pieces) return marks(spaces(pieces)) end
end

makers.Sequence = part.sequence(KIND, makers, "pretokenizers")

--- Returns the function of a component, or nil for none.
return function(component) return part.make(KIND, makers, component) end
