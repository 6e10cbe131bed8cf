--- The matrix behind a picture: read from tables or tensors, checked, scaled.
local check = require "heed.check"
local width = require "heed.plot.width"

local matrix = {}

--- Returns an object with a `totable` method (a tensor) as nested tables,
-- everything else, a closed tensor too, as it is.
function matrix.plain(value)
  if check.is_tensor(value) then return value:totable() end
  if type(value) == "userdata" then return value end
  local can_index, method = pcall(function() return value.totable end)
  if can_index and type(value) ~= "string" and type(method) == "function" then
    return method(value)
  end
  return value
end

local plain <const> = matrix.plain

-- One element as a float; booleans (masks) are drawn as 0 and 1.
local function element(op, name, value, i, j)
  if value == true then return 1.0 end
  if value == false then return 0.0 end
  if type(value) ~= "number" then
    check.fail("%s: %s element [%d][%d] must be a number, got %s", op, name, i,
      j, check.show(value))
  end
  return value + 0.0
end

local function read_row(op, name, m, i, row)
  if type(row) ~= "table" then
    check.fail("%s: %s row %d must be a table of numbers, got %s", op, name, i,
      check.show(row))
  end
  if i == 1 then m.cols = #row end
  if #row ~= m.cols then
    check.fail("%s: %s row %d must have %d values as row 1, got %d", op, name,
      i, m.cols, #row)
  end
  m[i] = {}
  for j = 1, m.cols do
    local number = element(op, name, row[j], i, j)
    m[i][j] = number
    if number ~= number then m.nan = m.nan + 1 end
  end
end

--- Returns a checked copy of a matrix: `m[i][j]`, with the sizes in `m.rows`
-- and `m.cols` and the count of elements that are not a number in `m.nan`.
-- @tparam string op what the user called, for messages
-- @param value a table of rows of numbers or booleans, or an object whose
--   `totable` method gives one, as a tensor `[rows cols]` does
-- @tparam[opt="matrix"] string name what the user calls it
-- @treturn table
-- @raise if this is no matrix, has no element or has rows of unequal length
function matrix.read(op, value, name)
  name = name or "matrix"
  local source = plain(value)
  if type(source) ~= "table" or check.is_tensor(value) and value.ndim ~= 2 then
    check.fail("%s: %s must be a table of rows or a tensor [rows cols], "
      .. "got %s", op, name, check.show(value))
  end
  if #source == 0 then check.fail("%s: %s has no rows", op, name) end
  local m = {rows = #source, cols = 0, nan = 0}
  for i = 1, m.rows do read_row(op, name, m, i, plain(source[i])) end
  if m.cols == 0 then
    check.fail("%s: %s [%d 0] has no columns", op, name, m.rows)
  end
  return m
end

local deepest <const> = 8 -- more than any picture has; a table may hold itself

--- Returns how many dimensions a value has: of nested tables their depth along
-- the first items, where numbers and booleans count 0.
-- @param value anything
-- @tparam[opt=1] integer level how deep it lies itself
-- @treturn integer
function matrix.depth(value, level)
  level = level or 1
  if check.is_tensor(value) then return value.ndim end
  local source = plain(value)
  if type(source) ~= "table" then return 0 end
  if source[1] == nil or level == deepest then return 1 end
  return 1 + matrix.depth(source[1], level + 1)
end

local function wrap(list, columns)
  local rows = {}
  for k, item in ipairs(list) do
    local row = (k - 1) // columns + 1
    rows[row] = rows[row] or {}
    table.insert(rows[row], item)
  end
  return rows
end

local function items(value)
  local list = {}
  for k = 1, #value do list[k] = value[k] end
  return list
end

--- Returns a checked copy of a grid of matrices as rows of what `read` gives,
-- with the length of the longest in `columns`.
-- @tparam string op what the user called, for messages
-- @param value a tensor `[R C rows cols]` or `[C rows cols]`; a list of
--   matrices, or a list of such lists
-- @tparam ?integer columns after how many a list of matrices goes on in the
--   next row; nil: never
-- @treturn {{table,...},...}
-- @raise if this is no grid, or as `read`
function matrix.grid(op, value, columns)
  local dims = matrix.depth(value)
  if dims > 0 and #value == 0 then check.fail("%s: grid has no matrix", op) end
  if dims ~= 3 and dims ~= 4 then
    check.fail("%s: grid must be a tensor [R C rows cols] or [C rows cols], "
      .. "or a table of rows of matrices, got %s", op, check.show(value))
  end
  if columns then check.integer(op, "columns", columns, 1) end
  if columns and dims == 4 then
    check.fail("%s: columns is for a list of matrices, but grid has rows", op)
  end
  local rows = dims == 3 and wrap(items(value), columns or #value)
    or items(value)
  local grid = {columns = 0}
  for r, row in ipairs(rows) do
    grid[r] = {}
    for c = 1, #row do
      local place = dims == 4 and ("grid[%d][%d]"):format(r, c)
        or ("grid[%d]"):format((r - 1) * (columns or 0) + c)
      grid[r][c] = matrix.read(op, row[c], place)
    end
    if #row == 0 then check.fail("%s: grid[%d] has no matrix", op, r) end
    grid.columns = math.max(grid.columns, #row)
  end
  return grid
end

--- Returns an iterator over all elements of some matrices.
-- @tparam {table,...} list of what `read` gives
-- @treturn function
function matrix.each(list)
  local k, i, j = 1, 1, 0
  return function()
    local m = list[k]
    j = j + 1
    if m and j > m.cols then i, j = i + 1, 1 end
    if m and i > m.rows then
      k, i = k + 1, 1
      m = list[k]
    end
    return m and m[i][j]
  end
end

--- Returns what the colours of some matrices span: the least and the greatest
-- finite element, or the limits given. Both are 0 if no element is finite.
-- @tparam string op what the user called
-- @tparam {table,...} list of what `read` gives
-- @tparam ?number low the lower limit
-- @tparam ?number high the upper limit
-- @treturn number low
-- @treturn number high, never below low
-- @treturn integer how many elements lie below low
-- @treturn integer how many lie above high
-- @raise unless low is below high and both are finite
function matrix.range(op, list, low, high)
  for name, limit in pairs {vmin = low or 0, vmax = high or 0} do
    if limit - limit ~= 0 then
      check.fail("%s: %s must be finite, got %s", op, name, check.show(limit))
    end
  end
  if low and high and low >= high then
    check.fail("%s: vmin %s must be below vmax %s", op, low, high)
  end
  local least, greatest = math.huge, -math.huge
  for number in matrix.each(list) do
    if number - number == 0 then -- finite
      least = math.min(least, number)
      greatest = math.max(greatest, number)
    end
  end
  if least > greatest then least, greatest = low or high or 0, high or 0 end
  low = low or high and math.min(least, high) or least
  high = high or math.max(greatest, low)

  local below, above = 0, 0
  for number in matrix.each(list) do
    if number < low then below = below + 1 end
    if number > high then above = above + 1 end
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
  if list == true then
    check.fail("%s: %s must be a table or false, got true", op, name)
  end
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
