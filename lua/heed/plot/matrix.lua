--- The matrix behind a picture: read from tables or tensors, checked, scaled.
local check = require "heed.check"
local width = require "heed.plot.width"

local matrix = {}

--- Returns a tensor as nested tables, everything else as it is.
function matrix.plain(value)
  local can_index, method = pcall(function() return value.totable end)
  if can_index and type(value) ~= "string" and type(method) == "function" then
    return method(value)
  end
  return value
end

local plain <const> = matrix.plain

-- One element as a float; booleans (masks) are drawn as 0 and 1.
local function element(op, value, i, j)
  if value == true then return 1.0 end
  if value == false then return 0.0 end
  if type(value) ~= "number" then
    check.fail("%s: matrix element [%d][%d] must be a number, got %s", op, i, j,
      check.show(value))
  end
  return value + 0.0
end

--- Returns a checked copy of a matrix: `m[i][j]`, with the sizes in `m.rows`
-- and `m.cols` and the count of elements that are not a number in `m.nan`.
-- @tparam string op what the user called, for messages
-- @param value a table of rows of numbers or booleans, or an object whose
--   `totable` method gives one, as a tensor `[rows cols]` does
-- @treturn table
-- @raise if this is no matrix, has no element or has rows of unequal length
function matrix.read(op, value)
  local source = plain(value)
  if type(source) ~= "table" then
    check.fail("%s: matrix must be a table of rows or a tensor [rows cols], "
      .. "got %s", op, check.show(source))
  end
  if #source == 0 then check.fail("%s: matrix has no rows", op) end
  local m = {rows = #source, cols = 0, nan = 0}
  for i = 1, m.rows do
    local row = plain(source[i])
    if type(row) ~= "table" then
      check.fail("%s: matrix row %d must be a table of numbers, got %s", op, i,
        check.show(row))
    end
    if i == 1 then m.cols = #row end
    if #row ~= m.cols then
      check.fail("%s: matrix row %d must have %d values as row 1, got %d", op,
        i, m.cols, #row)
    end
    m[i] = {}
    for j = 1, m.cols do
      local number = element(op, row[j], i, j)
      m[i][j] = number
      if number ~= number then m.nan = m.nan + 1 end
    end
  end
  if m.cols == 0 then
    check.fail("%s: matrix [%d 0] has no columns", op, m.rows)
  end
  return m
end

--- Returns what the colours of a matrix span: the least and the greatest finite
-- element, or the limits given. Both are 0 if no element is finite.
-- @tparam string op what the user called
-- @tparam table m from `read`
-- @tparam ?number low the lower limit
-- @tparam ?number high the upper limit
-- @treturn number low
-- @treturn number high, never below low
-- @treturn integer how many elements lie below low
-- @treturn integer how many lie above high
-- @raise unless low is below high and both are finite
function matrix.range(op, m, low, high)
  for name, limit in pairs {vmin = low or 0, vmax = high or 0} do
    if limit - limit ~= 0 then
      check.fail("%s: %s must be finite, got %s", op, name, check.show(limit))
    end
  end
  if low and high and low >= high then
    check.fail("%s: vmin %s must be below vmax %s", op, low, high)
  end
  local least, greatest = math.huge, -math.huge
  for i = 1, m.rows do
    for j = 1, m.cols do
      local number = m[i][j]
      if number - number == 0 then -- finite
        least = math.min(least, number)
        greatest = math.max(greatest, number)
      end
    end
  end
  if least > greatest then least, greatest = low or high or 0, high or 0 end
  low = low or high and math.min(least, high) or least
  high = high or math.max(greatest, low)

  local below, above = 0, 0
  for i = 1, m.rows do
    for j = 1, m.cols do
      if m[i][j] < low then below = below + 1 end
      if m[i][j] > high then above = above + 1 end
    end
  end
  return low, high, below, above
end

--- Returns where a number lies between two limits, 0 to 1: 0 below the lower
-- and 1 above the upper one, 0.5 where the limits are equal.
-- @tparam number number any number but NaN
-- @tparam number low
-- @tparam number high
-- @treturn number
function matrix.place(number, low, high)
  if number < low then return 0.0 end
  if number > high then return 1.0 end
  if low == high then return 0.5 end
  local span = high - low
  if span < math.huge then return (number - low) / span end
  return (number / 2 - low / 2) / (high / 2 - low / 2)
end

--- Returns the labels of one side as texts that print on one line.
-- @tparam string op what the user called
-- @tparam string name the option, `row_labels` or `col_labels`
-- @param list a table of strings or numbers; nil for 1, 2, ...; false for none
-- @tparam table m from `read`
-- @treturn {string,...}
-- @raise if there are more or fewer labels than rows (columns)
function matrix.labels(op, name, list, m)
  local count = name == "row_labels" and m.rows or m.cols
  local labels = {}
  if list and #list ~= count then
    check.fail("%s: %s must have %d entries for matrix [%d %d], got %d", op,
      name, count, m.rows, m.cols, #list)
  end
  for i = 1, count do
    local label = list == nil and i or list and list[i] or ""
    if type(label) ~= "string" and type(label) ~= "number" then
      check.fail("%s: %s[%d] must be a string or a number, got %s", op, name, i,
        check.show(label))
    end
    labels[i] = width.clean(tostring(label))
  end
  return labels
end

--- Returns two limits as short texts that differ if the limits do.
-- @tparam number low
-- @tparam number high
-- @treturn string
-- @treturn string
-- @usage matrix.numbers(0, 0.123456)  --> "0", "0.1235"
function matrix.numbers(low, high)
  for _, format in ipairs {"%.4g", "%.8g", "%.17g"} do
    local a, b = format:format(low + 0.0), format:format(high + 0.0)
    if a ~= b or low == high then return a, b end
  end
end

return matrix
