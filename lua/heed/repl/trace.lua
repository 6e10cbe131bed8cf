--- Errors as the prompt shows them: the message, then where it happened with
-- the line of source, and who called. Lines of heed's own files and of C, which
-- the user did not write, are left out.

local check = require "heed.check"
local lex = require "heed.repl.lex"
local width = require "heed.plot.width"

local trace = {}

local SEEN <const> = 200   -- levels of the stack that are looked at
local FRAMES <const> = 8   -- that are shown
local FILE <const> = 1 << 20 -- bytes of a file that are read for a line
local LINES <const> = 20   -- of a message

local Failure <const> = {__name = "heed.repl.failure"}

-- -- when it happens ---------------------------------------------------------

local function message_of(value)
  if type(value) == "string" then return value end
  if type(value) == "number" then return tostring(value) end
  local meta <const> = debug.getmetatable(value)
  if type(meta) == "table" and rawget(meta, "__tostring") then
    local ok, text = pcall(tostring, value)
    if ok then return text end
  end
  return ("(error object is %s)"):format(check.show(value))
end

-- Is it the call before once more, as in a recursion?
local function repeats(frame, info)
  return frame and frame.source == info.source
    and frame.line == info.currentline
end

local function frames()
  local list, level = {}, 3 -- above this function and the handler
  local info = debug.getinfo(level, "nSl")
  while info and level <= SEEN do
    if info.what ~= "C" and not check.is_own(info.source)
        and info.currentline > 0 and not repeats(list[#list], info) then
      list[#list + 1] = {source = info.source, place = info.short_src,
        line = info.currentline, name = info.what ~= "main" and (info.name
          or ("function at line %d"):format(info.linedefined)) or nil}
    end
    level = level + 1
    info = debug.getinfo(level, "nSl")
  end
  list.more = info ~= nil
  return list
end

--- The message handler: returns what was raised with the stack of then.
function trace.handler(value)
  return setmetatable({message = message_of(value), frames = frames()}, Failure)
end

-- -- when it is shown --------------------------------------------------------

-- The line of a source: `sources` has the texts of the prompt by name.
local function source_line(sources, frame)
  local text = sources[frame.place]
  if not text and frame.source:sub(1, 1) == "@" then
    local file <const> = io.open(frame.source:sub(2))
    if not file then return nil end
    text = file:read(FILE)
    file:close()
  end
  if not text then return nil end
  local n = 0
  for line in (text .. "\n"):gmatch "(.-)\r?\n" do
    n = n + 1
    if n == frame.line then return line end
  end
  return nil
end

-- A line of source, made safe, cut and without its indentation; `at` is a
-- position in it, and becomes the column that it then has.
local function tidy(line, columns, at)
  local indent <const> = #line:match "^%s*"
  local ahead <const> = at and width.text(width.clean((line:sub(indent + 1,
    at - 1):gsub("\t", " "))))
  local text <const> = width.clean((line:sub(indent + 1):gsub("\t", " ")))
  return width.cut(text, math.max(columns - 8, 20), " ..."), ahead
end

local function add_frame(out, frame, sources, columns, paint)
  out[#out + 1] = "  " .. paint("cyan", ("%s:%d"):format(frame.place,
    frame.line)) .. (frame.name and " in " .. frame.name or "")
  local line <const> = source_line(sources, frame)
  if line then
    out[#out + 1] = "    | " .. tidy(line, columns)
  end
end

-- A message as lines that are safe to print and not too many.
local function body(message)
  local lines = {}
  for line in (message .. "\n"):gmatch "(.-)\n" do
    if #lines == LINES then
      lines[#lines + 1] = "..."
      break
    end
    lines[#lines + 1] = width.clean((line:gsub("\t", "  ")))
  end
  return table.concat(lines, "\n")
end

local function headline(message, paint)
  return paint("red", "error:") .. " " .. paint("bold", body(message))
end

--- Returns an error as text.
-- @param failure what `handler` returned, or a message
-- @tparam table sources texts of chunks by their names
-- @tparam integer columns
-- @tparam function paint as `style.painter` gives it
-- @treturn string lines
function trace.text(failure, sources, columns, paint)
  if getmetatable(failure) ~= Failure then
    failure = {message = message_of(failure), frames = {}}
  end
  local list <const>, message = failure.frames, failure.message
  if list[1] then -- the place stands below
    local place <const> = ("%s:%d: "):format(list[1].place, list[1].line)
    if message:sub(1, #place) == place then
      message = message:sub(#place + 1)
    end
  end
  local out = {headline(message, paint)}
  for i = 1, math.min(#list, FRAMES) do
    add_frame(out, list[i], sources, columns, paint)
  end
  if #list > FRAMES or list.more then
    out[#out + 1] = list.more and "  ..."
      or ("  ... %d calls more"):format(#list - FRAMES)
  end
  return table.concat(out, "\n") .. "\n"
end

-- Where the compiler stopped: the first place of the word it names up to which
-- the text gives the same message.
local function place_of(text, line_number, said)
  local token <const> = said:match "near '(.*)'$"
  if not token then return nil end
  local start, n = 1, 1
  while n < line_number do
    start = (text:find("\n", start, true) or #text) + 1
    n = n + 1
  end
  local stop <const> = text:find("\n", start, true) or #text + 1
  for _, word in ipairs(lex.words(text)) do
    if word.first >= start and word.first < stop
        and word.text:sub(1, #token) == token then
      local _, message = load(text:sub(1, word.last), "=", "t")
      if message and message:sub(-#said) == said then
        return word.first - start + 1
      end
    end
  end
  return nil
end

--- Returns a message of the compiler as text, with a mark below the place.
-- @tparam string message
-- @tparam string text that was compiled
-- @tparam string name of the chunk
-- @tparam integer columns
-- @tparam function paint
-- @treturn string lines
function trace.syntax(message, text, name, columns, paint)
  local place <const>, said = name .. ":", message
  local number
  if message:sub(1, #place) == place then
    number, said = message:sub(#place + 1):match "^(%d+): (.*)$"
  end
  number = math.tointeger(tonumber(number))
  if not number then return headline(message, paint) .. "\n" end
  local out = {headline(said, paint),
    "  " .. paint("cyan", ("%s:%d"):format(name, number))}
  local line <const> = source_line({[name] = text}, {place = name,
    line = number, source = ""})
  if line and line:find "%S" then
    local at <const> = place_of(text, number, said)
    local shown <const>, ahead <const> = tidy(line, columns, at)
    out[#out + 1] = "    | " .. shown
    if at and ahead < width.text(shown) then
      out[#out + 1] = "      " .. (" "):rep(ahead) .. paint("red", "^")
    end
  end
  return table.concat(out, "\n") .. "\n"
end

return trace
