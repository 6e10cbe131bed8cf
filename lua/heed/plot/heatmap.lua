--- Heat maps: from matrices and options to what `grid` draws as a picture and
-- `text` in a terminal.
local check = require "heed.check"
local matrix = require "heed.plot.matrix"
local output = require "heed.plot.output"
local palette = require "heed.plot.palette"

local heatmap = {}

--- The options of one map; those of a grid have more.
heatmap.known = {
  row_labels = "table|boolean", col_labels = "table|boolean",
  title = "string", xlabel = "string", ylabel = "string", file = "any",
  cmap = "string", vmin = "number", vmax = "number",
  width = "number", color = "boolean", utf8 = "boolean",
}

--- The options of a grid of maps.
heatmap.known_grid = {titles = "table", row_titles = "table",
  columns = "number"}
for name, kinds in pairs(heatmap.known) do heatmap.known_grid[name] = kinds end

-- A list of titles, one text each; `counts` are how many there may be.
local function titles(op, name, list, clean, counts, wanted)
  local out = {}
  if not list then return out end
  local fits = false
  for _, count in ipairs(counts) do fits = fits or #list == count end
  if not fits then
    check.fail("%s: %s must have %s, got %d", op, name, wanted, #list)
  end
  for i = 1, #list do
    if type(list[i]) ~= "string" and type(list[i]) ~= "number" then
      check.fail("%s: %s[%d] must be a string or a number, got %s", op, name,
        i, check.show(list[i]))
    end
    out[i] = clean(tostring(list[i]))
  end
  return out
end

--- Gives each panel of a grid its title, from `opts.titles`: one for each
-- column, or one for each panel.
function heatmap.add_titles(op, g, opts, clean)
  local count = 0
  for _, row in ipairs(g.rows) do count = count + #row end
  local wanted = ("%d entries (one for each %s)"):format(count, g.noun)
  if #g.rows > 1 then
    wanted = ("%d entries (one for each column) or %d (one for each %s)")
      :format(g.columns, count, g.noun)
  end
  local list = titles(op, "titles", opts.titles, clean, {g.columns, count},
    wanted)
  local k = 0
  for r, row in ipairs(g.rows) do
    for c, panel in ipairs(row) do
      k = k + 1
      panel.title = #list == count and list[k] or r == 1 and list[c] or ""
    end
  end
  g.row_titles = titles(op, "row_titles", opts.row_titles, clean, {#g.rows},
    ("%d entries (one for each row)"):format(#g.rows))
end

-- The labels of one side of a panel.
local function labels(op, name, opts, m, clean)
  local list = matrix.labels(op, name, opts[name], m)
  for i, label in ipairs(list) do list[i] = clean(label) end
  return list
end

local function new_panel(op, m, opts, clean, cmap, scale)
  return {
    m = m, rows = m.rows, cols = m.cols,
    row_labels = labels(op, "row_labels", opts, m, clean),
    col_labels = labels(op, "col_labels", opts, m, clean),
    all_rows = opts.row_labels and true or false,
    all_cols = opts.col_labels and true or false,
    has_numbers = opts.row_labels == nil and opts.col_labels == nil,
    color = function(i, j)
      local number = m[i][j]
      if number ~= number then return palette.no_number(cmap) end
      return palette.color(cmap, matrix.place(number, scale.low, scale.high))
    end,
  }
end

--- Returns what `grid.draw` and `text.draw` take.
-- @tparam string op what the user called, for messages
-- @tparam {{table,...},...} maps rows of what `matrix.read` gives; `columns`
-- @tparam table opts options, whose types are checked
-- @tparam ?string kind of the picture, nil for a terminal
-- @treturn table
function heatmap.layout(op, maps, opts, kind)
  local clean = output.cleaner(kind)
  local cmap = palette.check(op, opts.cmap)
  local list = {}
  for _, row in ipairs(maps) do table.move(row, 1, #row, #list + 1, list) end
  local g = {noun = "map", rows = {}, columns = maps.columns, shared = true,
    count = 0, nan_count = 0}
  local low, high
  low, high, g.below, g.above = matrix.range(op, list, opts.vmin, opts.vmax)
  g.scale = {low = low, high = high, cmap = cmap}
  for r, row in ipairs(maps) do
    g.rows[r] = {}
    for c, m in ipairs(row) do
      g.rows[r][c] = new_panel(op, m, opts, clean, cmap, g.scale)
      g.count = g.count + m.rows * m.cols
      g.nan_count = g.nan_count + m.nan
      g.shared = g.shared and m.rows == list[1].rows and m.cols == list[1].cols
    end
  end
  g.nan = g.nan_count > 0 and cmap or nil
  g.in_blocks = not opts.row_labels and not opts.col_labels
  for _, name in ipairs {"title", "xlabel", "ylabel"} do
    g[name] = clean(opts[name] or "")
  end
  heatmap.add_titles(op, g, opts, clean)
  return g
end

--- Draws heat maps into a file or the terminal.
-- @tparam string op what the user called, for messages
-- @tparam {{table,...},...} maps as for `layout`
-- @tparam table opts options, whose types are checked
-- @tparam[opt=false] boolean slanted column labels are never upright
function heatmap.draw(op, maps, opts, slanted)
  local kind = output.kind(op, opts.file)
  local g = heatmap.layout(op, maps, opts, kind)
  g.slanted = slanted
  output.draw(op, g, opts, kind)
end

return heatmap
