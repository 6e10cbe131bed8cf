--- usage: the doc comments of ops and the code of their `@usage` tags.

local close = require "spec.support.close"
local comments = require "tools.reference.comments"
local heed = require "heed"

local usage = {}

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

-- The comments of all files that the command lists, by the name of what they
-- are about.
local function read_named(command, read)
  local docs = {}
  for _, path in ipairs(lines_of(command)) do
    for _, comment in ipairs(read(path)) do
      local params = {}
      for _, param in ipairs(comment.params) do params[param.name] = true end
      if comment.name then
        docs[comment.name] = {params = params, usages = comment.usages}
      end
    end
  end
  return docs
end

--- Reads the doc comments of all C files of a folder.
-- @treturn table by the name of the function: `params`, a set; `usages`
function usage.read_docs(folder)
  return read_named("ls " .. folder .. "/*.c", comments.read_c)
end

--- Reads the doc comments of all Lua files of a folder, as `read_docs`.
function usage.read_lua_docs(folder)
  return read_named("ls " .. folder .. "/*.lua", comments.read_lua)
end

--- Reads all usages in the Lua files below a folder, also of functions that
-- have one name.
-- @treturn table list of `{path, line of the comment, text}`, in order
function usage.read_lua_usages(folder)
  local list = {}
  for _, path in ipairs(lines_of("find " .. folder .. " -name '*.lua' | sort"))
  do
    for _, comment in ipairs(comments.read_lua(path)) do
      for _, text in ipairs(comment.usages) do
        list[#list + 1] = {path, comment.line, text}
      end
    end
  end
  return list
end

-- Code and what is said to come out, behind an arrow at its end.
local function split(text)
  local code, shown = text:match("^(.-)%s*%-%->%s*(.-)%s*$")
  return code or text, shown
end

-- The code as a function that returns the value of its last statement.
local function compile(code, env)
  local last, names = code:match("^.*[;\n]()"), nil
  local before, after = code:sub(1, (last or 1) - 1), code:sub(last or 1)
  for name in code:gmatch("local ([%w_, ]+) =") do names = name end
  local forms = {
    "return " .. code,
    before .. "return " .. after,
    names and code .. "\nreturn " .. names or code,
    code,
  }
  local problem
  for _, form in ipairs(forms) do
    local f, text = load(form, "=usage", "t", env)
    if f then return f end
    problem = text
  end
  error(problem, 0)
end

-- "1 2.5, 3" as numbers, "shape (2, 3)" as a shape; other words are text.
local function read_shown(shown)
  local sizes = shown:match("^shape %((.*)%)$")
  local list = {}
  for word in (sizes or shown):gmatch("[^%s,]+") do
    local value = tonumber(word)
    if word == "true" or word == "false" then
      value = word == "true" and 1 or 0
    end
    list[#list + 1] = value
  end
  return list, sizes ~= nil
end

local function check_shown(shown, results)
  if shown:find('^["%[]') then -- as Lua writes texts
    for i, text in ipairs {assert(load("return " .. shown))()} do
      assert(results[i] == text, "the text is not " .. text)
    end
    return
  end
  if type(results[1]) == "string" then
    return assert(results[1] == shown, "the text is not " .. shown)
  end
  local want, shape = read_shown(shown)
  if shape then
    return assert(table.concat(results[1].shape, " ") ==
      table.concat(want, " "), "the shape is not " .. shown)
  end
  local got = {}
  for _, value in ipairs(results) do
    for _, v in ipairs(close.flat(value)) do got[#got + 1] = v end
  end
  -- four digits are shown
  local text = close.difference(got, want, {atol = 6e-5, rtol = 6e-5})
  if text then error("-->: " .. text, 0) end
end

--- Runs the code of a usage and compares what it shows behind `-->`.
-- @tparam string text
-- @tparam[opt] table given variables, besides `heed` and Lua's own
function usage.check(text, given)
  local code, shown = split(text)
  local env = setmetatable({heed = heed}, {__index = function(_, name)
    local value = given and given[name]
    if value == nil then value = _G[name] end
    return value
  end})
  local results = {compile(code, env)()}
  if shown then check_shown(shown, results) end
end

return usage
