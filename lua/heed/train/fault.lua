--- Where a loss that is no number comes from: the forward runs once more, with
-- the random numbers of the first time, and the first module is found that
-- makes NaN, or infinity, of what holds none.

local autograd = require "heed.autograd"
local check = require "heed.check"
local core = require "heed.core"
local tree = require "heed.nn.tree"

local fault = {}

-- Does a value, or a tensor in it, hold NaN (or, with `infinite`, infinity)?
local function holds(value, infinite)
  if check.is_tensor(value) then
    if not check.is_float(value) then return false end
    return core.no_grad(function()
      local x = value:detach()
      local bad = infinite and x:isfinite():logical_not() or x:isnan()
      return bad:any():item()
    end)
  elseif type(value) == "table" then
    for _, inner in next, value do
      if holds(inner, infinite) then return true end
    end
  end
  return false
end

local function any(infinite, ...)
  for i = 1, select("#", ...) do
    if holds((select(i, ...)), infinite) then return true end
  end
  return false
end

-- Where a module stands, as in messages of errors: `Net.layers[2].Linear`.
local function title(model, module)
  if model == module then return model.__name end
  return ("%s%s.%s"):format(model.__name, tree.path(model, module),
    module.__name)
end

-- Runs f, and returns what is known of the first module with a bad result.
-- A module is to blame when its arguments are sound and its result is not, or
-- when it hands on what is not to one inside: then its own code made it.
local function search(model, infinite, f)
  local running, found, handles = {}, nil, {}
  for _, module in ipairs(model:modules()) do
    handles[#handles + 1] = module:register_forward_pre_hook(
      function(self, ...)
        local above = running[#running]
        if not found and above and not above.given and any(infinite, ...) then
          found = title(model, above.module)
        end
        running[#running + 1] = {module = self, given = any(infinite, ...)}
      end)
    handles[#handles + 1] = module:register_forward_hook(
      function(self, _, ...)
        local call = table.remove(running)
        if not found and not call.given and any(infinite, ...) then
          found = title(model, self)
        end
      end)
  end
  local ok = pcall(f)
  for _, handle in ipairs(handles) do handle:remove() end
  return ok and found or nil
end

-- The message of the op that made the first NaN, and the place of its call.
local function first_nan(f)
  local ok, text = pcall(autograd.detect_anomaly, f)
  if ok or type(text) ~= "string" or
     not text:find("made the first NaN", 1, true) then
    return nil
  end
  local place, rest = text:match("^(.-:%d+): (.*)$")
  if not place or rest:find("; called at ", 1, true) then
    return rest or text
  end
  return ("%s, at %s"):format(rest, place)
end

local function bad_parameter(model)
  for name, p in model:named_parameters() do
    if holds(p, true) then return name end
  end
end

--- What made the loss what it is, in words.
-- @param model module
-- @tparam table batch the values of the batch
-- @tparam boolean infinite the loss is infinite, not NaN
-- @tparam function f computes the loss again, from the same random numbers
function fault.explain(model, batch, infinite, f)
  local name = bad_parameter(model)
  if name then
    return ("the parameter %s is not finite, so the step before this one "
      .. "spoiled it: its gradients, or a rate that is too high"):format(name)
  end
  local op = not infinite and first_nan(f) -- it knows its module
  local module = search(model, infinite or op ~= nil, f)
  if op then
    local same = not module or op:sub(1, #module + 1) == module .. ":"
    return same and op or
      ("%s, after %s had made the first infinity"):format(op, module)
  end
  if module then
    return ("%s made the first %s"):format(module,
      infinite and "infinity" or "NaN")
  end
  if any(true, table.unpack(batch, 1, batch.n)) then
    return "the batch holds it"
  end
  return "no module made it, so the loss function did"
end

--- What made a gradient that is not finite, in words.
-- @tparam function f computes the loss again and walks back from it
function fault.explain_gradient(f)
  return first_nan(f) or "no op made a NaN of what is none, so a gradient grew "
    .. "beyond all numbers"
end

return fault
