--- Which tensor of a state belongs to which of a module's. For module.lua.

local check = require "heed.check"
local tree = require "heed.nn.tree"

-- The names of every tensor of the state: lists, in order.
local function names_of(self)
  local lists, by_tensor, known = {}, {}, {}
  for _, entry in ipairs(tree.tensors(self, "state", true)) do
    local list = by_tensor[entry.tensor]
    if not list then
      list = {tensor = entry.tensor}
      by_tensor[entry.tensor] = list
      lists[#lists + 1] = list
    end
    list[#list + 1] = entry.name
    known[entry.name] = true
  end
  return lists, known
end

-- Which given tensor goes where, and what does not fit.
local function match(self, state)
  local lists, known = names_of(self)
  local plan, missing, unexpected, shapes = {}, {}, {}, {}
  for _, names in ipairs(lists) do
    local name, given = names[1], nil
    for i = 1, #names do
      if state[names[i]] ~= nil then
        name, given = names[i], state[names[i]]
        break
      end
    end
    if given == nil then
      missing[#missing + 1] = name
    else
      check.tensor("load_state_dict", name, given)
      local here, there = check.shape(names.tensor.shape),
        check.shape(given.shape)
      if here == there then
        plan[#plan + 1] = {names.tensor, given}
      else
        shapes[#shapes + 1] = ("%s is %s here and %s there"):format(name, here,
          there)
      end
    end
  end
  for name in pairs(state) do
    if not known[name] then unexpected[#unexpected + 1] = tostring(name) end
  end
  table.sort(unexpected)
  return plan, missing, unexpected, shapes
end

local function complain(self, missing, unexpected, shapes)
  local lines = {}
  for _, part in ipairs {{"missing", missing}, {"unexpected", unexpected},
    {"other shapes", shapes}} do
    if #part[2] > 0 then
      lines[#lines + 1] = ("\n  %s: %s"):format(part[1],
        table.concat(part[2], ", "))
    end
  end
  if #lines > 0 then
    check.fail("load_state_dict: the tensors do not fit this %s%s",
      self.__name, table.concat(lines))
  end
end

--- Finds where the tensors of a state go; raises for shapes that differ, and
-- unless all names are the same, or `strict` is false.
-- @return list of {tensor of the module, tensor of the state}
-- @return list of missing names
-- @return list of unexpected names
return function(self, state, strict)
  local plan, missing, unexpected, shapes = match(self, state)
  if strict then
    complain(self, missing, unexpected, shapes)
  else
    complain(self, {}, {}, shapes)
  end
  return plan, missing, unexpected
end
