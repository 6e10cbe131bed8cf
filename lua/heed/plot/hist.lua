--- Histograms. Read `bins.lua` and `lines.lua` first.
local axis = require "heed.plot.axis"
local bins = require "heed.plot.bins"
local chart = require "heed.plot.chart"
local check = require "heed.check"
local output = require "heed.plot.output"
local series = require "heed.plot.series"
local style = require "heed.plot.style"
local text_chart = require "heed.plot.text_chart"

local hist = {}

local known <const> = {
  bins = "number|table", density = "boolean", xlim = "table", ylog = "boolean",
  title = "string", xlabel = "string", ylabel = "string", file = "any",
  width = "number", height = "number", color = "boolean", utf8 = "boolean",
}

local function is_list(value)
  return type(value) == "table" and not check.is_tensor(value)
end

-- The numbers of a list, or of a tensor of any shape; the finite ones, and
-- counts of the rest.
local function finite(op, name, value, missing)
  if check.is_tensor(value) and value.ndim ~= 1 then
    value = value:reshape(-1)
  end
  local out = {}
  for _, number in ipairs(series.numbers(op, name, value)) do
    if number ~= number then
      missing.nan = missing.nan + 1
    elseif number - number ~= 0 then
      missing.infinite = missing.infinite + 1
    else
      out[#out + 1] = number
    end
  end
  return out
end

-- One group: `numbers` and `label`.
local function read_group(op, name, item, missing)
  local label = ""
  if is_list(item) and type(next(item)) == "string" then
    for key in pairs(item) do
      if key ~= "values" and key ~= "label" then
        check.fail("%s: %s has the unknown key %s; known: label, values", op,
          name, check.show(key))
      end
    end
    label = item.label ~= nil and tostring(item.label) or ""
    item, name = item.values, name .. ".values"
  end
  return {numbers = finite(op, name, item, missing), label = label}
end

local function read(op, value, missing)
  local first = is_list(value) and value.values == nil and value[1]
  if not (is_list(first) or check.is_tensor(first)) then
    return {read_group(op, "values", value, missing)}
  end
  local out = {}
  for k = 1, #value do
    out[k] = read_group(op, ("values[%d]"):format(k), value[k], missing)
  end
  return out
end

local most_bins <const> = 10000 -- a slip shall not fill the memory

-- How many bins the user wants, nil for as many as fit.
local function wanted_bins(op, opts)
  if not opts.bins then return nil end
  local count = check.integer(op, "bins", opts.bins, 1)
  if count > most_bins then
    check.fail("%s: bins must be at most %d, got %d", op, most_bins, count)
  end
  return count
end

-- The edges for all groups.
local function edges_of(op, groups, opts)
  if type(opts.bins) == "table" then return bins.given(op, opts.bins) end
  local low, high = axis.limits(op, "xlim", opts.xlim, false)
  local all, least, greatest = {}, math.huge, -math.huge
  for _, group in ipairs(groups) do
    for _, number in ipairs(group.numbers) do
      if not (low and number < low or high and number > high) then
        all[#all + 1] = number
        if number < least then least = number end
        if number > greatest then greatest = number end
      end
    end
  end
  local span = axis.new(least, greatest, {low = low, high = high})
  local count = wanted_bins(op, opts)
    or least == greatest and 3 -- the one that is not empty in the middle
    or bins.count(all, least, greatest)
  return bins.edges(span.low, span.high, count)
end

local function note_of(missing)
  local parts = {}
  for _, name in ipairs {"nan", "infinite", "outside"} do
    if missing[name] > 0 then
      parts[#parts + 1] = missing[name] .. " "
        .. (name == "nan" and "NaN" or name)
    end
  end
  return #parts > 0 and "not drawn: " .. table.concat(parts, ", ") or ""
end

-- The heights of the groups, their greatest and the least above 0.
local function count_all(groups, edges, density, missing)
  local most, least = 0, math.huge
  for _, group in ipairs(groups) do
    local counts, outside = bins.fill(group.numbers, edges)
    missing.outside = missing.outside + outside
    local inside = #group.numbers - outside
    for i, count in ipairs(counts) do
      if density and count > 0 then
        count = count / inside / (edges[i + 1] - edges[i])
      end
      counts[i] = count
      most = math.max(most, count)
      if count > 0 then least = math.min(least, count) end
    end
    group.heights = counts
  end
  return most, least
end

-- The outlines of a group in places: one for each run of bins that are not
-- empty, from the base and back to it.
local function outlines(group, edges, x_place, y_place)
  local pieces, piece = {}, nil
  for i, height in ipairs(group.heights) do
    local y = height > 0 and y_place(height) or 0
    if y <= 0 then
      piece = nil
    else
      local left, right = x_place(edges[i]), x_place(edges[i + 1])
      if piece then
        piece[#piece] = nil -- the base of the last bin
        piece[#piece] = nil
      else
        piece = {left, 0}
        pieces[#pieces + 1] = piece
      end
      for _, place in ipairs {left, y, right, y, right, 0} do
        piece[#piece + 1] = place
      end
    end
  end
  return pieces
end

local function fill_group(picture, pieces, k, count)
  local alone = count == 1
  picture:areas(pieces,
    {color = style.color(k), opacity = alone and 1 or 0.25})
  if not alone then
    picture:path(pieces, {color = style.color(k), width = 1.6,
      dash = style.dash(k)})
  end
end

-- White lines between the bins of a single group, where they are wide enough.
local function separate(picture, group, edges, frame, x_place, y_place)
  local lines = {}
  for i = 2, #edges - 1 do
    local y = math.min(y_place(group.heights[i - 1]) or 0,
      y_place(group.heights[i]) or 0)
    local x = frame.x(x_place(edges[i]))
    if y > 0 and x - frame.x(x_place(edges[i - 1])) >= 5 then
      lines[#lines + 1] = {x, frame.y(0) - 1, x, frame.y(y)}
    end
  end
  picture:path(lines, {color = {255, 255, 255}, width = 0.8})
end

local function draw_picture(picture, frame, groups, edges, x_place, y_place)
  for k, group in ipairs(groups) do
    local pieces = outlines(group, edges, x_place, y_place)
    for _, piece in ipairs(pieces) do
      for i = 1, #piece, 2 do
        piece[i], piece[i + 1] = frame.x(piece[i]), frame.y(piece[i + 1])
      end
    end
    fill_group(picture, pieces, k, #groups)
  end
  if #groups == 1 then
    separate(picture, groups[1], edges, frame, x_place, y_place)
  end
end

-- A single group as columns of blocks; more as outlines with letters.
local function draw_text(field, groups, edges, x_place, y_place)
  if #groups > 1 then
    for k, group in ipairs(groups) do
      for _, piece in ipairs(outlines(group, edges, x_place, y_place)) do
        field:line(piece, k)
      end
    end
    return field:letters(#groups)
  end
  local at = {}
  for i, edge in ipairs(edges) do at[i] = x_place(edge) * field.columns end
  local first = 1
  for column = 1, field.columns do
    local y, i = 0, first
    -- the bin at the middle of the column, and those that lie within it
    while i < #at and at[i] < column do
      local holds_middle = at[i] <= column - 0.5 and at[i + 1] > column - 0.5
      if holds_middle or at[i] >= column - 1 and at[i + 1] <= column then
        y = math.max(y, y_place(groups[1].heights[i]) or 0)
      end
      if at[i + 1] <= column then first = i + 1 end
      i = i + 1
    end
    field:fill(column, y, 1)
  end
end

local function legend_of(groups)
  local legend, labels = {}, nil
  for k, group in ipairs(groups) do
    if group.label ~= "" then labels = {} end
    legend[k] = {label = group.label, sample = function(picture, x, y, across)
      fill_group(picture, {{x, y + 6, x, y - 6, x + across, y - 6, x + across,
        y + 6, x, y + 6}}, k, #groups)
    end}
  end
  if not labels and #groups > 1 then labels = {} end
  for k, group in ipairs(labels and groups or {}) do
    labels[k] = group.label ~= "" and group.label or "values " .. k
  end
  return labels and #groups > 0 and legend or {}, labels
end

--- Draws a histogram; see `plot.hist`.
-- @tparam string op what the user called, for messages
-- @param value the values
-- @tparam ?table opts
function hist.draw(op, value, opts)
  opts = check.types(op, opts, known)
  local kind = output.kind(op, opts.file)
  local missing = {nan = 0, infinite = 0, outside = 0}
  local groups = read(op, value, missing)
  local edges = edges_of(op, groups, opts)
  local most, least = count_all(groups, edges, opts.density, missing)
  local x = axis.new(edges[1], edges[#edges], {})
  local y = axis.new(opts.ylog and math.min(least, most) or 0, most,
    {low = opts.ylog and most > 0 and least / 2 or not opts.ylog and 0 or nil,
      pad = 0.05, log = opts.ylog and most > 0, whole = not opts.density})
  local x_place, y_place = x:placer(), y:placer()
  local legend, labels = legend_of(groups)
  local spec = {x = x, y = y, legend = legend, labels = labels,
    note = note_of(missing), texts = {
      title = opts.title or "", xlabel = opts.xlabel or "",
      ylabel = opts.ylabel or opts.density and "density" or "count",
    }}
  if kind then
    spec.labels = nil
    function spec.draw(picture, frame)
      draw_picture(picture, frame, groups, edges, x_place, y_place)
    end
    return chart.write(op, opts.file, kind, spec)
  end
  function spec.draw(field)
    draw_text(field, groups, edges, x_place, y_place)
  end
  output.write(op, opts.file,
    text_chart.render(text_chart.setting(op, opts), spec))
end

return hist
