--- The doc comments of heed's sources, read: in C those that open with three
-- stars, in Lua those that open with three dashes. Tags are LDoc's.

local comments = {}

-- "integer[opt=3]" as in `@tparam[opt=3]`: is it optional, and the default.
local function option(modifier)
  local inside = modifier:match "^%[(.*)%]$"
  if not inside then return false end
  return inside:find "^opt" ~= nil, inside:match "^opt=(.*)$"
end

local readers = {}

function readers.tparam(doc, modifier, text)
  local kind, name, rest = text:match "^(%S+)%s+([%w_%.]+)%s*(.*)$"
  if not kind then return end
  local optional, default = option(modifier)
  doc.params[#doc.params + 1] = {name = name, text = rest,
    type = kind:gsub("^%?", ""), default = default,
    optional = optional or kind:find "^%?" ~= nil}
end

function readers.param(doc, modifier, text)
  local name, rest = text:match "^([%w_%.]+)%s*(.*)$"
  if not name then return end
  local optional, default = option(modifier)
  doc.params[#doc.params + 1] =
    {name = name, text = rest, optional = optional, default = default}
end

function readers.treturn(doc, _, text)
  local kind, rest = text:match "^(%S+)%s*(.*)$"
  doc.returns[#doc.returns + 1] = {type = kind, text = rest}
end

readers["return"] = function(doc, _, text)
  doc.returns[#doc.returns + 1] = {text = text}
end

function readers.raise(doc, _, text) doc.raises[#doc.raises + 1] = text end

function readers.usage(doc, _, text) doc.usages[#doc.usages + 1] = text end

readers["function"] = function(doc, _, text)
  doc.name = text:match "[%w_]+"
end

function readers.module(doc, _, text) doc.module = text:match "%S+" end

-- The text of a comment, without its marks, as a description and tags.
local function parse(text)
  local doc =
    {params = {}, returns = {}, raises = {}, usages = {}, whole = text}
  local lines, tags = {}, {}
  for line in (text .. "\n"):gmatch "(.-)\n" do
    local tag, modifier, rest = line:match "^%s*@(%a+)(%S*)%s?(.*)$"
    if tag then
      tags[#tags + 1] = {tag, modifier, rest}
    elseif #tags > 0 then
      tags[#tags][3] = tags[#tags][3] .. "\n" .. line
    else
      lines[#lines + 1] = line
    end
  end
  doc.text = table.concat(lines, "\n"):gsub("^%s+", ""):gsub("%s+$", "")
  for _, tag in ipairs(tags) do
    local read = readers[tag[1]]
    if read then read(doc, tag[2], (tag[3]:gsub("%s+$", ""))) end
  end
  return doc
end

local function read_all(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

--- Returns the doc comments of a C file, in order: tables with `name` (of
-- `@function`), `text` (what stands before the tags), `params` (`name`, `type`,
-- `text`, `optional`, `default`), `returns` (`type`, `text`), `raises` and
-- `usages` (texts), `path`, and `whole`, all of it as it stands.
function comments.read_c(path)
  local list = {}
  for text in read_all(path):gmatch "/%*%*%*\n(.-)%*/" do
    local doc = parse(text)
    doc.path = path
    list[#list + 1] = doc
  end
  return list
end

-- The name of what a line of Lua defines.
local function defined(line)
  return line:match "^%s*function%s+[%w_.:]-([%w_]+)%s*%("
    or line:match "^%s*local%s+function%s+([%w_]+)"
    or line:match "^%s*local%s+([%w_]+)%s*<?%a*>?%s*="
    or line:match "^%s*[%w_.]-([%w_]+)%s*="
end

--- Returns the doc comments of a Lua file, as `read_c`; also the number of the
-- comment's first `line`, that of the line `below` it, the `class` of which
-- that line defines a method, and, without `@function`, the name of what it
-- defines.
function comments.read_lua(path)
  local list, block, first, number = {}, nil, nil, 0
  local function finish(below)
    local doc = parse((table.concat(block, "\n"):gsub("^%s*%-%-%- ?", "")
      :gsub("\n%s*%-%- ?", "\n")))
    doc.path, doc.line, doc.below = path, first, number
    doc.name = doc.name or defined(below)
    doc.class = below:match "^function ([%w_]+):%a"
    list[#list + 1] = doc
    block = nil
  end
  for line in io.lines(path) do
    number = number + 1
    if block and not line:find "^%s*%-%-" then finish(line) end
    if block then
      block[#block + 1] = line
    elseif line:find "^%s*%-%-%-[^%-]" then
      block, first = {line}, number
    end
  end
  if block then finish "" end
  return list
end

return comments
