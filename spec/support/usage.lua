--- usage: the doc comments of ops and the code of their `@usage` tags.

local close = require "spec.support.close"
local heed = require "heed"

local usage = {}

-- The text of a tag up to the next one.
local function tags(comment)
  local list = {}
  for line in comment:gmatch("[^\n]*") do
    local tag, rest = line:match("^%s*%*?%s*@(%w+)%S*%s?(.*)$")
    if tag then
      list[#list + 1] = {tag, rest}
    elseif #list > 0 then
      list[#list][2] = list[#list][2] .. "\n" .. line
    end
  end
  return list
end

local function read_comment(comment, docs)
  local name, doc = nil, {params = {}, usages = {}}
  for _, tag in ipairs(tags(comment)) do
    local kind, text = tag[1], tag[2]
    if kind == "function" then
      name = text:match("[%w_]+")
    elseif kind == "param" then
      doc.params[text:match("[%w_]+") or ""] = true
    elseif kind == "tparam" then
      doc.params[text:match("^%S+%s+([%w_]+)") or ""] = true
    elseif kind == "usage" then
      doc.usages[#doc.usages + 1] = text
    end
  end
  if name then docs[name] = doc end
end

--- Reads the doc comments of all C files of a folder.
-- @treturn table by the name of the function: `params`, a set; `usages`
function usage.read_docs(folder)
  local pipe = assert(io.popen("ls " .. folder .. "/*.c"))
  local docs = {}
  for name in pipe:lines() do
    local file = assert(io.open(name))
    local text = file:read("a")
    file:close()
    for comment in text:gmatch("/%*%*%*(.-)%*/") do
      read_comment(comment, docs)
    end
  end
  pipe:close()
  return docs
end

-- A comment of a Lua file without its dashes.
local function bare(comment)
  return (comment:gsub("\n%-%-+ ?", "\n"):gsub("^%-%-%- ?", ""))
end

-- Calls f(comment, line) with every doc comment of a Lua file and its first
-- line: a block that opens with three dashes. One without `@function` is given
-- that of the function right below.
local function each_lua_comment(path, f)
  local block, first, number = {}, nil, 0
  local function finish(below)
    local comment = table.concat(block, "\n")
    local name = below:match("^function [%w_]+[.:]([%w_]+)")
    local tagged = comment:find("@function", 1, true)
    comment = bare(comment)
    if name and not tagged then
      comment = "@function " .. name .. "\n" .. comment
    end
    f(comment, first)
    block = {}
  end
  for line in io.lines(path) do
    number = number + 1
    if #block > 0 and line:sub(1, 2) ~= "--" then finish(line) end
    if #block == 0 and line:find("^%-%-%-[^%-]") then first = number end
    if #block > 0 or first == number then block[#block + 1] = line end
  end
  if #block > 0 then finish("") end
end

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

--- Reads the doc comments of all Lua files of a folder, as `read_docs`. A
-- comment without `@function` is about the function behind it.
function usage.read_lua_docs(folder)
  local docs = {}
  for _, path in ipairs(lines_of("ls " .. folder .. "/*.lua")) do
    each_lua_comment(path, function(comment) read_comment(comment, docs) end)
  end
  return docs
end

--- Reads all usages in the Lua files below a folder, also of functions that
-- have one name.
-- @treturn table list of `{path, line of the comment, text}`, in order
function usage.read_lua_usages(folder)
  local list = {}
  for _, path in ipairs(lines_of("find " .. folder .. " -name '*.lua' | sort"))
  do
    each_lua_comment(path, function(comment, line)
      for _, tag in ipairs(tags(comment)) do
        if tag[1] == "usage" then list[#list + 1] = {path, line, tag[2]} end
      end
    end)
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
