--- The options of a function, by what its help says: the names in backquotes
-- in the text of its table of options.

local help = require "heed.help"

local options = {}

local function is_table(param)
  return (param.type or ""):find("table", 1, true) ~= nil
    or param.name:find "^opt" ~= nil
end

local add_entry

-- "as of `isclose`", "the descriptions of `F.attention`": theirs too.
local function add_others(found, text, seen)
  for name in text:gmatch "%f[%a][of][fo]r?%s+`([%a_][%w_.]*)`" do
    local other <const> = help.entry(name)
    if other then add_entry(found, other, seen) end
  end
end

local function add_param(found, param, seen, others)
  local single <const> = param.name:match "^options?%.([%a_][%w_]*)$"
  if single then found[single] = true end
  if not is_table(param) then return end
  local text <const> = param.text
  add_others(found, text, seen)
  for before, name in text:gmatch "()`([%l_][%w_]*)[`% ]" do
    -- "kept in `field`" names no option
    if not others[name]
        and not text:sub(1, before - 1):find "%f[%a][io][nf]%s+$" then
      found[name] = true
    end
  end
end

function add_entry(found, entry, seen)
  if seen[entry] then return end
  seen[entry] = true
  local others = {}
  for _, param in ipairs(entry.params) do others[param.name] = true end
  for _, param in ipairs(entry.params) do
    add_param(found, param, seen, others)
  end
  -- of an op, all that has a default: "dim: axis = -1, keepdim: bool = false"
  for name in entry.signature:gmatch "([%a_][%w_]*): [^,]+ = " do
    found[name] = true
  end
  if entry.signature:find("generator: generator", 1, true) then
    found.generator = true
  end
end

--- Returns the names of the options that a function takes, as keys; an empty
-- table if nothing is known.
function options.of(value)
  local found = {}
  local kind <const> = type(value)
  if kind ~= "function" and kind ~= "table" then return found end
  local entry = help.entry(value)
  if not entry and kind == "table" then -- an object: what its call takes
    local names <const> = require "heed.repl.names"
    local forward <const> = names.field(value, "forward")
    entry = forward and help.entry(forward)
  end
  if entry then add_entry(found, entry, {}) end
  return found
end

return options
