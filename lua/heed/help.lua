--- What a function takes and gives, at the prompt.
--
--     heed.help(heed.softmax)        -- a function, a class or a module
--     heed.help "MultiHeadAttention" -- a name, whole or its end
--     heed.help "mask"               -- a word: what there is about it
--
-- At the prompt of the program, `?name` is the same. The texts are the doc
-- comments of the sources, as the build has found them.
local check = require "heed.check"
local terminal = require "heed.plot.terminal"

local help = {}

local WIDTH <const> = 78
local SHOWN <const> = 30 -- entries that a search lists

-- -- the texts ----------------------------------------------------------------

-- They lie beside the Lua files, or, in a build tree, beside the module.
local function find_data()
  local path = package.searchpath("heed.help_data", package.path)
  if path then return path end
  local module <const> = package.searchpath("heed.core", package.cpath)
  local beside <const> = module and module:gsub("core%.so$", "help_data.lua")
  local file = beside and io.open(beside)
  if file then file:close() end
  return file and beside or nil
end

local loaded

--- Returns the texts: a list of tables with `path` (`heed.nn.Linear`), `name`,
-- `part`, `kind` (`function`, `class` or `method`), `signature`, `summary`,
-- `text`, `params`, `returns`, `raises` and `usages`; empty where the
-- installation lacks them.
-- @treturn table
-- @usage for _, entry in ipairs(heed.help.entries()) do print(entry.path) end
function help.entries()
  if not loaded then
    local path <const> = find_data()
    local f <const> = path and loadfile(path, "t", {})
    loaded = f and f() or {}
  end
  return loaded
end

-- -- finding -----------------------------------------------------------------

-- Methods of objects are in no public table: they are known by where they are
-- defined.
local function defined_at(value)
  if type(value) ~= "function" then return nil end
  local info <const> = debug.getinfo(value, "S")
  local place <const> = ("/%s:%d"):format(info.source, info.linedefined)
  for _, entry in ipairs(help.entries()) do
    if entry.place and place:sub(-#entry.place - 1) == "/" .. entry.place then
      return entry
    end
  end
  return nil
end

-- The paths by which a value can be reached in heed, as the entries have them.
local function path_of(value)
  local heed = require "heed"
  for _, entry in ipairs(help.entries()) do
    local at = heed
    if entry.part == "tensor" then
      at = heed.core.methods
    else
      for name in entry.part:gsub("^heed%.?", ""):gmatch "[^.]+" do
        at = type(at) == "table" and at[name] or nil
      end
    end
    if type(at) == "table" and rawequal(at[entry.name], value) then
      return entry
    end
  end
  return defined_at(value)
end

-- `nn.Linear` of `heed.nn.Linear`; F stands for the functions of networks.
local function ends_with(entry, name)
  local path <const> = entry.path:gsub(":", ".")
  name = name:gsub(":", "."):gsub("^F%.", "heed.nn.functional.")
  return path == name or path:sub(-#name - 1) == "." .. name
end

local function named(name)
  local list = {}
  for _, entry in ipairs(help.entries()) do
    if ends_with(entry, name) then list[#list + 1] = entry end
  end
  return list
end

-- How well an entry fits a word: its name, the first sentence, or the text.
local function fit(entry, word)
  local function has(text) return text:lower():find(word, 1, true) ~= nil end
  if entry.name:lower() == word then return 5 end
  if has(entry.name) then return 4 end
  if has(entry.path) then return 3 end
  if has(entry.summary) then return 2 end
  if has(entry.text) then return 1 end
  for _, param in ipairs(entry.params) do
    if has(param.name) or has(param.text) then return 1 end
  end
  return 0
end

--- Returns the entries about a word, the best first: those that have it in the
-- name, then in the first sentence, then anywhere in the text.
-- @tparam string word letters count the same, large or small
-- @treturn table list of entries, as `entries` gives them
-- @usage assert(heed.help.search("masked_f")[1].name == "masked_fill")
function help.search(word)
  check.kind("search", "word", word, "string")
  local found, plain <const> = {}, word:lower()
  for i, entry in ipairs(help.entries()) do
    local score <const> = fit(entry, plain)
    if score > 0 then found[#found + 1] = {entry, score, i} end
  end
  table.sort(found, function(a, b)
    if a[2] ~= b[2] then return a[2] > b[2] end
    return a[3] < b[3]
  end)
  for i, item in ipairs(found) do found[i] = item[1] end
  return found
end

-- How many letters must be changed, added or left out to make b of a.
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local corner
    corner, row[0] = row[0], i
    for j = 1, #b do
      local same <const> = a:byte(i) == b:byte(j)
      corner, row[j] = row[j], math.min(row[j] + 1, row[j - 1] + 1,
        corner + (same and 0 or 1))
    end
  end
  return row[#b]
end

-- Names that are a slip or two away from a word, the nearest first, as text.
local function near_names(word)
  local found, seen <const> = {}, {}
  local plain <const> = word:lower()
  local most <const> = #word > 5 and 2 or #word > 2 and 1 or 0
  for _, entry in ipairs(help.entries()) do
    local name <const> = entry.name
    if not seen[name] and not name:find "_$"
        and math.abs(#name - #word) <= most then
      seen[name] = true
      local d <const> = distance(plain, name:lower())
      if d <= most then found[#found + 1] = {name, d, #found} end
    end
  end
  table.sort(found, function(a, b)
    if a[2] ~= b[2] then return a[2] < b[2] end
    return a[3] < b[3]
  end)
  for i, item in ipairs(found) do found[i] = item[1] end
  return table.concat(found, ", ", 1, math.min(#found, 5))
end

-- -- showing -----------------------------------------------------------------

-- Text in lines of at most `width`; what is indented keeps its lines.
local function wrap(text, indent, width)
  local out = {}
  for paragraph in (text .. "\n\n"):gmatch "(.-)\n\n+" do
    if paragraph:find "^%s%s" or paragraph:find "\n%s%s+%S" then
      for line in (paragraph .. "\n"):gmatch "(.-)\n" do
        out[#out + 1] = indent .. line
      end
    else
      local line = indent
      for word in paragraph:gmatch "%S+" do
        if #line > #indent and #line + 1 + #word > width then
          out[#out + 1] = line
          line = indent
        end
        line = line .. (#line > #indent and " " or "") .. word
      end
      out[#out + 1] = line
    end
    out[#out + 1] = ""
  end
  out[#out] = nil
  return table.concat(out, "\n")
end

-- How a call of it is written.
local function call_of(entry)
  local path <const> = entry.path:gsub("^heed%.nn%.functional%.", "F.")
    :gsub("^heed%.nn%.", "nn."):gsub("^tensor:", "x:")
  return ("%s(%s)"):format(path, entry.signature)
end

-- A name before its text, which hangs behind it; items of a list ("* ...")
-- keep their lines.
local function hanging(name, text, width)
  local indent <const> = (" "):rep(2 + width)
  local out = {}
  for item in (("\n" .. text):gsub("\n%s*%*%s", "\0"):gsub("^\n", "")
      .. "\0"):gmatch "(.-)\0" do
    local mark <const> = #out > 0 and "- " or ""
    local body <const> = wrap((mark .. item):gsub("\n%s*", " "), indent
      .. (" "):rep(#mark), WIDTH)
    out[#out + 1] = indent .. body:sub(#indent + #mark + 1)
  end
  if out[1] == indent and out[2] then table.remove(out, 1) end
  out[1] = "  " .. name .. (" "):rep(width - #name) .. out[1]:sub(#indent + 1)
  return table.concat(out, "\n")
end

local function add_params(out, entry)
  local width = 0
  for _, param in ipairs(entry.params) do
    width = math.max(width, #param.name)
  end
  for _, param in ipairs(entry.params) do
    local about = {}
    if param.type then about[1] = param.type end
    if param.default then
      about[#about + 1] = "default " .. param.default
    elseif param.optional then
      about[#about + 1] = "may be left out"
    end
    local text = table.concat(about, ", ")
    if param.text:find "^%*%s" then
      text = text .. "\n" .. param.text
    elseif param.text ~= "" then
      text = (text ~= "" and text .. ": " or "") .. param.text
    end
    out[#out + 1] = hanging(param.name, text, width + 2)
  end
end

-- The methods, of a class or of what a function makes, that have a text.
local function add_methods(out, entry)
  local names = {}
  for _, other in ipairs(help.entries()) do
    if other.part == entry.path then names[#names + 1] = other.name end
  end
  if #names > 0 then
    out[#out + 1] = ""
    out[#out + 1] = wrap("Methods: " .. table.concat(names, ", ") .. ".",
      "  ", WIDTH)
  end
end

local function render(entry, bold)
  local out = {bold(call_of(entry)), wrap(entry.text, "  ", WIDTH), ""}
  if entry.is_method then
    out[1] = out[1] .. "   also x:" .. entry.name .. "(...)"
  end
  add_params(out, entry)
  for _, result in ipairs(entry.returns) do
    local text = result.text
    if result.type then
      text = result.type .. (text ~= "" and ": " .. text or "")
    end
    out[#out + 1] = hanging("gives", text, 7)
  end
  for _, reason in ipairs(entry.raises) do
    out[#out + 1] = hanging("fails", reason, 7)
  end
  for _, usage in ipairs(entry.usages) do
    out[#out + 1] = ""
    for line in (usage:gsub("^\n", "") .. "\n"):gmatch "(.-)\n" do
      out[#out + 1] = "    " .. line
    end
  end
  add_methods(out, entry)
  return (table.concat(out, "\n"):gsub("\n\n\n+", "\n\n"):gsub("%s+$", "")
    .. "\n")
end

-- A line in the width of a page.
local function cut(line)
  line = line:gsub("%s*\n%s*", " ")
  if #line <= WIDTH then return line end
  return line:sub(1, utf8.offset(line, 0, WIDTH - 2) - 1) .. "..."
end

local function list(entries, title)
  local out, width = {title}, 0
  local last <const> = math.min(#entries, SHOWN)
  for i = 1, last do width = math.max(width, #entries[i].path) end
  for i = 1, last do
    local entry <const> = entries[i]
    out[#out + 1] = cut(("  %s  %s"):format(entry.path .. (" "):rep(width
      - #entry.path), entry.summary))
  end
  if #entries > last then
    out[#out + 1] = ("  and %d more"):format(#entries - last)
  end
  return table.concat(out, "\n") .. "\n"
end

-- A table of heed's: the name of the part that it is, or nil.
local function part_of(value)
  local heed <const>, seen = require "heed", {}
  for _, entry in ipairs(help.entries()) do
    if entry.kind ~= "method" and not seen[entry.part] then
      seen[entry.part] = true
      local at = heed
      for name in entry.part:gsub("^heed%.?", ""):gmatch "[^.]+" do
        at = type(at) == "table" and at[name] or nil
      end
      if rawequal(at, value) then return entry.part end
    end
  end
end

-- What a part holds, in one line each: all of it, for who has asked for it.
local function list_part(part)
  local out, width, members = {}, 0, {}
  for _, entry in ipairs(help.entries()) do
    if entry.part == part and not entry.name:find "_$" then
      members[#members + 1] = entry
      width = math.max(width, #entry.name)
    end
  end
  for i, entry in ipairs(members) do
    out[i] = cut(("  %s  %s"):format(entry.name .. (" "):rep(width
      - #entry.name), entry.summary))
  end
  return ("%s:\n%s\n"):format(part, table.concat(out, "\n"))
end

local OVERVIEW <const> = [[
heed: tensors, gradients and attention for Lua.

  heed.help "softmax"     what a function or class takes and gives
  heed.help "mask"        what there is about a word
  heed.help(nn.Linear)    of a value at hand

Parts: heed (tensors and their functions), heed.nn, heed.nn.functional (F),
heed.nn.init, heed.optim, heed.train, heed.metrics, heed.data, heed.text,
heed.image, heed.plot, heed.models, heed.autograd, heed.linalg, heed.script,
heed.testing.
]]

local function plain(text) return text end
local function bold(text) return "\27[1m" .. text .. "\27[0m" end

--- Returns the entry of a function or class, or of the name of one, as
-- `entries` gives it; nil if there is none.
-- @param what a value, or text: `"softmax"`, `"nn.Linear"`
-- @treturn ?table
-- @usage assert(heed.help.entry(heed.nn.Linear).path == "heed.nn.Linear")
function help.entry(what)
  if type(what) == "string" then return named(what)[1] end
  return path_of(what)
end

--- Returns the help on something as text.
-- @param[opt] what a function, class or part of heed, or text: a name such as
--   `"softmax"` or `"nn.Linear"`, or a word to search for; left out: an
--   overview
-- @tparam[opt] table options `color`, whether terms stand out (default false)
-- @treturn string lines
-- @treturn boolean whether anything was found
-- @usage assert(heed.help.text("softmax"):match "^[^(]+" == "heed.softmax")
function help.text(what, options)
  local o <const> = check.options("help", options, {color = false})
  if what == nil then return OVERVIEW, true end
  if #help.entries() == 0 then
    return "help: the texts are not installed (heed/help_data.lua)\n", false
  end
  local style <const> = o.color and bold or plain
  if type(what) ~= "string" then
    local entry <const> = path_of(what)
    if entry then return render(entry, style), true end
    local part <const> = part_of(what)
    if part == "heed" then return OVERVIEW, true end
    if part then return list_part(part), true end
    return ("help: nothing on %s; try a word, as heed.help \"mask\"\n")
      :format(check.show(what)), false
  end
  local entries = named(what)
  if #entries == 0 then
    entries = help.search(what)
    if #entries == 0 then
      local near <const> = near_names(what:match "[%w_]*$")
      return ("help: nothing on %s%s\n"):format(check.show(what),
        near ~= "" and "; near it: " .. near or ""), false
    end
    return list(entries, ("About %s:"):format(check.show(what))), true
  end
  local texts = {render(entries[1], style)}
  if #entries > 1 then
    local others = {}
    for i = 2, #entries do others[#others + 1] = entries[i].path end
    texts[2] = wrap("See also " .. table.concat(others, ", ") .. ".", "",
      WIDTH) .. "\n"
  end
  return table.concat(texts, "\n"), true
end

--- Writes the help on something to standard output: `help.text` says on what.
-- @usage heed.help "masked_softmax"
return setmetatable(help, {
  __call = function(_, what)
    io.stdout:write((help.text(what,
      {color = terminal.has_color(io.stdout)})))
  end,
  __tostring = function() return (OVERVIEW:gsub("%s+$", "")) end,
})
