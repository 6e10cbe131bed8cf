--- Lua text as words: what completion, and messages about syntax, look at. The
-- text may be unfinished or no Lua at all.

local lex = {}

--- The names that are no names of variables, as keys.
lex.keywords = {}
for name in ([[and break do else elseif end false for function goto if in local
    nil not or repeat return then true until while]]):gmatch "%a+" do
  lex.keywords[name] = true
end

-- Where a long string or comment that opens at `at` ends, or nil.
local function long_end(text, at)
  local level = text:match("^%[(=*)%[", at)
  if not level then return nil end
  local _, stop = text:find("]" .. level .. "]", at + #level + 2, true)
  return stop or #text, stop == nil
end

-- The end of a string in quotes, and whether it lacks its closing quote.
local function quoted_end(text, at)
  local quote <const> = text:sub(at, at)
  local i = at + 1
  while i <= #text do
    local char <const> = text:sub(i, i)
    if char == "\\" then
      i = i + 1
    elseif char == quote then
      return i, false
    elseif char == "\n" then
      return i - 1, true
    end
    i = i + 1
  end
  return #text, true
end

-- The kind of the word that begins at `at`, its end, and if it is unfinished.
local function word(text, at)
  local char <const> = text:sub(at, at)
  if char:find "[%a_]" then
    return "name", select(2, text:find("^[%w_]+", at))
  elseif char:find "%d" or text:find("^%.%d", at) then
    return "number", select(2, text:find("^[%w.]+", at))
  elseif char == '"' or char == "'" then
    return "string", quoted_end(text, at)
  elseif text:find("^%[=*%[", at) then
    return "string", long_end(text, at)
  elseif text:find("^%-%-", at) then
    local stop, open = long_end(text, at + 2)
    if stop then return "comment", stop, open end
    stop = text:find("\n", at, true)
    return "comment", stop and stop - 1 or #text, stop == nil
  end
  local _, stop = text:find("^%.%.%.?", at)
  if not stop then _, stop = text:find("^[=~<>]=", at) end
  if not stop then _, stop = text:find("^[/<>:][/<>:]", at) end
  return "sign", stop or at
end

--- Returns the words of a text: tables with `kind` (`name`, `number`, `string`,
-- `comment` or `sign`), `first` and `last` (positions of bytes), `text`, and
-- `open` for a string or comment that has no end.
-- @tparam string text
-- @treturn table
function lex.words(text)
  local list = {}
  local at = text:find "%S"
  while at do
    local kind, last, open = word(text, at)
    list[#list + 1] = {kind = kind, first = at, last = last, open = open
      or false, text = text:sub(at, last)}
    at = text:find("%S", last + 1)
  end
  return list
end

return lex
