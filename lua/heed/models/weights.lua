--- The weights of a network from a file, one after the other, so that no second
-- copy of the model is ever held.

local check = require "heed.check"
local parameter = require "heed.nn.parameter"
local tree = require "heed.nn.tree"

local weights = {}

-- The places of each tensor of a network: by name, lists {module, key}. `from`:
-- the name by which the file has given it, so far nil.
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

-- Puts a tensor into some of the entries of a place.
local function put(place, tensor, entries)
  tensor.requires_grad = place.tensor.requires_grad
  for _, entry in ipairs(entries) do
    rawset(entry.module, entry.key, tensor)
  end
end

-- A second tensor for what is one weight by the config: where it differs from
-- the first, the module of that name has it for itself, whatever the config
-- says (files of T5 1.1 and mT5 do this).
local function untie(place, own, tensor)
  for _, entry in ipairs(place) do
    if entry.name == own and not entry.module[entry.key]:equal(tensor) then
      put(place, tensor, {entry})
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
-- The class has `rename(name)`: what a tensor of the file is called in the
-- network (nil: it is not needed) and, where it lies otherwise, true to
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
    if own and not place then
      unexpected[#unexpected + 1] = name
    elseif place and place.from ~= own then
      local tensor = file:get(name)
      if turned then tensor = tensor:t():contiguous() end
      if tensor.dtype ~= dtype then tensor = tensor:to(dtype) end
      local here <const> = check.shape(place.tensor.shape)
      local there <const> = check.shape(tensor.shape)
      if here == there and place.from then
        untie(place, own, tensor)
      elseif here == there then
        put(place, tensor, place)
      elseif not place.from then
        shapes[#shapes + 1] = ("%s is %s here and %s there"):format(own, here,
          there)
      end
      place.from = place.from or own
    end
  end
  for _, place in ipairs(order) do
    if not place.from and is_optional(network, place.name) then
      for _, entry in ipairs(place) do rawset(entry.module, entry.key, nil) end
    elseif not place.from then
      missing[#missing + 1] = place.name
    end
  end
  complain(func, file.path, {missing, unexpected, shapes})
  return network:eval()
end

return weights
