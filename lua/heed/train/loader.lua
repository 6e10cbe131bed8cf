--- Where batches come from: what `train.fit` takes as `data` and `valid`.
--
-- A **loader** is an object with the method `batches`: `for batch in
-- loader:batches() do` goes through one epoch. It may have `state_dict()`,
-- a table of numbers, texts and lists that tells the place inside an epoch too,
-- and `load_state_dict(state)`: the `batches()` after that goes on behind the
-- last batch that had been given out when the state was taken, which may be the
-- epoch's last one. `#loader`, if it has a length, is the batches of an epoch.
--
-- Simpler sources do as well: a **list** of batches, the same in every epoch,
-- or a **function** of the number of the epoch that returns a list or an
-- iterator. A resumed run asks these for the epoch once more, with the random
-- generators as they were, and skips what it has had; so the order must hang on
-- nothing else, and be drawn before the first batch is given out.
--
-- An iterator may give several values a batch; `loss` gets them all.

local check = require "heed.check"

local loader = {}

local function is_loader(data)
  return type(data) == "table" and type(data.batches) == "function"
end

--- Raises unless the value can give batches.
function loader.check(func, name, data)
  if type(data) == "function" or is_loader(data) then return data end
  local items = type(data) == "table" and type(data.get) == "function"
  if type(data) == "table" and #data > 0 and not items then return data end
  check.fail("%s: %s must be a loader, a list of batches or a function that " ..
    "returns them, got %s", func, name,
    items and check.show(data) .. "; heed.data.DataLoader makes batches of it"
    or type(data) == "table" and "a table without batches" or check.show(data))
end

--- Does the source know its place by itself?
function loader.has_state(data)
  return is_loader(data) and type(data.state_dict) == "function" and
    type(data.load_state_dict) == "function"
end

--- How many batches an epoch has; nil when that is not known.
function loader.length(data)
  if type(data) ~= "table" then return nil end
  if is_loader(data) then
    local meta = getmetatable(data)
    return type(meta) == "table" and meta.__len and #data or nil
  end
  return #data
end

local function open_list(list)
  local i = 0
  return function()
    i = i + 1
    return list[i]
  end
end

--- Opens an epoch.
-- @param data source
-- @tparam integer epoch its number
-- @treturn function gives the values of the next batch, nothing at the end
-- @return a value to be closed, or nil
-- @return how many batches there are, or nil when that is not known
function loader.open(data, epoch)
  if not is_loader(data) and type(data) == "table" then
    return open_list(data), nil, #data
  end
  local f, s, control, closing
  if is_loader(data) then
    f, s, control, closing = data:batches()
  else
    f, s, control, closing = data(epoch)
  end
  if type(f) == "table" and not (getmetatable(f) or {}).__call then
    return open_list(f), nil, #f
  end
  check.callable("fit", "what data returns", f)
  local function pass(first, ...)
    control = first
    return first, ...
  end
  return function() return pass(f(s, control)) end, closing,
    loader.length(data)
end

return loader
