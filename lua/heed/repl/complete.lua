--- Completion: what may stand at the cursor, from the words before it.
--
-- Names are looked up without running code of the user's (names.lua), so
-- nothing is offered behind a call, except that of a class.

local check = require "heed.check"
local lex = require "heed.repl.lex"
local names = require "heed.repl.names"
local options = require "heed.repl.options"
local width = require "heed.plot.width"

local complete = {}

local LISTED <const> = 120 -- names in a list

local opening <const> = {[")"] = "(", ["]"] = "[", ["}"] = "{"}
local closing <const> = {["("] = true, ["["] = true, ["{"] = true}

-- The word that opens what word i closes.
local function opener(words, i)
  local depth = 0
  for j = i, 1, -1 do
    local text <const> = words[j].kind == "sign" and words[j].text
    if opening[text] then
      depth = depth + 1
    elseif closing[text] then
      depth = depth - 1
      if depth == 0 then return j end
    end
  end
  return nil
end

-- -- values ------------------------------------------------------------------

local value_of

-- The key between the brackets of words i and j.
local function key_between(words, i, j)
  local word <const> = words[i + 1]
  if j ~= i + 2 then return nil end
  if word.kind == "number" then
    return math.tointeger(tonumber(word.text)) or tonumber(word.text)
  end
  if word.kind == "string" then return word.text:match "^[\"'](.*)[\"']$" end
  return word.kind == "name" and rawget(_G, word.text) or nil
end

-- What a call gives, where that is known: an object of a class of heed's has
-- the methods of the class.
local function result_of(words, i)
  local class <const> = i > 1 and value_of(words, i - 1)
  if type(class) ~= "table" or not names.is_callable(class) then return nil end
  return rawget(class, "__index") ~= nil and class or nil
end

--- Returns the value of the chain of names that ends with word i, or nil.
function value_of(words, i)
  local word <const> = words[i]
  if not word then return nil end
  if word.text == "]" then
    local start <const> = opener(words, i)
    local key
    if start then key = key_between(words, start, i) end
    local base = nil
    if key ~= nil then base = value_of(words, start - 1) end
    if base == nil then return nil end
    return names.field(base, key)
  elseif word.text == ")" then
    local start <const> = opener(words, i)
    if start and i == start + 2 and words[start + 1].kind == "string" then
      return "" -- ("text"):
    end
    return start and result_of(words, start)
  elseif word.kind ~= "name" or lex.keywords[word.text] then
    return nil
  end
  local sign <const> = words[i - 1] and words[i - 1].text
  if sign == "." or sign == ":" then
    local base <const> = value_of(words, i - 2)
    if base == nil then return nil end
    return names.field(base, word.text)
  end
  return rawget(_G, word.text)
end

-- -- candidates --------------------------------------------------------------

local function matching(list, prefix)
  local found = {}
  for name in pairs(list) do
    if name:sub(1, #prefix) == prefix
        and (prefix:sub(1, 1) == "_" or name:sub(1, 1) ~= "_") then
      found[#found + 1] = name
    end
  end
  table.sort(found)
  return found
end

local function of_fields(value, prefix, methods_only)
  local all = names.fields(value, methods_only)
  if not methods_only and check.is_tensor(value)
      and #matching(all, prefix) == 0 then
    all = names.fields(value, true)
  end
  local found = {}
  for name, field in pairs(all) do
    if name:find "^[%a_][%w_]*$"
        and (not methods_only or names.is_callable(field)) then
      found[name] = true
    end
  end
  return matching(found, prefix)
end

local function of_globals(prefix)
  local found = {}
  for name in next, _G do
    if type(name) == "string" then found[name] = true end
  end
  if prefix ~= "" then
    for name in pairs(lex.keywords) do found[name] = true end
  end
  found._G = true
  return matching(found, prefix)
end

-- The names of options, if the last word begins a key in a table that is an
-- argument of a call.
local function of_options(words, prefix)
  local last <const> = words[#words]
  if not last or last.text ~= "{" and last.text ~= "," then return nil end
  local depth, brace = 0, nil
  for i = #words, 1, -1 do
    local text <const> = words[i].kind == "sign" and words[i].text
    if opening[text] then
      depth = depth + 1
    elseif closing[text] and depth > 0 then
      depth = depth - 1
    elseif closing[text] then
      if not brace then
        if text ~= "{" then return nil end
        brace = i
        if words[i - 1] and words[i - 1].kind == "name" then -- f{
          return options.of(value_of(words, i - 1)), prefix
        end
      else
        if text ~= "(" then return nil end
        return options.of(value_of(words, i - 1)), prefix
      end
    end
  end
  return nil
end

-- Names of files that begin so. Those with a dot in front want one typed.
local function of_files(host, prefix)
  local folder <const>, start <const> = prefix:match "^(.*/)", prefix:match
    "[^/]*$"
  local home <const> = os.getenv "HOME"
  local path = folder or "."
  if path:sub(1, 2) == "~/" and home then path = home .. path:sub(2) end
  local found = {}
  for _, name in ipairs(host.files(path) or {}) do
    if name:sub(1, #start) == start
        and (start ~= "" or name:sub(1, 1) ~= ".") then
      found[#found + 1] = name
    end
  end
  table.sort(found)
  return found, start
end

-- -- the answer --------------------------------------------------------------

-- The longest text that all of them begin with, of whole characters.
local function common(list)
  local first <const>, last <const> = list[1], list[#list]
  local n = 0
  while n < #first and first:byte(n + 1) == last:byte(n + 1) do n = n + 1 end
  while n > 0 and not utf8.len(first:sub(1, n)) and utf8.len(first) do
    n = n - 1
  end
  return first:sub(1, n)
end

-- Names side by side, down first.
local function table_of(list, columns)
  local shown, widest = {}, 0
  for i = 1, math.min(#list, LISTED) do
    shown[i] = width.cut(width.clean(list[i]), columns - 1, "~")
    widest = math.max(widest, width.text(shown[i]))
  end
  local across <const> = math.max(1, (columns - 1) // (widest + 2))
  local down <const> = (#shown + across - 1) // across
  local out = {}
  for row = 1, down do
    local line = ""
    for i = row, #shown, down do
      line = line .. shown[i] .. (" "):rep(widest + 2 - width.text(shown[i]))
    end
    out[row] = line:gsub("%s+$", "")
  end
  if #list > LISTED then
    out[#out + 1] = ("... %d more"):format(#list - LISTED)
  end
  return table.concat(out, "\n") .. "\n"
end

-- The answer to the line editor; `finish` ends a name that is the only one.
local function answer(list, prefix, columns, finish)
  if #list == 0 then return 0, "" end
  local text = common(list)
  if #list == 1 then
    return 0, text:sub(#prefix + 1) .. (finish and finish(text) or "")
  end
  if #text > #prefix then return 0, text:sub(#prefix + 1) end
  return 0, "", table_of(list, columns)
end

-- What there is behind `?`: entries of the help.
local function of_help(prefix)
  local found = {}
  for _, entry in ipairs(require("heed.help").entries()) do
    local short <const> = entry.path:gsub("^heed%.nn%.functional%.", "F.")
      :gsub("^heed%.nn%.", "nn."):gsub("^tensor:", "")
    for _, name in ipairs {short, entry.path, entry.name} do
      if prefix:find "[.:]" or not name:find "[.:]" then found[name] = true end
    end
  end
  return matching(found, prefix)
end

local function of_code(text, session)
  local columns <const>, host <const> = session:columns(), session.host
  local words <const> = lex.words(text)
  local last <const> = words[#words]
  if last and last.open then
    local quote <const> = last.text:sub(1, 1)
    if last.kind == "comment" or quote == "[" then return 0, "" end
    local list <const>, start <const> = of_files(host, last.text:sub(2))
    return answer(list, start, columns, function(name)
      return name:sub(-1) == "/" and "" or quote
    end)
  end
  local prefix = ""
  if last and last.last == #text then
    if last.kind == "name" then
      prefix = last.text
      words[#words] = nil
    elseif last.kind == "number" then
      return 0, ""
    end
  end
  local sign <const> = words[#words] and words[#words].text
  if sign == "." or sign == ":" then
    local value <const> = value_of(words, #words - 1)
    if value == nil then return 0, "" end
    return answer(of_fields(value, prefix, sign == ":"), prefix, columns)
  end
  local known <const> = of_options(words, prefix)
  if known and next(known) then
    local list <const> = matching(known, prefix)
    if #list > 0 then
      return answer(list, prefix, columns, function() return " = " end)
    end
  end
  return answer(of_globals(prefix), prefix, columns)
end

--- What the line editor asks when Tab is pressed.
-- @tparam string before the line up to the cursor
-- @tparam table session
-- @treturn integer how many characters before the cursor to delete
-- @treturn string what to put there
-- @treturn ?string what to list below the line
function complete.line(before, session)
  local columns <const> = session:columns()
  if not session.pending then
    local name <const> = before:match "^%s*%?+%s*([%w_.:]*)$"
    if name then return answer(of_help(name), name, columns) end
    local command <const> = before:match "^%s*%%(%a*)$"
    if command then
      return answer(matching(session.commands, command), command, columns,
        function() return " " end)
    end
    local path <const> = before:match "^%s*%%load%s+(.*)$"
      or before:match "^%s*%%edit%s+(.*)$"
    if path then
      local list <const>, start <const> = of_files(session.host, path)
      return answer(list, start, columns)
    end
    before = before:gsub("^%s*%%%a+", "")
  end
  if not before:match "[^\n]*$":find "%S" then return 0, "  " end
  return of_code((session.pending or "") .. before, session)
end

return complete
