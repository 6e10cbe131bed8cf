--- shrink: a failing program with as few statements as still fail alike.

local check = require "spec.robust.program.check"
local draw = require "spec.robust.program.draw"
local slopes = require "spec.robust.program.slopes"

local shrink = {}

--- What is wrong with a list of statements, or nil; and how many slopes were
-- compared.
function shrink.problem(statements, smooth)
  local ok, text = pcall(check.values, statements)
  if not ok or text then return tostring(text) end
  if not smooth then return nil, 0 end
  local passed, wrong, count = pcall(slopes.check, statements)
  if not passed or wrong then return tostring(wrong) end
  return nil, count
end

-- Without the numbers: the same op must be wrong in the same way.
local function kind_of(text)
  return (text:match("^[^\n]*"):gsub("%-?%d[%w%.%+%-]*", "#"))
end

local function uses(value, gone)
  if draw.is_ref(value) then return gone[value.var] end
  if type(value) ~= "table" then return false end
  for _, v in pairs(value) do if uses(v, gone) then return true end end
  return false
end

-- The statements without number k, and without what hangs on it.
local function without(statements, k)
  local list, gone = {}, {}
  for i, s in ipairs(statements) do
    local written = s.args and draw.is_ref(s.args[1]) and s.args[1].var
    if i == k or s.args and uses(s.args, gone) then
      for _, var in ipairs(s.out or {}) do
        -- a call in place makes no tensor
        if var ~= written then gone[var] = true end
      end
    else
      list[#list + 1] = s
    end
  end
  return list
end

--- The shorter program, and what is wrong with it.
function shrink.shortest(statements, smooth, text)
  local kind, again = kind_of(text), true
  while again do
    again = false
    for k = #statements, 1, -1 do
      local fewer = without(statements, math.min(k, #statements))
      local other = shrink.problem(fewer, smooth)
      if other and kind_of(other) == kind then
        statements, text, again = fewer, other, true
      end
    end
  end
  return statements, text
end

return shrink
