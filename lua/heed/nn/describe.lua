--- Modules as text: a tree with shapes and counts of parameters.
--
--     Sequential: 204 parameters
--       [1] Linear(20, 8): weight [8 20], bias [8] = 168
--       [2] ReLU
--       [3] Linear(8, 4): weight [4 8], bias [4] = 36

local check = require "heed.check"
local tree = require "heed.nn.tree"

local describe = {}

--- 1234567 as 1,234,567.
function describe.grouped(n)
  local text = ("%d"):format(n):reverse():gsub("(%d%d%d)(%d)", "%1,%2")
  while text:find("%d%d%d%d") do
    text = text:gsub("(%d%d%d)(%d)", "%1,%2")
  end
  return text:reverse()
end

local grouped <const> = describe.grouped

-- "weight [8 20], bias [8] = 168" for the module's own parameters.
local function parameters(module)
  local parts, count = {}, 0
  for _, entry in ipairs(tree.tensors(module, "parameter")) do
    if entry.module == module then
      local tensor = entry.tensor
      local key = math.type(entry.key) == "integer" and
        ("[%d]"):format(entry.key) or entry.key
      parts[#parts + 1] = ("%s %s%s"):format(key,
        check.shape(tensor.shape), tensor.requires_grad and "" or " frozen")
      count = count + tensor:numel()
    end
  end
  if #parts == 0 then return "" end
  return (": %s = %s"):format(table.concat(parts, ", "), grouped(count))
end

--- The class of a module with what it adds: `Linear(20, 8)`.
function describe.title(module)
  local extra = module:extra()
  return extra == "" and module.__name or
    ("%s(%s)"):format(module.__name, extra)
end

local title <const> = describe.title

--- How a line of the tree calls a child: `[1] ` or `name: `.
function describe.label(key)
  return math.type(key) == "integer" and ("[%d] "):format(key) or
    tostring(key) .. ": "
end

local function add(module, label, indent, lines, above)
  lines[#lines + 1] = indent .. label .. title(module) .. parameters(module)
  if above[module] then return end
  above[module] = true
  for _, child in ipairs(tree.children(module)) do
    add(child.module, describe.label(child.name), indent .. "  ", lines, above)
  end
  above[module] = nil
end

--- The `__tostring` of modules.
function describe.tree(module)
  local lines = {}
  add(module, "", "", lines, {})
  if #lines > 1 then
    lines[1] = ("%s: %s parameters"):format(title(module),
      grouped(module:num_parameters()))
    local own = parameters(module)
    if own ~= "" then lines[1] = lines[1] .. own:gsub("^:", ",") end
  end
  return table.concat(lines, "\n")
end

return describe
