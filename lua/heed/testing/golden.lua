--- Values kept in files beside the specs, as the results to come again.
local check = require "heed.check"
local close = require "heed.testing.close"
local exists = require "heed.exists"
local files = require "heed.files"
local heat = require "heed.testing.heat"
local values = require "heed.testing.values"

local golden = {}

local ENDING <const> = ".safetensors"
local MAPS <const> = 2 -- heat maps in one message

-- What a file of one value calls it.
local SINGLE <const> = "value"

-- What this process has used, by path: `{written = place or nil}`. In the
-- registry, since busted loads modules anew for each file.
local function used_files()
  local registry = debug.getregistry()
  local used = registry["heed.testing.golden"]
  if not used then
    used = {}
    registry["heed.testing.golden"] = used
  end
  return used
end

-- -- where the files are -----------------------------------------------------

local function check_name(name)
  check.kind("matches_golden", "name", name, "string")
  local inside = "/" .. name .. "/"
  if not name:find("^[%w_.%- /]+$") or inside:find("/[./]") then
    check.fail("matches_golden: name must be a file name of letters, digits, "
      .. "spaces and _ . - /, got %s", check.show(name))
  end
end

-- The folder golden/ beside the file that calls, and the place of the call.
local function beside_caller(folder)
  local info = check.caller()
  local place = info and ("%s:%d"):format(info.short_src, info.currentline)
  if folder then return folder, place end
  local file = info and info.source:match("^@(.*)$")
  if not file then
    check.fail("matches_golden: the caller is no file, so folder must be given")
  end
  return (file:match("^(.*/)[^/]*$") or "") .. "golden", place
end

-- Makes the folder of a file, and those above it.
local function make_folder(path)
  local lfs = require "lfs"
  for at in path:gmatch("()/") do
    local folder = path:sub(1, at - 1)
    if folder ~= "" and not lfs.attributes(folder) then
      local ok, reason = lfs.mkdir(folder)
      if not ok and not lfs.attributes(folder) then
        check.fail("matches_golden: cannot make %s: %s", folder, reason)
      end
    end
  end
end

-- Does HEED_UPDATE_GOLDEN ask for this file? "1" does for all, other words for
-- the names that hold them.
local function is_update(name)
  local wish = os.getenv "HEED_UPDATE_GOLDEN"
  if not wish or wish == "" or wish == "0" then return false end
  return wish == "1" or name:find(wish, 1, true) ~= nil
end

-- -- comparing ---------------------------------------------------------------

-- The tensors of a value by the names that they have in the file.
local function tensors_of(value)
  if check.is_tensor(value) or not values.has_tensor(value) then
    return {[SINGLE] = (values.read("matches_golden", "value", value))}
  end
  local named = {}
  values.each(value, function(t, name) named[name] = t:detach() end)
  return named
end

-- What differs between the tensors of a file and those of now, or nil.
local function difference(path, got, want, options)
  local texts, maps, union = {}, 0, {}
  for name in next, got do union[name] = true end
  for name in next, want do union[name] = true end
  for _, name in ipairs(values.keys(union)) do
    local what = ("matches_golden: %s%s"):format(path,
      name ~= SINGLE and ": " .. name or "")
    if not got[name] or not want[name] then
      texts[#texts + 1] = what .. (got[name] and ": not in the file"
        or ": only in the file")
    else
      local ok, text, off = close.compare("matches_golden", got[name],
        want[name], options, what)
      if not ok then texts[#texts + 1] = text end
      if off and maps < MAPS then
        texts[#texts + 1] = heat(off)
        maps = maps + 1
      end
    end
  end
  return #texts > 0 and table.concat(texts, "\n") or nil
end

local function write(path, got, place, used)
  make_folder(path)
  files.save_safetensors(path, got)
  used[path].written = place or "?"
  io.stderr:write("golden: wrote ", path, "\n")
  return true
end

-- -- stale files -------------------------------------------------------------

local function list_files(folder, list)
  local lfs = require "lfs"
  if lfs.attributes(folder, "mode") ~= "directory" then return end
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    if name ~= "." and name ~= ".." then
      if lfs.attributes(path, "mode") == "directory" then
        list_files(path, list)
      elseif name:sub(-#ENDING) == ENDING then
        list[#list + 1] = path
      end
    end
  end
end

--- See `testing.stale_golden`.
function golden.stale(folder)
  local used, folders, list, stale = used_files(), {}, {}, {}
  if folder ~= nil then
    folders[check.kind("stale_golden", "folder", folder, "string")] = true
  else
    for _, one in next, used do folders[one.folder] = true end
  end
  for name in next, folders do list_files(name, list) end
  for _, path in ipairs(list) do
    if not used[path] then stale[#stale + 1] = path end
  end
  table.sort(stale)
  return stale
end

-- With HEED_STALE_GOLDEN=1, busted lists them at its end.
local function list_at_end()
  local registry, busted = debug.getregistry(), package.loaded.busted
  local wish = os.getenv "HEED_STALE_GOLDEN"
  if not wish or wish == "" or wish == "0" then return end
  if not busted or registry["heed.testing.stale"] then return end
  registry["heed.testing.stale"] = true
  busted.subscribe({"suite", "end"}, function()
    for _, path in ipairs(golden.stale()) do
      io.stderr:write("golden: no test used ", path, "\n")
    end
    return nil, true
  end)
end

-- -- the assertion -----------------------------------------------------------

--- See `testing.matches_golden`.
-- @tparam[opt] boolean frozen no file is written, whatever the environment says
function golden.check(name, value, options, frozen)
  check_name(name)
  local given = {}
  check.keys("matches_golden", options, {rtol = 1, atol = 1, equal_nan = 1,
    shown = 1, folder = 1})
  for key, one in next, options or {} do given[key] = one end
  if given.folder then
    check.kind("matches_golden", "folder", given.folder, "string")
  end
  local folder, place = beside_caller(given.folder)
  given.folder = nil
  close.options("matches_golden", given)
  local path, used = folder .. "/" .. name .. ENDING, used_files()
  used[path] = used[path] or {folder = folder}
  list_at_end()
  local got = tensors_of(value)
  local update = not frozen and is_update(name)
  if not exists(path) then
    if update then return write(path, got, place, used) end
    return false, ("matches_golden: %s is missing; HEED_UPDATE_GOLDEN=1 makes "
      .. "it from this result, once that is known to be right"):format(path)
  end
  local text = difference(path, got, files.load_safetensors(path), given)
  if not text then return true end
  if update and used[path].written then
    return false, ("%s\n  %s wrote the file in this run: two tests share the "
      .. "name"):format(text, used[path].written)
  end
  if update then return write(path, got, place, used) end
  return false, text .. "\n  HEED_UPDATE_GOLDEN=1 takes the new values"
end

return golden
