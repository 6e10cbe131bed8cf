--- The curve of a series as what can be seen of it: cut at the edges of the
-- chart, and thinned to a few points for each column of pixels.
-- Places are parts of the chart: 0 to 1 from the left, 0 to 1 from below.
local curve = {}

--- Returns the part of a segment inside the unit square, after Y. Liang and
-- B. Barsky (ACM Transactions on Graphics 3, 1984); nil if none is.
-- @tparam number x0
-- @tparam number y0
-- @tparam number x1
-- @tparam number y1
-- @treturn ?number x0, y0, x1, y1 of the part
function curve.clip(x0, y0, x1, y1)
  local from, to = 0.0, 1.0
  local function cut(direction, distance)
    if direction == 0 then return distance >= 0 end
    local at = distance / direction
    if direction < 0 then
      if at > to then return false end
      if at > from then from = at end
    else
      if at < from then return false end
      if at < to then to = at end
    end
    return true
  end
  local dx, dy = x1 - x0, y1 - y0
  if not (cut(-dx, x0) and cut(dx, 1 - x0) and cut(-dy, y0)
    and cut(dy, 1 - y0)) then
    return nil
  end
  return x0 + from * dx, y0 + from * dy, x0 + to * dx, y0 + to * dy
end

local function is_inside(x, y)
  return x >= 0 and x <= 1 and y >= 0 and y <= 1
end

-- Collects the points of a curve in `pieces`. Of neighbours in one column the
-- first, the lowest, the highest and the last stay: they cover the same pixels
-- (M4; U. Jugel, Z. Jerzak, G. Hackenbroich, V. Markl: "M4: A Visualization-
-- Oriented Time Series Data Aggregation", VLDB 2014).
local function new_thinner(columns)
  local pieces, piece = {}, nil
  local column, count = nil, 0
  local first_x, first_y, last_x, last_y
  local low_x, low_y, low_at, high_x, high_y, high_at

  local function emit(x, y)
    local n = #piece
    if n > 0 and piece[n - 1] == x and piece[n] == y then return end
    piece[n + 1], piece[n + 2] = x, y
  end
  local function flush()
    if count == 0 then return end
    emit(first_x, first_y)
    if low_at < high_at then
      emit(low_x, low_y)
      emit(high_x, high_y)
    else
      emit(high_x, high_y)
      emit(low_x, low_y)
    end
    emit(last_x, last_y)
    count = 0
  end

  local self = {pieces = pieces}
  function self.start() -- the next point is not joined to the last one
    flush()
    piece, column = nil, nil
  end
  function self.add(x, y)
    if not piece then
      piece = {}
      pieces[#pieces + 1] = piece
    end
    local at = x * columns // 1
    if at ~= column then
      flush()
      column = at
    end
    count = count + 1
    if count == 1 then
      first_x, first_y = x, y
      low_x, low_y, low_at, high_x, high_y, high_at = x, y, 1, x, y, 1
    elseif y < low_y then
      low_x, low_y, low_at = x, y, count
    elseif y > high_y then
      high_x, high_y, high_at = x, y, count
    end
    last_x, last_y = x, y
  end
  return self
end

--- Returns the lines to draw for a series, in pieces: a gap is where a number
-- has no place, and where the curve leaves the chart. A piece of one point is
-- a number between two gaps.
-- @tparam {number,...} xs
-- @tparam {number,...} ys
-- @tparam function x_place from `axis:placer`
-- @tparam function y_place
-- @tparam integer columns of pixels
-- @treturn {{number,...},...} x1, y1, x2, y2, ... for each piece
function curve.pieces(xs, ys, x_place, y_place, columns)
  local out = new_thinner(columns)
  local old_x, old_y, joined -- joined: the thinner's last point is the old one
  for i = 1, #ys do
    local x, y = x_place(xs[i]), y_place(ys[i])
    if not (x and y) then
      out.start()
      old_x, joined = nil, false
    elseif is_inside(x, y) and (joined or not old_x) then
      out.add(x, y)
      old_x, old_y, joined = x, y, true
    else
      if old_x then
        local x0, y0, x1, y1 = curve.clip(old_x, old_y, x, y)
        if x0 then
          if not joined then
            out.start()
            out.add(x0, y0)
          end
          out.add(x1, y1)
        end
      end
      old_x, old_y, joined = x, y, is_inside(x, y)
      if not joined then out.start() end
    end
  end
  out.start()
  return out.pieces
end

--- Returns the points to draw for a series: those inside the chart, of several
-- that fall together one.
-- @tparam {number,...} xs
-- @tparam {number,...} ys
-- @tparam function x_place from `axis:placer`
-- @tparam function y_place
-- @tparam integer columns in which points are told apart
-- @tparam integer rows
-- @treturn {number,...} x1, y1, x2, y2, ...
function curve.points(xs, ys, x_place, y_place, columns, rows)
  local out, taken = {}, {}
  for i = 1, #ys do
    local x, y = x_place(xs[i]), y_place(ys[i])
    if x and y and is_inside(x, y) then
      local cell = (x * columns // 1) * (rows + 1) + y * rows // 1
      if not taken[cell] then
        taken[cell] = true
        out[#out + 1] = x
        out[#out + 1] = y
      end
    end
  end
  return out
end

return curve
