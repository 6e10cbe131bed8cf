--- The weights of a network from a file, one after the other, so that no second
-- copy of the model is ever held.

local check = require "heed.check"
local parameter = require "heed.nn.parameter"
local tree = require "heed.nn.tree"

local weights = {}

-- The places of each tensor of a network: by name, lists {module, key}.
local function places_of(network)
  local by_tensor, by_name, order = {}, {}, {}
  for _, entry in ipairs(tree.tensors(network, "state", true)) do
    local place = by_tensor[entry.tensor]
    if not place then
      place = {name = entry.name, tensor = entry.tensor}
      by_tensor[entry.tensor] = place
      order[#order + 1] = place
    end
    place[#place + 1] = entry
    by_name[entry.name] = place
  end
  return by_name, order
end

local function put(place, tensor, dtype)
  if tensor.dtype ~= dtype then tensor = tensor:to(dtype) end
  tensor.requires_grad = place.tensor.requires_grad
  for _, entry in ipairs(place) do rawset(entry.module, entry.key, tensor) end
  place.done = true
end

-- A second tensor for what is one weight by the config: where it differs from
-- the first, the module of that name has it for itself, whatever the config
-- says (files of T5 1.1 and mT5 do this).
local function untie(place, own, tensor, dtype)
  if tensor.dtype ~= dtype then tensor = tensor:to(dtype) end
  for _, entry in ipairs(place) do
    local first <const> = entry.module[entry.key]
    if entry.name == own and check.shape(first.shape) ==
       check.shape(tensor.shape) and not first:equal(tensor) then
      tensor.requires_grad = first.requires_grad
      rawset(entry.module, entry.key, tensor)
    end
  end
end

-- Is the weight one that a file may lack?
local function is_optional(network, name)
  for _, pattern in ipairs(network.optional or {}) do
    if name:find(pattern) then return true end
  end
  return false
end

local function complain(func, path, kinds)
  local lines = {}
  for _, kind in ipairs(kinds) do
    if #kind > 0 then
      lines[#lines + 1] = ("\n  %s: %s"):format(kind.title,
        table.concat(kind, ", "))
    end
  end
  if #lines > 0 then
    check.fail("%s: %s does not fit the network%s", func, path,
      table.concat(lines))
  end
end

--- Makes the network of a class and fills it.
--
-- The class has `rename(name, tensor)`: what a tensor of the file is called in
-- the network (nil: it is not needed) and, where it lies otherwise, true to
-- turn its rows into columns; and `optional`, patterns of names that a file may
-- lack, whose fields are then gone.
-- @tparam string func the function that messages name
-- @param class module
-- @tparam table c its config
-- @param file a `TensorFile`
-- @tparam[opt="float32"] string dtype of the weights
-- @return the network, in evaluation
-- @raise one error that lists what is missing, what is too much, and what has
-- another shape
function weights.load(func, class, c, file, dtype)
  dtype = dtype or "float32"
  local network <const> = parameter.hollow(class, c)
  local by_name <const>, order <const> = places_of(network)
  local missing <const> = {title = "missing"}
  local unexpected <const> = {title = "unexpected"}
  local shapes <const> = {title = "other shapes"}
  for _, name in ipairs(file.names) do
    local own <const>, turned = class.rename(name)
    local place <const> = own and by_name[own]
    if place and not place.done then
      local tensor = file:get(name)
      if turned then tensor = tensor:t():contiguous() end
      local here <const> = check.shape(place.tensor.shape)
      local there <const> = check.shape(tensor.shape)
      if here == there then
        put(place, tensor, dtype)
        place.from = own
      else
        place.done = true
        shapes[#shapes + 1] = ("%s is %s here and %s there"):format(own, here,
          there)
      end
    elseif place and place.from and place.from ~= own then
      local tensor = file:get(name)
      if turned then tensor = tensor:t():contiguous() end
      untie(place, own, tensor, dtype)
    elseif own and not place then
      unexpected[#unexpected + 1] = name
    end
  end
  for _, place in ipairs(order) do
    if place.done then goto continue end
    if not is_optional(network, place.name) then
      missing[#missing + 1] = place.name
    else
      for _, entry in ipairs(place) do rawset(entry.module, entry.key, nil) end
    end
    ::continue::
  end
  complain(func, file.path, {missing, unexpected, shapes})
  return network:eval()
end

return weights
