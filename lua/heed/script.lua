--- What scripts on top of heed share: options, a folder for results, and
-- mistakes of the user's as one line instead of a traceback.
--
--     local script = require "heed.script"
--     script.run("toss", function()
--       local parser = script.parser("toss", "Tosses coins.")
--       parser:whole("--coins", "how many", 10, 1)
--       local o = script.start(parser)
--       print(heed.rand(o.coins):lt(0.5):sum():item(), "heads")
--     end)
--
-- The parser is one of lua-argparse, so that its documentation holds too.
-- @module heed.script
local check = require "heed.check"
local core = require "heed.core"

local script = {}

-- A mistake of the user's; anything else that is raised keeps its own text.
local mistake <const> = {__name = "heed.script.mistake"}

--- Ends a script that `run` runs: the message is shown, and the exit code 1.
-- @tparam string format as for `string.format`, and its values
-- @raise always
-- @usage
-- local ok, failure = pcall(heed.script.fail, "no line in %s", "a.txt")
-- assert(not ok and tostring(failure) == "no line in a.txt")
function script.fail(format, ...)
  error(setmetatable({message = format:format(...)}, mistake), 0)
end
mistake.__tostring = function(e) return e.message end

-- What was raised as the user should read it: without the place in the source,
-- unless HEED_TRACEBACK asks for all of it.
local function explain(e)
  if getmetatable(e) == mistake then return e end
  if os.getenv "HEED_TRACEBACK" then
    return setmetatable({message = debug.traceback(tostring(e), 2)}, mistake)
  end
  local said <const> = tostring(e):gsub("^[^\n]-:%d+: ", "")
  return setmetatable({message = said}, mistake)
end

--- Calls the function that is a script's work. What it raises is written to
-- standard error behind the script's name, and ends the program with exit code
-- 1; with HEED_TRACEBACK set in the environment, with a traceback.
-- @tparam string name the script's, for messages
-- @tparam function main called without arguments
-- @usage heed.script.run("hello", function() assert(1 + 1 == 2) end)
function script.run(name, main)
  check.kind("run", "name", name, "string")
  check.callable("run", "main", main)
  local ok, failure = xpcall(main, explain)
  if ok then return end
  io.stdout:flush()
  io.stderr:write(name, ": ", failure.message, "\n")
  os.exit(1, true)
end

-- Adds an option that `read` turns from text into a value, or nil.
local function add(parser, name, help, default, read, wanted)
  local option <const> = parser:option(name, help):argname "N"
  option:convert(function(text)
    local value = read(text)
    if value then return value end
    return nil, ("%s must be %s, got %s"):format(name, wanted, text)
  end)
  if default ~= nil then option:default(tostring(default)) end
  return option
end

-- Adds an option that is a whole number of at least `low`.
local function whole(parser, name, help, default, low)
  return add(parser, name, help, default, function(text)
    local n <const> = math.tointeger(tonumber(text))
    return n and n >= low and n
  end, "a whole number of at least " .. low)
end

-- Adds an option that is a number from `low` to `high`; nil: no bound.
local function number(parser, name, help, default, low, high)
  local wanted = low and high and ("a number from %g to %g"):format(low, high)
    or low and ("a number of at least %g"):format(low) or "a finite number"
  return add(parser, name, help, default, function(text)
    local x <const> = tonumber(text)
    return x and x == x and math.abs(x) < math.huge and
      (not low or x >= low) and (not high or x <= high) and x
  end, wanted)
end

--- Returns a parser of arguments (of lua-argparse) that knows `--help`,
-- `--seed N` and `--threads N`, and `--out DIR` if the script writes files. A
-- wrong argument ends the program with one line and exit code 1.
--
-- It has two methods more: `parser:whole(name, help, default, low)` adds an
-- option that is a whole number of at least `low`, and `parser:number(name,
-- help, default, low, high)` one that is a number within bounds; a default or
-- bound of nil is none.
-- @tparam string name the script's
-- @tparam string description what it does, for `--help`
-- @tparam[opt] table opts `seed`, the default (0); `out`, the default folder:
--   without it there is no `--out`
-- @treturn table the parser
-- @usage
-- local parser = heed.script.parser("toss", "Tosses coins.", {out = "."})
-- parser:whole("--coins", "how many", 10, 1)
-- assert(parser:parse({"--coins", "3"}).coins == 3)
function script.parser(name, description, opts)
  check.kind("parser", "name", name, "string")
  check.kind("parser", "description", description, "string")
  local o <const> = check.options("parser", opts,
    {seed = 0, out = check.NONE})
  local parser <const> = require "argparse"(name, description)
  parser.whole, parser.number = whole, number
  parser.error = function(_, message)
    io.stderr:write(name, ": ", (message:gsub("\n", ". ")), " (see --help)\n")
    os.exit(1, true)
  end
  parser:whole("--seed", "of all random numbers", o.seed, 0)
  parser:whole("--threads", "threads to compute with", nil, 1)
  if o.out then
    parser:option("--out", "folder for what is written; made if missing",
      o.out):argname "DIR"
  end
  return parser
end

-- Makes a folder and those above it.
local function make_folder(path)
  local lfs <const> = require "lfs"
  local at = path:sub(1, 1) == "/" and "/" or ""
  for part in path:gmatch "[^/]+" do
    at = at .. part
    if lfs.attributes(at, "mode") ~= "directory" then
      local ok, reason = lfs.mkdir(at)
      -- another process may have made it meanwhile
      if not ok and lfs.attributes(at, "mode") ~= "directory" then
        script.fail("cannot make the folder %s: %s", path, reason)
      end
    end
    at = at .. "/"
  end
end

--- Checks that a file can be written, before hours of work for it; leaves
-- nothing behind, and what is there as it is.
-- @tparam ?string path nil: nothing to check
-- @raise as `fail`, if it cannot
-- @usage heed.script.check_writable(os.tmpname())
function script.check_writable(path)
  if not path then return end
  local probe <const> = path .. ".part"
  local file, message = io.open(probe, "ab")
  if not file then
    script.fail("cannot write %s: %s", path, (message:gsub("^.*: ", "")))
  end
  file:close()
  os.remove(probe)
end

--- Reads the arguments and does what the common ones say: sets the threads and
-- the seed, makes the folder of `--out` and checks that it can be written to.
-- @tparam table parser from `parser`
-- @tparam[opt] {string,...} arguments default those of the script, `arg`
-- @treturn table the options by name, as argparse gives them; in it
--   `path(name)` returns where a file of that name goes
-- @raise as `fail`, if the folder cannot be had
-- @usage
-- local parser = heed.script.parser("toss", "Tosses coins.", {out = "."})
-- local o = heed.script.start(parser, {"--seed", "7", "--out", "."})
-- assert(o.seed == 7 and o.path "coins.png" == "./coins.png")
function script.start(parser, arguments)
  local o <const> = parser:parse(arguments)
  if o.threads then core.set_num_threads(o.threads) end
  core.manual_seed(o.seed)
  if o.out then
    make_folder(o.out)
    function o.path(name)
      return (o.out:gsub("/*$", "/", 1)) .. name
    end
    script.check_writable(o.path "probe")
  end
  return o
end

return script
