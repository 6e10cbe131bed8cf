--- Strict globals, as `heed --strict` has them: reading a global that was never
-- set is an error, and so is setting a new one inside a function. At the outer
-- level of a chunk a global may be set, to nil too, and is known from then on.
-- `rawget(_G, name)` asks without an error.

local strict = {}

local known <const> = {}

-- Is the code that sets a global the outer level of a chunk, or C?
local function is_outside()
  local info <const> = debug.getinfo(3, "S")
  return info == nil or info.what ~= "Lua"
end

local function place()
  local info <const> = debug.getinfo(3, "Sl")
  return info and info.currentline > 0
    and ("%s:%d: "):format(info.short_src, info.currentline) or ""
end

--- Makes the globals of this state strict, for good.
-- @treturn boolean true
-- @raise if they have a metatable already
function strict.start()
  if debug.getmetatable(_G) then
    error("strict: the globals have a metatable already", 0)
  end
  setmetatable(_G, {
    __index = function(_, name)
      if known[name] then return nil end
      error(("%sstrict: there is no global %s"):format(place(),
        tostring(name)), 0)
    end,
    __newindex = function(globals, name, value)
      if not known[name] and not is_outside() then
        error(("%sstrict: the new global %s is set inside a function; is it "
          .. "to be local?"):format(place(), tostring(name)), 0)
      end
      known[name] = true
      rawset(globals, name, value)
    end,
  })
  return true
end

return strict
