--- A field of characters to draw on: lines of braille dots, two across and four
-- down in each character, where the terminal has Unicode, else characters.
-- Places are parts of the field: 0 to 1 from the left, 0 to 1 from below.
local style = require "heed.plot.style"

local dots = {}
dots.__index = dots

-- The bit of each dot of a braille character: [row][column]; the character is
-- U+2800 plus the bits of its dots.
local bits <const> = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

local eighths_utf8 <const> = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

--- Returns an empty field.
-- @tparam integer columns of characters
-- @tparam integer rows
-- @tparam boolean is_utf8 whether there is braille
-- @treturn table an object with the methods below
function dots.new(columns, rows, is_utf8)
  return setmetatable({
    columns = columns, rows = rows, utf8 = is_utf8,
    across = is_utf8 and 2 or 1, down = is_utf8 and 4 or 1,
    mask = {}, owner = {}, char = {}, seen = {},
  }, dots)
end

--- Returns the row of characters, from 1 at the top, of a place.
function dots:row(y)
  local down = self.rows * self.down
  return self.rows - math.min(y * down // 1, down - 1) // self.down
end

--- Returns the column of characters, from 1, of a place.
function dots:column(x)
  local across = self.columns * self.across
  return math.min(x * across // 1, across - 1) // self.across + 1
end

-- Sets one dot, counted from 0 at the top left, for series k.
function dots:set(x, y, k)
  local row, column = y // self.down, x // self.across
  local cell = row * self.columns + column + 1 | 0
  local bit = bits[y % self.down + 1 | 0][x % self.across + 1 | 0]
  self.mask[cell] = (self.mask[cell] or 0) | bit
  self.owner[cell] = k
  local seen = self.seen[k]
  if not seen then
    seen = {}
    self.seen[k] = seen
  end
  seen[column + 1 | 0] = seen[column + 1 | 0] or cell
end

-- The dot at a place, counted from 0 at the top left.
function dots:at(x, y)
  local across, down = self.columns * self.across, self.rows * self.down
  return math.min(x * across // 1, across - 1),
    down - 1 - math.min(y * down // 1, down - 1)
end

--- Draws a line through places, for series k.
-- @tparam {number,...} piece x1, y1, x2, y2, ...
-- @tparam integer k
function dots:line(piece, k)
  local x0, y0 = self:at(piece[1], piece[2])
  self:set(x0, y0, k)
  for i = 3, #piece, 2 do
    local x1, y1 = self:at(piece[i], piece[i + 1])
    local steps = math.max(math.abs(x1 - x0), math.abs(y1 - y0))
    for step = 1, steps do
      local part = step / steps
      self:set((x0 + part * (x1 - x0) + 0.5) // 1,
        (y0 + part * (y1 - y0) + 0.5) // 1, k)
    end
    x0, y0 = x1, y1
  end
end

--- Draws a point for series k: a dot, or a character.
function dots:point(x, y, k, char)
  local dot_x, dot_y = self:at(x, y)
  self:set(dot_x, dot_y, k)
  if char then
    local cell = dot_y // self.down * self.columns + dot_x // self.across + 1
    self.char[cell | 0] = char
  end
end

--- Fills a column from below up to a place, to an eighth of a character.
-- @tparam integer column from 1
-- @tparam number y
-- @tparam integer k
function dots:fill(column, y, k)
  local eighths = math.floor(y * self.rows * 8 + 0.5)
  if y > 0 then eighths = math.max(eighths, 1) end
  for row = self.rows, 1, -1 do
    if eighths <= 0 then break end
    local cell = (row - 1) * self.columns + column
    if self.utf8 then
      self.char[cell] = eighths_utf8[math.min(eighths, 8)]
    elseif eighths >= 4 or row == self.rows then
      self.char[cell] = eighths >= 4 and "#" or "."
    end
    self.owner[cell] = k
    eighths = eighths - 8
  end
end

-- The cell of series k nearest to a column where its letter can stand: where
-- no letter is, and if there is such one, where no other series was drawn last.
function dots:free_cell(k, column, reach)
  for _, own in ipairs {true, false} do
    for away = 0, reach do
      for side = -1, 1, 2 do
        local cell = self.seen[k][column + side * away]
        if cell and not self.char[cell]
          and (not own or self.owner[cell] == k) then
          return cell
        end
      end
    end
  end
end

--- Puts the letters of the series onto their lines, now and then. Where there
-- is no braille the whole line consists of them.
-- @tparam integer count of series
function dots:letters(count)
  if not self.utf8 then
    for cell in pairs(self.mask) do
      self.char[cell] = self.char[cell] or style.letter(self.owner[cell])
    end
    return
  end
  local distance = math.min(self.columns, math.max(18, 3 * count))
  for k = 1, count do
    local column, placed = (k - 0.5) / count * distance // 1 + 1 | 0, false
    while self.seen[k] and column <= self.columns do
      local cell = self:free_cell(k, column, distance // 3)
      if cell then
        self.char[cell], self.owner[cell] = style.letter(k), k
        placed = true
      end
      column = column + distance
    end
    local cell = self.seen[k] and not placed
      and self:free_cell(k, self.columns // 2, self.columns)
    if cell then self.char[cell], self.owner[cell] = style.letter(k), k end
  end
end

--- Returns the rows as texts of equal width.
-- @tparam function paint gives the text of (text, k), with colour
-- @treturn {string,...}
function dots:lines(paint)
  local out = {}
  for row = 1, self.rows do
    local line = {}
    for column = 1, self.columns do
      local cell = (row - 1) * self.columns + column
      local mask = self.mask[cell]
      local char = self.char[cell] or mask
        and (self.utf8 and utf8.char(0x2800 + mask) or "*")
      line[column] = char and paint(char, self.owner[cell]) or " "
    end
    out[row] = table.concat(line)
  end
  return out
end

return dots
