--- Checks of arguments for the pictures and the progress bar.
-- Every message has the form `op: argument, what was wanted, what came`, and
-- carries the line of the caller outside of heed, however deep the check is.
local check = {}

-- The folder that holds heed's own Lua files, as chunk names begin with it.
local home <const> =
  debug.getinfo(1, "S").source:match("^(.*[/\\])plot[/\\]check%.lua$")

-- The level of the first Lua function that is not heed's own.
local function caller_level()
  local level = 3
  local info = debug.getinfo(level, "S")
  while info and home do
    if info.what ~= "C" and info.source:sub(1, #home) ~= home then
      return level - 1
    end
    level = level + 1
    info = debug.getinfo(level, "S")
  end
  return 2
end

--- Raises an error at the line that called heed; does not return.
-- @tparam string op what the user called
-- @tparam string format the message, as for `string.format`
-- @param ... what the format takes
function check.fail(op, format, ...)
  error(op .. ": " .. string.format(format, ...), caller_level())
end

--- Returns a value as an error message shows it: strings quoted, numbers and
-- booleans as they are, everything else by its type.
-- @param value any value
-- @treturn string
function check.got(value)
  local kind = type(value)
  if kind == "string" then
    return (string.format("%q", value):gsub("\n", "n"))
  elseif kind == "number" or kind == "boolean" then
    return tostring(value)
  end
  return kind
end

--- Returns a table's keys that are strings, sorted and joined by commas.
-- @tparam table set a table
-- @treturn string
function check.names(set)
  local names = {}
  for name in pairs(set) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, ", ")
end

--- Returns the table of options after checking its keys and types.
-- @tparam string op what the user called
-- @tparam ?table opts the options; nil for none
-- @tparam {[string]=string} known for each option the Lua types that it may
--   have, joined by `|`; `any` for all
-- @treturn table the options
-- @raise for an unknown option and for a value of the wrong type
function check.options(op, opts, known)
  if opts == nil then return {} end
  if type(opts) ~= "table" then
    check.fail(op, "the options must be a table, got %s", check.got(opts))
  end
  for name, value in pairs(opts) do
    local kinds = known[name]
    if not kinds then
      check.fail(op, "unknown option %s (known: %s)", check.got(name),
        check.names(known))
    end
    local found = kinds == "any"
    for kind in kinds:gmatch("[^|]+") do
      found = found or type(value) == kind
    end
    if not found then
      check.fail(op, "%s must be a %s, got %s", name,
        (kinds:gsub("|", " or a ")), check.got(value))
    end
  end
  return opts
end

return check
