--- Regular expressions of tokeniser files, run by PCRE2, and what is done with
-- the parts that they find.

local check = require "heed.check"

local regex = {}

-- Patterns come from files: PCRE2 itself limits how long it searches.
local LONGEST <const> = 10000 -- of a pattern, in bytes

--- Returns a compiled pattern, of Unicode characters.
-- @tparam string name what the pattern is of, for messages
-- @tparam string pattern
-- @raise when it is none
function regex.new(name, pattern)
  local ok <const>, rex = pcall(require, "rex_pcre2")
  if not ok then
    check.fail("%s: needs the Lua module rex_pcre2 (Debian: lua-rex-pcre2)",
      name)
  end
  if #pattern > LONGEST then
    check.fail("%s: pattern must have at most %d bytes, got %d", name, LONGEST,
      #pattern)
  end
  local flags <const> = rex.flags()
  local made <const>, result = pcall(rex.new, pattern, flags.UTF | flags.UCP)
  if not made then
    check.fail("%s: pattern %s: %s", name, check.show(pattern),
      tostring(result))
  end
  return result
end

--- The characters that stand for themselves in a pattern.
function regex.quote(text) return (text:gsub("[^%w\x80-\xFF]", "\\%0")) end

--- Cuts a text at the matches of a pattern.
-- @treturn {{boolean,string},...} {is it a match?, part}, no part empty
function regex.cut(pattern, text)
  local parts, from = {}, 1
  while from <= #text + 1 do
    local first <const>, last = pattern:find(text, from)
    if not first then break end
    if last < first then -- of nothing: go on behind the next character
      local next_at <const> = utf8.offset(text, 2, first)
      if not next_at then break end
      if first > from then
        parts[#parts + 1] = {false, text:sub(from, first - 1)}
      end
      parts[#parts + 1] = {false, text:sub(first, next_at - 1)}
      from = next_at
    else
      if first > from then
        parts[#parts + 1] = {false, text:sub(from, first - 1)}
      end
      parts[#parts + 1] = {true, text:sub(first, last)}
      from = last + 1
    end
  end
  if from <= #text then parts[#parts + 1] = {false, text:sub(from)} end
  return parts
end

local ways = {}

function ways.Removed(parts)
  local list = {}
  for _, part in ipairs(parts) do
    if not part[1] then list[#list + 1] = part[2] end
  end
  return list
end

function ways.Isolated(parts)
  local list = {}
  for i, part in ipairs(parts) do list[i] = part[2] end
  return list
end

-- A way in which a part joins the one before it where `joins` says so of the
-- two: is it a match, and was that one?
local function joining(joins)
  return function(parts)
    local list = {}
    for i, part in ipairs(parts) do
      if i > 1 and joins(part[1], parts[i - 1][1]) then
        list[#list] = list[#list] .. part[2]
      else
        list[#list + 1] = part[2]
      end
    end
    return list
  end
end

-- Matches beside each other become one part.
ways.Contiguous = joining(function(is, was) return is == was end)
ways.MergedWithPrevious = joining(function(is, was) return is and not was end)

function ways.MergedWithNext(parts)
  local list, before = {}, ""
  for i, part in ipairs(parts) do
    local following <const> = parts[i + 1]
    if part[1] and following and not following[1] then
      before = part[2]
    else
      list[#list + 1] = before .. part[2]
      before = ""
    end
  end
  return list
end

--- Returns the function for a behaviour: it makes a list of texts of the parts
-- that `cut` gives.
-- @raise when there is none of the name
function regex.way(name, behavior)
  if not ways[behavior] then
    check.fail("%s: behavior must be one of %s, got %s", name,
      check.names(ways), check.show(behavior))
  end
  return ways[behavior]
end

--- Turns matches into the rest and the rest into matches.
function regex.invert(parts)
  for _, part in ipairs(parts) do part[1] = not part[1] end
  return parts
end

--- Returns a function that puts `content` in the place of each match.
function regex.replacer(pattern, content)
  return function(text)
    local parts = regex.cut(pattern, text)
    for i, piece in ipairs(parts) do
      parts[i] = piece[1] and content or piece[2]
    end
    return table.concat(parts)
  end
end

--- The pattern of a component, given as `{String = }` or `{Regex = }`.
-- @treturn string for PCRE2
function regex.read(name, pattern)
  if type(pattern) == "string" then return regex.quote(pattern) end
  local t <const> = type(pattern) == "table" and pattern or {}
  if type(t.String) == "string" then return regex.quote(t.String) end
  if type(t.Regex) == "string" then return t.Regex end
  check.fail("%s: pattern must be a String or a Regex, got %s", name,
    check.show(pattern))
end

return regex
