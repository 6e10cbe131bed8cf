-- coverage.lua - which share of the lines of C has run, layer by layer, in a
-- build tree with HEED_COVERAGE. A line counts once, however often it was
-- compiled (for several instruction sets, in a header), and has run if it has
-- anywhere.
--
--   lua5.4 tools/coverage.lua build-coverage

local cjson = require "cjson"

local tree <const> = assert(arg[1], "usage: coverage.lua BUILD_TREE")

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  local ok = pipe:close()
  assert(ok, command .. ": failed")
  return lines
end

-- layer -> "file:line" -> has it run?
local layers = {}

local function note(file)
  local layer = file.file:match("src/(%w+)/[^/]+$")
  if not layer or file.file:find("^/usr/") then return end
  local seen = layers[layer] or {}
  layers[layer] = seen
  for _, line in ipairs(file.lines) do
    local key = file.file .. ":" .. line.line_number
    seen[key] = seen[key] or line.count > 0
  end
end

-- One object a call: gcov prints one line of JSON for each.
for _, object in ipairs(lines_of(("find '%s' -name '*.gcno' -path '*/src/*'")
  :format(tree))) do
  for _, text in ipairs(lines_of(("gcov --json-format --stdout '%s' 2>&1")
    :format(object))) do
    if text:sub(1, 1) == "{" then
      for _, file in ipairs(cjson.decode(text).files) do note(file) end
    end
  end
end

for _, layer in ipairs { "base", "kernel", "core", "ops", "bind", "host" } do
  local run, all = 0, 0
  for _, has_run in pairs(layers[layer] or {}) do
    all = all + 1
    if has_run then run = run + 1 end
  end
  if all > 0 then
    print(("%-8s %5.1f %% of %5d lines"):format(layer, 100 * run / all, all))
  end
end
