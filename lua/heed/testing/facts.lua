--- Shape, dtype and finite numbers of one value.
local check = require "heed.check"
local core = require "heed.core"
local values = require "heed.testing.values"

local facts = {}

-- Why `shape` does not fit `want`, or nil. Names stand for a size that is the
-- same wherever they do.
local function shape_fault(shape, want)
  if #shape ~= #want then
    return ("%s instead of %d"):format(values.count(#shape, "dimension"),
      #want)
  end
  local named = {}
  for d, size in ipairs(want) do
    local wanted = size
    if type(size) == "string" then
      wanted = named[size] or shape[d]
      named[size] = wanted
    elseif size == -1 then
      wanted = shape[d]
    end
    if shape[d] ~= wanted then
      local name = wanted ~= size and (", which is %s"):format(size) or ""
      return ("dimension %d is %d instead of %d%s"):format(d, shape[d],
        wanted, name)
    end
  end
end

local function check_shape(want)
  if type(want) ~= "table" then
    check.fail("has_shape: shape must be a list of sizes, got %s",
      check.show(want))
  end
  for d, size in ipairs(want) do
    local n = math.type(size) and math.tointeger(size)
    if type(size) ~= "string" and not (n and n >= -1) then
      check.fail("has_shape: shape[%d] must be a size, -1 or a name, got %s",
        d, check.show(size))
    end
  end
end

--- See `testing.has_shape`.
function facts.has_shape(x, want)
  check_shape(want)
  local t = values.read("has_shape", "x", x)
  local fault = shape_fault(t.shape, want)
  if not fault then return true end
  return false, ("has_shape: got %s, want %s: %s"):format(
    check.shape(t.shape), check.shape(want), fault)
end

--- See `testing.has_dtype`.
function facts.has_dtype(x, want)
  check.tensor("has_dtype", "x", x)
  check.kind("has_dtype", "dtype", want, "string")
  if x.dtype == want then return true end
  return false, ("has_dtype: got %s %s, want %s"):format(x.dtype,
    check.shape(x.shape), want)
end

-- One line about what is not finite in a tensor, or nil.
local function odd_line(t, name)
  if not values.is_float(t.dtype) then return nil end
  local odd = t:isfinite():logical_not()
  local n = odd:sum():item()
  if n == 0 then return nil end
  local nan = t:isnan():sum():item()
  local up = t:eq(math.huge):sum():item()
  local first = values.positions(odd, 1)[1]
  return ("%s%s %s: %d of %d are not finite (%d nan, %d inf, %d -inf), "
    .. "first %s at %s"):format(name ~= "" and name .. ": " or "", t.dtype,
    check.shape(t.shape), n, t:numel(), nan, up, n - nan - up,
    values.number(values.at(t, first), t.dtype),
    check.shape(values.place(t.shape, first)))
end

--- See `testing.finite`.
function facts.finite(x)
  local lines = {}
  if not values.has_tensor(x) then x = values.read("finite", "x", x) end
  core.no_grad(values.each, x, function(t, name)
    lines[#lines + 1] = odd_line(t:detach(), name)
  end)
  if #lines == 0 then return true end
  if #lines == 1 then return false, "finite: " .. lines[1] end
  return false, ("finite: %d tensors are not\n  "):format(#lines)
    .. table.concat(lines, "\n  ")
end

return facts
