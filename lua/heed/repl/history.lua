--- What was typed, kept between sessions: a file with one entry a line, in
-- which `\n` stands for a line end and `\\` for a backslash.

local history = {}

local LIMIT <const> = 1 << 20 -- bytes of the file, before it is cut
local LOADED <const> = 1000   -- entries that the keys bring back

--- Returns the file: HEED_HISTORY, or heed/history in the folder for the state
-- of programs; nil if HEED_HISTORY is empty, or there is no such folder.
function history.path()
  local named <const> = os.getenv "HEED_HISTORY"
  if named then return named ~= "" and named or nil end
  local state, home <const> = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
  if not state or state:sub(1, 1) ~= "/" then
    if not home or home == "" then return nil end
    state = home .. "/.local/state"
  end
  return state .. "/heed/history"
end

local function escape(text)
  return (text:gsub("\\", "\\\\"):gsub("\n", "\\n"))
end

local function unescape(line)
  return (line:gsub("\\(.)", function(char)
    return char == "n" and "\n" or char
  end))
end

--- Returns the last entries of a file, the oldest first.
function history.load(path)
  local file <const> = io.open(path)
  if not file then return {} end
  local all = {}
  for line in file:lines() do
    if line ~= "" and not line:find "%z" then all[#all + 1] = line end
  end
  file:close()
  local list = {}
  for i = math.max(1, #all - LOADED + 1), #all do
    list[#list + 1] = unescape(all[i])
  end
  return list
end

--- Adds an entry to a file; one that starts with a blank is not kept.
-- @treturn boolean whether the file could be written, if it had to be
function history.add(host, path, text)
  if text:find "^[ \t]" then return true end
  return host.append(path, escape(text), LIMIT) == true
end

return history
