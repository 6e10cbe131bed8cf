--- The post_processors of tokenizer.json: what stands around the ids of one
-- text or of two. A function takes the lists of ids and gives the ids, and for
-- each whether it belongs to the first text (1) or to the second (2).

local check = require "heed.check"
local part = require "heed.text.hub.part"
local vocabulary = require "heed.text.hub.vocabulary"

local makers = {}

local KIND <const> = "post_processor"

-- The ids of special tokens by the names that templates use.
local function read_specials(name, specials)
  local ids = {}
  for key, special in pairs(type(specials) == "table" and specials or {}) do
    if type(special) ~= "table" or type(special.ids) ~= "table" then
      check.fail("%s: special_tokens: %s must have ids", name,
        check.show(key))
    end
    local list = {}
    for i, id in ipairs(special.ids) do
      list[i] = vocabulary.id(name, id)
    end
    ids[key] = list
  end
  return ids
end

-- A template as a list of {text = 1 or 2} and {ids = list}, with `type`.
local function read_template(name, template, specials)
  check.kind(name, "a template", template, "table")
  local list = {}
  for i, item in ipairs(template) do
    item = type(item) == "table" and item or {}
    local sequence <const>, special <const> = item.Sequence, item.SpecialToken
    local given <const> = sequence or special
    if type(given) ~= "table" then
      check.fail("%s: item %d must be a Sequence or a SpecialToken, got %s",
        name, i, check.show(item))
    end
    local entry <const> = {type = 1 + (math.tointeger(given.type_id) or 0)}
    if sequence then
      entry.text = given.id == "B" and 2 or 1
    else
      entry.ids = specials[given.id]
      if not entry.ids then
        check.fail("%s: %s is not among special_tokens", name,
          check.show(given.id))
      end
    end
    list[i] = entry
  end
  return list
end

local function fill(template, texts)
  local ids, types = {}, {}
  for _, item in ipairs(template) do
    for _, id in ipairs(item.ids or texts[item.text] or {}) do
      ids[#ids + 1], types[#types + 1] = id, item.type
    end
  end
  return ids, types
end

function makers.TemplateProcessing(c, name)
  local specials <const> = read_specials(name, c.special_tokens)
  local single <const> = read_template(name, c.single, specials)
  local pair <const> = read_template(name, c.pair, specials)
  return function(texts) return fill(texts[2] and pair or single, texts) end
end

-- The id of `[token, number]`.
local function special(c, name, key)
  check.kind(name, key, c[key], "table")
  return {vocabulary.id(name .. ": " .. key, c[key][2])}
end

function makers.BertProcessing(c, name)
  local cls <const>, sep <const> = special(c, name, "cls"),
    special(c, name, "sep")
  local single <const> = {{ids = cls, type = 1}, {text = 1, type = 1},
    {ids = sep, type = 1}}
  local pair <const> = {single[1], single[2], single[3], {text = 2, type = 2},
    {ids = sep, type = 2}}
  return function(texts) return fill(texts[2] and pair or single, texts) end
end

function makers.RobertaProcessing(c, name)
  local cls <const>, sep <const> = special(c, name, "cls"),
    special(c, name, "sep")
  local single <const> = {{ids = cls, type = 1}, {text = 1, type = 1},
    {ids = sep, type = 1}}
  local pair <const> = {single[1], single[2], single[3], single[3],
    {text = 2, type = 1}, {ids = sep, type = 1}}
  return function(texts) return fill(texts[2] and pair or single, texts) end
end

local PLAIN <const> = {{text = 1, type = 1}, {text = 2, type = 2}}

-- It moves offsets, and adds no id.
function makers.ByteLevel()
  return function(texts) return fill(PLAIN, texts) end
end

-- Of several the one that adds ids.
function makers.Sequence(c, name, depth)
  check.kind(name, "processors", c.processors, "table")
  local chosen
  for _, component in ipairs(c.processors) do
    if type(component) ~= "table" or component.type ~= "ByteLevel" then
      if chosen then
        check.fail("%s: processors must have one that adds ids, got %s and %s",
          name, chosen.type, check.show(component.type))
      end
      chosen = component
    end
  end
  return part.make(KIND, makers, chosen or {type = "ByteLevel"}, depth + 1)
end

--- Returns the function of a component; without one nothing is added.
return function(component)
  return part.make(KIND, makers, component) or makers.ByteLevel()
end
