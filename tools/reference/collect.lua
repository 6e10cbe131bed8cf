--- All that heed offers to its users, with the doc comments that explain it:
-- the public tables are walked, and every function is found in its source.

local comments = require "tools.reference.comments"

local collect = {}

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

-- The public tables, with the names by which users reach them.
local PARTS <const> = {
  {"heed"}, {"heed.nn"}, {"heed.nn.functional"}, {"heed.nn.init"},
  {"heed.optim"}, {"heed.train"}, {"heed.metrics"}, {"heed.data"},
  {"heed.text"}, {"heed.image"}, {"heed.plot"}, {"heed.models"},
  {"heed.autograd"}, {"heed.linalg"}, {"heed.progress"}, {"heed.script"},
  {"heed.help"}, {"heed.testing"},
}

-- Fields of the public tables that are no functions of theirs.
local PRIVATE <const> = {["heed.core"] = true}
for _, part in ipairs(PARTS) do PRIVATE[part[1]] = true end

-- What stands for a group of ops.
local GROUPS <const> = {tensor = "heed", make = "heed",
  functional = "heed.nn.functional", linalg = "heed.linalg"}

-- Classes whose objects users get from functions: the file, the name there, and
-- the part and name under which their methods stand.
local OBJECTS <const> = {
  {"autograd", "Context", "heed.autograd", "Context"},
  {"files/tensor_file", "TensorFile", "heed", "TensorFile"},
  {"nn/cache", "KeyValueCache", "heed.nn", "KeyValueCache"},
  {"nn/hooks", "Handle", "heed.nn", "Handle"},
  {"nn/list", "List", "heed.nn", "ModuleList"},
  {"optim/average", "Average", "heed.optim", "Average"},
  {"optim/optimizer", "Optimizer", "heed.optim", "Optimizer"},
  {"optim/plateau", "Plateau", "heed.optim", "ReduceLROnPlateau"},
  {"optim/schedule", "Schedule", "heed.optim", "Schedule"},
  {"progress", "Progress", "heed.progress", "Progress"},
  {"testing/generators", "Generator", "heed.testing", "Generator"},
  {"train/fit", "Run", "heed.train", "Run"},
}

-- -- comments by place and by name ------------------------------------------

-- A line of a source below lua/, whatever folder it was loaded from.
local function place(path, line)
  return (path:match "lua/heed/.*$" or path) .. ":" .. line
end

local function index(root)
  local by_place, by_name, in_c, all, heads = {}, {}, {}, {}, {}
  for _, path in ipairs(lines_of("find " .. root
      .. "/lua -name '*.lua' | sort")) do
    for _, doc in ipairs(comments.read_lua(path)) do
      by_place[place(path, doc.below)] = doc
      all[#all + 1] = doc
      if doc.line == 1 then heads[path] = doc.text end
      if doc.name then
        by_name[doc.name] = by_name[doc.name] or {}
        table.insert(by_name[doc.name], doc)
      end
    end
  end
  for _, path in ipairs(lines_of("find " .. root
      .. "/src -name '*.c' | sort")) do
    for _, doc in ipairs(comments.read_c(path)) do
      if doc.name then in_c[doc.name] = doc end
      all[#all + 1] = doc
    end
  end
  return {by_place = by_place, by_name = by_name, in_c = in_c, all = all,
    heads = heads}
end

-- The folder or file of a part: lua/heed/nn for heed.nn.
local function home_of(part)
  return "/lua/" .. part:gsub("%.", "/")
end

-- The comment named so that stands where the part is put together, or whose
-- file lies in the part, or the only one there is.
local function named(found, name, part)
  local list = found.by_name[name] or {}
  for _, place_in in ipairs {"/init%.lua$", "[/.]"} do
    for _, doc in ipairs(list) do
      if doc.path:find(home_of(part) .. place_in) then return doc end
    end
  end
  return #list == 1 and list[1] or nil
end

-- A comment of the part that is about several and names this one in backquotes.
local function mentioned(found, name, part)
  for _, doc in ipairs(found.all) do
    if doc.name and doc.whole:find("`" .. name .. "[`%(]") and
        (part == "tensor" or doc.path:find(home_of(part) .. "[/.]")) then
      return doc
    end
  end
  return nil
end

local function doc_of_function(found, name, value, part)
  local info = debug.getinfo(value, "S")
  if info.what == "C" then
    -- the in-place form of an op has the comment of the op
    return found.in_c[name] or found.in_c[name:match "^(.*)_$"]
      or named(found, name, part) or mentioned(found, name, part)
  end
  return found.by_place[place(info.source, info.linedefined)]
    or named(found, name, part) or found.in_c[name]
    or mentioned(found, name, part)
end

-- -- entries -----------------------------------------------------------------

-- The signature of a function as its comment lists the parameters.
local function signature(doc)
  local names, options = {}, 0
  for i, param in ipairs(doc.params) do
    local text = param.name
    if param.optional then
      text, options = (i > 1 and "[, " or "[") .. text, options + 1
    elseif i > 1 then
      text = ", " .. text
    end
    names[i] = text
  end
  return table.concat(names) .. ("]"):rep(options)
end

-- The first sentence of a text.
local function summary(text)
  local flat = text:gsub("\n\n.*", ""):gsub("%s+", " ")
  return flat:match "^(.-[^%.][%.:])%s%u" or flat:match "^(.-[^%.]%.)$" or flat
end

-- What a file says about itself, of a class that it is named after:
-- "Linear: y = x W^T + b over the last dimension."
local function head_of(found, doc)
  local head <const> = found.heads[doc.path]
  local text <const> = head and head:match("^" .. doc.name .. ": (.*)$")
  return text and text:gsub("^%l[%l ]", function(word)
    return word:sub(1, 1):upper() .. word:sub(2)
  end)
end

-- Those of the usages that show the thing of this name. A comment about several
-- has one for each of them; an op's serve its in-place form too.
local function usages_of(usages, name)
  local shown, word = {}, "%f[%w_]" .. name:gsub("_$", "") .. "_?%f[^%w_]"
  for _, usage in ipairs(usages) do
    if usage:find(word) then shown[#shown + 1] = usage end
  end
  return #shown > 0 and shown or usages
end

-- A path as it is below the root of the sources.
local function source_of(path)
  return path:match "lua/heed/.*$" or path:match "src/.*$"
end

local function entry(found, name, part, doc, kind)
  local text = doc.text
  local head <const> = kind == "class" and doc.line and head_of(found, doc)
  if head then text = head .. "\n\n" .. text end
  if kind == "function" and name:find "_$" and doc.name == name:sub(1, -2) then
    text = text .. "\n\nThis form writes over its first argument."
  end
  return {
    name = name, part = part, kind = kind,
    path = part .. (kind == "method" and ":" or ".") .. name,
    signature = signature(doc), summary = summary(text ~= "" and text
      or "Gives " .. doc.returns[1].text), text = text,
    params = doc.params, returns = doc.returns, raises = doc.raises,
    usages = usages_of(doc.usages, name), source = source_of(doc.path),
  }
end

local function is_class(value)
  local meta = type(value) == "table" and getmetatable(value)
  return meta and meta.__call ~= nil
end

local function sorted(t)
  local keys = {}
  for key in pairs(t) do
    if type(key) == "string" then keys[#keys + 1] = key end
  end
  table.sort(keys)
  return keys
end

-- Methods of a class that have a comment of their own, at their place. One
-- without a usage has that of the class, which calls it.
local function add_methods(list, found, class, name, part)
  local usages <const> = list[#list].usages
  for _, key in ipairs(sorted(class)) do
    local value = class[key]
    if type(value) == "function" and not key:find "^_" then
      local info = debug.getinfo(value, "S")
      local doc = info.what ~= "C" and
        found.by_place[place(info.source, info.linedefined)]
      if doc and key ~= "init" and doc.name == key then
        local method <const> =
          entry(found, key, part .. "." .. name, doc, "method")
        if #method.usages == 0 then
          method.usages = usages_of(usages, key)
        end
        list[#list + 1] = method
      end
    end
  end
end

local function add_part(list, missing, found, part, value)
  for _, key in ipairs(sorted(value)) do
    local member = value[key]
    local class = is_class(member)
    if (class or type(member) == "function") and not key:find "^_"
        and not PRIVATE[part .. "." .. key] then
      local doc
      if class then
        doc = named(found, key, part) or mentioned(found, key, part)
          or named(found, rawget(member, "__name") or key, part)
      else
        doc = doc_of_function(found, key, member, part)
      end
      if doc then
        list[#list + 1] =
          entry(found, key, part, doc, class and "class" or "function")
      else
        missing[#missing + 1] = part .. "." .. key
      end
      if class then add_methods(list, found, member, key, part) end
    end
  end
end

-- Where the methods of a class belong: behind what makes it, else at the end of
-- the part.
local function place_in(list, part, name)
  local own <const>, last, made = part .. "." .. name, #list, nil
  for i, other in ipairs(list) do
    if other.part == part then last = i end
    if other.path == own or other.part == own then made = i end
  end
  return (made or last) + 1
end

-- Methods of objects, in the order of their files.
local function add_objects(list, found)
  for _, object in ipairs(OBJECTS) do
    local file <const>, class <const>, part <const>, name <const> =
      "lua/heed/" .. object[1] .. ".lua", table.unpack(object, 2)
    local at = place_in(list, part, name)
    for _, doc in ipairs(found.all) do
      if doc.class == class and source_of(doc.path) == file then
        local method <const> =
          entry(found, doc.name, part .. "." .. name, doc, "method")
        method.place = ("heed/%s.lua:%d"):format(object[1], doc.below)
        table.insert(list, at, method)
        at = at + 1
      end
    end
  end
end

-- Ops have signatures with kinds and defaults in the op table.
local function add_signatures(list, core)
  local of = {}
  for _, op in ipairs(core.op_table) do
    local part = GROUPS[op.group]
    if part then of[part .. "." .. op.name] = op end
  end
  for _, item in ipairs(list) do
    local op = of[item.path]
    if op then
      item.signature, item.differentiable = op.signature, op.differentiable
      item.is_method = op.group == "tensor"
    end
  end
end

local function methods_of_tensors(list, missing, found, heed)
  local methods = heed.core.methods
  for _, key in ipairs(sorted(methods)) do
    if heed[key] ~= methods[key] and not key:find "^_" then
      local doc = doc_of_function(found, key, methods[key], "heed")
      if doc then
        list[#list + 1] = entry(found, key, "tensor", doc, "method")
      else
        missing[#missing + 1] = "tensor:" .. key
      end
    end
  end
end

--- Returns the list of what heed offers, each a table with `path`
-- (`heed.nn.Linear`, `tensor:backward`), `name`, `part`, `kind` (`function`,
-- `class` or `method`), `signature`, `summary`, `text`, `params`, `returns`,
-- `raises`, `usages`, `source` (the file); and the list of paths without a
-- comment.
-- @tparam string root the folder of the sources
-- @tparam table heed the module, loaded from there
function collect.all(root, heed)
  local found <const>, list, missing = index(root), {}, {}
  local _ = heed.einsum -- a function that loads when it is first used
  for _, part in ipairs(PARTS) do
    local value = heed
    for name in part[1]:gsub("^heed%.?", ""):gmatch "[^.]+" do
      value = value[name]
    end
    add_part(list, missing, found, part[1], value)
  end
  add_objects(list, found)
  methods_of_tensors(list, missing, found, heed)
  add_signatures(list, heed.core)
  return list, missing
end

return collect
