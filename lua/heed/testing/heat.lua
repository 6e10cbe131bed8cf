--- Where two tensors differ, as a small heat map in text.
local check = require "heed.check"
local core = require "heed.core"
local values = require "heed.testing.values"

local ops <const> = core.ops

local ROWS <const>, COLUMNS <const> = 16, 24

-- The matrix of the last two dimensions that holds the largest distance, and
-- where it is: `[2 . .]`. Fewer dimensions are one row.
local function matrix_of(off)
  if off.ndim < 2 then return off:reshape(1, -1), "" end
  if off.ndim == 2 then return off, "" end
  local filled = off:masked_fill(off:isnan(), math.huge)
  local at = values.place(off.shape, filled:reshape(-1):argmax():item())
  for d = 1, off.ndim - 2 do off = off:select(1, at[d]) end
  for d = #at - 1, #at do at[d] = "." end
  return off, " at " .. check.shape(at)
end

-- The largest element of each block of `down` by `across`, as rows of numbers;
-- nan is larger than all.
local function blocks(m, down, across)
  local rows = {}
  for i = 1, m:size(1), down do
    local row = {}
    for j = 1, m:size(2), across do
      local block = m:narrow(1, i, math.min(down, m:size(1) - i + 1))
        :narrow(2, j, math.min(across, m:size(2) - j + 1))
      row[#row + 1] = block:max():item()
    end
    rows[#rows + 1] = row
  end
  return rows
end

-- The numbers of the first row or column of each block.
local function labels(size, step)
  local list = {}
  for i = 1, size, step do list[#list + 1] = tostring(i) end
  return list
end

--- Returns the distances between two tensors as a map, larger ones in blocks
-- that show their largest; nil for a single number.
-- @tparam tensor off float64, not negative; NaN and infinity are crosses
-- @treturn ?string lines
return function(off)
  if off:numel() < 2 then return nil end
  off = ops.where(off:isinf(), 0 / 0, off)
  local m, where = matrix_of(off)
  local down = math.ceil(m:size(1) / ROWS)
  local across = math.ceil(m:size(2) / COLUMNS)
  local each = (down > 1 or across > 1)
    and (", the largest of each %d by %d"):format(down, across) or ""
  local plot = require "heed.plot" -- loads much
  return plot.render(blocks(m, down, across), {
    title = "|got - want|" .. where .. each, color = false, width = 100,
    row_labels = labels(m:size(1), down),
    col_labels = labels(m:size(2), across),
    vmin = 0,
  }):gsub("\n$", "")
end
