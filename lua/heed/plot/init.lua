--- Pictures of matrices: in the terminal and as SVG, PNG or PDF files.
-- A matrix is a table of rows of numbers, or a tensor `[rows cols]`; booleans
-- count as 0 and 1. Labels may hold any bytes: what would not print on a line
-- is shown as an escape.
--
-- Options that all pictures share:
--
-- - `row_labels`, `col_labels`: tables of strings or numbers, one for each row
--   or column; default 1, 2, ...; `false` for none
-- - `title`: a line above
-- - `cmap`: `"viridis"` (default), `"magma"`, `"Reds"` or `"gray"`
-- - `vmin`, `vmax`: what the colours span; default the least and the greatest
--   finite element. What lies outside, infinities too, is drawn as the end.
--
-- What is not a number gets a colour of its own, and an entry in the legend.
-- @module heed.plot
local attention_html = require "heed.plot.attention_html"
local check = require "heed.check"
local heatmap = require "heed.plot.heatmap"
local text = require "heed.plot.text"

local plot = {}

--- Returns a heat map as text for a terminal.
-- Drawn in 24-bit colours where the terminal has them (COLORTERM, NO_COLOR and
-- TERM are asked), otherwise in shades of characters. Labels of columns are
-- written downwards where they do not fit beside each other, and a map that is
-- wider than the terminal is split into several, one below the other.
-- @param matrix numbers `[rows cols]`
-- @tparam[opt] table opts `row_labels`, `col_labels`, `title`, `cmap`, `vmin`,
--   `vmax`; `width` in columns (default the terminal's, or 80); `color` true or
--   false (default as the terminal can); `utf8` true or false (default as the
--   locale says); `file`, the terminal that is asked (default `io.stdout`)
-- @treturn string lines, each with its end
-- @raise for a matrix that is none, labels that do not match, unknown options
-- @usage
-- local plot = require "heed.plot"
-- local map = plot.render({{0, 1}, {1, 0}}, {color = false, utf8 = false})
-- assert(map:find("1 |  @@|", 1, true))
function plot.render(matrix, opts)
  local map = text.render("render", matrix, opts)
  return map
end

--- Writes a heat map to the terminal; see `render`.
-- @param matrix numbers `[rows cols]`
-- @tparam[opt] table opts as for `render`; `file` is written to, any object
--   with a `write` method
-- @raise as `render`, and if the file cannot be written
-- @usage
-- local plot = require "heed.plot"
-- plot.show({{0.1, 0.9}, {0.7, 0.3}}, {row_labels = {"le", "chat"},
--   col_labels = {"the", "cat"}})
function plot.show(matrix, opts)
  local map = text.render("show", matrix, opts)
  local file = opts and opts.file or io.stdout
  local ok, message = file:write(map)
  if not ok then check.fail("show: cannot write: %s", message) end
end

--- Writes a heat map as a picture, with gnuplot.
-- The file is the whole picture, or what it was before: it is drawn under
-- another name beside it. gnuplot must be in the PATH.
-- @param matrix numbers `[rows cols]`
-- @tparam table opts `row_labels`, `col_labels`, `title`, `cmap`, `vmin`,
--   `vmax`; `xlabel` below, `ylabel` at the left; `file`, whose ending `.svg`,
--   `.png` or `.pdf` gives the format
-- @raise as `render`; if the file cannot be written; if gnuplot is missing
-- @usage
-- local plot = require "heed.plot"
-- local file = "weights.svg"
-- plot.heatmap({{0.1, 0.9}, {0.7, 0.3}}, {title = "weights", file = file})
-- os.remove(file)
function plot.heatmap(matrix, opts)
  heatmap.write("heatmap", matrix, opts)
end

--- Writes attention weights as a picture: queries down, keys to the right.
-- @tparam {string,...} queries the tokens that attend, one for each row
-- @tparam {string,...} keys the tokens attended to, one for each column
-- @param weights numbers `[queries keys]`
-- @tparam table opts as for `heatmap`, without labels of rows and columns;
--   `vmin` is 0, `xlabel` "source" and `ylabel` "target" if they are not given
-- @raise as `heatmap`
-- @usage
-- local plot = require "heed.plot"
-- local file = "weights.svg"
-- plot.attention({"le", "chat"}, {"the", "cat"}, {{0.9, 0.1}, {0.2, 0.8}},
--   {file = file})
-- os.remove(file)
function plot.attention(queries, keys, weights, opts)
  if type(queries) ~= "table" or type(keys) ~= "table" then
    check.fail("attention: queries and keys must be tables of tokens, "
      .. "got %s and %s", check.show(queries), check.show(keys))
  end
  if opts ~= nil and type(opts) ~= "table" then
    check.fail("attention: the options must be a table, got %s",
      check.show(opts))
  end
  local filled = {vmin = 0, xlabel = "source", ylabel = "target"}
  for name, value in pairs(opts or {}) do filled[name] = value end
  filled.row_labels, filled.col_labels = queries, keys
  heatmap.write("attention", weights, filled)
end

--- Writes the attention of all layers and heads as one HTML page, or returns
-- it. A reader chooses attention, layer and head, and points at a token (or
-- goes to it with the keyboard, or taps it) to see what it attends to: by
-- shading, lines and numbers. The page needs nothing but a browser, no network.
--
-- Numbers have three digits from 0.001 on and one below that. 0 and what is not
-- a number are shown as such. The means of all heads are computed before they
-- are rounded.
-- @tparam {table,...} attentions
--
-- * `name`: of the choice, default "attention 1", ...
-- * `tokens`: the tokens that attend, strings or numbers
-- * `keys`: the tokens attended to, default `tokens`
-- * `weights`: from 0 to 1 or NaN; a tensor [Tq Tk], [H Tq Tk] or [L H Tq Tk],
--   or a list of one [H Tq Tk] (or [1 H Tq Tk], a batch of one) for each layer,
--   as `nn.collect_attention` gives it
-- @tparam[opt] table opts `title`, above the page; `file`, whose name ends in
--   `.html`: it is the whole page or what it was before
-- @treturn ?string the page, if no `file` is given
-- @raise for weights that do not fit their tokens or are no weights, unknown
--   options, a file that cannot be written
-- @usage
-- local plot = require "heed.plot"
-- plot.attention_html({{tokens = {"le", "chat"}, keys = {"the", "cat"},
--   weights = {{0.9, 0.1}, {0.2, 0.8}}}}, {file = "weights.html"})
-- os.remove("weights.html")
function plot.attention_html(attentions, opts)
  local html = attention_html.write(attentions, opts)
  return html
end

return plot
