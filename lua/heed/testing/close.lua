--- Comparison within a tolerance, and the message about what is not.
--
-- An element is close when it equals the one wanted, or
--
--     |got - want| <= atol + rtol * |want|
local check = require "heed.check"
local core = require "heed.core"
local values = require "heed.testing.values"

local ops <const> = core.ops

local close = {}

-- {rtol, atol} by dtype: those of torch.testing.assert_close, so that a test
-- carried over from Python passes and fails alike. They allow a float about
-- ten roundings in a row, a half one or two.
local TOLERANCES <const> = {
  float16 = {1e-3, 1e-5}, bfloat16 = {1.6e-2, 1e-5},
  float32 = {1.3e-6, 1e-5}, float64 = {1e-7, 1e-7},
}

local KNOWN <const> = {
  rtol = check.NONE, atol = check.NONE, equal_nan = false, check_dtype = true,
  shown = 5,
}

--- Returns the default tolerance of a comparison: the wider one of the two
-- dtypes, none for integers and booleans.
-- @tparam string dtype
-- @tparam[opt] string other
-- @treturn number rtol
-- @treturn number atol
function close.tolerances(dtype, other)
  local a, b = TOLERANCES[dtype] or {0, 0}, TOLERANCES[other] or {0, 0}
  return math.max(a[1], b[1]), math.max(a[2], b[2])
end

--- Checks the options of a comparison.
function close.options(func, options)
  local o = check.options(func, options, KNOWN)
  if o.rtol then check.number(func, "rtol", o.rtol, 0) end
  if o.atol then check.number(func, "atol", o.atol, 0) end
  o.shown = check.integer(func, "shown", o.shown, 0)
  return o
end

-- A list takes the dtype's tolerance of the tensor beside it; two lists are
-- float64.
local function tolerance(o, a, b)
  if o.rtol or o.atol then return o.rtol or 0, o.atol or 0 end
  if a.given and b.given then
    return close.tolerances(a.t.dtype, b.t.dtype)
  end
  return close.tolerances((a.given and a or b).t.dtype)
end

-- Both sides in a dtype that holds all their values.
local function widen(a, b)
  if values.is_float(a.dtype) or values.is_float(b.dtype) then
    return a:to("float64"), b:to("float64")
  end
  return a:to("int64"), b:to("int64")
end

-- How far apart, in float64. Integers are taken from each other as such, where
-- that does not overflow.
local function distance(a, b)
  local off = (a:to("float64") - b:to("float64")):abs()
  if a.dtype == "float64" then return off end
  return ops.where(off:lt(2.0 ^ 52), (a - b):abs():to("float64"), off)
end

-- What differs: a mask, how far apart, by how much that is too far.
local function compare(a, b, rtol, atol, equal_nan)
  local off = distance(a, b)
  local over = off - (b:to("float64"):abs() * rtol + atol)
  local same = a:eq(b)
  local nan_a, nan_b = a:ne(a), b:ne(b)
  local both, either =
    ops.logical_and(nan_a, nan_b), ops.logical_or(nan_a, nan_b)
  if equal_nan then same = ops.logical_or(same, both) end
  local infinite = ops.logical_or(a:isinf(), b:isinf())
  local far = ops.logical_or(over:gt(0), ops.logical_or(either, infinite))
  far = ops.logical_and(far, ops.logical_not(same))
  return {mask = far, off = off, over = over, nan_a = nan_a, nan_b = nan_b,
    both = both}
end

local function first_place(mask, shape)
  return check.shape(values.place(shape, values.positions(mask, 1)[1]))
end

local function mask_count(mask) return mask:sum():item() end

-- Lines about NaN: those of one side only, and those in one place.
local function nan_lines(found, shape, equal_nan, lines)
  for _, side in ipairs {{"got", found.nan_a}, {"want", found.nan_b}} do
    local alone = ops.logical_and(side[2], ops.logical_not(found.both))
    local n = mask_count(alone)
    if n > 0 then
      lines[#lines + 1] = ("  NaN only in %s: %s, first at %s"):format(side[1],
        values.count(n, "place"), first_place(alone, shape))
    end
  end
  local n = mask_count(found.both)
  if n > 0 and not equal_nan then
    lines[#lines + 1] = ("  NaN in both: %s, first at %s"
      .. " (equal_nan = true takes them as equal)"):format(
      values.count(n, "place"), first_place(found.both, shape))
  end
end

-- The place that is the farthest over the tolerance; what is no number is
-- farther than every number.
local function worst_of(found)
  local over = found.over:reshape(-1)
  local mask = found.mask:reshape(-1)
  local odd = ops.logical_and(mask, ops.logical_not(over:isfinite()))
  if odd:any():item() then return values.positions(odd, 1)[1] end
  return over:masked_fill(ops.logical_not(mask), -math.huge):argmax():item()
end

local function dtype_of(side)
  return side.given and side.t.dtype or "float64"
end

-- The first differences, a row each.
local function table_lines(a, b, found, shape, shown, lines)
  local at, count = values.positions(found.mask, shown)
  local rows = {{"place", "got", "want", "off by"}}
  for k = 1, #at do
    rows[k + 1] = {
      check.shape(values.place(shape, at[k])),
      values.number(values.at(a.t, at[k]), dtype_of(a)),
      values.number(values.at(b.t, at[k]), dtype_of(b)),
      values.short(values.at(found.off, at[k])),
    }
  end
  if #rows == 1 then return end
  table.move(values.columns(rows, "  "), 1, #rows, #lines + 1, lines)
  if count > shown then
    lines[#lines + 1] = ("  and %d more"):format(count - shown)
  end
end

local function describe(side)
  return ("%s %s"):format(side.given and side.t.dtype or "list",
    check.shape(side.t.shape))
end

local function worst_line(a, b, found, shape)
  local n = worst_of(found)
  local line = ("  worst at %s: got %s, want %s"):format(
    check.shape(values.place(shape, n)),
    values.number(values.at(a.t, n), dtype_of(a)),
    values.number(values.at(b.t, n), dtype_of(b)))
  local over = values.at(found.over, n)
  if over - over ~= 0 then return line end -- not finite
  return line .. (", %s over the tolerance"):format(values.short(over))
end

-- The message about what `compare` found.
local function explain(func, a, b, found, rtol, atol, o)
  local shape <const> = b.t.shape
  local lines = {
    ("%s: %d of %s %s"):format(func, mask_count(found.mask),
      values.count(b.t:numel(), "element"),
      b.t:numel() == 1 and "differs" or "differ"),
    "  got " .. describe(a) .. ", want " .. describe(b),
    worst_line(a, b, found, shape),
    rtol == 0 and ("  tolerance %g"):format(atol)
      or ("  tolerance %g + %g * |want|"):format(atol, rtol),
  }
  nan_lines(found, shape, o.equal_nan, lines)
  table_lines(a, b, found, shape, o.shown, lines)
  return table.concat(lines, "\n")
end

-- Why two values cannot be compared at all, or nil.
local function mismatch(func, a, b, o)
  if check.shape(a.t.shape) ~= check.shape(b.t.shape) then
    return ("%s: the shapes differ\n  got %s, want %s"):format(func,
      describe(a), describe(b))
  end
  if o.check_dtype and a.given and b.given and a.t.dtype ~= b.t.dtype then
    return ("%s: the dtypes differ (check_dtype = false compares the "
      .. "values)\n  got %s, want %s"):format(func, describe(a), describe(b))
  end
end

-- Compares two single values, `what` being the start of the message.
local function compare_one(func, what, got, want, o)
  local a, b = {}, {}
  a.t, a.given = values.read(func, "got", got)
  b.t, b.given = values.read(func, "want", want)
  local text = mismatch(what, a, b, o)
  if text then return false, text end
  if a.t.dtype == b.t.dtype and a.t:eq(b.t):all():item() then return true end
  local rtol, atol = tolerance(o, a, b)
  local wide_a, wide_b = widen(a.t, b.t)
  local found = core.no_grad(compare, wide_a, wide_b, rtol, atol, o.equal_nan)
  if not found.mask:any():item() then return true end
  return false, explain(what, a, b, found, rtol, atol, o), found.off
end

local compare_any

-- Compares tables of tensors, key by key; the message has all that differ.
local function compare_tables(func, what, got, want, o)
  local texts, union = {}, {}
  for key in next, got do union[key] = true end
  for key in next, want do union[key] = true end
  for _, key in ipairs(values.keys(union)) do
    local name = ("%s: %s"):format(what, values.key(key))
    if got[key] == nil then
      texts[#texts + 1] = name .. ": missing"
    elseif want[key] == nil then
      texts[#texts + 1] = name .. ": not wanted"
    else
      local ok, text = compare_any(func, name, got[key], want[key], o)
      if not ok then texts[#texts + 1] = text end
    end
  end
  if #texts == 0 then return true end
  return false, table.concat(texts, "\n")
end

function compare_any(func, what, got, want, o)
  local tables = type(got) == "table" and type(want) == "table"
  if tables and (values.has_tensor(got) or values.has_tensor(want)) then
    return compare_tables(func, what, got, want, o)
  end
  return compare_one(func, what, got, want, o)
end

--- Compares two values, or tables of tensors; see `testing.tensors_close`.
-- @tparam string func who asks, for messages
-- @param got
-- @param want
-- @tparam[opt] table options
-- @tparam[opt=func] string what the start of the message
-- @return true; or false, a message and, of single values of one shape, how far
-- apart their elements are, in float64
function close.compare(func, got, want, options, what)
  return compare_any(func, what or func, got, want,
    close.options(func, options))
end

return close
