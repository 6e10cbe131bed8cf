--- What a function gives, remembered.
--
-- At most two generations of so many are kept. When one is full, the one before
-- it is forgotten; what is in use moves on to the new one.

--- Returns a function of a string that calls `f` only for what it does not
-- remember; results are shared, and must not be changed.
-- @tparam function f
-- @tparam integer most strings of a generation
-- @tparam integer longest no longer string is remembered, in bytes
return function(f, most, longest)
  local fresh, stale, n = {}, {}, 0
  return function(key)
    local value = fresh[key]
    if value then return value end
    value = stale[key] or f(key)
    if #key <= longest then
      if n == most then fresh, stale, n = {}, fresh, 0 end
      fresh[key], n = value, n + 1
    end
    return value
  end
end
