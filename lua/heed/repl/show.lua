--- How a value is shown at the prompt: as Lua would write it, tables with
-- sorted keys over several lines if need be, and never more than a screen or
-- two, however large it is.
--
-- Of a table only what is shown is sorted, and no metamethod is called but
-- `__tostring`.

local check = require "heed.check"
local lex = require "heed.repl.lex"
local width = require "heed.plot.width"

local show = {}

local ITEMS <const> = 20     -- of one table, that are shown
local LINES <const> = 60     -- of a text of several
local DEPTH <const> = 5      -- tables in tables
local BYTES <const> = 2000   -- of a string alone
local SHORT <const> = 60     -- of one within a table
local SORTED <const> = 10000 -- keys that are looked at to find the first
local TOTAL <const> = 200    -- items of all tables together

--- Can the text stand behind a dot?
function show.is_name(text)
  return text:find "^[%a_][%w_]*$" ~= nil and not lex.keywords[text]
end

local function grouped(n)
  return (("%d"):format(n):reverse():gsub("(%d%d%d)", "%1,"):reverse()
    :gsub("^,", ""))
end

-- -- values of one line ------------------------------------------------------

local function quoted(text, limit)
  local rest = 0
  if #text > limit then
    local cut <const> = utf8.offset(text, 0, limit + 1) or limit + 1
    rest, text = #text - cut + 1, text:sub(1, cut - 1)
  end
  text = text:gsub("\\", "\\\\"):gsub('"', '\\"')
  -- what `clean` makes visible stands for itself: `\n`, `\x1B`
  local out = '"' .. width.clean(text) .. '"'
  return rest > 0 and ("%s ... %s bytes more"):format(out, grouped(rest)) or out
end

local function of_number(value)
  return value ~= value and "nan" or tostring(value)
end

local function of_function(value)
  local info <const> = debug.getinfo(value, "Su")
  if info.what == "C" then return "function of C" end
  local names = {}
  for i = 1, info.nparams do names[i] = debug.getlocal(value, i) end
  if info.isvararg then names[#names + 1] = "..." end
  return ("function(%s) at %s:%d"):format(table.concat(names, ", "),
    info.short_src, info.linedefined)
end

-- A text of several lines, cut in its length and the length of its lines.
local function cut_lines(text)
  local lines, count, rest = {}, 0, 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    count = count + 1
    if count <= LINES then
      lines[count] = #line <= BYTES and line or line:sub(1, BYTES) .. " ..."
    else
      rest = rest + 1
    end
  end
  if rest > 0 then lines[#lines + 1] = ("... %s lines more"):format(
    grouped(rest)) end
  return table.concat(lines, "\n")
end

-- -- tables ------------------------------------------------------------------

local ranks <const> = {number = 1, string = 2, boolean = 3}

local function before(a, b)
  local kind_a <const>, kind_b <const> = type(a), type(b)
  if kind_a ~= kind_b then
    return (ranks[kind_a] or 4) < (ranks[kind_b] or 4)
  end
  if kind_a == "number" or kind_a == "string" then return a < b end
  return tostring(a) < tostring(b)
end

-- The keys beyond 1 .. n, the first ones sorted, and how many there are.
local function other_keys(t, n)
  local keys, count = {}, 0
  for key in next, t do
    if not (math.type(key) == "integer" and key >= 1 and key <= n) then
      count = count + 1
      if count <= SORTED then keys[count] = key end
    end
  end
  -- a __tostring that fails shall not keep the rest from being shown
  pcall(table.sort, keys, before)
  return keys, count
end

-- How far 1, 2 ... go, as far as it is shown; and how far they go at all.
local function list_length(t)
  local n <const> = rawlen(t)
  for i = 1, math.min(n, ITEMS + 1) do
    if rawget(t, i) == nil then return i - 1 end
  end
  return n
end

local render

local function key_text(key)
  if type(key) == "string" then
    if show.is_name(key) then return key, "." .. key end
    local text <const> = "[" .. quoted(key, SHORT) .. "]"
    return text, text
  end
  local text <const> = type(key) == "table" and "[" .. check.show(key) .. "]"
    or "[" .. width.clean(tostring(key)) .. "]"
  return text, text
end

-- The items of a table as texts, without commas.
local function items(t, state, path, depth)
  local out = {}
  local n <const> = list_length(t)
  local keys <const>, others <const> = other_keys(t, n)
  local function put(text)
    out[#out + 1] = text
    state.left = state.left - 1
  end
  local shown = 0
  for i = 1, math.min(n, ITEMS) do
    if state.left <= 0 then break end
    put(render(rawget(t, i), state, ("%s[%d]"):format(path, i), depth + 1))
    shown = i
  end
  if n > shown then
    out[#out + 1] = ("... %s more"):format(grouped(n - shown))
  end
  shown = 0
  for i = 1, math.min(#keys, ITEMS) do
    if state.left <= 0 then break end
    local text <const>, step <const> = key_text(keys[i])
    put(text .. " = " .. render(rawget(t, keys[i]), state, path .. step,
      depth + 1))
    shown = i
  end
  if others > shown then
    out[#out + 1] = ("... %s more"):format(grouped(others - shown))
  end
  return out
end

local function of_table(t, state, path, depth)
  if state.above[t] then return "<" .. state.above[t] .. ">" end
  if next(t) == nil then return "{}" end
  if depth > DEPTH then return "{...}" end
  state.above[t] = path
  local parts <const> = items(t, state, path, depth)
  state.above[t] = nil
  local flat <const> = "{" .. table.concat(parts, ", ") .. "}"
  local room <const> = state.columns - 2 * depth - 2
  if not flat:find("\n", 1, true) and width.text(flat) <= room then
    return flat
  end
  local indent <const> = ("  "):rep(depth + 1)
  return "{\n" .. indent .. table.concat(parts, ",\n" .. indent) .. "\n"
    .. ("  "):rep(depth) .. "}"
end

-- -- all of them -------------------------------------------------------------

-- What __tostring says, or nil without one.
local function own_text(value)
  local meta <const> = debug.getmetatable(value)
  if type(meta) ~= "table" or rawget(meta, "__tostring") == nil then
    return nil
  end
  local ok, text = pcall(tostring, value)
  if not ok then return "<" .. check.show(value) .. ">" end
  return cut_lines(text)
end

function render(value, state, path, depth)
  local kind <const> = type(value)
  if kind == "string" then
    return quoted(value, depth == 0 and BYTES or SHORT)
  elseif kind == "number" then
    return of_number(value)
  elseif kind == "function" then
    return of_function(value)
  elseif kind == "nil" or kind == "boolean" then
    return tostring(value)
  end
  local within <const> = depth > 0
  if within and check.is_tensor(value) and value:numel() > 8 then
    return "<" .. check.show(value) .. ">"
  end
  local text = own_text(value)
  if text then
    local lines <const> = select(2, text:gsub("\n", ""))
    if within and lines > 5 then return "<" .. check.show(value) .. ">" end
    return (text:gsub("\n", "\n" .. ("  "):rep(depth)))
  end
  if kind == "table" then return of_table(value, state, path, depth) end
  return "<" .. width.clean(tostring(value)) .. ">"
end

--- Returns a value as text, without a line end.
-- @param value
-- @tparam integer columns that a line should not exceed
-- @treturn string
function show.value(value, columns)
  local state <const> = {columns = columns, above = {}, left = TOTAL}
  return render(value, state, "_", 0)
end

--- Returns several values as text: on one line, with commas, if they fit.
-- @tparam table values as `table.pack` makes it
-- @tparam integer columns
-- @treturn string
function show.values(values, columns)
  local parts = {}
  local last <const> = math.min(values.n, ITEMS)
  for i = 1, last do parts[i] = show.value(values[i], columns) end
  if values.n > last then
    parts[last + 1] = ("... %s more"):format(grouped(values.n - last))
  end
  local flat <const> = table.concat(parts, ", ")
  if #parts == 1 or not flat:find("\n", 1, true) and #flat <= columns then
    return flat
  end
  return table.concat(parts, "\n")
end

show.grouped = grouped

return show
